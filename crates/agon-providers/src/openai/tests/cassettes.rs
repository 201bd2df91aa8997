//! Replays `tests/cassettes/openai/<scenario>/body`, whole and cut at every byte, against `events`.
//!
//! A file `end_rule` beside them changes what counts as an end.

use std::{fs, path::PathBuf};

use crate::{
    EndRule, GenerationEvent, Limits,
    openai::decode::{Close, Decoder},
    redaction::Redaction,
};

/// One line per event, as the files hold them.
pub(super) fn show(event: &GenerationEvent) -> String {
    match event {
        GenerationEvent::Started => "started".to_owned(),
        GenerationEvent::Thinking => "thinking".to_owned(),
        GenerationEvent::Text(text) => {
            format!("text {}", serde_json::to_string(text).unwrap())
        }
        GenerationEvent::Finished { finish, usage } => {
            let count = |n: Option<u32>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
            format!(
                "finished {} input={} output={}",
                finish.as_str(),
                count(usage.input_tokens),
                count(usage.output_tokens)
            )
        }
        GenerationEvent::Failed(error) => format!("failed {} {error}", error.kind.as_str()),
    }
}

fn decode(chunks: &[&[u8]], end_rule: EndRule) -> Vec<String> {
    let event_bytes_max = Limits::default().event_bytes_max;
    let mut decoder = Decoder::new(end_rule, event_bytes_max, false, Redaction::default());
    let mut events = Vec::new();
    for chunk in chunks {
        events.extend(decoder.push(chunk));
    }
    events.extend(decoder.close(Close::Clean));
    events.iter().map(show).collect()
}

#[test]
fn every_cassette_gives_its_events_however_it_is_cut() {
    let root = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/cassettes/openai"
    ));
    let mut n_scenarios = 0;
    let mut n_cuts = 0;
    for folder in fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let body = fs::read(folder.join("body")).unwrap();
        let expected = fs::read_to_string(folder.join("events")).unwrap();
        let expected: Vec<&str> = expected.lines().collect();
        let end_rule = match fs::read_to_string(folder.join("end_rule")) {
            Ok(rule) if rule.trim() == "finish_reason" => EndRule::FinishReason,
            Ok(rule) if rule.trim() == "close" => EndRule::Close,
            Ok(rule) => panic!("{name}: unknown end rule {rule}"),
            Err(_) => EndRule::default(),
        };
        assert_eq!(decode(&[&body], end_rule), expected, "{name}");
        for cut in 0..=body.len() {
            let (left, right) = body.split_at(cut);
            assert_eq!(
                decode(&[left, right], end_rule),
                expected,
                "{name} cut at {cut}"
            );
            n_cuts += 1;
        }
        let single: Vec<&[u8]> = body.chunks(1).collect();
        assert_eq!(decode(&single, end_rule), expected, "{name} byte by byte");
        n_scenarios += 1;
    }
    assert!(n_scenarios >= 60, "only {n_scenarios} scenarios found");
    assert!(n_cuts > 10_000, "only {n_cuts} cuts made");
}

#[test]
fn a_stream_that_breaks_anywhere_ends_once_and_keeps_the_text_before() {
    let stream = concat!(
        "data: {\"choices\":[{\"delta\":{\"content\":\"one\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\" twö\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n"
    );
    for cut in 0..stream.len() {
        let event_bytes_max = Limits::default().event_bytes_max;
        let mut decoder = Decoder::new(
            EndRule::default(),
            event_bytes_max,
            false,
            Redaction::default(),
        );
        let mut events = decoder.push(&stream.as_bytes()[..cut]);
        let broken = crate::Error::new(crate::ErrorKind::Cut, "broken");
        events.extend(decoder.close(Close::Broken(broken)));
        let n_terminal = events.iter().filter(|event| event.is_terminal()).count();
        assert_eq!(n_terminal, 1, "cut at {cut}: {events:?}");
        assert!(events.last().unwrap().is_terminal());
        let finish = events.last().unwrap().finish().unwrap();
        let has_reason = cut >= stream.find("\"stop\"").unwrap() + "\"stop\"}]}".len();
        let expected = if has_reason {
            agon_domain::Finish::Stop
        } else {
            agon_domain::Finish::Cut
        };
        assert_eq!(finish, expected, "cut at {cut}");
    }
}

#[test]
fn whatever_comes_ends_once() {
    // A small generator of its own: mutated cassettes, fixed seeds, no panic and one terminal event.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cassettes/openai");
    let mut state = 7_u64;
    let mut random = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % n.max(1)
    };
    for folder in fs::read_dir(root).unwrap() {
        let body = fs::read(folder.unwrap().path().join("body")).unwrap();
        for _ in 0..200 {
            let mut mutated = body.clone();
            for _ in 0..=random(4) {
                let place = random(mutated.len());
                match random(4) {
                    0 if !mutated.is_empty() => {
                        mutated.remove(place);
                    }
                    1 => mutated.insert(place, b"\r\n{}[]\"\\:,\0\xffd "[random(14)]),
                    2 if !mutated.is_empty() => mutated[place] ^= 1 << random(8),
                    _ => mutated.truncate(place),
                }
            }
            let (left, right) = mutated.split_at(random(mutated.len()));
            for end_rule in [EndRule::FinishReason, EndRule::DoneMarker, EndRule::Close] {
                let whole = decode(&[&mutated], end_rule);
                assert_eq!(whole, decode(&[left, right], end_rule));
                let n_terminal = whole.iter().filter(|line| line.starts_with("f")).count();
                assert_eq!(n_terminal, 1, "{whole:?}");
            }
        }
    }
}

#[test]
fn an_event_or_document_that_never_ends_is_refused() {
    for start in [
        "data: {\"choices\":[{\"delta\":{\"content\":\"",
        "{\"choices\":",
        "\n",
    ] {
        let mut decoder = Decoder::new(EndRule::default(), 10_000, false, Redaction::default());
        let mut events = decoder.push(start.as_bytes());
        let filling = if start == "\n" {
            [b' '; 1000]
        } else {
            [b'a'; 1000]
        };
        for _ in 0..20 {
            events.extend(decoder.push(&filling));
        }
        let shown: Vec<String> = events.iter().map(show).collect();
        assert_eq!(
            shown,
            ["failed too_large the provider sent an event of more than 10000 bytes"]
        );
    }
}
