//! Buckets and models: the same everywhere, and nothing unreadable accepted.

use proptest::prelude::*;

use super::{Class, Model, buckets, sigmoid};

const N_BUCKETS: u32 = 1 << 16;

fn model() -> Model {
    let class = |name: &str, bias| Class {
        name: name.to_owned(),
        scale: 0.5,
        bias,
        true_from: 0.75,
        false_to: 0.25,
    };
    Model {
        classes: vec![class("one", 0.0), class("two", -1.5)],
        n_buckets: 4,
        weights: vec![1, -2, 3, -4, 127, -127, 0, 5],
    }
}

/// The weights in the binary belong to these very buckets: a change here needs training anew and a new version of both annotators.
#[test]
fn buckets_stay_what_the_weights_were_trained_on() {
    for (text, n_found, sum) in [
        ("", 4, 135_593),
        ("Describe this image.", 26, 951_874),
        ("描述这张图片", 19, 557_526),
        ("Опиши картинку 123", 21, 653_492),
    ] {
        let found = buckets(text, N_BUCKETS);
        assert_eq!(
            (found.len(), found.iter().sum::<u32>()),
            (n_found, sum),
            "{text}"
        );
    }
}

#[test]
fn case_width_and_spaces_change_no_word() {
    let of = |text| buckets(text, N_BUCKETS);
    assert_eq!(of("What is this"), of("WHAT  IS THIS"));
    assert_eq!(of("abc 123"), of("ａｂｃ　１２３"));
    assert_ne!(of("what is this"), of("this is what"));
}

#[test]
fn only_the_two_ends_of_a_long_text_are_read() {
    let filler = "lorem ".repeat(5_000);
    let at = |position: &str| match position {
        "start" => format!("poem {filler}"),
        "end" => format!("{filler} poem"),
        _ => format!("{filler}poem {filler}"),
    };
    let has = |text: &str| {
        let word = buckets("poem", N_BUCKETS);
        let shape = buckets("", N_BUCKETS);
        let found = buckets(text, N_BUCKETS);
        word.iter()
            .any(|bucket| !shape.contains(bucket) && found.contains(bucket))
    };
    assert!(has(&at("start")) && has(&at("end")));
    assert!(buckets(&at("middle"), N_BUCKETS).len() < 40);
}

#[test]
fn a_model_reads_back_as_it_was_written() {
    let bytes = model().to_bytes();
    assert_eq!(Model::from_bytes(&bytes).unwrap(), model());
}

#[test]
fn every_cut_or_changed_head_of_a_model_is_refused_or_read() {
    let bytes = model().to_bytes();
    for end in 0..bytes.len() {
        assert!(Model::from_bytes(&bytes[..end]).is_err(), "{end}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(Model::from_bytes(&longer).is_err());
    for at in 0..40 {
        for value in [0, 1, 127, 255] {
            let mut changed = bytes.clone();
            changed[at] = value;
            // Reading must not panic, whatever it finds.
            let _ = Model::from_bytes(&changed);
        }
    }
    let error = Model::from_bytes(b"not a model").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model is unreadable at byte `8`: it does not begin with `agonlin1`"
    );
}

#[test]
fn the_logistic_function_has_its_values() {
    assert!((sigmoid(0.0) - 0.5).abs() < 1e-15);
    assert!((sigmoid(2.0) - 0.880_797_077_977_882_3).abs() < 1e-15);
    assert!(sigmoid(-1e6) >= 0.0 && sigmoid(1e6) <= 1.0);
}

proptest! {
    #[test]
    fn any_text_has_buckets_in_range_and_probabilities(text in any::<String>()) {
        let found = buckets(&text, 4);
        prop_assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(found.iter().all(|bucket| *bucket < 4));
        for probability in model().probabilities(&text) {
            prop_assert!((0.0..=1.0).contains(&probability));
        }
    }
}
