//! Tests of what is refused, merged and counted.

use super::*;

#[track_caller]
fn check_refused(row: Comparison, expected: &Error) {
    let good = Comparison::new(0, 1, 1.0);
    let refused = Comparisons::new(2, [good, row]).unwrap_err();
    assert_eq!(refused.to_string(), expected.to_string());
    let refused = Comparisons::with_columns(2, &[good, row], Columns::default()).unwrap_err();
    assert_eq!(refused.to_string(), expected.to_string());
}

#[test]
fn what_is_no_comparison_is_refused() {
    let row = 1;
    let good = Comparison::new(0, 1, 1.0);
    check_refused(
        Comparison::new(1, 1, 1.0),
        &Error::SelfComparison { row, model: 1 },
    );
    check_refused(
        Comparison::new(0, 2, 1.0),
        &Error::ModelOutOfRange {
            row,
            model: 2,
            n_models: 2,
        },
    );
    check_refused(
        Comparison::new(7, 0, 1.0),
        &Error::ModelOutOfRange {
            row,
            model: 7,
            n_models: 2,
        },
    );
    for outcome in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
        check_refused(
            Comparison::new(0, 1, outcome),
            &Error::Outcome { row, outcome },
        );
    }
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        check_refused(good.with_weight(weight), &Error::Weight { row, weight });
    }
    check_refused(good.with_count(0), &Error::Count { row });
}

#[test]
fn columns_must_fit_the_rows() {
    let rows = [Comparison::new(0, 1, 1.0), Comparison::new(1, 0, 1.0)];
    let check = |columns: Columns<'_>| Comparisons::with_columns(2, &rows, columns).unwrap_err();
    let short = Columns {
        n_features: 2,
        features: &[0.0; 3],
        clusters: None,
    };
    assert_eq!(
        check(short),
        Error::Length {
            found: 3,
            expected: 4
        }
    );
    let clusters = Columns {
        clusters: Some(&[1]),
        ..Columns::default()
    };
    assert_eq!(
        check(clusters),
        Error::Length {
            found: 1,
            expected: 2
        }
    );
    let infinite = Columns {
        n_features: 1,
        features: &[0.0, f64::INFINITY],
        clusters: None,
    };
    assert_eq!(
        check(infinite),
        Error::Feature {
            row: 1,
            feature: 0,
            value: f64::INFINITY
        }
    );
}

#[test]
fn equal_battles_are_merged_and_counted() {
    let rows = [
        Comparison::new(0, 1, 1.0),
        Comparison::new(1, 0, 0.0),
        Comparison::new(0, 1, 0.5).with_count(3),
        Comparison::new(2, 0, 1.0).with_weight(2.0),
    ];
    let comparisons = Comparisons::new(4, rows).unwrap();
    assert_eq!(comparisons.n_cells(), 3);
    assert_eq!(comparisons.n_battles(), 6);
    assert_eq!(comparisons.total_weight(), 7.0);
    assert_eq!(
        comparisons.record(0),
        Record {
            battles: 6,
            wins: 2,
            losses: 1,
            ties: 3
        }
    );
    assert_eq!(
        comparisons.record(1),
        Record {
            battles: 5,
            wins: 0,
            losses: 2,
            ties: 3
        }
    );
    assert_eq!(
        comparisons.record(2),
        Record {
            battles: 1,
            wins: 1,
            losses: 0,
            ties: 0
        }
    );
    assert_eq!(comparisons.record(3), Record::default());
    assert_eq!(comparisons.record(99), Record::default());
}

#[test]
fn an_outcome_that_no_binary_number_equals_survives_a_change_of_sides() {
    for outcome in [0.1, 0.3, 1e-17, 0.7, 1.0 / 3.0] {
        let one = Comparisons::new(2, [Comparison::new(0, 1, outcome)]).unwrap();
        let other = Comparisons::new(2, [Comparison::new(1, 0, 1.0 - outcome)]).unwrap();
        assert_eq!(one, other);
    }
}

#[test]
fn counts_beyond_the_largest_number_do_not_wrap() {
    let rows = [Comparison::new(0, 1, 1.0).with_count(u64::MAX); 2];
    assert_eq!(Comparisons::new(2, rows).unwrap().record(0).wins, u64::MAX);
}

#[test]
fn pairs_that_met_often_weigh_as_much_as_each_other() {
    let rows = [
        Comparison::new(0, 1, 1.0).with_count(100),
        Comparison::new(1, 2, 0.5).with_count(10),
    ];
    let weighted = Comparisons::new(3, rows).unwrap().reweighted_by_pair(50);
    let weights: Vec<f64> = weighted.cells().map(|cell| cell.weight).collect();
    assert_eq!(weights, [0.01, 0.02]);
}
