//! Comparisons of boards whose figures are known by hand.

use super::*;

fn model(name: &str, rating: f64, half: f64, rank: usize) -> ReadModel {
    ReadModel {
        name: name.to_owned(),
        rating,
        bounds: Some((rating - half, rating + half)),
        rank: Some(rank),
        is_rated: true,
        win_rate: None,
    }
}

fn document(models: Vec<ReadModel>) -> Document {
    Document {
        format: "agon",
        level: 0.95,
        boards: vec![ReadBoard {
            category: "overall".to_owned(),
            group: 1,
            style_control: Some(false),
            models,
        }],
        settings: BTreeMap::from([("scale".to_owned(), 400.into())]),
        sources: vec!["11".to_owned()],
    }
}

fn codes(notes: &[Note]) -> Vec<&str> {
    notes.iter().map(|note| note.code.as_str()).collect()
}

/// Worked by hand: three common models, of which two change places; one leaves, one enters, one is provisional.
#[test]
fn two_boards_are_compared_as_by_hand() {
    let provisional = |rating| ReadModel {
        is_rated: false,
        rank: None,
        ..model("guess", rating, 100.0, 9)
    };
    let before = document(vec![
        model("a", 1100.0, 30.0, 1),
        model("b", 1000.0, 30.0, 2),
        model("gone", 950.0, 30.0, 3),
        model("c", 900.0, 30.0, 4),
        model("guess", 800.0, 30.0, 5),
    ]);
    let mut after = document(vec![
        model("a", 1090.0, 40.0, 1),
        model("new", 1080.0, 40.0, 1),
        model("c", 1010.0, 40.0, 2),
        model("b", 995.0, 40.0, 3),
        provisional(1200.0),
    ]);
    after.sources = vec!["22".to_owned()];
    let found = compare(("x", &before), ("y", &after), None).unwrap();
    assert_eq!(found.notes, []);
    let board = &found.boards[0];
    assert_eq!(board.common_models, 3);
    assert_eq!(board.provisional, ["guess"]);
    assert_eq!(
        (&board.only_before[..], &board.only_after[..]),
        (&["gone".to_owned()][..], &["new".to_owned()][..])
    );
    let names: Vec<&str> = board
        .models
        .iter()
        .map(|model| model.model.as_str())
        .collect();
    assert_eq!(names, ["a", "c", "b"]);
    let c = &board.models[1];
    assert_eq!(
        (c.rank_before, c.rank_after, c.places_gained),
        (Some(4), Some(2), Some(2))
    );
    assert_eq!(c.difference, 110.0);
    // Half widths 30 and 40 at one level make 50.
    assert!((c.difference_lower.unwrap() - 60.0).abs() < 1e-9);
    assert!((c.difference_upper.unwrap() - 160.0).abs() < 1e-9);
    assert_eq!(c.is_certain, Some(true));
    assert_eq!(board.models[0].is_certain, Some(false));
    // Of three pairs, b and c are turned round: τ = (2 − 1) / 3, ρ = 1 − 6 · 2 / 24.
    assert!((board.kendall_tau_b.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert!((board.spearman_rho.unwrap() - 0.5).abs() < 1e-12);
    // Before, all pairs are apart. After, a and c touch at 1050, and only a and b do not overlap.
    assert_eq!(board.separability_before, Some(1.0));
    assert_eq!(board.separability_after, Some(1.0 / 3.0));
    assert_eq!(board.confidence_agreement, Some(1.0 / 3.0));
    assert!((board.mean_difference.unwrap() - 95.0 / 3.0).abs() < 1e-12);
    assert_eq!(board.win_rate_correlation, None);
}

#[test]
fn a_document_against_itself_agrees() {
    let mut same = document(vec![
        model("a", 1100.0, 30.0, 1),
        model("b", 900.0, 30.0, 2),
    ]);
    for (idx, rate) in [0.7, 0.3].into_iter().enumerate() {
        same.boards[0].models[idx].win_rate = Some(rate);
    }
    let found = compare(("x", &same), ("x", &same), Some(0.9)).unwrap();
    assert_eq!(codes(&found.notes), ["shared_votes"]);
    let board = &found.boards[0];
    assert_eq!(found.level, 0.9);
    assert_eq!(board.kendall_tau_b, Some(1.0));
    assert!((board.win_rate_correlation.unwrap() - 1.0).abs() < 1e-12);
    assert_eq!(board.confidence_agreement, Some(1.0));
    assert!(
        board
            .models
            .iter()
            .all(|model| model.difference == 0.0 && model.places_gained == Some(0))
    );
    // Half a width of 30 is 1.95996 errors; √2 of them, at 90 %, are 1.64485 · √2 · 30 / 1.95996.
    let half = 1.644_853_626_951_472_7 * 2.0_f64.sqrt() * 30.0 / 1.959_963_984_540_054;
    assert!((board.models[0].difference_upper.unwrap() - half).abs() < 1e-9);
}

#[test]
fn boards_are_matched_by_what_they_are_and_missing_ones_listed() {
    let models = || vec![model("a", 1100.0, 30.0, 1), model("b", 900.0, 30.0, 2)];
    let board = |category: &str, group, style_control| ReadBoard {
        category: category.to_owned(),
        group,
        style_control,
        models: models(),
    };
    let with = |boards| Document {
        boards,
        ..document(models())
    };
    let before = with(vec![
        board("overall", 1, Some(false)),
        board("overall", 1, Some(true)),
        board("overall", 2, Some(false)),
        board("math", 1, Some(false)),
    ]);
    let after = with(vec![
        board("overall", 1, Some(true)),
        board("overall", 1, Some(false)),
        board("code", 1, Some(false)),
    ]);
    let found = compare(("x", &before), ("y", &after), None).unwrap();
    let keys = |keys: &[BoardKey]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(keys(&found.only_before), ["overall, group 2", "math"]);
    assert_eq!(keys(&found.only_after), ["code"]);
    let compared: Vec<String> = found
        .boards
        .iter()
        .map(|board| board.key.to_string())
        .collect();
    assert_eq!(compared, ["overall", "overall, style control"]);
    // A catalog does not say: it is compared with both kinds.
    let catalog = with(vec![board("overall", 1, None)]);
    assert_eq!(
        compare(("x", &before), ("y", &catalog), None)
            .unwrap()
            .boards
            .len(),
        2
    );

    let other = with(vec![board("code", 1, None)]);
    let error = compare(("x", &before), ("y", &other), None).unwrap_err();
    assert!(
        matches!(error, CompareError::NothingInCommon { before, after } if before.len() == 4 && after.len() == 1)
    );
}

#[test]
fn what_limits_a_comparison_is_said() {
    let before = document(vec![
        model("a", 1100.0, 30.0, 1),
        model("b", 900.0, 30.0, 2),
    ]);
    let mut after = before.clone();
    after.sources.clear();
    after.settings = BTreeMap::from([
        ("scale".to_owned(), 200.into()),
        ("location".to_owned(), serde_json::json!({ "kind": "mean" })),
    ]);
    after.boards[0].models[0].bounds = Some((1090.0, 1200.0));
    let found = compare(("x", &before), ("y", &after), None).unwrap();
    assert_eq!(
        codes(&found.notes),
        [
            "votes_unknown",
            "scale_differs",
            "location_differs",
            "settings_differ"
        ]
    );
    assert_eq!(
        found.notes[3].detail,
        "settings that differ: location (none → {\"kind\":\"mean\"}), scale (400 → 200)"
    );
    assert_eq!(codes(&found.boards[0].notes), ["lopsided_intervals"]);

    for model in &mut after.boards[0].models {
        model.bounds = None;
    }
    let found = compare(("x", &before), ("y", &after), None).unwrap();
    assert_eq!(codes(&found.boards[0].notes), ["no_intervals"]);
    assert_eq!(found.boards[0].separability_before, Some(1.0));
    assert_eq!(found.boards[0].separability_after, None);
    assert_eq!(found.boards[0].confidence_agreement, None);

    after.boards[0].models = vec![model("z", 1.0, 1.0, 1)];
    let found = compare(("x", &before), ("y", &after), None).unwrap();
    assert_eq!(codes(&found.boards[0].notes), ["no_common_models"]);
    assert_eq!(found.boards[0].mean_difference, None);
    assert_eq!(found.boards[0].kendall_tau_b, None);
}
