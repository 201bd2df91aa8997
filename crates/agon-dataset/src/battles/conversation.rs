//! Conversations, as far as features and comparisons of content need them: who said what, in every nesting that published sets have.
//!
//! A conversation is a list of messages `{role, content}`, a list of lists of them, or JSON text of either.
//! `content` is a text, a list of parts `{type, text, …}`, or `[text, [images…]]`.
//! A list of texts, or one text that is no JSON, is a list of answers.

use serde_json::Value;

use super::{AnswerStyle, intern::hash_128, wanted::Counted};

/// The messages of one side, without pictures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conversation {
    pub(crate) messages: Vec<Message>,
}

/// One message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    /// Empty where there are only answers.
    pub(crate) role: String,
    pub(crate) text: String,
}

impl Conversation {
    /// Reads what stands in a cell: JSON, or else one answer when it is a plain one that is allowed here.
    pub(crate) fn of_text(text: &str, may_be_plain: bool) -> Self {
        let trimmed = text.trim();
        let mut conversation = Self::default();
        if trimmed.starts_with(['[', '{', '"'])
            && let Ok(value) = serde_json::from_str::<Value>(trimmed)
        {
            conversation.add_value(&value, may_be_plain);
        } else if may_be_plain && !trimmed.is_empty() {
            conversation.add("", text);
        }
        conversation
    }

    /// Adds a message.
    pub(crate) fn add(&mut self, role: &str, text: &str) {
        self.messages.push(Message {
            role: role.to_owned(),
            text: text.to_owned(),
        });
    }

    fn add_value(&mut self, value: &Value, may_be_plain: bool) {
        match value {
            Value::Array(items) => {
                for item in items {
                    match item {
                        Value::String(text) => self.add("", text),
                        item => self.add_value(item, may_be_plain),
                    }
                }
            }
            Value::Object(message) => {
                let role = message.get("role").and_then(Value::as_str);
                // Where the content is null, nobody said anything.
                let content = message.get("content").filter(|content| !content.is_null());
                if let (Some(role), Some(content)) = (role, content) {
                    let mut text = String::new();
                    add_content(content, &mut text);
                    self.add(role, &text);
                }
            }
            Value::String(text) => *self = Self::of_text(text, may_be_plain),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// What the model said, in order.
    pub(crate) fn answers(&self) -> Vec<&str> {
        let is_answer =
            |message: &&Message| matches!(message.role.as_str(), "" | "assistant" | "model");
        let answers = self.messages.iter().filter(is_answer);
        answers.map(|message| message.text.as_str()).collect()
    }

    /// Adds all of it to what a hash is computed of.
    pub(crate) fn add_to_content(&self, content: &mut Vec<u8>) {
        add_text(content, &(self.messages.len() as u64).to_le_bytes());
        for message in &self.messages {
            add_text(content, message.role.as_bytes());
            add_text(content, message.text.as_bytes());
        }
    }
}

/// The text of a message, its pictures left out.
fn add_content(content: &Value, text: &mut String) {
    match content {
        Value::String(part) => add_part(part, text),
        Value::Array(parts) => {
            for part in parts {
                match part {
                    Value::String(part) => add_part(part, text),
                    Value::Object(part) => {
                        if let Some(Value::String(part)) = part.get("text") {
                            add_part(part, text);
                        }
                    }
                    // Hashes of pictures stand in a list of their own.
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// Adds a part of a message on a line of its own.
pub(crate) fn add_part(part: &str, text: &mut String) {
    if !text.is_empty() && !part.is_empty() {
        text.push('\n');
    }
    text.push_str(part);
}

/// Adds bytes with their length, so that no two lists of texts give the same bytes.
pub(crate) fn add_text(content: &mut Vec<u8>, text: &[u8]) {
    content.extend_from_slice(&(text.len() as u64).to_le_bytes());
    content.extend_from_slice(text);
}

/// The hash of all that tells a row apart.
pub(crate) fn content_hash(content: &[u8]) -> u128 {
    hash_128(content)
}

/// The number of a side that a feature compares.
pub(crate) fn number(style: &AnswerStyle, counted: Counted) -> f64 {
    let markdown = &style.markdown;
    match counted {
        Counted::Tokens => style.tokens.into(),
        Counted::Headers => markdown.headers.iter().map(|&n| f64::from(n)).sum(),
        Counted::Lists => f64::from(markdown.list_ordered) + f64::from(markdown.list_unordered),
        Counted::Bold => f64::from(markdown.bold_asterisks) + f64::from(markdown.bold_underscores),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nesting_gives_the_same_answers() {
        let messages = r#"{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}"#;
        let quoted = serde_json::to_string(&format!("[{messages}]")).unwrap();
        for text in [
            format!("[{messages}]"),
            format!("[[{messages}]]"),
            quoted,
            r#"[{"role":"user","content":[{"type":"text","text":"q"},{"type":"image","image":"iVBOR"}]},{"role":"assistant","content":[{"type":"text","text":"a"}]}]"#.to_owned(),
            r#"[{"role":"user","content":["q",["0a1b"]]},{"role":"assistant","content":"a"}]"#.to_owned(),
        ] {
            let conversation = Conversation::of_text(&text, false);
            assert_eq!(conversation.answers(), ["a"], "{text}");
            assert_eq!(conversation.messages[0].text, "q", "{text}");
        }
        assert_eq!(
            Conversation::of_text(r#"["a", null, "b"]"#, true).answers(),
            ["a", "b"]
        );
        assert_eq!(Conversation::of_text("a: [b", true).answers(), ["a: [b"]);
        assert!(Conversation::of_text("a", false).answers().is_empty());
        assert!(
            Conversation::of_text("[{\"role\": 1}, 5, {}]", false)
                .answers()
                .is_empty()
        );
    }
}
