//! What the pages and the API may see of a battle.
//!
//! Invariant: before the vote there is no field that could hold a model's name.

use agon_domain::{
    Battle, BattleId, Finish, Generation, ImageId, Model, NotRatable, Side, Sides, Vote, Winner,
};
use jiff::Timestamp;

use crate::app::live::{LiveAnswer, Phase};

/// A battle as its voter sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct BattleView {
    /// Its id.
    pub id: BattleId,
    /// When it was started.
    pub started_at: Timestamp,
    /// What was said.
    pub turns: Vec<TurnView>,
    /// Where it stands.
    pub status: BattleStatus,
    /// The result, after the vote only.
    pub reveal: Option<Reveal>,
    /// Whether a vote is accepted now.
    pub can_vote: bool,
    /// Whether another turn is accepted now.
    pub can_follow_up: bool,
    /// Whether a failed answer can be asked for again.
    pub can_retry: bool,
    /// Why no vote is accepted now, in words, unless there is one.
    pub not_ratable: Option<String>,
}

/// One user message with its answers.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnView {
    /// What the user wrote.
    pub prompt: String,
    /// The image shown with it.
    pub image: Option<ImageId>,
    /// What screening tells the voter of them, in sentences.
    pub notices: Vec<&'static str>,
    /// The answers.
    pub answers: Sides<AnswerView>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerView {
    /// As far as it came, in Markdown.
    pub text: String,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// What the model is doing.
    pub phase: Phase,
    /// How it ended.
    pub finish: Option<Finish>,
    /// What to tell the voter when it did not end well.
    pub problem: Option<Problem>,
}

/// What to tell the voter of a failed answer. Says nothing of the model, its vendor or its endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A stable code.
    pub code: &'static str,
    /// In words.
    pub message: &'static str,
}

/// Where a battle stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BattleStatus {
    /// A side is answering.
    Answering,
    /// Both answers are complete and valid.
    Ratable,
    /// A side failed.
    Failed,
    /// There is a vote.
    Voted,
}

impl BattleStatus {
    /// The canonical spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answering => "answering",
            Self::Ratable => "ratable",
            Self::Failed => "failed",
            Self::Voted => "voted",
        }
    }
}

/// What a vote uncovers.
#[derive(Clone, Debug, PartialEq)]
pub struct Reveal {
    /// What was voted.
    pub winner: Winner,
    /// Who answered.
    pub models: Sides<RevealedModel>,
    /// The vote's place in the order of all votes.
    pub sequence: u64,
    /// When it was cast.
    pub cast_at: Timestamp,
}

/// A model after the vote.
#[derive(Clone, Debug, PartialEq)]
pub struct RevealedModel {
    /// Its name.
    pub name: String,
    /// Who made it.
    pub organization: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// Whether its answers are scripted.
    pub scripted: bool,
}

impl RevealedModel {
    /// The model called `name`, with what the configuration knows of it, which may be nothing for a model that was taken out.
    pub fn new(name: &str, models: &[Model]) -> Self {
        let known = models.iter().find(|model| model.name == name);
        Self {
            name: name.to_owned(),
            organization: known.and_then(|model| model.organization.clone()),
            license: known.and_then(|model| model.license.clone()),
            scripted: known.is_some_and(|model| model.scripted),
        }
    }
}

/// One line of a visit's history.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    /// Which battle.
    pub id: BattleId,
    /// When it was started.
    pub started_at: Timestamp,
    /// Its first prompt.
    pub prompt: String,
    /// What was voted.
    pub vote: Option<Winner>,
    /// Who answered, after the vote only.
    pub models: Option<Sides<String>>,
}

impl Problem {
    /// What to say of an answer that ended so; nothing for a valid one.
    pub const fn of(finish: Finish) -> Option<Self> {
        let (code, message) = match finish {
            Finish::Stop | Finish::Length => return None,
            Finish::Filtered => (
                "answer_filtered",
                "This answer was withheld by a content filter.",
            ),
            Finish::Empty => ("answer_empty", "This model returned an empty answer."),
            Finish::Cut => (
                "answer_cut",
                "This answer broke off before it was complete.",
            ),
            Finish::Failed => ("answer_failed", "This model could not answer."),
            Finish::Interrupted => (
                "answer_interrupted",
                "The arena restarted while this answer was being written.",
            ),
        };
        Some(Self { code, message })
    }
}

impl AnswerView {
    fn kept(generation: Generation) -> Self {
        let phase = match generation.finish {
            Some(_) => Phase::Finished,
            None if generation.text.is_empty() => Phase::Waiting,
            None => Phase::Streaming,
        };
        Self {
            text: generation.text,
            attempt: generation.attempt,
            phase,
            finish: generation.finish,
            problem: generation.finish.and_then(Problem::of),
        }
    }

    /// An answer that is being written.
    pub fn live(answer: &LiveAnswer) -> Self {
        Self {
            text: answer.text.clone(),
            attempt: answer.attempt,
            phase: answer.phase,
            finish: answer.finish,
            problem: answer.finish.and_then(Problem::of),
        }
    }
}

impl BattleView {
    /// The view of a battle as it is kept, with what is being written at the moment.
    ///
    /// `live` holds the running answers of the last turn; one that the store already has as finished is ignored.
    pub fn new(
        battle: Battle,
        live: &Sides<Option<LiveAnswer>>,
        models: &[Model],
        n_turns_max: u32,
    ) -> Self {
        let ratable = battle.check_ratable();
        let reveal = reveal(&battle, models);
        let n_turns = battle.turns.len();
        let status = match (&reveal, ratable) {
            (Some(_), _) => BattleStatus::Voted,
            (None, Ok(())) => BattleStatus::Ratable,
            (None, Err(NotRatable::Running { .. } | NotRatable::NoTurn)) => BattleStatus::Answering,
            (None, Err(NotRatable::Invalid { .. })) => BattleStatus::Failed,
        };
        let not_ratable = match (status, ratable) {
            (BattleStatus::Answering, _) => {
                Some("You can vote when both answers are complete.".to_owned())
            }
            (BattleStatus::Failed, Err(NotRatable::Invalid { side, .. })) => Some(format!(
                "The answer of model {} is not complete. Ask for it again to be able to vote.",
                side.as_str().to_uppercase()
            )),
            _ => None,
        };
        let turns = battle
            .turns
            .into_iter()
            .enumerate()
            .map(|(idx, turn)| {
                let is_last = idx + 1 == n_turns;
                let Sides { a, b } = turn.generations;
                let answer = |side: Side, generation: Generation| match live.get(side) {
                    Some(live)
                        if is_last
                            && generation.finish.is_none()
                            && live.attempt == generation.attempt
                            && live.finish.is_none() =>
                    {
                        AnswerView::live(live)
                    }
                    _ => AnswerView::kept(generation),
                };
                TurnView {
                    prompt: turn.prompt,
                    image: turn.image,
                    notices: Vec::new(),
                    answers: Sides {
                        a: answer(Side::A, a),
                        b: answer(Side::B, b),
                    },
                }
            })
            .collect();
        Self {
            id: battle.id,
            started_at: battle.started_at,
            turns,
            can_vote: status == BattleStatus::Ratable,
            can_follow_up: status == BattleStatus::Ratable
                && (n_turns as u64) < u64::from(n_turns_max),
            can_retry: status == BattleStatus::Failed,
            status,
            reveal,
            not_ratable,
        }
    }
}

/// What a voted battle uncovers; nothing before the vote.
pub(super) fn reveal(battle: &Battle, models: &[Model]) -> Option<Reveal> {
    battle
        .vote
        .as_ref()
        .map(|vote| revealed(vote, &battle.models, models))
}

/// What this vote between the models of these names uncovers.
pub(super) fn revealed(vote: &Vote, names: &Sides<String>, models: &[Model]) -> Reveal {
    Reveal {
        winner: vote.winner,
        models: Sides {
            a: RevealedModel::new(&names.a, models),
            b: RevealedModel::new(&names.b, models),
        },
        sequence: vote.sequence,
        cast_at: vote.cast_at,
    }
}
