//! Words as they are disguised: capitals, accents, invisible and look-alike characters are folded away in the text; digits for letters, repeated, spaced and masked letters are in the patterns made from words.

use std::ops::Range;

use crate::annotate::identity::fold::fold_character;

/// A folded text with the way back, one entry for each of its bytes.
pub(super) struct Unmasked {
    pub(super) text: String,
    origins: Vec<usize>,
}

impl Unmasked {
    /// Folds a text. Nothing but what cannot be seen is dropped.
    pub(super) fn new(source: &str) -> Self {
        let mut unmasked = Self {
            text: String::with_capacity(source.len()),
            origins: Vec::with_capacity(source.len()),
        };
        for (at, character) in source.char_indices() {
            let mut push = |piece: char| {
                unmasked.text.push(piece);
                unmasked
                    .origins
                    .extend(std::iter::repeat_n(at, piece.len_utf8()));
            };
            if character.is_whitespace() {
                push(if character == '\n' { '\n' } else { ' ' });
            } else {
                fold_character(character, &mut push);
            }
        }
        unmasked
    }

    /// Where a range that is not empty stands in the source.
    pub(super) fn source_range(&self, source: &str, range: Range<usize>) -> Range<usize> {
        let start = self.origins[range.start];
        let last = self.origins[range.end - 1];
        let width = source[last..].chars().next().map_or(0, char::len_utf8);
        start..last + width
    }
}

/// Fewer letters than this are not looked for with a mask in them: `a*s` is arithmetic.
const MASKED_CHARS_MIN: usize = 4;
/// Fewer letters than this are not looked for with something between each.
const SPACED_CHARS_MIN: usize = 4;

/// The pattern of a word or phrase in an [`Unmasked`] text. `None` when nothing of it is left after folding.
///
/// Every run of a letter may be longer than in the word, never shorter, so that `as` is not a short `ass`.
/// Between letters there may be something everywhere or nowhere, so that `pen is` is two words.
pub(super) fn pattern(word: &str, is_prefix: bool) -> Option<String> {
    let mut folded = String::new();
    for character in word.trim().chars() {
        if character.is_whitespace() {
            folded.push(' ');
        } else {
            fold_character(character, &mut |piece| folded.push(piece));
        }
    }
    let letters: Vec<char> = folded.chars().collect();
    let (first, last) = (*letters.first()?, *letters.last()?);
    let n_letters = letters.iter().filter(|c| c.is_alphanumeric()).count();
    if n_letters == 0 {
        return None;
    }
    let mut runs: Vec<(char, usize)> = Vec::new();
    for letter in letters {
        match runs.last_mut() {
            Some((same, n)) if *same == letter => *n += 1,
            _ => runs.push((letter, 1)),
        }
    }
    let n_runs = runs.len();
    let plain: String = runs
        .iter()
        .enumerate()
        .map(|(n, (letter, times))| {
            let is_inner = n > 0 && n + 1 < n_runs;
            if *letter == ' ' {
                return r"[\s\x2d_.,]+".to_owned();
            }
            let class = class(*letter, is_inner && n_letters >= MASKED_CHARS_MIN);
            format!("{class}{{{times},}}")
        })
        .collect();
    let is_one_word = runs.iter().all(|(letter, _)| letter.is_alphabetic());
    let body = if n_letters >= SPACED_CHARS_MIN && is_one_word {
        let spaced: Vec<String> = runs
            .iter()
            .flat_map(|(letter, times)| std::iter::repeat_n(class(*letter, false), *times))
            .collect();
        format!("(?:{plain}|{})", spaced.join(r"[\s\x2d_.,*/|]{1,2}"))
    } else {
        format!("(?:{plain})")
    };
    let start = if joins(first) {
        r"(?:^|[^\p{L}\p{N}])"
    } else {
        ""
    };
    let end = if joins(last) && !is_prefix {
        r"(?:$|[^\p{L}\p{N}])"
    } else {
        ""
    };
    // The regex crate looks neither behind nor ahead, so the word is a group of its own.
    Some(format!("{start}({body}){end}"))
}

/// Whether words of the letter's script have spaces between them.
fn joins(letter: char) -> bool {
    letter.is_alphanumeric()
        && !matches!(letter,
            '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
            | '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// What may stand for a letter.
fn class(letter: char, may_be_masked: bool) -> String {
    let others = match letter {
        'a' => "4@",
        'b' => "8",
        'e' => "3€",
        'g' => "9",
        'i' => "1!|",
        'l' => "1|",
        'o' => "0",
        's' => "5$",
        't' => "7+",
        'z' => "2",
        _ => "",
    };
    let mask = if may_be_masked && letter.is_alphabetic() {
        "*#"
    } else {
        ""
    };
    format!("[{}{others}{mask}]", regex::escape(&letter.to_string()))
}
