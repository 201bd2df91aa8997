//! `agon annotate`: labels for the rows of a dataset, or for the battles of the arena.

use std::io::{self, Write as _};

use anyhow::anyhow;
use serde_json::json;

use crate::{
    app::annotation::{self, ALL, DUPLICATES, Registration},
    cli::{AnnotateArgs, AnnotateCommand, GlobalArgs},
    exit_code::CommandError,
};

mod arena;
mod dataset;
mod earlier;
mod evaluate;
mod labeller;
mod summary;

/// Runs what was asked for.
///
/// # Errors
///
/// Exit code 2 for an unknown subject, category or labeller, or a target that cannot be used; 3 for an input that cannot be read or has no rows.
pub fn run(global: &GlobalArgs, args: &AnnotateArgs) -> Result<(), CommandError> {
    match &args.command {
        Some(AnnotateCommand::Evaluate(args)) => evaluate::run(global, args),
        Some(AnnotateCommand::List) => list(global),
        None if args.inputs.is_empty() => arena::run(global, args),
        None => dataset::run(global, args),
    }
}

/// What is to be labelled.
struct Chosen {
    registrations: Vec<&'static Registration>,
    has_duplicates: bool,
}

impl Chosen {
    /// The subjects of `--only`, or all.
    fn new(only: &[String]) -> Result<Self, CommandError> {
        let subjects = annotation::subjects();
        for subject in only {
            if !subjects.contains(&subject.as_str()) {
                return Err(CommandError::usage(anyhow!(
                    "`{subject}` is not a subject: expected {}",
                    subjects.join(", ")
                )));
            }
        }
        let is_chosen =
            |subject: &str| only.is_empty() || only.iter().any(|chosen| chosen == subject);
        Ok(Self {
            registrations: ALL
                .into_iter()
                .filter(|registration| is_chosen(registration.subject))
                .collect(),
            has_duplicates: is_chosen(DUPLICATES),
        })
    }

    /// Whether an annotator looks for the names of the models.
    fn finds_names(&self) -> bool {
        self.registrations
            .iter()
            .any(|registration| registration.needs_names)
    }
}

fn list(global: &GlobalArgs) -> Result<(), CommandError> {
    let annotators = annotation::descriptions();
    let text = if global.json {
        let annotators: Vec<_> = annotators
            .iter()
            .map(|(subject, annotator, about)| {
                json!({
                    "subject": subject,
                    "annotator": annotator.name,
                    "version": annotator.version,
                    "about": about,
                })
            })
            .collect();
        format!("{}\n", serde_json::to_string_pretty(&annotators)?)
    } else {
        let mut text = String::new();
        for (subject, annotator, about) in annotators {
            text.push_str(&format!(
                "{subject:<11} {:<28} {about}\n",
                format!("{} {}", annotator.name, annotator.version)
            ));
        }
        text
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
