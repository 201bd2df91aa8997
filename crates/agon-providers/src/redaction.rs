//! Takes out of a provider's own words what must not reach a log: keys, prompts, image data.

use crate::{ApiKey, Request};

/// The longest foreign text that an error message quotes, in characters.
const QUOTE_CHARS_MAX: usize = 300;

/// How much of a foreign text is looked at, in characters, so that a long one costs no time.
const CHECKED_CHARS_MAX: usize = 1_000;

/// Two texts that share so many characters in a row are taken for a quotation.
const SHARED_CHARS_MIN: usize = 16;

/// An unbroken run of so many letters and digits is data, not words.
const RUN_CHARS_MAX: usize = 48;

/// What must not be quoted.
#[derive(Clone, Default)]
pub(crate) struct Redaction {
    key: Option<ApiKey>,
    /// What the request says, in lower case, one entry per message.
    texts: Vec<String>,
    /// The answer so far, in lower case: some servers quote it when they fail.
    answer: String,
}

impl Redaction {
    pub(crate) fn new(key: Option<ApiKey>, request: &Request) -> Self {
        let texts = request
            .messages
            .iter()
            .map(|message| message.text.as_str())
            .chain(request.system.as_deref())
            .map(str::to_lowercase)
            .collect();
        Self {
            key,
            texts,
            answer: String::new(),
        }
    }

    /// Remembers a piece of the answer as not to be quoted.
    pub(crate) fn add_answer(&mut self, text: &str) {
        self.answer.push_str(&text.to_lowercase());
    }

    /// What may be shown of a provider's words, on one line and in backticks.
    pub(crate) fn quote(&self, text: &str) -> String {
        let mut text = text.replace('`', "'");
        if let Some(key) = self.key.as_ref().filter(|key| !key.expose().is_empty()) {
            text = text.replace(key.expose(), "[key]");
        }
        let text: String = text.chars().take(CHECKED_CHARS_MAX).collect();
        if self.quotes_conversation(&text) {
            return "(withheld: it quotes the conversation)".to_owned();
        }
        let words: Vec<String> = text
            .split_whitespace()
            .map(|word| self.redact_word(word))
            .collect();
        let text = words.join(" ");
        let mut quote: String = text
            .chars()
            .filter(|c| !c.is_control())
            .take(QUOTE_CHARS_MAX)
            .collect();
        if text.chars().count() > QUOTE_CHARS_MAX {
            quote.push('…');
        }
        format!("`{quote}`")
    }

    fn redact_word(&self, word: &str) -> String {
        // Vendors echo a key half masked (`sk-ab***yz`), which still tells which account it is.
        let key_start: Option<String> = self
            .key
            .as_ref()
            .map(|key| key.expose().chars().take(6).collect());
        let starts_like_key = key_start.is_some_and(|start| {
            start.chars().count() == 6 && word.to_lowercase().contains(&start.to_lowercase())
        });
        if starts_like_key || word.contains("***") || word.contains("sk-") {
            return "[key]".to_owned();
        }
        if word.starts_with("data:")
            || word.contains(";base64,")
            || longest_run(word) > RUN_CHARS_MAX
        {
            return "[data]".to_owned();
        }
        word.to_owned()
    }

    /// Whether `text` and a message of the conversation share a run of characters that is too long for chance.
    fn quotes_conversation(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        // This is how a common local server begins an error that goes on with the model's raw output.
        if lower.contains("failed to parse input") {
            return true;
        }
        // Escaped quotations hide line breaks as `\n`; the runs between them are still found.
        let chars: Vec<char> = lower.chars().collect();
        self.texts.iter().chain([&self.answer]).any(|prompt| {
            let n_chars = prompt.trim().chars().count();
            if n_chars < 4 {
                return false;
            }
            if n_chars <= SHARED_CHARS_MIN {
                return lower.contains(prompt.trim());
            }
            chars.windows(SHARED_CHARS_MIN).any(|window| {
                let window: String = window.iter().collect();
                prompt.contains(&window)
            })
        })
    }
}

fn longest_run(word: &str) -> usize {
    word.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')))
        .map(str::len)
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    #[test]
    fn keys_prompts_and_data_are_taken_out() {
        let mut request = Request::new(vec![
            Message::user("How do I tell Margaret about the diagnosis?"),
            Message::assistant("Gently, and in person, perhaps."),
            Message::user("Why?"),
        ]);
        request.system = Some("Be a kind and careful listener.".to_owned());
        let redaction = Redaction::new(Some(ApiKey::new("sk-live-1234567890abcdef")), &request);
        let check = |text: &str, expected: &str| assert_eq!(redaction.quote(text), expected);
        check(
            "the model `x` does\nnot exist",
            "`the model 'x' does not exist`",
        );
        check(
            "bad key sk-live-1234567890abcdef given",
            "`bad key [key] given`",
        );
        check(
            "Incorrect API key provided: sk-li***cdef.",
            "`Incorrect API key provided: [key]`",
        );
        check("Incorrect key SK-LIVE-1…", "`Incorrect key [key]`");
        let withheld = "(withheld: it quotes the conversation)";
        check(
            "cannot parse 'tell Margaret about the' in message",
            withheld,
        );
        check("system: be a kind and careful", withheld);
        check("bad role for 'Why?'", withheld);
        check("gently, and in person", withheld);
        check(
            "unreadable data:image/png;base64,AAAA here",
            "`unreadable [data] here`",
        );
        check(&format!("blob {}", "A1".repeat(40)), "`blob [data]`");
        check("Failed to parse input at pos 3: I", withheld);
        let mut answered = redaction.clone();
        answered.add_answer("The doctor said");
        answered.add_answer(" it is treatable.");
        assert_eq!(answered.quote("bad output: said it is treatable"), withheld);
        let long = redaction.quote(&"word ".repeat(200));
        assert!(
            long.chars().count() == QUOTE_CHARS_MAX + 3 && long.ends_with("…`"),
            "{long}"
        );
    }
}
