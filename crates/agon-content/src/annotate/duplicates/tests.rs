//! Tests of duplicates: definitions, the published tag, and what a million rows would cost.

use proptest::prelude::*;

use super::*;

fn scan(rows: &[(&str, Option<&[u8]>)]) -> Duplicates {
    scan_with(DuplicateOptions::default(), rows)
}

fn scan_with(options: DuplicateOptions, rows: &[(&str, Option<&[u8]>)]) -> Duplicates {
    let mut scan = DuplicateScan::new(options).unwrap();
    for (prompt, image) in rows {
        scan.add(prompt, *image);
    }
    scan.finish()
}

fn exact(rows: &[(&str, Option<&[u8]>)]) -> Vec<usize> {
    let found = scan(rows);
    (0..rows.len())
        .map(|row| found.label(row).unwrap().exact)
        .collect()
}

fn clusters(rows: &[(&str, Option<&[u8]>)]) -> Vec<usize> {
    let found = scan(rows);
    (0..rows.len())
        .map(|row| found.label(row).unwrap().cluster)
        .collect()
}

/// The cases of `fixtures/duplicates/pairs.json`: two prompts, and whether they are the same exactly, nearly or not.
#[test]
fn the_pairs_of_the_fixture_are_told_apart() {
    let text = include_str!("../../../fixtures/duplicates/pairs.json");
    let pairs: Vec<[String; 3]> = serde_json::from_str(text).unwrap();
    assert!(pairs.len() >= 20);
    for [expected, a, b] in &pairs {
        let rows = [(a.as_str(), None), (b.as_str(), None)];
        let found = if exact(&rows) == [0, 0] {
            "exact"
        } else if clusters(&rows) == [0, 0] {
            "near"
        } else {
            "different"
        };
        assert_eq!(found, expected, "{a:?} and {b:?}");
    }
}

#[test]
fn another_picture_is_another_prompt() {
    let (one, two): (&[u8], &[u8]) = (&[1; 32], &[2; 32]);
    let rows = [
        ("What is this?", Some(one)),
        ("what  is this?", Some(one)),
        ("What is this?", Some(two)),
        ("What is this?", None),
        ("What is this?", Some(&[][..])),
    ];
    assert_eq!(exact(&rows), [0, 0, 2, 3, 4]);
    assert_eq!(clusters(&rows), [0, 0, 2, 3, 4]);
    // What is text to one row is no picture to another.
    assert_eq!(exact(&[("ab", None), ("a", Some(b"b"))]), [0, 1]);
}

#[test]
fn nearness_is_passed_on_and_counted() {
    let words: Vec<String> = (0..60).map(|word| format!("word{word:02}")).collect();
    let text = |from: usize| words[from..from + 40].join(" ");
    let texts: Vec<String> = (0..16).map(text).collect();
    let rows: Vec<(&str, Option<&[u8]>)> = texts.iter().map(|text| (text.as_str(), None)).collect();
    let found = scan(&rows);
    // The ends of the chain have a third in common.
    assert_eq!(clusters(&[rows[0], rows[15]]), [0, 1]);
    for row in 0..rows.len() {
        let label = found.label(row).unwrap();
        assert_eq!((label.cluster, label.n_cluster), (0, 16), "row {row}");
        assert_eq!((label.exact, label.n_exact), (row, 1));
    }
    assert_eq!(
        (found.n_rows(), found.n_exact(), found.n_clusters()),
        (16, 16, 1)
    );
}

#[test]
fn prompts_above_the_quantile_are_thinned_out() {
    let mut rows: Vec<(&str, Option<&[u8]>)> = vec![("often", None); 10];
    rows.extend([("once", None), ("twice", None), ("twice", None)]);
    let options = DuplicateOptions {
        percentile: 0.5,
        ..DuplicateOptions::default()
    };
    let found = scan_with(options, &rows);
    // The median of 10, 1 and 2.
    assert_eq!(found.cut_off(), 2.0);
    let labels: Vec<DuplicateLabel> = (0..13).map(|row| found.label(row).unwrap()).collect();
    assert!(labels[..10].iter().all(|label| label.dedup_tag.high_freq));
    let n_sampled = labels[..10]
        .iter()
        .filter(|label| label.dedup_tag.sampled)
        .count();
    assert_eq!(n_sampled, 2);
    for label in &labels[10..] {
        assert_eq!(
            label.dedup_tag,
            DedupTag {
                high_freq: false,
                sampled: true
            }
        );
    }
    assert_eq!(found.label(13), None);
    // Other seeds keep other rows, the same seed the same.
    let kept = |seed| {
        let found = scan_with(DuplicateOptions { seed, ..options }, &rows);
        (0..10)
            .filter(|row| found.label(*row).unwrap().dedup_tag.sampled)
            .collect::<Vec<usize>>()
    };
    assert_eq!(kept(42), kept(42));
    assert!((0..20).any(|seed| kept(seed) != kept(42)));
}

#[test]
fn quantiles_are_those_of_pandas() {
    // pandas.Series([1, 2, 3, 10]).quantile(q)
    for (percentile, expected) in [(0.0, 1.0), (0.5, 2.5), (0.9, 7.9), (1.0, 10.0)] {
        let found = quantile(vec![10, 1, 3, 2], percentile);
        assert!((found - expected).abs() < 1e-12, "{percentile}: {found}");
    }
    assert_eq!(quantile(Vec::new(), 0.5), 0.0);
}

#[test]
fn options_out_of_range_are_refused_in_words() {
    for similarity_min in [0.0, -1.0, 1.1, f64::NAN] {
        let options = DuplicateOptions {
            similarity_min,
            ..DuplicateOptions::default()
        };
        let error = DuplicateScan::new(options).unwrap_err();
        assert!(
            matches!(error, DuplicateOptionsError::Similarity(_)),
            "{error}"
        );
        assert!(error.to_string().contains("at most 1"));
    }
    let options = DuplicateOptions {
        percentile: 1.5,
        ..DuplicateOptions::default()
    };
    let error = DuplicateScan::new(options).unwrap_err();
    assert_eq!(error, DuplicateOptionsError::Percentile(1.5));
}

#[test]
fn nothing_and_next_to_nothing_are_labelled_too() {
    let found = scan(&[]);
    assert_eq!(
        (found.n_rows(), found.n_exact(), found.n_clusters()),
        (0, 0, 0)
    );
    assert_eq!(found.label(0), None);
    assert_eq!(
        exact(&[("", None), (" \n", None), ("\u{200b}", None), ("a", None)]),
        [0, 0, 0, 3]
    );
    assert_eq!(
        clusters(&[("?", None), ("!", None), ("👍", None), ("👎", None)]),
        [0, 1, 2, 3]
    );
}

#[test]
fn similarity_is_that_of_the_sets_of_shingles() {
    let shingles = |text: &str| -> std::collections::HashSet<Vec<char>> {
        let letters: Vec<char> = text.chars().collect();
        letters
            .windows(SHINGLE_CHARACTERS)
            .map(<[char]>::to_vec)
            .collect()
    };
    let signer = Signer::new();
    let words: Vec<String> = (0..400).map(|word| format!("{:x}", mixed(word))).collect();
    let mut squares = 0.0;
    for shift in 0..40 {
        let (a, b) = (
            words[..200].join(" "),
            words[shift * 4..200 + shift * 4].join(" "),
        );
        let (of_a, of_b) = (shingles(&a), shingles(&b));
        #[expect(clippy::cast_precision_loss, reason = "a few thousand shingles")]
        let exact = of_a.intersection(&of_b).count() as f64 / of_a.union(&of_b).count() as f64;
        let pairs = signer.sign(&a).into_iter().zip(signer.sign(&b));
        #[expect(clippy::cast_precision_loss, reason = "at most 64")]
        let estimate = pairs.filter(|(a, b)| a == b).count() as f64 / N_VALUES as f64;
        squares += (exact - estimate).powi(2);
        assert!(
            (exact - estimate).abs() < 0.25,
            "{exact} is estimated at {estimate}"
        );
    }
    // The deviation of 64 independent values is at most 0.0625.
    assert!((squares / 40.0).sqrt() < 0.08, "{squares}");
}

#[test]
fn a_megabyte_and_many_rows_take_time_in_proportion() {
    let start = std::time::Instant::now();
    let long = "many words about one thing ".repeat(40_000);
    let mut scan = DuplicateScan::new(DuplicateOptions::default()).unwrap();
    scan.add(&long, None);
    // All in one bucket of every band: the same shingles, told apart by a sign.
    for row in 0..20_000 {
        scan.add(
            &format!("what is in this picture, please? {}", "!".repeat(row % 700)),
            None,
        );
    }
    let found = scan.finish();
    assert_eq!(found.n_rows(), 20_001);
    assert_eq!(found.n_exact(), 701);
    assert_eq!(found.n_clusters(), 2);
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

proptest! {
    #[test]
    fn labels_fit_together_in_any_order(rows in prop::collection::vec("[ab]{0,3}( [ab]{0,3}){0,12}", 0..40), turn in 0_usize..40) {
        let pairs: Vec<(&str, Option<&[u8]>)> = rows.iter().map(|row| (row.as_str(), None)).collect();
        let found = scan(&pairs);
        let labels: Vec<DuplicateLabel> = (0..rows.len()).map(|row| found.label(row).unwrap()).collect();
        for (row, label) in labels.iter().enumerate() {
            prop_assert!(label.cluster <= label.exact && label.exact <= row);
            prop_assert_eq!(labels[label.exact].exact, label.exact);
            prop_assert_eq!(labels[label.cluster].cluster, label.cluster);
            let n_exact = labels.iter().filter(|other| other.exact == label.exact).count();
            let n_cluster = labels.iter().filter(|other| other.cluster == label.cluster).count();
            prop_assert_eq!((label.n_exact, label.n_cluster), (n_exact, n_cluster));
        }
        // Another order of rows finds the same exact duplicates.
        let mut turned = pairs.clone();
        if !turned.is_empty() {
            let by = turn % turned.len();
            turned.rotate_left(by);
        }
        prop_assert_eq!(scan(&turned).n_exact(), found.n_exact());
    }

    #[test]
    fn case_white_space_and_normal_form_make_no_difference(text in "[\\PC\n\t]{0,200}") {
        use unicode_normalization::UnicodeNormalization as _;
        let decomposed: String = text.nfd().collect();
        let spaced = format!("  {}\r\n", decomposed.replace(' ', "\r\n "));
        prop_assert_eq!(exact(&[(&text, None), (&spaced, None)]), vec![0, 0]);
    }
}
