//! A vote, and every accepted spelling of its winner.

use std::fmt;

use jiff::Timestamp;

/// What a vote says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Winner {
    /// The model on side A gave the better answer.
    A,
    /// The model on side B gave the better answer.
    B,
    /// Both answers are equally good.
    Tie,
    /// Both answers are bad.
    BothBad,
}

/// A text that is not a winner in any known spelling.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not a winner: expected `model_a`, `model_b`, `tie` or `both_bad`")]
pub struct UnknownWinner {
    /// The text as given, cut to 80 characters.
    pub value: String,
}

impl Winner {
    /// All four.
    pub const ALL: [Self; 4] = [Self::A, Self::B, Self::Tie, Self::BothBad];

    /// The canonical spelling, in the API and the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A => "model_a",
            Self::B => "model_b",
            Self::Tie => "tie",
            Self::BothBad => "both_bad",
        }
    }

    /// The spelling of the VisionArena-Battle schema, which differs for both bad.
    pub const fn release_spelling(self) -> &'static str {
        match self {
            Self::BothBad => "tie (bothbad)",
            other => other.as_str(),
        }
    }

    /// Reads any spelling that a public arena has used, ignoring case and surrounding white space.
    ///
    /// | winner | spellings |
    /// |---|---|
    /// | A | `model_a`, `a`, `left`, `leftvote`, `model a`, `a_better` |
    /// | B | `model_b`, `b`, `right`, `rightvote`, `model b`, `b_better` |
    /// | tie | `tie`, `tievote`, `both_good`, `draw` |
    /// | both bad | `both_bad`, `bothbad`, `tie (bothbad)`, `tie (both bad)`, `tie(bothbad)`, `bothbad_vote`, `both bad` |
    ///
    /// Nothing else is a winner; an unknown label is never taken for a tie.
    ///
    /// # Errors
    ///
    /// [`UnknownWinner`] with the text.
    pub fn parse(text: &str) -> Result<Self, UnknownWinner> {
        // The common spellings are matched as they are, before any copy is made.
        let exact = match text {
            "model_a" => Some(Self::A),
            "model_b" => Some(Self::B),
            "tie" => Some(Self::Tie),
            "tie (bothbad)" | "both_bad" => Some(Self::BothBad),
            _ => None,
        };
        exact.map_or_else(|| Self::parse_variant(text), Ok)
    }

    fn parse_variant(text: &str) -> Result<Self, UnknownWinner> {
        match text.trim().to_lowercase().as_str() {
            "model_a" | "a" | "left" | "leftvote" | "model a" | "a_better" => Ok(Self::A),
            "model_b" | "b" | "right" | "rightvote" | "model b" | "b_better" => Ok(Self::B),
            "tie" | "tievote" | "both_good" | "draw" => Ok(Self::Tie),
            "both_bad" | "bothbad" | "tie (bothbad)" | "tie (both bad)" | "tie(bothbad)"
            | "bothbad_vote" | "both bad" => Ok(Self::BothBad),
            _ => Err(UnknownWinner {
                value: text.chars().take(80).collect(),
            }),
        }
    }
}

impl fmt::Display for Winner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One person's choice for one battle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vote {
    /// Its place in the order of all votes of this arena, from 1, without holes.
    pub sequence: u64,
    /// What it says.
    pub winner: Winner,
    /// How many turns had been answered.
    pub n_turns: u32,
    /// When it was cast.
    pub cast_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_spelling_is_read() {
        let check =
            |text: &str, expected| assert_eq!(Winner::parse(text), Ok(expected), "{text:?}");
        for text in [
            "model_a",
            "left",
            "leftvote",
            "Model A",
            " model_a ",
            "LEFT ",
            "A",
        ] {
            check(text, Winner::A);
        }
        for text in ["model_b", "right", "rightvote", "Model B", "b_better"] {
            check(text, Winner::B);
        }
        for text in ["tie", "Tie", "tievote"] {
            check(text, Winner::Tie);
        }
        for text in [
            "tie (bothbad)",
            "both_bad",
            "bothbad",
            "bothbad_vote",
            "Tie (BothBad)",
        ] {
            check(text, Winner::BothBad);
        }
    }

    #[test]
    fn an_unknown_label_is_refused_and_named() {
        for text in [
            "",
            "model_c",
            "tied",
            "none",
            "null",
            "1",
            "ties",
            "tie (both)",
        ] {
            let error = Winner::parse(text).unwrap_err();
            assert_eq!(error.value, text);
        }
    }

    #[test]
    fn canonical_and_release_spellings_read_back() {
        for winner in Winner::ALL {
            assert_eq!(Winner::parse(winner.as_str()), Ok(winner));
            assert_eq!(Winner::parse(winner.release_spelling()), Ok(winner));
        }
    }
}
