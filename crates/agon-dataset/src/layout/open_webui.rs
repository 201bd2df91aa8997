//! Feedback exported from Open WebUI: ratings of answers, of which some are of one among two.
//!
//! A like alone is not a battle: it is one only where exactly one other model answered the same message, so that the rating says which of the two is better.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::Nested;
use crate::fate::{Reason, cut};

#[derive(Deserialize)]
struct Feedback {
    id: Option<Value>,
    user_id: Option<Value>,
    created_at: Option<Value>,
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    rating: Option<Value>,
    model_id: Option<Value>,
    sibling_model_ids: Option<Vec<Value>>,
}

/// Whether these are the members of one feedback.
pub(crate) fn is_feedback(members: &BTreeMap<String, &RawValue>) -> bool {
    let data = members.get("data").map(|data| data.get());
    members.contains_key("meta")
        && !members.contains_key("model_a")
        && data.is_some_and(|data| data.starts_with('{') && data.contains("\"model_id\""))
}

/// Turns feedback into a flat battle.
pub(crate) fn flatten(bytes: &[u8]) -> Nested {
    let feedback: Feedback = match serde_json::from_slice(bytes) {
        Ok(feedback) => feedback,
        Err(error) => return Nested::Unreadable(cut(&error.to_string())),
    };
    let other = |value: String| Nested::Other {
        reason: Reason::NotAPair,
        value,
    };
    let Some(data) = feedback.data else {
        return other("no data".to_owned());
    };
    let mut siblings = data.sibling_model_ids.unwrap_or_default();
    if siblings.len() != 1 {
        return other(format!("{} other models", siblings.len()));
    }
    // Ratings are numbers in exports, and texts in some older ones.
    let rating = match &data.rating {
        None | Some(Value::Null) => return other("no rating".to_owned()),
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(value) => value.to_string(),
    };
    let winner = match rating.as_str() {
        "1" => Value::from("model_a"),
        "-1" => Value::from("model_b"),
        // Left to the table of spellings, which knows no such winner.
        _ => Value::from(format!("rating {rating}")),
    };
    let mut battle = Map::new();
    battle.insert("model_a".to_owned(), data.model_id.unwrap_or_default());
    battle.insert("model_b".to_owned(), siblings.pop().unwrap_or_default());
    battle.insert("winner".to_owned(), winner);
    for (name, value) in [
        ("id", feedback.id),
        ("judge", feedback.user_id),
        ("tstamp", feedback.created_at),
    ] {
        if let Some(value) = value {
            battle.insert(name.to_owned(), value);
        }
    }
    Nested::Vote(Value::Object(battle).to_string())
}
