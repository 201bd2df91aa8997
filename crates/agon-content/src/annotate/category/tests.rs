//! Categories by rules: code by parser and content, images that are not there, and whom to believe.

use agon_domain::Sides;
use proptest::prelude::*;
use serde_json::Value;

use super::{
    CATEGORY_RULES, CATEGORY_WORDS, Category, CategoryLabel, Content, Label,
    code::{code_blocks, reasons},
    first_known, label_by_rules, surest,
};
use crate::annotate::tests::{json_lines, shared};

fn label(labels: &[CategoryLabel], category: Category) -> Option<Label> {
    labels
        .iter()
        .find(|label| label.category == category)
        .map(|label| label.label)
}

#[test]
fn spellings_are_unique_and_read_back() {
    for category in Category::ALL {
        assert_eq!(Category::from_spelling(category.as_str()), Some(category));
    }
    assert_eq!(Category::from_spelling("coding"), None);
    let mut sorted = Category::RELEASED.map(Category::as_str);
    sorted.sort_unstable();
    assert_eq!(sorted, Category::RELEASED.map(Category::as_str));
}

#[test]
fn fenced_blocks_are_found_as_commonmark_has_them() {
    for (text, languages) in [
        ("```python\nprint(1)\n```", vec!["python"]),
        ("~~~\nx\n~~~", vec![""]),
        ("````md\n```js\n1\n```\n````", vec!["md"]),
        ("- item\n  ```Rust,ignore\n  fn f() {}\n  ```", vec!["rust"]),
        ("> ```sh\n> ls\n> ```", vec!["sh"]),
        ("1. a\n\n   ```{.c}\n   x;\n   ```", vec![""]),
        ("```js\nnever closed", vec!["js"]),
        ("```a\n1\n```\ntext\n```b\n2\n```", vec!["a", "b"]),
        ("no block, `inline` only", vec![]),
        ("inline ```triple``` in a line", vec![]),
        ("    indented\n    like a poem", vec![]),
        ("text\n    ```\n    indented by four\n    ```", vec![]),
        ("``\nx\n``", vec![]),
        ("", vec![]),
    ] {
        let found = code_blocks(text);
        let found: Vec<&str> = found.iter().map(|block| block.language.as_str()).collect();
        assert_eq!(found, languages, "{text:?}");
    }
    let block = &code_blocks("a\n```rust\nlet x = 1;\n```\nb")[0];
    assert_eq!(block.text, "let x = 1;\n");
    assert_eq!(block.lines, 2..=4);
}

#[test]
fn talk_of_code_is_found_by_the_rules_of_fastchat() {
    for (text, expected) in [
        ("How do I install PIP on Ubuntu?", vec!["pip"]),
        ("Write it in Python, please", vec!["python"]),
        ("用python写一个爬虫", vec!["python"]),
        ("is C++ faster than Java?", vec!["c++", "java"]),
        ("open a pull request", vec!["pull request"]),
        ("we use tensorflow here", vec!["tensorflow"]),
        ("import numpy as np", vec!["import numpy"]),
        ("from os import path", vec![r"from \w+ import \w+"]),
        ("#include <stdio.h>", vec![]),
        ("#include <vector>", vec![r"#include <\w+>"]),
        ("x = 1\n```\ny\n```", vec!["backticks"]),
        ("Use python-based tools", vec![]),
        ("html/css", vec![]),
        ("javanese food and gitarre", vec![]),
        ("a python. A snake!", vec!["python"]),
        ("see python.org", vec![]),
        ("Draw ASCII art of a python", vec![]),
        ("```plaintext\nno code\n```", vec![]),
        ("```markdown\n# sql\n```\nand bash", vec!["bash"]),
        ("```plaintext\nx\n```\n```js\ny\n```", vec!["backticks"]),
        ("Describe this image.", vec![]),
    ] {
        assert_eq!(reasons(text), expected, "{text:?}");
    }
}

#[test]
fn code_is_unknown_while_an_answer_is_missing() {
    let prompts: &[&str] = &["Sort this list."];
    let plain: &[&str] = &["Here: 1, 2, 3."];
    let code: &[&str] = &["```\nsorted(x)\n```"];
    let none: &[&str] = &[];
    for (a, b, expected) in [
        (plain, plain, Label::False),
        (plain, code, Label::True),
        (code, none, Label::True),
        (plain, none, Label::Unknown),
        (none, none, Label::Unknown),
    ] {
        let labels = label_by_rules(&Content {
            prompts,
            answers: Sides { a, b },
            has_image: true,
        });
        assert_eq!(label(&labels, Category::Code), Some(expected));
        assert_eq!(label(&labels, Category::IsCode), Some(expected));
        assert_eq!(labels.len(), 2);
    }
    // One answer to two prompts leaves one missing.
    let labels = label_by_rules(&Content {
        prompts: &["a", "b"],
        answers: Sides { a: plain, b: plain },
        has_image: true,
    });
    assert_eq!(label(&labels, Category::Code), Some(Label::Unknown));
}

#[test]
fn without_an_image_nothing_is_about_one() {
    let labels = label_by_rules(&Content {
        prompts: &["Describe this image."],
        ..Content::default()
    });
    for category in [
        Category::Captioning,
        Category::Diagram,
        Category::EntityRecognition,
        Category::Homework,
        Category::Ocr,
    ] {
        assert_eq!(label(&labels, category), Some(Label::False));
    }
    assert_eq!(label(&labels, Category::Humor), None);
}

#[test]
fn the_first_known_and_the_surest_label_are_found() {
    let of = |label, confidence, annotator| CategoryLabel {
        category: Category::Code,
        label,
        confidence,
        annotator,
    };
    let labels = [
        of(Label::Unknown, 0.0, CATEGORY_RULES),
        of(Label::False, 0.6, CATEGORY_WORDS),
        of(Label::True, 0.9, CATEGORY_RULES),
        of(Label::False, 0.9, CATEGORY_WORDS),
    ];
    assert_eq!(first_known(&labels, Category::Code), Some(labels[1]));
    assert_eq!(surest(&labels, Category::Code), Some(labels[2]));
    assert_eq!(first_known(&labels, Category::Ocr), None);
    assert_eq!(surest(&labels[..1], Category::Code), None);
}

#[test]
fn battles_of_the_arena_are_code_where_the_arena_says_so() {
    let Some(bytes) = shared("votes/lmarena-battles/battles_001_040.jsonl") else {
        return;
    };
    let mut differing = Vec::new();
    let rows = json_lines(&bytes);
    for row in &rows {
        let texts = |side: &str, role: &str| -> Vec<String> {
            row[side]
                .as_array()
                .unwrap()
                .iter()
                .filter(|message| message["role"] == role)
                .map(|message| message["content"].as_str().unwrap().to_owned())
                .collect()
        };
        let prompts = texts("conversation_a", "user");
        let (a, b) = (
            texts("conversation_a", "assistant"),
            texts("conversation_b", "assistant"),
        );
        let [prompts, a, b] =
            [&prompts, &a, &b].map(|texts| texts.iter().map(String::as_str).collect::<Vec<_>>());
        let labels = label_by_rules(&Content {
            prompts: &prompts,
            answers: Sides { a: &a, b: &b },
            has_image: false,
        });
        let says = label(&labels, Category::IsCode) == Some(Label::True);
        if says != (row["is_code"] == Value::Bool(true)) {
            differing.push(row["question_id"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(rows.len(), 39);
    assert_eq!(differing, Vec::<String>::new());
}

proptest! {
    #[test]
    fn any_text_has_code_or_none(
        text in prop_oneof![any::<String>(), "(```|~~~|> |- |    |\n|plaintext|markdown|git|x){0,24}"],
    ) {
        let n_lines = text.lines().count();
        for block in code_blocks(&text) {
            prop_assert!(*block.lines.start() >= 1 && *block.lines.end() <= n_lines.max(1));
        }
        if reasons(&text).contains(&"backticks") {
            prop_assert!(text.contains("```"));
        }
    }
}
