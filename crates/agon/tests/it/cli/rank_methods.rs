//! The methods, weights and intervals of `agon rank`, by themselves and against the library.

use agon_ranking::{
    Comparison, Comparisons, LeaderboardOptions, average_win_rates, elo, leaderboard,
};
use serde_json::Value;

use super::rank::{CSV, file, json, path_text, rank, text};

/// The rows of [`CSV`], a as 0 and b as 1, both kinds of tie as half a win.
fn rows() -> Vec<Comparison> {
    CSV.lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let model = |name: &str| u32::from(name == "b");
            let outcome = match cells[2] {
                "model_a" => 1.0,
                "model_b" => 0.0,
                _ => 0.5,
            };
            Comparison::new(model(cells[0]), model(cells[1]), outcome)
        })
        .collect()
}

fn model<'a>(board: &'a Value, name: &str) -> &'a Value {
    board["leaderboards"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|board| board["models"].as_array().unwrap())
        .find(|model| model["model"] == name)
        .unwrap()
}

#[track_caller]
fn close(found: &Value, expected: f64, tolerance: f64) {
    let found = found.as_f64().unwrap();
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} against {expected}"
    );
}

fn stdin(arguments: &[&str], content: &str) -> std::process::Output {
    let arguments: Vec<&str> = ["-"].iter().chain(arguments).copied().collect();
    rank(&arguments, Some(content.as_bytes()))
}

#[test]
fn flags_that_make_no_sense_together_are_refused_with_exit_code_2() {
    let (_folder, path) = file("votes.csv", CSV);
    for (flags, part) in [
        ("--both-bad loss", "--ties grounded"),
        ("--method elo --ci bootstrap", "has no intervals"),
        ("--method elo --style-control", "--style-control"),
        ("--method elo --ties davidson", "--method bt"),
        ("--method win-rate --k 8", "a share from 0 to 1"),
        ("--k 8", "--method elo"),
        ("--bootstrap 100", "--ci bootstrap"),
        ("--seed 1", "--simultaneous"),
        ("--ci bootstrap --simultaneous", "covariance"),
        ("--features length", "--style-control"),
        ("--difference arena-rank", "--style-control"),
        ("--ridge 1", "--style-control"),
        ("--style-control --features len,length", "more than once"),
        ("--style-control --features ,", "empty name"),
        ("--ties davidson --style-control", "--ties half"),
        ("--ties rao-kupper --ci cluster", "sandwich"),
        ("--ties grounded --both-bad half", "an outcome of its own"),
        (
            "--preset fastchat --ties drop",
            "what the other program does",
        ),
        ("--preset fastchat --reweight", "FastChat has no weights"),
        ("--preset arena-rank --anchor a=1", "an anchor"),
        ("--preset arena-rank --reweight 20", "50"),
        ("--reweight recorded", "--weight-column"),
        ("--reweight 50 --weight-column w", "only one of them"),
        ("--reweight many", "a number of battles"),
        ("--cumulative", "--by"),
        ("--since yesterday", "2024-05-31"),
        ("--where language", "COLUMN=VALUE"),
        ("--prior-weight 3", "--prior"),
        ("--ridge-strengths=-1", "below 0"),
        ("--ridge-strengths 1 --method elo", "--method bt"),
        ("--ridge-strengths 1 --ties davidson", "--ties half"),
        ("--ridge-strengths 1 --preset arena-rank", "a preset"),
        ("--source-weight 0", "above 0"),
        ("--source-weight x=1,2", "not both"),
        ("--source-weight 1,2", "2 shares for 1 sources"),
        ("--source-weight other.csv=1", "has no share"),
        ("--source-weight 1 --ci bootstrap", "the sandwich"),
        ("--anchor a=1 --location mean", "cannot be used with"),
        ("--ci cluster-bootstrap --bootstrap 1", "from 2 to"),
        ("--threads 0", "threads"),
        ("--plot board.pdf", ".svg or .png"),
        ("--plot history:h.svg", "--by"),
        ("--plot histroy:h.svg", "win-rates"),
        ("--plot coefficients:c.svg", "--style-control"),
    ] {
        let arguments: Vec<&str> = [path_text(&path)]
            .into_iter()
            .chain(flags.split(' '))
            .collect();
        let output = rank(&arguments, None);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags}: {told}");
        assert!(told.contains(part), "{flags}: {told}");
        assert!(output.stdout.is_empty(), "{flags}");
    }
}

#[test]
fn online_elo_follows_time_and_says_what_it_followed() {
    // The third vote was cast first.
    let timed = "model_a,model_b,winner,tstamp\na,b,model_a,1700000300\nb,a,model_a,1700000200\na,b,tie,1700000100\n";
    let board = json(&stdin(&["--method", "elo", "--json"], timed));
    let in_time = [
        Comparison::new(0, 1, 0.5),
        Comparison::new(1, 0, 1.0),
        Comparison::new(0, 1, 1.0),
    ];
    let expected = elo::online(2, in_time, &elo::EloOptions::default()).unwrap();
    close(&model(&board, "a")["rating"], expected[0], 1e-12);
    close(&model(&board, "b")["rating"], expected[1], 1e-12);
    assert_eq!(board["leaderboards"][0]["method"], "elo");
    assert_eq!(board["settings"]["k"], 4.0);
    assert_eq!(board["settings"]["interval"], "none");
    assert!(model(&board, "a")["rating_lower"].is_null());
    assert!(model(&board, "a")["rank_upper"].is_null());
    let notes = board["leaderboards"][0]["notes"].to_string();
    assert!(notes.contains("in the order of time"), "{notes}");

    for (content, part) in [
        (timed.replace(",tstamp", ",when"), "do not say when"),
        (timed.replace("1700000200", ""), "1 votes do not say when"),
    ] {
        let board = json(&stdin(
            &["--method", "elo", "--k", "32", "--json"],
            &content,
        ));
        let in_rows = [
            Comparison::new(0, 1, 1.0),
            Comparison::new(1, 0, 1.0),
            Comparison::new(0, 1, 0.5),
        ];
        let options = elo::EloOptions {
            k: 32.0,
            ..elo::EloOptions::default()
        };
        let expected = elo::online(2, in_rows, &options).unwrap();
        close(&model(&board, "a")["rating"], expected[0], 1e-12);
        let notes = board["leaderboards"][0]["notes"].to_string();
        assert!(
            notes.contains(part) && notes.contains("order of rows"),
            "{notes}"
        );
    }
}

#[test]
fn both_bad_can_be_a_loss_for_both_where_a_battle_need_not_have_a_winner() {
    let votes = "model_a,model_b,winner\na,b,both_bad\n";
    let board = json(&stdin(
        &["--method", "elo", "--both-bad", "loss", "--json"],
        votes,
    ));
    for name in ["a", "b"] {
        close(&model(&board, name)["rating"], 998.0, 1e-12);
        assert_eq!(model(&board, name)["rank"], 1);
    }
    let votes = "model_a,model_b,winner\na,b,both_bad\na,b,model_a\n";
    let flags = ["--method", "win-rate", "--both-bad", "loss", "--json"];
    let board = json(&stdin(&flags, votes));
    close(&model(&board, "a")["rating"], 0.5, 1e-12);
    close(&model(&board, "b")["rating"], 0.0, 1e-12);
    assert_eq!(board["settings"]["both_bad"], "loss");
}

#[test]
fn win_rates_are_those_of_the_library() {
    let comparisons = Comparisons::new(2, rows()).unwrap();
    let expected = average_win_rates(&comparisons);
    let board = json(&stdin(&["--method", "win-rate", "--json"], CSV));
    close(&model(&board, "a")["rating"], expected[0].unwrap(), 1e-12);
    close(&model(&board, "b")["rating"], expected[1].unwrap(), 1e-12);
    let few = json(&stdin(
        &["--method", "win-rate", "--min-battles", "11", "--json"],
        CSV,
    ));
    assert_eq!(model(&few, "a")["reason"], "few_battles");
}

#[test]
fn davidson_and_rao_kupper_have_their_closed_forms_for_two_models() {
    let mut votes = String::from("model_a,model_b,winner\n");
    for (winner, n) in [
        ("model_a", 40),
        ("model_b", 10),
        ("tie", 20),
        ("both_bad", 10),
    ] {
        votes.push_str(&format!("a,b,{winner}\n").repeat(n));
    }
    let board = json(&stdin(&["--ties", "davidson", "--json"], &votes));
    // Both bad is a tie here: πa / πb = 40 / 10 and ν = 30 / (2 √(40 · 10)).
    close(
        &model(&board, "a")["rating"],
        1000.0 + 200.0 * 4.0_f64.log10(),
        1e-9,
    );
    let tie = &board["leaderboards"][0]["tie"];
    assert_eq!(tie["parameter"], "nu");
    close(&tie["estimate"], 0.75, 1e-9);
    assert!(tie["lower"].as_f64().unwrap() > 0.0);
    assert_eq!(board["settings"]["both_bad"], "tie");
    assert_eq!(board["leaderboards"][0]["method"], "davidson");

    let dropped = json(&stdin(
        &["--ties", "davidson", "--both-bad", "drop", "--json"],
        &votes,
    ));
    close(&dropped["leaderboards"][0]["tie"]["estimate"], 0.5, 1e-9);
    assert_eq!(model(&dropped, "a")["both_bad"], 10, "still counted");

    let board = json(&stdin(
        &["--ties", "rao-kupper", "--anchor", "b=900", "--json"],
        &votes,
    ));
    // P(a) = π / (π + η) = ½ and P(b) = 1 / (1 + η π) = ⅛, so π = η and η² = 7.
    close(
        &board["leaderboards"][0]["tie"]["estimate"],
        7.0_f64.sqrt(),
        1e-9,
    );
    close(&model(&board, "b")["rating"], 900.0, 1e-9);
    close(
        &model(&board, "a")["rating"],
        900.0 + 400.0 * 7.0_f64.sqrt().log10(),
        1e-6,
    );
}

#[test]
fn the_grounded_model_tells_how_often_answers_are_good_enough() {
    let mut votes = String::from("model_a,model_b,winner\n");
    for (winner, n) in [
        ("model_a", 40),
        ("model_b", 20),
        ("tie", 20),
        ("both_bad", 20),
    ] {
        votes.push_str(&format!("a,b,{winner}\n").repeat(n));
    }
    let board = json(&stdin(&["--ties", "grounded", "--json"], &votes));
    let (a, b) = (model(&board, "a"), model(&board, "b"));
    let level = |model: &Value| {
        let level = &model["good_enough"];
        let number = |key: &str| level[key].as_f64().unwrap();
        assert!(0.0 < number("lower") && number("lower") < number("probability"));
        assert!(number("probability") < number("upper") && number("upper") < 1.0);
        number("probability")
    };
    assert!(level(a) > level(b));
    // 1 / (1 + πa + πb) = 1 / 5.
    let worth = |level: f64| level / (1.0 - level);
    assert!((worth(level(a)) + worth(level(b)) - 4.0).abs() < 1e-6);
    assert_eq!(board["settings"]["both_bad"], "outcome");

    let never_bad = stdin(&["--ties", "grounded"], &votes.replace("both_bad", "tie"));
    assert_eq!(
        never_bad.status.code(),
        Some(3),
        "{}",
        text(&never_bad.stderr)
    );
    assert!(text(&never_bad.stderr).contains("--ties half"));
}

#[test]
fn models_that_a_tie_model_cannot_place_are_provisional() {
    let votes = format!("{CSV}u,a,model_a\nu,b,model_a\n");
    let board = json(&stdin(&["--ties", "davidson", "--json"], &votes));
    let alone = json(&stdin(&["--ties", "davidson", "--json"], CSV));
    assert_eq!(model(&board, "u")["reason"], "undefeated");
    assert!(model(&board, "u")["rank"].is_null());
    assert_eq!(model(&board, "a")["rating"], model(&alone, "a")["rating"]);
    let output = stdin(&["--ties", "davidson", "--anchor", "u=1000"], &votes);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`u` is not rated"));
}

#[test]
fn the_advantage_of_side_a_is_a_coefficient() {
    let mut votes = String::from("model_a,model_b,winner\n");
    for (line, n) in [
        ("a,b,model_a\n", 80),
        ("a,b,model_b\n", 20),
        ("b,a,model_a\n", 40),
        ("b,a,model_b\n", 60),
    ] {
        votes.push_str(&line.repeat(n));
    }
    let board = json(&stdin(&["--order-effect", "--json"], &votes));
    let (first, second) = (4.0_f64.ln(), (40.0_f64 / 60.0).ln());
    let style = &board["leaderboards"][0]["style"];
    assert_eq!(style[0]["feature"], "order_effect");
    close(&style[0]["coefficient"], (first + second) / 2.0, 1e-9);
    assert!(style[0]["lower"].as_f64() < style[0]["upper"].as_f64());
    let points = 400.0 / 10.0_f64.ln();
    let difference = model(&board, "a")["rating"].as_f64().unwrap()
        - model(&board, "b")["rating"].as_f64().unwrap();
    assert!((difference - points * (first - second) / 2.0).abs() < 1e-6);
    assert_eq!(board["settings"]["order_effect"], true);

    // When only one order was seen, nothing tells the advantage from the models: it is left out, and said so.
    let votes = format!(
        "model_a,model_b,winner\n{}",
        "a,b,model_a\na,b,model_b\n".repeat(20)
    );
    let one_order = json(&stdin(&["--order-effect", "--json"], &votes));
    let left_out = &one_order["leaderboards"][0]["style_left_out"];
    assert_eq!(left_out[0]["feature"], "order_effect");
    assert_eq!(left_out[0]["reason"], "collinear");
}

#[test]
fn pairs_can_be_weighted_and_the_weights_are_those_of_the_library() {
    let mut votes = String::from("model_a,model_b,winner\n");
    for (line, n) in [
        ("a,b,model_a\n", 300),
        ("a,b,model_b\n", 100),
        ("b,c,model_a\n", 30),
        ("b,c,model_b\n", 20),
        ("a,c,model_a\n", 40),
        ("a,c,model_b\n", 40),
    ] {
        votes.push_str(&line.repeat(n));
    }
    let comparisons = Comparisons::new(
        3,
        [
            Comparison::new(0, 1, 1.0).with_count(300),
            Comparison::new(0, 1, 0.0).with_count(100),
            Comparison::new(1, 2, 1.0).with_count(30),
            Comparison::new(1, 2, 0.0).with_count(20),
            Comparison::new(0, 2, 1.0).with_count(40),
            Comparison::new(0, 2, 0.0).with_count(40),
        ],
    )
    .unwrap();
    for (flags, battles_min) in [(vec!["--reweight"], 50), (vec!["--reweight", "100"], 100)] {
        let flags: Vec<&str> = flags.into_iter().chain(["--json"]).collect();
        let board = json(&stdin(&flags, &votes));
        let weighted = comparisons.reweighted_by_pair(battles_min);
        let expected = leaderboard(&weighted, &LeaderboardOptions::default()).unwrap();
        for entry in &expected.main().entries {
            let found = model(&board, ["a", "b", "c"][entry.model]);
            close(&found["rating"], entry.rating, 1e-9);
            close(&found["rating_upper"], entry.interval.unwrap().upper, 1e-9);
        }
        assert_eq!(
            board["settings"]["weights"],
            serde_json::json!({ "kind": "pair", "battles_min": battles_min })
        );
    }
}

#[test]
fn a_bootstrap_is_repeated_by_its_seed_on_any_number_of_threads() {
    let mut votes = String::from("model_a,model_b,winner\n");
    for (line, n) in [
        ("a,b,model_a\n", 60),
        ("a,b,model_b\n", 40),
        ("b,c,model_a\n", 55),
        ("b,c,tie\n", 45),
        ("a,c,model_b\n", 20),
        ("a,c,model_a\n", 30),
    ] {
        votes.push_str(&line.repeat(n));
    }
    let bytes = |flags: &str| {
        let flags: Vec<&str> = flags.split(' ').collect();
        let output = stdin(&flags, &votes);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let first = bytes("--ci bootstrap --bootstrap 200 --threads 1 --json");
    assert_eq!(
        first,
        bytes("--ci bootstrap --bootstrap 200 --threads 3 --json")
    );
    assert_ne!(
        first,
        bytes("--ci bootstrap --bootstrap 200 --threads 1 --seed 7 --json")
    );
    let board: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(board["settings"]["interval"], "bootstrap");
    assert_eq!(board["settings"]["bootstrap_rounds"], 200);
    assert_eq!(board["settings"]["seed"], 0);
    assert_eq!(board["leaderboards"][0]["bootstrap"]["rounds"], 200);
    let sandwich = json(&stdin(&["--json"], &votes));
    let width = |board: &Value| {
        let row = model(board, "a");
        row["rating_upper"].as_f64().unwrap() - row["rating_lower"].as_f64().unwrap()
    };
    let ratio = width(&board) / width(&sandwich);
    assert!((0.75..1.3).contains(&ratio), "{ratio}");
    assert_eq!(
        model(&board, "a")["rating"],
        model(&sandwich, "a")["rating"]
    );
}

#[test]
fn statements_that_hold_all_at_once_are_wider() {
    let board = json(&stdin(&["--simultaneous", "--json"], CSV));
    let row = model(&board, "a");
    let all = &row["simultaneous"];
    assert!(all["rating_lower"].as_f64() <= row["rating_lower"].as_f64());
    assert_eq!(all["rank_upper"], 1);
    let confidence = all["first_confidence"].as_f64().unwrap();
    assert!((0.0..1.0).contains(&confidence));
    assert_eq!(board["settings"]["simultaneous_draws"], 10_000);
    let without = json(&stdin(&["--ci", "none", "--json"], CSV));
    assert!(model(&without, "a")["rating_lower"].is_null());
    assert_eq!(model(&without, "a")["rank"], 1);
    assert_eq!(model(&without, "b")["rank"], 2);
}

#[test]
fn presets_say_what_is_untrue_about_them() {
    let plain = json(&stdin(&["--json"], CSV));
    for preset in ["fastchat", "arena-rank"] {
        let output = stdin(&["--preset", preset, "--json"], CSV);
        let board = json(&output);
        close(
            &model(&board, "a")["rating"],
            model(&plain, "a")["rating"].as_f64().unwrap(),
            1e-6,
        );
        assert_eq!(board["settings"]["preset"], preset);
        assert_eq!(board["leaderboards"][0]["method"], preset);
        assert!(
            !board["leaderboards"][0]["notes"]
                .as_array()
                .unwrap()
                .is_empty()
        );
        let told = text(&output.stderr);
        assert!(told.contains("untrue about these numbers"), "{told}");
    }
    let anchored = json(&stdin(
        &["--preset", "fastchat", "--anchor", "b=1114", "--json"],
        CSV,
    ));
    close(&model(&anchored, "b")["rating"], 1114.0, 1e-9);
    // Where no optimum exists, the program reports wherever it stopped; there is nothing to reproduce.
    let undefeated = stdin(
        &["--preset", "arena-rank"],
        "model_a,model_b,winner\na,b,model_a\n",
    );
    assert_eq!(
        undefeated.status.code(),
        Some(3),
        "{}",
        text(&undefeated.stderr)
    );
}

#[test]
fn a_penalty_on_strengths_draws_ratings_together() {
    let (_folder, path) = file("votes.csv", CSV);
    let spread = |flags: &[&str]| {
        let arguments: Vec<&str> = [path_text(&path), "--json"]
            .into_iter()
            .chain(flags.iter().copied())
            .collect();
        let board = json(&rank(&arguments, None));
        let stated = board["settings"]["ridge_strengths"].clone();
        let rating = |name| model(&board, name)["rating"].as_f64().unwrap();
        (rating("a") - rating("b"), stated)
    };
    let (plain, stated) = spread(&[]);
    assert_eq!(stated, Value::Null);
    assert_eq!(spread(&["--ridge-strengths", "0"]).0, plain);
    let (drawn, stated) = spread(&["--ridge-strengths", "2"]);
    assert_eq!(stated, 2.0);
    // 7 points of 10 for a: with d = 2 θ, the loss has the slope 10 σ(d) − 7 in d, the penalty 2 · 2 θ² / 2 the slope d.
    let d = drawn * 10.0_f64.ln() / 400.0;
    assert!((10.0 / (1.0 + (-d).exp()) - 7.0 + d).abs() < 1e-9, "{d}");
    assert!(drawn < plain);
}

#[test]
fn a_prior_speaks_where_votes_do_not() {
    let mut votes = String::from("model_a,model_b,winner\n");
    votes.push_str(&"a,b,model_a\n".repeat(75));
    votes.push_str(&"a,b,model_b\n".repeat(25));
    let (folder, path) = file("votes.csv", &votes);
    let prior = folder.path().join("prior.json");
    let output = rank(
        &[
            path_text(&path),
            "--format",
            "json",
            "-o",
            path_text(&prior),
        ],
        None,
    );
    assert!(output.status.success());
    let before = json(&rank(&[path_text(&path), "--json"], None));

    // One vote for a newcomer: without a prior it would be provisional.
    let few = "model_a,model_b,winner\na,n,model_a\nb,a,model_a\n";
    let board = |weight: &str| {
        json(&stdin(
            &[
                "--prior",
                path_text(&prior),
                "--prior-weight",
                weight,
                "--json",
            ],
            few,
        ))
    };
    let strong = board("1000000");
    for name in ["a", "b"] {
        close(
            &model(&strong, name)["rating"],
            model(&before, name)["rating"].as_f64().unwrap(),
            0.01,
        );
    }
    close(&model(&strong, "n")["rating"], 1000.0, 0.01);
    assert_eq!(model(&strong, "n")["status"], "rated");
    let weak = board("1");
    let gap = |board: &Value| {
        model(board, "a")["rating"].as_f64().unwrap()
            - model(board, "b")["rating"].as_f64().unwrap()
    };
    assert!(
        gap(&weak) < gap(&strong),
        "the vote for b counts against the prior"
    );
    let setting = &strong["settings"]["prior"];
    assert_eq!(setting["battles"], 1_000_000.0);
    assert_eq!(setting["sha256"].as_str().unwrap().len(), 64);
    let notes = strong["leaderboards"][0]["notes"].to_string();
    assert!(
        notes.contains("1 models are not on the prior's board"),
        "{notes}"
    );

    let refused = stdin(&["--prior", path_text(&path)], few);
    assert_eq!(refused.status.code(), Some(3));
    assert!(text(&refused.stderr).contains("is no board"));
}

#[test]
fn the_catalog_has_the_shape_of_published_boards() {
    let votes = format!("{CSV}u,a,model_a\nx,y,tie\n");
    let catalog = json(&stdin(&["--format", "catalog"], &votes));
    let board = json(&stdin(&["--json"], &votes));
    let overall = catalog["overall"].as_object().unwrap();
    assert_eq!(overall.keys().collect::<Vec<_>>(), ["a", "b"]);
    for name in ["a", "b"] {
        let row = model(&board, name);
        assert_eq!(overall[name]["rating"], row["rating"]);
        assert_eq!(overall[name]["rating_q975"], row["rating_upper"]);
        assert_eq!(overall[name]["rating_q025"], row["rating_lower"]);
    }
}

#[test]
fn pictures_are_drawn_as_svg_and_png() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (whole, rates) = (at("whole.svg"), at("rates.png"));
    let battles = format!("battles:{}", path_text(&at("battles.svg")));
    let own = format!("win-rates:{}", path_text(&rates));
    let effect = format!("coefficients:{}", path_text(&at("effect.svg")));
    let flags = [
        "--order-effect",
        "--plot",
        path_text(&whole),
        "--plot",
        &own,
        "--plot",
        &battles,
        "--plot",
        &effect,
    ];
    let output = stdin(&flags, CSV);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(std::fs::read_to_string(&whole).unwrap().starts_with("<svg"));
    assert!(std::fs::read(&rates).unwrap().starts_with(b"\x89PNG"));
    // Ten battles of the only pair.
    let battles = std::fs::read_to_string(at("battles.svg")).unwrap();
    assert!(battles.contains("10 battles"), "{battles}");
    assert!(at("effect.svg").exists());
}

#[test]
fn a_page_needs_nothing_else_and_trusts_no_name() {
    let votes = "model_a,model_b,winner\n<script>x</script>,b,model_a\nb,<script>x</script>,model_a\nb,\u{202e}z,tie\n";
    let output = stdin(&["--format", "html"], votes);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    assert!(page.starts_with("<!doctype html>"));
    for part in [
        "<html lang=\"en\">",
        "<title>",
        "<main>",
        "<caption>",
        "scope=\"col\"",
        "scope=\"row\"",
        "Content-Security-Policy",
        "agon_version",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<script") && !page.contains('\u{202e}'));
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        let inside_of_svg = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!inside_of_svg.contains(outside), "{outside}");
    }
}

#[test]
fn a_column_without_a_weight_or_a_number_is_named_with_what_is_accepted() {
    let rows = "model_a,model_b,winner,sure,flag,gap\n\
        a,b,model_a,very,true,1e160\na,b,model_b,hardly,false,-1e160\n\
        b,a,model_a,very,true,1e159\nb,a,model_b,very,false,2\n";
    let (_folder, path) = file("votes.csv", rows);
    for (flags, expected) in [
        (
            &["--weight-column", "sure"][..],
            "no row has a usable weight in `sure`: expected numbers above 0, found `",
        ),
        (
            &["--reweight", "recorded", "--weight-column", "sure"],
            "votes.csv`, row 1 (line 2), column `sure`, `very`",
        ),
        (
            &["--style-control", "--features", "flag"],
            "votes.csv`, row 1 (line 2), column `flag`, `true`",
        ),
        (
            &["--style-control", "--features", "gap"],
            "gap has values beyond 1e140",
        ),
    ] {
        let refused = rank(&[&[path_text(&path)], flags].concat(), None);
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(3), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_tie_model_that_places_nobody_counts_the_models() {
    let rows = "model_a,model_b,winner\na,b,model_a\na,b,model_a\nb,c,model_a\na,c,model_a\n";
    for (ties, expected) in [
        ("davidson", "the models fall into `3` groups"),
        ("grounded", "`3` models are not tied to the bar"),
    ] {
        let output = rank(&["-", "--ties", ties, "--json"], Some(rows.as_bytes()));
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(said.contains(expected), "{ties}: {said}");
        assert!(!said.contains("`0`"), "{ties}: {said}");
    }
}
