//! Categories: what a prompt asks for, as yes, no or unknown. Several may hold at once, and one that nobody could judge is unknown, never no.
//!
//! Three annotators label categories, and a label says which one gave it:
//!
//! | annotator | judges | needs |
//! |---|---|---|
//! | [`CATEGORY_RULES`], [`label_by_rules`] | code by code blocks and by content; the categories of images where there is none | the battle |
//! | [`CATEGORY_WORDS`], [`label_by_words`] | ten categories by the words of the prompt, with a small model in the binary | the prompts |
//! | a model behind [`crate::question`] | every category | a vision model |
//!
//! [`board`] turns labels into the categories of a leaderboard: multi-turn, longer query, languages, without ties and refusals, and the rest.
//! Refusal is a property of answers: [`super::refusal`].

pub mod board;
pub mod code;
pub mod linear;
mod words;

use std::{cmp::Ordering, fmt};

use agon_domain::{Side, Sides};

pub use self::words::{CATEGORY_WORDS, WORDS_LABEL, label_by_words};
use super::Annotator;

/// The annotator of [`label_by_rules`].
pub const CATEGORY_RULES: Annotator = Annotator {
    name: "category-rules",
    version: 1,
};

/// What a prompt asks for, or an image or answer holds.
///
/// The first ten are the fields of `categories` in the releases of VisionArena, the others those of `category_tag` in the arena's releases of text.
/// The definitions are VisionArena's (arXiv 2412.08687, section 12) and FastChat's (`serve/monitor/classify`), in the words of the prompts of [`crate::question`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// One open question asks for a general description of the whole image.
    Captioning,
    /// Code is written, read or repaired: a code block stands in a prompt or an answer.
    Code,
    /// A story, poem, lyrics, script or the like is wanted.
    CreativeWriting,
    /// The image holds a chart, figure, graph or structure.
    Diagram,
    /// Particular objects, people or places are to be identified.
    EntityRecognition,
    /// The image holds an exercise or exam question.
    Homework,
    /// Something funny is wanted, or to be explained.
    Humor,
    /// The words of a prompt or an answer are about code, by the rules of FastChat.
    IsCode,
    /// The answer requires reading text in the image.
    Ocr,
    /// An answer declines the request.
    Refusal,
    /// Mathematical reasoning is needed.
    Math,
    /// The prompt tests how exactly instructions are followed.
    InstructionFollowing,
    /// Criterion 1 of hard prompts: it asks for a specific output.
    Specificity,
    /// Criterion 2: it needs knowledge of a field.
    DomainKnowledge,
    /// Criterion 3: it has several parts or steps.
    Complexity,
    /// Criterion 4: it needs a solution to be worked out.
    ProblemSolving,
    /// Criterion 5: it needs a creative approach.
    Creativity,
    /// Criterion 6: the answer has to be technically right.
    TechnicalAccuracy,
    /// Criterion 7: it is about a use in the real world.
    RealWorld,
}

impl Category {
    /// Every category, those of the releases first.
    pub const ALL: [Self; 19] = [
        Self::Captioning,
        Self::Code,
        Self::CreativeWriting,
        Self::Diagram,
        Self::EntityRecognition,
        Self::Homework,
        Self::Humor,
        Self::IsCode,
        Self::Ocr,
        Self::Refusal,
        Self::Math,
        Self::InstructionFollowing,
        Self::Specificity,
        Self::DomainKnowledge,
        Self::Complexity,
        Self::ProblemSolving,
        Self::Creativity,
        Self::TechnicalAccuracy,
        Self::RealWorld,
    ];

    /// The ten fields of `categories` in a release, in the order of the schema.
    pub const RELEASED: [Self; 10] = [
        Self::Captioning,
        Self::Code,
        Self::CreativeWriting,
        Self::Diagram,
        Self::EntityRecognition,
        Self::Homework,
        Self::Humor,
        Self::IsCode,
        Self::Ocr,
        Self::Refusal,
    ];

    /// The seven criteria of a hard prompt, in the order of their numbers.
    pub const HARD_CRITERIA: [Self; 7] = [
        Self::Specificity,
        Self::DomainKnowledge,
        Self::Complexity,
        Self::ProblemSolving,
        Self::Creativity,
        Self::TechnicalAccuracy,
        Self::RealWorld,
    ];

    /// The canonical spelling: that of the arena's releases.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Captioning => "captioning",
            Self::Code => "code",
            Self::CreativeWriting => "creative_writing",
            Self::Diagram => "diagram",
            Self::EntityRecognition => "entity_recognition",
            Self::Homework => "homework",
            Self::Humor => "humor",
            Self::IsCode => "is_code",
            Self::Ocr => "ocr",
            Self::Refusal => "refusal",
            Self::Math => "math",
            Self::InstructionFollowing => "if",
            Self::Specificity => "specificity",
            Self::DomainKnowledge => "domain_knowledge",
            Self::Complexity => "complexity",
            Self::ProblemSolving => "problem_solving",
            Self::Creativity => "creativity",
            Self::TechnicalAccuracy => "technical_accuracy",
            Self::RealWorld => "real_world",
        }
    }

    /// The category with this canonical spelling.
    pub fn from_spelling(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|category| category.as_str() == text)
    }

    /// Whether it speaks of an image, so that it cannot hold for a battle without one.
    pub const fn is_about_an_image(self) -> bool {
        matches!(
            self,
            Self::Captioning | Self::Diagram | Self::EntityRecognition | Self::Homework | Self::Ocr
        )
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether a category holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody could tell. Not the same as no.
    #[default]
    Unknown,
}

impl Label {
    /// The canonical spelling: `true`, `false` or `unknown`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Unknown => "unknown",
        }
    }

    /// As a column that has null for unknown.
    pub const fn as_bool(self) -> Option<bool> {
        match self {
            Self::True => Some(true),
            Self::False => Some(false),
            Self::Unknown => None,
        }
    }

    /// The other way round; unknown stays unknown.
    #[must_use]
    pub const fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
        }
    }
}

impl From<bool> for Label {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// One annotator's label of one category.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CategoryLabel {
    /// What was judged.
    pub category: Category,
    /// The verdict.
    pub label: Label,
    /// The annotator's own estimate of the probability that the verdict is right, 0 to 1; 1 for a rule, 0 for unknown.
    pub confidence: f64,
    /// Who judged.
    pub annotator: Annotator,
}

/// What is labelled: a battle's prompts, its answers as far as they are there, and whether there is an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content<'a> {
    /// The prompt of each turn.
    pub prompts: &'a [&'a str],
    /// Each side's answers by turn. Empty when only the prompts are known.
    pub answers: Sides<&'a [&'a str]>,
    /// Whether any turn has an image.
    pub has_image: bool,
}

impl<'a> Content<'a> {
    /// All prompts, joined by newlines, as the arena's classifiers read them.
    pub fn joined_prompts(&self) -> String {
        self.prompts.join("\n")
    }

    /// Every text: the prompts, then the answers of A, then those of B.
    fn texts(&self) -> impl Iterator<Item = &'a str> {
        let sides = Side::BOTH.map(|side| *self.answers.get(side));
        self.prompts
            .iter()
            .chain(sides.into_iter().flatten())
            .copied()
    }

    /// Whether both sides have an answer to every prompt.
    fn is_answered(&self) -> bool {
        self.answers
            .iter()
            .all(|(_, answers)| !answers.is_empty() && answers.len() >= self.prompts.len())
    }
}

/// The labels that follow from rules alone: `code`, `is_code`, and `false` for the categories of images where there is none.
///
/// `code` and `is_code` are unknown when nothing says code and an answer is missing, because that answer may hold some.
pub fn label_by_rules(content: &Content<'_>) -> Vec<CategoryLabel> {
    let has_block = content
        .texts()
        .any(|text| !code::code_blocks(text).is_empty());
    let is_code = content.texts().any(|text| !code::reasons(text).is_empty());
    let mut labels: Vec<CategoryLabel> = [(Category::Code, has_block), (Category::IsCode, is_code)]
        .into_iter()
        .map(|(category, holds)| {
            by_rule(
                category,
                if holds || content.is_answered() {
                    Label::from(holds)
                } else {
                    Label::Unknown
                },
            )
        })
        .collect();
    if !content.has_image {
        labels.extend(
            Category::ALL
                .into_iter()
                .filter(|category| category.is_about_an_image())
                .map(|category| by_rule(category, Label::False)),
        );
    }
    labels
}

fn by_rule(category: Category, label: Label) -> CategoryLabel {
    CategoryLabel {
        category,
        label,
        confidence: if label == Label::Unknown { 0.0 } else { 1.0 },
        annotator: CATEGORY_RULES,
    }
}

/// The label of `category` in the first annotation that knows one: list the annotations in the order of trust.
///
/// `None` when nobody knows.
pub fn first_known(labels: &[CategoryLabel], category: Category) -> Option<CategoryLabel> {
    labels
        .iter()
        .find(|label| label.category == category && label.label != Label::Unknown)
        .copied()
}

/// The surest label of `category`, the earlier one where two are as sure. `None` when nobody knows.
pub fn surest(labels: &[CategoryLabel], category: Category) -> Option<CategoryLabel> {
    labels
        .iter()
        .filter(|label| label.category == category && label.label != Label::Unknown)
        .copied()
        .reduce(
            |best, next| match next.confidence.total_cmp(&best.confidence) {
                Ordering::Greater => next,
                Ordering::Equal | Ordering::Less => best,
            },
        )
}

#[cfg(test)]
mod tests;
