//! The dataset card: what is in a release, in numbers counted from what was written.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt::Write as _,
};

use agon_domain::{Side, Winner};
use jiff::{Timestamp, tz::Offset};
use sha2::{Digest as _, Sha256};

use crate::{
    Record,
    release::{ReleaseOptions, Screening},
    schema::{SCHEMA_VERSION, card_features},
};

/// Rows of the table of models; a card with more is no longer read.
const MODELS_SHOWN_MAX: usize = 200;

/// Rows of the tables of turns and languages.
const ROWS_SHOWN_MAX: usize = 30;

/// What is counted while records go by.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Half a SHA-256 of each id: enough to tell all of them apart, at a quarter of the memory.
    ids: HashSet<[u8; 16]>,
    voters: HashSet<[u8; 16]>,
    images: HashSet<[u8; 32]>,
    n_with_image: u64,
    /// Battles of each model, on side A and on side B.
    models: BTreeMap<String, [u64; 2]>,
    winners: [u64; 4],
    turns: BTreeMap<usize, u64>,
    languages: BTreeMap<String, u64>,
    n_with_language: u64,
    n_with_categories: u64,
    n_with_style: u64,
    consent_versions: BTreeMap<String, u64>,
    span: Option<(Timestamp, Timestamp)>,
    bytes: u64,
}

/// The consent version of records that name none.
const CONSENT_NOT_RECORDED: &str = "not recorded";

impl Facts {
    /// Counts a record of so many bytes; `false`, and nothing is counted, when its id was there already.
    pub(crate) fn add(&mut self, record: &Record, bytes: usize) -> bool {
        if !self.ids.insert(short_hash(&record.question_id)) {
            return false;
        }
        self.voters.insert(short_hash(&record.judge));
        for image in &record.images {
            self.images.insert(*image.id().as_bytes());
        }
        self.n_with_image += u64::from(!record.images.is_empty());
        for (side, name) in record.models.iter() {
            let battles = match self.models.get_mut(name) {
                Some(battles) => battles,
                None => self.models.entry(name.clone()).or_default(),
            };
            battles[usize::from(side == Side::B)] += 1;
        }
        self.winners[record.winner as usize] += 1;
        *self.turns.entry(record.n_turns()).or_default() += 1;
        if let Some(language) = &record.language {
            self.n_with_language += 1;
            *self.languages.entry(language.clone()).or_default() += 1;
        }
        self.n_with_categories += u64::from(record.categories.iter().any(Option::is_some));
        self.n_with_style += u64::from(record.style.is_some());
        let version = record.consent_version.as_deref();
        *self
            .consent_versions
            .entry(version.unwrap_or(CONSENT_NOT_RECORDED).to_owned())
            .or_default() += 1;
        let time = record.cast_at;
        self.span = Some(match self.span {
            None => (time, time),
            Some((first, last)) => (first.min(time), last.max(time)),
        });
        self.bytes += bytes as u64;
        true
    }

    pub(crate) fn n_battles(&self) -> u64 {
        self.ids.len() as u64
    }

    pub(crate) fn n_models(&self) -> u64 {
        self.models.len() as u64
    }

    pub(crate) fn n_voters(&self) -> u64 {
        self.voters.len() as u64
    }

    pub(crate) fn n_images(&self) -> u64 {
        self.images.len() as u64
    }

    /// In the order of [`Winner::ALL`].
    pub(crate) fn winners(&self) -> [u64; 4] {
        self.winners
    }

    pub(crate) fn consent_versions(&self) -> &BTreeMap<String, u64> {
        &self.consent_versions
    }
}

fn short_hash(text: &str) -> [u8; 16] {
    let hash = Sha256::digest(text);
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    half
}

/// The text of `README.md`. `bytes` is the size of all data files.
pub(crate) fn card(
    facts: &Facts,
    options: &ReleaseOptions,
    bytes: u64,
    left_out: &BTreeMap<String, u64>,
) -> String {
    let mut text = front_matter(facts, options, bytes);
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "\n# {}\n", one_line(&options.title));
    opening(facts, &mut text);
    screening(options, &mut text);
    contents(facts, &mut text);
    tables(facts, &mut text);
    columns(facts, &mut text);
    making(facts, options, left_out, &mut text);
    use_of_data(options, &mut text);
    text
}

fn front_matter(facts: &Facts, options: &ReleaseOptions, bytes: u64) -> String {
    let mut text = "---\n".to_owned();
    let _ = writeln!(text, "pretty_name: {}", yaml_text(&options.title));
    let _ = writeln!(text, "license: {}", yaml_text(&options.licence.id));
    if options.licence.id == "other" {
        let _ = writeln!(text, "license_name: {}", yaml_text(&options.licence.name));
    }
    let codes: BTreeSet<&str> = facts
        .languages
        .keys()
        .filter_map(|name| language_code(name))
        .collect();
    if !codes.is_empty() {
        text.push_str("language:\n");
        for code in codes {
            // Quotes keep `no`, Norwegian, from being read as a truth value.
            let _ = writeln!(text, "- '{code}'");
        }
    }
    let _ = writeln!(
        text,
        "size_categories:\n- {}",
        size_category(facts.n_battles())
    );
    text.push_str(
        "task_categories:\n- visual-question-answering\ntags:\n- arena\n- human-preferences\n",
    );
    text.push_str(
        "configs:\n- config_name: default\n  data_files:\n  - split: train\n    path: data/train-*\n",
    );
    text.push_str("dataset_info:\n  features:\n");
    text.push_str(&card_features(2));
    let _ = writeln!(
        text,
        "  splits:\n  - name: train\n    num_bytes: {}\n    num_examples: {}\n  download_size: {bytes}\n  dataset_size: {}\n---",
        facts.bytes,
        facts.n_battles(),
        facts.bytes
    );
    text
}

fn opening(facts: &Facts, text: &mut String) {
    let n_text_only = facts.n_battles() - facts.n_with_image;
    let _ = writeln!(
        text,
        "{} of anonymous models on the same prompts, each with one vote: {} by {}. \
         {} with a picture ({}), {} of text alone. The votes were cast {}.",
        counted(facts.n_battles(), "battle", "battles"),
        counted(facts.n_models(), "model", "models"),
        counted(facts.n_voters(), "voter", "voters"),
        grouped(facts.n_with_image),
        counted(facts.n_images(), "different picture", "different pictures"),
        grouped(n_text_only),
        span(facts),
    );
}

fn span(facts: &Facts) -> String {
    let day = |time: Timestamp| Offset::UTC.to_datetime(time).date().to_string();
    match facts.span.map(|(first, last)| (day(first), day(last))) {
        None => "at no time".to_owned(),
        Some((first, last)) if first == last => format!("on {first} (UTC)"),
        Some((first, last)) => format!("from {first} to {last} (UTC)"),
    }
}

fn screening(options: &ReleaseOptions, text: &mut String) {
    text.push_str("\n## Screening\n\n");
    match &options.screening {
        Screening::None => text.push_str(
            "**Unscreened: do not publish as is.** No detector has looked at these texts and pictures. \
             They may contain personal data, faces, illegal or harmful content.\n",
        ),
        Screening::Detectors(detectors) => {
            text.push_str("These detectors have looked at every text and picture:\n\n");
            for detector in detectors {
                let _ = writeln!(text, "- {}", one_line(detector));
            }
            text.push_str("\nNo detector finds everything.\n");
        }
    }
}

fn contents(facts: &Facts, text: &mut String) {
    text.push_str("\n## Votes\n\n| winner | battles | share |\n|---|---:|---:|\n");
    for winner in Winner::ALL {
        let n = facts.winners[winner as usize];
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            winner.release_spelling(),
            grouped(n),
            share(n, facts.n_battles())
        );
    }
    text.push_str("\n| turns | battles |\n|---:|---:|\n");
    for (turns, n) in facts.turns.iter().take(ROWS_SHOWN_MAX) {
        let _ = writeln!(text, "| {turns} | {} |", grouped(*n));
    }
    let n_more: u64 = facts.turns.values().skip(ROWS_SHOWN_MAX).sum();
    if n_more > 0 {
        let _ = writeln!(text, "| more | {} |", grouped(n_more));
    }
}

fn tables(facts: &Facts, text: &mut String) {
    text.push_str("\n## Models\n\n| model | battles | as A | as B |\n|---|---:|---:|---:|\n");
    let mut models: Vec<(&String, &[u64; 2])> = facts.models.iter().collect();
    models.sort_by_key(|(name, [a, b])| (std::cmp::Reverse(a + b), *name));
    for (name, [a, b]) in models.iter().take(MODELS_SHOWN_MAX) {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            table_cell(name),
            grouped(a + b),
            grouped(*a),
            grouped(*b)
        );
    }
    if models.len() > MODELS_SHOWN_MAX {
        let _ = writeln!(
            text,
            "\n{} more models are not listed.",
            grouped((models.len() - MODELS_SHOWN_MAX) as u64)
        );
    }
    text.push_str("\n## Languages\n\n");
    if facts.n_with_language == 0 {
        text.push_str("Not annotated: the column `language` is null.\n");
        return;
    }
    text.push_str("| language | battles |\n|---|---:|\n");
    let mut languages: Vec<(&String, &u64)> = facts.languages.iter().collect();
    languages.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), *name));
    for (name, n) in languages.iter().take(ROWS_SHOWN_MAX) {
        let _ = writeln!(text, "| {} | {} |", table_cell(name), grouped(**n));
    }
    let n_more: u64 = languages
        .iter()
        .skip(ROWS_SHOWN_MAX)
        .map(|(_, n)| **n)
        .sum();
    if n_more > 0 {
        let _ = writeln!(text, "| others | {} |", grouped(n_more));
    }
    let n_without = facts.n_battles() - facts.n_with_language;
    if n_without > 0 {
        let _ = writeln!(text, "| not annotated | {} |", grouped(n_without));
    }
}

fn columns(facts: &Facts, text: &mut String) {
    let annotated = |n: u64| match n {
        0 => "not annotated, null throughout".to_owned(),
        n if n == facts.n_battles() => "annotated throughout".to_owned(),
        n => format!(
            "annotated for {} of {}",
            grouped(n),
            counted(facts.n_battles(), "battle", "battles")
        ),
    };
    let _ = write!(
        text,
        "
## Columns

The schema is that of VisionArena-Battle (version {SCHEMA_VERSION} of ours).

| column | holds |
|---|---|
| `judge` | the voter, as a pseudonym |
| `winner` | `model_a`, `model_b`, `tie` or `tie (bothbad)` |
| `num_turns` | turns that the vote counted |
| `language` | language of the prompt, English name: {} |
| `categories` | ten flags: {} |
| `images` | the picture as `{{bytes, path}}`; an empty list for a battle of text alone. `path` is the SHA-256 of the bytes and the extension |
| `question_id` | id of the battle |
| `model_a`, `model_b` | the two models, by side as shown |
| `conversation_a`, `conversation_b` | a list of turns, each a list of `{{role, content}}`: the first prompt is `conversation_a[0][0].content` |
| `tstamp` | time of the vote, seconds since 1970 |
| `conv_metadata` | tokens and Markdown elements of the answers, for style control: {} |
",
        annotated(facts.n_with_language),
        annotated(facts.n_with_categories),
        annotated(facts.n_with_style),
    );
}

fn making(
    facts: &Facts,
    options: &ReleaseOptions,
    left_out: &BTreeMap<String, u64>,
    text: &mut String,
) {
    let _ = write!(
        text,
        "
## How it was made

Voters agreed, before their first prompt, that what they write may be published. Two anonymous models answered the same prompts side by side; the names were shown after the vote.

**Pairs.** {}

**Voters.** {}

**Consent.** Battles by version of the text that was agreed to:

| version | battles |
|---|---:|
",
        options.pair_sampling, options.pseudonyms
    );
    for (version, n) in &facts.consent_versions {
        let _ = writeln!(text, "| {} | {} |", table_cell(version), grouped(*n));
    }
    if left_out.is_empty() {
        text.push_str("\nNo battle was left out.\n");
    } else {
        text.push_str("\nBattles that were left out:\n\n| reason | battles |\n|---|---:|\n");
        for (reason, n) in left_out {
            let _ = writeln!(text, "| `{}` | {} |", table_cell(reason), grouped(*n));
        }
    }
    let _ = write!(
        text,
        "
## The leaderboard from these files

```sh
agon rank FOLDER
```

with the path of this folder, by agon {}. `manifest.json` lists every file with its SHA-256. Made at {}.
",
        one_line(&options.agon_version),
        options.created_at
    );
}

fn use_of_data(options: &ReleaseOptions, text: &mut String) {
    let _ = write!(
        text,
        "
## Licence

{} (`{}`)

{}

## Deletion

",
        one_line(&options.licence.name),
        one_line(&options.licence.id),
        options.licence.terms
    );
    match &options.contact {
        Some(contact) => {
            let _ = writeln!(
                text,
                "Whoever wants their conversations deleted writes to {}. Whoever holds a copy of this release deletes what a later release no longer has.",
                one_line(contact)
            );
        }
        None => text.push_str("The operator has named no contact for deletion.\n"),
    }
}

/// A number with its digits in groups of three.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// A share in per cent, rounded half up to one digit behind the point.
fn share(n: u64, total: u64) -> String {
    let per_mille = (n * 2_000 + total) / (total * 2).max(1);
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

fn size_category(n: u64) -> &'static str {
    match n {
        0..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        100_000..1_000_000 => "100K<n<1M",
        1_000_000..10_000_000 => "1M<n<10M",
        _ => "n>10M",
    }
}

/// Text on one line, without anything that ends a line.
fn one_line(text: &str) -> String {
    text.split(|character: char| character.is_control())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Text as a cell of a Markdown table: names come from outside.
fn table_cell(text: &str) -> String {
    let mut cell = String::new();
    for character in one_line(text).chars() {
        if matches!(character, '|' | '<' | '[' | ']' | '`' | '*' | '_' | '\\') {
            cell.push('\\');
        }
        cell.push(character);
    }
    cell
}

/// Text in the double quotes of YAML, which are those of JSON.
fn yaml_text(text: &str) -> String {
    serde_json::Value::from(one_line(text)).to_string()
}

/// ISO 639-1 codes of the languages that arenas name in English.
fn language_code(name: &str) -> Option<&'static str> {
    const CODES: &[(&str, &str)] = &[
        ("Arabic", "ar"),
        ("Bengali", "bn"),
        ("Bulgarian", "bg"),
        ("Catalan", "ca"),
        ("Chinese", "zh"),
        ("Croatian", "hr"),
        ("Czech", "cs"),
        ("Danish", "da"),
        ("Dutch", "nl"),
        ("English", "en"),
        ("Estonian", "et"),
        ("Finnish", "fi"),
        ("French", "fr"),
        ("German", "de"),
        ("Greek", "el"),
        ("Hebrew", "he"),
        ("Hindi", "hi"),
        ("Hungarian", "hu"),
        ("Indonesian", "id"),
        ("Italian", "it"),
        ("Japanese", "ja"),
        ("Korean", "ko"),
        ("Latvian", "lv"),
        ("Lithuanian", "lt"),
        ("Norwegian", "no"),
        ("Persian", "fa"),
        ("Polish", "pl"),
        ("Portuguese", "pt"),
        ("Romanian", "ro"),
        ("Russian", "ru"),
        ("Serbian", "sr"),
        ("Slovak", "sk"),
        ("Slovenian", "sl"),
        ("Spanish", "es"),
        ("Swedish", "sv"),
        ("Tamil", "ta"),
        ("Thai", "th"),
        ("Turkish", "tr"),
        ("Ukrainian", "uk"),
        ("Urdu", "ur"),
        ("Vietnamese", "vi"),
    ];
    CODES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, code)| *code)
}
