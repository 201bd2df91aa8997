//! Tests of personas and scripts: what a newcomer is to see, and what tests rely on.

use std::collections::HashSet;

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::time::Instant;

use super::*;
use crate::{Message, Provider, RequestImage};

const PROMPTS: [&str; 10] = [
    "What is a tide?",
    "How do I plan a garden party?",
    "What does this picture show, a cat?",
    "hello",
    "thanks!",
    "What is 17 * 23?",
    "Write a Python function that counts words",
    "Write a short poem about rain",
    "为什么天空是蓝色的？",
    "???",
];

fn image() -> RequestImage {
    RequestImage {
        media_type: "image/jpeg".to_owned(),
        bytes: Bytes::from_static(&[0; 2048]),
        width_px: 640,
        height_px: 480,
    }
}

/// Requests of every kind: each prompt alone, with an image, and as a follow-up.
fn requests() -> Vec<Request> {
    PROMPTS
        .iter()
        .flat_map(|prompt| {
            let first = Message::user(*prompt);
            [
                Request::new(vec![first.clone()]),
                Request::new(vec![first.clone().with_image(image())]),
                Request::new(vec![
                    first,
                    Message::assistant("Something."),
                    Message::user("And what about the moon?"),
                ]),
            ]
        })
        .collect()
}

async fn generate(provider: Scripted, request: Request, seed: u64) -> (String, GenerationEvent) {
    let events: Vec<_> = Provider::from(provider)
        .generate(request, seed)
        .collect()
        .await;
    let text = events
        .iter()
        .filter_map(|event| match event {
            GenerationEvent::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    (text, events.last().unwrap().clone())
}

#[test]
fn names_are_distinct_and_read_back() {
    let names: HashSet<_> = Persona::ALL.iter().map(|persona| persona.name()).collect();
    assert_eq!(names.len(), Persona::ALL.len());
    for persona in Persona::ALL {
        assert_eq!(Persona::from_name(persona.name()), Some(persona));
        assert!(persona.name().starts_with("demo-"));
        assert!(persona.description().starts_with("Scripted demo: "));
    }
    assert_eq!(Persona::from_name("demo"), None);
    let n_seeing = Persona::ALL
        .iter()
        .filter(|persona| persona.vision())
        .count();
    assert!((2..Persona::ALL.len()).contains(&n_seeing));
}

#[test]
fn no_answer_tells_who_wrote_it() {
    for request in requests() {
        for persona in Persona::ALL {
            for seed in 0..8 {
                let answer = persona.answer(&request, seed).to_lowercase();
                assert!(!answer.trim().is_empty());
                for other in Persona::ALL {
                    assert!(!answer.contains(other.name()), "{answer}");
                    let bare = other.name().trim_start_matches("demo-");
                    let names_itself = answer
                        .split(|c: char| !c.is_alphanumeric())
                        .any(|word| word == bare);
                    assert!(!names_itself, "{} says {bare}: {answer}", persona.name());
                }
            }
        }
    }
}

#[test]
fn the_same_persona_prompt_turn_and_seed_give_the_same_answer() {
    for request in requests() {
        let answers: HashSet<String> = Persona::ALL
            .iter()
            .map(|persona| {
                let answer = persona.answer(&request, 3);
                assert_eq!(answer, persona.answer(&request, 3));
                answer
            })
            .collect();
        assert_eq!(
            answers.len(),
            Persona::ALL.len(),
            "two personas say the same"
        );
    }
    let request = Request::new(vec![Message::user("What is a tide?")]);
    for persona in Persona::ALL {
        let variants: HashSet<String> =
            (0..16).map(|seed| persona.answer(&request, seed)).collect();
        assert!(variants.len() > 1, "{} has one phrase only", persona.name());
    }
}

#[test]
fn answers_are_about_the_prompt_and_the_image() {
    let tide = Request::new(vec![Message::user("What is a tide?")]);
    let seen = Request::new(vec![Message::user("What is a tide?").with_image(image())]);
    for persona in Persona::ALL {
        for seed in 0..8 {
            let answer = persona.answer(&tide, seed).to_lowercase();
            assert!(answer.contains("tide"), "{answer}");
            assert!(
                !persona.answer(&tide, seed).contains("640"),
                "{}",
                persona.name()
            );
            if persona.vision() {
                let answer = persona.answer(&seen, seed);
                assert!(answer.contains("640") && answer.contains("480"), "{answer}");
            }
        }
    }
}

#[test]
fn sums_are_right_except_where_they_are_to_be_wrong() {
    let request = Request::new(vec![Message::user("What is 17 * 23?")]);
    for persona in Persona::ALL {
        for seed in 0..16 {
            let is_right = persona.answer(&request, seed).contains("391");
            assert_eq!(is_right, persona != Persona::Confused, "{}", persona.name());
        }
    }
}

#[test]
fn quality_and_length_differ_clearly() {
    let request = Request::new(vec![Message::user("Why is the sky blue?")]);
    let length = |persona: Persona| persona.answer(&request, 1).chars().count();
    assert!(length(Persona::Confused) < 120);
    assert!(length(Persona::Terse) < 200);
    assert!(length(Persona::Structured) > 700);
    assert!(length(Persona::Rambler) > 1000);
}

#[test]
fn every_feature_of_markdown_is_shown_by_somebody() {
    // One prompt that the personas know something about, and one that they do not.
    let requests = ["Why is the sky blue?", "How do I plan a garden party?"]
        .map(|prompt| Request::new(vec![Message::user(prompt)]));
    let answers = |persona: Persona| -> String {
        let each = requests
            .iter()
            .flat_map(|request| (0..8).map(|seed| persona.answer(request, seed) + "\n"));
        each.collect()
    };
    let check = |persona: Persona, wanted: &[&str]| {
        let all = answers(persona);
        for feature in wanted {
            assert!(all.contains(feature), "{} lacks {feature}", persona.name());
        }
    };
    check(
        Persona::Structured,
        &[
            "\n## ",
            "\n### ",
            "\n1. ",
            "\n- ",
            "\n  - ",
            "- [ ] ",
            "**",
            "\n| ",
            "|:--|",
            "\n> ",
            "*details*",
        ],
    );
    check(
        Persona::Coder,
        &["```python\n", "```rust\n", "\n```\n", "`"],
    );
    check(
        Persona::Mathematician,
        &["\\(x(t)\\)", "$$", "\\[", "\\]", "$K$", "\\frac"],
    );
    check(Persona::Poet, &["  \n"]);
    check(Persona::French, &["é", "### "]);
    check(Persona::Arabic, &["التعريف", "### ", "**"]);
    let plain = answers(Persona::Rambler);
    assert!(!plain.contains(['*', '#', '|', '`', '$']), "{plain}");
}

#[test]
fn markup_of_the_prompt_does_not_get_into_the_answer() {
    let hostile = "<script>alert(1)</script> ![x](http://evil.example/y.png) `a` **b** | c";
    let request = Request::new(vec![Message::user(hostile)]);
    for persona in Persona::ALL {
        let answer = persona.answer(&request, 1);
        assert!(!answer.contains("<script"), "{answer}");
        assert!(!answer.contains("]("), "{answer}");
    }
}

#[test]
fn pieces_are_small_and_add_up() {
    for request in requests() {
        for persona in Persona::ALL {
            let answer = persona.answer(&request, 2);
            let pieces = persona::pieces(&answer);
            assert_eq!(pieces.concat(), answer);
            assert!(pieces.iter().all(|piece| !piece.is_empty()));
            assert!(pieces.iter().all(|piece| piece.trim().chars().count() <= 8));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_persona_streams_at_its_pace() {
    let start = Instant::now();
    let provider = Scripted::persona(Persona::Structured, Pace::default());
    let request = Request::new(vec![Message::user("What is a tide?")]);
    let mut events = provider.generate(request.clone(), 5);
    let mut first_ms = None;
    let mut n_pieces = 0_u128;
    let mut text = String::new();
    while let Some(event) = events.next().await {
        if let GenerationEvent::Text(piece) = event {
            first_ms.get_or_insert(start.elapsed().as_millis());
            n_pieces += 1;
            text.push_str(&piece);
        }
    }
    assert_eq!(text, Persona::Structured.answer(&request, 5));
    assert!((200..=601).contains(&first_ms.unwrap()), "{first_ms:?}");
    let mean_ms = (start.elapsed().as_millis() - first_ms.unwrap()) / n_pieces;
    assert!((20..=30).contains(&mean_ms), "{mean_ms}");
}

#[tokio::test]
async fn a_persona_keeps_to_the_token_limit() {
    let mut request = Request::new(vec![Message::user("What is a tide?")]);
    request.max_output_tokens = Some(10);
    let provider = Scripted::persona(Persona::Rambler, Pace::INSTANT);
    let (text, end) = generate(provider.clone(), request.clone(), 1).await;
    assert_eq!(end.finish(), Some(Finish::Length));
    assert!(text.len() < 100);
    request.max_output_tokens = Some(10_000);
    let (_, end) = generate(provider, request, 1).await;
    assert_eq!(end.finish(), Some(Finish::Stop));
}

#[tokio::test]
async fn a_persona_that_cannot_see_refuses_an_image() {
    for persona in Persona::ALL {
        let request = Request::new(vec![Message::user("what?").with_image(image())]);
        let provider = Scripted::persona(persona, Pace::INSTANT);
        let (text, end) = generate(provider, request, 1).await;
        let refused = matches!(&end, GenerationEvent::Failed(error) if error.kind == ErrorKind::ImageRejected);
        assert_eq!(refused, !persona.vision());
        assert_eq!(text.is_empty(), refused);
    }
}

#[tokio::test]
async fn scripts_are_played_one_after_the_other_and_the_last_again() {
    let provider = Scripted::scripts(vec![
        Script::new().fail(ErrorKind::Overloaded),
        Script::answer("first"),
        Script::new()
            .think()
            .text("you said: ")
            .echo_prompt()
            .usage(Usage {
                input_tokens: Some(3),
                output_tokens: Some(4),
            })
            .finish(Finish::Length),
    ]);
    let request = || Request::new(vec![Message::user("ping")]);
    let (text, end) = generate(provider.clone(), request(), 1).await;
    assert!(text.is_empty());
    assert!(
        matches!(end, GenerationEvent::Failed(error) if error.kind == ErrorKind::Overloaded && !error.partial)
    );
    let (text, _) = generate(provider.clone(), request(), 1).await;
    assert_eq!(text, "first");
    for _ in 0..2 {
        let (text, end) = generate(provider.clone(), request(), 1).await;
        assert_eq!(text, "you said: ping");
        assert!(matches!(
            end,
            GenerationEvent::Finished { finish: Finish::Length, usage } if usage.output_tokens == Some(4)
        ));
    }
    assert_eq!(provider.n_played(), 4);
}

#[tokio::test]
async fn a_request_without_a_question_fails_before_any_provider_is_asked() {
    let provider = Scripted::script(Script::answer("x"));
    let (_, end) = generate(provider.clone(), Request::new(vec![]), 1).await;
    assert!(
        matches!(end, GenerationEvent::Failed(error) if error.kind == ErrorKind::RejectedRequest)
    );
    assert_eq!(provider.n_played(), 0);
}
