//! Conversations of PRISM: several models answer the first prompt, and the one that is chosen goes on.
//!
//! What is a comparison of two is a battle: exactly two models answered the first prompt and one of them was chosen.
//! Most conversations have four, and a choice among four is no vote on a pair.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::Nested;
use crate::fate::{Reason, cut};

#[derive(Deserialize)]
struct Conversation {
    conversation_id: Option<Value>,
    user_id: Option<Value>,
    generated_datetime: Option<Value>,
    #[serde(default)]
    conversation_history: Vec<Utterance>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Utterance {
    turn: Option<i64>,
    role: Option<String>,
    content: Option<String>,
    model_name: Option<String>,
    if_chosen: Option<bool>,
}

/// Whether these are the members of a conversation.
pub(crate) fn is_conversation(members: &BTreeMap<String, &RawValue>) -> bool {
    let history = members.get("conversation_history").map(|raw| raw.get());
    members.contains_key("conversation_id")
        && !members.contains_key("model_a")
        && history.is_some_and(|history| history.starts_with('[') && history.contains("if_chosen"))
}

/// Turns a conversation into a flat battle about its first prompt.
pub(crate) fn flatten(bytes: &[u8]) -> Nested {
    let conversation: Conversation = match serde_json::from_slice(bytes) {
        Ok(conversation) => conversation,
        Err(error) => return Nested::Unreadable(cut(&error.to_string())),
    };
    let first = conversation
        .conversation_history
        .iter()
        .map(|utterance| utterance.turn.unwrap_or(0))
        .min();
    let of_first = || {
        let history = conversation.conversation_history.iter();
        history.filter(move |utterance| Some(utterance.turn.unwrap_or(0)) == first)
    };
    let is_user = |utterance: &&Utterance| utterance.role.as_deref() == Some("user");
    let answers: Vec<&Utterance> = of_first().filter(|utterance| !is_user(utterance)).collect();
    let [a, b] = answers.as_slice() else {
        return Nested::Other {
            reason: Reason::NotAPair,
            value: format!("{} answers", answers.len()),
        };
    };
    let winner = match [a, b].map(|answer| answer.if_chosen.unwrap_or(false)) {
        [true, false] => Value::from("model_a"),
        [false, true] => Value::from("model_b"),
        [false, false] => Value::Null,
        [true, true] => {
            return Nested::Other {
                reason: Reason::WinnerAmbiguous,
                value: "both are chosen".to_owned(),
            };
        }
    };
    let prompt = of_first()
        .find(is_user)
        .and_then(|utterance| utterance.content.as_deref());
    let messages = |answer: &Utterance| {
        json!([
            {"role": "user", "content": prompt},
            {"role": "assistant", "content": answer.content},
        ])
    };
    let mut battle = Map::new();
    battle.insert("model_a".to_owned(), a.model_name.clone().into());
    battle.insert("model_b".to_owned(), b.model_name.clone().into());
    battle.insert("winner".to_owned(), winner);
    battle.insert("conversation_a".to_owned(), messages(a));
    battle.insert("conversation_b".to_owned(), messages(b));
    for (name, value) in [
        ("question_id", &conversation.conversation_id),
        ("judge", &conversation.user_id),
        ("timestamp", &conversation.generated_datetime),
    ] {
        if let Some(value) = value {
            battle.insert(name.to_owned(), value.clone());
        }
    }
    for (name, value) in conversation.rest {
        battle.entry(name).or_insert(value);
    }
    Nested::Vote(Value::Object(battle).to_string())
}
