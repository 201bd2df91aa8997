//! Characters, words and emoji: lengths that do not depend on a tokenizer.

use std::sync::LazyLock;

use regex::Regex;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::annotate::Annotator;

/// The annotator of [`text_counts`].
pub const STYLE_TEXT_ANNOTATOR: Annotator = Annotator {
    name: "style-text",
    version: 1,
};

/// How long a text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextCounts {
    /// Code points.
    pub n_characters: u32,
    /// Words: segments of UAX #29 with a letter or a number. A character of Han, kana or Thai is one.
    pub n_words: u32,
    /// Emoji as they are seen: a family, a flag or a keycap is one. Signs that are shown as text by default, such as ©, are none.
    pub n_emoji: u32,
}

impl std::ops::AddAssign for TextCounts {
    fn add_assign(&mut self, other: Self) {
        self.n_characters = self.n_characters.saturating_add(other.n_characters);
        self.n_words = self.n_words.saturating_add(other.n_words);
        self.n_emoji = self.n_emoji.saturating_add(other.n_emoji);
    }
}

/// Characters, words and emoji of a text.
pub fn text_counts(text: &str) -> TextCounts {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    TextCounts {
        n_characters: number(text.chars().count()),
        n_words: number(text.unicode_words().count()),
        // Most answers have no character of the planes and blocks where emoji are.
        n_emoji: if text.is_ascii() {
            0
        } else {
            number(EMOJI.find_iter(text).count())
        },
    }
}

/// The sequences of UTS #51, without a check that a sequence is one that fonts have.
static EMOJI: LazyLock<Regex> = LazyLock::new(|| {
    // Expect safety: the pattern is a constant, and the tests of this module compile it.
    Regex::new(concat!(
        r"[\x{1F1E6}-\x{1F1FF}]{2}|[0-9#*]\x{FE0F}?\x{20E3}|",
        r"(?:\p{Emoji_Presentation}\x{FE0F}?|\p{Extended_Pictographic}\x{FE0F}|\p{Extended_Pictographic}\p{Emoji_Modifier})",
        r"\p{Emoji_Modifier}?[\x{E0020}-\x{E007F}]*",
        r"(?:\x{200D}\p{Extended_Pictographic}\x{FE0F}?\p{Emoji_Modifier}?)*"
    ))
    .expect("a valid pattern")
});
