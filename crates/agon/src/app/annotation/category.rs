//! Categories by rules and by the words of the prompt.

use agon_content::annotate::category::{
    CATEGORY_RULES, CATEGORY_WORDS, CategoryLabel, Content as Labelled, Label as Truth,
    label_by_rules, label_by_words,
};
use agon_domain::Sides;
use serde_json::{Map, Value, json};

use super::{Content, Registration, Tools, language::rounded};

/// What can be decided by rules.
pub(super) const RULES: Registration = Registration {
    annotator: CATEGORY_RULES,
    subject: "category",
    about: "categories that rules decide: code, and those of pictures where there is none",
    needs_names: false,
    label: by_rules,
};

/// What the offline classifier says.
pub(super) const WORDS: Registration = Registration {
    annotator: CATEGORY_WORDS,
    subject: "category",
    about: "categories by the words of the prompt, offline",
    needs_names: false,
    label: by_words,
};

fn by_rules(content: &Content<'_>, _: &Tools) -> Value {
    labelled(content, label_by_rules)
}

fn by_words(content: &Content<'_>, _: &Tools) -> Value {
    labelled(content, label_by_words)
}

fn labelled(content: &Content<'_>, label: fn(&Labelled<'_>) -> Vec<CategoryLabel>) -> Value {
    let prompts = content.prompts();
    let answers = content.answers();
    let mut labels = label(&Labelled {
        prompts: &prompts,
        answers: Sides {
            a: &answers.a,
            b: &answers.b,
        },
        has_image: content.has_image(),
    });
    for label in &mut labels {
        // Nothing can be told of what is not there, and a picture that could not be read may hold anything.
        let is_unread = content.has_unread_image() && label.category.is_about_an_image();
        if is_unread || !content.has_prompt() {
            label.label = Truth::Unknown;
            label.confidence = 0.0;
        }
    }
    json(&labels)
}

/// Labels by the names of their categories: `null` where the annotator cannot tell.
pub(super) fn json(labels: &[CategoryLabel]) -> Value {
    let labels: Map<String, Value> = labels
        .iter()
        .map(|label| {
            let value = json!({
                "label": label.label.as_bool(),
                "confidence": rounded(label.confidence),
            });
            (label.category.as_str().to_owned(), value)
        })
        .collect();
    Value::Object(labels)
}
