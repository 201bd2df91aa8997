//! Tests of the local floor: made-up words through every disguise, near misses, probes by language, and figures on published texts.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use agon_domain::{Finding, FindingKind, FindingPlace};
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::annotate::tests::{json_lines, shared, tab_separated};

fn listed() -> WordDetector {
    let list = WordList::parse(include_str!("../../fixtures/moderation/words.txt")).unwrap();
    WordDetector::new(WordOptions {
        built_in: false,
        lists: vec![(list, "fixture-1".to_owned())],
        ..WordOptions::default()
    })
}

/// The built-in list with severe slurs counting, which is not the default.
fn built_in() -> WordDetector {
    WordDetector::new(WordOptions {
        built_in_thresholds: [1.0, 2.0, 2.0, 2.0],
        ..WordOptions::default()
    })
}

fn probes() -> ProbeDetector {
    ProbeDetector::new(&[]).unwrap()
}

/// A field of a fixture with `\uXXXX` read.
fn unescaped(field: &str) -> String {
    let mut parts = field.split("\\u");
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let code = u32::from_str_radix(&part[..4], 16).unwrap();
        text.push(char::from_u32(code).unwrap());
        text.push_str(&part[4..]);
    }
    text
}

/// The part of the text that a finding is about.
fn part<'t>(text: &'t str, finding: &Finding) -> &'t str {
    let FindingPlace::Text { bytes, chars } = &finding.place else {
        panic!("a finding in a text has a place in it");
    };
    let by_chars: String = text.chars().skip(chars.start).take(chars.len()).collect();
    assert_eq!(text[bytes.clone()], by_chars);
    &text[bytes.clone()]
}

#[test]
fn listed_words_are_found_through_disguises_and_not_inside_innocent_words() {
    let detector = listed();
    let mut n_cases = 0;
    for row in tab_separated(include_str!("../../fixtures/moderation/words.tsv")) {
        let text = unescaped(&row[1]);
        let found: Vec<String> = detector
            .find(&text)
            .iter()
            .map(|finding| format!("{} {}", finding.category, part(&text, finding)))
            .collect();
        // Brackets are no part of a word, but stand in the fixture for what lies beside it.
        let expected = unescaped(&row[2]).replace(['(', ')', '«', '»'], "");
        assert_eq!(found.join("|"), expected, "{text}");
        n_cases += 1;
    }
    assert!(n_cases > 30);
}

#[test]
fn findings_say_how_bad_by_whom_and_from_when() {
    let detector = listed();
    let findings = detector.find("zorp flan, ass, vasker");
    let shown: Vec<(&str, f64, bool)> = findings
        .iter()
        .map(|finding| (finding.category.as_str(), finding.score, finding.counts()))
        .collect();
    assert_eq!(
        shown,
        [
            ("insult", 0.67, true),
            ("rude", 0.33, false),
            ("slur", 1.0, true)
        ]
    );
    for finding in findings {
        assert_eq!(finding.kind, FindingKind::HarmfulText);
        assert_eq!(finding.detector.to_string(), "words 1+fixture-1");
    }
    assert_eq!(detector.screens_for(), [FindingKind::HarmfulText]);
}

#[test]
fn a_list_that_cannot_be_read_says_where_and_what_is_accepted() {
    for (text, expected) in [
        (
            "# fine\n\nword",
            "line 3: there is no category: expected `category: word`, `category severity: word` or `category: /pattern/`",
        ),
        (
            "a: b\nhate bad: word",
            "line 2: `bad` is not a severity: expected `mild`, `moderate` or `severe`",
        ),
        (
            "hate mild now: word",
            "line 1: there is too much before the colon",
        ),
        ("ha te!: word", "line 1: `te!` is not a severity"),
        (": word", "line 1: the category is not one"),
        ("hate:  ", "line 1: there is no word"),
        ("hate: !!", "line 1: the word has no letter"),
        ("hate: *", "line 1: the word has no letter"),
        ("hate: /abc", "line 1: the pattern has no end"),
        ("hate: //", "line 1: the pattern has no end"),
        (
            "hate: /(abc/",
            "line 1: the pattern cannot be used: unclosed group",
        ),
        ("hate: /a*/", "line 1: the pattern matches nothing at all"),
        (
            "hate: /(?:a{1000}){1000}/",
            "line 1: the pattern cannot be used",
        ),
        (
            "hate: /(?=a)/",
            "line 1: the pattern cannot be used: look-around",
        ),
    ] {
        let error = WordList::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let long = format!("hate: {}", "x".repeat(2_000));
    let error = WordList::parse(&long).unwrap_err();
    assert_eq!(
        error.problem,
        "the line has 2006 bytes: expected at most 1000"
    );
    assert_eq!(WordList::parse("").unwrap().n_entries(), 0);
    assert_eq!(
        WordList::parse("\u{feff}a: b\r\nc: d\r\n")
            .unwrap()
            .n_entries(),
        2
    );
}

#[test]
fn a_long_list_is_searched_as_a_short_one() {
    let lines: Vec<String> = (0..1_000)
        .map(|n| {
            let letters: String = format!("{n:04}")
                .bytes()
                .map(|b| char::from(b'k' + b - b'0'))
                .collect();
            format!("c{n}: zz{letters}yy")
        })
        .collect();
    let list = WordList::parse(&lines.join("\n")).unwrap();
    let detector = WordDetector::new(WordOptions {
        built_in: false,
        lists: vec![(list, "1".to_owned())],
        ..WordOptions::default()
    });
    for n in [0, 199, 200, 999] {
        let word = lines[n].split(": ").nth(1).unwrap();
        let findings = detector.find(&format!("a {word} b"));
        assert_eq!(findings.len(), 1, "{word}");
        assert_eq!(findings[0].category, format!("c{n}"));
    }
}

#[test]
fn the_built_in_list_knows_slurs_and_innocent_neighbours() {
    let detector = built_in();
    let counting = |text: &str| -> Vec<String> {
        detector
            .find(text)
            .iter()
            .filter(|finding| finding.counts())
            .map(|finding| part(text, finding).to_owned())
            .collect()
    };
    // A slur of the list, spelt from its parts.
    let slur: String = ["f", "a", "g", "g", "o", "t"].concat();
    assert_eq!(counting(&format!("you {slur}, you")), [slur.clone()]);
    // By default it is kept and decides nothing.
    let findings = WordDetector::new(WordOptions::default()).find(&slur);
    assert!(!findings.is_empty() && !findings.iter().any(Finding::counts));
    for text in [
        "Scunthorpe, Penistone, Essex and Lightwater are places.",
        "The assassin classified the glass of the embassy as a bass.",
        "An analyst of therapist cocktails, shiitake and a peacock in Dickens.",
        "Nigeria, raccoons and cocoons",
        "Matsushita, hancock, cumulative documents, circumstances, title",
        "Der Arsch der Welt ist weit; la buena onda; il y a un phoque.",
        "kill the process with signal 9 and die Leute sind nett",
    ] {
        assert_eq!(counting(text), [""; 0], "{text}");
    }
    assert_eq!(detector.identity().to_string(), "words 1+english");
}

#[test]
fn probes_are_found_in_every_language_of_the_fixture() {
    let detector = probes();
    let mut n_cases = 0;
    for row in tab_separated(include_str!("../../fixtures/moderation/probes.tsv")) {
        let text = unescaped(&row[2]);
        let findings = detector.find(&text);
        let mut found: Vec<&str> = findings
            .iter()
            .map(|finding| finding.category.as_str())
            .collect();
        found.sort_unstable();
        found.dedup();
        if row[0] == "none" {
            assert!(found.is_empty(), "{text}: {found:?}");
        } else {
            assert!(found.contains(&row[0].as_str()), "{text}: {found:?}");
        }
        for finding in &findings {
            assert_eq!(finding.kind, FindingKind::Probe);
            assert!(!part(&text, finding).is_empty());
        }
        n_cases += 1;
    }
    assert!(n_cases > 60);
}

#[test]
fn hostile_texts_take_no_longer_than_others() {
    let (words, built_in, probes) = (
        listed(),
        WordDetector::new(WordOptions::default()),
        probes(),
    );
    // Compiled at the first use.
    probes.find("warm");
    for text in [
        "g r o b n i ".repeat(8_000),
        "ass".repeat(30_000),
        "a".repeat(100_000),
        "ignore ".repeat(14_000),
        "\u{200b}".repeat(30_000),
        "fuck ".repeat(20_000),
        "*#@!".repeat(25_000),
        "忽略".repeat(15_000),
    ] {
        let started = Instant::now();
        words.find(&text);
        built_in.find(&text);
        probes.find(&text);
        let took = started.elapsed();
        let start: String = text.chars().take(8).collect();
        println!("{start:?}: {took:?} for {} bytes", text.len());
        assert!(took < Duration::from_secs(20), "{start:?}: {took:?}");
    }
}

proptest! {
    #[test]
    fn every_text_is_taken_and_every_place_lies_in_it(
        text in r"([a-zA-Z0-9@$!*#. \n]|grobnik|vasker|ass|坏东西|ignore previous instructions|\PC){0,60}"
    ) {
        // Compiling lists is slow, so it is done once.
        static DETECTORS: LazyLock<([WordDetector; 2], ProbeDetector)> =
            LazyLock::new(|| ([listed(), built_in()], probes()));
        let (detectors, probes) = &*DETECTORS;
        for findings in detectors.iter().map(|detector| detector.find(&text)).chain([probes.find(&text)]) {
            for finding in findings {
                part(&text, &finding);
            }
        }
    }
}

/// How many of the texts have a finding that counts, and how many one at all.
fn rates(detector: &WordDetector, texts: &[String]) -> (usize, usize) {
    let mut rates = (0, 0);
    for text in texts {
        let findings = detector.find(text);
        rates.0 += usize::from(findings.iter().any(Finding::counts));
        rates.1 += usize::from(!findings.is_empty());
    }
    rates
}

fn messages(value: &Value, role: &str) -> Vec<String> {
    value
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == role)
        .filter_map(|message| {
            let content = &message["content"];
            content.as_str().or_else(|| content["answer"].as_str())
        })
        .map(ToOwned::to_owned)
        .collect()
}

#[test]
fn ordinary_conversations_raise_no_alarm() {
    let (Some(style), Some(battles)) = (
        shared("text/style/o3-mini_001_250.jsonl"),
        shared("votes/lmarena-battles/battles_001_040.jsonl"),
    ) else {
        return;
    };
    let (style, battles) = (json_lines(&style), json_lines(&battles));
    let mut answers: Vec<String> = style
        .iter()
        .flat_map(|row| messages(&row["messages"], "assistant"))
        .collect();
    let mut prompts: Vec<String> = style
        .iter()
        .flat_map(|row| messages(&row["messages"], "user"))
        .collect();
    let n_style = answers.len();
    for row in &battles {
        for side in ["conversation_a", "conversation_b"] {
            answers.extend(messages(&row[side], "assistant"));
        }
        prompts.extend(messages(&row["conversation_a"], "user"));
    }
    let detector = built_in();
    let probes = probes();
    let of_style = rates(&detector, &answers[..n_style]);
    let of_battles = rates(&detector, &answers[n_style..]);
    let of_prompts = rates(&detector, &prompts);
    let probing: Vec<String> = prompts
        .iter()
        .flat_map(|prompt| probes.find(prompt))
        .map(|finding| finding.category)
        .collect();
    let probing_answers = answers
        .iter()
        .filter(|answer| !probes.find(answer).is_empty())
        .count();
    println!(
        "words (counting, any): {of_style:?} of {n_style} style answers, {of_battles:?} of {} answers in battles, {of_prompts:?} of {} prompts; probes: {probing:?} in prompts, {probing_answers} of {} answers",
        answers.len() - n_style,
        prompts.len(),
        answers.len(),
    );
    assert_eq!(of_style.0, 0);
    assert!(of_battles.0 <= 1, "{of_battles:?}");
    assert!(probing.len() <= 3, "{probing:?}");
}

#[test]
fn hateful_cases_show_that_a_list_is_a_floor() {
    let Some(bytes) = shared("text/moderation/hatecheck_english.csv") else {
        return;
    };
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let headers = reader.headers().unwrap().clone();
    let column = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let (text_at, label_at, function_at) = (
        column("test_case"),
        column("label_gold"),
        column("functionality"),
    );
    let detector = built_in();
    let mut counts = std::collections::BTreeMap::<(String, String), [usize; 3]>::new();
    for row in reader.records() {
        let row = row.unwrap();
        let findings = detector.find(&row[text_at]);
        let label = row[label_at].to_owned();
        for function in [row[function_at].to_owned(), " all".to_owned()] {
            let of_case = counts.entry((label.clone(), function)).or_default();
            of_case[0] += usize::from(findings.iter().any(Finding::counts));
            of_case[1] += usize::from(!findings.is_empty());
            of_case[2] += 1;
        }
    }
    for ((label, function), counts) in &counts {
        println!("{label} {function}: {counts:?} (counting, any, cases)");
    }
    let of = |label: &str| counts[&(label.to_owned(), " all".to_owned())];
    assert_eq!(of("hateful")[2] + of("non-hateful")[2], 3_728);
}
