//! The router: every route on one page, grouped by caller.

pub mod api;
pub mod assets;
pub mod connections;
pub mod error;
pub mod extract;
pub mod guard;
pub mod health;
pub mod images;
pub mod markdown;
pub mod pages;
pub mod reference;
pub mod visit;

use std::time::Duration;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    http::{Method, StatusCode},
    middleware,
    response::{IntoResponse as _, Response},
    routing::get,
};
use tower_http::{
    catch_panic::CatchPanicLayer,
    compression::{
        CompressionLayer,
        predicate::{NotForContentType, Predicate as _, SizeAbove},
    },
};

use crate::{app::App, http::error::ApiError};

/// Room for the form around an upload, in bytes.
const FORM_OVERHEAD_BYTES: usize = 1024 * 1024;

/// Every route.
pub fn router(app: App) -> Router {
    let (api, _) = api::router().split_for_parts();
    let upload_bytes_max = app.config().raw.limits.upload_bytes_max;
    // Event streams are not compressed: a compressor would hold events back.
    let compression = CompressionLayer::new().compress_when(
        SizeAbove::new(1024)
            .and(NotForContentType::SSE)
            .and(NotForContentType::IMAGES),
    );
    Router::new()
        // Programs.
        .merge(api)
        .route("/api/openapi.json", get(api::openapi_json))
        // Voters.
        .merge(pages::routes())
        .route("/battle/{id}/image", get(images::show))
        .merge(assets::routes())
        // Operators.
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .fallback(pages::not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(DefaultBodyLimit::max(
            upload_bytes_max.saturating_add(FORM_OVERHEAD_BYTES),
        ))
        .layer(middleware::from_fn(guard::same_site))
        .layer(CatchPanicLayer::custom(
            |_panic: Box<dyn std::any::Any + Send>| {
                // What the panic said may hold user text; its place is on standard error already.
                ApiError::new("internal", "Something went wrong here").into_response()
            },
        ))
        .layer(compression)
        .layer(middleware::from_fn(guard::security_headers))
        .layer(middleware::from_fn(log_request))
        .with_state(app)
}

async fn method_not_allowed() -> Response {
    ApiError::new(
        "method_not_allowed",
        "This address exists, but not for this method",
    )
    .into_response()
}

/// Logs a request by its route, never by its address: ids, addresses and user text stay out of the log.
async fn log_request(request: Request, next: middleware::Next) -> Response {
    let started = tokio::time::Instant::now();
    let method = request.method().clone();
    let route = request
        .extensions()
        .get::<axum::extract::MatchedPath>()
        .map_or_else(|| "unmatched".to_owned(), |path| path.as_str().to_owned());
    let response = next.run(request).await;
    let status = response.status();
    let duration = started.elapsed();
    metrics::histogram!("agon_http_request_duration_seconds", "method" => known_method(&method), "route" => route.clone(), "status" => status.as_u16().to_string())
        .record(duration.as_secs_f64());
    if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE {
        tracing::warn!(http.method = known_method(&method), http.route = %route, http.status = status.as_u16(), duration_ms = millis(duration), "request failed");
    } else {
        tracing::debug!(http.method = known_method(&method), http.route = %route, http.status = status.as_u16(), duration_ms = millis(duration), "request");
    }
    response
}

/// The method, or `OTHER`: whoever makes up methods must not make up figures, each of which takes memory for good.
fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "OTHER",
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_methods_are_counted_together() {
        for (given, expected) in [("GET", "GET"), ("MADEUP", "OTHER"), ("get", "OTHER")] {
            let method = Method::from_bytes(given.as_bytes()).unwrap();
            assert_eq!(known_method(&method), expected, "{given}");
        }
    }
}
