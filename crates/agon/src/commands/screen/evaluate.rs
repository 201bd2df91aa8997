//! `agon screen evaluate`: how good detectors are on labelled texts and pictures.

mod pictures;
mod texts;

use std::io::{self, Write as _};

use serde_json::{Value, json};

use crate::{
    cli::{EvaluateScreeningArgs, GlobalArgs},
    exit_code::CommandError,
};

/// Measures on everything that is labelled, one report after the other.
///
/// # Errors
///
/// Exit code 3 for labels that cannot be read, with file, line and what is expected.
pub(super) fn run(global: &GlobalArgs, args: &EvaluateScreeningArgs) -> Result<(), CommandError> {
    let mut documents = Vec::new();
    let mut text = String::new();
    for input in &args.inputs {
        let (mut document, table): (Value, String) = if input.is_dir() {
            pictures::evaluate(global, input, args.detectors.as_deref())?
        } else {
            texts::evaluate(input)?
        };
        document["input"] = json!(input);
        documents.push(document);
        text.push_str(&format!("{}\n{table}\n", input.display()));
    }
    let text = if global.json {
        format!("{:#}\n", json!({ "inputs": documents }))
    } else {
        text
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// A share for people: what was found of what is there.
fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    // Counts of labels are far below 2^52.
    format!("{:.1} %", 100.0 * part as f64 / whole as f64)
}

/// A file of labels that cannot be used.
fn bad_labels(path: &std::path::Path, line: Option<usize>, detail: &str) -> CommandError {
    let place = line.map_or_else(String::new, |line| format!(", line {line}"));
    CommandError::input_refused(anyhow::anyhow!("`{}`{place}: {detail}", path.display()))
        .with_hint("docs/screening.md describes the labels")
}
