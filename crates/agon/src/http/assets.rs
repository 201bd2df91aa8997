//! Style sheets, scripts and icons: embedded, and served under an address that changes with their content.
//!
//! One hash stands for all files, so that scripts can import each other by relative paths.

use std::{borrow::Cow, sync::LazyLock};

use axum::{
    Router,
    extract::Path,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use rust_embed::RustEmbed;
use sha2::{Digest as _, Sha256};

use crate::app::App;

/// The folder of assets. Templates and texts lie there too and are not served, see [`is_public`].
#[derive(RustEmbed)]
#[folder = "assets/"]
struct Assets;

/// The style sheet of plots, which comes from the crate that draws them.
const PLOT_STYLES: &str = "css/plots.css";

/// The bytes of a file that is served, or not.
fn content(path: &str) -> Option<Cow<'static, [u8]>> {
    if path == PLOT_STYLES {
        Some(Cow::Borrowed(agon_plot::STYLE_SHEET.as_bytes()))
    } else {
        Assets::get(path).map(|file| file.data)
    }
}

static BASE: LazyLock<String> = LazyLock::new(|| {
    let mut paths: Vec<_> = Assets::iter()
        .filter(|path| is_public(path))
        .chain([PLOT_STYLES.into()])
        .collect();
    paths.sort_unstable();
    let mut hash = Sha256::new();
    for path in paths {
        hash.update(path.as_bytes());
        if let Some(content) = content(&path) {
            hash.update(&content);
        }
    }
    let digits: String = hash
        .finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("/assets/{digits}")
});

/// What the addresses of all assets start with: `/assets/` and the hash of their content, without a slash at the end.
pub fn base() -> &'static str {
    &BASE
}

/// The routes of all assets.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/assets/{hash}/{*path}", get(show))
        .route("/favicon.ico", get(|| async { file("favicon.svg", false) }))
}

async fn show(Path((hash, path)): Path<(String, String)>) -> Response {
    // A page that was loaded before an update asks for the old address: it gets what there is, but not to keep.
    let is_current = base().strip_prefix("/assets/") == Some(&hash);
    file(&path, is_current)
}

fn is_public(path: &str) -> bool {
    // A debug build reads from the folder, where `..` would lead out of it.
    !path.contains("..") && is_listed(path)
}

fn is_listed(path: &str) -> bool {
    path.starts_with("css/")
        || path.starts_with("js/")
        || matches!(path, "favicon.svg" | "icons.svg" | "manifest.webmanifest")
}

fn file(path: &str, keep: bool) -> Response {
    let Some(content) = Some(path).filter(|path| is_public(path)).and_then(content) else {
        return (StatusCode::NOT_FOUND, "there is no such file\n").into_response();
    };
    let media_type = match path.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("webmanifest") => "application/manifest+json",
        _ => "application/octet-stream",
    };
    let caching = if keep && !cfg!(debug_assertions) {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let headers: [(HeaderName, HeaderValue); 2] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static(caching)),
    ];
    (headers, content.into_owned()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_and_scripts_are_served_and_templates_are_not() {
        for (path, expected) in [
            ("css/base.css", StatusCode::OK),
            ("css/plots.css", StatusCode::OK),
            ("js/battle.js", StatusCode::OK),
            ("icons.svg", StatusCode::OK),
            ("templates/base.html", StatusCode::NOT_FOUND),
            ("terms.md", StatusCode::NOT_FOUND),
            ("css/../terms.md", StatusCode::NOT_FOUND),
            ("css/missing.css", StatusCode::NOT_FOUND),
            ("", StatusCode::NOT_FOUND),
        ] {
            assert_eq!(file(path, true).status(), expected, "{path}");
        }
    }

    #[test]
    fn the_address_names_the_content() {
        let digits = base().strip_prefix("/assets/").unwrap();
        assert_eq!(digits.len(), 16);
        assert!(digits.bytes().all(|b| b.is_ascii_hexdigit()));
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        for path in Assets::iter() {
            let file = Assets::get(&path).unwrap();
            let text = String::from_utf8_lossy(&file.data).into_owned();
            let foreign: Vec<_> = text
                .match_indices("://")
                .filter(|(at, _)| !text[*at..].starts_with("://www.w3.org/"))
                .collect();
            assert!(foreign.is_empty(), "{path} names another host");
            assert!(
                !text.contains("style=\"") || path.ends_with(".md"),
                "{path} has an inline style, which the content security policy refuses"
            );
            let has_inline_script = text.contains("<script>")
                || [" onclick=", " onload=", " onsubmit="]
                    .iter()
                    .any(|handler| text.contains(handler));
            assert!(
                !has_inline_script,
                "{path} has an inline script, which the content security policy refuses"
            );
        }
    }
}
