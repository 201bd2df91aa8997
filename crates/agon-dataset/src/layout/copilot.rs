//! Outcomes of Copilot Arena: two completions of the same place in a program, and the index of the accepted one.
//!
//! The shape is that of the server's `add_completion_outcome` and of its twin for edits, whose items are called responses.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::Nested;
use crate::fate::{Reason, cut};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    pair_id: Option<Value>,
    user_id: Option<Value>,
    accepted_index: Option<Value>,
    timestamp: Option<Value>,
    #[serde(alias = "responseItems", default)]
    completion_items: Vec<Item>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    model: Option<Value>,
    #[serde(alias = "response")]
    completion: Option<String>,
    prompt: Option<Value>,
    prefix: Option<String>,
    pair_index: Option<u64>,
}

/// Whether these are the members of an outcome.
pub(crate) fn is_outcome(members: &BTreeMap<String, &RawValue>) -> bool {
    members.contains_key("acceptedIndex")
        && (members.contains_key("completionItems") || members.contains_key("responseItems"))
}

/// Turns an outcome into a flat battle.
pub(crate) fn flatten(bytes: &[u8]) -> Nested {
    let mut outcome: Outcome = match serde_json::from_slice(bytes) {
        Ok(outcome) => outcome,
        Err(error) => return Nested::Unreadable(cut(&error.to_string())),
    };
    // The order of the list is the order of arrival; the index says which stood first.
    outcome
        .completion_items
        .sort_by_key(|item| item.pair_index.unwrap_or(0));
    let n_items = outcome.completion_items.len();
    let Ok([a, b]) = <[Item; 2]>::try_from(outcome.completion_items) else {
        return Nested::Other {
            reason: Reason::NotAPair,
            value: format!("{n_items} completions"),
        };
    };
    let winner = match &outcome.accepted_index {
        None | Some(Value::Null) => Value::Null,
        Some(index) if *index == json!(0) => Value::from("model_a"),
        Some(index) if *index == json!(1) => Value::from("model_b"),
        // Left to the table of spellings, which knows no such winner.
        Some(index) => Value::from(format!("acceptedIndex {index}")),
    };
    let messages = |item: &Item| {
        let prompt = item.prompt.as_ref().and_then(Value::as_str);
        json!([
            {"role": "user", "content": prompt.or(item.prefix.as_deref())},
            {"role": "assistant", "content": item.completion},
        ])
    };
    let mut battle = Map::new();
    battle.insert("conversation_a".to_owned(), messages(&a));
    battle.insert("conversation_b".to_owned(), messages(&b));
    battle.insert("model_a".to_owned(), a.model.unwrap_or_default());
    battle.insert("model_b".to_owned(), b.model.unwrap_or_default());
    battle.insert("winner".to_owned(), winner);
    for (name, value) in [
        ("question_id", outcome.pair_id),
        ("judge", outcome.user_id),
        ("timestamp", outcome.timestamp),
    ] {
        if let Some(value) = value {
            battle.insert(name.to_owned(), value);
        }
    }
    for (name, value) in outcome.rest {
        battle.entry(name).or_insert(value);
    }
    Nested::Vote(Value::Object(battle).to_string())
}
