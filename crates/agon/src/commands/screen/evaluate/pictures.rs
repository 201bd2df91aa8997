//! Labelled pictures: faces by size, what a picture says, and personal data in it.
//!
//! A folder has a `labels.json` beside its pictures; what a picture has no label for is not measured on it.

use std::{collections::BTreeMap, fs, path::Path};

use agon_content::image::{ImageLimits, decode_normalised, normalise};
use agon_detectors::{Ocr, Runtime};
use agon_domain::{FindingKind, FindingPlace, PixelBox, Purpose, Screening};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{bad_labels, share};
use crate::{
    app::screening::{PictureContent, Standing},
    cli::{GlobalArgs, RulesArgs},
    commands::screen::rules,
    exit_code::CommandError,
};

/// The share of both boxes together that is in both, from which a face counts as found.
const OVERLAP_MIN: f64 = 0.5;
/// Classes of faces by their shorter side, in pixels of the original picture.
const FACE_SIZES_PX: [(f64, &str); 5] = [
    (20.0, "below 20 px"),
    (40.0, "20 to 40 px"),
    (80.0, "40 to 80 px"),
    (160.0, "80 to 160 px"),
    (f64::INFINITY, "160 px and more"),
];

/// `labels.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Labels {
    pictures: Vec<PictureLabels>,
}

/// What is known of one picture.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PictureLabels {
    /// Its name in the folder.
    file: String,
    /// All faces.
    faces: Option<Vec<FaceLabel>>,
    /// All that is written in it, lines after each other.
    text: Option<String>,
    /// All personal data in it, by entity, once for each.
    pii: Option<Vec<String>>,
}

/// The box of a face, in pixels of the upright picture.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaceLabel {
    left_px: f64,
    top_px: f64,
    width_px: f64,
    height_px: f64,
}

impl FaceLabel {
    fn scaled(self, scale: f64) -> Self {
        Self {
            left_px: self.left_px * scale,
            top_px: self.top_px * scale,
            width_px: self.width_px * scale,
            height_px: self.height_px * scale,
        }
    }

    /// Intersection over union.
    fn overlap(self, found: PixelBox) -> f64 {
        let [left, top, width, height] =
            [found.left_px, found.top_px, found.width_px, found.height_px].map(f64::from);
        let common = |start: f64, length: f64, other: f64, other_length: f64| {
            ((start + length).min(other + other_length) - start.max(other)).max(0.0)
        };
        let both = common(self.left_px, self.width_px, left, width)
            * common(self.top_px, self.height_px, top, height);
        both / (self.width_px * self.height_px + width * height - both)
    }

    fn size(self) -> &'static str {
        let side = self.width_px.min(self.height_px);
        let class = FACE_SIZES_PX.iter().find(|(below, _)| side < *below);
        class.map_or("160 px and more", |(_, name)| name)
    }
}

/// What was expected, what of it was found, and what else was found.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    expected: u64,
    found: u64,
    spurious: u64,
}

impl Counts {
    fn json(self) -> Value {
        let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        json!({
            "expected": self.expected,
            "found": self.found,
            "spurious": self.spurious,
            "recall": ratio(self.found, self.expected),
            "precision": ratio(self.found, self.found + self.spurious),
        })
    }
}

/// What is measured.
#[derive(Default)]
struct Measured {
    faces: BTreeMap<&'static str, Counts>,
    faces_spurious: u64,
    pii: BTreeMap<String, Counts>,
    characters: u64,
    character_errors: u64,
    failures: BTreeMap<String, u64>,
}

/// The counts as JSON, and as a table for people.
pub(super) fn evaluate(
    global: &GlobalArgs,
    folder: &Path,
    detectors: Option<&Path>,
) -> Result<(Value, String), CommandError> {
    let path = folder.join("labels.json");
    let text = fs::read_to_string(&path)
        .map_err(|error| bad_labels(&path, None, &format!("cannot be read: {error}")))?;
    let labels: Labels =
        serde_json::from_str(&text).map_err(|error| bad_labels(&path, None, &error.to_string()))?;
    let flags = RulesArgs {
        policy: Vec::new(),
        only: vec![FindingKind::Face, FindingKind::PiiImage],
        threshold: Vec::new(),
        detectors: detectors.map(Path::to_owned),
        hash_list: Vec::new(),
        word_list: Vec::new(),
        allow_unanswered: false,
    };
    let config = rules::config(global, &flags, 1)?;
    let screener = rules::screener(&config)?;
    let ocr = match Ocr::load(
        &config.screening.detectors_dir,
        &Runtime::new(config.raw.screening.at_once_max),
    ) {
        Ok(ocr) => Ok(ocr),
        Err(error @ agon_detectors::Error::Absent { .. }) => Err(error.to_string()),
        Err(error) => return Err(CommandError::usage(error)),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut measured = Measured::default();
    for picture in &labels.pictures {
        let path = folder.join(&picture.file);
        let bytes = fs::read(&path)
            .map_err(|error| bad_labels(&path, None, &format!("cannot be read: {error}")))?;
        let normalised = normalise(&bytes, &ImageLimits::default())
            .map_err(|error| bad_labels(&path, None, &error.to_string()))?;
        let screening = runtime.block_on(
            screener.screen_picture_for(&PictureContent::from(&normalised), &[Purpose::Release]),
        );
        // Both sides are upright, and far below 2^52.
        let longer = |width: u32, height: u32| f64::from(width.max(height));
        let scale = longer(normalised.width_px, normalised.height_px)
            / longer(normalised.original.width_px, normalised.original.height_px);
        measured.count_faces(picture, &screening, scale);
        measured.count_pii(picture, &screening);
        if let (Some(text), Ok(ocr)) = (&picture.text, &ocr) {
            let pixels = decode_normalised(&normalised.bytes)
                .map_err(|error| bad_labels(&path, None, &error.to_string()))?;
            match ocr.read_text(&pixels) {
                Ok(lines) => {
                    let read: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
                    measured.count_text(text, &read.join(" "));
                }
                Err(failure) => measured.fail(&failure.detector.name),
            }
        }
        for failure in &screening.failures {
            measured.fail(&failure.detector.name);
        }
    }
    let mut not_measured: Vec<String> = screener
        .coverage()
        .with(Purpose::Release, Standing::Missing)
        .map(|kind| format!("{kind}: nothing that looks for it is installed"))
        .collect();
    if let Err(reason) = ocr {
        not_measured.push(format!("text: {reason}"));
    }
    Ok(report(labels.pictures.len(), &measured, &not_measured))
}

impl Measured {
    fn fail(&mut self, detector: &str) {
        *self.failures.entry(detector.to_owned()).or_default() += 1;
    }

    fn count_faces(&mut self, picture: &PictureLabels, screening: &Screening, scale: f64) {
        let Some(faces) = picture
            .faces
            .as_ref()
            .filter(|_| screening.covers(FindingKind::Face))
        else {
            return;
        };
        let mut found: Vec<PixelBox> = screening
            .findings
            .iter()
            .filter(|finding| finding.kind == FindingKind::Face && finding.counts())
            .filter_map(|finding| match finding.place {
                FindingPlace::Picture(place) => Some(place),
                FindingPlace::Whole | FindingPlace::Text { .. } => None,
            })
            .collect();
        for face in faces {
            let counts = self.faces.entry(face.size()).or_default();
            counts.expected += 1;
            let face = face.scaled(scale);
            // Each box is one face: the one that fits best is taken.
            let best = found
                .iter()
                .map(|place| face.overlap(*place))
                .enumerate()
                .max_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((idx, overlap)) = best
                && overlap >= OVERLAP_MIN
            {
                found.swap_remove(idx);
                counts.found += 1;
            }
        }
        self.faces_spurious += found.len() as u64;
    }

    fn count_pii(&mut self, picture: &PictureLabels, screening: &Screening) {
        let Some(expected) = picture
            .pii
            .as_ref()
            .filter(|_| screening.covers(FindingKind::PiiImage))
        else {
            return;
        };
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        for finding in &screening.findings {
            if finding.kind == FindingKind::PiiImage && finding.counts() {
                *found.entry(&finding.category).or_default() += 1;
            }
        }
        for entity in expected {
            let counts = self.pii.entry(entity.clone()).or_default();
            counts.expected += 1;
            if let Some(n) = found.get_mut(entity.as_str()).filter(|n| **n > 0) {
                *n -= 1;
                counts.found += 1;
            }
        }
        for (entity, n) in found {
            if n > 0 {
                self.pii.entry(entity.to_owned()).or_default().spurious += n;
            }
        }
    }

    /// Errors are insertions, deletions and replacements of characters (Levenshtein), without regard to white space.
    fn count_text(&mut self, expected: &str, read: &str) {
        let plain = |text: &str| -> String { text.split_whitespace().collect() };
        let (expected, read) = (plain(expected), plain(read));
        self.characters += expected.chars().count() as u64;
        self.character_errors += strsim::levenshtein(&expected, &read) as u64;
    }
}

fn report(n_pictures: usize, measured: &Measured, not_measured: &[String]) -> (Value, String) {
    let faces: BTreeMap<&str, Value> = measured
        .faces
        .iter()
        .map(|(size, counts)| (*size, counts.json()))
        .collect();
    let pii: BTreeMap<&str, Value> = measured
        .pii
        .iter()
        .map(|(entity, counts)| (entity.as_str(), counts.json()))
        .collect();
    let document = json!({
        "pictures": n_pictures,
        "faces": faces,
        "faces_spurious": measured.faces_spurious,
        "pii": pii,
        "text": {
            "characters": measured.characters,
            "errors": measured.character_errors,
        },
        "failures": measured.failures,
        "not_measured": not_measured,
    });
    let mut table = format!("{n_pictures} pictures\n");
    if !measured.faces.is_empty() || measured.faces_spurious > 0 {
        table.push_str("\nfaces by shorter side      found           recall\n");
        for (_, size) in FACE_SIZES_PX {
            if let Some(counts) = measured.faces.get(size) {
                table.push_str(&format!(
                    "{size:<26} {:>5} of {:<5}  {:>8}\n",
                    counts.found,
                    counts.expected,
                    share(counts.found, counts.expected)
                ));
            }
        }
        table.push_str(&format!(
            "found where no face is: {}\n",
            measured.faces_spurious
        ));
    }
    if !measured.pii.is_empty() {
        table.push_str("\npersonal data              found           recall    besides\n");
        for (entity, counts) in &measured.pii {
            table.push_str(&format!(
                "{entity:<26} {:>5} of {:<5}  {:>8}   {}\n",
                counts.found,
                counts.expected,
                share(counts.found, counts.expected),
                counts.spurious
            ));
        }
    }
    if measured.characters > 0 {
        let right = measured
            .characters
            .saturating_sub(measured.character_errors);
        table.push_str(&format!(
            "\ntext: {} errors in {} characters, {} right\n",
            measured.character_errors,
            measured.characters,
            share(right, measured.characters)
        ));
    }
    for (detector, n) in &measured.failures {
        table.push_str(&format!("no answer {n} times: {detector}\n"));
    }
    for reason in not_measured {
        table.push_str(&format!("not measured: {reason}\n"));
    }
    (document, table)
}
