//! Agreement on small tables worked out by hand, on properties, and on PandaLM's annotators.

use proptest::prelude::*;
use serde_json::Value;

use super::{Agreement, DifferentLengths, NotEstimable, agreement, label_noise};
use crate::annotate::tests::shared;

fn table(counts: &[(u8, u8, usize)]) -> Agreement<u8> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for &(a, b, n_rows) in counts {
        first.extend(std::iter::repeat_n(Some(a), n_rows));
        second.extend(std::iter::repeat_n(Some(b), n_rows));
    }
    agreement(&first, &second).unwrap()
}

#[track_caller]
fn close(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() < 5e-7, "{found} {expected}");
}

#[test]
fn kappa_is_that_of_a_table_worked_out_by_hand() {
    // 20 + 15 of 50 the same; the first says 1 in 25, the second in 30: p_o = .7, p_e = .5.
    let agreement = table(&[(1, 1, 20), (1, 0, 5), (0, 1, 10), (0, 0, 15)]);
    close(agreement.accuracy(), 0.7);
    close(agreement.kappa(), 0.4);
    let binary = agreement.binary(&1);
    close(binary.precision(), 0.8);
    close(binary.recall(), 20.0 / 30.0);
    close(binary.f1(), 40.0 / 55.0);
    assert_eq!(agreement.confusion(), [[15, 10], [5, 20]]);
    assert_eq!(agreement.disagreements().len(), 15);
    assert_eq!(agreement.disagreements()[0], 20);
    close(agreement.macro_f1(), (30.0 / 45.0 + 40.0 / 55.0) / 2.0);
}

#[test]
fn the_standard_error_is_that_of_fleiss_cohen_and_everitt() {
    // The example of their paper, page 324: 200 rows, kappa .429, standard error .054.
    let agreement = table(&[
        (0, 0, 106),
        (0, 1, 10),
        (0, 2, 4),
        (1, 0, 22),
        (1, 1, 28),
        (1, 2, 10),
        (2, 0, 2),
        (2, 1, 12),
        (2, 2, 6),
    ]);
    let kappa = agreement.kappa().unwrap();
    let error = agreement.kappa_standard_error().unwrap();
    assert!((kappa - 0.429).abs() < 5e-4, "{kappa}");
    assert!((error - 0.054).abs() < 5e-4, "{error}");
}

#[test]
fn unknown_labels_are_counted_and_enter_nothing() {
    let first = [Some(true), None, Some(false), None, Some(true)];
    let second = [Some(true), Some(true), None, None, Some(false)];
    let agreement = agreement(&first, &second).unwrap();
    assert_eq!(agreement.n_compared(), 2);
    assert_eq!(agreement.n_unknown(), 3);
    assert_eq!(agreement.disagreements(), [4]);
    close(agreement.accuracy(), 0.5);
}

#[test]
fn columns_of_different_lengths_are_refused() {
    assert_eq!(
        agreement(&[Some(1)], &[]),
        Err(DifferentLengths {
            first: 1,
            second: 0
        })
    );
}

#[test]
fn what_has_no_value_is_none() {
    let empty = table(&[]);
    assert_eq!(
        (empty.accuracy(), empty.kappa(), empty.macro_f1()),
        (None, None, None)
    );
    assert_eq!(label_noise(&empty, &1), Err(NotEstimable::NoRows));
    let constant = table(&[(1, 1, 9)]);
    assert_eq!(
        (constant.kappa(), constant.kappa_standard_error()),
        (None, None)
    );
    assert_eq!(constant.binary(&2).precision(), None);
    assert_eq!(constant.binary(&2).f1(), None);
}

#[test]
fn noise_is_found_again_where_it_was_put() {
    // Both err in one of ten rows, independently: they differ in 2 · .1 · .9 = 18 of 100.
    let noise = label_noise(&table(&[(1, 1, 41), (1, 0, 9), (0, 1, 9), (0, 0, 41)]), &1).unwrap();
    close(Some(noise.disagreement), 0.18);
    close(Some(noise.error), 0.1);
    close(Some(noise.error_min), 0.09);
    assert!(noise.error_lower < 0.1 && 0.1 < noise.error_upper);
    let opposite = table(&[(1, 0, 9), (0, 1, 9), (0, 0, 1)]);
    assert!(matches!(
        label_noise(&opposite, &1),
        Err(NotEstimable::WorseThanChance { .. })
    ));
}

#[test]
fn the_annotators_of_pandalm_agree_as_published() {
    let Some(bytes) = shared("votes/pandalm/testset-v1.json") else {
        return;
    };
    let rows: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(rows.len(), 999);
    let column =
        |name: &str| -> Vec<Option<i64>> { rows.iter().map(|row| row[name].as_i64()).collect() };
    let columns = ["annotator1", "annotator2", "annotator3"].map(column);
    for (a, b, kappa) in [(0, 1, 0.852_023), (0, 2, 0.878_944), (1, 2, 0.861_661)] {
        let agreement = agreement(&columns[a], &columns[b]).unwrap();
        assert_eq!(agreement.n_compared(), 999);
        close(agreement.kappa(), kappa);
    }
}

proptest! {
    #[test]
    fn agreement_does_not_depend_on_the_order_of_rows_or_columns(
        rows in prop::collection::vec((prop::option::of(0_u8..4), prop::option::of(0_u8..4)), 0..60),
    ) {
        let (first, second): (Vec<_>, Vec<_>) = rows.iter().copied().unzip();
        let forwards = agreement(&first, &second).unwrap();
        let backwards = agreement(&second, &first).unwrap();
        prop_assert_eq!(forwards.accuracy(), backwards.accuracy());
        match (forwards.kappa(), backwards.kappa()) {
            (Some(a), Some(b)) => {
                prop_assert!((a - b).abs() < 1e-12);
                prop_assert!(a <= 1.0);
            }
            (a, b) => prop_assert_eq!(a, b),
        }
        let turned: (Vec<_>, Vec<_>) = rows.iter().rev().copied().unzip();
        prop_assert_eq!(agreement(&turned.0, &turned.1).unwrap().confusion(), forwards.confusion());
        prop_assert_eq!(forwards.n_compared() + forwards.n_unknown(), rows.len() as u64);
        for label in forwards.labels() {
            let there = forwards.binary(label);
            let back = backwards.binary(label);
            prop_assert_eq!(there.precision(), back.recall());
            prop_assert_eq!(there.f1(), back.f1());
            if let Ok(noise) = label_noise(&forwards, label) {
                prop_assert!(noise.error_min <= noise.error + 1e-12);
                prop_assert!(noise.error_lower <= noise.error && noise.error <= noise.error_upper);
            }
        }
    }
}
