//! Tests of the style counts: rules and published goldens first, then the shared test data.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Instant;

use agon_domain::{BattleId, ConsentId, Finish, Generation, Mode, Sides, Turn, VisitId, VoterId};
use jiff::Timestamp;
use proptest::prelude::*;
use regex::Regex;
use serde_json::Value;

use super::{compat::without_code, *};
use crate::annotate::{Message, Role};

/// Counts in the order h1 to h6, ordered, unordered, asterisks, underscores.
fn counted(answers: &[&str]) -> [u32; 10] {
    let counts = markdown_counts(answers);
    let mut all = [0; 10];
    all[..6].copy_from_slice(&counts.headers);
    all[6..].copy_from_slice(&[
        counts.list_ordered,
        counts.list_unordered,
        counts.bold_asterisks,
        counts.bold_underscores,
    ]);
    all
}

const ORDERED: usize = 6;
const UNORDERED: usize = 7;
const ASTERISKS: usize = 8;
const UNDERSCORES: usize = 9;

#[track_caller]
fn check(text: &str, expected: &[(usize, u32)]) {
    let mut all = [0; 10];
    for &(idx, count) in expected {
        all[idx] = count;
    }
    assert_eq!(counted(&[text]), all, "{text:?}");
}

#[test]
fn headers_are_counted_as_published() {
    check("# A\r\n## B\r\n", &[(0, 1), (1, 1)]);
    check(
        "# a\n## b\n### c\n#### d\n##### e\n###### f\n####### g",
        &[(0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1)],
    );
    check("#\n#\t\n#\u{a0}x", &[(0, 3)]);
    check(" # indented", &[]);
    check("#hash", &[]);
    check("Title\n=====\nOther\n-----", &[]);
    check("##", &[]);
}

#[test]
fn lists_are_counted_as_published() {
    check("1. a\n2. b\n 10. c\n1) d", &[(ORDERED, 3)]);
    check("- a\n* b\n+ c\n-d", &[(UNORDERED, 3)]);
    check("\n\n \t1. a\n\n\n2.\n", &[(ORDERED, 2)]);
    check("\u{661}\u{662}. Arabic digits", &[(ORDERED, 1)]);
    check("\u{b2}. a superscript is no digit", &[]);
    check("* * *", &[(UNORDERED, 1)]);
    check("---", &[]);
    check("-\n", &[(UNORDERED, 1)]);
    check("-", &[]);
    check("> - x", &[]);
    check("1.5 is a number", &[]);
}

#[test]
fn bold_is_counted_as_published() {
    check("__init__ and __a__", &[(UNDERSCORES, 2)]);
    check("a__b__c", &[(UNDERSCORES, 1)]);
    check("**a****b**", &[(ASTERISKS, 2)]);
    check("***a***", &[(ASTERISKS, 1)]);
    check("**a*b**", &[]);
    check("**a\nb**", &[]);
    check("****", &[]);
    check("__a_b__", &[]);
}

#[test]
fn only_a_line_feed_starts_a_line() {
    check("a\r# b\u{2028}# c\u{b}# d\u{85}# e", &[]);
    check("a\n# b", &[(0, 1)]);
    check("\u{2028}- a", &[(UNORDERED, 1)]);
}

#[test]
fn answers_are_joined_by_a_line_feed() {
    assert_eq!(counted(&["a", "# b", "- c"])[0], 1);
    assert_eq!(counted(&["a", "# b", "- c"])[UNORDERED], 1);
    assert_eq!(counted(&["**a", "b**"])[ASTERISKS], 0);
    assert_eq!(counted(&[]), [0; 10]);
    // A fence may open in one answer and close in the next.
    assert_eq!(without_code("```a\nb```"), "``````");
}

#[test]
fn the_inside_of_code_blocks_vanishes_everywhere() {
    for (text, expected) in [
        ("banana ```a```", "bnn ``````"),
        ("```\n# x\n```\n# y", "``````\n# y"),
        // The identical text outside the block goes too.
        ("```\n# x\n```\nand\n# x\nend", "``````\nandend"),
        // A backtick inside keeps the block.
        ("```\n# `x`\n```", "```\n# `x`\n```"),
        ("``````", "``````"),
        ("``` ```` ```", "``````````"),
        ("```unclosed\n# x", "```unclosed\n# x"),
        // The blocks are those of the untouched text, deleted in turn, the second time on what the first left.
        ("```ab``` ```ab``` aabb", "`````` `````` "),
    ] {
        assert_eq!(without_code(text), expected, "{text:?}");
    }
    check("```sh\n# comment\n```\n# heading", &[(0, 1)]);
    check("```sh\n# with `tick`\n```", &[(0, 1)]);
}

#[test]
fn white_space_is_that_of_python() {
    let matched: Vec<u32> = ('\0'..=char::MAX)
        .filter(|character| counted(&[&format!("-{character}")])[UNORDERED] == 1)
        .map(u32::from)
        .collect();
    // `[c for c in range(0x110000) if chr(c).isspace()]`, which is what `\s` of `re` asks.
    let mut expected: Vec<u32> = (0x09..=0x0d).chain(0x1c..=0x20).collect();
    expected.extend([0x85, 0xa0, 0x1680]);
    expected.extend(0x2000..=0x200a);
    expected.extend([0x2028, 0x2029, 0x202f, 0x205f, 0x3000]);
    assert_eq!(matched, expected);
}

#[test]
fn tokens_are_counted_and_special_ones_are_one_each() {
    use Encoding::{Cl100k, O200k};
    for (encoding, text, expected) in [
        (Cl100k, "", 0),
        (Cl100k, "hello world", 2),
        (Cl100k, "tiktoken is great!", 6),
        (O200k, "tiktoken is great!", 6),
        (Cl100k, "antidisestablishmentarianism", 6),
        (Cl100k, "2 + 2 = 4", 7),
        (Cl100k, "お誕生日おめでとう", 9),
        (O200k, "お誕生日おめでとう", 8),
        (Cl100k, "<|endoftext|>", 1),
        (Cl100k, "hello<|endoftext|> world<|fim_suffix|>", 4),
        (Cl100k, "<|fim_prefix|><|fim_middle|><|endofprompt|>", 3),
        (O200k, "<|endoftext|><|endofprompt|>", 2),
    ] {
        assert_eq!(
            encoding.count_tokens(text),
            expected,
            "{encoding:?} {text:?}"
        );
    }
    // What is special to one is text to the other, and a torn one is text to both.
    assert!(O200k.count_tokens("<|fim_prefix|>") > 1);
    assert!(Cl100k.count_tokens("<|endoftext|") > 1);
    assert!(Cl100k.count_tokens("<|<|endoftext|>") > 1);
    assert_eq!(Cl100k.as_str(), "cl100k_base");
}

fn battle(turns: &[(&str, &str, &str)]) -> Battle {
    let generation = |text: &str| Generation {
        text: text.to_owned(),
        finish: Some(Finish::Stop),
        ..Generation::started(1)
    };
    Battle {
        id: BattleId::from_bytes([0; 16]),
        visit: VisitId::from_bytes([0; 32]),
        voter: VoterId::from_bytes([0; 16]),
        consent: ConsentId::from_bytes([0; 16]),
        mode: Mode::Battle,
        models: Sides {
            a: "one".to_owned(),
            b: "two".to_owned(),
        },
        pair_probability: 1.0,
        started_at: Timestamp::UNIX_EPOCH,
        turns: turns
            .iter()
            .map(|(prompt, a, b)| Turn {
                prompt: (*prompt).to_owned(),
                image: None,
                sent_at: Timestamp::UNIX_EPOCH,
                generations: Sides {
                    a: generation(a),
                    b: generation(b),
                },
            })
            .collect(),
        vote: None,
    }
}

#[test]
fn the_features_of_a_battle_are_those_of_the_turns_counted() {
    let battle = battle(&[
        ("hello world", "# hello", "hello"),
        ("hello", "- hello world", "**hello** world"),
        ("unvoted", "# unvoted", "# unvoted"),
    ]);
    let tokens = |text| Encoding::Cl100k.count_tokens(text);
    let features = style_features(&battle, 2);
    assert_eq!(features.n_turns, 2);
    assert_eq!(features.user_tokens, 3);
    assert_eq!(
        features.assistant_tokens.a,
        tokens("# hello") + tokens("- hello world")
    );
    assert_eq!(features.assistant_tokens.b, 1 + tokens("**hello** world"));
    assert_eq!(features.context_tokens.a, 3 + tokens("# hello"));
    assert_eq!(features.context_tokens.b, 3 + 1);
    assert_eq!(features.markdown.a.headers, [1, 0, 0, 0, 0, 0]);
    assert_eq!(features.markdown.a.list_unordered, 1);
    assert_eq!(features.markdown.b.bold_asterisks, 1);
    assert_eq!(features.markdown.b.headers, [0; 6]);

    let one = style_features(&battle, 1);
    assert_eq!((one.n_turns, one.user_tokens), (1, 2));
    assert_eq!(one.context_tokens, Sides { a: 2, b: 2 });
    assert_eq!(style_features(&battle, 9).n_turns, 3);
    assert_eq!(style_features(&battle, 0), StyleFeatures::default());
}

#[test]
fn hostile_answers_take_time_in_proportion_to_their_length() {
    // What a backtracking matcher or a naive tokenizer takes quadratic time for.
    for piece in [
        "\n", " \n", "**a", "__", "1", "#", "`", "a", "```a", "-", "<|", "\u{a0}", "é",
    ] {
        let answer = piece.repeat(50_000 / piece.len());
        let start = Instant::now();
        markdown_counts(&[&answer]);
        Encoding::Cl100k.count_tokens(&answer);
        // Unoptimised and on a busy machine, linear time is seconds, quadratic time minutes.
        assert!(
            start.elapsed().as_secs() < 20,
            "{piece:?}: {:?}",
            start.elapsed()
        );
    }
}

/// The folder of shared test data, if there is one.
fn test_data() -> Option<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the shared test data is found by an environment variable"
    )]
    let folder = std::env::var("AGON_TESTDATA");
    match folder {
        Ok(folder) => Some(PathBuf::from(folder)),
        Err(_) => {
            println!("AGON_TESTDATA is not set: the shared answers are not tested");
            None
        }
    }
}

fn read_lines(path: PathBuf) -> Vec<Value> {
    std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The counts in a record of a release.
fn published(record: &Value) -> [u32; 10] {
    let number =
        |group: &str, key: &str| u32::try_from(record[group][key].as_u64().unwrap()).unwrap();
    [
        number("header_count", "h1"),
        number("header_count", "h2"),
        number("header_count", "h3"),
        number("header_count", "h4"),
        number("header_count", "h5"),
        number("header_count", "h6"),
        number("list_count", "ordered"),
        number("list_count", "unordered"),
        number("bold_count", "**"),
        number("bold_count", "__"),
    ]
}

#[test]
fn the_shared_answers_have_their_published_counts() {
    let Some(data) = test_data() else { return };
    let mut totals = [0; 4];
    let records = read_lines(data.join("text/style/o3-mini_001_250.jsonl"));
    assert_eq!(records.len(), 250);
    for record in &records {
        let messages = record["messages"].as_array().unwrap();
        let answers: Vec<&str> = messages
            .iter()
            .filter(|message| message["role"] == "assistant")
            .map(|message| {
                let content = &message["content"];
                content
                    .as_str()
                    .or_else(|| content["answer"].as_str())
                    .unwrap()
            })
            .collect();
        let counts = counted(&answers);
        assert_eq!(counts, published(&record["metadata"]), "{}", record["uid"]);
        let n_tokens = Encoding::O200k.count_tokens(&answers.join("\n"));
        assert_eq!(
            record["metadata"]["token_len"], n_tokens,
            "{}",
            record["uid"]
        );
        totals[0] += n_tokens;
        totals[1] += counts[..6].iter().sum::<u32>();
        totals[2] += counts[ORDERED] + counts[UNORDERED];
        totals[3] += counts[ASTERISKS] + counts[UNDERSCORES];
    }
    assert_eq!(totals, [277_944, 390, 1013, 147]);
}

#[test]
fn the_shared_battles_have_their_expected_counts() {
    let Some(data) = test_data() else { return };
    let battles = read_lines(data.join("votes/lmarena-battles/battles_001_040.jsonl"));
    let expected = read_lines(data.join("votes/lmarena-battles/style_expected.jsonl"));
    assert_eq!((battles.len(), expected.len()), (39, 39));
    for (battle, expected) in battles.iter().zip(&expected) {
        assert_eq!(battle["question_id"], expected["question_id"]);
        for side in Side::BOTH {
            let conversation = &battle[format!("conversation_{}", side.as_str())];
            let answers: Vec<&str> = conversation
                .as_array()
                .unwrap()
                .iter()
                .filter(|message| message["role"] == "assistant")
                .map(|message| message["content"].as_str().unwrap())
                .collect();
            let expected = &expected[side.as_str()];
            assert_eq!(
                counted(&answers),
                published(expected),
                "{}",
                battle["question_id"]
            );
            let n_characters: usize = answers.iter().map(|answer| answer.chars().count()).sum();
            assert_eq!(expected["sum_chars"], n_characters);
        }
    }
}

/// The published patterns, one by one: what `markdown_counts` does without a matcher.
fn counted_by_patterns(text: &str) -> [u32; 10] {
    // White space as Python's `re` has it: Unicode's, and the four separators U+001C to U+001F.
    const SPACE: &str = r"[\s\x1c-\x1f]";
    static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        let headers = (1..=6).map(|level| format!("(?m)^#{{{level}}}{SPACE}"));
        let others = [
            format!(r"(?m)^{SPACE}*\d+\.{SPACE}"),
            format!("(?m)^{SPACE}*[-*+]{SPACE}"),
            r"\*\*[^*\n]+\*\*".to_owned(),
            r"__[^_\n]+__".to_owned(),
        ];
        headers
            .chain(others)
            .map(|pattern| Regex::new(&pattern).unwrap())
            .collect()
    });
    let text = without_code_by_patterns(text);
    let mut counts = [0; 10];
    for (count, pattern) in counts.iter_mut().zip(PATTERNS.iter()) {
        *count = u32::try_from(pattern.find_iter(&text).count()).unwrap();
    }
    counts
}

fn without_code_by_patterns(text: &str) -> String {
    static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new("```([^`]*)```").unwrap());
    let insides: Vec<&str> = CODE
        .captures_iter(text)
        .map(|found| found.get(1).unwrap().as_str())
        .collect();
    let mut text = text.to_owned();
    for inside in insides.into_iter().filter(|inside| !inside.is_empty()) {
        text = text.replace(inside, "");
    }
    text
}

proptest! {
    #[test]
    fn counts_are_those_of_the_patterns(text in "([#*_`1٣²+.\\- \n\r\t\u{a0}\u{1c}\u{2028}]|```|\\*\\*|__|\n#|[ab]){0,60}") {
        prop_assert_eq!(without_code(&text), without_code_by_patterns(&text));
        prop_assert_eq!(counted(&[&text]), counted_by_patterns(&text));
    }

    #[test]
    fn many_blocks_are_deleted_as_few(blocks in prop::collection::vec("```[ab]{1,4}```|[ab ]{0,9}", 17..80)) {
        let text = blocks.concat();
        prop_assert_eq!(without_code(&text), without_code_by_patterns(&text));
    }

    #[test]
    fn any_answer_can_be_counted(text in "\\PC{0,60}|([#*_`$|\\[\\]()!<>&\\\\~=\\- \n\t]|[a1]|```){0,80}") {
        let style = conversation_style(&[Message { role: Role::Assistant, text: &text }]);
        prop_assert_eq!(style.compat, markdown_counts(&[&text]));
        prop_assert!(style.assistant_text.n_words <= style.assistant_text.n_characters);
        prop_assert!(style.assistant_text.n_emoji <= style.assistant_text.n_characters);
    }

    #[test]
    fn answers_add_up(a in "[a-c#*_.1\\- \n]{0,40}", b in "[a-c#*_.1\\- \n]{0,40}") {
        let message = |text| Message { role: Role::Assistant, text };
        let both = conversation_style(&[message(&a), message(&b)]);
        let [one, two] = [&a, &b].map(|text| conversation_style(&[message(text)]));
        prop_assert_eq!(both.assistant_tokens.cl100k, one.assistant_tokens.cl100k + two.assistant_tokens.cl100k);
        prop_assert_eq!(both.assistant_text.n_words, one.assistant_text.n_words + two.assistant_text.n_words);
        prop_assert_eq!(both.commonmark.n_paragraphs, one.commonmark.n_paragraphs + two.commonmark.n_paragraphs);
        // The published counts join the answers first.
        prop_assert_eq!(both.compat, markdown_counts(&[&format!("{a}\n{b}")]));
    }

    #[test]
    fn ends_of_lines_make_no_difference_to_the_parser(text in "[a-c#*_.1|\\- \n]{0,80}") {
        prop_assert_eq!(commonmark_counts(&text.replace('\n', "\r\n")), commonmark_counts(&text));
    }

    #[test]
    fn words_do_not_depend_on_the_normal_form(text in "[a-zà-ÿ ]{0,80}") {
        use unicode_normalization::UnicodeNormalization as _;
        let decomposed: String = text.nfd().collect();
        prop_assert_eq!(text_counts(&decomposed).n_words, text_counts(&text).n_words);
    }
}

/// The cases of `fixtures/style/commonmark.json`: a text, and every count that is not 0.
#[test]
fn a_parser_counts_what_a_reader_sees() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../../../fixtures/style/commonmark.json")).unwrap();
    assert!(cases.len() > 12);
    for case in &cases {
        let counts = commonmark_counts(case["text"].as_str().unwrap());
        let headers: Vec<u32> = match case["headers"].as_array() {
            Some(levels) => levels
                .iter()
                .map(|n| u32::try_from(n.as_u64().unwrap()).unwrap())
                .collect(),
            None => vec![0; 6],
        };
        assert_eq!(counts.markdown.headers.to_vec(), headers, "{case}");
        for (name, n) in [
            ("list_ordered", counts.markdown.list_ordered),
            ("list_unordered", counts.markdown.list_unordered),
            ("bold_asterisks", counts.markdown.bold_asterisks),
            ("bold_underscores", counts.markdown.bold_underscores),
            ("n_paragraphs", counts.n_paragraphs),
            ("n_tables", counts.n_tables),
            ("n_code_blocks", counts.n_code_blocks),
            ("n_code_spans", counts.n_code_spans),
            ("n_links", counts.n_links),
            ("n_images", counts.n_images),
            ("n_latex", counts.n_latex),
        ] {
            assert_eq!(
                u64::from(n),
                case[name].as_u64().unwrap_or(0),
                "{name} of {case}"
            );
        }
    }
}

/// The cases of `fixtures/style/text.json`: a text, its characters, words and emoji.
#[test]
fn characters_words_and_emoji_are_counted_as_seen() {
    let cases: Vec<(String, u32, u32, u32)> =
        serde_json::from_str(include_str!("../../../fixtures/style/text.json")).unwrap();
    for (text, n_characters, n_words, n_emoji) in cases {
        let expected = TextCounts {
            n_characters,
            n_words,
            n_emoji,
        };
        assert_eq!(text_counts(&text), expected, "{text:?}");
    }
}

#[test]
fn a_conversation_has_all_counts_by_role() {
    let message = |role, text| Message { role, text };
    let messages = [
        message(Role::User, "hello world"),
        message(Role::Assistant, "# hello\n\n- a\n- b"),
        message(Role::User, "hello 😀"),
        message(Role::Assistant, "**hello** world"),
    ];
    let tokens = |text| Encoding::Cl100k.count_tokens(text);
    let style = conversation_style(&messages);
    assert_eq!(style.n_turns, 2);
    assert_eq!(
        style.user_tokens.cl100k,
        tokens("hello world") + tokens("hello 😀")
    );
    assert_eq!(
        style.context_tokens.cl100k,
        style.user_tokens.cl100k + tokens("# hello\n\n- a\n- b")
    );
    assert_eq!(style.assistant_tokens.o200k, {
        let tokens = |text| Encoding::O200k.count_tokens(text);
        tokens("# hello\n\n- a\n- b") + tokens("**hello** world")
    });
    assert_eq!(style.compat.headers[0], 1);
    assert_eq!(style.compat.list_unordered, 2);
    assert_eq!(style.commonmark.markdown.bold_asterisks, 1);
    assert_eq!(style.commonmark.n_paragraphs, 3);
    assert_eq!((style.user_text.n_words, style.user_text.n_emoji), (3, 1));
    assert_eq!(style.assistant_text.n_words, 5);

    // The context is what stood in front of the last answer.
    let asked = conversation_style(&messages[..3]);
    assert_eq!(asked.context_tokens.cl100k, tokens("hello world"));
    assert_eq!(conversation_style(&[]), ConversationStyle::default());
}

#[test]
fn two_conversations_give_what_the_battle_gives() {
    let turns = [
        ("hello world", "# hello", "hello"),
        ("hello", "- hello world", "**hello** world"),
    ];
    let side = |pick: fn(&(&'static str, &'static str, &'static str)) -> &'static str| {
        let messages: Vec<Message<'_>> = turns
            .iter()
            .flat_map(|turn| {
                [
                    Message {
                        role: Role::User,
                        text: turn.0,
                    },
                    Message {
                        role: Role::Assistant,
                        text: pick(turn),
                    },
                ]
            })
            .collect();
        conversation_style(&messages)
    };
    let sides = Sides {
        a: side(|turn| turn.1),
        b: side(|turn| turn.2),
    };
    assert_eq!(conv_metadata(&sides), style_features(&battle(&turns), 2));
}

#[test]
fn a_hostile_megabyte_is_parsed_in_time() {
    // The parser and the matcher are not optimised where assertions are checked.
    let n_bytes = if cfg!(debug_assertions) {
        1 << 16
    } else {
        1 << 20
    };
    for piece in [
        "> ", "- ", "[", "![", "**a ", "__a ", "*a_ ", "`", "``", "$", "\\(", "|a", "|-\n", "<a",
        "<!--", "1. ", "a\n", "#\n", "&#", "[a](", "[a]: b\n", "```a```", "\n\n", "~~~\n", "😀",
        "\u{200d}", "http://a",
    ] {
        let text = piece.repeat(n_bytes / piece.len());
        let start = Instant::now();
        commonmark_counts(&text);
        let parsed = start.elapsed();
        text_counts(&text);
        markdown_counts(&[&text]);
        assert!(
            start.elapsed().as_secs() < 20,
            "{piece:?}: {parsed:?}, {:?}",
            start.elapsed()
        );
    }
    // Many different blocks whose insides stand outside too.
    let numbers: Vec<String> = (10_000..10_000 + n_bytes / 35)
        .map(|number| number.to_string())
        .collect();
    let blocks: String = numbers
        .iter()
        .map(|number| format!("```{number}```"))
        .collect();
    let start = Instant::now();
    markdown_counts(&[&format!("{blocks}\n{}", numbers.concat())]);
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}
