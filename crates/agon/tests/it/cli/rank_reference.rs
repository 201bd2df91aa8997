//! Published and exact boards, met through the command line. Needs `AGON_TESTDATA`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::rank::{file, json, path_text, rank};

fn testdata(path: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("AGON_TESTDATA").map(PathBuf::from);
    if folder.is_none() {
        println!("not run: AGON_TESTDATA is not set");
    }
    folder.map(|folder| folder.join(path))
}

fn read(path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(testdata(path).unwrap()).unwrap()).unwrap()
}

/// A document of the 30,000 battles.
fn of_30k(flags: &str) -> Option<Value> {
    let path = testdata("votes/ranking-fixtures/battles-30k.parquet")?;
    let arguments: Vec<&str> = [path_text(&path), "--json"]
        .into_iter()
        .chain(flags.split_whitespace())
        .collect();
    Some(json(&rank(&arguments, None)))
}

/// Compares a column of the models of a board with numbers in the order of names.
#[track_caller]
fn column(board: &Value, names: &Value, field: &str, expected: &Value, tolerance: f64) {
    let models = board["models"].as_array().unwrap();
    for (name, expected) in names
        .as_array()
        .unwrap()
        .iter()
        .zip(expected.as_array().unwrap())
    {
        let model = models.iter().find(|model| model["model"] == *name).unwrap();
        let (found, expected) = (model[field].as_f64().unwrap(), expected.as_f64().unwrap());
        assert!(
            (found - expected).abs() <= tolerance,
            "{name} {field}: {found} against {expected}"
        );
    }
}

/// Compares half the width of intervals with standard errors.
#[track_caller]
fn errors(board: &Value, names: &Value, expected: &Value, relative: f64) {
    const CRITICAL: f64 = 1.959_963_984_540_054;
    let models = board["models"].as_array().unwrap();
    for (name, expected) in names
        .as_array()
        .unwrap()
        .iter()
        .zip(expected.as_array().unwrap())
    {
        let model = models.iter().find(|model| model["model"] == *name).unwrap();
        let width =
            model["rating_upper"].as_f64().unwrap() - model["rating_lower"].as_f64().unwrap();
        let (found, expected) = (width / 2.0 / CRITICAL, expected.as_f64().unwrap());
        assert!(
            (found / expected - 1.0).abs() <= relative,
            "{name}: {found} against {expected}"
        );
    }
}

#[track_caller]
fn coefficients(board: &Value, expected: &Value, tolerance: f64) {
    let style = board["style"].as_array().unwrap();
    for (row, expected) in style.iter().zip(expected.as_array().unwrap()) {
        let (found, expected) = (
            row["coefficient"].as_f64().unwrap(),
            expected.as_f64().unwrap(),
        );
        assert!(
            (found - expected).abs() <= tolerance,
            "{row} against {expected}"
        );
    }
}

const EXACT: f64 = 1e-6;

#[test]
fn style_control_meets_the_exact_fits_of_both_programs() {
    let Some(fastchat) = of_30k("--preset fastchat --style-control --bootstrap 20") else {
        return;
    };
    let expected = read("votes/ranking-fixtures/ctx_30k.json");
    let names = &expected["names"];
    let exact = &expected["exact"]["fastchat_ridge"];
    let board = &fastchat["leaderboards"][0];
    column(board, names, "rating", &exact["elo"], EXACT);
    coefficients(board, &exact["beta"], 1e-8);

    let arena_rank = of_30k("--preset arena-rank --style-control").unwrap();
    let board = &arena_rank["leaderboards"][0];
    let exact = &expected["exact"]["arena_rank_default_objective"];
    column(board, names, "rating", &exact["elo"], EXACT);
    coefficients(board, &exact["beta"], 1e-8);
    let peer = &expected["peers"]["arena_rank_default_tight"];
    column(board, names, "rating_lower", &peer["lower"], 1e-5);
    column(board, names, "rating_upper", &peer["upper"], 1e-5);
}

#[test]
fn style_control_with_the_advantage_of_a_side_is_the_centred_fit() {
    // A constant takes up whatever centring subtracts, so the ratings are those of the centred features.
    let Some(document) = of_30k("--style-control --order-effect") else {
        return;
    };
    let extras = read("votes/ranking-fixtures/extras_30k.json");
    let context = read("votes/ranking-fixtures/ctx_30k.json");
    let board = &document["leaderboards"][0];
    let exact = &extras["ctx_mle_with_position_intercept"];
    let points = 400.0 / 10.0_f64.ln();
    let thetas: Vec<f64> = exact["theta"]
        .as_array()
        .unwrap()
        .iter()
        .map(|theta| theta.as_f64().unwrap())
        .collect();
    let mean = thetas.iter().sum::<f64>() / thetas.len() as f64;
    let ratings: Vec<f64> = thetas
        .iter()
        .map(|theta| 1000.0 + points * (theta - mean))
        .collect();
    column(board, &extras["names"], "rating", &ratings.into(), EXACT);
    // One unit here is the root of the mean square, there the standard deviation.
    let deviations = &context["feature_rules"]["fastchat"]["std"];
    for (idx, row) in board["style"]
        .as_array()
        .unwrap()
        .iter()
        .take(4)
        .enumerate()
    {
        let scaled = row["coefficient"].as_f64().unwrap() / row["unit"].as_f64().unwrap()
            * deviations[idx].as_f64().unwrap();
        let expected = exact["beta"][idx].as_f64().unwrap();
        assert!((scaled - expected).abs() < 1e-8, "{scaled} {expected}");
    }
}

#[test]
fn style_control_comes_nearer_to_the_truth() {
    let Some(document) = of_30k("--style-control") else {
        return;
    };
    let expected = read("votes/ranking-fixtures/ctx_30k.json");
    let points = 400.0 / 10.0_f64.ln();
    let distance = |board: &Value| {
        let names = expected["names"].as_array().unwrap();
        let truth = expected["truth_theta_centred"].as_array().unwrap();
        let squares: f64 = names
            .iter()
            .zip(truth)
            .map(|(name, truth)| {
                let models = board["models"].as_array().unwrap();
                let model = models.iter().find(|model| model["model"] == *name).unwrap();
                let right = 1000.0 + points * truth.as_f64().unwrap();
                (model["rating"].as_f64().unwrap() - right).powi(2)
            })
            .sum();
        (squares / names.len() as f64).sqrt()
    };
    let (with, without) = (
        distance(&document["leaderboards"][0]),
        distance(&document["leaderboards"][1]),
    );
    assert!((without - 19.83).abs() < 0.01, "{without}");
    assert!(with < 6.6, "{with}");
}

#[test]
fn categories_and_languages_meet_the_exact_fits() {
    let Some(document) = of_30k("--by category,language") else {
        return;
    };
    let extras = read("votes/ranking-fixtures/extras_30k.json");
    let names = &extras["names"];
    let exact = &extras["category_slices_plain_bt"];
    for (key, category) in [
        ("ocr", "ocr"),
        ("captioning", "captioning"),
        ("diagram", "diagram"),
        ("refusal", "refusal"),
        ("english", "language=English"),
    ] {
        let boards = document["leaderboards"].as_array().unwrap();
        let board = boards
            .iter()
            .find(|board| board["category"] == category)
            .unwrap();
        column(board, names, "rating", &exact[key]["elo"], EXACT);
        errors(board, names, &exact[key]["se_hc0"], 1e-8);
        let slices = document["slices"].as_array().unwrap();
        let slice = slices
            .iter()
            .find(|slice| slice["category"] == category)
            .unwrap();
        assert_eq!(slice["battles"], exact[key]["battles"]);
    }
    let no_tie = of_30k("--ties drop --both-bad drop").unwrap();
    let board = &no_tie["leaderboards"][0];
    column(board, names, "rating", &exact["no_tie"]["elo"], EXACT);
    errors(board, names, &exact["no_tie"]["se_hc0"], 1e-8);
}

#[test]
fn clustered_model_based_and_weighted_errors_meet_the_exact_ones() {
    let Some(document) = of_30k("--ci cluster") else {
        return;
    };
    let extras = read("votes/ranking-fixtures/extras_30k.json");
    let exact = read("votes/ranking-fixtures/bt_30k.json");
    let names = &extras["names"];
    errors(
        &document["leaderboards"][0],
        names,
        &extras["cluster_judge_CR0"]["se_elo"],
        1e-8,
    );
    let model = of_30k("--ci model").unwrap();
    errors(
        &model["leaderboards"][0],
        names,
        &exact["exact"]["se_model_based"],
        1e-8,
    );
    let weighted = of_30k("--reweight").unwrap();
    let board = &weighted["leaderboards"][0];
    column(board, names, "rating", &exact["exact_ipw50"]["elo"], EXACT);
    errors(board, names, &exact["exact_ipw50"]["se_hc0"], 1e-8);
    let located = of_30k("--location weighted-mean").unwrap();
    let board = &located["leaderboards"][0];
    let other = &exact["exact_other_anchors"]["battle_weighted_mean_1000"];
    column(board, names, "rating", &other["elo"], EXACT);
    errors(board, names, &other["se_hc0"], 1e-8);
}

#[test]
fn davidson_elo_and_the_presets_meet_their_references() {
    let Some(document) = of_30k("--ties davidson") else {
        return;
    };
    let exact = read("votes/ranking-fixtures/bt_30k.json");
    let names = &exact["names"];
    let davidson = &exact["exact_davidson"];
    let points = 400.0 / 10.0_f64.ln();
    let thetas = davidson["theta"].as_array().unwrap();
    let mean = thetas
        .iter()
        .map(|theta| theta.as_f64().unwrap())
        .sum::<f64>()
        / thetas.len() as f64;
    let ratings: Vec<f64> = thetas
        .iter()
        .map(|theta| 1000.0 + points * (theta.as_f64().unwrap() - mean))
        .collect();
    let board = &document["leaderboards"][0];
    column(board, names, "rating", &ratings.into(), 1e-5);
    let nu = board["tie"]["estimate"].as_f64().unwrap();
    assert!((nu - davidson["v"].as_f64().unwrap()).abs() < 1e-7, "{nu}");

    let arena_rank = of_30k("--preset arena-rank").unwrap();
    let board = &arena_rank["leaderboards"][0];
    let peer = &exact["peers"]["arena_rank_tight"];
    column(board, names, "rating", &peer["elo"], EXACT);
    column(board, names, "rating_lower", &peer["lower"], 1e-5);
    let reweighted = of_30k("--preset arena-rank --reweight").unwrap();
    let board = &reweighted["leaderboards"][0];
    let peer = &exact["peers"]["arena_rank_reweighted_tight"];
    column(board, names, "rating", &peer["elo"], EXACT);
    column(board, names, "rating_upper", &peer["upper"], 1e-5);
}

#[test]
fn online_elo_of_genai_arena_is_the_published_one() {
    let Some(path) = testdata("votes/genai-arena/clean_battle_20240220.json") else {
        return;
    };
    let published = read("votes/genai-arena/elo_results_20240220_all.json");
    let published = published["full"]["elo_rating_online"].as_object().unwrap();
    let document = json(&rank(
        &[path_text(&path), "--method", "elo", "--json"],
        None,
    ));
    let models = document["leaderboards"][0]["models"].as_array().unwrap();
    assert_eq!(models.len(), published.len());
    for model in models {
        let expected = published[model["model"].as_str().unwrap()]
            .as_f64()
            .unwrap();
        let found = model["rating"].as_f64().unwrap();
        assert!(
            (found / expected - 1.0).abs() < 1e-13,
            "{}: {found} against {expected}",
            model["model"]
        );
    }
}

/// The reference example: rows of (side A, side B, winner) in their order.
fn g1() -> Vec<(&'static str, &'static str, &'static str)> {
    let mut rows = Vec::new();
    for (a, b, counts) in [
        ("A", "B", [6, 3, 1, 0]),
        ("B", "A", [2, 0, 0, 2]),
        ("B", "C", [5, 4, 0, 0]),
        ("C", "A", [2, 7, 2, 0]),
    ] {
        for (winner, n) in ["model_a", "model_b", "tie", "tie (bothbad)"]
            .into_iter()
            .zip(counts)
        {
            rows.extend(std::iter::repeat_n((a, b, winner), n));
        }
    }
    rows
}

fn rating(document: &Value, name: &str) -> f64 {
    let models = document["leaderboards"][0]["models"].as_array().unwrap();
    let model = models.iter().find(|model| model["model"] == name).unwrap();
    model["rating"].as_f64().unwrap()
}

#[test]
fn the_reference_example_is_met_by_every_method() {
    let mut votes = String::from("model_a,model_b,winner\n");
    for (a, b, winner) in g1() {
        votes.push_str(&format!("{a},{b},{winner}\n"));
    }
    let of = |flags: &str| {
        let arguments: Vec<&str> = ["-", "--json"]
            .into_iter()
            .chain(flags.split_whitespace())
            .collect();
        json(&rank(&arguments, Some(votes.as_bytes())))
    };
    for (flags, expected, tolerance) in [
        ("--method elo", [1010.618841, 1000.378705, 989.002454], 1e-6),
        ("", [1060.6510, 1009.7088, 929.6402], 1e-3),
        ("--preset fastchat", [1060.6510, 1009.7088, 929.6402], 1e-3),
        (
            "--preset fastchat --anchor C=1114",
            [1245.0108, 1194.0686, 1114.0],
            1e-3,
        ),
    ] {
        let document = of(flags);
        for (name, expected) in ["A", "B", "C"].into_iter().zip(expected) {
            let found = rating(&document, name);
            assert!(
                (found - expected).abs() < tolerance,
                "{flags} {name}: {found} {expected}"
            );
        }
    }
    let bootstrap = of("--preset fastchat");
    let models = bootstrap["leaderboards"][0]["models"].as_array().unwrap();
    let published = [
        ("A", 969.427, 1149.721),
        ("B", 911.190, 1090.832),
        ("C", 824.571, 1039.506),
    ];
    for (name, lower, upper) in published {
        let model = models.iter().find(|model| model["model"] == name).unwrap();
        // Another stream of random numbers, so near and not equal.
        assert!(
            (model["rating_lower"].as_f64().unwrap() - lower).abs() < 60.0,
            "{model}"
        );
        assert!(
            (model["rating_upper"].as_f64().unwrap() - upper).abs() < 60.0,
            "{model}"
        );
    }
}

#[test]
fn the_reference_example_is_met_with_style() {
    let mut votes = String::new();
    for (i, (a, b, winner)) in g1().into_iter().enumerate() {
        let metadata = serde_json::json!({
            "sum_assistant_a_tokens": 50 + 37 * i % 400,
            "sum_assistant_b_tokens": 60 + 53 * i % 300,
            "header_count_a": { "h1": i % 2, "h2": 3 * i % 4 },
            "header_count_b": { "h1": (i + 1) % 3, "h2": 5 * i % 3 },
            "list_count_a": { "ordered": 7 * i % 5, "unordered": 2 * i % 6 },
            "list_count_b": { "ordered": 4 * i % 5, "unordered": 3 * i % 7 },
            "bold_count_a": { "**": 11 * i % 8, "__": 0 },
            "bold_count_b": { "**": 13 * i % 5, "__": i % 2 },
        });
        let row = serde_json::json!({ "model_a": a, "model_b": b, "winner": winner, "conv_metadata": metadata });
        votes.push_str(&format!("{row}\n"));
    }
    let flags = ["-", "--preset", "fastchat", "--style-control", "--json"];
    let document = json(&rank(&flags, Some(votes.as_bytes())));
    let expected = [("A", 1069.4835), ("B", 1011.5717), ("C", 918.9448)];
    for (name, expected) in expected {
        let found = rating(&document, name);
        assert!(
            (found - expected).abs() < 2e-3,
            "{name}: {found} {expected}"
        );
    }
    let style = document["leaderboards"][0]["style"].as_array().unwrap();
    let expected = [
        ("length", -0.590214),
        ("headers", 0.162078),
        ("lists", -0.049578),
        ("bold", -0.143936),
    ];
    for (row, (feature, expected)) in style.iter().zip(expected) {
        assert_eq!(row["feature"], feature);
        let found = row["coefficient"].as_f64().unwrap();
        assert!(
            (found - expected).abs() < 1e-5,
            "{feature}: {found} {expected}"
        );
    }
}

#[test]
fn shares_of_sources_meet_the_composite_fit() {
    let Some(path) = testdata("votes/ranking-fixtures/battles-30k.parquet") else {
        return;
    };
    // The reference has the part that is English as a second source beside all votes.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("all.parquet");
    std::fs::copy(&path, &copy).unwrap();
    let both = json(&rank(
        &[
            path_text(&path),
            path_text(&copy),
            "--source-weight",
            "0.7,0.3",
            "--json",
        ],
        None,
    ));
    // Twice the same votes, whatever their shares, are these votes.
    let exact = read("votes/ranking-fixtures/bt_30k.json");
    column(
        &both["leaderboards"][0],
        &exact["names"],
        "rating",
        &exact["exact"]["elo"],
        EXACT,
    );
}

/// The votes in English, as a table with nothing but models and winner.
fn in_english(path: &Path) -> String {
    let selection = agon_dataset::Selection {
        slices: vec!["language".to_owned()],
        ..agon_dataset::Selection::default()
    };
    let (battles, _) = agon_dataset::read_battles(
        vec![agon_dataset::Input::Path(path.to_owned())],
        &agon_dataset::ReadOptions::default(),
        &selection,
        &mut |_| {},
    )
    .unwrap();
    let agon_dataset::SliceValues::One(languages) = &battles.slices[0].values else {
        panic!("one language for each row");
    };
    let mut votes = String::from("model_a,model_b,winner\n");
    for (row, &code) in languages.codes.iter().enumerate() {
        if languages.values.get(code as usize).map(String::as_str) == Some("English") {
            let name = |model: &[u32]| battles.models[model[row] as usize].as_str();
            votes.push_str(&format!(
                "{},{},{}\n",
                name(&battles.model_a),
                name(&battles.model_b),
                battles.winner[row]
            ));
        }
    }
    votes
}

#[test]
fn a_composite_with_a_penalty_on_strengths_meets_the_exact_fit() {
    let Some(path) = testdata("votes/ranking-fixtures/battles-30k.parquet") else {
        return;
    };
    let (_folder, english) = file("english.csv", &in_english(&path));
    let n_battles = 30_000 + 17_379;
    // The penalty of the fixture is on the mean loss, that of the command line on the summed one.
    let ridge = (1e-5 * f64::from(n_battles)).to_string();
    let document = json(&rank(
        &[
            path_text(&path),
            path_text(&english),
            "--source-weight",
            "0.7,0.3",
            "--ridge-strengths",
            &ridge,
            "--json",
        ],
        None,
    ));
    assert_eq!(document["input"]["kept"], n_battles);
    let extras = read("votes/ranking-fixtures/extras_30k.json");
    let board = &document["leaderboards"][0];
    column(
        board,
        &extras["names"],
        "rating",
        &extras["composite"]["elo"],
        EXACT,
    );
    errors(board, &extras["names"], &extras["composite"]["se"], 1e-8);
}
