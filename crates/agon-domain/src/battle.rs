//! A battle: the same prompts to two models, and when it may be voted on.

use jiff::Timestamp;

use crate::{BattleId, ConsentId, Finish, Turn, VisitId, Vote, VoterId};

/// How the two models came to meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Two anonymous models, drawn by the arena.
    Battle,
}

/// A side of a battle, as shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// Shown first.
    A,
    /// Shown second.
    B,
}

impl Side {
    /// Both sides, in the order shown.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The canonical spelling: `a` or `b`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }

    /// The side with this canonical spelling.
    pub fn from_spelling(text: &str) -> Option<Self> {
        Self::BOTH.into_iter().find(|side| side.as_str() == text)
    }
}

/// Something that each side has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sides<T> {
    /// Side A's.
    pub a: T,
    /// Side B's.
    pub b: T,
}

impl<T> Sides<T> {
    /// The one of `side`.
    pub const fn get(&self, side: Side) -> &T {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    /// The one of `side`, to change it.
    pub const fn get_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    /// Both, each put through `f`.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Sides<U> {
        Sides {
            a: f(self.a),
            b: f(self.b),
        }
    }

    /// Both, with their sides, A first.
    pub fn iter(&self) -> impl Iterator<Item = (Side, &T)> {
        [(Side::A, &self.a), (Side::B, &self.b)].into_iter()
    }
}

/// A battle as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Battle {
    /// Its id, published as `question_id`.
    pub id: BattleId,
    /// The visit it belongs to.
    pub visit: VisitId,
    /// The pseudonym of whoever started it.
    pub voter: VoterId,
    /// The consent it rests on, given before its first prompt.
    pub consent: ConsentId,
    /// How the two models met.
    pub mode: Mode,
    /// The names of the two models, by side. Not to leave the server before the vote.
    pub models: Sides<String>,
    /// The probability with which this unordered pair was drawn. The side is a fair coin beside it.
    pub pair_probability: f64,
    /// When it was started.
    pub started_at: Timestamp,
    /// What was said, from first to last.
    pub turns: Vec<Turn>,
    /// The vote, once there is one.
    pub vote: Option<Vote>,
}

/// Why a battle cannot be voted on, or its last turn not followed by another, now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRatable {
    /// Nothing was asked.
    #[error("the battle has no turn")]
    NoTurn,
    /// A side is still answering.
    #[error("side {} is still answering", side.as_str())]
    Running {
        /// Which.
        side: Side,
    },
    /// A side's answer failed, was cut, filtered or empty.
    #[error("the answer of side {} is not valid: {}", side.as_str(), finish.as_str())]
    Invalid {
        /// Which.
        side: Side,
        /// How it ended.
        finish: Finish,
    },
}

impl Battle {
    /// Checks that both answers of every turn are complete and valid.
    ///
    /// # Errors
    ///
    /// The first answer that is not, a running one before a failed one of the same turn.
    pub fn check_ratable(&self) -> Result<(), NotRatable> {
        if self.turns.is_empty() {
            return Err(NotRatable::NoTurn);
        }
        for turn in &self.turns {
            let running = turn
                .generations
                .iter()
                .find(|(_, generation)| generation.finish.is_none());
            if let Some((side, _)) = running {
                return Err(NotRatable::Running { side });
            }
            for (side, generation) in turn.generations.iter() {
                if let Some(finish) = generation.finish.filter(|finish| !finish.is_valid()) {
                    return Err(NotRatable::Invalid { side, finish });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Generation;

    #[track_caller]
    fn check(finishes: &[(Option<Finish>, Option<Finish>)], expected: Result<(), NotRatable>) {
        let turn = |(a, b): &(Option<Finish>, Option<Finish>)| Turn {
            prompt: "what is this?".to_owned(),
            image: None,
            sent_at: Timestamp::UNIX_EPOCH,
            generations: Sides { a: *a, b: *b }.map(|finish| Generation {
                finish,
                ..Generation::started(1)
            }),
        };
        let battle = Battle {
            id: BattleId::from_bytes([0; 16]),
            visit: VisitId::from_bytes([0; 32]),
            voter: VoterId::from_bytes([0; 16]),
            consent: ConsentId::from_bytes([0; 16]),
            mode: Mode::Battle,
            models: Sides {
                a: "one".to_owned(),
                b: "two".to_owned(),
            },
            pair_probability: 1.0,
            started_at: Timestamp::UNIX_EPOCH,
            turns: finishes.iter().map(turn).collect(),
            vote: None,
        };
        assert_eq!(battle.check_ratable(), expected);
    }

    #[test]
    fn a_battle_is_ratable_when_every_answer_is_complete_and_valid() {
        use Finish::{Length, Stop};
        check(&[(Some(Stop), Some(Length))], Ok(()));
        check(
            &[(Some(Stop), Some(Stop)), (Some(Stop), Some(Stop))],
            Ok(()),
        );
    }

    #[test]
    fn a_running_or_failed_answer_makes_it_not_ratable() {
        use Finish::{Cut, Failed, Stop};
        check(&[], Err(NotRatable::NoTurn));
        check(
            &[(Some(Stop), None)],
            Err(NotRatable::Running { side: Side::B }),
        );
        check(
            &[(Some(Failed), None)],
            Err(NotRatable::Running { side: Side::B }),
        );
        check(
            &[(Some(Stop), Some(Cut)), (Some(Stop), Some(Stop))],
            Err(NotRatable::Invalid {
                side: Side::B,
                finish: Cut,
            }),
        );
    }
}
