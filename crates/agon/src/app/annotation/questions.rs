//! Closed questions to a vision model, asked over the network: what [`agon_content::question`] decides, sent and kept.
//!
//! Answers are remembered in a file by what was asked, of whom and about what, so that a run that was cut off goes on where it was, and the same content is asked about once.
//! Only allowed answers are remembered, such as `yes`; the file holds no prompt and no answer of a battle.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use agon_content::{
    annotate::category::Category,
    question::{
        Asking, Failure, Material, Message as Asked, Outcome, Question, REPLY_TOKENS_MAX, Showing,
        Step, Trouble,
    },
};
use agon_dataset::Label;
use agon_domain::{Finish, Sides, Usage};
use agon_providers::{
    Error as ProviderError, ErrorKind, GenerationEvent, Message, Provider, Request, RequestImage,
};
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Content, category, outcome::QUESTION_PREFIX};

/// How often one question is sent at most.
const ATTEMPTS_MAX: u32 = 3;
/// Failures in a row after which nothing more is asked: the endpoint is gone, and every further question would fail too.
const FAILURES_IN_A_ROW_MAX: u64 = 20;

/// The questions that can be asked, by name.
pub fn questions() -> Vec<&'static Question> {
    Question::all().iter().collect()
}

/// The question about a category, by the category's spelling or the question's own name.
pub fn question(name: &str) -> Option<&'static Question> {
    let by_name = Question::all()
        .iter()
        .find(|question| question.name() == name);
    by_name.or_else(|| Category::from_spelling(name).and_then(Question::of))
}

/// How much may be asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// Requests at most.
    pub requests_max: Option<u64>,
    /// Tokens, read and written, after which no request is sent.
    pub tokens_max: Option<u64>,
}

/// What was asked so far.
#[derive(Debug, Default)]
struct Counts {
    answered: AtomicU64,
    cached: AtomicU64,
    unreadable: AtomicU64,
    failed: AtomicU64,
    left: AtomicU64,
    requests: AtomicU64,
    tokens: AtomicU64,
    failures_in_a_row: AtomicU64,
}

/// A model that labels.
#[derive(Debug)]
pub struct Labeller {
    model: String,
    provider: Provider,
    sees_images: bool,
    questions: Vec<&'static Question>,
    budget: Budget,
    replies: Replies,
    counts: Counts,
    /// Why the newest request failed that did.
    last_failure: Mutex<Option<String>>,
}

/// Why labelling cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LabellerError {
    /// The endpoint refuses whatever is asked.
    #[error("the labeller `{model}` cannot be asked")]
    Refused {
        /// The model.
        model: String,
        /// Why.
        #[source]
        source: ProviderError,
    },
    /// The endpoint has failed many times in a row.
    #[error("the labeller `{model}` failed {n} times in a row")]
    Gone {
        /// The model.
        model: String,
        /// Failures.
        n: u64,
        /// The last of them.
        #[source]
        source: ProviderError,
    },
    /// The file of remembered answers cannot be read or written.
    #[error("the remembered answers in `{}` cannot be used: {detail}", path.display())]
    Replies {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        detail: String,
        /// Why, when the operating system says so.
        #[source]
        source: Option<io::Error>,
    },
}

/// What is asked about, taken out of a row so that it can wait for its turn.
#[derive(Debug)]
pub struct Subject {
    prompts: Vec<String>,
    answers: Sides<Vec<String>>,
    image: Option<([u8; 32], RequestImage)>,
}

impl Subject {
    /// What a content has to say, with its picture as it is sent to models.
    pub fn new(content: &Content<'_>, image: Option<([u8; 32], RequestImage)>) -> Self {
        let owned = |texts: Vec<&str>| texts.into_iter().map(ToOwned::to_owned).collect();
        Self {
            prompts: owned(content.prompts()),
            answers: content.answers().map(owned),
            image,
        }
    }
}

/// What became of one question.
#[derive(Debug)]
pub enum Answered {
    /// A label, which may be that the answer could not be read.
    Label(Label),
    /// Nothing to ask: what the question is about is not there.
    NotAskable,
    /// The budget is used up.
    Left,
}

impl Labeller {
    /// A labeller that asks `questions` and remembers answers in `file`.
    ///
    /// # Errors
    ///
    /// [`LabellerError::Replies`].
    pub fn new(
        model: &str,
        provider: Provider,
        sees_images: bool,
        questions: Vec<&'static Question>,
        budget: Budget,
        file: &Path,
    ) -> Result<Self, LabellerError> {
        Ok(Self {
            model: model.to_owned(),
            provider,
            sees_images,
            questions,
            budget,
            replies: Replies::open(file)?,
            counts: Counts::default(),
            last_failure: Mutex::default(),
        })
    }

    /// The questions of which `labels` has no usable label of this model in the present version.
    ///
    /// A question about the picture is not asked where there is none, or where the model sees none.
    pub fn missing<'q>(
        &'q self,
        labels: &'q [Label],
        has_image: bool,
    ) -> impl Iterator<Item = &'static Question> + 'q {
        self.questions.iter().copied().filter(move |question| {
            let is_visible = match question.shown().image {
                Showing::Always => has_image && self.sees_images,
                Showing::IfThere | Showing::Never => true,
            };
            is_visible && !labels.iter().any(|label| self.is_answer(label, question))
        })
    }

    /// Whether the model sees pictures.
    pub const fn sees_images(&self) -> bool {
        self.sees_images
    }

    fn is_answer(&self, label: &Label, question: &Question) -> bool {
        if label.annotator != annotator_name(question) || label.version != question.version() {
            return false;
        }
        let value: Value = serde_json::from_str(&label.label).unwrap_or_default();
        value["model"] == self.model.as_str() && value["trouble"].is_null()
    }

    /// Asks one question about one subject.
    ///
    /// # Errors
    ///
    /// [`LabellerError`] when no further question should be asked.
    pub async fn ask(
        &self,
        question: &'static Question,
        subject: &Subject,
    ) -> Result<Answered, LabellerError> {
        let prompts: Vec<&str> = subject.prompts.iter().map(String::as_str).collect();
        let answers = [&subject.answers.a, &subject.answers.b]
            .map(|answers| answers.iter().map(String::as_str).collect::<Vec<&str>>());
        let material = Material {
            prompts: &prompts,
            answers: Sides {
                a: &answers[0],
                b: &answers[1],
            },
            image_sha256: subject.image.as_ref().map(|(sha256, _)| sha256),
        };
        let (Ok(key), Ok(mut asking)) = (
            question.cache_key(&self.model, &material),
            Asking::start(question, &material, ATTEMPTS_MAX),
        ) else {
            return Ok(Answered::NotAskable);
        };
        if let Some(reply) = self.replies.get(key.as_bytes())
            && let Ok(verdict) = question.read(&reply, true)
        {
            self.counts.cached.fetch_add(1, Ordering::Relaxed);
            return Ok(Answered::Label(self.label(
                question,
                &Outcome::Answered(verdict),
                0,
            )));
        }
        let mut attempts = 0;
        let outcome = loop {
            if self.is_spent() {
                self.counts.left.fetch_add(1, Ordering::Relaxed);
                return Ok(Answered::Left);
            }
            attempts += 1;
            let step = match self
                .send(asking.message(), subject, u64::from(attempts))
                .await
            {
                Ok((reply, is_complete)) => {
                    self.counts.failures_in_a_row.store(0, Ordering::Relaxed);
                    let step = asking.replied(&reply, is_complete);
                    if let Step::Done(Outcome::Answered(_)) = &step {
                        self.replies
                            .remember(key.as_bytes(), question, &self.model, &reply)?;
                    }
                    step
                }
                Err(error) => asking.failed(self.judge(error)?),
            };
            match step {
                Step::Ask(again) => asking = again,
                Step::Done(outcome) => break outcome,
            }
        };
        let count = match &outcome {
            Outcome::Answered(_) => &self.counts.answered,
            Outcome::Unknown(Trouble::Unreadable(_)) => &self.counts.unreadable,
            Outcome::Unknown(Trouble::Failed(_)) => &self.counts.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Answered::Label(self.label(question, &outcome, attempts)))
    }

    fn is_spent(&self) -> bool {
        let is_at = |count: &AtomicU64, max: Option<u64>| {
            max.is_some_and(|max| count.load(Ordering::Relaxed) >= max)
        };
        is_at(&self.counts.requests, self.budget.requests_max)
            || is_at(&self.counts.tokens, self.budget.tokens_max)
    }

    /// Whether a failure passes, or ends everything.
    fn judge(&self, error: ProviderError) -> Result<Failure, LabellerError> {
        let n = self
            .counts
            .failures_in_a_row
            .fetch_add(1, Ordering::Relaxed)
            + 1;
        let model = self.model.clone();
        *self
            .last_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
        match error.kind {
            // The key, the purse or the address is wrong for every question alike.
            ErrorKind::BadCredentials | ErrorKind::Payment | ErrorKind::Configuration => {
                Err(LabellerError::Refused {
                    model,
                    source: error,
                })
            }
            _ if n >= FAILURES_IN_A_ROW_MAX => Err(LabellerError::Gone {
                model,
                n,
                source: error,
            }),
            kind if kind.is_retryable() || kind == ErrorKind::MalformedResponse => {
                Ok(Failure::Passing)
            }
            _ => Ok(Failure::Lasting),
        }
    }

    /// Sends a message; gives the reply and whether the model had ended by itself.
    async fn send(
        &self,
        asked: &Asked,
        subject: &Subject,
        seed: u64,
    ) -> Result<(String, bool), ProviderError> {
        self.counts.requests.fetch_add(1, Ordering::Relaxed);
        let mut message = Message::user(asked.text.clone());
        if asked.with_image
            && let Some((_, image)) = &subject.image
        {
            message = message.with_image(image.clone());
        }
        let request = Request {
            system: Some(asked.system.clone()),
            max_output_tokens: Some(REPLY_TOKENS_MAX),
            temperature: Some(0.0),
            ..Request::new(vec![message])
        };
        let mut events = self.provider.generate(request, seed);
        let mut reply = String::new();
        while let Some(event) = events.next().await {
            match event {
                GenerationEvent::Started | GenerationEvent::Thinking => {}
                GenerationEvent::Text(piece) => reply.push_str(&piece),
                GenerationEvent::Finished { finish, usage } => {
                    self.count_tokens(usage, &reply);
                    return Ok((reply, finish == Finish::Stop));
                }
                GenerationEvent::Failed(error) => return Err(error),
            }
        }
        // A stream ends with a terminal event; one that does not has told nothing.
        Ok((reply, false))
    }

    fn count_tokens(&self, usage: Usage, reply: &str) {
        let read = usage.input_tokens.map_or(0, u64::from);
        // An endpoint that reports nothing is counted by the shortest tokens there are, so that a budget ends some time.
        let written = usage.output_tokens.map_or(reply.len() as u64, u64::from);
        self.counts
            .tokens
            .fetch_add(read + written, Ordering::Relaxed);
    }

    fn label(&self, question: &Question, outcome: &Outcome, attempts: u32) -> Label {
        let mut value = category::json(&question.labels(outcome));
        value["model"] = self.model.as_str().into();
        value["requests"] = attempts.into();
        if let Outcome::Unknown(trouble) = outcome {
            value["trouble"] = trouble.to_string().into();
        }
        Label {
            annotator: annotator_name(question),
            version: question.version(),
            label: value.to_string(),
        }
    }

    /// What was asked so far, and what became of it.
    pub fn report(&self) -> Value {
        let n = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let questions: Vec<Value> = self
            .questions
            .iter()
            .map(|question| json!({ "name": question.name(), "version": question.version() }))
            .collect();
        json!({
            "model": self.model,
            "questions": questions,
            "answered": n(&self.counts.answered),
            "cached": n(&self.counts.cached),
            "unreadable": n(&self.counts.unreadable),
            "failed": n(&self.counts.failed),
            "left": n(&self.counts.left),
            "requests": n(&self.counts.requests),
            "tokens": n(&self.counts.tokens),
            "last_failure": *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner),
        })
    }
}

/// Remembered answers, in a file with one JSON object a line.
#[derive(Debug)]
struct Replies {
    path: PathBuf,
    state: Mutex<RepliesState>,
}

#[derive(Debug)]
struct RepliesState {
    replies: HashMap<String, String>,
    file: File,
}

#[derive(Deserialize, Serialize)]
struct ReplyLine {
    key: String,
    question: String,
    version: u32,
    model: String,
    reply: String,
}

impl Replies {
    fn open(path: &Path) -> Result<Self, LabellerError> {
        let failed = |detail: &str, source: io::Error| LabellerError::Replies {
            path: path.to_owned(),
            detail: detail.to_owned(),
            source: Some(source),
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| failed("its folder cannot be made", source))?;
        }
        let mut replies = HashMap::new();
        let mut is_cut = false;
        match File::open(path) {
            Ok(file) => {
                let mut lines = BufReader::new(file).lines().peekable();
                let mut number: u64 = 0;
                while let Some(line) = lines.next() {
                    number += 1;
                    let line = line.map_err(|source| failed("it cannot be read", source))?;
                    match serde_json::from_str::<ReplyLine>(&line) {
                        Ok(line) => {
                            replies.insert(line.key, line.reply);
                        }
                        // A run that was killed may have left half a line at the end.
                        Err(_) if lines.peek().is_none() => is_cut = true,
                        Err(error) => {
                            return Err(LabellerError::Replies {
                                path: path.to_owned(),
                                detail: format!("line {number}: {error}"),
                                source: None,
                            });
                        }
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(failed("it cannot be read", source)),
        }
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map_err(|source| failed("it cannot be written", source))?;
        if is_cut {
            // The half line is made a whole one that is no JSON object only once: the next reading would refuse it in the middle.
            Self::drop_last_line(path).map_err(|source| failed("it cannot be mended", source))?;
            file = OpenOptions::new()
                .append(true)
                .open(path)
                .map_err(|source| failed("it cannot be written", source))?;
        }
        Ok(Self {
            path: path.to_owned(),
            state: Mutex::new(RepliesState { replies, file }),
        })
    }

    /// Takes away what follows the last whole line.
    fn drop_last_line(path: &Path) -> io::Result<()> {
        let bytes = std::fs::read(path)?;
        let trimmed = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let end = trimmed
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        OpenOptions::new()
            .write(true)
            .open(path)?
            .set_len(end as u64)
    }

    fn get(&self, key: &[u8; 32]) -> Option<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.replies.get(&hexadecimal(key)).cloned()
    }

    fn remember(
        &self,
        key: &[u8; 32],
        question: &Question,
        model: &str,
        reply: &str,
    ) -> Result<(), LabellerError> {
        let line = ReplyLine {
            key: hexadecimal(key),
            question: question.name().to_owned(),
            version: question.version(),
            model: model.to_owned(),
            reply: reply.to_owned(),
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // One write for the whole line, so that lines of two processes do not mix.
        let written = serde_json::to_string(&line)
            .map_err(io::Error::from)
            .and_then(|text| state.file.write_all((text + "\n").as_bytes()));
        written.map_err(|source| LabellerError::Replies {
            path: self.path.clone(),
            detail: "it cannot be written".to_owned(),
            source: Some(source),
        })?;
        state.replies.insert(line.key, line.reply);
        Ok(())
    }
}

/// Under which name the labels of a question are kept.
fn annotator_name(question: &Question) -> String {
    format!("{QUESTION_PREFIX}{}", question.name())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
