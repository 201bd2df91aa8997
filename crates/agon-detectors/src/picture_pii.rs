//! Personal data in pictures: in their text, and in what their codes say.
//!
//! Lines are read one by one, and what is personal often spans them: a label and its value beside it, a number broken at the end of a line.
//! So the search for personal data in text runs over the lines in several orders, and what it finds is traced back to places in the picture.

use std::{ops::Range, sync::Arc};

use agon_content::{detect::PictureDetector, image::Pixels};
use agon_domain::{
    DetectorFailure, DetectorIdentity, Finding, FindingKind, FindingPlace, PixelBox,
};

use crate::{
    Error, Ocr,
    codes::read_codes,
    error::checked_threshold,
    failure::internal,
    ocr::{TextLine, columns, is_same_row},
    redaction::redact,
};

/// The category of places that look like text and could not be read: what they say is not known to be harmless.
pub const UNREAD_CATEGORY: &str = "UNREAD_TEXT";

/// Findings from this score on are told of, though only those from the threshold in the options on count.
const SCORE_KEPT: f64 = 0.2;

/// Most times that a picture is painted over and read again.
const PASSES_MAX: u32 = 4;

/// Two boxes of one category that have this much in common, as intersection over the smaller, are one finding.
const SAME_PLACE: f64 = 0.6;

/// The detector. Cheap to clone: models and rules are shared.
#[derive(Clone, Debug)]
pub struct PiiInPicture {
    ocr: Ocr,
    pii: Arc<agon_pii::Detector>,
    threshold: f64,
    unread_threshold: f64,
    identity: DetectorIdentity,
}

/// A picture without personal data, and how it came about.
#[derive(Clone, Debug)]
pub struct Redaction {
    /// The picture.
    pub pixels: Pixels,
    /// What was painted over.
    pub findings: Vec<Finding>,
    /// What is found in the result all the same; empty when all is well.
    pub left: Vec<Finding>,
    /// How often it was painted over.
    pub n_passes: u32,
}

impl PiiInPicture {
    /// A detector that reads by `ocr` and judges what it read by rules for text.
    ///
    /// What is found from 0.2 up to the threshold in `options` is told of and does not count.
    ///
    /// # Errors
    ///
    /// [`Error::Pii`] if the options for text are no options.
    pub fn new(ocr: Ocr, options: &agon_pii::Options) -> Result<Self, Error> {
        // Refuses what is no threshold.
        agon_pii::Detector::new(options)?;
        let pii = agon_pii::Detector::new(&agon_pii::Options {
            threshold: options.threshold.min(SCORE_KEPT),
            ..options.clone()
        })?;
        let (reader, rules) = (ocr.identity(), pii.identity());
        let identity = DetectorIdentity::new(
            "pii-in-picture",
            format!(
                "1 {}-{} {}-{}",
                reader.name, reader.version, rules.name, rules.version
            ),
        );
        Ok(Self {
            ocr,
            pii: Arc::new(pii),
            threshold: options.threshold,
            unread_threshold: 1.0,
            identity,
        })
    }

    /// The same detector, for which places that look like text and could not be read count from this score on. At 1, as it is at first, they never do.
    ///
    /// # Errors
    ///
    /// [`Error::BadThreshold`] if it is not from 0 to 1.
    pub fn with_unread_threshold(mut self, threshold: f64) -> Result<Self, Error> {
        self.unread_threshold = checked_threshold("unread_threshold", threshold)?;
        Ok(self)
    }

    /// The picture with everything that is found painted over, until a reading of the result finds nothing any more.
    ///
    /// # Errors
    ///
    /// A failure when the picture cannot be read.
    pub fn redacted(&self, picture: &Pixels) -> Result<Redaction, DetectorFailure> {
        let mut redaction = Redaction {
            pixels: picture.clone(),
            findings: Vec::new(),
            left: self.counting(picture)?,
            n_passes: 0,
        };
        while !redaction.left.is_empty() && redaction.n_passes < PASSES_MAX {
            redaction.pixels = redact(&redaction.pixels, &redaction.left);
            redaction.findings.append(&mut redaction.left);
            redaction.n_passes += 1;
            redaction.left = self.counting(&redaction.pixels)?;
        }
        Ok(redaction)
    }

    fn counting(&self, picture: &Pixels) -> Result<Vec<Finding>, DetectorFailure> {
        let mut findings = self.find(picture)?;
        findings.retain(Finding::counts);
        Ok(findings)
    }

    /// Personal data in lines that were read.
    fn in_lines(&self, lines: &[TextLine], findings: &mut Vec<Finding>) {
        for joined in Joined::all(lines) {
            for found in self.pii.find(&joined.text) {
                let places: Vec<PixelBox> = joined
                    .lines_of(&found.bytes)
                    .filter_map(|(line, bytes)| lines[line].place_of(&bytes))
                    .collect();
                // What several texts have alike is found in the first one, and what is whole by itself does not continue elsewhere.
                let is_known =
                    |place: &PixelBox| same_place(findings, found.entity.name(), *place).is_some();
                if joined.is_for_breaks_only && (places.len() < 2 || places.iter().any(is_known)) {
                    continue;
                }
                for place in places {
                    self.add(findings, found.entity.name(), found.score, place);
                }
            }
        }
    }

    /// Adds a finding, or raises the score of the one that is there for the same place.
    fn add(&self, findings: &mut Vec<Finding>, category: &str, score: f64, place: PixelBox) {
        match same_place(findings, category, place) {
            Some(idx) => {
                let finding = &mut findings[idx];
                finding.score = finding.score.max(score);
                if let FindingPlace::Picture(other) = &mut finding.place {
                    *other = crate::ocr::around(*other, place);
                }
            }
            None => findings.push(Finding {
                detector: self.identity.clone(),
                kind: FindingKind::PiiImage,
                category: category.to_owned(),
                score,
                threshold: self.threshold,
                place: FindingPlace::Picture(place),
            }),
        }
    }
}

impl PictureDetector for PiiInPicture {
    fn identity(&self) -> &DetectorIdentity {
        &self.identity
    }

    fn screens_for(&self) -> &[FindingKind] {
        &[FindingKind::PiiImage]
    }

    fn find(&self, picture: &Pixels) -> Result<Vec<Finding>, DetectorFailure> {
        let failed = |detail| internal(&self.identity, self.screens_for(), detail);
        let text = self
            .ocr
            .read(picture)
            .map_err(|failure| failed(failure.detail))?;
        let mut findings = Vec::new();
        self.in_lines(&text.lines, &mut findings);
        findings.extend(text.unread.iter().map(|unread| Finding {
            detector: self.identity.clone(),
            kind: FindingKind::PiiImage,
            category: UNREAD_CATEGORY.to_owned(),
            score: unread.score,
            threshold: self.unread_threshold,
            place: FindingPlace::Picture(unread.place),
        }));
        for code in read_codes(picture).map_err(failed)? {
            for found in self.pii.find(&code.text) {
                self.add(&mut findings, found.entity.name(), found.score, code.place);
            }
        }
        Ok(findings)
    }
}

/// The finding of this category at about this place, if there is one.
fn same_place(findings: &[Finding], category: &str, place: PixelBox) -> Option<usize> {
    findings.iter().position(|finding| {
        finding.category == category
            && matches!(finding.place, FindingPlace::Picture(other) if is_same_place(other, place))
    })
}

fn is_same_place(left: PixelBox, right: PixelBox) -> bool {
    let common = |left: (u32, u32), right: (u32, u32)| {
        f64::from(
            (left.0 + left.1)
                .min(right.0 + right.1)
                .saturating_sub(left.0.max(right.0)),
        )
    };
    let both = common(
        (left.left_px, left.width_px),
        (right.left_px, right.width_px),
    ) * common(
        (left.top_px, left.height_px),
        (right.top_px, right.height_px),
    );
    let area = |place: PixelBox| f64::from(place.width_px) * f64::from(place.height_px);
    both >= SAME_PLACE * area(left).min(area(right))
}

/// Lines as one text, and which part of it is which line.
#[derive(Debug, PartialEq, Eq)]
struct Joined {
    text: String,
    /// The bytes of each line in the text, and its place in the list of lines.
    parts: Vec<(Range<usize>, usize)>,
    /// Only what spans several lines is new in this text.
    is_for_breaks_only: bool,
}

impl Joined {
    /// The texts that are searched:
    ///
    /// 1. all rows under each other, lines of a row with a space between them: forms, where a label stands beside its value;
    /// 2. columns, each as one text with spaces between its lines: sentences beside each other;
    /// 3. columns with nothing between their lines: what is broken at the end of a line, and writing without spaces.
    fn all(lines: &[TextLine]) -> Vec<Self> {
        let mut rows = Self::new(false);
        for (idx, line) in lines.iter().enumerate() {
            let is_beside = idx
                .checked_sub(1)
                .is_some_and(|before| is_same_row(&lines[before], line));
            rows.push(if is_beside { " " } else { "\n" }, idx, line);
        }
        let mut all = vec![rows];
        let mut columns = columns(lines);
        columns.retain(|column| column.len() > 1);
        for separator in [" ", ""] {
            all.extend(columns.iter().map(|column| {
                let mut joined = Self::new(true);
                for &idx in column {
                    joined.push(separator, idx, &lines[idx]);
                }
                joined
            }));
        }
        all
    }

    const fn new(is_for_breaks_only: bool) -> Self {
        Self {
            text: String::new(),
            parts: Vec::new(),
            is_for_breaks_only,
        }
    }

    fn push(&mut self, separator: &str, idx: usize, line: &TextLine) {
        if !self.text.is_empty() {
            self.text.push_str(separator);
        }
        let start = self.text.len();
        self.text.push_str(&line.text);
        self.parts.push((start..self.text.len(), idx));
    }

    /// The lines that have a part in these bytes, and which bytes of each.
    fn lines_of(&self, bytes: &Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let bytes = bytes.clone();
        self.parts.iter().filter_map(move |(part, line)| {
            let (start, end) = (bytes.start.max(part.start), bytes.end.min(part.end));
            (start < end).then(|| (*line, start - part.start..end - part.start))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ocr::line;

    #[test]
    fn lines_are_joined_by_row_and_by_column() {
        let lines = [
            line("Name:", 10, 10, 10),
            line("Ana", 300, 12, 10),
            line("ab", 10, 40, 10),
        ];
        let texts: Vec<(String, bool)> = Joined::all(&lines)
            .into_iter()
            .map(|joined| (joined.text, joined.is_for_breaks_only))
            .collect();
        assert_eq!(
            texts,
            [
                ("Name: Ana\nab".to_owned(), false),
                ("Name: ab".to_owned(), true),
                ("Name:ab".to_owned(), true),
            ]
        );
    }

    #[test]
    fn a_part_of_a_joined_text_is_traced_to_each_of_its_lines() {
        let lines = [line("ana@exam", 10, 10, 10), line("ple.com", 10, 40, 10)];
        let joined = Joined::all(&lines).pop().unwrap();
        assert_eq!(joined.text, "ana@example.com");
        let parts: Vec<_> = joined.lines_of(&(4..15)).collect();
        assert_eq!(parts, [(0, 4..8), (1, 0..7)]);
        assert_eq!(joined.lines_of(&(8..9)).collect::<Vec<_>>(), [(1, 0..1)]);
    }

    #[test]
    fn boxes_are_one_finding_when_one_lies_in_the_other() {
        let place = |left_px, width_px| PixelBox {
            left_px,
            top_px: 10,
            width_px,
            height_px: 20,
        };
        assert!(is_same_place(place(10, 100), place(20, 30)));
        assert!(!is_same_place(place(10, 100), place(100, 100)));
    }
}
