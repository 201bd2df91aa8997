//! Reading a reply: an allowed answer, or why it is none.

use agon_domain::Sides;

use super::{Form, INSTRUCTION_SCORE_MIN};
use crate::annotate::category::{Category, Label};

/// What an allowed answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The answer to a question of yes or no.
    YesNo(bool),
    /// A score from 0 to 5.
    Score(u8),
    /// Which of the seven criteria hold, in the order of [`Category::HARD_CRITERIA`].
    Criteria([bool; 7]),
    /// For each side, whether it holds.
    Sides(Sides<bool>),
}

impl Verdict {
    /// The label of the question's category at `idx`.
    pub(super) fn label(&self, idx: usize) -> Label {
        match self {
            Self::YesNo(holds) => Label::from(*holds),
            Self::Score(score) => Label::from(*score >= INSTRUCTION_SCORE_MIN),
            Self::Criteria(holds) => holds.get(idx).copied().map_or(Label::Unknown, Label::from),
            Self::Sides(sides) => Label::from(sides.a || sides.b),
        }
    }
}

/// Why a reply is no answer. None of these holds words of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unreadable {
    /// Nothing but white space.
    #[error("the reply is empty")]
    Empty,
    /// The model did not end by itself.
    #[error("the reply was cut")]
    Cut,
    /// More than one allowed answer.
    #[error("the reply holds several answers")]
    SeveralAnswers,
    /// An allowed answer in other letters, as `Yes`.
    #[error("the reply is spelled in other letters than asked for")]
    WrongCase,
    /// An allowed answer with punctuation, brackets or Markdown around it.
    #[error("the answer has signs around it")]
    Decorated,
    /// JSON.
    #[error("the reply is JSON")]
    Json,
    /// A code block.
    #[error("the reply is a code block")]
    Fenced,
    /// Sentences.
    #[error("the reply is prose")]
    Prose,
    /// A word or number that is not allowed.
    #[error("the reply is none of the allowed answers")]
    NotAllowed,
}

pub(super) fn read(form: Form, reply: &str, is_complete: bool) -> Result<Verdict, Unreadable> {
    let text = reply.trim();
    if text.is_empty() {
        return Err(if is_complete {
            Unreadable::Empty
        } else {
            Unreadable::Cut
        });
    }
    if !is_complete {
        return Err(Unreadable::Cut);
    }
    exact(form, text).ok_or_else(|| reason(form, text))
}

/// The verdict of a text that is an allowed answer and nothing else.
fn exact(form: Form, text: &str) -> Option<Verdict> {
    Some(match (form, text) {
        (Form::YesNo, "yes") => Verdict::YesNo(true),
        (Form::YesNo, "no") => Verdict::YesNo(false),
        (Form::Sides, "a") => Verdict::Sides(Sides { a: true, b: false }),
        (Form::Sides, "b") => Verdict::Sides(Sides { a: false, b: true }),
        (Form::Sides, "both") => Verdict::Sides(Sides { a: true, b: true }),
        (Form::Sides, "neither") => Verdict::Sides(Sides { a: false, b: false }),
        (Form::Score, text) => Verdict::Score(digit(text, 0..=5)?),
        (Form::Criteria, "none") => Verdict::Criteria([false; 7]),
        (Form::Criteria, text) => Verdict::Criteria(criteria(text)?),
        _ => return None,
    })
}

/// A text of one ASCII digit within a range.
fn digit(text: &str, range: std::ops::RangeInclusive<u8>) -> Option<u8> {
    let &[byte] = text.as_bytes() else {
        return None;
    };
    let digit = byte.checked_sub(b'0')?;
    range.contains(&digit).then_some(digit)
}

/// Numbers from 1 to 7, each at most once, with a comma and at most one space between them.
fn criteria(text: &str) -> Option<[bool; 7]> {
    let mut holds = [false; Category::HARD_CRITERIA.len()];
    for (idx, part) in text.split(',').enumerate() {
        let part = if idx == 0 {
            part
        } else {
            part.strip_prefix(' ').unwrap_or(part)
        };
        let number = digit(part, 1..=7)?;
        let held = &mut holds[usize::from(number) - 1];
        if *held {
            return None;
        }
        *held = true;
    }
    Some(holds)
}

/// What is wrong with a text that is no allowed answer.
fn reason(form: Form, text: &str) -> Unreadable {
    if text.starts_with("```") || text.starts_with("~~~") {
        return Unreadable::Fenced;
    }
    if text.starts_with('{') && text.ends_with('}') {
        return Unreadable::Json;
    }
    if exact(form, &text.to_lowercase()).is_some() {
        return Unreadable::WrongCase;
    }
    let bare = text
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    if exact(form, &bare).is_some() {
        return Unreadable::Decorated;
    }
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let n_answers = words
        .iter()
        .filter(|word| exact(form, word).is_some())
        .count();
    if n_answers > 1 && n_answers == words.len() {
        Unreadable::SeveralAnswers
    } else if words.len() > 1 {
        Unreadable::Prose
    } else {
        Unreadable::NotAllowed
    }
}
