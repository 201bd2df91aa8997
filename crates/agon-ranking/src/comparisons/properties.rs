//! Properties of ordering: what the same battles look like must not be seen in the result.

use proptest::prelude::*;

use super::*;
use crate::style_control::DifferenceRule;
use crate::{LeaderboardOptions, leaderboard};

/// Battles by column, owned.
#[derive(Clone, Debug, Default, PartialEq)]
struct Table {
    model_a: Vec<u32>,
    model_b: Vec<u32>,
    scores: Vec<f64>,
    features: [Vec<f64>; 2],
    clusters: Vec<u32>,
    weights: Vec<f64>,
}

const MODELS: usize = 5;

impl Table {
    fn rows<'a>(&'a self, features: &'a [&'a [f64]]) -> Rows<'a> {
        Rows {
            model_a: &self.model_a,
            model_b: &self.model_b,
            scores: &self.scores,
            features,
            clusters: Some(&self.clusters),
            weights: Some(&self.weights),
            subset: None,
        }
    }

    fn ordered(&self, n_threads: usize) -> Comparisons {
        self.subset(None, n_threads)
    }

    fn subset(&self, subset: Option<&[u32]>, n_threads: usize) -> Comparisons {
        let features = [&self.features[0][..], &self.features[1][..]];
        let rows = Rows {
            subset,
            ..self.rows(&features)
        };
        let n_threads = NonZeroUsize::new(n_threads).unwrap();
        Comparisons::from_rows(MODELS, rows, n_threads).unwrap()
    }

    /// Rows picked by number, any number of times.
    fn pick(&self, rows: impl IntoIterator<Item = usize>) -> Self {
        let mut picked = Self::default();
        for row in rows {
            picked.model_a.push(self.model_a[row]);
            picked.model_b.push(self.model_b[row]);
            picked.scores.push(self.scores[row]);
            for (to, from) in picked.features.iter_mut().zip(&self.features) {
                to.push(from[row]);
            }
            picked.clusters.push(self.clusters[row]);
            picked.weights.push(self.weights[row]);
        }
        picked
    }

    /// The other path to the same comparisons.
    fn by_row(&self) -> Comparisons {
        let rows: Vec<Comparison> = (0..self.scores.len())
            .map(|row| {
                Comparison::new(self.model_a[row], self.model_b[row], self.scores[row])
                    .with_weight(self.weights[row])
            })
            .collect();
        let features: Vec<f64> = (0..rows.len())
            .flat_map(|row| [self.features[0][row], self.features[1][row]])
            .collect();
        let columns = Columns {
            n_features: 2,
            features: &features,
            clusters: Some(&self.clusters),
        };
        Comparisons::with_columns(MODELS, &rows, columns).unwrap()
    }
}

fn table() -> impl Strategy<Value = Table> {
    let models = MODELS as u32;
    // Few values of everything, so that rows repeat; zeros of both signs and outcomes that no binary number equals.
    let score = prop::sample::select(vec![0.0, 0.5, 1.0, 0.3, 0.1]);
    let feature = prop::sample::select(vec![0.0, -0.0, 0.25, -0.25, 1.0]);
    let row = (
        (0..models, 1..models),
        score,
        (feature.clone(), feature),
        0..3_u32,
        prop::sample::select(vec![1.0, 2.0]),
    );
    prop::collection::vec(row, 1..80).prop_map(move |rows| {
        let mut table = Table::default();
        for ((a, step), score, (x, y), cluster, weight) in rows {
            table.model_a.push(a);
            table.model_b.push((a + step) % models);
            table.scores.push(score);
            table.features[0].push(x);
            table.features[1].push(y);
            table.clusters.push(cluster);
            table.weights.push(weight);
        }
        table
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn columns_and_rows_give_the_same(table in table()) {
        prop_assert_eq!(table.ordered(1), table.by_row());
    }

    #[test]
    fn order_of_rows_does_not_matter(table in table(), seed in any::<u64>()) {
        let n = table.scores.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&row| (row as u64 + 1).wrapping_mul(seed | 1).rotate_left(17));
        prop_assert_eq!(table.pick(order.iter().copied()).ordered(1), table.ordered(1));
        // As a subset, too.
        let subset: Vec<u32> = order.iter().map(|&row| row as u32).collect();
        prop_assert_eq!(table.subset(Some(&subset), 1), table.ordered(1));
    }

    #[test]
    fn sides_do_not_matter(table in table(), swaps in any::<u128>()) {
        let mut swapped = table.clone();
        for row in 0..table.scores.len() {
            if swaps >> row & 1 == 1 {
                swapped.model_a[row] = table.model_b[row];
                swapped.model_b[row] = table.model_a[row];
                // The score of the other side, as a reader who knows only that one would have it.
                swapped.scores[row] = 1.0 - table.scores[row];
                for column in &mut swapped.features {
                    column[row] = -column[row];
                }
            }
        }
        // 1 − (1 − y) is y for scores of at least ½, and what is stored passes through those.
        let canonical = |table: &Table| {
            let mut table = table.clone();
            for score in &mut table.scores {
                if *score < 0.5 {
                    *score = 1.0 - (1.0 - *score);
                }
            }
            table
        };
        prop_assert_eq!(swapped.ordered(1), canonical(&table).ordered(1));
    }

    #[test]
    fn a_subset_is_the_table_of_its_rows(table in table(), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..60)) {
        let rows: Vec<u32> = picks.iter().map(|pick| pick.index(table.scores.len()) as u32).collect();
        let picked = table.pick(rows.iter().map(|&row| row as usize));
        prop_assert_eq!(table.subset(Some(&rows), 1), picked.ordered(1));
    }

    #[test]
    fn copies_are_counts(table in table(), copies in 2..4_usize) {
        let n = table.scores.len();
        let repeated = table.pick((0..n).cycle().take(n * copies)).ordered(1);
        let single = table.ordered(1);
        prop_assert_eq!(repeated.n_cells(), single.n_cells());
        for (more, one) in repeated.cells().zip(single.cells()) {
            prop_assert_eq!(more, Cell { count: one.count * copies as u64, ..one });
        }
    }

    #[test]
    fn other_numbers_of_models_only_move_pairs(table in table(), turn in 1..MODELS as u32) {
        let mut renamed = table.clone();
        for model in renamed.model_a.iter_mut().chain(&mut renamed.model_b) {
            *model = (*model + turn) % MODELS as u32;
        }
        let (before, after) = (table.ordered(1), renamed.ordered(1));
        prop_assert_eq!(before.n_battles(), after.n_battles());
        for model in 0..MODELS {
            let other = (model + turn as usize) % MODELS;
            prop_assert_eq!(before.record(model), after.record(other));
        }
        prop_assert_eq!(before.total_weight(), after.total_weight());
    }

    #[test]
    fn adding_is_the_same_as_having_had(table in table(), last in 0..2_usize) {
        let all: Vec<Comparison> = (0..table.scores.len())
            .map(|row| {
                let weight = if last == 0 { 1.0 } else { table.weights[row] };
                Comparison::new(table.model_a[row], table.model_b[row], table.scores[row])
                    .with_weight(weight)
            })
            .collect();
        let mut grown = Comparisons::new(MODELS, []).unwrap();
        for comparison in &all {
            grown.add(*comparison).unwrap();
        }
        prop_assert_eq!(grown, Comparisons::new(MODELS, all).unwrap());
    }
}

/// So many rows that every thread has work and there are several buckets, with one slot for each pair or for several.
fn many(n_models: u32, n_rows: u32) -> Table {
    let mut table = Table::default();
    for row in 0..n_rows {
        let mixed = row.wrapping_mul(2_654_435_761) ^ (row >> 3);
        let a = mixed % n_models;
        table.model_a.push(a);
        table
            .model_b
            .push((a + 1 + (mixed >> 8) % (n_models - 1)) % n_models);
        table.scores.push(f64::from(mixed >> 5 & 3).min(2.0) / 2.0);
        let count = |shift: u32| f64::from(mixed >> shift & 31);
        let rule = DifferenceRule::PlusOne;
        table.features[0].push(rule.apply(count(7), count(12)));
        table.features[1].push(rule.apply(count(3), count(17)));
        table.clusters.push(mixed >> 20);
        table.weights.push(1.0);
    }
    table
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for (n_models, n_rows) in [(2_u32, 70_000_u32), (40, 70_000), (3_000, 50_000)] {
        let table = many(n_models, n_rows);
        let features = [&table.features[0][..], &table.features[1][..]];
        let rows = Rows {
            clusters: None,
            ..table.rows(&features)
        };
        let on = |n_threads: usize| {
            let n_threads = NonZeroUsize::new(n_threads).unwrap();
            let comparisons = Comparisons::from_rows(n_models as usize, rows, n_threads).unwrap();
            let options = LeaderboardOptions {
                n_threads,
                ..LeaderboardOptions::default()
            };
            // The fit and the intervals, where it does not take long.
            let board = (n_models < 100).then(|| leaderboard(&comparisons, &options).unwrap());
            (comparisons, board)
        };
        let one = on(1);
        assert_eq!(one.0.weights(), None);
        for n_threads in [2, 3, 5] {
            assert_eq!(on(n_threads), one, "{n_models} models, {n_threads} threads");
        }
    }
}

#[test]
fn many_rows_are_ordered_as_by_sorting() {
    for (n_models, n_rows) in [(2_u32, 40_000_u32), (40, 70_000), (3_000, 50_000)] {
        let table = many(n_models, n_rows);
        let features = [&table.features[0][..], &table.features[1][..]];
        let mut expected: Vec<((u32, u32), [f64; 3], u32)> = (0..n_rows as usize)
            .map(|row| {
                let (a, b) = (table.model_a[row], table.model_b[row]);
                let sign = if a > b { -1.0 } else { 1.0 };
                let outcome = canonical_outcome(a > b, table.scores[row]);
                let [x, y] = features.map(|column| sign * column[row] + 0.0);
                ((a.min(b), a.max(b)), [x, y, outcome], table.clusters[row])
            })
            .collect();
        expected.sort_by(|one, other| {
            let numbers = one.1.iter().zip(&other.1);
            let numbers = numbers.map(|(x, y)| x.total_cmp(y));
            one.0
                .cmp(&other.0)
                .then(numbers.fold(Ordering::Equal, Ordering::then))
                .then(one.2.cmp(&other.2))
        });
        let backwards: Vec<u32> = (0..n_rows).rev().collect();
        for subset in [None, Some(&backwards[..])] {
            let rows = Rows {
                subset,
                ..table.rows(&features)
            };
            let two = NonZeroUsize::new(2).unwrap();
            let found = Comparisons::from_rows(n_models as usize, rows, two).unwrap();
            let runs: Vec<_> = expected.chunk_by(|one, other| one == other).collect();
            assert_eq!(found.n_cells(), runs.len());
            for ((idx, cell), run) in found.cells().enumerate().zip(runs) {
                let (pair, [x, y, outcome], cluster) = run[0];
                assert_eq!((cell.i, cell.j), pair);
                assert_eq!((cell.outcome, cell.count), (outcome, run.len() as u64));
                assert!(found.features_of(idx).eq([x, y]));
                assert_eq!(found.clusters().unwrap()[idx], cluster);
            }
            let battles: Vec<u64> = (0..n_models as usize)
                .map(|model| found.record(model).battles)
                .collect();
            assert_eq!(battles.iter().sum::<u64>(), 2 * u64::from(n_rows));
        }
    }
}

#[test]
fn scaling_all_weights_scales_the_total_and_moves_nobody() {
    let mut table = many(12, 5_000);
    let board = |table: &Table| {
        let features = [&table.features[0][..], &table.features[1][..]];
        let comparisons =
            Comparisons::from_rows(12, table.rows(&features), NonZeroUsize::MIN).unwrap();
        let total = comparisons.total_weight();
        (
            total,
            leaderboard(&comparisons, &LeaderboardOptions::default()).unwrap(),
        )
    };
    let (total, plain) = board(&table);
    table.weights.fill(8.0);
    let (weighted_total, weighted) = board(&table);
    assert_eq!(weighted_total, 8.0 * total);
    for (x, y) in plain.main().entries.iter().zip(&weighted.main().entries) {
        assert!((x.rating - y.rating).abs() < 1e-8);
        let (x, y) = (x.interval.unwrap(), y.interval.unwrap());
        assert!((x.standard_error - y.standard_error).abs() < 1e-8);
    }
}

#[test]
fn what_is_wrong_is_named_by_its_row() {
    let check = |change: fn(&mut Table), expected: Error| {
        let mut table = many(5, 40_000);
        change(&mut table);
        let features = [&table.features[0][..], &table.features[1][..]];
        for n_threads in [1, 2] {
            let n_threads = NonZeroUsize::new(n_threads).unwrap();
            let refused = Comparisons::from_rows(5, table.rows(&features), n_threads);
            assert_eq!(refused.unwrap_err().to_string(), expected.to_string());
        }
    };
    // A battle of weight 0 is no battle: whoever knows why it shall not count leaves it out.
    let row = 39_000;
    check(
        |table| table.weights[39_000] = 0.0,
        Error::Weight { row, weight: 0.0 },
    );
    check(
        |table| table.features[1][39_000] = f64::NAN,
        Error::Feature {
            row,
            feature: 1,
            value: f64::NAN,
        },
    );
    check(
        |table| table.scores[39_000] = 2.0,
        Error::Outcome { row, outcome: 2.0 },
    );
    check(
        |table| table.model_b[39_000] = 5,
        Error::ModelOutOfRange {
            row,
            model: 5,
            n_models: 5,
        },
    );
    check(
        |table| table.clusters.truncate(3),
        Error::Length {
            found: 3,
            expected: 40_000,
        },
    );
    // The first of two.
    check(
        |table| {
            table.weights[39_000] = -1.0;
            table.weights[7] = 0.0;
        },
        Error::Weight {
            row: 7,
            weight: 0.0,
        },
    );
    let table = many(5, 10);
    let rows = Rows {
        subset: Some(&[3, 10]),
        features: &[],
        ..table.rows(&[])
    };
    let refused = Comparisons::from_rows(5, rows, NonZeroUsize::MIN);
    let expected = Error::Length {
        found: 11,
        expected: 10,
    };
    assert_eq!(refused, Err(expected));
}

#[test]
fn no_rows_are_no_battles() {
    for n_models in [0, 1, 2, 100_000] {
        let nothing = Comparisons::from_rows(n_models, Rows::default(), NonZeroUsize::MIN).unwrap();
        assert_eq!(nothing, Comparisons::new(n_models, []).unwrap());
    }
    let table = many(5, 10);
    let none = Rows {
        subset: Some(&[]),
        features: &[],
        ..table.rows(&[])
    };
    assert_eq!(
        Comparisons::from_rows(5, none, NonZeroUsize::MIN)
            .unwrap()
            .n_battles(),
        0
    );
}

#[test]
fn answers_without_tokens_are_differences_of_nothing() {
    // Both sides empty in every battle: the feature is 0 throughout, and the fit goes on without it.
    let mut table = many(4, 400);
    for rule in [DifferenceRule::PlusOne, DifferenceRule::ZeroWhenEmpty] {
        table.features[0].fill(rule.apply(0.0, 0.0));
        let features = [&table.features[0][..], &table.features[1][..]];
        let comparisons =
            Comparisons::from_rows(4, table.rows(&features), NonZeroUsize::MIN).unwrap();
        let board = leaderboard(&comparisons, &LeaderboardOptions::default()).unwrap();
        assert_eq!(board.main().dropped[0].feature, 0);
        assert_eq!(board.main().coefficients.len(), 1);
    }
}

#[test]
fn fewer_features_are_as_if_there_had_never_been_more() {
    let table = many(6, 3_000);
    let with = |features: &[&[f64]]| {
        Comparisons::from_rows(6, table.rows(features), NonZeroUsize::MIN).unwrap()
    };
    let [x, y] = [&table.features[0][..], &table.features[1][..]];
    let both = with(&[x, y]);
    assert_eq!(both.with_features(&[1]), with(&[y]));
    assert_eq!(both.with_features(&[1, 0]), with(&[y, x]));
    assert_eq!(both.with_features(&[0, 7]), with(&[x]));
    assert_eq!(both.with_features(&[]), with(&[]));
}
