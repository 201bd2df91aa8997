//! The board that is kept against the one from scratch.

use super::{
    super::{CheckValue, RankOptions, Votes, rank},
    *,
};

/// Points by which a rating or an end of an interval may differ from the one from scratch.
const TOLERANCE_POINTS: f64 = 1e-6;

/// Numbers below a limit, from Knuth's generator of 64 bits.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// A vote on two of so many models, the earlier names being the stronger ones.
    fn vote(&mut self, n_models: u64) -> Tally {
        let a = self.below(n_models);
        let b = (a + 1 + self.below(n_models - 1)) % n_models;
        let winner = match self.below(10) {
            0 => Winner::Tie,
            1 => Winner::BothBad,
            n if (n < 7) == (a < b) => Winner::A,
            _ => Winner::B,
        };
        let mut tally = Tally::new();
        let name = |model: u64| format!("model-{model:03}");
        let (a, b) = (tally.model(&name(a)), tally.model(&name(b)));
        tally.add(a, b, winner, 1);
        tally
    }
}

fn from_scratch(votes: &Tally) -> Board {
    let options = RankOptions {
        keep_pairs: true,
        ..RankOptions::default()
    };
    let input = InputBody::default();
    rank(
        Votes::Counted(votes.clone()),
        &Settings::default(),
        input,
        &options,
    )
    .unwrap()
}

fn is_near(found: Option<f64>, expected: Option<f64>) -> bool {
    match (found, expected) {
        (Some(found), Some(expected)) => (found - expected).abs() < TOLERANCE_POINTS,
        (found, expected) => found == expected,
    }
}

fn assert_same(found: &Board, expected: &Board) {
    assert_eq!(found.leaderboards.len(), expected.leaderboards.len());
    for (found, expected) in found.leaderboards.iter().zip(&expected.leaderboards) {
        assert_eq!(found.pairs.counts(), expected.pairs.counts());
        assert_eq!(found.models.len(), expected.models.len());
        for (row, wanted) in found.models.iter().zip(&expected.models) {
            assert!(is_near(Some(row.rating), Some(wanted.rating)), "{row:?}");
            assert!(is_near(row.rating_lower, wanted.rating_lower), "{row:?}");
            assert!(is_near(row.rating_upper, wanted.rating_upper), "{row:?}");
            let mut row = row.clone();
            row.rating = wanted.rating;
            (row.rating_lower, row.rating_upper) = (wanted.rating_lower, wanted.rating_upper);
            assert_eq!(&row, wanted);
        }
        for (check, wanted) in found.checks.iter().zip(&expected.checks) {
            assert_eq!((&check.check, check.passed), (&wanted.check, wanted.passed));
            // How the fit went depends on its start.
            if check.check == "converged" {
                continue;
            }
            for (name, value) in &check.values {
                // Among pairs that are equally far off, the last digits choose.
                if name == "worst_pair" {
                    continue;
                }
                match (value, &wanted.values[name]) {
                    (CheckValue::Number(found), CheckValue::Number(expected)) => {
                        let difference = if name == "worst_residual" {
                            found.abs() - expected.abs()
                        } else {
                            found - expected
                        };
                        let limit = 1e-6 * (1.0 + expected.abs());
                        assert!(difference.abs() < limit, "{name} {check:?}");
                    }
                    (CheckValue::Numbers(found), CheckValue::Numbers(expected)) => {
                        assert_eq!(found.len(), expected.len());
                        for (found, expected) in found.iter().zip(expected) {
                            assert!((found - expected).abs() < 1e-6, "{name} {check:?}");
                        }
                    }
                    (found, expected) => assert_eq!(found, expected, "{name}"),
                }
            }
        }
        assert_eq!(found.checks.len(), expected.checks.len());
    }
}

#[test]
fn every_vote_leads_to_the_board_from_scratch() {
    let mut draw = Draw(7);
    let mut all = Tally::new();
    let mut running = RunningBoard::default();
    assert_eq!(running.board(Threads::MIN).unwrap().leaderboards, []);
    // New models, groups that meet, first losses and first ties all come up on the way.
    for n in 1..=400_u64 {
        let vote = draw.vote(3 + n / 20);
        all.merge(&vote);
        running.add(&vote).unwrap();
        let board = running.board(Threads::MIN).unwrap();
        assert_eq!((running.n_votes(), board.input.kept), (n, n));
        assert_same(&board, &from_scratch(&all));
    }
}

#[test]
fn many_votes_at_once_and_many_models_lead_there_too() {
    let mut draw = Draw(11);
    let mut all = Tally::new();
    for _ in 0..20_000 {
        all.merge(&draw.vote(60));
    }
    let mut running = RunningBoard::of(all.clone()).unwrap();
    let two = Threads::new(2).unwrap();
    let first = running.board(two).unwrap();
    let scratch = from_scratch(&all);
    // Without an earlier fit even the bits are those from scratch.
    assert_eq!(first.leaderboards, scratch.leaderboards);
    for n_new in [1, 7, 500] {
        let mut new = Tally::new();
        for _ in 0..n_new {
            new.merge(&draw.vote(60));
        }
        all.merge(&new);
        running.add(&new).unwrap();
        assert_same(&running.board(two).unwrap(), &from_scratch(&all));
    }
    assert!(Arc::ptr_eq(
        &running.board(two).unwrap(),
        &running.board(two).unwrap()
    ));
}

#[test]
fn what_the_store_has_more_is_added_and_what_it_has_less_starts_anew() {
    let mut draw = Draw(3);
    let mut all = Tally::new();
    for _ in 0..200 {
        all.merge(&draw.vote(5));
    }
    let mut kept = Kept::default();
    kept.take(News::All(all.clone()), 200).unwrap();
    assert!(kept.running.board(Threads::MIN).is_ok());
    assert!(kept.running.leaderboard.is_some());
    assert_eq!(kept.running.missing(&all).unwrap().total(), 0);

    // Read again in full, with a vote more: the fit is kept.
    let before = all.clone();
    all.merge(&draw.vote(5));
    kept.take(News::All(all.clone()), 201).unwrap();
    assert!(kept.running.leaderboard.is_some());
    assert_eq!(kept.running.n_votes(), 201);

    // A vote less, as after a backup was put back, and later as many votes on others.
    assert!(kept.running.missing(&before).is_none());
    kept.take(News::All(before.clone()), 200).unwrap();
    assert!(kept.running.leaderboard.is_none());
    assert_same(
        &kept.running.board(Threads::MIN).unwrap(),
        &from_scratch(&before),
    );
    let mut other = Tally::new();
    for _ in 0..200 {
        other.merge(&draw.vote(5));
    }
    kept.take(News::All(other.clone()), 210).unwrap();
    assert_same(
        &kept.running.board(Threads::MIN).unwrap(),
        &from_scratch(&other),
    );
    // More new votes than numbers for them cannot be.
    other.merge(&draw.vote(5));
    other.merge(&draw.vote(5));
    kept.take(News::All(other), 211).unwrap();
    assert!(kept.running.leaderboard.is_none());
}
