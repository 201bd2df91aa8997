//! Logs of FastChat's web server: one event on each line, of which four types are votes.
//!
//! A vote holds both conversations as they were: `models` are the names as the voter saw them, empty while they were hidden, and `states` say which models answered.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::Nested;
use crate::fate::{Reason, cut};

const VOTES: [&str; 4] = ["leftvote", "rightvote", "tievote", "bothbad_vote"];
const OTHERS: [&str; 5] = ["chat", "share", "upvote", "downvote", "flag"];

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    tstamp: Option<&'a RawValue>,
    #[serde(borrow)]
    models: Option<&'a RawValue>,
    #[serde(borrow)]
    states: Option<&'a RawValue>,
    #[serde(borrow)]
    ip: Option<&'a RawValue>,
    #[serde(borrow)]
    language: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct State {
    model_name: Option<String>,
    conv_id: Option<String>,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    offset: usize,
    #[serde(default)]
    roles: Vec<String>,
    has_csam_image: Option<Value>,
}

/// Whether these are the members of an event.
pub(crate) fn is_event(members: &BTreeMap<String, &RawValue>) -> bool {
    let kind = members
        .get("type")
        .map(|value| value.get().trim_matches('"'));
    members.contains_key("tstamp")
        && (members.contains_key("states") || members.contains_key("state"))
        && kind.is_some_and(|kind| VOTES.contains(&kind) || OTHERS.contains(&kind))
}

/// A value, or the value in a text of JSON, as the remote logger sends it.
fn unpack<T: serde::de::DeserializeOwned>(raw: &RawValue) -> Result<T, String> {
    let failed = |error: serde_json::Error| error.to_string();
    if raw.get().starts_with('"') {
        let text: String = serde_json::from_str(raw.get()).map_err(failed)?;
        return serde_json::from_str(&text).map_err(failed);
    }
    serde_json::from_str(raw.get()).map_err(failed)
}

/// Turns an event into a flat battle.
pub(crate) fn flatten(bytes: &[u8]) -> Nested {
    let event: Event<'_> = match serde_json::from_slice(bytes) {
        Ok(event) => event,
        Err(error) => return Nested::Unreadable(cut(&error.to_string())),
    };
    if !VOTES.contains(&event.kind.as_ref()) {
        return Nested::Other {
            reason: Reason::NotAVote,
            value: cut(&event.kind),
        };
    }
    let Some(states) = event.states else {
        return Nested::Unreadable("a vote without `states`".to_owned());
    };
    let states: [Option<State>; 2] = match unpack(states) {
        Ok(states) => states,
        Err(error) => return Nested::Unreadable(cut(&format!("`states`: {error}"))),
    };
    let models: [Option<String>; 2] = match event.models.map(unpack).transpose() {
        Ok(models) => models.unwrap_or_default(),
        Err(error) => return Nested::Unreadable(cut(&format!("`models`: {error}"))),
    };
    let [a, b] = states.map(Option::unwrap_or_default);
    let flags = [&a, &b].map(|state| state.has_csam_image.clone());
    let is_hidden = models
        .iter()
        .all(|name| name.as_deref().unwrap_or_default().is_empty());
    let mut battle = Map::new();
    battle.insert("model_a".to_owned(), a.model_name.clone().into());
    battle.insert("model_b".to_owned(), b.model_name.clone().into());
    battle.insert("winner".to_owned(), event.kind.into());
    battle.insert("anony".to_owned(), is_hidden.into());
    battle.insert("question_id".to_owned(), a.conv_id.clone().into());
    if flags.iter().any(Option::is_some) {
        let flags = flags.into_iter().flatten();
        battle.insert("has_csam_image".to_owned(), flags.collect());
    }
    if event.models.is_some() {
        battle.insert("models".to_owned(), json!(models));
    }
    for (name, raw) in [
        ("tstamp", event.tstamp),
        ("judge", event.ip),
        ("language", event.language),
    ] {
        if let Some(value) = raw.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()) {
            battle.insert(name.to_owned(), value);
        }
    }
    for (name, state) in [("conversation_a", a), ("conversation_b", b)] {
        battle.insert(name.to_owned(), conversation(state));
    }
    Nested::Vote(Value::Object(battle).to_string())
}

/// The messages without those that the template put in front.
fn conversation(state: State) -> Value {
    let user = state.roles.first().cloned();
    let messages = state.messages.into_iter().skip(state.offset).enumerate();
    let messages = messages.filter_map(|(idx, message)| {
        let Value::Array(mut pair) = message else {
            return None;
        };
        let content = pair.get_mut(1).map(Value::take)?;
        let (text, images) = match content {
            Value::String(text) => (Some(text), Value::Null),
            // An answer that is still to come.
            Value::Null => (None, Value::Null),
            // A text with the hashes of its images.
            Value::Array(mut parts) => match parts.first_mut().map(Value::take) {
                Some(Value::String(text)) => {
                    let images = parts.get_mut(1).map(Value::take);
                    (Some(text), images.unwrap_or_default())
                }
                _ => return None,
            },
            _ => return None,
        };
        let is_user = match (&user, pair.first().and_then(Value::as_str)) {
            (Some(user), Some(role)) => user == role,
            _ => idx % 2 == 0,
        };
        let role = if is_user { "user" } else { "assistant" };
        let mut message = Map::new();
        message.insert("role".to_owned(), role.into());
        if text.is_none() {
            message.insert("done".to_owned(), false.into());
        }
        message.insert("content".to_owned(), text.into());
        if !images.is_null() {
            message.insert("images".to_owned(), images);
        }
        Some(Value::Object(message))
    });
    Value::Array(messages.collect())
}
