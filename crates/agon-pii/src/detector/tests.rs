//! Tests of the detector as a whole: places, overlaps, options, and what must hold for any text.

use proptest::{prelude::*, strategy::ValueTree as _};

use super::*;
use crate::{Strength, recogniser::rules as all_rules, redact, work};

fn detector() -> Detector {
    Detector::new(&Options::default()).unwrap()
}

thread_local! {
    static DETECTOR: Detector = detector();
    static EVERYTHING: Detector = Detector::new(&Options { entities: Some(Entity::ALL.iter().copied().collect()), threshold: 0.0 }).unwrap();
}

#[test]
fn places_are_given_in_bytes_and_code_points() {
    let text = "😀😀 jane@example.com 536-90-4399";
    let findings = detector().find(text);
    let shown: Vec<_> = findings
        .iter()
        .map(|finding| {
            (
                finding.entity,
                &text[finding.bytes.clone()],
                finding.chars.clone(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (Entity::EmailAddress, "jane@example.com", 3..19),
            (Entity::UsSsn, "536-90-4399", 20..31),
        ]
    );
}

#[test]
fn evidence_says_what_the_score_is_made_of() {
    let findings = detector().find("CPF: 721.191.097-61");
    let [finding] = &findings[..] else {
        panic!("{findings:?}")
    };
    assert_eq!(finding.country.map(crate::Country::code), Some("BR"));
    assert_eq!(finding.evidence.check, Verdict::Passed);
    assert_eq!(finding.evidence.word, Some(("cpf", Strength::Label)));
    assert!(finding.score > 0.9);
}

#[test]
fn overlaps_are_settled_for_the_surest_and_longest() {
    let text = "git clone https://nina:s3cr3tV@example.com/repo.git";
    let entities: Vec<Entity> = detector()
        .find(text)
        .iter()
        .map(|finding| finding.entity)
        .collect();
    assert_eq!(entities, [Entity::UrlCredentials]);
}

#[test]
fn options_are_checked_and_kept() {
    for threshold in [-0.1, 1.1, f64::NAN] {
        assert!(matches!(
            Detector::new(&Options {
                threshold,
                ..Options::default()
            }),
            Err(Error::Threshold(_))
        ));
    }
    assert!(matches!(
        Detector::new(&Options {
            entities: Some(BTreeSet::new()),
            ..Options::default()
        }),
        Err(Error::NoEntity)
    ));
    let only = Detector::new(&Options {
        entities: Some([Entity::EmailAddress].into()),
        threshold: 0.9,
    })
    .unwrap();
    assert_eq!(
        only.find("ana@example.com, card 4111 1111 1111 1111").len(),
        1
    );
    assert_eq!(only.identity().threshold, 0.9);
    assert_eq!(only.identity().name, "agon-pii");
}

#[test]
fn one_detector_serves_many_threads() {
    let detector = detector();
    let text = "write to ana@example.com";
    let counts = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| detector.find(text).len()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert_eq!(counts, [1; 4]);
}

#[test]
fn dates_are_found_on_request_only() {
    let text = "The date 2020-01-02 is near.";
    assert_eq!(detector().find(text), []);
    let dates = Detector::new(&Options {
        entities: Some([Entity::DateTime].into()),
        threshold: 0.4,
    })
    .unwrap();
    assert_eq!(dates.find(text).len(), 1);
}

#[test]
fn a_language_tells_numbers_of_countries_apart() {
    let detector = detector();
    let entity = |language| detector.find_in("Passnummer 59000001", Some(language))[0].entity;
    assert_eq!(entity("sv"), Entity::SePassport);
    assert_eq!(entity("no"), Entity::NoPassport);
}

#[test]
fn work_is_linear_in_hostile_texts() {
    // Each pattern keeps some recogniser busy: digits, hyphens, signs, words, marks, look-alikes, nested addresses.
    let patterns = [
        "1",
        "1234-",
        "a",
        "a@",
        "@a.",
        "+1 ",
        "(1) ",
        "1.",
        "1:2:",
        "AKIA",
        "eyJ",
        "l1 ",
        "://",
        "http://a:b@",
        "passport ",
        "pass",
        "A<",
        "one ",
        "at dot ",
        "0.1234,",
        "-----BEGIN PRIVATE KEY-----",
        "Server=;Password=",
        "姓",
        "路1号",
        "4111 1111 1111 1111 ",
        "DE89 3704 ",
        "my name is A ",
        "is is is ",
        "1/2",
        "٠",
        "\u{200b}1",
        "password: ",
        ", 10115 A",
        "geo:",
        "::",
        "[at]",
        "0x",
        "1 rue ",
    ];
    let detector = detector();
    for pattern in patterns {
        let work = |repeats: usize| {
            work::take();
            let _ = detector.find(&pattern.repeat(repeats));
            work::take()
        };
        let (short, long) = (work(500), work(4000));
        assert!(
            long <= short * 9 + 1000,
            "{pattern:?}: {short} steps for 500, {long} for 4000"
        );
    }
}

#[test]
fn every_rule_takes_values_of_its_own_shape_without_panic_and_about_as_rarely_as_it_says() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut offenders = Vec::new();
    for rule in all_rules() {
        let (mut passed, mut total) = (0_u32, 0_u32);
        for shape in rule.shapes {
            // Shapes without Unicode classes; the generator wants text, so that negated byte classes are narrowed.
            let shape = shape
                .replace(r"[^\x00-\x40\[-`{-\x7f]", "[a-z]")
                .replace(r"[^\x00-\x1f,;:.]", "[a-z ]")
                .replace(r"[^\x00-\x40]", "[a-z]")
                .replace(r"\d", "[0-9]");
            let values = proptest::string::string_regex(&shape).unwrap();
            for _ in 0..40 {
                let value = values
                    .new_tree(&mut runner)
                    .unwrap()
                    .current()
                    .to_uppercase();
                if rule.require.is_none_or(|require| require(&value))
                    && let Some((check, _)) = rule.check
                {
                    total += 1;
                    passed += u32::from(check(&value));
                }
            }
        }
        // In one case only, an address of Ethereum carries no check.
        if let Some((_, chance)) = rule.check
            && total >= 40
            && rule.entity != Entity::Crypto
        {
            // Four standard deviations and a half, and never fewer than three.
            let expected = f64::from(total) * chance;
            let most = expected + 4.5 * expected.sqrt() + 3.0;
            if f64::from(passed) > most {
                offenders.push(format!(
                    "{}: {passed} of {total} pass, {expected:.1} expected",
                    rule.entity
                ));
            }
        }
    }
    assert!(offenders.is_empty(), "{}", offenders.join("\n"));
}

#[test]
fn check_digits_alone_make_no_bare_number_personal() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut offenders = BTreeSet::new();
    for rule in all_rules() {
        let Some((check, _)) = rule.check else {
            continue;
        };
        for shape in rule.shapes {
            let values = proptest::string::string_regex(&shape.replace(r"\d", "[0-9]"));
            // Shapes with negated byte classes are no numbers.
            let Ok(values) = values else { continue };
            for _ in 0..60 {
                let value = values.new_tree(&mut runner).unwrap().current();
                let is_bare = value.bytes().all(|byte| byte.is_ascii_digit());
                if !is_bare
                    || rule.require.is_some_and(|require| !require(&value))
                    || !check(&value)
                {
                    continue;
                }
                // Cards are the exception: their ranges and lengths are a form of their own; so is the prefix of Swiss numbers.
                let text = format!("The result is {value} then.");
                for finding in DETECTOR.with(|detector| detector.find(&text)) {
                    if !matches!(
                        finding.entity,
                        Entity::CreditCard | Entity::ChAhv | Entity::AeEmiratesId
                    ) {
                        offenders.insert(finding.entity);
                    }
                }
            }
        }
    }
    assert!(offenders.is_empty(), "{offenders:?}");
}

/// Texts in which something may be found: pieces of the catalogue among any characters.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => any::<char>().prop_map(String::from),
        4 => "[ -~]{0,12}",
        4 => "[0-9 ./:()+-]{1,20}",
        2 => "[A-Z]{1,4}[0-9]{5,9}[A-Z]?",
        2 => proptest::sample::select(vec![
            "passport ", "card ", "tel: ", "password: ", "ssn ", "iban ", "@", "nina@example.com", "4111 1111 1111 1111", "DE89370400440532013000",
            "\u{200b}", "\u{fe0f}\u{20e3}", "٤١١١", "４１１１", "护照号码", "https://", "[at]", " dot ", "-----BEGIN PRIVATE KEY-----", "born ", "1970-01-31",
        ]).prop_map(ToOwned::to_owned),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn findings_lie_on_characters_in_order_without_overlap(text in texts()) {
        for found in [DETECTOR.with(|detector| detector.find(&text)), EVERYTHING.with(|detector| detector.find(&text))] {
            let mut end = 0;
            for finding in found {
                prop_assert!(finding.bytes.start >= end && finding.bytes.start < finding.bytes.end);
                prop_assert!(text.is_char_boundary(finding.bytes.start) && text.is_char_boundary(finding.bytes.end));
                prop_assert_eq!(finding.chars.start, text[..finding.bytes.start].chars().count());
                prop_assert_eq!(finding.chars.end, text[..finding.bytes.end].chars().count());
                prop_assert!((0.0..=1.0).contains(&finding.score));
                end = finding.bytes.end;
            }
        }
    }

    #[test]
    fn what_was_taken_out_is_not_found_again_at_its_place(text in texts()) {
        DETECTOR.with(|detector| {
            let findings = detector.find(&text);
            for policy in [Policy::Mask('█'), Policy::Name, Policy::Number, Policy::pseudonym(&[9; 32]).unwrap()] {
                let redacted = redact(&text, &findings, &policy).unwrap();
                let again = detector.find(&redacted.text);
                for span in &redacted.spans {
                    prop_assert!(!again.iter().any(|finding| finding.entity == span.entity && finding.bytes.start < span.after.end && span.after.start < finding.bytes.end),
                        "{:?} in {:?}", span, redacted.text);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn redacting_a_redacted_text_changes_nothing(text in texts()) {
        DETECTOR.with(|detector| {
            for policy in [Policy::Mask('█'), Policy::Name, Policy::Number, Policy::pseudonym(&[9; 32]).unwrap()] {
                let once = detector.redact(&text, None, &policy).unwrap();
                let twice = detector.redact(&once.text, None, &policy).unwrap();
                prop_assert_eq!(&once.text, &twice.text);
            }
            Ok(())
        })?;
    }
}
