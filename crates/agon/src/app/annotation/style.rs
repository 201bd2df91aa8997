//! Style metadata: three annotators that share one count.

use agon_content::annotate::style::{
    CommonmarkCounts, ConversationStyle, STYLE_ANNOTATOR, STYLE_COMMONMARK_ANNOTATOR,
    STYLE_TEXT_ANNOTATOR, TextCounts, TokenCounts,
};
use agon_domain::MarkdownCounts;
use serde_json::{Map, Value, json};

use super::{Content, Registration, Tools};

/// The counts of published releases.
pub(super) const COMPAT: Registration = Registration {
    annotator: STYLE_ANNOTATOR,
    subject: "style",
    about: "tokens and Markdown elements as published releases count them",
    needs_names: false,
    label: compat,
};

/// The counts of a Markdown parser.
pub(super) const COMMONMARK: Registration = Registration {
    annotator: STYLE_COMMONMARK_ANNOTATOR,
    subject: "style",
    about: "Markdown elements as a CommonMark parser sees them",
    needs_names: false,
    label: commonmark,
};

/// Characters, words, emoji.
pub(super) const TEXT: Registration = Registration {
    annotator: STYLE_TEXT_ANNOTATOR,
    subject: "style",
    about: "characters, words and emoji",
    needs_names: false,
    label: text,
};

/// One value for each side, under `a` and `b`.
pub(super) fn by_side<T>(values: &[T], json: impl Fn(&T) -> Value) -> Value {
    let sides = ["a", "b"].into_iter().zip(values);
    let sides: Map<String, Value> = sides
        .map(|(side, value)| (side.to_owned(), json(value)))
        .collect();
    Value::Object(sides)
}

fn compat(content: &Content<'_>, _: &Tools) -> Value {
    by_side(content.styles(), |style: &ConversationStyle| {
        json!({
            "turns": style.n_turns,
            "user_tokens": tokens(style.user_tokens),
            "assistant_tokens": tokens(style.assistant_tokens),
            "context_tokens": tokens(style.context_tokens),
            "markdown": markdown(&style.compat),
        })
    })
}

fn commonmark(content: &Content<'_>, _: &Tools) -> Value {
    by_side(content.styles(), |style| {
        let CommonmarkCounts {
            markdown: counts,
            n_paragraphs,
            n_tables,
            n_code_blocks,
            n_code_spans,
            n_links,
            n_images,
            n_latex,
        } = &style.commonmark;
        json!({
            "markdown": markdown(counts),
            "paragraphs": n_paragraphs,
            "tables": n_tables,
            "code_blocks": n_code_blocks,
            "code_spans": n_code_spans,
            "links": n_links,
            "images": n_images,
            "latex": n_latex,
        })
    })
}

fn text(content: &Content<'_>, _: &Tools) -> Value {
    let counts = |counts: &TextCounts| {
        json!({
            "characters": counts.n_characters,
            "words": counts.n_words,
            "emoji": counts.n_emoji,
        })
    };
    by_side(
        content.styles(),
        |style| json!({ "user": counts(&style.user_text), "assistant": counts(&style.assistant_text) }),
    )
}

fn tokens(tokens: TokenCounts) -> Value {
    json!({ "cl100k": tokens.cl100k, "o200k": tokens.o200k })
}

fn markdown(counts: &MarkdownCounts) -> Value {
    let headers: Map<String, Value> = (1..)
        .zip(counts.headers)
        .map(|(level, n)| (format!("h{level}"), n.into()))
        .collect();
    json!({
        "headers": headers,
        "lists": { "ordered": counts.list_ordered, "unordered": counts.list_unordered },
        "bold": { "**": counts.bold_asterisks, "__": counts.bold_underscores },
    })
}
