//! The JSON of battles and votes. Wire types, converted by hand from the application's views.

use agon_domain::Winner;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::{AnswerView, BattleView, HistoryEntry, Problem, Reveal, RevealedModel};

/// A battle as its voter sees it. Before the vote there is no field for a model's name.
#[derive(Debug, Serialize, ToSchema)]
pub struct BattleBody {
    /// 32 hexadecimal digits.
    #[schema(example = "00112233445566778899aabbccddeeff")]
    pub id: String,
    /// When it was started, RFC 3339 in UTC.
    pub started_at: String,
    /// `answering`, `ratable`, `failed` or `voted`.
    pub status: String,
    /// Whether a vote is accepted now.
    pub can_vote: bool,
    /// Whether another turn is accepted now.
    pub can_follow_up: bool,
    /// Whether a failed answer can be asked for again.
    pub can_retry: bool,
    /// Why no vote is accepted now, in words.
    pub not_ratable: Option<String>,
    /// What was said.
    pub turns: Vec<TurnBody>,
    /// The result, after the vote only.
    pub vote: Option<VoteBody>,
}

/// The battles of a visit.
#[derive(Debug, Serialize, ToSchema)]
pub struct BattlesBody {
    /// The newest first, at most 200.
    pub battles: Vec<BattleSummaryBody>,
}

/// One battle of a visit.
#[derive(Debug, Serialize, ToSchema)]
pub struct BattleSummaryBody {
    /// 32 hexadecimal digits.
    pub id: String,
    /// When it was started, RFC 3339 in UTC.
    pub started_at: String,
    /// The beginning of its first prompt.
    pub prompt: String,
    /// What was voted; null before the vote.
    pub winner: Option<String>,
    /// The name of model A, after the vote only.
    pub model_a: Option<String>,
    /// The name of model B, after the vote only.
    pub model_b: Option<String>,
}

impl From<HistoryEntry> for BattleSummaryBody {
    fn from(entry: HistoryEntry) -> Self {
        let (model_a, model_b) = entry.models.map(|models| (models.a, models.b)).unzip();
        Self {
            id: entry.id.to_string(),
            started_at: entry.started_at.to_string(),
            prompt: entry.prompt,
            winner: entry.vote.map(|winner| winner.as_str().to_owned()),
            model_a,
            model_b,
        }
    }
}

/// One user message with its answers.
#[derive(Debug, Serialize, ToSchema)]
pub struct TurnBody {
    /// What the user wrote.
    pub prompt: String,
    /// Where the image shown with it can be fetched, by the same visit.
    pub image_url: Option<String>,
    /// What screening says of prompt and image that went on, in sentences; mostly nothing.
    pub notices: Vec<String>,
    /// The answers by side.
    pub answers: AnswersBody,
}

/// Both answers of a turn.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnswersBody {
    /// Side A's.
    pub a: AnswerBody,
    /// Side B's.
    pub b: AnswerBody,
}

/// An answer as far as it came.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnswerBody {
    /// The text, in Markdown.
    pub text: String,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// `waiting`, `thinking`, `streaming` or `finished`.
    pub phase: String,
    /// `stop`, `length`, `filtered`, `empty`, `cut`, `failed` or `interrupted`.
    pub finish: Option<String>,
    /// What went wrong.
    pub problem: Option<ProblemBody>,
}

/// What went wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ProblemBody {
    /// A stable code.
    pub code: String,
    /// In words.
    pub message: String,
}

/// What a vote uncovers.
#[derive(Debug, Serialize, ToSchema)]
pub struct VoteBody {
    /// What was voted: `model_a`, `model_b`, `tie` or `both_bad`.
    pub winner: String,
    /// Who answered.
    pub models: RevealedModelsBody,
    /// The vote's place in the order of all votes.
    pub sequence: u64,
    /// When it was cast, RFC 3339 in UTC.
    pub cast_at: String,
}

/// Who answered, by side.
#[derive(Debug, Serialize, ToSchema)]
pub struct RevealedModelsBody {
    /// Side A.
    pub a: RevealedModelBody,
    /// Side B.
    pub b: RevealedModelBody,
}

/// A model after the vote.
#[derive(Debug, Serialize, ToSchema)]
pub struct RevealedModelBody {
    /// Its name.
    pub name: String,
    /// Who made it.
    pub organization: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// Whether its answers are scripted.
    pub scripted: bool,
}

/// A vote to cast.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CastVoteRequest {
    /// `model_a`, `model_b`, `tie` or `both_bad`.
    #[schema(example = "model_a")]
    pub winner: String,
}

impl CastVoteRequest {
    /// The winner, in its canonical spelling only: the API does not guess.
    pub fn winner(&self) -> Option<Winner> {
        Winner::ALL
            .into_iter()
            .find(|winner| winner.as_str() == self.winner)
    }
}

/// A further turn.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddTurnRequest {
    /// What to ask.
    pub prompt: String,
}

impl From<BattleView> for BattleBody {
    fn from(view: BattleView) -> Self {
        let id = view.id.to_string();
        let turns = view
            .turns
            .into_iter()
            .map(|turn| TurnBody {
                prompt: turn.prompt,
                image_url: turn.image.map(|_| format!("/battle/{id}/image")),
                notices: turn
                    .notices
                    .iter()
                    .map(|notice| (*notice).to_owned())
                    .collect(),
                answers: AnswersBody {
                    a: turn.answers.a.into(),
                    b: turn.answers.b.into(),
                },
            })
            .collect();
        Self {
            started_at: view.started_at.to_string(),
            status: view.status.as_str().to_owned(),
            can_vote: view.can_vote,
            can_follow_up: view.can_follow_up,
            can_retry: view.can_retry,
            not_ratable: view.not_ratable,
            turns,
            vote: view.reveal.map(VoteBody::from),
            id,
        }
    }
}

impl From<AnswerView> for AnswerBody {
    fn from(answer: AnswerView) -> Self {
        Self {
            text: answer.text,
            attempt: answer.attempt,
            phase: answer.phase.as_str().to_owned(),
            finish: answer.finish.map(|finish| finish.as_str().to_owned()),
            problem: answer.problem.map(ProblemBody::from),
        }
    }
}

impl From<Problem> for ProblemBody {
    fn from(problem: Problem) -> Self {
        Self {
            code: problem.code.to_owned(),
            message: problem.message.to_owned(),
        }
    }
}

impl From<Reveal> for VoteBody {
    fn from(reveal: Reveal) -> Self {
        Self {
            winner: reveal.winner.as_str().to_owned(),
            models: RevealedModelsBody {
                a: reveal.models.a.into(),
                b: reveal.models.b.into(),
            },
            sequence: reveal.sequence,
            cast_at: reveal.cast_at.to_string(),
        }
    }
}

impl From<RevealedModel> for RevealedModelBody {
    fn from(model: RevealedModel) -> Self {
        Self {
            name: model.name,
            organization: model.organization,
            license: model.license,
            scripted: model.scripted,
        }
    }
}
