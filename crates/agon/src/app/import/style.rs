//! How long and how formatted the answers of imported battles are: what the source brings, else counted.

use agon_content::annotate::style;
use agon_dataset::{AnswerStyle, ConversationRow};
use agon_domain::{MarkdownCounts, Side, Sides};
use agon_store::ImportedStyle;
use serde_json::Value;

/// Counts the answers of one side.
pub fn answer_style(answers: &[&str]) -> AnswerStyle {
    AnswerStyle {
        tokens: answers
            .iter()
            .map(|answer| style::Encoding::Cl100k.count_tokens(answer))
            .sum(),
        markdown: style::markdown_counts(answers),
    }
}

/// The style of both sides of a row; `None` for a side without numbers and without a conversation.
pub(super) fn styles(row: &ConversationRow) -> Sides<Option<ImportedStyle>> {
    let of_side = |side: Side, idx: usize| {
        let brought = row
            .conv_metadata
            .as_ref()
            .and_then(|metadata| brought(metadata, side));
        brought.or_else(|| {
            let conversation = row.conversations.get(idx)?;
            let answers: Vec<&str> = conversation
                .messages
                .iter()
                .filter(|message| message.role == agon_dataset::RowRole::Assistant)
                .filter_map(|message| message.text.as_deref())
                .collect();
            Some(counted(&answer_style(&answers)))
        })
    };
    Sides {
        a: of_side(Side::A, 0),
        b: of_side(Side::B, 1),
    }
}

fn counted(style: &AnswerStyle) -> ImportedStyle {
    ImportedStyle {
        tokens: style.tokens,
        ..of_markdown(&style.markdown)
    }
}

/// The sums that style control takes, without tokens.
pub(super) fn of_markdown(markdown: &MarkdownCounts) -> ImportedStyle {
    ImportedStyle {
        tokens: 0,
        headers: sum(&markdown.headers),
        lists: markdown
            .list_ordered
            .saturating_add(markdown.list_unordered),
        bold: markdown
            .bold_asterisks
            .saturating_add(markdown.bold_underscores),
    }
}

fn sum(counts: &[u32]) -> u32 {
    counts
        .iter()
        .fold(0, |sum: u32, &count| sum.saturating_add(count))
}

/// The numbers of `conv_metadata`, when all four are there.
fn brought(metadata: &Value, side: Side) -> Option<ImportedStyle> {
    let side = side.as_str();
    let number = |value: &Value| -> Option<u32> {
        let number = value.as_f64()?;
        // A count is whole and not negative; anything else is no count.
        (number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0)
            .then_some(number as u32)
    };
    let group = |name: &str| -> Option<u32> {
        let members = metadata.get(format!("{name}_{side}"))?.as_object()?;
        let counts: Option<Vec<u32>> = members.values().map(number).collect();
        counts.map(|counts| sum(&counts))
    };
    Some(ImportedStyle {
        tokens: number(metadata.get(format!("sum_assistant_{side}_tokens"))?)?,
        headers: group("header_count")?,
        lists: group("list_count")?,
        bold: group("bold_count")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_that_the_source_brings_are_taken_when_all_are_there() {
        let mut metadata = json!({
            "sum_assistant_a_tokens": 12, "header_count_a": {"h1": 1, "h2": 2},
            "list_count_a": {"ordered": 3, "unordered": 0.0}, "bold_count_a": {"**": 1, "__": 1},
        });
        let expected = ImportedStyle {
            tokens: 12,
            headers: 3,
            lists: 3,
            bold: 2,
        };
        assert_eq!(brought(&metadata, Side::A), Some(expected));
        assert_eq!(brought(&metadata, Side::B), None);
        for bad in [json!(null), json!(-1), json!(1.5), json!("1")] {
            metadata["bold_count_a"]["**"] = bad;
            assert_eq!(brought(&metadata, Side::A), None, "{metadata}");
        }
    }

    #[test]
    fn answers_are_counted_as_for_a_ranking() {
        let style = counted(&answer_style(&["# a\n- b\n**c**", "1. d"]));
        assert_eq!((style.headers, style.lists, style.bold), (1, 2, 1));
        assert!(style.tokens > 5);
    }
}
