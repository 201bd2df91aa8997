//! Whether a side declined to answer.

use agon_content::annotate::refusal::{REFUSAL_ANNOTATOR, refusal_category, side_refusal};
use agon_domain::Sides;
use serde_json::{Value, json};

use super::{Content, Registration, Tools, category, language::rounded, style::by_side};

/// The annotator.
pub(super) const REFUSAL: Registration = Registration {
    annotator: REFUSAL_ANNOTATOR,
    subject: "refusal",
    about: "whether each side declined: full, partial or none",
    needs_names: false,
    label,
};

fn label(content: &Content<'_>, _: &Tools) -> Value {
    let answers = content.answers();
    let sides = Sides {
        a: answers.a.as_slice(),
        b: answers.b.as_slice(),
    };
    let of_sides = &[sides.a, sides.b][..content.conversations().len().min(2)];
    let mut value = by_side(of_sides, |answers: &&[&str]| {
        let label = side_refusal(answers);
        json!({
            "refusal": label.refusal.map(|refusal| refusal.as_str()),
            "confidence": rounded(label.confidence),
        })
    });
    value["categories"] = category::json(&[refusal_category(&sides)]);
    value
}
