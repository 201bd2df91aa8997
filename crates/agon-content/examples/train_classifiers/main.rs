//! Trains the linear models of `agon-content` and writes them to `models/`, byte for byte the same from the same inputs.
//!
//! ```sh
//! AGON_TESTDATA=… scripts/train-classifiers
//! ```
//!
//! Inputs: the templates in `models/templates/` and `models/refusal/`, which are ours, and the labelled prompts of Arena-Hard v2 in `AGON_TESTDATA/text/categories`, which are read and not kept.
//! Outputs: `models/categories.bin`, `models/refusal.bin`, and the held-out synthetic texts in `fixtures/`, on which the tests measure.
//! No clock, no thread and no random number from outside takes part.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool for the command line that may stop at the first mistake in its inputs"
)]

mod examples;
mod logistic;
mod templates;

use std::{fs, path::Path};

use agon_content::annotate::category::{WORDS_LABEL, linear::Model};

use self::{
    examples::{Example, Part, arena_hard, synthetic},
    logistic::{Choice, train},
};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    #[expect(
        clippy::disallowed_methods,
        reason = "where the labelled prompts are is told by the environment, as in the tests"
    )]
    let data =
        std::env::var("AGON_TESTDATA").expect("AGON_TESTDATA: the folder of labelled prompts");

    let categories: Vec<&str> = WORDS_LABEL
        .iter()
        .map(|category| category.as_str())
        .collect();
    let mut examples = synthetic(&root.join("models/templates"), &categories);
    write_held_out(&root.join("fixtures/category/held-out.tsv"), &examples);
    examples.extend(arena_hard(Path::new(&data), &categories));
    let model = train(
        &categories,
        &examples,
        &Choice {
            n_buckets: 1 << 15,
            precision_min: 0.93,
            absence_min: 0.98,
        },
    );
    save(&root.join("models/categories.bin"), &model, &examples);

    let refusal = ["refusal"];
    let examples = synthetic(&root.join("models/refusal"), &refusal);
    write_held_out(&root.join("fixtures/refusal/held-out.tsv"), &examples);
    let model = train(
        &refusal,
        &examples,
        &Choice {
            n_buckets: 1 << 14,
            precision_min: 0.98,
            absence_min: 0.98,
        },
    );
    save(&root.join("models/refusal.bin"), &model, &examples);
}

/// Writes a model and says how it does on each part.
fn save(path: &Path, model: &Model, examples: &[Example]) {
    let bytes = model.to_bytes();
    fs::write(path, &bytes).unwrap();
    println!("{}: {} bytes", path.display(), bytes.len());
    println!("part        class                 true  unknown  precision  recall");
    for part in [Part::Train, Part::Validation, Part::Test] {
        for source in ["en", "other", "arena-hard"] {
            for (idx, class) in model.classes.iter().enumerate() {
                let chosen = examples
                    .iter()
                    .filter(|example| example.part == part && example.source() == source);
                let measured = logistic::measure(model, idx, chosen);
                if measured.n_true > 0 {
                    println!("{part:?} {source} {:20} {measured}", class.name);
                }
            }
        }
    }
    for class in &model.classes {
        println!(
            "{:20} true from {:.2}, false to {:.2}",
            class.name, class.true_from, class.false_to
        );
    }
}

/// One line for each held-out text: language, family, labels, text with `\n` for line breaks.
fn write_held_out(path: &Path, examples: &[Example]) {
    let mut lines = String::new();
    for example in examples.iter().filter(|example| example.part == Part::Test) {
        lines.push_str(&example.to_line());
        lines.push('\n');
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, lines).unwrap();
}
