//! Tests of cleaning: the reference's order and counts, the failure cases of other arenas, what the order of rows may change, and the shared test data.

use std::path::PathBuf;

use rand::{SeedableRng as _, seq::SliceRandom as _};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use super::*;

const fn user(text: &str) -> MessageFacts<'_> {
    MessageFacts {
        role: Role::User,
        text: Some(text),
        images: &[],
        status: Status::Unknown,
        identity: Some(false),
    }
}

const fn assistant(text: &str) -> MessageFacts<'_> {
    MessageFacts {
        role: Role::Assistant,
        ..user(text)
    }
}

const PLAIN: &[MessageFacts<'_>] = &[user("What is this?"), assistant("A lighthouse.")];

/// A vote that no rule objects to.
const fn vote() -> Facts<'static> {
    Facts {
        id: None,
        models: Sides { a: "one", b: "two" },
        selectors: None,
        winner: Winner::A,
        judge: None,
        visit: None,
        time: None,
        language: Some("English"),
        is_anonymous: Some(true),
        is_refused: None,
        messages: Some(Sides { a: PLAIN, b: PLAIN }),
    }
}

const fn with<'a>(a: &'a [MessageFacts<'a>], b: &'a [MessageFacts<'a>]) -> Facts<'a> {
    Facts {
        messages: Some(Sides { a, b }),
        ..vote()
    }
}

fn reference() -> Profile {
    Profile::from_name("fastchat-2025-04").unwrap()
}

fn agon() -> Profile {
    Profile::from_name("agon-1").unwrap()
}

/// `agon-1` without the rules about several rows that are on by default.
fn agon_by_row() -> Profile {
    Profile::Agon1(AgonOptions {
        daily_cap: None,
        top_prompts: None,
        ..AgonOptions::default()
    })
}

fn clean(profile: Profile, rows: &[Facts<'_>]) -> Cleaned {
    let mut cleaner = Cleaner::new(profile);
    for facts in rows {
        cleaner.add(facts).unwrap();
    }
    let cleaned = cleaner.finish();
    assert_counts_add_up(&cleaned, rows.len());
    cleaned
}

fn assert_counts_add_up(cleaned: &Cleaned, n_rows: usize) {
    let audit = &cleaned.audit;
    let first: u64 = audit.rules.iter().map(|count| count.first).sum();
    assert_eq!(cleaned.n_rows(), n_rows);
    assert_eq!(audit.rows, n_rows as u64);
    assert_eq!(audit.kept + first, audit.rows);
    for count in audit.rules.iter().chain(&audit.notes) {
        assert!(count.first <= count.total, "{count:?}");
    }
    assert_eq!(cleaned.verdict(n_rows), None);
}

fn excluded_by(cleaned: &Cleaned) -> Vec<Option<Rule>> {
    (0..cleaned.n_rows())
        .map(|row| cleaned.verdict(row).unwrap().excluded_by)
        .collect()
}

/// What excludes one row, alone.
fn of_one(profile: Profile, facts: Facts<'_>) -> Option<Rule> {
    clean(profile, &[facts]).verdict(0).unwrap().excluded_by
}

#[track_caller]
fn check(facts: Facts<'_>, by_reference: Option<Rule>, by_agon: Option<Rule>) {
    assert_eq!(of_one(reference(), facts), by_reference, "the reference");
    assert_eq!(of_one(agon(), facts), by_agon, "agon-1");
}

#[test]
fn profiles_are_found_by_name_and_unknown_ones_refused() {
    for name in Profile::NAMES {
        assert_eq!(Profile::from_name(name).unwrap().name(), name);
    }
    let error = Profile::from_name("fastchat").unwrap_err();
    assert!(error.to_string().contains("`fastchat`"), "{error}");
}

#[test]
fn every_rule_has_a_code_and_a_bit_of_its_own() {
    let mut all = RuleSet::default();
    for rule in Rule::ALL {
        assert!(!all.contains(rule), "{rule}");
        all.insert(rule);
    }
    assert!(all.iter().eq(Rule::ALL));
    let codes: std::collections::BTreeSet<&str> =
        Rule::ALL.iter().map(|rule| rule.as_str()).collect();
    assert_eq!(codes.len(), Rule::ALL.len());
}

#[test]
fn the_reference_counts_first_hits_in_its_order() {
    let selectors = |a: Option<&'static str>, b: Option<&'static str>| Some(Sides { a, b });
    let profile = Profile::FastChat202504(FastChatOptions {
        excluded_models: vec!["palm-2".to_owned()],
        banned_judges: vec!["arena_user_9.9.9.9".to_owned()],
        ..FastChatOptions::default()
    });
    let none: &[MessageFacts<'_>] = &[];
    let leak_and_error = [
        user("Who are you?"),
        assistant("ChatGPT. API REQUEST ERROR. Reason"),
    ];
    let error = [
        user("Hi"),
        assistant("**NETWORK ERROR DUE TO HIGH TRAFFIC. PLEASE REGENERATE**"),
    ];
    let unfinished = [user("Hi"), assistant("Half of an ans▌")];
    let empty = [user("Hi"), assistant("")];
    let null = [
        user("chatgpt"),
        MessageFacts {
            text: None,
            ..assistant("")
        },
    ];
    let rows = [
        // 1: a null selector is dropped, and in none of the counts.
        Facts {
            selectors: selectors(None, Some("")),
            ..vote()
        },
        // 2 to 4: invalid.
        Facts {
            selectors: selectors(Some(""), Some("two")),
            ..vote()
        },
        Facts {
            selectors: selectors(Some("one"), Some("other")),
            ..vote()
        },
        Facts {
            selectors: selectors(Some(""), Some("")),
            ..with(none, none)
        },
        // 6: in the order empty, identity, error, unfinished.
        with(&empty, PLAIN),
        with(&null, PLAIN),
        with(PLAIN, &leak_and_error),
        with(PLAIN, &error),
        with(&unfinished, PLAIN),
        // 8: by the canonical name.
        Facts {
            models: Sides {
                a: "bard",
                b: "two",
            },
            ..vote()
        },
        // 9
        Facts {
            judge: Some("arena_user_9.9.9.9"),
            ..vote()
        },
        // 10: kept, anonymous by either spelling, named with the names in the selectors, ties too.
        Facts {
            selectors: selectors(Some(""), Some("")),
            ..vote()
        },
        Facts {
            selectors: selectors(Some("Model A"), Some("Model B")),
            winner: Winner::BothBad,
            ..vote()
        },
        Facts {
            selectors: selectors(Some("one"), Some("two")),
            winner: Winner::Tie,
            ..vote()
        },
        Facts {
            selectors: selectors(Some("### Model A: one"), Some("### Model B: two")),
            ..vote()
        },
    ];
    let cleaned = clean(profile, &rows);
    let expected = [
        ("uncounted", 1),
        ("invalid", 3),
        ("none_msg", 2),
        ("leaked_identity", 1),
        ("error", 1),
        ("unfinished", 1),
        ("exclude_model", 1),
        ("banned", 1),
    ];
    assert_eq!(cleaned.audit.reference_counts(), BTreeMap::from(expected));
    assert_eq!(cleaned.audit.kept, 4);
    assert_eq!(cleaned.audit.kept_anonymous, 2);
    // All that is wrong is flagged, not the first alone.
    let both = cleaned.verdict(6).unwrap().flags;
    assert!(both.contains(Rule::IdentityWord) && both.contains(Rule::ErrorText));
    let error_total = cleaned
        .audit
        .rules
        .iter()
        .find(|count| count.rule == Rule::ErrorText)
        .unwrap();
    assert_eq!((error_total.first, error_total.total), (1, 2));
}

#[test]
fn the_rating_filters_of_the_reference_follow_in_its_order() {
    let profile = Profile::FastChat202504(FastChatOptions {
        languages: Some(vec!["English".to_owned(), "unknown".to_owned()]),
        drop_unknown_languages: true,
        anonymous_only: true,
        drop_ties: true,
        daily_cap: Some(1),
        ..FastChatOptions::default()
    });
    let timed = |time| Facts {
        judge: Some("j"),
        time: Some(time),
        ..vote()
    };
    let rows = [
        Facts {
            language: Some("French"),
            is_anonymous: Some(false),
            ..vote()
        },
        Facts {
            language: Some("unknown"),
            ..vote()
        },
        Facts {
            is_anonymous: Some(false),
            winner: Winner::Tie,
            ..vote()
        },
        Facts {
            winner: Winner::BothBad,
            ..vote()
        },
        timed(100.0),
        timed(50.0),
    ];
    let by = [
        Some(Rule::OtherLanguage),
        Some(Rule::UnknownLanguage),
        Some(Rule::Named),
        Some(Rule::Tie),
        Some(Rule::DailyCap),
        None,
    ];
    assert_eq!(excluded_by(&clean(profile, &rows)), by);
}

#[test]
fn the_reference_misses_the_moderation_texts_of_its_vision_arena() {
    let text = [
        user("x"),
        assistant("$MODERATION$ YOUR TEXT VIOLATES OUR GUIDELINES"),
    ];
    let input = [
        user("x"),
        assistant("$MODERATION$ YOUR INPUT VIOLATES OUR GUIDELINES"),
    ];
    check(with(&text, &text), None, None);
    check(with(&input, &input), Some(Rule::ErrorText), None);
    check(
        Facts {
            is_refused: Some(true),
            ..with(&text, &text)
        },
        None,
        Some(Rule::ModerationRefused),
    );
}

#[test]
fn renames_depend_on_the_time() {
    // ING-11
    assert_eq!(canonical_name("gpt-4", Some(1_687_849_200.0)), "gpt-4-0314");
    assert_eq!(canonical_name("gpt-4", Some(1_687_849_200.5)), "gpt-4-0613");
    assert_eq!(canonical_name("gpt-3.5-turbo", None), "gpt-3.5-turbo-0314");
    assert_eq!(canonical_name("bard", None), "palm-2");
    assert_eq!(
        canonical_name("StripedHyena-Nous-7B", None),
        "stripedhyena-nous-7b"
    );
    assert_eq!(canonical_name("Bard", None), "Bard");
}

#[test]
fn words_are_not_leaks_and_leaks_need_no_listed_word() {
    // SRV-20
    for prompt in [
        "Draw a palm tree",
        "Who was the bard of Avon?",
        "Is a llama taller than an alpaca?",
        "Explain Claude Monet",
        "How do I use Google Sheets",
    ] {
        let messages = [user(prompt), assistant("Gladly.")];
        check(with(&messages, &messages), Some(Rule::IdentityWord), None);
    }
    for answer in [
        "I am Grok, built by xAI",
        "Kimi, by Moonshot",
        "I am Chat\u{200b}GPT",
    ] {
        let leak = MessageFacts {
            identity: Some(true),
            ..assistant(answer)
        };
        let messages = [user("Hi"), leak];
        check(with(PLAIN, &messages), None, Some(Rule::IdentityLeak));
    }
}

#[test]
fn a_prompt_that_asks_for_the_identity_is_noted_and_kept() {
    // SRV-19: the probe is flagged; what excludes is the answer.
    let probe = MessageFacts {
        identity: Some(true),
        ..user("Who are you?")
    };
    let evasive = [probe, assistant("An assistant.")];
    let cleaned = clean(agon(), &[with(&evasive, &evasive)]);
    let verdict = cleaned.verdict(0).unwrap();
    assert_eq!(verdict.excluded_by, None);
    assert!(verdict.flags.contains(Rule::IdentityProbe));
    assert_eq!(cleaned.audit.notes[0].rule, Rule::IdentityProbe);
}

#[test]
fn failures_are_told_by_status() {
    // SRV-12, ING-22
    let ended = |text, finish| {
        [
            user("Hi"),
            MessageFacts {
                status: Status::Ended(finish),
                ..assistant(text)
            },
        ]
    };
    let cases = [
        (Finish::Failed, Some(Rule::Failed)),
        (Finish::Filtered, Some(Rule::Failed)),
        (Finish::Cut, Some(Rule::Unfinished)),
        (Finish::Interrupted, Some(Rule::Unfinished)),
        (Finish::Empty, Some(Rule::BlankAnswer)),
        (Finish::Stop, None),
        (Finish::Length, None),
    ];
    for (finish, expected) in cases {
        let messages = ended("The capital is", finish);
        check(with(PLAIN, &messages), None, expected);
    }
    let running = [
        user("Hi"),
        MessageFacts {
            status: Status::Running,
            ..assistant("The cap")
        },
    ];
    check(with(&running, PLAIN), None, Some(Rule::Unfinished));
    // An answer about the sentence is no failure.
    let quoted = ended("It says NETWORK ERROR DUE TO HIGH TRAFFIC.", Finish::Stop);
    check(with(&quoted, PLAIN), Some(Rule::ErrorText), None);
}

#[test]
fn printed_objects_are_no_answers() {
    // ING-19
    for text in [
        "<openai.Stream object at 0x7f3c2a1b4d90>",
        "<litellm.utils.CustomStreamWrapper object at 0x7f3c>",
        "<generator object stream at 0x7f>",
        " [object Object]",
        "ChatCompletion(id='x', choices=[])",
    ] {
        let messages = [user("Hi"), assistant(text)];
        assert_eq!(
            of_one(agon(), with(PLAIN, &messages)),
            Some(Rule::PrintedObject),
            "{text}"
        );
    }
    for text in [
        "A generator prints as <generator object f at 0x7f>.",
        "<p>an object at 0x7f is printed</p>",
        "<b>bold</b>",
        "<",
    ] {
        let messages = [user("Hi"), assistant(text)];
        assert_eq!(of_one(agon(), with(PLAIN, &messages)), None, "{text}");
    }
}

#[test]
fn sides_of_unequal_length_and_blank_answers_are_excluded() {
    // ING-20
    let three = [user("Hi"), assistant("Hello"), user("And now?")];
    let two = [user("Hi"), assistant("Hello")];
    check(with(&three, &two), None, Some(Rule::UnequalMessages));
    check(with(&three, &three), None, Some(Rule::UnequalMessages));
    for text in [Some(""), None] {
        let blank = [
            user("Hi"),
            MessageFacts {
                text,
                ..assistant("")
            },
        ];
        check(
            with(&two, &blank),
            Some(Rule::EmptyMessage),
            Some(Rule::BlankAnswer),
        );
    }
    let unseen = [user("Hi"), assistant(" \n\u{200b}\u{feff}")];
    check(with(&two, &unseen), None, Some(Rule::BlankAnswer));
    // A picture alone is a prompt in agon-1.
    let picture = [
        MessageFacts {
            images: &["9f"],
            ..user("")
        },
        assistant("A cat."),
    ];
    check(with(&picture, &picture), Some(Rule::EmptyMessage), None);
}

#[test]
fn rows_with_images_are_cleaned_like_others() {
    // ING-23
    let picture = [
        MessageFacts {
            images: &["9f"],
            ..user("A llama?")
        },
        assistant("Yes."),
    ];
    check(with(&picture, &picture), Some(Rule::IdentityWord), None);
}

#[test]
fn a_model_against_itself_is_excluded() {
    // ING-14
    check(
        Facts {
            models: Sides { a: "one", b: "one" },
            ..vote()
        },
        None,
        Some(Rule::SelfBattle),
    );
}

#[test]
fn the_last_of_several_votes_on_one_conversation_counts() {
    // ING-15
    let cast = |time, winner| Facts {
        id: Some("c1"),
        time: Some(time),
        winner,
        ..vote()
    };
    let rows = [
        cast(20.0, Winner::B),
        cast(10.0, Winner::A),
        Facts {
            id: Some("c2"),
            ..vote()
        },
    ];
    let cleaned = clean(agon(), &rows);
    assert_eq!(excluded_by(&cleaned), [None, Some(Rule::Superseded), None]);
    for (row, is_repeated) in [(0, true), (1, true), (2, false)] {
        assert_eq!(
            cleaned
                .verdict(row)
                .unwrap()
                .flags
                .contains(Rule::VotedAgain),
            is_repeated
        );
    }
    // The reference counts both.
    assert_eq!(clean(reference(), &rows).audit.kept, 3);
    // Without times nothing says that the later row is the later vote: the first counts, as in an import.
    let untimed = |winner| Facts {
        id: Some("c1"),
        winner,
        ..vote()
    };
    let cleaned = clean(agon(), &[untimed(Winner::A), untimed(Winner::B)]);
    assert_eq!(excluded_by(&cleaned), [None, Some(Rule::Superseded)]);
    // One question, other models or another judge: other battles.
    let other_judge = Facts {
        judge: Some("somebody else"),
        ..untimed(Winner::A)
    };
    let mut other_pair = untimed(Winner::A);
    other_pair.models.b = "wren";
    let rows = [untimed(Winner::A), other_judge, other_pair];
    assert_eq!(excluded_by(&clean(agon(), &rows)), [None; 3]);
}

#[test]
fn a_vote_after_the_reveal_does_not_supersede_the_blind_one() {
    let cast = |time, a, b| Facts {
        id: Some("c1"),
        time: Some(time),
        is_anonymous: None,
        selectors: Some(Sides {
            a: Some(a),
            b: Some(b),
        }),
        ..vote()
    };
    let rows = [
        cast(1.0, "", ""),
        cast(2.0, "### Model A: one", "### Model B: two"),
    ];
    assert_eq!(
        excluded_by(&clean(agon(), &rows)),
        [None, Some(Rule::Named)]
    );
    assert_eq!(excluded_by(&clean(reference(), &rows)), [None, None]);
}

#[test]
fn a_log_without_votes_gives_an_empty_audit() {
    // ING-25
    for profile in [reference(), agon()] {
        let cleaned = clean(profile, &[]);
        assert_eq!(cleaned.audit.kept_share(), None);
        assert_eq!(cleaned.audit.kept, 0);
    }
    assert_eq!(clean(agon(), &[vote()]).audit.kept_share(), Some(1.0));
}

#[test]
fn units_of_time_are_inferred_and_mixtures_refused() {
    // ING-26
    let cast = |time| Facts {
        judge: Some("j"),
        time: Some(time),
        ..vote()
    };
    let capped = |times: &[f64]| {
        let profile = Profile::Agon1(AgonOptions {
            daily_cap: Some(1),
            ..AgonOptions::default()
        });
        let rows: Vec<Facts<'_>> = times.iter().map(|&time| cast(time)).collect();
        excluded_by(&clean(profile, &rows))
    };
    let day_s = 86_400.0;
    let start = 1_690_000_000.456;
    for factor in [1.0, 1e3, 1e6, 1e9] {
        let times = [start, start + 60.0, start + day_s].map(|time| time * factor);
        assert_eq!(
            capped(&times),
            [None, Some(Rule::DailyCap), None],
            "{factor}"
        );
    }
    let mut cleaner = Cleaner::new(agon());
    cleaner.add(&cast(1_690_000_000.0)).unwrap();
    let error = cleaner.add(&cast(1_690_000_000_456.0)).unwrap_err();
    assert_eq!(
        (error.expected, error.found, error.row),
        (TimeUnit::Seconds, TimeUnit::Milliseconds, 1)
    );
    // The refused row has left nothing behind.
    assert_eq!(cleaner.finish().n_rows(), 1);
    let cleaned = clean(agon(), &[cast(f64::NAN), cast(-1.0), cast(f64::INFINITY)]);
    assert_eq!(
        (cleaned.audit.n_bad_times, cleaned.audit.n_uncapped),
        (3, 3)
    );
    assert_eq!(cleaned.audit.kept, 3);
}

#[test]
fn days_are_those_of_utc_and_the_reference_s_those_of_its_machine() {
    // ING-28
    let midnight = 1_690_070_400.0;
    assert_eq!(midnight % 86_400.0, 0.0);
    let cast = |time| Facts {
        judge: Some("j"),
        time: Some(time),
        ..vote()
    };
    let rows = [
        cast(midnight - 0.001),
        cast(midnight),
        cast(midnight + 86_399.999),
        cast(midnight + 86_400.0),
    ];
    let one = Profile::Agon1(AgonOptions {
        daily_cap: Some(1),
        top_prompts: None,
        ..AgonOptions::default()
    });
    assert_eq!(
        excluded_by(&clean(one, &rows)),
        [None, None, Some(Rule::DailyCap), None]
    );
    let in_california = Profile::FastChat202504(FastChatOptions {
        daily_cap: Some(1),
        utc_offset_s: -7 * 3600,
        ..FastChatOptions::default()
    });
    assert_eq!(
        excluded_by(&clean(in_california, &rows)),
        [None, Some(Rule::DailyCap), None, Some(Rule::DailyCap)]
    );
}

#[test]
fn a_judge_is_one_person_in_all_sources() {
    // ING-29: what tells judges apart is their text alone, not where a row stands.
    let cast = |judge, time| Facts {
        judge: Some(judge),
        time: Some(time),
        ..vote()
    };
    let rows: Vec<Facts<'_>> = (0..12)
        .map(|idx| {
            cast(
                if idx % 2 == 0 { "x" } else { "y" },
                1000.0 + f64::from(idx),
            )
        })
        .collect();
    let cleaned = clean(agon(), &rows);
    let capped: Vec<usize> = (0..12).filter(|&row| !cleaned.is_kept(row)).collect();
    assert_eq!(capped, [10, 11]);
    assert_eq!(DAILY_CAP, 5);
}

#[test]
fn the_first_vote_of_a_visit_alone_counts_when_asked_for() {
    // ING-39
    let cast = |visit, time| Facts {
        visit: Some(visit),
        time: Some(time),
        ..vote()
    };
    let rows = [cast("v", 30.0), cast("v", 10.0), cast("w", 20.0), vote()];
    assert_eq!(clean(agon(), &rows).audit.kept, 4);
    let first = Profile::Agon1(AgonOptions {
        first_vote_of_visit_only: true,
        ..AgonOptions::default()
    });
    assert_eq!(
        excluded_by(&clean(first, &rows)),
        [Some(Rule::LaterVoteOfVisit), None, None, None]
    );
}

#[test]
fn rows_without_conversations_are_judged_by_the_rest() {
    let bare = Facts {
        messages: None,
        is_anonymous: None,
        ..vote()
    };
    for profile in [reference(), agon()] {
        let audit = clean(profile, &[bare]).audit;
        assert_eq!(
            (
                audit.kept,
                audit.n_without_conversations,
                audit.n_anonymity_unknown
            ),
            (1, 1, 1)
        );
    }
    let unannotated = [
        user("Hi"),
        MessageFacts {
            identity: None,
            ..assistant("Hello")
        },
    ];
    assert_eq!(
        clean(agon(), &[with(&unannotated, PLAIN)])
            .audit
            .n_without_identity,
        1
    );
}

/// 10 001 distinct prompts: one 30 times, one 10 times, the others once. The quantile 0.9999 of their counts is 10.
fn frequent() -> Vec<(String, String)> {
    let mut prompts: Vec<String> = vec!["hi".to_owned(); 30];
    prompts.extend(vec!["hello".to_owned(); 10]);
    prompts.extend((0..9_999).map(|idx| format!("prompt {idx}")));
    prompts
        .into_iter()
        .enumerate()
        .map(|(idx, prompt)| (format!("id {idx}"), prompt))
        .collect()
}

fn clean_prompts(profile: Profile, rows: &[(String, String)]) -> Cleaned {
    let mut cleaner = Cleaner::new(profile);
    for (id, prompt) in rows {
        let messages = [user(prompt), assistant("Hello.")];
        cleaner
            .add(&Facts {
                id: Some(id),
                ..with(&messages, &messages)
            })
            .unwrap();
    }
    let cleaned = cleaner.finish();
    assert_counts_add_up(&cleaned, rows.len());
    cleaned
}

#[test]
fn frequent_prompts_count_as_often_as_the_quantile_says() {
    let rows = frequent();
    let cleaned = clean_prompts(agon(), &rows);
    let top = cleaned.audit.top_prompts.unwrap();
    assert_eq!(top.n_prompts, 10_001);
    assert!((top.cut_off.unwrap() - 10.0).abs() < 1e-6, "{top:?}");
    assert_eq!(
        (
            top.n_frequent_prompts,
            top.n_frequent_rows,
            top.n_sampled_rows
        ),
        (1, 30, 10)
    );
    let kept_hi = (0..30).filter(|&row| cleaned.is_kept(row)).count();
    assert_eq!(kept_hi, 10);
    assert_eq!(cleaned.audit.kept, 10 + 10 + 9_999);
    let tag = |row| cleaned.verdict(row).unwrap().dedup.unwrap();
    assert!((0..30).all(|row| tag(row).high_freq && tag(row).sampled == cleaned.is_kept(row)));
    assert!((30..rows.len()).all(|row| tag(row)
        == DedupTag {
            high_freq: false,
            sampled: true
        }));
    // Another seed draws other rows; the reference only tags unless asked to exclude.
    let with_seed = |seed| {
        Profile::Agon1(AgonOptions {
            top_prompts: Some(TopPrompts {
                seed,
                ..TopPrompts::REFERENCE
            }),
            ..AgonOptions::default()
        })
    };
    let kept =
        |cleaned: &Cleaned| -> Vec<usize> { (0..30).filter(|&row| cleaned.is_kept(row)).collect() };
    assert_ne!(
        kept(&clean_prompts(with_seed(1), &rows)),
        kept(&clean_prompts(with_seed(2), &rows))
    );
    assert_eq!(
        kept(&clean_prompts(with_seed(1), &rows)),
        kept(&clean_prompts(with_seed(1), &rows))
    );
    let tags = Profile::FastChat202504(FastChatOptions {
        top_prompts: Some(TopPrompts {
            excludes: false,
            ..TopPrompts::REFERENCE
        }),
        ..FastChatOptions::default()
    });
    let tagged = clean_prompts(tags, &rows);
    assert_eq!(tagged.audit.kept, rows.len() as u64);
    assert_eq!(tagged.audit.top_prompts.unwrap().n_sampled_rows, 10);
}

#[test]
fn one_sentence_about_many_images_is_many_prompts() {
    let ids: Vec<String> = (0..20).map(|idx| format!("image {idx}")).collect();
    let images: Vec<[&str; 1]> = ids.iter().map(|id| [id.as_str()]).collect();
    let count = |key, prompts: &[&str]| {
        let mut cleaner = Cleaner::new(Profile::Agon1(AgonOptions {
            top_prompts: Some(TopPrompts {
                key,
                ..TopPrompts::REFERENCE
            }),
            ..AgonOptions::default()
        }));
        for (idx, prompt) in prompts.iter().enumerate() {
            let image = &images[idx % images.len()];
            let messages = [
                MessageFacts {
                    images: image,
                    ..user(prompt)
                },
                assistant("A cat."),
            ];
            cleaner.add(&with(&messages, &messages)).unwrap();
        }
        cleaner.finish().audit.top_prompts.unwrap().n_prompts
    };
    let same = ["Describe this image."; 20];
    assert_eq!(count(PromptKey::Text, &same), 1);
    assert_eq!(count(PromptKey::TextAndImages, &same), 20);
    // The same image again, with the sentence written otherwise.
    let mut again = same.to_vec();
    again.extend(["  describe THIS\nimage. "; 20]);
    assert_eq!(count(PromptKey::Text, &again), 2);
    assert_eq!(count(PromptKey::TextAndImages, &again), 20);
}

#[test]
fn prompts_that_other_rules_exclude_are_not_counted() {
    let named = Facts {
        is_anonymous: Some(false),
        ..vote()
    };
    let top = clean(agon(), &[named, named, vote()])
        .audit
        .top_prompts
        .unwrap();
    assert_eq!((top.n_rows, top.n_prompts), (1, 1));
}

#[test]
fn the_order_of_rows_changes_no_verdict_of_rows_with_ids_and_times() {
    let judges: Vec<String> = (0..7).map(|idx| format!("judge {idx}")).collect();
    let ids: Vec<String> = (0..250).map(|idx| format!("id {idx}")).collect();
    let prompts: Vec<String> = (0..40).map(|idx| format!("prompt {idx}")).collect();
    let messages: Vec<[MessageFacts<'_>; 2]> = prompts
        .iter()
        .map(|prompt| [user(prompt), assistant("Yes.")])
        .collect();
    let profile = || {
        Profile::Agon1(AgonOptions {
            first_vote_of_visit_only: true,
            daily_cap: Some(3),
            top_prompts: Some(TopPrompts {
                quantile: 0.9,
                ..TopPrompts::REFERENCE
            }),
            ..AgonOptions::default()
        })
    };
    // 300 votes, fifty of them on an earlier conversation, over about four days.
    let rows: Vec<Facts<'_>> = (0..300usize)
        .map(|idx| Facts {
            id: Some(&ids[idx % 250]),
            judge: Some(&judges[idx * idx % 7]),
            visit: (idx % 3 == 0).then_some(judges[idx / 3 % 7].as_str()),
            time: Some(1_690_000_000.0 + 1_151.0 * idx as f64),
            is_anonymous: Some(idx % 11 != 0),
            ..with(&messages[idx * idx % 40], &messages[idx % 40])
        })
        .collect();
    let expected = clean(profile(), &rows);
    let by: Vec<Option<Rule>> = excluded_by(&expected);
    for rule in [
        Rule::Named,
        Rule::Superseded,
        Rule::LaterVoteOfVisit,
        Rule::DailyCap,
        Rule::TopPrompt,
    ] {
        assert!(by.contains(&Some(rule)), "{rule} is not tried");
    }
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    for _ in 0..20 {
        order.shuffle(&mut rng);
        let shuffled: Vec<Facts<'_>> = order.iter().map(|&row| rows[row]).collect();
        let cleaned = clean(profile(), &shuffled);
        assert_eq!(cleaned.audit, expected.audit);
        for (place, &row) in order.iter().enumerate() {
            assert_eq!(cleaned.verdict(place), expected.verdict(row), "row {row}");
        }
    }
}

#[test]
fn the_golden_battles_of_the_reference_pass_whole() {
    let counts = [
        ("A", "B", [6, 3, 1, 0]),
        ("B", "A", [2, 0, 0, 2]),
        ("B", "C", [5, 4, 0, 0]),
        ("C", "A", [2, 7, 2, 0]),
    ];
    let mut rows = Vec::new();
    for (a, b, by_winner) in counts {
        for (winner, n) in Winner::ALL.into_iter().zip(by_winner) {
            rows.extend(std::iter::repeat_n(
                Facts {
                    models: Sides { a, b },
                    winner,
                    ..vote()
                },
                n,
            ));
        }
    }
    assert_eq!(rows.len(), 34);
    for profile in [reference(), agon_by_row()] {
        assert_eq!(clean(profile, &rows).audit.kept, 34);
    }
    let without_ties = Profile::FastChat202504(FastChatOptions {
        drop_ties: true,
        ..FastChatOptions::default()
    });
    assert_eq!(clean(without_ties, &rows).audit.kept, 29);
}

/// The bytes of a file of the shared test data, or `None` after saying that it is absent.
fn shared(path: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test reads where the shared data are"
    )]
    let folder = std::env::var("AGON_TESTDATA");
    let Ok(folder) = folder else {
        println!("AGON_TESTDATA is not set: `{path}` is not read");
        return None;
    };
    Some(std::fs::read_to_string(PathBuf::from(folder).join(path)).unwrap())
}

#[test]
fn a_published_table_loses_its_named_votes() {
    let Some(text) = shared("votes/genai-arena/clean_battle_20240220.json") else {
        return;
    };
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    let facts: Vec<Facts<'_>> = rows
        .iter()
        .map(|row| Facts {
            models: Sides {
                a: row["model_a"].as_str().unwrap(),
                b: row["model_b"].as_str().unwrap(),
            },
            winner: Winner::parse(row["winner"].as_str().unwrap()).unwrap(),
            judge: row["judge"].as_str(),
            time: row["tstamp"].as_f64(),
            is_anonymous: row["anony"].as_bool(),
            messages: None,
            ..vote()
        })
        .collect();
    let audit = clean(agon_by_row(), &facts).audit;
    assert_eq!((audit.rows, audit.kept), (2_061, 1_515));
    let audit = clean(reference(), &facts).audit;
    assert_eq!((audit.kept, audit.kept_anonymous), (2_061, 1_515));
}

#[test]
fn battles_that_the_reference_cleaned_stay_clean() {
    let Some(text) = shared("votes/lmarena-battles/battles_001_040.jsonl") else {
        return;
    };
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let side = |row: &Value, column: &str| -> Vec<(Role, String)> {
        let messages = row[column].as_array().unwrap();
        messages
            .iter()
            .map(|message| {
                let role = if message["role"] == "user" {
                    Role::User
                } else {
                    Role::Assistant
                };
                (role, message["content"].as_str().unwrap().to_owned())
            })
            .collect()
    };
    for profile in [reference(), agon()] {
        let mut cleaner = Cleaner::new(profile);
        for row in &rows {
            let sides = Sides {
                a: side(row, "conversation_a"),
                b: side(row, "conversation_b"),
            };
            let messages = Sides {
                a: &sides.a,
                b: &sides.b,
            }
            .map(|messages| -> Vec<MessageFacts<'_>> {
                messages
                    .iter()
                    .map(|(role, text)| MessageFacts {
                        role: *role,
                        ..user(text)
                    })
                    .collect()
            });
            let facts = Facts {
                id: row["question_id"].as_str(),
                models: Sides {
                    a: row["model_a"].as_str().unwrap(),
                    b: row["model_b"].as_str().unwrap(),
                },
                time: row["tstamp"].as_f64(),
                is_anonymous: row["anony"].as_bool(),
                ..with(&messages.a, &messages.b)
            };
            cleaner.add(&facts).unwrap();
        }
        let cleaned = cleaner.finish();
        assert_counts_add_up(&cleaned, 39);
        assert_eq!(cleaned.audit.kept, 39, "{:?}", cleaned.audit);
    }
}
