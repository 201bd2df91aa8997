//! Datasets of the hub, from a server that speaks its interface, with a second one that holds the files.

use std::sync::Arc;

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
};

use crate::{
    server::{Asked, Behaviour, Server, files},
    votes::{CSV, parquet, read_address, remote},
};

const TOKEN: &str = "hf_averysecrettoken";

/// Files of the dataset; those of the folder `data` make it a release.
const RELEASE: [&str; 5] = [
    ".gitattributes",
    "README.md",
    "data/train-0.parquet",
    "data/train-1.parquet",
    "extra/more.csv",
];

/// The entries right in a folder, or below it, as JSON.
fn entries(all: &[&str], folder: &str, is_recursive: bool) -> Vec<String> {
    let mut entries = Vec::new();
    for path in all {
        let inside = if folder.is_empty() {
            Some(*path)
        } else {
            path.strip_prefix(&format!("{folder}/"))
        };
        let Some(inside) = inside else { continue };
        let (kind, path) = match inside.split_once('/') {
            Some((child, _)) if !is_recursive => {
                let before = &path[..path.len() - inside.len()];
                ("directory", format!("{before}{child}"))
            }
            _ => ("file", (*path).to_owned()),
        };
        let size = content(&path).len();
        let entry = format!(
            r#"{{"type":"{kind}","oid":"0","size":{size},"path":"{path}","lfs":{{"oid":"sha-of-{path}","size":{size},"pointerSize":1}}}}"#
        );
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    entries
}

fn content(path: &str) -> Vec<u8> {
    if path.ends_with(".parquet") {
        parquet(2, 100_000)
    } else if path.ends_with(".csv") {
        CSV.as_bytes().to_vec()
    } else {
        b"# A card\n".to_vec()
    }
}

/// A hub of one dataset, two entries to a page, which points to `files` for content and asks for the token if told so.
fn hub(all: &'static [&'static str], files: &Server, is_gated: bool) -> Server {
    let files = files.url("");
    let elsewhere = Arc::new(files);
    Server::with(Behaviour::default(), move |asked: &Asked| {
        let is_allowed = asked.header("authorization") == Some(&format!("Bearer {TOKEN}"));
        if is_gated && !is_allowed {
            let gated = [("x-error-code", "GatedRepo")];
            return Some((StatusCode::UNAUTHORIZED, gated).into_response());
        }
        let path = asked.uri.path();
        let query = asked.uri.query().unwrap_or_default();
        if let Some(folder) = path.strip_prefix("/api/datasets/org/name/tree/main") {
            let folder = folder.trim_matches('/');
            let entries = entries(all, folder, query.contains("recursive=true"));
            if entries.is_empty() {
                return Some(StatusCode::NOT_FOUND.into_response());
            }
            let first: usize = query
                .split('&')
                .find_map(|part| part.strip_prefix("cursor="))
                .map_or(0, |cursor| cursor.parse().unwrap());
            let page: Vec<String> = entries.iter().skip(first).take(2).cloned().collect();
            let body = format!("[{}]", page.join(","));
            let next = first + 2;
            if next >= entries.len() {
                return Some(body.into_response());
            }
            let host = asked.header("host").unwrap();
            let recursive = if query.contains("recursive=true") {
                "recursive=true&"
            } else {
                ""
            };
            let link = format!("<http://{host}{path}?{recursive}cursor={next}>; rel=\"next\"");
            return Some(([(header::LINK, link)], body).into_response());
        }
        let file = path.strip_prefix("/datasets/org/name/resolve/main/")?;
        Some(redirect(&format!("{elsewhere}/{file}")))
    })
}

fn redirect(to: &str) -> Response {
    (StatusCode::FOUND, [(header::LOCATION, to)]).into_response()
}

fn storage(all: &[&str]) -> Behaviour {
    let owned: Vec<(String, Vec<u8>)> = all
        .iter()
        .map(|path| (format!("/{path}"), content(path)))
        .collect();
    let borrowed: Vec<(&str, &[u8])> = owned
        .iter()
        .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
        .collect();
    files(&borrowed)
}

#[test]
fn a_release_is_read_from_its_data_and_the_token_stays_at_the_hub() {
    let storage = Server::start(storage(&RELEASE));
    let hub = hub(&RELEASE, &storage, true);
    let endpoint = hub.url("");
    let remote = remote(&[("HF_TOKEN", TOKEN), ("HF_ENDPOINT", &endpoint)]);
    let report = read_address(&remote, "hf://datasets/org/name")
        .unwrap()
        .report;
    let paths: Vec<&str> = report
        .sources
        .iter()
        .map(|source| source.path.as_str())
        .collect();
    assert_eq!(
        paths,
        [
            "hf://datasets/org/name/data/train-0.parquet",
            "hf://datasets/org/name/data/train-1.parquet",
        ]
    );
    assert_eq!(report.kept, 8);
    assert_eq!(
        report.sources[0].etag.as_deref(),
        Some("sha-of-data/train-0.parquet")
    );
    for asked in hub.asked() {
        assert!(asked.header("authorization").is_some());
    }
    assert!(!storage.asked().is_empty());
    for asked in storage.asked() {
        assert_eq!(asked.header("authorization"), None);
    }
}

#[test]
fn files_folders_and_patterns_are_found() {
    const LOOSE: [&str; 5] = ["README.md", "a.csv", "b.csv", "c/d.csv", "e/f.csv"];
    let storage = Server::start(storage(&LOOSE));
    let hub = hub(&LOOSE, &storage, false);
    let endpoint = format!("{}/", hub.url(""));
    let remote = remote(&[("HF_ENDPOINT", &endpoint)]);
    for (path, n_sources, n_skipped) in [
        ("", 2, 1),
        ("/a.csv", 1, 0),
        ("/c", 1, 0),
        ("/c/d.csv", 1, 0),
        ("/*.csv", 2, 0),
        ("/*/*.csv", 2, 0),
        ("@main/b.csv", 1, 0),
    ] {
        let report = read_address(&remote, &format!("hf://datasets/org/name{path}"))
            .unwrap()
            .report;
        assert_eq!(
            (report.sources.len(), report.skipped.len()),
            (n_sources, n_skipped),
            "{path}"
        );
    }
    for (path, expected) in [
        (
            "/x.csv",
            "is not there: the dataset has no such file or folder",
        ),
        ("/x/*.csv", "is not there"),
        ("/*.tsv", "no file matches this pattern"),
        ("@other", "is not there"),
    ] {
        let error = read_address(&remote, &format!("hf://datasets/org/name{path}")).unwrap_err();
        assert!(error.contains(expected), "{path}: {error}");
    }
}

#[test]
fn a_dataset_in_folders_says_which() {
    const FOLDERS: [&str; 3] = ["README.md", "text/a.csv", "vision/b.csv"];
    let storage = Server::start(storage(&FOLDERS));
    let hub = hub(&FOLDERS, &storage, false);
    let endpoint = hub.url("");
    let remote = remote(&[("HF_ENDPOINT", &endpoint)]);
    assert_eq!(
        read_address(&remote, "hf://datasets/org/name").unwrap_err(),
        "nothing to read at `hf://datasets/org/name`: neither `data/*.parquet` nor files right in it; it has the folders `text`, `vision`"
    );
}

#[test]
fn a_gated_dataset_says_what_to_do() {
    let storage = Server::start(storage(&RELEASE));
    let hub = hub(&RELEASE, &storage, true);
    let endpoint = hub.url("");
    let without = remote(&[("HF_ENDPOINT", &endpoint)]);
    let error = read_address(&without, "hf://datasets/org/name").unwrap_err();
    assert!(
        error.contains("(the server says 401): the dataset is gated: ask for access at http")
            && error.contains("/datasets/org/name, and set HF_TOKEN"),
        "{error}"
    );
    let wrong = remote(&[("HF_ENDPOINT", &endpoint), ("HF_TOKEN", "hf_thewrongone")]);
    let error = read_address(&wrong, "hf://datasets/org/name").unwrap_err();
    assert!(
        error.contains("the account of HF_TOKEN has no access"),
        "{error}"
    );
    assert!(!error.contains("hf_thewrongone") && !format!("{wrong:?}").contains("hf_thewrongone"));
}

#[test]
fn storage_without_ranges_is_fetched_whole() {
    let storage = Server::start(Behaviour {
        has_no_ranges: true,
        n_broken: 1,
        ..storage(&RELEASE)
    });
    let hub = hub(&RELEASE, &storage, false);
    let endpoint = hub.url("");
    let remote = remote(&[("HF_ENDPOINT", &endpoint)]);
    let report = read_address(&remote, "hf://datasets/org/name")
        .unwrap()
        .report;
    assert_eq!(report.kept, 8);
}

#[test]
fn a_list_that_goes_on_elsewhere_gets_no_token() {
    let other = Server::start(Behaviour::default());
    let link = format!("<{}>; rel=\"next\"", other.url("/list"));
    let hub = Server::with(Behaviour::default(), move |_| {
        let page = r#"[{"type":"file","path":"a.csv","size":1,"oid":"1"}]"#;
        Some(([(header::LINK, link.clone())], page).into_response())
    });
    let endpoint = hub.url("");
    let remote = remote(&[("HF_ENDPOINT", &endpoint), ("HF_TOKEN", TOKEN)]);
    let error = read_address(&remote, "hf://datasets/org/name").unwrap_err();
    assert!(error.contains("goes on at another host"), "{error}");
    assert!(other.asked().is_empty());
}

#[test]
fn settings_that_cannot_be_used_are_named() {
    for (name, value) in [
        ("HF_ENDPOINT", "not an address"),
        ("HF_TOKEN", "hf_bad\ntoken"),
    ] {
        let error = remote(&[(name, value)])
            .resolve("hf://datasets/org/name")
            .unwrap_err()
            .to_string();
        assert!(error.contains(name) && !error.contains("bad"), "{error}");
    }
}
