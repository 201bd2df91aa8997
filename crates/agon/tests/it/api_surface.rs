//! The public surface as golden files: what changes here changes for users.

use agon::http::{api, error::CODES};
use clap::CommandFactory as _;

use crate::test_arena::TestArena;

#[test]
fn the_openapi_document_is_as_recorded() {
    insta::assert_json_snapshot!("openapi", api::openapi());
}

#[test]
fn the_help_of_every_command_is_as_recorded() {
    let mut command = agon::cli::Cli::command().term_width(100);
    command.build();
    let mut text = command.render_long_help().to_string();
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .filter(|name| name != "help")
        .collect();
    for name in names {
        let sub = command.find_subcommand_mut(&name).unwrap();
        text.push_str(&format!(
            "\n==== agon {name} ====\n{}",
            sub.render_long_help()
        ));
    }
    insta::assert_snapshot!("help", text);
}

#[test]
fn every_error_code_is_documented_and_sorted() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md")).unwrap();
    let missing: Vec<&str> = CODES
        .iter()
        .map(|(code, ..)| *code)
        .filter(|code| !page.contains(&format!("`{code}`")))
        .collect();
    assert!(missing.is_empty(), "docs/api.md does not name {missing:?}");
    assert!(CODES.is_sorted_by_key(|(code, ..)| *code));
    for code in agon_content::image::ImageError::CODES {
        assert!(
            CODES.iter().any(|(known, ..)| *known == code),
            "{code} has no status"
        );
    }
}

#[test]
fn every_route_is_documented() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md")).unwrap();
    let document = serde_json::to_value(api::openapi()).unwrap();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let row = format!("| `{} {path}` |", method.to_uppercase());
            assert!(page.contains(&row), "docs/api.md has no row {row}");
        }
    }
}

#[test]
fn every_exit_code_is_documented() {
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/operating.md"
    ))
    .unwrap();
    for (code, meaning) in agon::exit_code::ExitCode::ALL {
        assert!(
            page.contains(&format!("| {} | {meaning} |", code.code())),
            "docs/operating.md does not say what {} means",
            code.code()
        );
    }
}

#[tokio::test]
async fn every_page_has_the_security_headers() {
    let arena = TestArena::new().await;
    let client = arena.voter().await;
    let id = client.answered("hello").await;
    let battle = format!("/battle/{id}");
    for path in [
        "/",
        "/leaderboard",
        "/about",
        "/terms",
        "/privacy",
        "/my",
        "/api",
        "/api/openapi.json",
        "/nowhere",
        &battle,
        "/healthz",
    ] {
        let answer = client.get(path).await;
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "img-src 'self' blob:",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert_eq!(
            answer.headers["x-content-type-options"], "nosniff",
            "{path}"
        );
        for forbidden in ["<script>", "onclick=", "style=\"", "javascript:"] {
            assert!(!answer.text.contains(forbidden), "{path} holds {forbidden}");
        }
    }
}
