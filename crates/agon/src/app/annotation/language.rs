//! The language of the first prompt and of each answer.

use agon_content::annotate::language::{
    LANGUAGE_ANNOTATOR, LanguageAnswer, LanguageLabel, NoLanguage, detect_language,
};
use serde_json::{Value, json};

use super::{Content, Registration, Tools, style::by_side};

/// The annotator.
pub(super) const LANGUAGE: Registration = Registration {
    annotator: LANGUAGE_ANNOTATOR,
    subject: "language",
    about: "the language of the first prompt and of each answer",
    needs_names: false,
    label,
};

fn label(content: &Content<'_>, _: &Tools) -> Value {
    let prompts = content.prompts();
    let prompt = prompts.first().map(|prompt| of_text(prompt));
    let answers = content.answers();
    let sides = &[answers.a, answers.b][..content.conversations().len().min(2)];
    let answers = by_side(sides, |answers: &Vec<&str>| {
        answers.iter().map(|answer| of_text(answer)).collect()
    });
    json!({ "prompt": prompt, "answers": answers })
}

fn of_text(text: &str) -> Value {
    let label: LanguageLabel = detect_language(text);
    let mut value = json!({
        "name": label.name(),
        "code": label.code(),
        "confidence": rounded(f64::from(label.confidence)),
    });
    match &label.answer {
        LanguageAnswer::One(_) => {}
        LanguageAnswer::Mixed(shares) => {
            let shares = shares.iter();
            value["mixed"] = shares
                .map(|share| {
                    json!({
                        "name": share.language.name(),
                        "code": share.language.code(),
                        "share": rounded(f64::from(share.share)),
                    })
                })
                .collect();
        }
        LanguageAnswer::NoLanguage(reason) => {
            value["no_language"] = match reason {
                NoLanguage::Empty => "empty",
                NoLanguage::NoLetters => "no_letters",
                NoLanguage::Code => "code",
                NoLanguage::OneWord => "one_word",
            }
            .into();
        }
        LanguageAnswer::Unknown => value["unknown"] = true.into(),
    }
    value
}

/// Four digits behind the point: more would claim more than is known, and fill files.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}
