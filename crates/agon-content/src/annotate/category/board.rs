//! The categories of a leaderboard: which battles each is made of.
//!
//! The keys are the arena's (`arena-behaviour`, FastChat's `serve/monitor/monitor.py`).
//! What needs more than one battle to tell (repeated prompts, votes per voter, images from the preset bank) is not decided here.

use agon_domain::Winner;

use super::{Category, CategoryLabel, Label, first_known};

/// Tokens of the prompts from which on a query counts as long.
pub const LONG_QUERY_TOKENS: u32 = 500;
/// Tokens of the prompts below which a query counts as short.
pub const SHORT_QUERY_TOKENS: u32 = 5;
/// How many of the seven criteria a hard prompt has to meet.
pub const HARD_CRITERIA_MIN: usize = 6;

/// A language that has a leaderboard of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LanguageGroup {
    /// English.
    English,
    /// Chinese, in any script.
    Chinese,
    /// French.
    French,
    /// German.
    German,
    /// Spanish.
    Spanish,
    /// Russian.
    Russian,
    /// Japanese.
    Japanese,
    /// Korean.
    Korean,
    /// A known language that shares no board.
    Other,
}

impl LanguageGroup {
    /// The groups with a board.
    pub const BOARDS: [Self; 8] = [
        Self::English,
        Self::Chinese,
        Self::French,
        Self::German,
        Self::Spanish,
        Self::Russian,
        Self::Japanese,
        Self::Korean,
    ];

    /// The group of a language, given as an English name (`Chinese`) or as a tag of BCP 47 (`zh-Hant`), as the arena's releases have it.
    ///
    /// `None` when the language is not known: `unknown`, `und`, `zxx` or nothing.
    pub fn of(language: &str) -> Option<Self> {
        let lower = language.trim().to_lowercase();
        let primary = lower.split(['-', '_', ' ']).next().unwrap_or_default();
        Some(match primary {
            "" | "unknown" | "und" | "zxx" | "mul" | "mis" => return None,
            "english" | "en" | "eng" => Self::English,
            "chinese" | "zh" | "zho" | "chi" | "cmn" | "yue" => Self::Chinese,
            "french" | "fr" | "fra" | "fre" => Self::French,
            "german" | "de" | "deu" | "ger" => Self::German,
            "spanish" | "es" | "spa" => Self::Spanish,
            "russian" | "ru" | "rus" => Self::Russian,
            "japanese" | "ja" | "jpn" => Self::Japanese,
            "korean" | "ko" | "kor" => Self::Korean,
            _ => Self::Other,
        })
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::English => "english",
            Self::Chinese => "chinese",
            Self::French => "french",
            Self::German => "german",
            Self::Spanish => "spanish",
            Self::Russian => "russian",
            Self::Japanese => "japanese",
            Self::Korean => "korean",
            Self::Other => "other",
        }
    }
}

/// A part of all battles that has a leaderboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BoardCategory {
    /// Every battle.
    Full,
    /// At least two turns.
    MultiTurn,
    /// Prompts of at least [`LONG_QUERY_TOKENS`].
    LongQuery,
    /// Without prompts of fewer than [`SHORT_QUERY_TOKENS`].
    ExcludeShort,
    /// Without ties, both kinds.
    ExcludeTies,
    /// Without battles in which an answer declines.
    ExcludeRefusal,
    /// At least [`HARD_CRITERIA_MIN`] of the seven criteria.
    Hard,
    /// The hard ones in English.
    HardEnglish,
    /// One language, of [`LanguageGroup::BOARDS`].
    Language(LanguageGroup),
    /// Battles of a category.
    Of(Category),
}

/// What the decision needs to know of a battle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BattleFacts<'a> {
    /// Turns that the vote counts.
    pub n_turns: u32,
    /// Tokens of all prompts, by [`crate::annotate::style::Encoding::Cl100k`]; `None` when not counted.
    pub prompt_tokens: Option<u32>,
    /// The language of the prompts, in a spelling of [`LanguageGroup::of`].
    pub language: Option<&'a str>,
    /// What the vote says.
    pub winner: Option<Winner>,
    /// Labels, the most trusted first.
    pub labels: &'a [CategoryLabel],
}

impl BoardCategory {
    /// Every category of a board, in the order of the arena's overview; the seven criteria and `is_code` have no board.
    pub fn all() -> Vec<Self> {
        let mut all = vec![
            Self::Full,
            Self::Hard,
            Self::HardEnglish,
            Self::LongQuery,
            Self::MultiTurn,
            Self::ExcludeShort,
            Self::ExcludeTies,
            Self::ExcludeRefusal,
        ];
        all.extend(
            Category::ALL
                .into_iter()
                .filter(|category| {
                    !Category::HARD_CRITERIA.contains(category)
                        && !matches!(category, Category::IsCode | Category::Refusal)
                })
                .map(Self::Of),
        );
        all.extend(LanguageGroup::BOARDS.into_iter().map(Self::Language));
        all
    }

    /// The arena's key.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::MultiTurn => "multiturn",
            Self::LongQuery => "long_user",
            Self::ExcludeShort => "no_short",
            Self::ExcludeTies => "no_tie",
            Self::ExcludeRefusal => "no_refusal",
            Self::Hard => "hard_6",
            Self::HardEnglish => "hard_english_6",
            Self::Language(group) => group.as_str(),
            Self::Of(Category::Code) => "coding",
            Self::Of(category) => category.as_str(),
        }
    }

    /// The category with this key.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::all()
            .into_iter()
            .find(|category| category.as_str() == key)
    }

    /// Whether the battle belongs to it; unknown when a label, the language, the tokens or the winner that it needs is.
    pub fn contains(self, battle: &BattleFacts<'_>) -> Label {
        let tokens = |test: fn(u32) -> bool| {
            battle
                .prompt_tokens
                .map_or(Label::Unknown, |n_tokens| test(n_tokens).into())
        };
        match self {
            Self::Full => Label::True,
            Self::MultiTurn => (battle.n_turns >= 2).into(),
            Self::LongQuery => tokens(|n_tokens| n_tokens >= LONG_QUERY_TOKENS),
            Self::ExcludeShort => tokens(|n_tokens| n_tokens >= SHORT_QUERY_TOKENS),
            Self::ExcludeTies => battle.winner.map_or(Label::Unknown, |winner| {
                matches!(winner, Winner::A | Winner::B).into()
            }),
            Self::ExcludeRefusal => known(battle, Category::Refusal).not(),
            Self::Hard => is_hard(battle),
            Self::HardEnglish => both(
                is_hard(battle),
                Self::Language(LanguageGroup::English).contains(battle),
            ),
            Self::Language(group) => battle
                .language
                .and_then(LanguageGroup::of)
                .map_or(Label::Unknown, |found| (found == group).into()),
            Self::Of(category) => known(battle, category),
        }
    }
}

fn known(battle: &BattleFacts<'_>, category: Category) -> Label {
    first_known(battle.labels, category).map_or(Label::Unknown, |label| label.label)
}

/// Decided as soon as no unknown criterion can change it.
fn is_hard(battle: &BattleFacts<'_>) -> Label {
    let labels = Category::HARD_CRITERIA.map(|criterion| known(battle, criterion));
    let count = |wanted| labels.iter().filter(|label| **label == wanted).count();
    let n_true = count(Label::True);
    if n_true >= HARD_CRITERIA_MIN {
        Label::True
    } else if n_true + count(Label::Unknown) < HARD_CRITERIA_MIN {
        Label::False
    } else {
        Label::Unknown
    }
}

fn both(a: Label, b: Label) -> Label {
    match (a, b) {
        (Label::False, _) | (_, Label::False) => Label::False,
        (Label::True, Label::True) => Label::True,
        _ => Label::Unknown,
    }
}

#[cfg(test)]
mod tests;
