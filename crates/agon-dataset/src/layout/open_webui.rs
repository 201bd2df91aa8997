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
    meta: Option<Value>,
    snapshot: Option<Value>,
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
    let Some(data) = &feedback.data else {
        return other("no data".to_owned());
    };
    let siblings = data.sibling_model_ids.as_deref().unwrap_or_default();
    let [sibling] = siblings else {
        return other(format!("{} other models", siblings.len()));
    };
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
    let model = data.model_id.clone();
    battle.insert("model_a".to_owned(), model.unwrap_or_default());
    battle.insert("model_b".to_owned(), sibling.clone());
    if let Some([a, b]) = conversations(&feedback, sibling) {
        battle.insert("conversation_a".to_owned(), a);
        battle.insert("conversation_b".to_owned(), b);
    }
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

/// Both conversations up to the rated message and to its sibling, from the chat as it was when it was rated.
fn conversations(feedback: &Feedback, other: &Value) -> Option<[Value; 2]> {
    let chat = feedback.snapshot.as_ref()?.get("chat")?;
    let chat = chat.get("chat").unwrap_or(chat);
    let messages = chat.get("history")?.get("messages")?.as_object()?;
    let rated_id = feedback.meta.as_ref()?.get("message_id")?.as_str()?;
    let rated = messages.get(rated_id)?;
    let parent_id = rated.get("parentId")?.as_str()?;
    let parent = messages.get(parent_id)?;
    let siblings = parent.get("childrenIds")?.as_array()?.iter();
    let sibling = siblings
        .filter_map(Value::as_str)
        .filter(|&id| id != rated_id)
        .filter_map(|id| messages.get(id))
        .find(|message| message.get("model") == Some(other))?;
    let mut path = vec![message(parent)];
    let mut next = parent.get("parentId").and_then(Value::as_str);
    // A parent that is its own ancestor would go on for ever.
    while let Some(ancestor) = next.and_then(|id| messages.get(id))
        && path.len() < messages.len()
    {
        path.push(message(ancestor));
        next = ancestor.get("parentId").and_then(Value::as_str);
    }
    path.reverse();
    let with = |last: &Value| {
        let mut path = path.clone();
        path.push(message(last));
        Value::Array(path)
    };
    Some([with(rated), with(sibling)])
}

/// A message as others nest it.
fn message(message: &Value) -> Value {
    let files = message.get("files").and_then(Value::as_array);
    let images = files.into_iter().flatten().filter_map(|file| {
        let is_image = file.get("type").and_then(Value::as_str) == Some("image");
        file.get("url").filter(|_| is_image).cloned()
    });
    let mut flat = Map::new();
    flat.insert("images".to_owned(), images.collect());
    for name in ["role", "content", "error", "done"] {
        if let Some(value) = message.get(name) {
            flat.insert(name.to_owned(), value.clone());
        }
    }
    Value::Object(flat)
}
