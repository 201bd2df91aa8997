//! How good a detector is on labelled texts: recall, wrong findings and precision, by entity, language and country.

use std::{collections::BTreeMap, ops::Range};

use crate::{Entity, Finding, THRESHOLD};

/// The score from which a value that must not be found counts as wrong, when only its entity is excluded.
pub const WRONG_SCORE: f64 = 0.8;

/// A text of which it is known what it holds.
#[derive(Clone, Debug)]
pub struct Case {
    /// The text.
    pub text: String,
    /// Its language, ISO 639-1, if known.
    pub language: Option<String>,
    /// What is in it.
    pub expected: Vec<Expected>,
    /// What is not in it.
    pub absent: Absent,
}

/// Something that a text holds.
#[derive(Clone, Debug)]
pub struct Expected {
    /// What it is.
    pub entity: Entity,
    /// Where it stands, in bytes.
    pub bytes: Range<usize>,
}

/// What a text does not hold.
#[derive(Clone, Debug)]
pub enum Absent {
    /// Nothing is said.
    Unknown,
    /// None of these entities; wrong at a score of [`WRONG_SCORE`] or more.
    Entities(Vec<Entity>),
    /// Nothing but what is expected; wrong at [`THRESHOLD`] or more.
    Everything,
}

/// Counts of one slice of the cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quality {
    /// Values that the texts hold.
    pub expected: usize,
    /// Those that were found as what they are.
    pub found: usize,
    /// Those whose place was found under any name.
    pub found_any_name: usize,
    /// Findings from [`THRESHOLD`] on, in texts whose contents are known.
    pub reported: usize,
    /// Those that stand where nothing is.
    pub spurious: usize,
    /// Texts that must not hold something.
    pub negative: usize,
    /// Those in which it was found.
    pub wrong: usize,
}

impl Quality {
    /// Share of expected values that were found; `None` when nothing was expected.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        ratio(self.found, self.expected)
    }

    /// Share of findings that stand where something is; `None` when nothing was reported.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        ratio(self.reported - self.spurious, self.reported)
    }

    /// Share of texts without something in which it was found.
    #[must_use]
    pub fn wrong_share(&self) -> Option<f64> {
        ratio(self.wrong, self.negative)
    }

    /// Adds the counts of another slice.
    pub fn add(&mut self, other: &Self) {
        self.expected += other.expected;
        self.found += other.found;
        self.found_any_name += other.found_any_name;
        self.reported += other.reported;
        self.spurious += other.spurious;
        self.negative += other.negative;
        self.wrong += other.wrong;
    }
}

fn ratio(part: usize, whole: usize) -> Option<f64> {
    // Counts of cases are far below 2^52.
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Quality in total and by slices.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Everything.
    pub total: Quality,
    /// By what was expected, excluded or wrongly found.
    pub by_entity: BTreeMap<Entity, Quality>,
    /// By the language of the text; empty for unknown.
    pub by_language: BTreeMap<String, Quality>,
    /// By the country that issues what was expected; empty for what has the same form everywhere.
    pub by_country: BTreeMap<String, Quality>,
}

/// Judges what `find` finds in each case.
pub fn evaluate<'c>(
    cases: impl IntoIterator<Item = &'c Case>,
    mut find: impl FnMut(&Case) -> Vec<Finding>,
) -> Report {
    let mut report = Report::default();
    for case in cases {
        report.count(case, &find(case), THRESHOLD);
    }
    report
}

impl Report {
    /// Counts one case; findings below `threshold` are no hits.
    pub fn count(&mut self, case: &Case, findings: &[Finding], threshold: f64) {
        let mut counted = Vec::new();
        for expected in &case.expected {
            let found = findings
                .iter()
                .any(|finding| is_hit(expected, finding, threshold));
            let any_name = findings.iter().any(|finding| {
                finding.score >= threshold && overlap(&finding.bytes, &expected.bytes) > 0
            });
            counted.push((
                expected.entity,
                Quality {
                    expected: 1,
                    found: usize::from(found),
                    found_any_name: usize::from(found || any_name),
                    ..Quality::default()
                },
            ));
        }
        for (entity, wrong) in wrong(case, findings) {
            counted.push((
                entity,
                Quality {
                    negative: 1,
                    wrong: usize::from(wrong),
                    ..Quality::default()
                },
            ));
        }
        let is_known = !case.expected.is_empty() || matches!(case.absent, Absent::Everything);
        for finding in findings
            .iter()
            .filter(|finding| is_known && finding.score >= threshold)
        {
            let spurious = !case
                .expected
                .iter()
                .any(|expected| overlap(&expected.bytes, &finding.bytes) > 0);
            counted.push((
                finding.entity,
                Quality {
                    reported: 1,
                    spurious: usize::from(spurious),
                    ..Quality::default()
                },
            ));
        }
        for (entity, quality) in counted {
            self.total.add(&quality);
            self.by_entity.entry(entity).or_default().add(&quality);
            self.by_language
                .entry(case.language.clone().unwrap_or_default())
                .or_default()
                .add(&quality);
            let country = entity.country().map(|country| country.code().to_owned());
            self.by_country
                .entry(country.unwrap_or_default())
                .or_default()
                .add(&quality);
        }
        if matches!(case.absent, Absent::Everything) {
            let quality = Quality {
                negative: 1,
                wrong: usize::from(findings.iter().any(|finding| {
                    finding.score >= THRESHOLD
                        && !case
                            .expected
                            .iter()
                            .any(|expected| overlap(&expected.bytes, &finding.bytes) > 0)
                })),
                ..Quality::default()
            };
            self.total.add(&quality);
            self.by_language
                .entry(case.language.clone().unwrap_or_default())
                .or_default()
                .add(&quality);
        }
    }
}

/// Whether a finding is what was expected: the same entity, at least 80 % of its place, at most one and a half times as long.
#[must_use]
pub fn is_hit(expected: &Expected, finding: &Finding, threshold: f64) -> bool {
    let common = overlap(&expected.bytes, &finding.bytes);
    finding.entity == expected.entity
        && finding.score >= threshold
        && common * 10 >= expected.bytes.len() * 8
        && finding.bytes.len() * 2 <= expected.bytes.len() * 3
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> usize {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}

/// For each excluded entity, whether it was found.
fn wrong(case: &Case, findings: &[Finding]) -> Vec<(Entity, bool)> {
    let Absent::Entities(entities) = &case.absent else {
        return Vec::new();
    };
    entities
        .iter()
        .map(|entity| {
            (
                *entity,
                findings
                    .iter()
                    .any(|finding| finding.entity == *entity && finding.score >= WRONG_SCORE),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Detector, Options};

    fn case(text: &str, expected: Option<(Entity, &str)>, absent: Absent) -> Case {
        let expected = expected.map(|(entity, value)| {
            let start = text.find(value).unwrap();
            Expected {
                entity,
                bytes: start..start + value.len(),
            }
        });
        Case {
            text: text.to_owned(),
            language: Some("en".to_owned()),
            expected: expected.into_iter().collect(),
            absent,
        }
    }

    #[test]
    fn hits_misses_and_wrong_findings_are_counted() {
        let detector = Detector::new(&Options::default()).unwrap();
        let cases = [
            case(
                "write to ana@example.com",
                Some((Entity::EmailAddress, "ana@example.com")),
                Absent::Unknown,
            ),
            case(
                "born in the town of Leeds",
                Some((Entity::DateOfBirth, "town")),
                Absent::Unknown,
            ),
            case("nothing but ana@example.com", None, Absent::Everything),
            case(
                "card 4111 1111 1111 1112",
                None,
                Absent::Entities(vec![Entity::CreditCard]),
            ),
        ];
        let report = evaluate(&cases, |case| detector.find(&case.text));
        assert_eq!((report.total.expected, report.total.found), (2, 1));
        assert_eq!((report.total.negative, report.total.wrong), (2, 1));
        assert_eq!((report.total.reported, report.total.spurious), (2, 1));
        assert_eq!(report.by_entity[&Entity::DateOfBirth].recall(), Some(0.0));
        assert_eq!(
            report.by_entity[&Entity::EmailAddress].precision(),
            Some(0.5)
        );
        assert_eq!(report.by_country[""].expected, 2);
        assert_eq!(Quality::default().recall(), None);
    }
}
