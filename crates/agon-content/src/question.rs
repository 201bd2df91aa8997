//! Closed questions to a vision model: the question, a strict reading of the reply, and when to ask again. No input or output.
//!
//! A [`Question`] is a prompt of ours with few allowed answers.
//! [`Question::message`] puts the material of a battle into it, [`Question::read`] takes an allowed answer or says why the reply is none, and [`Asking`] asks until there is an answer or the attempts are used up.
//! The caller sends and feeds back:
//!
//! ```
//! # use agon_content::{annotate::category::Category, question::*};
//! # fn send(_: &Message) -> (String, bool) { ("yes".into(), true) }
//! let question = Question::of(Category::Captioning).unwrap();
//! let material = Material { prompts: &["Describe this image."], image_sha256: Some(&[7; 32]), ..Material::default() };
//! let mut asking = Asking::start(question, &material, 3)?;
//! let outcome = loop {
//!     let (reply, is_complete) = send(asking.message());
//!     match asking.replied(&reply, is_complete) {
//!         Step::Ask(again) => asking = again,
//!         Step::Done(outcome) => break outcome,
//!     }
//! };
//! assert_eq!(question.labels(&outcome)[0].label.as_bool(), Some(true));
//! # Ok::<(), NotAskable>(())
//! ```
//!
//! # What is promised
//!
//! - **No reply but an allowed answer becomes a label.** Everything else is [`Unreadable`] with a reason, and at the end `unknown`, which is not `false`.
//! - **The material is data.** It stands between markers that are made from its own hash, so that it cannot close them, and its words are never instructions.
//! - **A prompt that changes gets another version.** Versions are in the labels and in the [`CacheKey`].
//!
//! The definitions are those of VisionArena (arXiv 2412.08687) and FastChat, in words of our own; two contradictions of theirs are decided: tables of words or numbers are no diagrams, and refusal is asked for each side.

mod ask;
mod prompts;
mod read;

use std::fmt;

use agon_domain::Sides;
use sha2::{Digest as _, Sha256};

use self::prompts::SYSTEM;
pub use self::{
    ask::{Asking, Failure, Outcome, Step, Trouble},
    read::{Unreadable, Verdict},
};
use crate::annotate::{
    Annotator,
    category::{Category, CategoryLabel, Label},
};

/// How much of the prompts is shown, in characters: as in FastChat.
pub const PROMPT_CHARS_MAX: usize = 12_500;
/// How much of each side's answers is shown, in characters.
pub const ANSWER_CHARS_MAX: usize = 6_000;
/// The instruction score from which a prompt counts as testing instructions, as in FastChat.
pub const INSTRUCTION_SCORE_MIN: u8 = 4;
/// Tokens that every allowed answer fits into; ask for no more.
pub const REPLY_TOKENS_MAX: u32 = 32;

/// The form of the allowed answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// `yes` or `no`.
    YesNo,
    /// A digit from `0` to `5`.
    Score,
    /// Numbers from `1` to `7` with commas between them, or `none`.
    Criteria,
    /// `a`, `b`, `both` or `neither`.
    Sides,
}

impl Form {
    /// The allowed answers, as the model is told.
    pub const fn allowed(self) -> &'static str {
        match self {
            Self::YesNo => "yes or no",
            Self::Score => "one digit from 0 to 5",
            Self::Criteria => {
                "the numbers that apply, with commas between them, such as 1, 4, 6; or none"
            }
            Self::Sides => "a, b, both or neither",
        }
    }
}

/// What a question shows of a battle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shown {
    /// The prompts of all turns.
    pub prompts: bool,
    /// Both sides' answers.
    pub answers: bool,
    /// The image.
    pub image: Showing,
}

/// Whether an image is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Showing {
    /// Never: the definition does not need it.
    Never,
    /// If there is one.
    IfThere,
    /// Always: without one there is nothing to ask.
    Always,
}

/// A closed question.
#[derive(Debug, PartialEq, Eq)]
pub struct Question {
    name: &'static str,
    version: u32,
    text: &'static str,
    form: Form,
    shown: Shown,
    categories: &'static [Category],
}

impl Question {
    /// Every question.
    pub const fn all() -> &'static [Self] {
        prompts::QUESTIONS
    }

    /// The question that labels a category; `None` for `is_code`, which is a rule and no question.
    pub fn of(category: Category) -> Option<&'static Self> {
        Self::all()
            .iter()
            .find(|question| question.categories.contains(&category))
    }

    /// Its name: that of its category, or `hard_criteria`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The version of its wording.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// The form of the allowed answers.
    pub const fn form(&self) -> Form {
        self.form
    }

    /// What it shows of a battle.
    pub const fn shown(&self) -> Shown {
        self.shown
    }

    /// What its answer labels.
    pub const fn categories(&self) -> &'static [Category] {
        self.categories
    }

    /// The annotator of its labels. The name of the model that answered is the caller's to keep beside it.
    pub const fn annotator(&self) -> Annotator {
        Annotator {
            name: "closed-question",
            version: self.version,
        }
    }

    /// The question about some material.
    ///
    /// # Errors
    ///
    /// [`NotAskable`] when what has to be shown is not there.
    pub fn message(&self, material: &Material<'_>) -> Result<Message, NotAskable> {
        let parts = self.parts(material)?;
        let mut hash = Sha256::new();
        for (name, text) in &parts {
            add(&mut hash, name.as_bytes());
            add(&mut hash, text.as_bytes());
        }
        let marker = &hex(&hash.finalize())[..16];
        let mut text = format!("{}\n", self.text.trim_end());
        for (name, part) in &parts {
            text.push_str(&format!(
                "\n[{name} {marker}]\n{part}\n[end of {name} {marker}]\n"
            ));
        }
        text.push_str(&format!("\nAllowed answers: {}.\n", self.form.allowed()));
        Ok(Message {
            system: SYSTEM.trim_end().to_owned(),
            text,
            with_image: self.shows_image(material),
        })
    }

    /// The parts that are shown, with their names, each cut to its limit.
    fn parts(&self, material: &Material<'_>) -> Result<Vec<(&'static str, String)>, NotAskable> {
        let mut parts = Vec::new();
        if self.shown.prompts {
            if material
                .prompts
                .iter()
                .all(|prompt| prompt.trim().is_empty())
            {
                return Err(self.not_askable(Missing::Prompt));
            }
            parts.push((
                "prompt",
                cut(&material.prompts.join("\n"), PROMPT_CHARS_MAX).to_owned(),
            ));
        }
        if self.shown.answers {
            for (name, answers) in [
                ("answer A", material.answers.a),
                ("answer B", material.answers.b),
            ] {
                if answers.iter().all(|answer| answer.trim().is_empty()) {
                    return Err(self.not_askable(Missing::Answer));
                }
                parts.push((name, cut(&answers.join("\n"), ANSWER_CHARS_MAX).to_owned()));
            }
        }
        if self.shown.image == Showing::Always && material.image_sha256.is_none() {
            return Err(self.not_askable(Missing::Image));
        }
        Ok(parts)
    }

    const fn shows_image(&self, material: &Material<'_>) -> bool {
        !matches!(self.shown.image, Showing::Never) && material.image_sha256.is_some()
    }

    const fn not_askable(&self, missing: Missing) -> NotAskable {
        NotAskable {
            question: self.name,
            missing,
        }
    }

    /// Under what an answer may be kept: the same for the same wording, model, and shown content, and for nothing else.
    ///
    /// Keep answers only, never the lack of one.
    ///
    /// # Errors
    ///
    /// [`NotAskable`] as in [`Question::message`].
    pub fn cache_key(&self, model: &str, material: &Material<'_>) -> Result<CacheKey, NotAskable> {
        let mut hash = Sha256::new();
        add(&mut hash, b"agon closed question 1");
        add(&mut hash, self.name.as_bytes());
        add(&mut hash, &self.version.to_le_bytes());
        add(&mut hash, SYSTEM.as_bytes());
        add(&mut hash, self.text.as_bytes());
        add(&mut hash, model.as_bytes());
        for (name, part) in self.parts(material)? {
            add(&mut hash, name.as_bytes());
            add(&mut hash, part.as_bytes());
        }
        match material.image_sha256 {
            Some(image) if self.shows_image(material) => add(&mut hash, image),
            _ => add(&mut hash, b""),
        }
        Ok(CacheKey(hash.finalize().into()))
    }

    /// The verdict of a reply. Only an allowed answer in its exact spelling is one; white space around it is not looked at.
    ///
    /// `is_complete` says that the model ended by itself; a cut reply may have gone on to say anything.
    ///
    /// # Errors
    ///
    /// [`Unreadable`] with what is wrong.
    pub fn read(&self, reply: &str, is_complete: bool) -> Result<Verdict, Unreadable> {
        read::read(self.form, reply, is_complete)
    }

    /// The labels that an outcome gives, one for each of [`Question::categories`]; all unknown when there is no verdict.
    ///
    /// A model does not say how sure it is: confidence is the precision that VisionArena reports for its labeller (table 5) where it does, and 0.9 elsewhere.
    pub fn labels(&self, outcome: &Outcome) -> Vec<CategoryLabel> {
        self.categories
            .iter()
            .enumerate()
            .map(|(idx, &category)| {
                let label = match outcome {
                    Outcome::Unknown(_) => Label::Unknown,
                    Outcome::Answered(verdict) => verdict.label(idx),
                };
                CategoryLabel {
                    category,
                    label,
                    confidence: if label == Label::Unknown {
                        0.0
                    } else {
                        prompts::reported_precision(category)
                    },
                    annotator: self.annotator(),
                }
            })
            .collect()
    }
}

/// What a question is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Material<'a> {
    /// The prompt of each turn.
    pub prompts: &'a [&'a str],
    /// Each side's answers by turn.
    pub answers: Sides<&'a [&'a str]>,
    /// The SHA-256 of the first image's bytes, if there is one. The caller sends the image itself.
    pub image_sha256: Option<&'a [u8; 32]>,
}

/// What is sent. Send it at temperature 0, with the image if `with_image`, for at most [`REPLY_TOKENS_MAX`] tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    /// The system message.
    pub system: String,
    /// The user message.
    pub text: String,
    /// Whether the image goes with it.
    pub with_image: bool,
}

impl fmt::Debug for Message {
    /// Without the text, which holds a prompt.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("text_bytes", &self.text.len())
            .field("with_image", &self.with_image)
            .finish_non_exhaustive()
    }
}

/// What has to be shown and is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Missing {
    /// A prompt with words.
    Prompt,
    /// An answer with words, on either side.
    Answer,
    /// An image.
    Image,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prompt => "a prompt that is not blank",
            Self::Answer => "an answer of both sides that is not blank",
            Self::Image => "an image",
        })
    }
}

/// A question about something that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the question `{question}` needs {missing}")]
pub struct NotAskable {
    /// The question's name.
    pub question: &'static str,
    /// What it lacks.
    pub missing: Missing,
}

/// Under what an answer is kept. Its text is 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// Adds a part with its length before it, so that no two lists of parts give the same bytes.
fn add(hash: &mut Sha256, part: &[u8]) {
    hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
    hash.update(part);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn cut(text: &str, chars_max: usize) -> &str {
    text.char_indices()
        .nth(chars_max)
        .map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests;
