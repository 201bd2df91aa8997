//! Style control, judges and weights: what needs more of a row than who won.

use agon_ranking::{
    CovarianceMethod, LeaderboardOptions, Rows, leaderboard,
    style_control::{DifferenceRule, Scaling, scale_features},
};
use serde_json::Value;

use super::rank::{json, rank, text};

const MODELS: [&str; 3] = ["a", "b", "c"];

/// A battle with two features of each side, a judge and a weight.
struct Row {
    sides: [usize; 2],
    score: f64,
    words: [u32; 2],
    images: [u32; 2],
    judge: usize,
    weight: f64,
}

/// Battles in which long answers win more often than short ones.
fn rows() -> Vec<Row> {
    (0..900_usize)
        .map(|row| {
            let first = row % 3;
            let second = (first + 1 + row / 3 % 2) % 3;
            let words = [20 + row * 37 % 211, 20 + row * 53 % 197].map(|n| n as u32);
            let draw = (row * 7919 + row / 7) % 100;
            let bar = 50 + 10 * second - 10 * first + if words[0] > words[1] { 20 } else { 0 } - 10;
            Row {
                sides: [first, second],
                score: match draw {
                    0..12 => 0.5,
                    _ if draw < bar => 1.0,
                    _ => 0.0,
                },
                words,
                images: [(row % 4) as u32, (row * 3 % 5) as u32],
                judge: row % 60,
                weight: 0.5 + (row % 10) as f64 / 10.0,
            }
        })
        .collect()
}

fn csv(rows: &[Row]) -> String {
    let mut text = String::from(
        "model_a,model_b,winner,words_a,words_b,images_model_a,images_model_b,same_a,same_b,judge,weight\n",
    );
    for row in rows {
        let winner = match row.score {
            1.0 => "model_a",
            0.0 => "model_b",
            _ => "tie",
        };
        text.push_str(&format!(
            "{},{},{winner},{},{},{},{},3,3,judge {},{}\n",
            MODELS[row.sides[0]],
            MODELS[row.sides[1]],
            row.words[0],
            row.words[1],
            row.images[0],
            row.images[1],
            row.judge,
            row.weight
        ));
    }
    text
}

/// Comparisons with the features of the fixture, scaled as `agon rank` scales them.
fn comparisons(rows: &[Row], rule: DifferenceRule, with_style: bool) -> agon_ranking::Comparisons {
    let mut columns: Vec<Vec<f64>> = Vec::new();
    if with_style {
        let pick: [fn(&Row) -> [u32; 2]; 2] = [|row| row.words, |row| row.images];
        for pick in pick {
            let raw: Vec<f64> = rows
                .iter()
                .map(|row| rule.apply(f64::from(pick(row)[0]), f64::from(pick(row)[1])))
                .collect();
            columns.push(scale_features(&raw, 1, Scaling::Uncentred).unwrap().0);
        }
    }
    let features: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let side =
        |side: usize| -> Vec<u32> { rows.iter().map(|row| row.sides[side] as u32).collect() };
    let scores: Vec<f64> = rows.iter().map(|row| row.score).collect();
    let judges: Vec<u32> = rows.iter().map(|row| row.judge as u32).collect();
    agon_ranking::Comparisons::from_rows(
        3,
        Rows {
            model_a: &side(0),
            model_b: &side(1),
            scores: &scores,
            features: &features,
            clusters: Some(&judges),
            ..Rows::default()
        },
        std::num::NonZeroUsize::MIN,
    )
    .unwrap()
}

#[track_caller]
fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!(
        (found - expected).abs() < 1e-7,
        "{found} against {expected}"
    );
}

#[track_caller]
fn same_board(found: &Value, expected: &agon_ranking::Board) {
    let models = found["models"].as_array().unwrap();
    assert_eq!(models.len(), expected.entries.len());
    for (row, entry) in models.iter().zip(&expected.entries) {
        assert_eq!(row["model"], MODELS[entry.model]);
        close(&row["rating"], entry.rating);
        close(&row["rating_lower"], entry.interval.unwrap().lower);
        close(&row["rating_upper"], entry.interval.unwrap().upper);
    }
    for (row, coefficient) in found["style"]
        .as_array()
        .unwrap()
        .iter()
        .zip(&expected.coefficients)
    {
        close(&row["coefficient"], coefficient.estimate);
        close(&row["lower"], coefficient.lower);
        close(&row["upper"], coefficient.upper);
    }
}

#[test]
fn ratings_net_of_style_are_those_of_the_library() {
    let rows = rows();
    let votes = csv(&rows);
    for (flag, rule) in [
        ("relative", DifferenceRule::PlusOne),
        ("arena-rank", DifferenceRule::ZeroWhenEmpty),
    ] {
        let flags = [
            "-",
            "--style-control",
            "--features",
            "words,images,same",
            "--difference",
            flag,
            "--json",
        ];
        let board = json(&rank(&flags, Some(votes.as_bytes())));
        let options = LeaderboardOptions::default();
        let boards = board["leaderboards"].as_array().unwrap();
        assert_eq!(boards.len(), 2, "with style and without");
        let with = leaderboard(&comparisons(&rows, rule, true), &options).unwrap();
        let without = leaderboard(&comparisons(&rows, rule, false), &options).unwrap();
        assert_eq!(boards[0]["style_control"], true);
        same_board(&boards[0], with.main());
        assert_eq!(boards[1]["style_control"], false);
        same_board(&boards[1], without.main());
        // What is the same on both sides says nothing, and is named.
        assert_eq!(boards[0]["style_left_out"][0]["feature"], "same");
        assert_eq!(boards[0]["style_left_out"][0]["reason"], "constant");
        assert_eq!(boards[0]["style"].as_array().unwrap().len(), 2);
        assert!(boards[0]["style"][0]["coefficient"].as_f64().unwrap() > 0.1);
        for row in boards[0]["models"].as_array().unwrap() {
            let plain = boards[1]["models"].as_array().unwrap();
            let plain = plain
                .iter()
                .find(|other| other["model"] == row["model"])
                .unwrap();
            assert_eq!(
                row["rank_change"].as_i64().unwrap(),
                plain["rank"].as_i64().unwrap() - row["rank"].as_i64().unwrap()
            );
        }
        let style = &board["settings"]["style"];
        assert_eq!(style["difference"], flag);
        assert_eq!(
            style["features"],
            serde_json::json!(["words", "images", "same"])
        );
        assert_eq!(style["centred"], false);
    }
    let table = rank(
        &["-", "--style-control", "--features", "words"],
        Some(votes.as_bytes()),
    );
    let told = text(&table.stdout);
    assert!(
        told.contains("Change") && told.contains("! words 0."),
        "{told}"
    );
}

#[test]
fn a_row_that_lacks_a_feature_is_on_the_plain_board_only() {
    let rows = rows();
    let whole = csv(&rows);
    let broken =
        format!("{whole}a,b,model_a,,5,1,1,3,3,judge 1,1\nb,c,model_b,x,5,1,1,3,3,judge 1,1\n");
    let flags = [
        "-",
        "--style-control",
        "--features",
        "words,images",
        "--json",
    ];
    let board = json(&rank(&flags, Some(broken.as_bytes())));
    let expected = json(&rank(&flags, Some(whole.as_bytes())));
    assert_eq!(board["leaderboards"][0]["incomplete_rows"], 2);
    assert_eq!(expected["leaderboards"][0]["incomplete_rows"], 0);
    for idx in 0..3 {
        let (found, right) = (
            &board["leaderboards"][0]["models"][idx],
            &expected["leaderboards"][0]["models"][idx],
        );
        assert_eq!(found["rating"], right["rating"]);
    }
    let plain = &board["leaderboards"][1]["models"];
    assert_ne!(
        plain[0]["rating"],
        expected["leaderboards"][1]["models"][0]["rating"]
    );

    // A feature that no row has is left out rather than all rows; when none has any, there is nothing to control for.
    let empty = whole.replace("same_a", "same_x");
    let flags = ["-", "--style-control", "--features", "nowhere"];
    let refused = rank(&flags, Some(empty.as_bytes()));
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("nowhere"));
}

#[test]
fn a_penalty_shrinks_coefficients() {
    let votes = csv(&rows());
    let coefficient = |ridge: &str| {
        let flags = [
            "-",
            "--style-control",
            "--features",
            "words",
            "--ridge",
            ridge,
            "--json",
        ];
        let board = json(&rank(&flags, Some(votes.as_bytes())));
        board["leaderboards"][0]["style"][0]["coefficient"]
            .as_f64()
            .unwrap()
    };
    let (free, held) = (coefficient("0"), coefficient("1000"));
    assert!(held > 0.0 && held < 0.5 * free, "{held} {free}");
}

#[test]
fn votes_of_one_judge_can_be_taken_together() {
    let rows = rows();
    let votes = csv(&rows);
    let board = json(&rank(
        &["-", "--ci", "cluster", "--json"],
        Some(votes.as_bytes()),
    ));
    let options = LeaderboardOptions {
        covariance: CovarianceMethod::ClusteredSandwich,
        ..LeaderboardOptions::default()
    };
    let expected = leaderboard(
        &comparisons(&rows, DifferenceRule::PlusOne, false),
        &options,
    );
    same_board(&board["leaderboards"][0], expected.unwrap().main());

    let flags = [
        "-",
        "--ci",
        "cluster-bootstrap",
        "--bootstrap",
        "50",
        "--json",
    ];
    let board = json(&rank(&flags, Some(votes.as_bytes())));
    assert_eq!(board["settings"]["interval"], "cluster_bootstrap");
    assert!(board["leaderboards"][0]["models"][0]["rating_lower"].is_number());

    let nobody = votes.replace(",judge,", ",jury,");
    let refused = rank(&["-", "--ci", "cluster"], Some(nobody.as_bytes()));
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("judge"));
}

#[test]
fn single_votes_can_have_weights() {
    let rows = rows();
    let votes = csv(&rows);
    let inverse: String = votes
        .lines()
        .enumerate()
        .map(|(idx, line)| {
            let (head, weight) = line.rsplit_once(',').unwrap();
            match idx {
                0 => format!("{head},probability\n"),
                _ => format!("{head},{}\n", 0.4 / weight.parse::<f64>().unwrap()),
            }
        })
        .collect();
    let by_weight = json(&rank(
        &["-", "--weight-column", "weight", "--json"],
        Some(votes.as_bytes()),
    ));
    let flags = [
        "-",
        "--reweight",
        "recorded",
        "--weight-column",
        "probability",
        "--json",
    ];
    let by_probability = json(&rank(&flags, Some(inverse.as_bytes())));
    let plain = json(&rank(&["-", "--json"], Some(votes.as_bytes())));
    for idx in 0..3 {
        let of = |board: &Value| board["leaderboards"][0]["models"][idx].clone();
        close(
            &of(&by_weight)["rating"],
            of(&by_probability)["rating"].as_f64().unwrap(),
        );
        assert_ne!(of(&by_weight)["rating"], of(&plain)["rating"]);
        assert_eq!(of(&by_weight)["battles"], of(&plain)["battles"]);
    }
    // A weight that is no weight is not a weight of 0.
    let broken = votes
        .replacen(",0.5\n", ",0\n", 1)
        .replacen(",0.6\n", ",\n", 1);
    let board = json(&rank(
        &["-", "--weight-column", "weight", "--json"],
        Some(broken.as_bytes()),
    ));
    assert_eq!(board["leaderboards"][0]["incomplete_rows"], 2);
    assert!(
        board["notes"]
            .to_string()
            .contains("2 rows have no usable number")
    );
}

#[test]
fn the_short_names_of_features_are_accepted() {
    let flags = [
        "-",
        "--style-control",
        "--features",
        "len,header,list,bold",
        "--json",
    ];
    let votes = "{\"model_a\":\"a\",\"model_b\":\"b\",\"winner\":\"model_a\",\"conversation_a\":[{\"role\":\"assistant\",\"content\":\"# Long\\n\\n- **one**\\n- two\"}],\"conversation_b\":[{\"role\":\"assistant\",\"content\":\"short\"}]}\n{\"model_a\":\"a\",\"model_b\":\"b\",\"winner\":\"model_b\",\"conversation_a\":[{\"role\":\"assistant\",\"content\":\"an answer\"}],\"conversation_b\":[{\"role\":\"assistant\",\"content\":\"## another\\n\\n1. and a longer one\"}]}\n{\"model_a\":\"b\",\"model_b\":\"a\",\"winner\":\"tie\",\"conversation_a\":[{\"role\":\"assistant\",\"content\":\"yes\"}],\"conversation_b\":[{\"role\":\"assistant\",\"content\":\"**no**\"}]}\n".repeat(3);
    let output = rank(&flags, Some(votes.as_bytes()));
    let board = json(&output);
    assert_eq!(
        board["settings"]["style"]["features"],
        serde_json::json!(["length", "headers", "lists", "bold"])
    );
    let named = board["leaderboards"][0]["style"].as_array().unwrap().len()
        + board["leaderboards"][0]["style_left_out"]
            .as_array()
            .map_or(0, Vec::len);
    assert_eq!(named, 4, "every feature has a fate");
}

#[test]
fn style_counted_from_conversations_gives_the_board_of_counted_metadata() {
    const WINNERS: [&str; 7] = [
        "model_a", "model_b", "tie", "model_b", "model_a", "model_a", "model_b",
    ];
    let answers = [
        "short",
        "# Long\n\n- one\n- two\n\nand a word more",
        "1. first\n2. second\n3. third",
        "plain but rather longer than the others are, in one line",
        "## Two\n\n### Three\n\n**bold** and __bold__ words",
    ];
    let side = |n: usize| {
        let turns = [answers[n % 5], answers[n / 5 % 5]];
        let conversation: Vec<Value> = turns
            .iter()
            .flat_map(|answer| {
                [
                    serde_json::json!({"role": "user", "content": "# not counted"}),
                    serde_json::json!({"role": "assistant", "content": answer}),
                ]
            })
            .collect();
        let counts = agon_content::annotate::style::markdown_counts(&turns);
        let tokens: u32 = turns
            .iter()
            .map(|turn| agon_content::annotate::style::Encoding::Cl100k.count_tokens(turn))
            .sum();
        (conversation, counts, tokens)
    };
    let (mut bare, mut counted) = (String::new(), String::new());
    for row in 0..300_usize {
        let (conversation_a, a, tokens_a) = side(row * 7 % 25);
        let (conversation_b, b, tokens_b) = side(row * 11 % 25 + row % 3);
        let first = row % 3;
        let mut vote = serde_json::json!({
            "model_a": MODELS[first],
            "model_b": MODELS[(first + 1 + row / 3 % 2) % 3],
            "winner": WINNERS[row * 5 % 7],
            "conversation_a": conversation_a,
            "conversation_b": conversation_b,
        });
        bare.push_str(&format!("{vote}\n"));
        let headers = |counts: &[u32; 6]| {
            let members = (1..)
                .zip(counts)
                .map(|(n, count)| (format!("h{n}"), (*count).into()));
            Value::Object(members.collect())
        };
        vote["conv_metadata"] = serde_json::json!({
            "sum_assistant_a_tokens": tokens_a,
            "sum_assistant_b_tokens": tokens_b,
            "header_count_a": headers(&a.headers),
            "header_count_b": headers(&b.headers),
            "list_count_a": {"ordered": a.list_ordered, "unordered": a.list_unordered},
            "list_count_b": {"ordered": b.list_ordered, "unordered": b.list_unordered},
            "bold_count_a": {"**": a.bold_asterisks, "__": a.bold_underscores},
            "bold_count_b": {"**": b.bold_asterisks, "__": b.bold_underscores},
        });
        counted.push_str(&format!("{vote}\n"));
    }
    let flags = ["-", "--style-control", "--json"];
    let bare = json(&rank(&flags, Some(bare.as_bytes())));
    let counted = json(&rank(&flags, Some(counted.as_bytes())));
    assert_eq!(
        bare["leaderboards"][0]["style"].as_array().unwrap().len(),
        4
    );
    assert_eq!(bare["leaderboards"], counted["leaderboards"]);
    let notes = bare["notes"].as_array().unwrap();
    assert!(
        notes
            .iter()
            .any(|note| note == "length was counted from the conversations in 300 rows"),
        "{notes:?}"
    );
    assert_eq!(counted["notes"].as_array().map_or(0, Vec::len), 0);
}

#[test]
fn each_feature_that_is_left_out_has_its_reason() {
    // Twice the same number; which side won; the same on both sides; nothing in any row.
    let votes: String = csv(&rows())
        .lines()
        .enumerate()
        .map(|(idx, line)| {
            let fields: Vec<&str> = line.split(',').collect();
            if idx == 0 {
                return format!("{line},twice_a,twice_b,won,none_a,none_b\n");
            }
            let won = match fields[2] {
                "model_a" => 1,
                "model_b" => -1,
                _ => 0,
            };
            format!("{line},{},{},{won},,\n", fields[3], fields[4])
        })
        .collect();
    let flags = [
        "-",
        "--style-control",
        "--features",
        "words,won,twice,same,none",
        "--checks",
        "full",
        "--ci",
        "bootstrap",
        "--bootstrap",
        "20",
        "--json",
    ];
    let document = json(&rank(&flags, Some(votes.as_bytes())));
    let board = &document["leaderboards"][0];
    let left_out: std::collections::BTreeMap<&str, &str> = board["style_left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|out| {
            (
                out["feature"].as_str().unwrap(),
                out["reason"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("none", "missing"),
        ("same", "constant"),
        ("twice", "collinear"),
        ("won", "separates"),
    ];
    assert_eq!(left_out, expected.into());
    let style = board["style"].as_array().unwrap();
    assert_eq!(style.len(), 1);
    assert_eq!(style[0]["feature"], "words");
    let table = text(&rank(&flags[..4], Some(votes.as_bytes())).stdout);
    for words in [
        "none is not in the fit: no row has it",
        "same is not in the fit: it is the same on both sides in every row",
        "twice is not in the fit: the models and the features before it say the same",
        "won is not in the fit: with the others it predicts outcomes without exception",
    ] {
        assert!(table.contains(words), "{table}");
    }
    // The board is that with the one feature which is left, its checks too.
    let flags = flags.map(|flag| {
        if flag.starts_with("words") {
            "words"
        } else {
            flag
        }
    });
    let alone = json(&rank(&flags, Some(votes.as_bytes())));
    let alone = &alone["leaderboards"][0];
    for field in ["models", "style", "checks"] {
        assert_eq!(board[field], alone[field], "{field}");
    }
    let checks = board["checks"].as_array().unwrap();
    assert!(
        checks
            .iter()
            .any(|check| check["check"] == "first_place_votes")
    );
    assert!(checks.iter().any(|check| check["check"] == "calibrated"));
}
