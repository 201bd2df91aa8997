//! The labeller as the command line names it.

use agon_content::{image, question::Question};
use agon_dataset::ConversationRow;
use agon_providers::RequestImage;
use anyhow::anyhow;
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::dataset::Labelled;
use crate::{
    app::{
        annotation::{
            Content,
            questions::{self, Answered, Budget, LabellerError, Subject},
        },
        providers,
    },
    cli::{AnnotateArgs, GlobalArgs},
    commands::serve::load_config,
    exit_code::CommandError,
};

/// The file in the data folder that remembers answers.
const REPLIES_FILE: &str = "questions.jsonl";

/// A labeller and what it runs on.
pub(super) struct Labeller {
    labeller: questions::Labeller,
    runtime: Runtime,
    at_a_time: usize,
}

impl Labeller {
    /// The one of `--labeller`, if there is one.
    pub(super) fn new(
        global: &GlobalArgs,
        args: &AnnotateArgs,
    ) -> Result<Option<Self>, CommandError> {
        let Some(name) = &args.labeller else {
            return Ok(None);
        };
        let config = load_config(global)?;
        let models = providers::build(&config).map_err(CommandError::usage)?;
        let names: Vec<String> = models.iter().map(|(model, _)| model.name.clone()).collect();
        let Some((model, provider)) = models.into_iter().find(|(model, _)| &model.name == name)
        else {
            return Err(CommandError::usage(anyhow!(
                "`{name}` is not a model of the configuration: it has {}",
                names.join(", ")
            )));
        };
        let asked = if args.questions.is_empty() {
            questions::questions()
        } else {
            let question = |name: &String| {
                questions::question(name).ok_or_else(|| {
                    let names: Vec<&str> = questions::questions()
                        .into_iter()
                        .map(Question::name)
                        .collect();
                    CommandError::usage(anyhow!(
                        "there is no question about `{name}`: expected {}",
                        names.join(", ")
                    ))
                })
            };
            args.questions
                .iter()
                .map(question)
                .collect::<Result<_, _>>()?
        };
        let budget = Budget {
            requests_max: args.questions_max,
            tokens_max: args.tokens_max,
        };
        let labeller = questions::Labeller::new(
            name,
            provider,
            model.vision,
            asked,
            budget,
            &config.data_dir.join(REPLIES_FILE),
        )
        .map_err(labeller_error)?;
        Ok(Some(Self {
            labeller,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?,
            at_a_time: args.questions_at_a_time.get(),
        }))
    }

    /// Asks what is missing of some rows, and adds the labels.
    pub(super) fn ask(
        &self,
        rows: &[ConversationRow],
        labelled: &mut [Labelled],
    ) -> Result<(), CommandError> {
        let mut jobs: Vec<(usize, &'static Question)> = Vec::new();
        let mut subjects: Vec<Option<Subject>> = Vec::with_capacity(rows.len());
        for (idx, (row, labels)) in rows.iter().zip(&*labelled).enumerate() {
            let content = Content::of_row(row);
            let missing = self
                .labeller
                .missing(&labels.labels, content.has_image())
                .collect::<Vec<_>>();
            let subject = (!missing.is_empty()).then(|| {
                let image = self.labeller.sees_images().then(|| row_image(row));
                Subject::new(&content, image.flatten())
            });
            jobs.extend(missing.into_iter().map(|question| (idx, question)));
            subjects.push(subject);
        }
        self.run(&jobs, &subjects, |idx, label| {
            let labels = &mut labelled[idx].labels;
            labels.retain(|other| other.annotator != label.annotator);
            labels.push(label);
        })
    }

    /// Asks questions about subjects, several at a time, and gives the labels in the order of the questions.
    pub(super) fn run(
        &self,
        jobs: &[(usize, &'static Question)],
        subjects: &[Option<Subject>],
        mut on_label: impl FnMut(usize, agon_dataset::Label),
    ) -> Result<(), CommandError> {
        let labeller = &self.labeller;
        let asked = futures_util::stream::iter(jobs)
            .map(|&(idx, question)| async move {
                let Some(subject) = &subjects[idx] else {
                    return Ok((idx, Answered::NotAskable));
                };
                Ok((idx, labeller.ask(question, subject).await?))
            })
            .buffered(self.at_a_time)
            .try_collect::<Vec<_>>();
        for (idx, answered) in self.runtime.block_on(asked).map_err(labeller_error)? {
            if let Answered::Label(label) = answered {
                on_label(idx, label);
            }
        }
        Ok(())
    }

    /// The questions that lack a label.
    pub(super) fn missing(
        &self,
        labels: &[agon_dataset::Label],
        has_image: bool,
    ) -> Vec<&'static Question> {
        self.labeller.missing(labels, has_image).collect()
    }

    /// Whether pictures are shown.
    pub(super) fn sees_images(&self) -> bool {
        self.labeller.sees_images()
    }

    /// What was asked so far.
    pub(super) fn report(&self) -> Value {
        self.labeller.report()
    }
}

/// The first picture of a row as models are sent it; nothing when it has none that can be decoded.
fn row_image(row: &ConversationRow) -> Option<([u8; 32], RequestImage)> {
    let bytes = row.images.iter().find_map(|image| image.bytes.as_deref())?;
    let image = image::normalise(bytes, &image::ImageLimits::default()).ok()?;
    let sha256 = image.sha256;
    Some((
        sha256,
        RequestImage {
            media_type: image.media_type.as_str().to_owned(),
            width_px: image.width_px,
            height_px: image.height_px,
            bytes: image.bytes.into(),
        },
    ))
}

fn labeller_error(error: LabellerError) -> CommandError {
    let hint = match &error {
        LabellerError::Refused { .. } => "check the model's key and address in the configuration",
        LabellerError::Gone { .. } => {
            "what was answered is remembered: run the same command again when the endpoint is back"
        }
        LabellerError::Replies { .. } => {
            "repair the line, or move the file away, and the questions are asked anew"
        }
    };
    CommandError::from(error).with_hint(hint)
}
