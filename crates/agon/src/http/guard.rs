//! What every answer carries and every request is checked for: security headers, and that no other site's page sends forms.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};

use crate::http::error::ApiError;

/// No script, style or picture but our own, and nothing inline.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// Sets the security headers, and keeps answers out of caches unless a handler said otherwise.
pub async fn security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Refuses requests that change something and come from another site's page.
///
/// Browsers say where a request comes from in `Sec-Fetch-Site`, older ones in `Origin`; other clients send neither and carry no cookie that they did not ask for.
pub async fn same_site(request: Request, next: Next) -> Response {
    let is_safe = matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    );
    if is_safe || is_same_site(request.headers()) {
        next.run(request).await
    } else {
        ApiError::new("cross_site", "This request comes from another site's page").into_response()
    }
}

fn is_same_site(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or("unreadable"))
    };
    if let Some(site) = text(HeaderName::from_static("sec-fetch-site")) {
        return matches!(site, "same-origin" | "none");
    }
    match (text(header::ORIGIN), text(header::HOST)) {
        (None, _) => true,
        (Some(origin), Some(host)) => {
            origin
                .split_once("://")
                .is_some_and(|(scheme, origin_host)| {
                    matches!(scheme, "http" | "https") && origin_host == host
                })
        }
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(headers: &[(&'static str, &'static str)], expected: bool) {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect();
        assert_eq!(is_same_site(&headers), expected, "{headers:?}");
    }

    #[test]
    fn forms_of_other_sites_are_refused() {
        check(&[("sec-fetch-site", "same-origin")], true);
        check(&[("sec-fetch-site", "none")], true);
        check(&[("sec-fetch-site", "cross-site")], false);
        check(&[("sec-fetch-site", "same-site")], false);
        check(
            &[
                ("origin", "http://arena.example"),
                ("host", "arena.example"),
            ],
            true,
        );
        check(
            &[("origin", "http://evil.example"), ("host", "arena.example")],
            false,
        );
        check(
            &[
                ("origin", "evil://arena.example"),
                ("host", "arena.example"),
            ],
            false,
        );
        check(&[("origin", "null"), ("host", "arena.example")], false);
        check(&[("origin", "http://arena.example")], false);
        check(&[("host", "arena.example")], true);
    }
}
