//! Accepting the terms.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    http::{
        error::{ApiError, ErrorBody},
        extract::ApiJson,
        visit::{self, Visitor},
    },
};

/// Which terms are accepted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GiveConsentRequest {
    /// The version of the terms, as `GET /api/v1/terms` names it.
    pub policy_version: String,
}

/// The terms in force.
#[derive(Debug, Serialize, ToSchema)]
pub struct TermsBody {
    /// What the version is called: the beginning of the text's SHA-256.
    pub policy_version: String,
    /// The text, in Markdown.
    pub text: String,
}

/// Read the terms in force
#[utoipa::path(get, path = "/api/v1/terms", tag = "consents",
    responses((status = 200, description = "The terms", body = TermsBody)))]
pub async fn terms(State(app): State<App>) -> Json<TermsBody> {
    Json(TermsBody {
        policy_version: app.terms().version.clone(),
        text: app.terms().text_markdown.clone(),
    })
}

/// What was accepted.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConsentBody {
    /// The version of the terms.
    pub policy_version: String,
}

/// Accept the terms
///
/// Starts a visit: the answer sets a cookie, which all other requests send.
#[utoipa::path(post, path = "/api/v1/consents", tag = "consents", request_body = GiveConsentRequest,
    responses(
        (status = 201, description = "Accepted; `Set-Cookie` holds the visit", body = ConsentBody),
        (status = 409, description = "`consent_outdated`: not the terms in force", body = ErrorBody),
        (status = 429, description = "`rate_limited`", body = ErrorBody),
    ))]
pub async fn give(
    State(app): State<App>,
    visitor: Visitor,
    headers: HeaderMap,
    ApiJson(request): ApiJson<GiveConsentRequest>,
) -> Result<Response, ApiError> {
    let cookie =
        visit::give_consent(&app, &visitor, &request.policy_version, locale_of(&headers)).await?;
    let body = ConsentBody {
        policy_version: request.policy_version,
    };
    Ok((
        StatusCode::CREATED,
        [(header::SET_COOKIE, cookie)],
        Json(body),
    )
        .into_response())
}

/// The first language that the browser asks for, such as `de-CH`.
pub fn locale_of(headers: &HeaderMap) -> Option<String> {
    let languages = headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?;
    let first = languages.split([',', ';']).next()?.trim();
    let is_tag = !first.is_empty()
        && first.len() <= 35
        && first
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '-');
    is_tag.then(|| first.to_owned())
}
