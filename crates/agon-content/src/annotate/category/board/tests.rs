//! Categories of a leaderboard on battles at their borders.

use agon_domain::Winner;

use super::{BattleFacts, BoardCategory, LanguageGroup};
use crate::annotate::category::{CATEGORY_RULES, Category, CategoryLabel, Label};

fn labels(pairs: &[(Category, Label)]) -> Vec<CategoryLabel> {
    pairs
        .iter()
        .map(|&(category, label)| CategoryLabel {
            category,
            label,
            confidence: 1.0,
            annotator: CATEGORY_RULES,
        })
        .collect()
}

#[track_caller]
fn check(key: &str, battle: &BattleFacts<'_>, expected: Label) {
    let category = BoardCategory::from_key(key).unwrap();
    assert_eq!(category.contains(battle), expected, "{key} {battle:?}");
}

#[test]
fn keys_are_unique_and_read_back() {
    let all = BoardCategory::all();
    for category in &all {
        assert_eq!(BoardCategory::from_key(category.as_str()), Some(*category));
    }
    assert_eq!(all.len(), 26);
    assert_eq!(
        BoardCategory::from_key("coding"),
        Some(BoardCategory::Of(Category::Code))
    );
    assert_eq!(BoardCategory::from_key("dedup"), None);
}

#[test]
fn turns_and_tokens_are_counted_from_their_borders_on() {
    for (n_turns, expected) in [(1, Label::False), (2, Label::True), (9, Label::True)] {
        check(
            "multiturn",
            &BattleFacts {
                n_turns,
                ..BattleFacts::default()
            },
            expected,
        );
    }
    for (n_tokens, is_long, is_kept) in [
        (4, Label::False, Label::False),
        (5, Label::False, Label::True),
        (499, Label::False, Label::True),
        (500, Label::True, Label::True),
    ] {
        let battle = BattleFacts {
            prompt_tokens: Some(n_tokens),
            ..BattleFacts::default()
        };
        check("long_user", &battle, is_long);
        check("no_short", &battle, is_kept);
    }
    check("long_user", &BattleFacts::default(), Label::Unknown);
    check("full", &BattleFacts::default(), Label::True);
}

#[test]
fn ties_of_both_kinds_are_excluded() {
    for (winner, expected) in [
        (Some(Winner::A), Label::True),
        (Some(Winner::B), Label::True),
        (Some(Winner::Tie), Label::False),
        (Some(Winner::BothBad), Label::False),
        (None, Label::Unknown),
    ] {
        check(
            "no_tie",
            &BattleFacts {
                winner,
                ..BattleFacts::default()
            },
            expected,
        );
    }
}

#[test]
fn refusals_are_excluded_where_they_are_known() {
    for (label, expected) in [
        (Label::True, Label::False),
        (Label::False, Label::True),
        (Label::Unknown, Label::Unknown),
    ] {
        let labels = labels(&[(Category::Refusal, label)]);
        check(
            "no_refusal",
            &BattleFacts {
                labels: &labels,
                ..BattleFacts::default()
            },
            expected,
        );
    }
}

#[test]
fn six_of_seven_criteria_make_a_hard_prompt() {
    for (n_true, n_false, expected) in [
        (7, 0, Label::True),
        (6, 1, Label::True),
        (6, 0, Label::True),
        (5, 2, Label::False),
        (0, 2, Label::False),
        (5, 1, Label::Unknown),
        (0, 0, Label::Unknown),
    ] {
        let pairs: Vec<(Category, Label)> = Category::HARD_CRITERIA
            .into_iter()
            .zip(
                std::iter::repeat_n(Label::True, n_true)
                    .chain(std::iter::repeat_n(Label::False, n_false)),
            )
            .collect();
        let labels = labels(&pairs);
        let english = BattleFacts {
            labels: &labels,
            language: Some("English"),
            ..BattleFacts::default()
        };
        check("hard_6", &english, expected);
        check("hard_english_6", &english, expected);
        let russian = BattleFacts {
            language: Some("ru"),
            ..english
        };
        check("hard_english_6", &russian, Label::False);
        let unknown = BattleFacts {
            language: None,
            ..english
        };
        let expected = if expected == Label::False {
            Label::False
        } else {
            Label::Unknown
        };
        check("hard_english_6", &unknown, expected);
    }
}

#[test]
fn languages_are_read_in_every_spelling_of_the_releases() {
    for (language, group) in [
        ("English", Some(LanguageGroup::English)),
        ("en-GB", Some(LanguageGroup::English)),
        ("zh", Some(LanguageGroup::Chinese)),
        ("zh_Hant", Some(LanguageGroup::Chinese)),
        ("Chinese (Traditional)", Some(LanguageGroup::Chinese)),
        (" russian ", Some(LanguageGroup::Russian)),
        ("kor", Some(LanguageGroup::Korean)),
        ("Czech", Some(LanguageGroup::Other)),
        ("unknown", None),
        ("und", None),
        ("", None),
    ] {
        assert_eq!(LanguageGroup::of(language), group, "{language:?}");
    }
    let battle = BattleFacts {
        language: Some("fr"),
        ..BattleFacts::default()
    };
    check("french", &battle, Label::True);
    check("german", &battle, Label::False);
    check(
        "german",
        &BattleFacts {
            language: Some("unknown"),
            ..battle
        },
        Label::Unknown,
    );
}

#[test]
fn the_most_trusted_known_label_decides() {
    let labels = labels(&[
        (Category::Code, Label::Unknown),
        (Category::Code, Label::True),
        (Category::Code, Label::False),
    ]);
    check(
        "coding",
        &BattleFacts {
            labels: &labels,
            ..BattleFacts::default()
        },
        Label::True,
    );
    check(
        "ocr",
        &BattleFacts {
            labels: &labels,
            ..BattleFacts::default()
        },
        Label::Unknown,
    );
}
