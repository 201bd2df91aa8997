//! `agon annotate evaluate`: how well two columns of labels agree.

use std::{
    fs,
    io::{self, Write as _},
    ops::ControlFlow,
};

use agon_content::annotate::agreement::{Agreement, agreement, label_noise};
use agon_dataset::{
    ConversationRow, ConversationSelection, Progress as Step, ReadOptions, read_conversations,
};
use anyhow::{Context as _, anyhow};
use askama::Template;
use serde_json::{Value, json};

use crate::{
    cli::{EvaluateArgs, GlobalArgs},
    commands::{
        outputs,
        progress::{self, Progress},
        rank::{inputs, print::visible, read::refused},
    },
    exit_code::CommandError,
};

/// The column that `ANNOTATOR:PATH` looks into.
const ANNOTATIONS: &str = "annotations";
/// Different labels at most: more is a column of something else.
const LABELS_MAX: usize = 100;
/// Characters of a message that the page shows.
const MESSAGE_CHARS_MAX: usize = 4000;

/// Compares two columns.
pub(super) fn run(global: &GlobalArgs, args: &EvaluateArgs) -> Result<(), CommandError> {
    let files: Vec<outputs::Named<'_>> = args.html.iter().map(|path| ("--html", &**path)).collect();
    outputs::check(&files, &args.inputs, &[])?;
    let wanted = [Column::new(&args.first), Column::new(&args.second)];
    let columns: Vec<String> = wanted.iter().map(|column| column.read.to_owned()).collect();
    let selection = ConversationSelection {
        images: false,
        chats: true,
        columns,
    };
    let mut labels: [Vec<Option<String>>; 2] = Default::default();
    let mut unfit = None;
    // What the page shows has to be kept while it is read; disagreements alone.
    let mut cases: Vec<Case> = Vec::new();
    let mut on_rows = |rows: Vec<ConversationRow>| {
        for row in rows {
            let mut pair = [None, None];
            for ((column, value), label) in wanted.iter().zip(&row.columns).zip(&mut pair) {
                match column.label(value.as_ref()) {
                    Ok(found) => *label = found,
                    Err(detail) => {
                        unfit = Some(anyhow!(
                            "row {} of `{}`: {detail}",
                            row.place.row,
                            row.place.source
                        ));
                        return ControlFlow::Break(());
                    }
                }
            }
            if let [Some(first), Some(second)] = &pair
                && first != second
                && args.html.is_some()
                && cases.len() < args.disagreements_max
            {
                cases.push(Case::new(&row, first, second));
            }
            let [first, second] = pair;
            labels[0].push(first);
            labels[1].push(second);
        }
        ControlFlow::Continue(())
    };
    let mut progress = Progress::new(global.quiet, progress::BYTES);
    let mut on_progress = |step: Step<'_>| {
        progress.show(step.bytes_read, step.bytes_total, || {
            format!(
                "[{}/{}] {} rows",
                step.source_idx + 1,
                step.n_sources,
                step.rows
            )
        });
    };
    let options = ReadOptions::default();
    let read = inputs::inputs(&args.inputs).and_then(|inputs| {
        read_conversations(inputs, &options, &selection, &mut on_rows, &mut on_progress)
    });
    progress.finish();
    read.map_err(refused)?;
    if let Some(error) = unfit {
        return Err(CommandError::input_refused(error));
    }
    let [first, second] = labels;
    // The library takes the second column as the truth.
    let compared = agreement(&second, &first)?;
    if compared.n_compared() == 0 {
        return Err(CommandError::input_refused(anyhow!(
            "no row has a label in both `{}` and `{}`",
            args.first,
            args.second
        )));
    }
    if compared.labels().len() > LABELS_MAX {
        return Err(CommandError::input_refused(anyhow!(
            "`{}` and `{}` have {} different labels: expected at most {LABELS_MAX}",
            args.first,
            args.second,
            compared.labels().len()
        )));
    }
    if let Some(path) = &args.html {
        let page = page(args, &compared, cases)?;
        fs::write(path, page).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    let text = if global.json {
        let document = document(args, &compared);
        format!("{}\n", serde_json::to_string_pretty(&document)?)
    } else {
        text(args, &compared)
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Where labels are looked for: a column, or what an annotator said.
struct Column<'a> {
    /// The column that is read.
    read: &'a str,
    /// The annotator and the path in its label.
    annotator: Option<(&'a str, &'a str)>,
    name: &'a str,
}

impl<'a> Column<'a> {
    fn new(name: &'a str) -> Self {
        let annotator = name.split_once(':');
        Self {
            read: if annotator.is_some() {
                ANNOTATIONS
            } else {
                name
            },
            annotator,
            name,
        }
    }

    /// The label of a row; nothing where it is null or missing.
    fn label(&self, value: Option<&Value>) -> Result<Option<String>, String> {
        let Some(value) = value else {
            return Ok(None);
        };
        let Some((annotator, path)) = self.annotator else {
            return self.text(value);
        };
        let labels = value.as_array().into_iter().flatten();
        let mut labels = labels.filter(|label| label["annotator"] == annotator);
        let Some(text) = labels.next().and_then(|label| label["label"].as_str()) else {
            return Ok(None);
        };
        let label: Value = serde_json::from_str(text)
            .map_err(|error| format!("the label of `{annotator}` is no JSON: {error}"))?;
        let mut found = &label;
        for step in path.split('.') {
            found = &found[step];
        }
        // Of a category with its confidence, the label itself.
        self.text(found.get("label").unwrap_or(found))
    }

    fn text(&self, value: &Value) -> Result<Option<String>, String> {
        match value {
            Value::Null => Ok(None),
            Value::Bool(flag) => Ok(Some(flag.to_string())),
            Value::Number(number) => Ok(Some(number.to_string())),
            Value::String(text) => Ok(Some(text.clone())),
            Value::Array(_) | Value::Object(_) => Err(format!(
                "`{}` holds {}: expected a text, a number or a truth value",
                self.name,
                if value.is_array() {
                    "a list"
                } else {
                    "a group of values"
                }
            )),
        }
    }
}

/// A row on which the columns disagree.
struct Case {
    first: String,
    second: String,
    place: String,
    messages: Vec<(String, String)>,
}

impl Case {
    fn new(row: &ConversationRow, first: &str, second: &str) -> Self {
        let mut messages = Vec::new();
        for (idx, conversation) in row.conversations.iter().enumerate() {
            for message in &conversation.messages {
                // Both sides have the same prompts.
                if idx > 0 && matches!(message.role, agon_dataset::RowRole::User) {
                    continue;
                }
                let who = match (message.role.in_battle(), idx) {
                    (Some(agon_dataset::Role::User), _) => "Prompt".to_owned(),
                    (Some(agon_dataset::Role::Assistant), 0) => "Answer A".to_owned(),
                    (Some(agon_dataset::Role::Assistant), _) => "Answer B".to_owned(),
                    (None, _) => message.role.as_str().to_owned(),
                };
                let text = message.text.as_deref().unwrap_or_default();
                let mut shown: String = text.chars().take(MESSAGE_CHARS_MAX).collect();
                if shown.len() < text.len() {
                    shown.push('…');
                }
                messages.push((who, shown));
            }
        }
        let id = row
            .id
            .as_deref()
            .map_or_else(String::new, |id| format!(", {id}"));
        Self {
            first: first.to_owned(),
            second: second.to_owned(),
            place: format!("row {} of {}{id}", row.place.row, row.place.source),
            messages,
        }
    }
}

#[derive(Template)]
#[template(path = "disagreements.html")]
struct Page<'a> {
    first: &'a str,
    second: &'a str,
    n_compared: u64,
    n_unknown: u64,
    n_disagreements: usize,
    labels: &'a [String],
    confusion: Vec<(String, Vec<u64>)>,
    cases: Vec<Case>,
}

fn page(
    args: &EvaluateArgs,
    compared: &Agreement<String>,
    cases: Vec<Case>,
) -> Result<String, CommandError> {
    Ok(Page {
        first: &args.first,
        second: &args.second,
        n_compared: compared.n_compared(),
        n_unknown: compared.n_unknown(),
        n_disagreements: compared.disagreements().len(),
        labels: compared.labels(),
        confusion: confusion(compared),
        cases,
    }
    .render()?)
}

/// Rows by the first column's label (down) and the second's (across).
fn confusion(compared: &Agreement<String>) -> Vec<(String, Vec<u64>)> {
    let labels = compared.labels();
    labels
        .iter()
        .map(|first| {
            let row = labels
                .iter()
                .map(|second| compared.count(second, first))
                .collect();
            (first.clone(), row)
        })
        .collect()
}

fn document(args: &EvaluateArgs, compared: &Agreement<String>) -> Value {
    let labels: serde_json::Map<String, Value> = compared
        .labels()
        .iter()
        .map(|label| {
            let binary = compared.binary(label);
            let noise = label_noise(compared, label).ok().map(|noise| {
                json!({
                    "disagreement": noise.disagreement,
                    "error_min": noise.error_min,
                    "error": noise.error,
                    "error_lower": noise.error_lower,
                    "error_upper": noise.error_upper,
                })
            });
            let value = json!({
                "rows_first": binary.n_both + binary.n_second_only,
                "rows_second": binary.n_both + binary.n_first_only,
                "precision": binary.precision(),
                "recall": binary.recall(),
                "f1": binary.f1(),
                "noise": noise,
            });
            (label.clone(), value)
        })
        .collect();
    let confusion: serde_json::Map<String, Value> = confusion(compared)
        .into_iter()
        .map(|(first, row)| {
            let row: serde_json::Map<String, Value> = compared
                .labels()
                .iter()
                .cloned()
                .zip(row.into_iter().map(Value::from))
                .collect();
            (first, Value::Object(row))
        })
        .collect();
    json!({
        "first": args.first,
        "second": args.second,
        "rows_compared": compared.n_compared(),
        "rows_unknown": compared.n_unknown(),
        "accuracy": compared.accuracy(),
        "kappa": compared.kappa(),
        "kappa_standard_error": compared.kappa_standard_error(),
        "macro_f1": compared.macro_f1(),
        "labels": labels,
        "confusion": confusion,
        "disagreements": compared.disagreements().len(),
    })
}

fn text(args: &EvaluateArgs, compared: &Agreement<String>) -> String {
    let shown = |number: Option<f64>| number.map_or("–".to_owned(), |n| format!("{n:.3}"));
    let mut text = format!(
        "{} rows with both labels, {} without\nagreement {}, Cohen's kappa {} ± {}, macro F1 {}\n\n",
        compared.n_compared(),
        compared.n_unknown(),
        shown(compared.accuracy()),
        shown(compared.kappa()),
        shown(compared.kappa_standard_error()),
        shown(compared.macro_f1()),
    );
    text.push_str(&format!(
        "{:<24} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n",
        "label", "first", "second", "precision", "recall", "F1", "noise"
    ));
    for label in compared.labels() {
        let binary = compared.binary(label);
        let noise = label_noise(compared, label).ok();
        text.push_str(&format!(
            "{:<24} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n",
            visible(label),
            binary.n_both + binary.n_second_only,
            binary.n_both + binary.n_first_only,
            shown(binary.precision()),
            shown(binary.recall()),
            shown(binary.f1()),
            shown(noise.map(|noise| noise.error)),
        ));
    }
    text.push_str(&format!(
        "\n{} rows disagree; precision and recall take `{}` as right\n",
        compared.disagreements().len(),
        visible(&args.first)
    ));
    text
}
