//! Labelled texts, and which of them train, choose thresholds, or measure.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;

use crate::templates::{Numbers, Templates};

/// Texts made of each English template, and of each other one.
const ENGLISH_TEXTS: usize = 36;
const OTHER_TEXTS: usize = 16;

/// Where a text comes from, which says what it is used for and how much it weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A template. Families, not texts, are held out, so that no measured text differs from a trained one by a slot alone.
    Template { is_held_out: bool },
    /// A prompt of ours as people type them.
    Natural,
    /// A prompt of Arena-Hard v2 or MT-bench.
    Labelled { is_held_out: bool },
}

impl Source {
    /// How much one text of it weighs. Real and natural texts are few, and nearer to what the model will see.
    pub(crate) const fn weight(self) -> f64 {
        match self {
            Self::Template { .. } => 1.0,
            Self::Natural => 8.0,
            Self::Labelled { .. } => 12.0,
        }
    }

    /// How much one text of it counts when thresholds are chosen: most prompts are neither code, mathematics nor creative writing, as all of Arena-Hard's are.
    pub(crate) const fn threshold_weight(self) -> f64 {
        match self {
            Self::Template { .. } => 0.0,
            Self::Natural => 2.0,
            Self::Labelled { .. } => 1.0,
        }
    }

    /// Whether the thresholds are chosen on it.
    pub(crate) const fn is_for_thresholds(self) -> bool {
        matches!(self, Self::Natural | Self::Labelled { is_held_out: false })
    }
}

/// Parts that the texts for thresholds are cut into; each is scored by a model that did not see it.
pub(crate) const FOLDS: u64 = 5;

/// A text with a label for each class: yes, no, or unsure.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) text: String,
    pub(crate) labels: Vec<Option<bool>>,
    pub(crate) source: Source,
    /// One of [`FOLDS`].
    pub(crate) fold: u64,
    pub(crate) is_english: bool,
}

/// The labels of classes, given those that hold and those that are unsure.
fn labels(classes: &[&str], holds: &[String], unsure: &[String]) -> Vec<Option<bool>> {
    let has = |list: &[String], class: &str| list.iter().any(|label| label == class);
    classes
        .iter()
        .map(|class| {
            if has(holds, class) {
                Some(true)
            } else if has(unsure, class) {
                None
            } else {
                Some(false)
            }
        })
        .collect()
}

/// The texts that the templates of a folder make, in the order of the files' names.
pub(crate) fn synthetic(folder: &Path, classes: &[&str]) -> Vec<Example> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    paths.sort();
    let mut examples = Vec::new();
    for path in paths {
        let language = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let templates = Templates::parse(&language, &fs::read_to_string(&path).unwrap());
        let n_texts = if language == "en" {
            ENGLISH_TEXTS
        } else {
            OTHER_TEXTS
        };
        for (idx, template) in templates.templates.iter().enumerate() {
            let mut numbers = Numbers(u64::try_from(idx).unwrap());
            let texts: BTreeSet<String> = (0..n_texts)
                .map(|_| templates.fill(template, &mut numbers))
                .collect();
            examples.extend(texts.into_iter().map(|text| Example {
                text,
                labels: labels(classes, &template.labels, &template.unsure),
                source: Source::Template {
                    is_held_out: template.family % 4 == 0,
                },
                fold: 0,
                is_english: language == "en",
            }));
        }
    }
    examples
}

/// The prompts of `models/natural.tsv`.
pub(crate) fn natural(path: &Path, classes: &[&str]) -> Vec<Example> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .zip(0..)
        .map(|(line, row)| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [language, _, names, text] = fields[..] else {
                panic!("`{line}` has not four fields");
            };
            let (unsure, holds): (Vec<&str>, Vec<&str>) =
                names.split(',').partition(|name| name.starts_with('?'));
            let holds: Vec<String> = holds.into_iter().map(str::to_owned).collect();
            let unsure: Vec<String> = unsure.iter().map(|name| name[1..].to_owned()).collect();
            Example {
                text: text.to_owned(),
                labels: labels(classes, &holds, &unsure),
                source: Source::Natural,
                fold: row % FOLDS,
                is_english: language == "en",
            }
        })
        .collect()
}

/// The prompts of Arena-Hard v2, whose one label each says which of coding, mathematics and creative writing it was drawn for.
///
/// What the label leaves open is unsure: a prompt for mathematics may want code as well.
pub(crate) fn arena_hard(data: &Path, classes: &[&str]) -> Vec<Example> {
    let path = data.join("text/categories/arena-hard-v2.0_question.jsonl");
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            let label = row["subcategory"].as_str().unwrap();
            let uid = row["uid"].as_str().unwrap();
            let (holds, unsure): (&str, &[&str]) = match label {
                "coding" => ("code", &["math", "if", "ocr", "diagram"]),
                "math" => ("math", &["code", "if", "homework", "diagram"]),
                "creative_writing" => ("creative_writing", &["humor", "if"]),
                other => panic!("`{other}` is no label of Arena-Hard v2"),
            };
            let unsure: Vec<String> = unsure.iter().map(|&name| name.to_owned()).collect();
            // The identifier is hexadecimal and drawn at random.
            let hash = u64::from_str_radix(&uid[..8], 16).unwrap();
            Example {
                text: row["prompt"].as_str().unwrap().to_owned(),
                labels: labels(classes, &[holds.to_owned()], &unsure),
                source: Source::Labelled {
                    is_held_out: hash % 10 >= 7,
                },
                fold: hash % FOLDS,
                is_english: is_english(row["prompt"].as_str().unwrap()),
            }
        })
        .collect()
}

/// The questions of MT-bench, both turns of each as one text. Those with odd numbers are held out.
///
/// Its categories say for sure what is code and what is mathematics, and which are not creative; the rest is unsure.
pub(crate) fn mt_bench(data: &Path, classes: &[&str]) -> Vec<Example> {
    let path = data.join("text/categories/mt_bench_question.jsonl");
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            let turns: Vec<&str> = row["turns"]
                .as_array()
                .unwrap()
                .iter()
                .map(|turn| turn.as_str().unwrap())
                .collect();
            let (holds, unsure): (&[&str], &[&str]) = match row["category"].as_str().unwrap() {
                "coding" => (&["code"], &["math", "if"]),
                "math" => (&["math"], &["if", "homework"]),
                "writing" | "roleplay" => (&[], &["creative_writing", "humor", "math", "if"]),
                "reasoning" | "stem" | "extraction" => (&[], &["math", "if", "homework", "ocr"]),
                _ => (&[], &["if", "creative_writing"]),
            };
            let [holds, unsure] = [holds, unsure].map(|names| {
                names
                    .iter()
                    .map(|&name| name.to_owned())
                    .collect::<Vec<_>>()
            });
            let number = row["question_id"].as_u64().unwrap();
            Example {
                text: turns.join("\n"),
                labels: labels(classes, &holds, &unsure),
                source: Source::Labelled {
                    is_held_out: number % 2 == 1,
                },
                fold: number / 2 % FOLDS,
                is_english: true,
            }
        })
        .collect()
}

/// Whether a text is English, near enough to divide figures by: four common words of ten, and hardly a letter beyond ASCII.
fn is_english(text: &str) -> bool {
    const COMMON: [&str; 10] = [
        "the", "and", "to", "of", "is", "in", "for", "that", "with", "write",
    ];
    let n_foreign = text
        .chars()
        .filter(|c| c.is_alphabetic() && !c.is_ascii())
        .count();
    let lower = text.to_lowercase();
    let n_common = COMMON
        .iter()
        .filter(|word| {
            lower
                .split(|c: char| !c.is_alphanumeric())
                .any(|found| found == **word)
        })
        .count();
    n_foreign * 50 < text.chars().count()
        && n_common >= 4.min(1 + lower.split_whitespace().count() / 12)
}
