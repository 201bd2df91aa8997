//! One spelling for what means the same: wide, styled and native digits, invisible characters, odd spaces and dashes.
//!
//! Recognisers read the normalised text; findings are given in the text as it came.
//! The result keeps how places correspond, and costs nothing for plain ASCII.

use std::{borrow::Cow, ops::Range};

/// A text in normal form, and where each part of it stood.
#[derive(Debug)]
pub(crate) struct View<'t> {
    /// The normalised text.
    pub(crate) text: Cow<'t, str>,
    changes: Vec<Change>,
}

/// A stretch that reads differently; everything between two of them was copied byte by byte.
#[derive(Clone, Copy, Debug)]
struct Change {
    here: usize,
    here_len: usize,
    there: usize,
    there_len: usize,
}

impl<'t> View<'t> {
    /// The normal form of a text.
    pub(crate) fn of(text: &'t str) -> Self {
        if text.is_ascii()
            && !text
                .bytes()
                .any(|byte| matches!(fold(char::from(byte)), Fold::Drop | Fold::To(_)))
        {
            return Self {
                text: Cow::Borrowed(text),
                changes: Vec::new(),
            };
        }
        let mut builder = ViewBuilder::new(text);
        for (place, character) in text.char_indices() {
            let len = character.len_utf8();
            match fold(character) {
                Fold::Keep => {}
                Fold::Drop => builder.replace(place..place + len, ""),
                Fold::To(ascii) => {
                    builder.replace(place..place + len, ascii.encode_utf8(&mut [0; 4]));
                }
            }
        }
        builder.finish()
    }

    /// Where a stretch of the normalised text stood in the original, without invisible characters at its edges.
    pub(crate) fn original(&self, range: Range<usize>) -> Range<usize> {
        self.start(range.start)..self.end(range.end)
    }

    /// Whether something in a stretch of the normalised text was spelled differently.
    pub(crate) fn changes_in(&self, range: &Range<usize>) -> bool {
        let first = self
            .changes
            .partition_point(|change| change.here + change.here_len <= range.start);
        self.changes[first..]
            .iter()
            .take_while(|change| change.here < range.end)
            .next()
            .is_some()
    }

    fn start(&self, place: usize) -> usize {
        match self.changes[..self.changes.partition_point(|change| change.here <= place)].last() {
            None => place,
            Some(change) if place < change.here + change.here_len => change.there,
            Some(change) => {
                change.there + change.there_len + (place - change.here - change.here_len)
            }
        }
    }

    fn end(&self, place: usize) -> usize {
        match self.changes[..self.changes.partition_point(|change| change.here < place)].last() {
            None => place,
            Some(change) if place <= change.here + change.here_len && change.here_len > 0 => {
                change.there + change.there_len
            }
            Some(change) => {
                change.there + change.there_len + (place - change.here - change.here_len)
            }
        }
    }
}

/// Builds a [`View`] by replacing stretches from left to right.
#[derive(Debug)]
pub(crate) struct ViewBuilder<'t> {
    source: &'t str,
    copied: usize,
    text: String,
    changes: Vec<Change>,
}

impl<'t> ViewBuilder<'t> {
    /// Nothing replaced yet.
    pub(crate) fn new(source: &'t str) -> Self {
        Self {
            source,
            copied: 0,
            text: String::with_capacity(source.len()),
            changes: Vec::new(),
        }
    }

    /// Writes `with` instead of the source's `range`, which must lie behind all earlier ones.
    pub(crate) fn replace(&mut self, range: Range<usize>, with: &str) {
        self.text.push_str(&self.source[self.copied..range.start]);
        self.changes.push(Change {
            here: self.text.len(),
            here_len: with.len(),
            there: range.start,
            there_len: range.len(),
        });
        self.text.push_str(with);
        self.copied = range.end;
    }

    /// Whether nothing was replaced.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.changes.is_empty()
    }

    /// Copies the rest.
    pub(crate) fn finish(mut self) -> View<'t> {
        if self.changes.is_empty() {
            return View {
                text: Cow::Borrowed(self.source),
                changes: self.changes,
            };
        }
        self.text.push_str(&self.source[self.copied..]);
        View {
            text: Cow::Owned(self.text),
            changes: self.changes,
        }
    }
}

enum Fold {
    Keep,
    Drop,
    To(char),
}

/// What one character reads as.
fn fold(character: char) -> Fold {
    let code = u32::from(character);
    let to = |value: u32| char::from_u32(value).map_or(Fold::Keep, Fold::To);
    match code {
        // Controls show nothing; those that move on a page are blanks.
        0x0B | 0x0C => Fold::To(' '),
        0..=0x08 | 0x0E..=0x1F | 0x7F..=0x84 | 0x86..=0x9F => Fold::Drop,
        0x09..=0x7E => Fold::Keep,
        // A blank of Braille, and what other alphabets fill with.
        0x2800 => Fold::To(' '),
        0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x3164 | 0xFFA0 => Fold::Drop,
        // Lines through and over characters, marks of annotations and of objects.
        0x0334..=0x0338 | 0xFFF0..=0xFFFD => Fold::Drop,
        // Soft hyphen, joiners, direction marks, variation selectors, the keycap frame, tags.
        0xAD
        | 0x34F
        | 0x61C
        | 0x180E
        | 0x200B..=0x200F
        | 0x202A..=0x202E
        | 0x2060..=0x206F
        | 0x20E3
        | 0xFE00..=0xFE0F
        | 0xFEFF
        | 0xE0000..=0xE0FFF => Fold::Drop,
        0x85 | 0x2028 | 0x2029 => Fold::To('\n'),
        // Hyphens, dashes and the minus sign.
        0x2010..=0x2015 | 0x2212 | 0xFE58 | 0xFE63 => Fold::To('-'),
        0xFE52 | 0xFF61 => Fold::To('.'),
        0xFE6B => Fold::To('@'),
        // Full-width forms of ASCII.
        0xFF01..=0xFF5E => to(code - 0xFEE0),
        // Mathematical letters repeat A–Z, a–z every 52 places; digits repeat every ten.
        0x1D400..=0x1D6A3 => {
            let place = (code - 0x1D400) % 52;
            to(if place < 26 {
                0x41 + place
            } else {
                0x61 + place - 26
            })
        }
        0x1D7CE..=0x1D7FF => to(0x30 + (code - 0x1D7CE) % 10),
        0x2460..=0x2468 => to(0x31 + code - 0x2460),
        0x24EA => Fold::To('0'),
        0x24B6..=0x24CF => to(0x41 + code - 0x24B6),
        0x24D0..=0x24E9 => to(0x61 + code - 0x24D0),
        0x1F130..=0x1F149 => to(0x41 + code - 0x1F130),
        0x1FBF0..=0x1FBF9 => to(0x30 + code - 0x1FBF0),
        _ if character.is_whitespace() => Fold::To(' '),
        _ => NATIVE_ZEROS
            .iter()
            .find(|zero| (**zero..**zero + 10).contains(&code))
            .map_or(Fold::Keep, |zero| to(0x30 + code - zero)),
    }
}

/// The zeros of decimal digits (general category Nd) of living scripts; the nine others follow.
const NATIVE_ZEROS: [u32; 37] = [
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66,
    0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90,
    0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0,
    0x104A0, 0x1E950,
];

/// The text in lower case, with every character at the same place: what would change its length stays as it is.
pub(crate) fn lower_in_place(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut lower = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            lower.push(character.to_ascii_lowercase());
            continue;
        }
        let mut small = character.to_lowercase();
        match (small.next(), small.next()) {
            (Some(one), None) if one.len_utf8() == character.len_utf8() => lower.push(one),
            _ => lower.push(character),
        }
    }
    lower
}

/// Whether a character is a part of a word, so that a number or name beside it is not one of its own.
///
/// Scripts without spaces between words (Chinese, Japanese, Korean with its particles, Thai, Lao, Khmer, Burmese) never join.
pub(crate) fn joins(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    let code = u32::from(character);
    let unspaced = matches!(code,
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF
        | 0x2E80..=0x9FFF | 0xA960..=0xA97F | 0xAC00..=0xD7FF | 0xF900..=0xFAFF
        | 0xFF00..=0xFFEF | 0x20000..=0x3FFFF);
    !unspaced && character.is_alphanumeric()
}

/// Whether nothing that belongs to the same word stands before `place`.
pub(crate) fn starts_word(text: &str, place: usize) -> bool {
    text[..place]
        .chars()
        .next_back()
        .is_none_or(|before| !joins(before))
}

/// Whether nothing that belongs to the same word stands at `place`.
pub(crate) fn ends_word(text: &str, place: usize) -> bool {
    text[place..]
        .chars()
        .next()
        .is_none_or(|after| !joins(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_kind_read_as_ascii() {
        for spelling in [
            "４１",
            "٤١",
            "۴۱",
            "४१",
            "𝟒𝟏",
            "4\u{fe0f}\u{20e3}1\u{fe0f}\u{20e3}",
            "④①",
            "4\u{200b}1",
        ] {
            assert_eq!(View::of(spelling).text, "41", "{spelling}");
        }
        assert_eq!(View::of("x² ½").text, "x² ½");
    }

    #[test]
    fn what_nobody_sees_counts_as_nothing() {
        for invisible in [
            '\0',
            '\u{7}',
            '\u{8}',
            '\u{1b}',
            '\u{7f}',
            '\u{ad}',
            '\u{34f}',
            '\u{115f}',
            '\u{17b4}',
            '\u{3164}',
            '\u{336}',
            '\u{fff9}',
            '\u{fffc}',
            '\u{fffd}',
            '\u{e0041}',
            '\u{e0100}',
        ] {
            let text = format!("4{invisible}1 a");
            assert_eq!(
                View::of(&text).text,
                "41 a",
                "{}",
                invisible.escape_unicode()
            );
        }
        for blank in ['\u{b}', '\u{c}', '\u{a0}', '\u{2800}', '\u{3000}'] {
            let text = format!("4{blank}1");
            assert_eq!(View::of(&text).text, "4 1", "{}", blank.escape_unicode());
        }
        assert_eq!(View::of("a\tb\r\nc").text, "a\tb\r\nc");
    }

    #[test]
    fn places_are_those_of_the_original() {
        let text = "é\u{200b}４\u{200b}1\u{200b} b";
        let view = View::of(text);
        assert_eq!(view.text, "é41 b");
        let place = view.text.find("41").unwrap();
        assert_eq!(&text[view.original(place..place + 2)], "４\u{200b}1");
        assert_eq!(
            &text[view.original(view.text.len() - 1..view.text.len())],
            "b"
        );
    }

    #[test]
    fn lower_case_moves_nothing() {
        let text = "İSTANBUL ΑΦΜ ẞ K";
        let lower = lower_in_place(text);
        assert_eq!(lower.len(), text.len());
        assert!(lower.contains("αφμ") && lower.contains("stanbul"));
    }

    #[test]
    fn scripts_without_spaces_do_not_join() {
        assert!(!joins('は') && !joins('号') && !joins('입') && !joins('ค') && !joins('_'));
        assert!(joins('é') && joins('я') && joins('9'));
    }
}
