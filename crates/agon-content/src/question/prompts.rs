//! The questions: their wording, in `src/prompts/`, and what each shows and labels.

use super::{Form, Question, Showing, Shown};
use crate::annotate::category::Category;

/// What every question is preceded by.
pub(super) const SYSTEM: &str = include_str!("../prompts/system.txt");

const PROMPT: Shown = Shown {
    prompts: true,
    answers: false,
    image: Showing::Never,
};
const IMAGE: Shown = Shown {
    prompts: false,
    answers: false,
    image: Showing::Always,
};

/// Raise the version of a question with every change of its text; a test holds the two together.
pub(super) const QUESTIONS: &[Question] = &[
    Question {
        name: "captioning",
        version: 1,
        text: include_str!("../prompts/captioning.txt"),
        form: Form::YesNo,
        shown: PROMPT,
        categories: &[Category::Captioning],
    },
    Question {
        name: "code",
        version: 1,
        text: include_str!("../prompts/code.txt"),
        form: Form::YesNo,
        shown: PROMPT,
        categories: &[Category::Code],
    },
    Question {
        name: "creative_writing",
        version: 1,
        text: include_str!("../prompts/creative_writing.txt"),
        form: Form::YesNo,
        shown: PROMPT,
        categories: &[Category::CreativeWriting],
    },
    Question {
        name: "diagram",
        version: 1,
        text: include_str!("../prompts/diagram.txt"),
        form: Form::YesNo,
        shown: IMAGE,
        categories: &[Category::Diagram],
    },
    Question {
        name: "entity_recognition",
        version: 1,
        text: include_str!("../prompts/entity_recognition.txt"),
        form: Form::YesNo,
        shown: PROMPT,
        categories: &[Category::EntityRecognition],
    },
    Question {
        name: "homework",
        version: 1,
        text: include_str!("../prompts/homework.txt"),
        form: Form::YesNo,
        shown: IMAGE,
        categories: &[Category::Homework],
    },
    Question {
        name: "humor",
        version: 1,
        text: include_str!("../prompts/humor.txt"),
        form: Form::YesNo,
        shown: Shown {
            prompts: true,
            answers: false,
            image: Showing::IfThere,
        },
        categories: &[Category::Humor],
    },
    Question {
        name: "ocr",
        version: 1,
        text: include_str!("../prompts/ocr.txt"),
        form: Form::YesNo,
        shown: Shown {
            prompts: true,
            answers: false,
            image: Showing::Always,
        },
        categories: &[Category::Ocr],
    },
    Question {
        name: "refusal",
        version: 1,
        text: include_str!("../prompts/refusal.txt"),
        form: Form::Sides,
        shown: Shown {
            prompts: true,
            answers: true,
            image: Showing::Never,
        },
        categories: &[Category::Refusal],
    },
    Question {
        name: "math",
        version: 1,
        text: include_str!("../prompts/math.txt"),
        form: Form::YesNo,
        shown: PROMPT,
        categories: &[Category::Math],
    },
    Question {
        name: "if",
        version: 1,
        text: include_str!("../prompts/instruction_following.txt"),
        form: Form::Score,
        shown: PROMPT,
        categories: &[Category::InstructionFollowing],
    },
    Question {
        name: "hard_criteria",
        version: 1,
        text: include_str!("../prompts/hard_criteria.txt"),
        form: Form::Criteria,
        shown: PROMPT,
        categories: &Category::HARD_CRITERIA,
    },
];

/// How often the labels of a vision model are right, as VisionArena reports it (table 5, agreement with a larger model); 0.9 where it reports none.
pub(super) const fn reported_precision(category: Category) -> f64 {
    match category {
        Category::Homework => 0.929,
        Category::Captioning => 0.938,
        Category::Humor => 0.788,
        Category::Ocr => 0.954,
        Category::EntityRecognition => 0.728,
        Category::CreativeWriting => 0.680,
        Category::Diagram => 0.858,
        _ => 0.9,
    }
}
