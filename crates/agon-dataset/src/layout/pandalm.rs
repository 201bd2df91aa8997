//! The human test set of PandaLM: two answers, and the labels of three annotators on each pair.
//!
//! The models are named together, `bloom-7b_llama-7b`, in the order of the answers; a label is 0 for neither, 1 for the first, 2 for the second.
//! A record is one row: what most annotators say is its winner, and without a majority it says nothing.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::Nested;
use crate::fate::{Reason, cut};

#[derive(Deserialize)]
struct Pair {
    idx: Option<Value>,
    cmp_key: Option<String>,
    instruction: Option<String>,
    input: Option<String>,
    response1: Option<Value>,
    response2: Option<Value>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// Whether these are the members of one pair.
pub(crate) fn is_pair(members: &BTreeMap<String, &RawValue>) -> bool {
    ["cmp_key", "response1", "response2", "annotator1"]
        .iter()
        .all(|&name| members.contains_key(name))
}

/// Turns a pair into a flat battle.
pub(crate) fn flatten(bytes: &[u8]) -> Nested {
    let pair: Pair = match serde_json::from_slice(bytes) {
        Ok(pair) => pair,
        Err(error) => return Nested::Unreadable(cut(&error.to_string())),
    };
    let key = pair.cmp_key.unwrap_or_default();
    // No model of the set has the separator in its name; a name that does cannot be taken apart.
    let names: Vec<&str> = key.split('_').collect();
    let [a, b] = names.as_slice() else {
        return Nested::Unreadable(cut(&format!(
            "`cmp_key` is `{key}`: expected two names with `_` between them"
        )));
    };
    let is_label = |name: &str| {
        name.strip_prefix("annotator")
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut counts = [0_usize; 3];
    let mut labels = Vec::new();
    for (_, value) in pair.rest.iter().filter(|(name, _)| is_label(name)) {
        if value.is_null() {
            continue;
        }
        labels.push(value.to_string());
        let label = value.as_u64().and_then(|label| usize::try_from(label).ok());
        match label.and_then(|label| counts.get_mut(label)) {
            Some(count) => *count += 1,
            None => return Nested::Unreadable(cut(&format!("the label {value}: expected 0 to 2"))),
        }
    }
    let majority = (0..3).find(|&label| counts[label] * 2 > labels.len());
    let winner = match majority {
        Some(0) => Value::from("tie"),
        Some(1) => Value::from("model_a"),
        Some(_) => Value::from("model_b"),
        None if labels.is_empty() => Value::Null,
        None => {
            return Nested::Other {
                reason: Reason::WinnerAmbiguous,
                value: cut(&labels.join(", ")),
            };
        }
    };
    let mut prompt = pair.instruction.unwrap_or_default();
    if let Some(input) = pair.input.filter(|input| !input.is_empty()) {
        prompt.push('\n');
        prompt.push_str(&input);
    }
    let mut battle = Map::new();
    battle.insert("model_a".to_owned(), (*a).into());
    battle.insert("model_b".to_owned(), (*b).into());
    battle.insert("winner".to_owned(), winner);
    battle.insert("question_id".to_owned(), pair.idx.unwrap_or_default());
    battle.insert("prompt".to_owned(), prompt.into());
    battle.insert("response_a".to_owned(), pair.response1.unwrap_or_default());
    battle.insert("response_b".to_owned(), pair.response2.unwrap_or_default());
    for (name, value) in pair.rest {
        battle.entry(name).or_insert(value);
    }
    Nested::Vote(Value::Object(battle).to_string())
}
