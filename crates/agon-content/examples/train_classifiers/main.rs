//! Trains the linear models of `agon-content` and writes them to `models/`, byte for byte the same from the same inputs.
//!
//! ```sh
//! AGON_TESTDATA=… scripts/train-classifiers
//! ```
//!
//! Inputs: the templates in `models/templates/` and `models/refusal/` and the prompts in `models/natural.tsv`, which are ours, and the labelled prompts of Arena-Hard v2 and MT-bench in `AGON_TESTDATA/text/categories`, which are read and not kept.
//! Outputs: `models/categories.bin` and `models/refusal.bin`, and `models/report.txt`, how they do on what they did not see.
//! No clock, no thread and no random number from outside takes part.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool for the command line that may stop at the first mistake in its inputs"
)]

mod examples;
mod logistic;
mod templates;

use std::{fmt::Write as _, fs, path::Path};

use agon_content::annotate::category::{WORDS_LABEL, linear::Model};

use self::{
    examples::{Example, Source, arena_hard, mt_bench, natural, synthetic},
    logistic::{Choice, choose_thresholds, measure, train},
};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    #[expect(
        clippy::disallowed_methods,
        reason = "where the labelled prompts are is told by the environment, as in the tests"
    )]
    let data =
        std::env::var("AGON_TESTDATA").expect("AGON_TESTDATA: the folder of labelled prompts");

    let names: Vec<&str> = WORDS_LABEL
        .iter()
        .map(|category| category.as_str())
        .collect();
    let mut examples = synthetic(&root.join("models/templates"), &names);
    examples.extend(natural(&root.join("models/natural.tsv"), &names));
    examples.extend(arena_hard(Path::new(&data), &names));
    examples.extend(mt_bench(Path::new(&data), &names));
    let choice = Choice {
        n_buckets: 1 << 16,
        precision_min: 0.88,
        absence_min: 0.97,
    };
    let mut report = make(
        &root.join("models/categories.bin"),
        &names,
        &examples,
        &choice,
    );

    let names = ["refusal"];
    let examples = synthetic(&root.join("models/refusal"), &names);
    let choice = Choice {
        n_buckets: 1 << 14,
        ..choice
    };
    report.push_str(&make(
        &root.join("models/refusal.bin"),
        &names,
        &examples,
        &choice,
    ));
    fs::write(root.join("models/report.txt"), &report).unwrap();
    print!("{report}");
}

fn is_family_held_out(example: &Example) -> bool {
    matches!(example.source, Source::Template { is_held_out: true })
}

/// Whether an example belongs to a part that is measured.
type IsOf = fn(&Example) -> bool;

/// Trains and writes the file, and returns how well it does on texts that it did not see.
fn make(path: &Path, names: &[&str], examples: &[Example], choice: &Choice) -> String {
    let is_kept =
        |example: &Example| !matches!(example.source, Source::Labelled { is_held_out: true });
    let mut model = train(names, examples, choice.n_buckets, &is_kept);
    if examples
        .iter()
        .any(|example| example.source.is_for_thresholds())
    {
        choose_thresholds(&mut model, names, examples, choice, &is_kept);
    }
    let bytes = model.to_bytes();
    fs::write(path, &bytes).unwrap();
    let name = path.file_name().unwrap().to_string_lossy();
    let mut report = format!("{name}: {} bytes\n", bytes.len());
    for class in &model.classes {
        writeln!(
            report,
            "  {:20} true from {:.2}, false to {:.2}",
            class.name, class.true_from, class.false_to
        )
        .unwrap();
    }

    // The families are held out from another model with the same thresholds, as the one that is kept has seen them.
    let mut other = train(names, examples, choice.n_buckets, &|example| {
        is_kept(example) && !is_family_held_out(example)
    });
    for (class, kept) in other.classes.iter_mut().zip(&model.classes) {
        (class.true_from, class.false_to) = (kept.true_from, kept.false_to);
    }
    let parts: [(&str, &Model, IsOf); 4] = [
        ("unseen families, English", &other, |example| {
            is_family_held_out(example) && example.is_english
        }),
        ("unseen families, other languages", &other, |example| {
            is_family_held_out(example) && !example.is_english
        }),
        (
            "Arena-Hard and MT-bench, held out, English",
            &model,
            |example| {
                matches!(example.source, Source::Labelled { is_held_out: true })
                    && example.is_english
            },
        ),
        (
            "Arena-Hard and MT-bench, held out, other languages",
            &model,
            |example| {
                matches!(example.source, Source::Labelled { is_held_out: true })
                    && !example.is_english
            },
        ),
    ];
    for (part, measured, is_of) in parts {
        let mut scores = Vec::new();
        let mut lines = String::new();
        for (idx, class) in measured.classes.iter().enumerate() {
            let counts = measure(
                measured,
                idx,
                examples.iter().filter(|example| is_of(example)),
            );
            if counts.n_true > 0 {
                scores.push(counts.f1());
                writeln!(lines, "  {:20} {counts}", class.name).unwrap();
            }
        }
        if !scores.is_empty() {
            let n_scores = f64::from(u32::try_from(scores.len()).unwrap());
            let macro_f1 = scores.iter().sum::<f64>() / n_scores;
            write!(report, "{part}, macro F1 {macro_f1:.3}\n{lines}").unwrap();
        }
    }
    report
}
