//! Labelled texts, and which of them train, choose thresholds, or measure.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;

use crate::templates::{Numbers, Templates};

/// Texts made of each English template, and of each other one.
const ENGLISH_TEXTS: usize = 36;
const OTHER_TEXTS: usize = 16;

/// What a text is used for. Families, not texts, are split, so that no measured text differs from a trained one by a slot alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Train,
    Validation,
    Test,
}

/// A text with a label for each class: yes, no, or unsure.
#[derive(Debug)]
pub(crate) struct Example {
    pub(crate) text: String,
    pub(crate) labels: Vec<Option<bool>>,
    pub(crate) part: Part,
    /// Language, or the name of the set.
    pub(crate) language: String,
    family: String,
    /// Names of the labels that hold, and of the unsure ones with `?`.
    names: Vec<String>,
}

impl Example {
    pub(crate) fn source(&self) -> &str {
        match self.language.as_str() {
            "en" | "arena-hard" => &self.language,
            _ => "other",
        }
    }

    pub(crate) fn to_line(&self) -> String {
        let names = if self.names.is_empty() {
            "none".to_owned()
        } else {
            self.names.join(",")
        };
        let text = self
            .text
            .replace('\\', "\\\\")
            .replace('\n', "\\n")
            .replace('\t', " ");
        format!("{}\t{}\t{names}\t{text}", self.language, self.family)
    }
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
            let part = match template.family % 4 {
                3 => Part::Validation,
                0 => Part::Test,
                _ => Part::Train,
            };
            let labels = classes
                .iter()
                .map(|class| {
                    let has = |list: &[String]| list.iter().any(|label| label == class);
                    if has(&template.labels) {
                        Some(true)
                    } else if has(&template.unsure) {
                        None
                    } else {
                        Some(false)
                    }
                })
                .collect::<Vec<_>>();
            let first = template.labels.first().map_or("none", String::as_str);
            let names: Vec<String> = template
                .labels
                .iter()
                .cloned()
                .chain(template.unsure.iter().map(|label| format!("?{label}")))
                .collect();
            examples.extend(texts.into_iter().map(|text| Example {
                text,
                labels: labels.clone(),
                part,
                language: language.clone(),
                family: format!("{first}/{}", template.family),
                names: names.clone(),
            }));
        }
    }
    examples
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
            // The identifier is hexadecimal and drawn at random.
            let part = match u64::from_str_radix(&uid[..8], 16).unwrap() % 10 {
                0..=5 => Part::Train,
                6 => Part::Validation,
                _ => Part::Test,
            };
            Example {
                text: row["prompt"].as_str().unwrap().to_owned(),
                labels: classes
                    .iter()
                    .map(|class| {
                        if *class == holds {
                            Some(true)
                        } else if unsure.contains(class) {
                            None
                        } else {
                            Some(false)
                        }
                    })
                    .collect(),
                part,
                language: "arena-hard".to_owned(),
                family: label.to_owned(),
                names: vec![holds.to_owned()],
            }
        })
        .collect()
}
