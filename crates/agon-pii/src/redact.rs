//! Taking findings out of a text: by mask, by name, by number, by pseudonym, or without a trace.

use std::{collections::HashMap, ops::Range};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{Entity, Error, Finding, normalise::View};

/// Bytes of key below which pseudonyms could be undone by trying all keys.
const KEY_BYTES_MIN: usize = 16;
/// Letters of a pseudonym: 48 bits, so that a hundred thousand values of one release rarely share one.
const PSEUDONYM_LETTERS: usize = 12;

/// What stands in a text instead of a finding.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Policy {
    /// Each character becomes this one, so that the length stays.
    Mask(char),
    /// The entity's name in brackets: `[EMAIL_ADDRESS]`.
    Name,
    /// Name and number, the same for the same value in one text: `[EMAIL_ADDRESS_1]`.
    Number,
    /// Name and keyed pseudonym, the same for the same value wherever the key is the same: `[EMAIL_ADDRESS_kjbaoc…]`.
    ///
    /// The pseudonym is HMAC-SHA-256 of entity and value. Made with [`Policy::pseudonym`].
    Pseudonym(Key),
    /// Nothing.
    Drop,
}

/// A secret that pseudonyms are made with. It is never printed.
#[derive(Clone)]
pub struct Key(Vec<u8>);

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key(…)")
    }
}

impl Policy {
    /// Pseudonyms with this key.
    ///
    /// # Errors
    ///
    /// [`Error::Key`] if it has fewer than 16 bytes.
    pub fn pseudonym(key: &[u8]) -> Result<Self, Error> {
        if key.len() < KEY_BYTES_MIN {
            return Err(Error::Key(key.len()));
        }
        Ok(Self::Pseudonym(Key(key.to_vec())))
    }

    /// What stands instead of a value that was found under this name; `numbers` goes on from text to text.
    #[must_use]
    pub fn replacement(&self, name: &str, value: &str, numbers: &mut Numbers) -> String {
        match self {
            Self::Mask(mask) => value.chars().map(|_| *mask).collect(),
            Self::Name => format!("[{name}]"),
            Self::Number => format!("[{name}_{}]", numbers.of(name, value)),
            Self::Pseudonym(key) => format!("[{name}_{}]", pseudonym(key, name, value)),
            Self::Drop => String::new(),
        }
    }
}

/// A text without its findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted {
    /// The text.
    pub text: String,
    /// What was replaced, in the order of the text.
    pub spans: Vec<Span>,
}

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// What stood there.
    pub entity: Entity,
    /// Where it stood, in bytes of the original text.
    pub before: Range<usize>,
    /// Where its replacement stands, in bytes of the redacted text; empty if it was dropped.
    pub after: Range<usize>,
}

impl Redacted {
    /// Whether a stretch of the redacted text touches a replacement.
    pub(crate) fn replaced(&self, range: &Range<usize>) -> bool {
        self.spans
            .iter()
            .any(|span| range.start < span.after.end && span.after.start < range.end)
    }

    /// This redaction followed by another one of its text, which touches none of its replacements.
    pub(crate) fn then(self, next: Self) -> Self {
        // How far places behind the spans seen so far have moved, against the text in between.
        let (mut to_original, mut to_final) = ((0, 0), (0, 0));
        let shift = |place: usize, (more, less): (usize, usize)| place + more - less;
        let mut spans = Vec::with_capacity(self.spans.len() + next.spans.len());
        let mut later = next.spans.into_iter().peekable();
        let mut take_later = |until: usize,
                              to_original: (usize, usize),
                              to_final: &mut (usize, usize),
                              spans: &mut Vec<Span>| {
            while let Some(span) = later.next_if(|span| span.before.start < until) {
                *to_final = (span.after.end, span.before.end);
                let before =
                    shift(span.before.start, to_original)..shift(span.before.end, to_original);
                spans.push(Span { before, ..span });
            }
        };
        for span in self.spans {
            take_later(span.after.start, to_original, &mut to_final, &mut spans);
            to_original = (span.before.end, span.after.end);
            let after = shift(span.after.start, to_final)..shift(span.after.end, to_final);
            spans.push(Span { after, ..span });
        }
        take_later(usize::MAX, to_original, &mut to_final, &mut spans);
        Self {
            text: next.text,
            spans,
        }
    }
}

/// Replaces findings of a text, which must be in its order and without overlaps, as a detector returns them.
///
/// # Errors
///
/// [`Error::ForeignFinding`] if a finding does not fit the text.
pub fn redact(text: &str, findings: &[Finding], policy: &Policy) -> Result<Redacted, Error> {
    redact_numbered(text, findings, policy, &mut Numbers::default())
}

/// The numbers that values of each name have been given: one and the same for all texts in which equal values shall have equal numbers.
#[derive(Debug, Default)]
pub struct Numbers {
    numbers: HashMap<(String, String), usize>,
    counts: HashMap<String, usize>,
}

impl Numbers {
    fn of(&mut self, name: &str, value: &str) -> usize {
        *self
            .numbers
            .entry((name.to_owned(), plain(value)))
            .or_insert_with(|| {
                let count = self.counts.entry(name.to_owned()).or_default();
                *count += 1;
                *count
            })
    }
}

/// [`redact`], going on with numbers that were given before.
pub(crate) fn redact_numbered(
    text: &str,
    findings: &[Finding],
    policy: &Policy,
    numbers: &mut Numbers,
) -> Result<Redacted, Error> {
    let mut redacted = String::with_capacity(text.len());
    let mut spans = Vec::with_capacity(findings.len());
    let mut copied = 0;
    for finding in findings {
        let foreign = Error::ForeignFinding {
            end: finding.bytes.end,
            len: text.len(),
        };
        let (Some(between), Some(value)) = (
            text.get(copied..finding.bytes.start),
            text.get(finding.bytes.clone()),
        ) else {
            return Err(foreign);
        };
        redacted.push_str(between);
        let start = redacted.len();
        redacted.push_str(&policy.replacement(finding.entity.name(), value, numbers));
        spans.push(Span {
            entity: finding.entity,
            before: finding.bytes.clone(),
            after: start..redacted.len(),
        });
        copied = finding.bytes.end;
    }
    redacted.push_str(&text[copied..]);
    Ok(Redacted {
        text: redacted,
        spans,
    })
}

/// A value without case and separators, so that two spellings of a number are one value.
fn plain(value: &str) -> String {
    View::of(value)
        .text
        .chars()
        .filter(|character| character.is_alphanumeric() || *character == '@')
        .flat_map(char::to_lowercase)
        .collect()
}

/// Letters only, so that no pseudonym is mistaken for a number.
fn pseudonym(key: &Key, name: &str, value: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(&key.0)
        .unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
    mac.update(name.as_bytes());
    mac.update(b"|");
    mac.update(plain(value).as_bytes());
    let code = mac.finalize().into_bytes();
    code.iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .take(PSEUDONYM_LETTERS)
        .map(|nibble| char::from(b'a' + nibble))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Detector, Options};

    fn found(text: &str) -> Vec<Finding> {
        Detector::new(&Options::default()).unwrap().find(text)
    }

    #[test]
    fn each_policy_replaces_in_its_way() {
        let text = "Mail ana@example.com or ANA@example.com.";
        let findings = found(text);
        let with = |policy: Policy| redact(text, &findings, &policy).unwrap().text;
        assert_eq!(
            with(Policy::Mask('█')),
            "Mail ███████████████ or ███████████████."
        );
        assert_eq!(
            with(Policy::Name),
            "Mail [EMAIL_ADDRESS] or [EMAIL_ADDRESS]."
        );
        assert_eq!(
            with(Policy::Number),
            "Mail [EMAIL_ADDRESS_1] or [EMAIL_ADDRESS_1]."
        );
        assert_eq!(with(Policy::Drop), "Mail  or .");
    }

    #[test]
    fn pseudonyms_depend_on_key_and_value_and_not_on_spelling() {
        let text = "card 4111 1111 1111 1111, card 4111-1111-1111-1111, card 5555555555554444";
        let findings = found(text);
        assert_eq!(findings.len(), 3);
        let spans = |key: &[u8]| {
            let redacted = redact(text, &findings, &Policy::pseudonym(key).unwrap()).unwrap();
            redacted
                .spans
                .iter()
                .map(|span| redacted.text[span.after.clone()].to_owned())
                .collect::<Vec<_>>()
        };
        let (one, other) = (spans(b"0123456789abcdef"), spans(b"fedcba9876543210"));
        assert_eq!(one[0], one[1]);
        assert_ne!(one[0], one[2]);
        assert_ne!(one[0], other[0]);
        assert!(matches!(Policy::pseudonym(b"short"), Err(Error::Key(5))));
        assert_eq!(
            format!("{:?}", Policy::pseudonym(&[7; 16]).unwrap()),
            "Pseudonym(Key(…))"
        );
    }

    #[test]
    fn spans_tell_where_things_were_and_are() {
        let text = "é ana@example.com ü";
        let redacted = redact(text, &found(text), &Policy::Name).unwrap();
        let span = &redacted.spans[0];
        assert_eq!(&text[span.before.clone()], "ana@example.com");
        assert_eq!(&redacted.text[span.after.clone()], "[EMAIL_ADDRESS]");
    }

    #[test]
    fn two_redactions_one_after_the_other_are_one() {
        let span = |entity, before, after| Span {
            entity,
            before,
            after,
        };
        // abXXXXcdYef → ab[1]cdYef → ab[1]cd[22]ef
        let first = Redacted {
            text: "ab[1]cdYef".to_owned(),
            spans: vec![span(Entity::Imei, 2..6, 2..5)],
        };
        let second = Redacted {
            text: "ab[1]cd[22]ef".to_owned(),
            spans: vec![span(Entity::Vin, 7..8, 7..11)],
        };
        let both = first.then(second);
        assert_eq!(
            both.spans,
            [
                span(Entity::Imei, 2..6, 2..5),
                span(Entity::Vin, 8..9, 7..11)
            ]
        );
        let first = Redacted {
            text: "Yab[1]".to_owned(),
            spans: vec![span(Entity::Imei, 3..9, 3..6)],
        };
        let second = Redacted {
            text: "[22]ab[1]".to_owned(),
            spans: vec![span(Entity::Vin, 0..1, 0..4)],
        };
        assert_eq!(
            first.then(second).spans,
            [
                span(Entity::Vin, 0..1, 0..4),
                span(Entity::Imei, 3..9, 6..9)
            ]
        );
    }

    #[test]
    fn findings_of_another_text_are_an_error() {
        let findings = found("Mail ana@example.com");
        assert!(matches!(
            redact("short", &findings, &Policy::Name),
            Err(Error::ForeignFinding { end: 20, len: 5 })
        ));
    }
}
