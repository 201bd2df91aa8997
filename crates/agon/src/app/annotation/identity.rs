//! Answers in which a model says who it is, and prompts that ask for it.

use agon_content::annotate::{
    Role,
    identity::{IDENTITY_ANNOTATOR, Mention},
};
use serde_json::{Value, json};

use super::{Content, Registration, Tools, style::by_side};

/// The annotator.
pub(super) const IDENTITY: Registration = Registration {
    annotator: IDENTITY_ANNOTATOR,
    subject: "identity",
    about: "answers that reveal who gives them, and prompts that ask for it",
    needs_names: true,
    label,
};

fn label(content: &Content<'_>, tools: &Tools) -> Value {
    by_side(content.conversations(), |messages| {
        let mut probes = Vec::new();
        let mut leaks = Vec::new();
        let mut after_probe = false;
        let mut turn: usize = 0;
        for message in messages {
            match message.role {
                Role::User => {
                    turn += 1;
                    let mentions = tools.identity.prompt(message.text);
                    after_probe = !mentions.is_empty();
                    probes.extend(mentions.iter().map(|mention| found(turn, mention)));
                }
                Role::Assistant => {
                    let mentions = tools.identity.answer(message.text, after_probe);
                    leaks.extend(mentions.iter().map(|mention| found(turn, mention)));
                }
            }
        }
        json!({ "leaks": leaks, "probes": probes })
    })
}

fn found(turn: usize, mention: &Mention) -> Value {
    let names: Vec<&str> = mention
        .named
        .iter()
        .map(|named| named.name.as_str())
        .collect();
    json!({
        "turn": turn,
        "kind": mention.kind.as_str(),
        "names": names,
        "start_byte": mention.span.start,
        "end_byte": mention.span.end,
    })
}
