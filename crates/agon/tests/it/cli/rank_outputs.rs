//! What `agon rank` and `agon check` refuse to write over, and what they say when a format has no room for words.

use std::fs;

use super::rank::{CSV, file, json, path_text, rank, text};

#[test]
fn no_output_is_written_over_an_input() {
    let (folder, votes) = file("votes.csv", CSV);
    let votes_text = path_text(&votes);
    let link = folder.path().join("link.csv");
    fs::hard_link(&votes, &link).unwrap();
    let plot = folder.path().join("same.svg");
    let aliases = folder.path().join("aliases.toml");
    fs::write(&aliases, "version = \"1\"\n[aliases]\n").unwrap();
    let cases: [&[&str]; 6] = [
        &[votes_text, "--rejects", votes_text],
        &[votes_text, "-o", path_text(&link)],
        &[path_text(folder.path()), "--rejects", votes_text],
        &[
            votes_text,
            "--aliases",
            path_text(&aliases),
            "--rejects",
            path_text(&aliases),
        ],
        &[
            votes_text,
            "--plot",
            path_text(&plot),
            "-o",
            path_text(&plot),
        ],
        &[
            votes_text,
            "--plot",
            path_text(&plot),
            "--plot",
            path_text(&plot),
        ],
    ];
    for arguments in cases {
        let output = rank(arguments, None);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains("would write over"), "{arguments:?}: {told}");
        assert_eq!(fs::read_to_string(&votes).unwrap(), CSV, "{arguments:?}");
    }
    // An input that is not there costs no earlier file of rejected rows.
    let kept = folder.path().join("kept.jsonl");
    fs::write(&kept, "kept").unwrap();
    let missing = folder.path().join("missing.csv");
    let output = rank(&[path_text(&missing), "--rejects", path_text(&kept)], None);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
}

#[test]
fn counts_below_zero_make_no_relative_difference() {
    let votes =
        "model_a,model_b,winner,mood_a,mood_b\na,b,model_a,-3,1\nb,a,model_a,2,1\na,b,tie,1,1\n";
    let output = rank(
        &["-", "--style-control", "--features", "mood"],
        Some(votes.as_bytes()),
    );
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    for expected in [
        "`mood` is `-3` for side a in `-`, row 1 (line 2)",
        "counts, 0 or more",
        "rows with less: 1",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
}

#[test]
fn a_prior_is_a_board_of_strengths() {
    let (folder, votes) = file("votes.csv", CSV);
    let board = folder.path().join("rates.json");
    let arguments = ["--method", "win-rate", "--json", "-o", path_text(&board)];
    let output = rank(&[&[path_text(&votes)], &arguments[..]].concat(), None);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = rank(&[path_text(&votes), "--prior", path_text(&board)], None);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("win-rate"), "{told}");
}

#[test]
fn a_format_without_words_says_on_the_side_what_is_left_out() {
    let votes = "model_a,model_b,winner,n_a,n_b\na,b,model_a,3,1\nb,a,model_a,2,1\na,b,tie,1,4\nb,a,tie,,1\na,b,model_b,5,2\nc,a,model_a,5,2\n";
    let flags = ["-", "--style-control", "--features", "n"];
    for format in ["csv", "catalog"] {
        let output = rank(
            &[&flags[..], &["--format", format]].concat(),
            Some(votes.as_bytes()),
        );
        let told = text(&output.stderr);
        assert!(output.status.success(), "{told}");
        assert!(
            told.contains("1 votes are not in the fit"),
            "{format}: {told}"
        );
    }
    // Only pairs of models that are on the board are counted.
    let board = json(&rank(
        &[&flags[..], &["--json"]].concat(),
        Some(votes.as_bytes()),
    ));
    for leaderboard in board["leaderboards"].as_array().unwrap() {
        for check in leaderboard["checks"].as_array().unwrap() {
            if check["check"] == "pairs" {
                let values = &check["values"];
                assert!(
                    values["met"].as_u64() <= values["possible"].as_u64(),
                    "{check}"
                );
            }
        }
    }
}
