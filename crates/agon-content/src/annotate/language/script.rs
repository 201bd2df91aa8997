//! Scripts: which writing system a letter belongs to, as far as languages are told apart by it.

/// A writing system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Script {
    Latin,
    Cyrillic,
    Arabic,
    Devanagari,
    Hebrew,
    Ethiopic,
    Han,
    Kana,
    Hangul,
    Greek,
    Armenian,
    Georgian,
    Thai,
    Lao,
    Khmer,
    Myanmar,
    Tibetan,
    Bengali,
    Gurmukhi,
    Gujarati,
    Oriya,
    Tamil,
    Telugu,
    Kannada,
    Malayalam,
    Sinhala,
    Thaana,
    Cherokee,
    Canadian,
    /// One that no language of the table is written in.
    Other,
}

/// How many scripts there are.
pub(super) const N_SCRIPTS: usize = Script::Other as usize + 1;

impl Script {
    /// Its code of four letters in the file of weights, for scripts that more than one language is written in.
    pub(super) fn from_code(code: &[u8]) -> Option<Self> {
        Some(match code {
            b"Latn" => Self::Latin,
            b"Cyrl" => Self::Cyrillic,
            b"Arab" => Self::Arabic,
            b"Deva" => Self::Devanagari,
            b"Hebr" => Self::Hebrew,
            b"Ethi" => Self::Ethiopic,
            _ => return None,
        })
    }

    /// Whether its letters alone do not tell the language.
    pub(super) const fn is_shared(self) -> bool {
        matches!(
            self,
            Self::Latin
                | Self::Cyrillic
                | Self::Arabic
                | Self::Devanagari
                | Self::Hebrew
                | Self::Ethiopic
        )
    }

    /// How many letters of an alphabet one of its letters says as much as.
    pub(super) const fn weight(self) -> u32 {
        match self {
            Self::Han | Self::Kana | Self::Hangul => 3,
            _ => 1,
        }
    }

    /// The language that all texts in the script are taken for, by its code.
    pub(super) const fn only_language(self) -> Option<&'static str> {
        Some(match self {
            Self::Han => "zh",
            Self::Kana => "ja",
            Self::Hangul => "ko",
            Self::Greek => "el",
            Self::Armenian => "hy",
            Self::Georgian => "ka",
            Self::Thai => "th",
            Self::Lao => "lo",
            Self::Khmer => "km",
            Self::Myanmar => "my",
            Self::Tibetan => "bo",
            Self::Bengali => "bn",
            Self::Gurmukhi => "pa",
            Self::Gujarati => "gu",
            Self::Oriya => "or",
            Self::Tamil => "ta",
            Self::Telugu => "te",
            Self::Kannada => "kn",
            Self::Malayalam => "ml",
            Self::Sinhala => "si",
            Self::Thaana => "dv",
            Self::Cherokee => "chr",
            Self::Canadian => "iu",
            _ => return None,
        })
    }

    /// The script of a letter, by the blocks of Unicode.
    pub(super) fn of(letter: char) -> Self {
        match u32::from(letter) {
            // The micro sign and the two ordinals are letters that stand in any text.
            ..=0x24f
            | 0x250..=0x2af
            | 0x1d00..=0x1dbf
            | 0x1e00..=0x1eff
            | 0x2c60..=0x2c7f
            | 0xa720..=0xa7ff
            | 0xab30..=0xab6f
            | 0xfb00..=0xfb06
            | 0xff21..=0xff5a => Self::Latin,
            // Modifier letters, such as the turned comma of Uzbek, go with the word they are in.
            0x2b0..=0x2ff => Self::Latin,
            0x370..=0x3ff | 0x1f00..=0x1fff => Self::Greek,
            0x400..=0x52f | 0x1c80..=0x1c8f | 0x2de0..=0x2dff | 0xa640..=0xa69f => Self::Cyrillic,
            0x530..=0x58f | 0xfb13..=0xfb17 => Self::Armenian,
            0x590..=0x5ff | 0xfb1d..=0xfb4f => Self::Hebrew,
            0x600..=0x6ff | 0x750..=0x77f | 0x870..=0x8ff | 0xfb50..=0xfdff | 0xfe70..=0xfeff => {
                Self::Arabic
            }
            0x780..=0x7bf => Self::Thaana,
            0x900..=0x97f | 0xa8e0..=0xa8ff => Self::Devanagari,
            0x980..=0x9ff => Self::Bengali,
            0xa00..=0xa7f => Self::Gurmukhi,
            0xa80..=0xaff => Self::Gujarati,
            0xb00..=0xb7f => Self::Oriya,
            0xb80..=0xbff => Self::Tamil,
            0xc00..=0xc7f => Self::Telugu,
            0xc80..=0xcff => Self::Kannada,
            0xd00..=0xd7f => Self::Malayalam,
            0xd80..=0xdff => Self::Sinhala,
            0xe00..=0xe7f => Self::Thai,
            0xe80..=0xeff => Self::Lao,
            0xf00..=0xfff => Self::Tibetan,
            0x1000..=0x109f | 0xa9e0..=0xa9ff | 0xaa60..=0xaa7f => Self::Myanmar,
            0x10a0..=0x10ff | 0x1c90..=0x1cbf | 0x2d00..=0x2d2f => Self::Georgian,
            0x1100..=0x11ff
            | 0x3130..=0x318f
            | 0xa960..=0xa97f
            | 0xac00..=0xd7ff
            | 0xffa0..=0xffdc => Self::Hangul,
            0x1200..=0x139f | 0x2d80..=0x2ddf | 0xab00..=0xab2f => Self::Ethiopic,
            0x13a0..=0x13ff | 0xab70..=0xabbf => Self::Cherokee,
            0x1400..=0x167f | 0x18b0..=0x18ff => Self::Canadian,
            0x1780..=0x17ff | 0x19e0..=0x19ff => Self::Khmer,
            0x3005
            | 0x3007
            | 0x2e80..=0x2fdf
            | 0x3400..=0x4dbf
            | 0x4e00..=0x9fff
            | 0xf900..=0xfaff
            | 0x20000..=0x3ffff => Self::Han,
            0x3040..=0x30ff | 0x31f0..=0x31ff | 0xff66..=0xff9f | 0x1b000..=0x1b16f => Self::Kana,
            _ => Self::Other,
        }
    }
}
