//! Content without what was found in it.

use std::ops::Range;

use agon_content::image::Pixels;
use agon_domain::{Action, Finding, FindingPlace, PixelBox, Policy, Screening};

/// How many tiles the longer side keeps of a picture that is made unrecognisable as a whole.
const BLUR_TILES: u32 = 4;

/// The text with each finding that the policy takes out replaced by its category in brackets, such as `[EMAIL_ADDRESS]`.
///
/// A finding without a place in the text, or with one that does not fit it, takes out the whole text.
/// What was hidden behind another finding shows only afterwards: look at the result again.
pub fn text(text: &str, screening: &Screening, policy: &Policy) -> String {
    text_with(text, screening, policy, |category, _| {
        format!("[{category}]")
    })
}

/// The same with what `replacement` makes of each category and value.
pub fn text_with(
    text: &str,
    screening: &Screening,
    policy: &Policy,
    mut replacement: impl FnMut(&str, &str) -> String,
) -> String {
    let mut spans: Vec<(Range<usize>, &str, f64)> = taken_out(screening, policy)
        .map(|finding| {
            let range = match &finding.place {
                FindingPlace::Text { bytes, .. } if text.get(bytes.clone()).is_some() => {
                    bytes.clone()
                }
                _ => 0..text.len(),
            };
            (range, finding.category.as_str(), finding.score)
        })
        .collect();
    spans.sort_by_key(|(range, ..)| (range.start, range.end));
    let mut redacted = String::with_capacity(text.len());
    let mut at = 0;
    let mut spans = spans.into_iter().peekable();
    while let Some((range, mut category, mut score)) = spans.next() {
        let mut end = range.end;
        // Findings that overlap become one, named by the surest.
        while let Some((next, other, other_score)) = spans.next_if(|(next, ..)| next.start < end) {
            end = end.max(next.end);
            if other_score > score {
                (category, score) = (other, other_score);
            }
        }
        redacted.push_str(&text[at..range.start]);
        redacted.push_str(&replacement(category, &text[range.start..end]));
        at = end;
    }
    redacted.push_str(&text[at..]);
    redacted
}

/// The encoded picture without these findings: text and codes painted over, faces as coarse mosaics, and all of it a mosaic when a finding is about the whole picture. `None` when it cannot be encoded.
pub fn picture(pixels: &Pixels, findings: &[Finding]) -> Option<Vec<u8>> {
    let is_about_all = findings
        .iter()
        .any(|finding| !matches!(finding.place, FindingPlace::Picture(_)));
    let redacted = if is_about_all {
        let whole = PixelBox {
            left_px: 0,
            top_px: 0,
            width_px: pixels.width_px(),
            height_px: pixels.height_px(),
        };
        pixels.clone().blurred(&[whole], BLUR_TILES)
    } else {
        agon_detectors::redact(pixels, findings)
    };
    redacted.encoded().map(|(bytes, _)| bytes)
}

/// What counts and is to be taken out: content that is kept although the policy blocks it goes on without it.
pub fn taken_out<'a>(
    screening: &'a Screening,
    policy: &'a Policy,
) -> impl Iterator<Item = &'a Finding> {
    screening.findings.iter().filter(|finding| {
        finding.counts() && policy.action(finding.kind, &finding.category) >= Action::Blur
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use agon_domain::{DetectorIdentity, FindingKind};

    fn finding(bytes: Range<usize>, category: &str, score: f64) -> Finding {
        Finding {
            detector: DetectorIdentity::new("test", "1"),
            kind: FindingKind::PiiText,
            category: category.to_owned(),
            score,
            threshold: 0.5,
            place: FindingPlace::Text {
                chars: bytes.clone(),
                bytes,
            },
        }
    }

    fn redacted(content: &str, findings: Vec<Finding>) -> String {
        let policy = Policy::default()
            .with(FindingKind::PiiText, Action::Blur)
            .with_category(FindingKind::PiiText, "URL", Action::Log);
        let screening = Screening {
            findings,
            ..Screening::default()
        };
        text(content, &screening, &policy)
    }

    #[test]
    fn findings_are_replaced_by_their_categories() {
        let content = "à ana@example.org, 12-34";
        let findings = vec![
            finding(20..25, "NUMBER", 0.9),
            finding(3..18, "EMAIL_ADDRESS", 0.9),
            finding(0..2, "URL", 0.9),
            finding(0..2, "PERSON", 0.4),
        ];
        assert_eq!(redacted(content, findings), "à [EMAIL_ADDRESS], [NUMBER]");
    }

    #[test]
    fn overlapping_findings_become_one() {
        let findings = vec![
            finding(0..4, "A", 0.6),
            finding(2..6, "B", 0.9),
            finding(6..7, "C", 0.9),
        ];
        assert_eq!(redacted("0123456789", findings), "[B][C]789");
    }

    #[test]
    fn a_place_that_does_not_fit_takes_out_everything() {
        for range in [1..2, 0..99, 98..99] {
            assert_eq!(
                redacted("àb", vec![finding(range.clone(), "A", 0.9)]),
                "[A]",
                "{range:?}"
            );
        }
    }
}
