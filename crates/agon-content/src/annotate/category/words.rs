//! Categories by the words of the prompt: a linear model that needs neither network nor image.

use std::sync::LazyLock;

use super::{
    Category, CategoryLabel, Content, Label,
    linear::{Class, Model},
};
use crate::annotate::Annotator;

/// The annotator of [`label_by_words`].
pub const CATEGORY_WORDS: Annotator = Annotator {
    name: "category-words",
    version: 1,
};

/// The categories that [`label_by_words`] judges, in the order of its labels.
pub const WORDS_LABEL: [Category; 10] = [
    Category::Captioning,
    Category::Code,
    Category::CreativeWriting,
    Category::Diagram,
    Category::EntityRecognition,
    Category::Homework,
    Category::Humor,
    Category::Ocr,
    Category::Math,
    Category::InstructionFollowing,
];

/// Share of a prompt's features that the model has to know before it says `false`.
///
/// Prompts in the languages that it was trained on have 0.8 and more, and text in languages that it never saw mostly less than this, as half of its buckets are in use.
const COVERAGE_MIN: f64 = 0.7;

static MODEL: LazyLock<Model> = LazyLock::new(|| {
    Model::from_bytes(include_bytes!("../../../models/categories.bin"))
        // Unwrap safety: the file is part of the binary, and the tests of this module read it.
        .expect("the model of categories")
});

/// The labels that the words of the prompts suggest, one for each of [`WORDS_LABEL`].
///
/// In a language that the model does not know, it may say `true` and never `false`.
/// What an image holds, its prompt can only hint at: `diagram`, `homework`, `humor` and `ocr` are `true` or `unknown` when there is an image, never `false`.
/// Without an image the categories that are about one are `unknown` here and `false` in [`super::label_by_rules`].
pub fn label_by_words(content: &Content<'_>) -> Vec<CategoryLabel> {
    let scores = MODEL.scores(&content.joined_prompts());
    let is_known = scores.coverage >= COVERAGE_MIN;
    MODEL
        .classes
        .iter()
        .zip(scores.probabilities)
        .filter_map(|(class, probability)| {
            Some((Category::from_spelling(&class.name)?, class, probability))
        })
        .map(|(category, class, probability)| {
            let label = match verdict(category, class, probability, content.has_image) {
                Label::False if !is_known => Label::Unknown,
                label => label,
            };
            CategoryLabel {
                category,
                label,
                confidence: match label {
                    Label::True => probability,
                    Label::False => 1.0 - probability,
                    Label::Unknown => 0.0,
                },
                annotator: CATEGORY_WORDS,
            }
        })
        .collect()
}

fn verdict(category: Category, class: &Class, probability: f64, has_image: bool) -> Label {
    if category.is_about_an_image() && !has_image {
        Label::Unknown
    } else if probability >= f64::from(class.true_from) {
        Label::True
    } else if probability <= f64::from(class.false_to)
        && !(has_image && may_be_seen_in_an_image(category))
    {
        Label::False
    } else {
        Label::Unknown
    }
}

/// Whether an image can make the category hold, whatever its prompt says.
const fn may_be_seen_in_an_image(category: Category) -> bool {
    matches!(
        category,
        Category::Diagram | Category::Homework | Category::Humor | Category::Ocr
    )
}

#[cfg(test)]
mod tests;
