//! Other readings of a text: addresses with “at” and “dot”, numbers in words, letters that look like digits.
//!
//! Each reading is a further normal form, searched like the first; only what it changed is taken from it.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::{
    normalise::{View, ViewBuilder, ends_word, starts_word},
    recogniser::run_forwards,
};

/// A further reading.
#[derive(Debug)]
pub(crate) struct Reread<'t> {
    /// What it reads.
    pub(crate) view: View<'t>,
    /// Whether only values with right check digits may be taken from it.
    pub(crate) needs_check: bool,
}

/// All further readings of a normalised text that change something.
pub(crate) fn rereads<'t>(text: &'t str, lower: &str) -> Vec<Reread<'t>> {
    [
        (signs_in_words(text, lower), false),
        (digits_in_words(text, lower), false),
        (look_alikes(text), true),
    ]
    .into_iter()
    .filter_map(|(view, needs_check)| view.map(|view| Reread { view, needs_check }))
    .collect()
}

/// Spellings of @ and of the full stop; those with blanks around count only in the right place.
const SPELLINGS: &[(&str, &str)] = &[
    ("[at]", "@"),
    ("(at)", "@"),
    ("{at}", "@"),
    ("<at>", "@"),
    ("[@]", "@"),
    ("(@)", "@"),
    ("&#64;", "@"),
    ("&#x40;", "@"),
    ("&commat;", "@"),
    ("%40", "@"),
    (" arroba ", "@"),
    ("[arroba]", "@"),
    ("(arroba)", "@"),
    (" at ", "@"),
    (" chiocciola ", "@"),
    (" собака ", "@"),
    ("[dot]", "."),
    ("(dot)", "."),
    ("{dot}", "."),
    ("<dot>", "."),
    ("[.]", "."),
    ("(.)", "."),
    ("&#46;", "."),
    ("&period;", "."),
    (" dot ", "."),
    (" punto ", "."),
    (" point ", "."),
    (" punkt ", "."),
    (" точка ", "."),
];

static SPELLING_SEARCH: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(SPELLINGS.iter().map(|(spelling, _)| spelling))
        .ok()
});

/// Bytes between two spelled signs of one address, at most.
const LABEL_BYTES_MAX: usize = 64;

fn signs_in_words<'t>(text: &'t str, lower: &str) -> Option<View<'t>> {
    let hits: Vec<(usize, usize, &str, bool)> = SPELLING_SEARCH
        .as_ref()?
        .find_iter(lower)
        .map(|hit| {
            let (spelling, sign) = SPELLINGS[hit.pattern().as_usize()];
            (hit.start(), hit.end(), sign, spelling.starts_with(' '))
        })
        .collect();
    let mut builder = ViewBuilder::new(text);
    let mut last: Option<usize> = None;
    for (index, (start, end, sign, is_word)) in hits.iter().enumerate() {
        let follows = last.is_some_and(|last| {
            start.saturating_sub(last) <= LABEL_BYTES_MAX
                && !text[last..*start].trim().contains(' ')
        });
        // “at” between blanks is a word of every sentence; a spelled full stop must follow before the next blank.
        let before_at = !is_word
            && hits.get(index + 1).is_some_and(|(next, _, next_sign, _)| {
                *next_sign == "@"
                    && next.saturating_sub(*end) <= LABEL_BYTES_MAX
                    && !text[*end..*next].trim().contains(' ')
            });
        let leads = !is_word
            || *sign == "@"
                && hits.get(index + 1).is_some_and(|(next, _, next_sign, _)| {
                    *next_sign == "."
                        && next.saturating_sub(*end) <= LABEL_BYTES_MAX
                        && !text[*end..*next].trim().contains(' ')
                })
                && hits
                    .get(index + 1)
                    .is_some_and(|(_, next_end, ..)| !is_common_word(&lower[*next_end..]));
        if !(leads && *sign == "@" || *sign == "." && (follows || before_at)) {
            continue;
        }
        let before = text[..*start].len() - text[..*start].trim_end_matches(' ').len();
        let after = text[*end..].len() - text[*end..].trim_start_matches(' ').len();
        // Blanks around the brackets belong to the spelling.
        if before > 2 || after > 2 || last.is_some_and(|last| last > start - before) {
            continue;
        }
        builder.replace(start - before..end + after, sign);
        last = Some(end + after);
    }
    (!builder.is_unchanged()).then(|| builder.finish())
}

/// Whether a text begins with a word that is a top-level domain by accident: “at the dot in the middle”.
fn is_common_word(text: &str) -> bool {
    let word = text
        .trim_start_matches(' ')
        .split(|character: char| !character.is_alphanumeric())
        .next()
        .unwrap_or_default();
    matches!(
        word,
        "in" | "at"
            | "is"
            | "it"
            | "to"
            | "me"
            | "be"
            | "no"
            | "so"
            | "us"
            | "am"
            | "do"
            | "my"
            | "as"
            | "the"
            | "and"
    )
}

const DIGIT_WORDS: &[(&str, &str)] = &[
    ("zero", "0"),
    ("oh", "0"),
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
];

static DIGIT_SEARCH: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new(DIGIT_WORDS.iter().map(|(word, _)| word)).ok());

/// Digits in words before a run of them is a number and not a countdown.
const DIGIT_WORDS_MIN: usize = 7;

fn digits_in_words<'t>(text: &'t str, lower: &str) -> Option<View<'t>> {
    let mut runs: Vec<Vec<(usize, usize, &str)>> = Vec::new();
    for hit in DIGIT_SEARCH.as_ref()?.find_iter(lower) {
        if !starts_word(lower, hit.start()) || !ends_word(lower, hit.end()) {
            continue;
        }
        let word = (
            hit.start(),
            hit.end(),
            DIGIT_WORDS[hit.pattern().as_usize()].1,
        );
        match runs.last_mut() {
            Some(run)
                if run.last().is_some_and(|(_, end, _)| {
                    matches!(&lower[*end..word.0], " " | ", " | "-" | "," | " - ")
                }) =>
            {
                run.push(word);
            }
            _ => runs.push(vec![word]),
        }
    }
    let mut builder = ViewBuilder::new(text);
    for run in runs.iter().filter(|run| run.len() >= DIGIT_WORDS_MIN) {
        let mut previous: Option<usize> = None;
        for (start, end, digit) in run {
            // A comma separates groups.
            if let Some(previous) = previous {
                builder.replace(
                    previous..*start,
                    if text[previous..*start].trim() == "" {
                        ""
                    } else {
                        "-"
                    },
                );
            }
            builder.replace(*start..*end, digit);
            previous = Some(*end);
        }
    }
    (!builder.is_unchanged()).then(|| builder.finish())
}

/// Characters that pass for digits.
fn look_alike(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'l' | b'I' | b'|' => "1",
        b'O' | b'o' => "0",
        b'S' => "5",
        b'B' => "8",
        b'Z' => "2",
        _ => return None,
    })
}

/// No card has more digits.
const CARD_DIGITS_MAX: usize = 19;

fn look_alikes(text: &str) -> Option<View<'_>> {
    let bytes = text.as_bytes();
    let mut builder = ViewBuilder::new(text);
    let mut place = 0;
    while place < bytes.len() {
        let start = place;
        let is_part = |byte: u8| byte.is_ascii_digit() || look_alike(byte).is_some();
        if !is_part(bytes[start]) || !starts_word(text, start) {
            place += 1;
            continue;
        }
        // Whole groups of such characters, with single blanks or hyphens between.
        let (mut n_digits, mut n_signs, mut end, mut next) = (0, 0, start, start);
        while n_signs <= CARD_DIGITS_MAX {
            let group = run_forwards(text, next, CARD_DIGITS_MAX + 1, is_part);
            if group.is_empty() || !ends_word(text, group.end) {
                break;
            }
            n_digits += text[group.clone()]
                .bytes()
                .filter(u8::is_ascii_digit)
                .count();
            n_signs += group.len();
            end = group.end;
            next = end + 1;
            if !matches!(bytes.get(end), Some(b' ' | b'-')) {
                break;
            }
        }
        place = end.max(start + 1);
        if (13..=CARD_DIGITS_MAX).contains(&n_signs) && (1..n_signs).contains(&n_digits) {
            for (place, byte) in text[start..end].bytes().enumerate() {
                if let Some(digit) = look_alike(byte) {
                    builder.replace(start + place..start + place + 1, digit);
                }
            }
        }
    }
    (!builder.is_unchanged()).then(|| builder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(view: Option<View<'_>>) -> Option<String> {
        view.map(|view| view.text.into_owned())
    }

    #[test]
    fn spelled_signs_are_read_where_an_address_is() {
        for (text, expected) in [
            ("ana [at] example [dot] com", Some("ana@example.com")),
            ("ana(at)example.com", Some("ana@example.com")),
            (
                "ana (dot) b (at) example (dot) com",
                Some("ana.b@example.com"),
            ),
            ("ana at example dot com", Some("ana@example.com")),
            ("ana arroba example punto com", Some("ana@example.com")),
            ("ana&#64;example.com", Some("ana@example.com")),
            ("we meet at noon", None),
            ("a dot product at the end", None),
        ] {
            assert_eq!(
                read(signs_in_words(text, text)).as_deref(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn spelled_digits_are_read_in_groups() {
        let text = "five three six, nine zero, four three nine nine";
        assert_eq!(
            read(digits_in_words(text, text)).as_deref(),
            Some("536-90-4399")
        );
        assert_eq!(
            read(digits_in_words("one two three", "one two three")),
            None
        );
    }

    #[test]
    fn look_alikes_need_a_digit_and_the_length_of_a_card() {
        assert_eq!(
            read(look_alikes("card 4lll llll llll llll ok")).as_deref(),
            Some("card 4111 1111 1111 1111 ok")
        );
        assert_eq!(read(look_alikes("llll llll llll llll")), None);
        assert_eq!(read(look_alikes("Solo 4 lOl")), None);
    }
}
