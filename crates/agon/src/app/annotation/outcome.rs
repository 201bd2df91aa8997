//! What the labels of a row come down to: the columns that a published dataset has.

use agon_content::annotate::{
    category::{CATEGORY_RULES, CATEGORY_WORDS},
    duplicates::DUPLICATES_ANNOTATOR,
    language::LANGUAGE_ANNOTATOR,
    refusal::REFUSAL_ANNOTATOR,
    style::STYLE_ANNOTATOR,
};
use agon_dataset::{Label, RowLabels, clean::DedupTag, schema::CATEGORIES};
use agon_domain::{MarkdownCounts, Sides, StyleFeatures};
use serde_json::Value;

/// How labels begin that a vision model gave.
pub(super) const QUESTION_PREFIX: &str = "question-";

/// The columns that follow from `labels`.
///
/// Of several annotators that decide on a category, a closed question counts before rules, these before the refusal annotator, and that before the words of the prompt.
/// A label that is no JSON, which no annotator writes, decides nothing.
pub fn outcome(content_sha256: [u8; 32], labels: Vec<Label>) -> RowLabels {
    let parsed: Vec<(&str, Value)> = labels
        .iter()
        .filter_map(|label| {
            let value = serde_json::from_str(&label.label).ok()?;
            Some((label.annotator.as_str(), value))
        })
        .collect();
    let of = |name: &str| {
        let mut labels = parsed.iter();
        labels
            .find(|(annotator, _)| *annotator == name)
            .map(|(_, value)| value)
    };
    let by_question: Vec<&Value> = parsed
        .iter()
        .filter(|(annotator, _)| annotator.starts_with(QUESTION_PREFIX))
        .map(|(_, value)| value)
        .collect();
    let refusal = of(REFUSAL_ANNOTATOR.name).map(|label| &label["categories"]);
    let deciders: Vec<&Value> = by_question
        .into_iter()
        .chain(of(CATEGORY_RULES.name))
        .chain(refusal)
        .chain(of(CATEGORY_WORDS.name))
        .collect();
    let categories = CATEGORIES.map(|category| {
        let mut deciders = deciders.iter();
        deciders.find_map(|labels| labels[category]["label"].as_bool())
    });
    let language = of(LANGUAGE_ANNOTATOR.name)
        .and_then(|label| label["prompt"]["name"].as_str())
        .map(ToOwned::to_owned);
    let style = of(STYLE_ANNOTATOR.name).and_then(style);
    let dedup_tag = of(DUPLICATES_ANNOTATOR.name).and_then(|label| {
        Some(DedupTag {
            high_freq: label["high_freq"].as_bool()?,
            sampled: label["sampled"].as_bool()?,
        })
    });
    RowLabels {
        content_sha256,
        judge: None,
        language,
        categories,
        style,
        dedup_tag,
        labels,
    }
}

/// The style counts of a battle; nothing of a chat, which has one side.
fn style(label: &Value) -> Option<StyleFeatures> {
    let side = |side: &str| {
        let label = label.get(side)?;
        Some((
            number(&label["assistant_tokens"]["cl100k"])?,
            number(&label["context_tokens"]["cl100k"])?,
            markdown(&label["markdown"])?,
        ))
    };
    let (a, b) = (side("a")?, side("b")?);
    Some(StyleFeatures {
        assistant_tokens: Sides { a: a.0, b: b.0 },
        context_tokens: Sides { a: a.1, b: b.1 },
        user_tokens: number(&label["a"]["user_tokens"]["cl100k"])?,
        n_turns: number(&label["a"]["turns"])?,
        markdown: Sides { a: a.2, b: b.2 },
    })
}

/// The style counts that a source brings, as published sets nest them; nothing where one is missing.
pub fn published_style(metadata: &Value) -> Option<StyleFeatures> {
    let count = |name: &str| number(&metadata[name]);
    let markdown = |side: &str| {
        let group = |name: &str| &metadata[format!("{name}_count_{side}")];
        let mut headers = [0; 6];
        for (level, n) in (1..).zip(&mut headers) {
            *n = number(&group("header")[format!("h{level}")])?;
        }
        Some(MarkdownCounts {
            headers,
            list_ordered: number(&group("list")["ordered"])?,
            list_unordered: number(&group("list")["unordered"])?,
            bold_asterisks: number(&group("bold")["**"])?,
            bold_underscores: number(&group("bold")["__"])?,
        })
    };
    Some(StyleFeatures {
        assistant_tokens: Sides {
            a: count("sum_assistant_a_tokens")?,
            b: count("sum_assistant_b_tokens")?,
        },
        context_tokens: Sides {
            a: count("context_a_tokens")?,
            b: count("context_b_tokens")?,
        },
        user_tokens: count("sum_user_tokens")?,
        n_turns: count("turns")?,
        markdown: Sides {
            a: markdown("a")?,
            b: markdown("b")?,
        },
    })
}

fn markdown(value: &Value) -> Option<MarkdownCounts> {
    let mut headers = [0; 6];
    for (level, n) in (1..).zip(&mut headers) {
        *n = number(&value["headers"][format!("h{level}")])?;
    }
    Some(MarkdownCounts {
        headers,
        list_ordered: number(&value["lists"]["ordered"])?,
        list_unordered: number(&value["lists"]["unordered"])?,
        bold_asterisks: number(&value["bold"]["**"])?,
        bold_underscores: number(&value["bold"]["__"])?,
    })
}

fn number(value: &Value) -> Option<u32> {
    // Some sets write counts as floating-point numbers.
    let n = value.as_f64()?;
    let is_count = n >= 0.0 && n.fract() == 0.0 && n <= f64::from(u32::MAX);
    is_count.then_some(n as u32)
}
