//! Checks on boards whose figures are known by hand.

use agon_domain::{Winner, WinnerCounts};
use agon_ranking::{Columns, LeaderboardOptions, leaderboard};

use super::*;

/// Votes of models `a`, `b`, …: side A, side B, wins of A, wins of B, ties.
type Votes = (u32, u32, u64, u64, u64);

fn sided(votes: &[Votes]) -> Vec<Comparison> {
    votes
        .iter()
        .flat_map(|&(a, b, wins, losses, ties)| {
            [(1.0, wins), (0.0, losses), (0.5, ties)]
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(move |(outcome, count)| Comparison::new(a, b, outcome).with_count(count))
        })
        .collect()
}

fn pairs(votes: &[Votes]) -> Vec<CountedPair> {
    votes
        .iter()
        .map(|&(a, b, wins, losses, ties)| {
            let mut counts = WinnerCounts::default();
            counts.add(Winner::A, wins);
            counts.add(Winner::B, losses);
            counts.add(Winner::Tie, ties);
            ((a, b), counts)
        })
        .collect()
}

fn panel_with(
    n_models: usize,
    votes: &[Votes],
    comparisons: &Comparisons,
    effort: Effort,
) -> Vec<Check> {
    let names: Vec<String> = ('a'..).take(n_models).map(String::from).collect();
    let options = LeaderboardOptions::default();
    let leaderboard = leaderboard(comparisons, &options).unwrap();
    let input = CheckInput {
        board: leaderboard.main(),
        names: &names,
        pairs: &pairs(votes),
        n_groups: leaderboard.boards.len(),
        without_battles: &leaderboard.without_battles,
        fit: Some(CheckedFit {
            comparisons,
            sided: &|| sided(votes),
            sides: None,
            options: options.fit,
            level: options.level,
        }),
    };
    let checks = panel(&input, effort, Threads::MIN);
    let on_three = Threads::new(3).unwrap();
    assert_eq!(checks, panel(&input, effort, on_three));
    checks
}

fn panel_of(n_models: usize, votes: &[Votes], effort: Effort) -> Vec<Check> {
    let comparisons = Comparisons::new(n_models, sided(votes)).unwrap();
    panel_with(n_models, votes, &comparisons, effort)
}

#[track_caller]
fn find<'a>(checks: &'a [Check], name: &str) -> &'a Check {
    checks.iter().find(|check| check.check == name).unwrap()
}

#[track_caller]
fn number(check: &Check, value: &str) -> f64 {
    match &check.values[value] {
        CheckValue::Count(count) => *count as f64,
        CheckValue::Number(number) => *number,
        other => panic!("{value} is {other:?}"),
    }
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-6,
        "found {found}, expected {expected}"
    );
}

/// 60 to 40, the same on both sides: everything about it is known in closed form.
const SIXTY: [Votes; 2] = [(0, 1, 30, 20, 0), (1, 0, 20, 30, 0)];

#[test]
fn two_models_have_the_values_of_the_closed_form() {
    let checks = panel_of(2, &SIXTY, Effort::Full);
    let first = find(&checks, "first_place_votes");
    // 60 − 21 is the first number below 40.
    assert_eq!(first.values["votes_to_change_first"], CheckValue::Count(21));
    assert_eq!(
        first.values["removed"],
        CheckValue::Texts(vec!["a beat b: 21 of 60".to_owned()])
    );
    assert_eq!(
        first.detail,
        "first place hangs on at most 21 votes (21.0% of all): without them b is first instead of a"
    );
    assert!(first.passed);
    // Two models have no best five, and nobody said who voted.
    assert!(
        !checks
            .iter()
            .any(|check| check.check == "top_votes" || check.check.ends_with("judges"))
    );

    close(
        number(find(&checks, "conditioned"), "condition_number"),
        1.0,
    );
    let dispersion = find(&checks, "dispersion");
    close(number(dispersion, "deviance"), 0.0);
    close(number(dispersion, "degrees_of_freedom"), 0.0);
    assert!(!dispersion.values.contains_key("dispersion"));
    // Without ties, and with nothing left to explain, both kinds of errors are equal.
    close(
        number(find(&checks, "interval_agreement"), "ratio_median"),
        1.0,
    );
    let calibrated = find(&checks, "calibrated");
    close(number(calibrated, "calibration_error"), 0.0);
    assert_eq!(
        calibrated.values["bin_battles"],
        CheckValue::Numbers(vec![100.0])
    );
    let sides = find(&checks, "sides");
    close(number(sides, "score_a"), 0.5);
    close(number(sides, "p"), 1.0);
    assert!(checks.iter().all(|check| check.passed), "{checks:?}");
}

#[test]
fn a_place_that_hangs_on_few_votes_fails() {
    let checks = panel_of(2, &[(0, 1, 26, 24, 0), (1, 0, 25, 25, 0)], Effort::Full);
    let first = find(&checks, "first_place_votes");
    // 51 to 49: with 48 wins left a is behind.
    assert_eq!(first.values["votes_to_change_first"], CheckValue::Count(3));
    assert!(!first.passed);
    // A share decides too: 20 of 40,000 votes are many, and nothing.
    let checks = panel_of(
        2,
        &[(0, 1, 10_005, 9_995, 0), (1, 0, 9_995, 10_005, 0)],
        Effort::Full,
    );
    let first = find(&checks, "first_place_votes");
    assert_eq!(first.values["votes_to_change_first"], CheckValue::Count(21));
    assert!(!first.passed);
    assert!(first.detail.contains("(0.052% of all)"), "{}", first.detail);
}

#[test]
fn a_preference_for_a_side_is_found_by_a_step_and_by_a_fit() {
    // Side A wins three of four, whoever stands there: log-odds ln 3, one step from ½ says 1.
    let votes = [(0, 1, 30, 10, 0), (1, 0, 30, 10, 0)];
    let quick = panel_of(2, &votes, Effort::Quick);
    let full = panel_of(2, &votes, Effort::Full);
    let (quick, full) = (find(&quick, "sides"), find(&full, "sides"));
    close(number(quick, "log_odds"), 1.0);
    close(number(full, "log_odds"), 3.0_f64.ln());
    close(number(full, "score_a"), 0.75);
    close(
        number(full, "standard_error"),
        (1.0 / 60.0 + 1.0 / 20.0_f64).sqrt(),
    );
    // z = ln 3 / √(1/15) = 4.2549, which is exceeded with probability 2.0914e-05.
    close(number(full, "z"), 3.0_f64.ln() * 15.0_f64.sqrt());
    assert!((number(full, "p") / 2.0914e-05 - 1.0).abs() < 1e-4);
    for check in [quick, full] {
        assert!(!check.passed && check.detail.starts_with("voters prefer a side"));
        close(number(check, "share_a"), 0.75);
    }
    assert_eq!(
        quick.values["basis"],
        CheckValue::Text("one step".to_owned())
    );

    // Certain, and too small to matter.
    let votes = [(0, 1, 100_700, 99_300, 0), (1, 0, 100_700, 99_300, 0)];
    let checks = panel_of(2, &votes, Effort::Quick);
    let check = find(&checks, "sides");
    assert!(number(check, "z") > 4.0 && check.passed, "{check:?}");

    // a always on side A: strength and side are one.
    let checks = panel_of(2, &[(0, 1, 30, 10, 0)], Effort::Quick);
    assert!(!find(&checks, "sides").passed);
}

#[test]
fn ties_make_intervals_narrower_than_the_model_expects() {
    let checks = panel_of(2, &[(0, 1, 13, 12, 25), (1, 0, 12, 13, 25)], Effort::Quick);
    // p = ½ but for one vote: half of the battles have a residual of ½, the others of 0.
    let ratio = number(find(&checks, "interval_agreement"), "ratio_median");
    assert!((ratio - 0.5_f64.sqrt()).abs() < 1e-3, "{ratio}");
    assert!(find(&checks, "interval_agreement").passed);
}

#[test]
fn a_circle_is_not_described_by_one_number_a_model() {
    // Each beats the next, 90 to 10: all are equal, and every pair is off by 40 of 100.
    let circle = |a, b| [(a, b, 45, 5, 0), (b, a, 5, 45, 0)];
    let votes = [circle(0, 1), circle(1, 2), circle(2, 0)].concat();
    let checks = panel_of(3, &votes, Effort::Quick);
    let check = find(&checks, "dispersion");
    // χ² = 3 · 40² / 25 on 3 − 2 degrees of freedom; a residual is 40 / 5.
    close(number(check, "pearson"), 192.0);
    close(number(check, "dispersion"), 192.0);
    close(number(check, "worst_residual").abs(), 8.0);
    // Twice the sum over pairs of 90 ln 1.8 + 10 ln 0.2.
    close(
        number(check, "deviance"),
        6.0 * (90.0 * 1.8_f64.ln() + 10.0 * 0.2_f64.ln()),
    );
    assert!(
        !check.passed
            && check
                .detail
                .contains("one number a model does not explain them")
    );
}

#[test]
fn judges_are_counted_and_their_influence_is_found() {
    // Judge 0 casts 60 of 100 votes, 60 to 0 for a; forty others one each, 10 for a and 30 for b.
    let mut rows = vec![Comparison::new(0, 1, 1.0).with_count(60)];
    let mut judges = vec![0];
    for judge in 1..=40 {
        rows.push(Comparison::new(0, 1, if judge <= 10 { 1.0 } else { 0.0 }));
        judges.push(judge);
    }
    let columns = Columns {
        n_features: 0,
        features: &[],
        clusters: Some(&judges),
    };
    let comparisons = Comparisons::with_columns(2, &rows, columns).unwrap();
    let checks = panel_with(2, &[(0, 1, 70, 30, 0)], &comparisons, Effort::Full);
    let check = find(&checks, "judges");
    assert!(!check.passed);
    close(number(check, "busiest_share"), 0.6);
    // 1 / (0.6² + 40 · 0.01²).
    close(number(check, "effective_judges"), 1.0 / 0.364);
    let check = find(&checks, "first_place_judges");
    assert_eq!(check.values["judges_to_change_first"], CheckValue::Count(1));
    assert_eq!(
        check.detail,
        "first place hangs on at most 1 judge with 60 votes (60.0% of all): without it b is first instead of a"
    );
    assert!(!check.passed);
    // 70 to 30: with 29 left a is behind.
    let check = find(&checks, "first_place_votes");
    assert_eq!(check.values["votes_to_change_first"], CheckValue::Count(41));
}

#[test]
fn quick_checks_are_the_full_ones_without_searches() {
    let votes: Vec<Votes> = (0..7)
        .flat_map(|a| {
            (0..7)
                .filter(move |&b| b != a)
                .map(move |b| (a, b, 20 + u64::from(b), 20 + u64::from(a), 3))
        })
        .collect();
    let names = |effort| -> Vec<String> {
        panel_of(7, &votes, effort)
            .into_iter()
            .map(|check| check.check)
            .collect()
    };
    let (quick, full) = (names(Effort::Quick), names(Effort::Full));
    assert_eq!(
        quick,
        [
            "connected",
            "separation",
            "converged",
            "conditioned",
            "enough_battles",
            "pairs",
            "calibrated",
            "dispersion",
            "interval_agreement",
            "sides"
        ]
    );
    assert_eq!(full[..quick.len()], quick);
    assert_eq!(full[quick.len()..], ["first_place_votes", "top_votes"]);
}

#[test]
fn a_board_without_a_fit_is_checked_for_its_structure() {
    let votes = [(0, 1, 3, 0, 0), (1, 2, 2, 0, 0)];
    let checks = panel_of(4, &votes, Effort::Full);
    let names: Vec<&str> = checks.iter().map(|check| check.check.as_str()).collect();
    assert_eq!(
        names,
        [
            "connected",
            "rated",
            "enough_battles",
            "pairs",
            "all_models_compared"
        ]
    );
    assert_eq!(
        find(&checks, "all_models_compared").values["models"],
        CheckValue::Texts(vec!["d".to_owned()])
    );
    let pairs = find(&checks, "pairs");
    assert_eq!(
        (
            number(pairs, "possible"),
            number(pairs, "met"),
            number(pairs, "thin")
        ),
        (3.0, 2.0, 2.0)
    );
}

#[test]
fn numbers_read_well() {
    assert_eq!(counted(1, "vote"), "1 vote");
    assert_eq!(counted(12_345_678, "vote"), "12,345,678 votes");
    assert_eq!(grouped(999), "999");
    assert_eq!(
        (percent(0.042), percent(0.000_35), percent(0.0)),
        ("4.2%".to_owned(), "0.035%".to_owned(), "0.0%".to_owned())
    );
    assert_eq!(
        (level_text(0.95), level_text(0.995), level_text(0.9)),
        ("95".to_owned(), "99.5".to_owned(), "90".to_owned())
    );
}
