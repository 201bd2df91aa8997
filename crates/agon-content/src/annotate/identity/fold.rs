//! One spelling for everything that looks alike, so that "Chat\u{200b}GPT", "ＣｈａｔＧＰＴ" and "СhаtGРТ" with Cyrillic letters read as one word.
//!
//! Folding is lower case, compatibility decomposition ([UAX #15](https://www.unicode.org/reports/tr15/)), marks above Latin, Greek, Cyrillic and Arabic letters dropped, invisible characters dropped, and look-alike letters of Greek and Cyrillic replaced by Latin ones, in the spirit of the skeletons of [UTS #39](https://www.unicode.org/reports/tr39/).
//! Patterns and names are folded by the same function as texts, so that a folded text need not be readable, only equal.

use std::ops::Range;

use unicode_normalization::char::decompose_compatible;

/// The first of the characters that stand for names in a template. They are private-use characters; a text's own ones are dropped by the folding.
pub(crate) const MARKER_FIRST: char = '\u{e000}';
/// The last of them.
pub(crate) const MARKER_LAST: char = '\u{e00f}';

/// A folded text, with the way back to where each byte of it came from.
pub(crate) struct Folded {
    /// The text. A run of white space is one space, or one line feed when a blank line is in it; emphasis and code marks of Markdown are gone.
    pub(crate) text: String,
    /// For each byte of `text`, where the character it came from starts in the source.
    pub(crate) origins: Vec<usize>,
}

/// Folds a text.
pub(crate) fn fold(source: &str) -> Folded {
    let mut folded = Folded {
        text: String::with_capacity(source.len()),
        origins: Vec::with_capacity(source.len()),
    };
    // Line feeds of the run of white space that has not been written yet, and where it starts.
    let mut space: Option<(usize, u32)> = None;
    let mut previous = ' ';
    for (at, character) in source.char_indices() {
        if character.is_whitespace() {
            let is_line = matches!(character, '\n' | '\u{2028}' | '\u{2029}');
            let (start, n_lines) = space.unwrap_or((at, 0));
            space = Some((start, n_lines + u32::from(is_line)));
            previous = ' ';
            continue;
        }
        if matches!(character, '*' | '`') {
            continue;
        }
        // Between letters an underscore joins a name; elsewhere it is emphasis.
        if character == '_' {
            let next = source[at + 1..].chars().next().unwrap_or(' ');
            if !(previous.is_alphanumeric() && next.is_alphanumeric()) {
                continue;
            }
        }
        fold_character(character, &mut |piece| {
            if let Some((start, n_lines)) = space.take()
                && !folded.text.is_empty()
            {
                folded.push(if n_lines > 1 { '\n' } else { ' ' }, start);
            }
            folded.push(piece, at);
        });
        previous = character;
    }
    folded
}

impl Folded {
    fn push(&mut self, piece: char, at: usize) {
        self.text.push(piece);
        self.origins
            .extend(std::iter::repeat_n(at, piece.len_utf8()));
    }

    /// Where a non-empty range of the folded text stands in its source.
    pub(crate) fn source_range(&self, source: &str, range: Range<usize>) -> Range<usize> {
        let start = self.origins[range.start];
        let last = self.origins[range.end - 1];
        let width = source[last..].chars().next().map_or(0, char::len_utf8);
        start..last + width
    }
}

/// Folds a short text that is no prose: a name or a pattern. White space and punctuation stay, folded.
pub(crate) fn fold_literal(literal: &str) -> String {
    let mut folded = String::with_capacity(literal.len());
    for character in literal.chars() {
        fold_character(character, &mut |piece| folded.push(piece));
    }
    folded
}

pub(crate) fn fold_character(character: char, push: &mut dyn FnMut(char)) {
    if character.is_ascii() {
        push(match character {
            '_' => '-',
            other => other.to_ascii_lowercase(),
        });
        return;
    }
    if is_dropped(character) {
        return;
    }
    for lower in character.to_lowercase() {
        decompose_compatible(lower, |piece| {
            if is_dropped(piece) {
                return;
            }
            // A decomposition can have capitals: U+2102 is a double-struck C.
            for lower in piece.to_lowercase() {
                push(look_alike(lower));
            }
        });
    }
}

/// Whether a character is invisible, a mark that writers leave out, or one of the markers.
fn is_dropped(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{300}'..='\u{36f}'
            | '\u{61c}'
            | '\u{640}'
            | '\u{64b}'..='\u{65f}'
            | '\u{670}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
            | MARKER_FIRST..=MARKER_LAST
    )
}

/// The character that stands for all that look like `lower`.
fn look_alike(lower: char) -> char {
    match lower {
        // Cyrillic, by the small letter or, where only the capitals are alike, by the capital.
        'а' => 'a',
        'в' => 'b',
        'с' => 'c',
        'ԁ' => 'd',
        'е' => 'e',
        'ԍ' => 'g',
        'һ' | 'н' => 'h',
        'і' | 'ӏ' => 'i',
        'ј' => 'j',
        'к' => 'k',
        'м' => 'm',
        'о' => 'o',
        'р' => 'p',
        'ԛ' => 'q',
        'ѕ' => 's',
        'т' => 't',
        'ѵ' => 'v',
        'ԝ' => 'w',
        'х' => 'x',
        'у' | 'ү' => 'y',
        // Greek, likewise.
        'α' => 'a',
        'β' => 'b',
        'ε' => 'e',
        'η' => 'h',
        'ι' => 'i',
        'κ' => 'k',
        'μ' => 'm',
        'ν' => 'n',
        'ο' => 'o',
        'ρ' => 'p',
        'ς' | 'ϲ' => 'c',
        'τ' => 't',
        'υ' => 'y',
        'χ' => 'x',
        'ζ' => 'z',
        // Latin.
        'ı' | 'ɩ' => 'i',
        'ł' => 'l',
        'ɡ' => 'g',
        'ɑ' => 'a',
        'ø' => 'o',
        // Arabic letters that keyboards of two languages write differently.
        'ى' | 'ی' => 'ي',
        'ک' => 'ك',
        'ة' => 'ه',
        // Punctuation.
        '‘' | '’' | '‛' | 'ʼ' | 'ʹ' | '′' => '\'',
        '“' | '”' | '„' | '‟' | '«' | '»' | '‹' | '›' | '「' | '」' | '『' | '』' | '《' | '》'
        | '〈' | '〉' | '″' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
        '、' | '،' => ',',
        '。' | '।' | '۔' => '.',
        '؟' | '¿' => '?',
        '¡' => '!',
        '【' => '[',
        '】' => ']',
        other => other,
    }
}
