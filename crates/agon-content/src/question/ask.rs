//! Asking until there is an answer: a state machine without input or output.

use super::{Material, Message, NotAskable, Question, Unreadable, Verdict};

/// A question that waits for a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    question: &'static Question,
    /// The message as first asked.
    first: Message,
    /// The message to send now.
    message: Message,
    n_asked: u32,
    attempts_max: u32,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send [`Asking::message`] again.
    Ask(Asking),
    /// It is over.
    Done(Outcome),
}

/// How asking ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An allowed answer.
    Answered(Verdict),
    /// No answer, and the last thing that stood in its way.
    Unknown(Trouble),
}

/// What stood in the way of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// There was a reply, and it was none of the allowed answers.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// There was no reply.
    #[error("{0}")]
    Failed(Failure),
}

/// Why there was no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Failure {
    /// Asking again may help: a time-out, a limit of requests, a fault of the server.
    #[error("the model could not be reached")]
    Passing,
    /// Asking again is no use: refused access, a model that does not exist, content that the endpoint filters.
    #[error("the model does not accept the question")]
    Lasting,
}

impl Asking {
    /// Begins: [`Asking::message`] is to be sent, at most `attempts_max` times in all; 0 counts as 1.
    ///
    /// # Errors
    ///
    /// [`NotAskable`] when what has to be shown is not there.
    pub fn start(
        question: &'static Question,
        material: &Material<'_>,
        attempts_max: u32,
    ) -> Result<Self, NotAskable> {
        let message = question.message(material)?;
        Ok(Self {
            question,
            first: message.clone(),
            message,
            n_asked: 0,
            attempts_max: attempts_max.max(1),
        })
    }

    /// What to send now. After a reply that could not be read, it says so and repeats the allowed answers.
    pub const fn message(&self) -> &Message {
        &self.message
    }

    /// The question.
    pub const fn question(&self) -> &'static Question {
        self.question
    }

    /// Attempts that have ended.
    pub const fn n_asked(&self) -> u32 {
        self.n_asked
    }

    /// A reply came. `is_complete` says that the model ended by itself.
    pub fn replied(mut self, reply: &str, is_complete: bool) -> Step {
        match self.question.read(reply, is_complete) {
            Ok(verdict) => Step::Done(Outcome::Answered(verdict)),
            Err(unreadable) => {
                self.message = Message {
                    text: format!(
                        "{}\nAn earlier reply to this question could not be used: {unreadable}. Reply with nothing but {}.\n",
                        self.first.text,
                        self.question.form().allowed()
                    ),
                    ..self.first.clone()
                };
                self.again(unreadable.into())
            }
        }
    }

    /// No reply came. The next attempt, if there is one, sends the same message.
    pub fn failed(self, failure: Failure) -> Step {
        match failure {
            Failure::Passing => self.again(Trouble::Failed(failure)),
            Failure::Lasting => Step::Done(Outcome::Unknown(Trouble::Failed(failure))),
        }
    }

    fn again(mut self, trouble: Trouble) -> Step {
        self.n_asked += 1;
        if self.n_asked < self.attempts_max {
            Step::Ask(self)
        } else {
            Step::Done(Outcome::Unknown(trouble))
        }
    }
}
