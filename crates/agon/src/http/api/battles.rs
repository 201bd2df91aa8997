//! Asking, voting, revealing.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use utoipa::ToSchema;

use crate::{
    app::App,
    http::{
        api::views::{
            AddTurnRequest, BattleBody, BattleSummaryBody, BattlesBody, CastVoteRequest, VoteBody,
        },
        error::{ApiError, ErrorBody},
        extract::{ApiJson, BattlePath, PromptForm},
        visit::Visitor,
    },
};

/// The form of `POST /api/v1/battles`, for the description.
#[derive(Debug, ToSchema)]
#[schema(as = StartBattleRequest)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct StartBattleForm {
    /// What to ask. May be empty when there is an image.
    prompt: String,
    /// A JPEG, PNG, WebP, GIF, BMP or TIFF file.
    #[schema(value_type = Option<String>, format = Binary)]
    image: Option<Vec<u8>>,
}

/// Start a battle
///
/// Draws two models and asks both. The answers are read from `/api/v1/battles/{id}/events`, or by asking for the battle again.
#[utoipa::path(post, path = "/api/v1/battles", tag = "battles",
    request_body(content = StartBattleForm, content_type = "multipart/form-data"),
    responses(
        (status = 201, description = "Started", body = BattleBody),
        (status = 403, description = "`consent_required`, `cross_site`", body = ErrorBody),
        (status = 413, description = "`image_too_large`, `upload_too_large`", body = ErrorBody),
        (status = 415, description = "`image_unsupported`", body = ErrorBody),
        (status = 422, description = "`prompt_empty`, `prompt_too_long`, `prompt_unprintable`, `image_broken`, `image_empty`, `image_too_many_pixels`, `image_side_too_long`, `image_too_costly`, `image_cannot_fit`, `picture_refused`, `personal_data`, `text_refused`, `not_screenable`", body = ErrorBody),
        (status = 429, description = "`rate_limited`, `too_many_refusals`", body = ErrorBody),
        (status = 503, description = "`busy`, `no_pair`, `not_screened`, `stopping`", body = ErrorBody),
    ))]
pub async fn start(
    State(app): State<App>,
    visitor: Visitor,
    form: PromptForm,
) -> Result<Response, ApiError> {
    let visit = visitor.visit()?;
    let id = app.start_battle(&visitor, form.prompt, form.image).await?;
    let body = BattleBody::from(app.battle_view(visit, id).await?);
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, format!("/api/v1/battles/{id}"))],
        Json(body),
    )
        .into_response())
}

/// List the battles of this visit
#[utoipa::path(get, path = "/api/v1/battles", tag = "battles",
    responses(
        (status = 200, description = "The newest first", body = BattlesBody),
        (status = 403, description = "`consent_required`", body = ErrorBody),
    ))]
pub async fn list(State(app): State<App>, visitor: Visitor) -> Result<Json<BattlesBody>, ApiError> {
    let entries = app.history(visitor.visit()?).await?;
    Ok(Json(BattlesBody {
        battles: entries.into_iter().map(BattleSummaryBody::from).collect(),
    }))
}

/// Show a battle
#[utoipa::path(get, path = "/api/v1/battles/{id}", tag = "battles", params(("id" = String, Path, description = "32 hexadecimal digits")),
    responses(
        (status = 200, description = "The battle with its answers as far as they came", body = BattleBody),
        (status = 403, description = "`consent_required`, `cross_site`", body = ErrorBody),
        (status = 404, description = "`unknown_battle`", body = ErrorBody),
        (status = 409, description = "`conversation_ended`", body = ErrorBody),
    ))]
pub async fn show(
    State(app): State<App>,
    visitor: Visitor,
    BattlePath(id): BattlePath,
) -> Result<Json<BattleBody>, ApiError> {
    Ok(Json(app.battle_view(visitor.visit()?, id).await?.into()))
}

/// Ask a further question of both models
#[utoipa::path(post, path = "/api/v1/battles/{id}/turns", tag = "battles", params(("id" = String, Path, description = "32 hexadecimal digits")),
    request_body = AddTurnRequest,
    responses(
        (status = 201, description = "Asked", body = BattleBody),
        (status = 403, description = "`consent_required`, `cross_site`", body = ErrorBody),
        (status = 404, description = "`unknown_battle`", body = ErrorBody),
        (status = 409, description = "`already_voted`, `still_answering`, `answer_incomplete`, `too_many_turns`, `conversation_ended`", body = ErrorBody),
        (status = 422, description = "`prompt_empty`, `prompt_too_long`, `prompt_unprintable`, `picture_refused`, `personal_data`, `text_refused`, `not_screenable`", body = ErrorBody),
        (status = 429, description = "`rate_limited`, `too_many_refusals`", body = ErrorBody),
        (status = 503, description = "`busy`, `not_screened`, `stopping`", body = ErrorBody),
    ))]
pub async fn add_turn(
    State(app): State<App>,
    visitor: Visitor,
    BattlePath(id): BattlePath,
    ApiJson(request): ApiJson<AddTurnRequest>,
) -> Result<Response, ApiError> {
    app.add_turn(&visitor, id, request.prompt).await?;
    let body = BattleBody::from(app.battle_view(visitor.visit()?, id).await?);
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

/// Ask for the failed answers again
///
/// Only the side that failed is asked; the other side's answer stays.
#[utoipa::path(post, path = "/api/v1/battles/{id}/retry", tag = "battles", params(("id" = String, Path, description = "32 hexadecimal digits")),
    responses(
        (status = 202, description = "Asked again", body = BattleBody),
        (status = 403, description = "`consent_required`, `cross_site`", body = ErrorBody),
        (status = 404, description = "`unknown_battle`", body = ErrorBody),
        (status = 409, description = "`nothing_to_retry`, `already_voted`, `conversation_ended`", body = ErrorBody),
        (status = 429, description = "`rate_limited`", body = ErrorBody),
        (status = 503, description = "`busy`, `not_screened`, `stopping`", body = ErrorBody),
    ))]
pub async fn retry(
    State(app): State<App>,
    visitor: Visitor,
    BattlePath(id): BattlePath,
) -> Result<Response, ApiError> {
    app.retry(&visitor, id).await?;
    let body = BattleBody::from(app.battle_view(visitor.visit()?, id).await?);
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

/// Vote
///
/// Answered only after the vote is on disk. A second vote is refused with the first one's result.
/// With an `Idempotency-Key` header, the same request may be sent again: it gets the first answer.
#[utoipa::path(post, path = "/api/v1/battles/{id}/vote", tag = "battles",
    params(
        ("id" = String, Path, description = "32 hexadecimal digits"),
        ("Idempotency-Key" = Option<String>, Header, description = "Up to 255 visible characters of the client's choice"),
    ),
    request_body = CastVoteRequest,
    responses(
        (status = 200, description = "Recorded; the models are revealed", body = VoteBody),
        (status = 400, description = "`bad_request`", body = ErrorBody),
        (status = 403, description = "`consent_required`, `cross_site`", body = ErrorBody),
        (status = 404, description = "`unknown_battle`", body = ErrorBody),
        (status = 409, description = "`already_voted` with the first vote, `still_answering`, `answer_incomplete`, `idempotency_key_reused`, `conversation_ended`", body = ErrorBody),
    ))]
pub async fn vote(
    State(app): State<App>,
    visitor: Visitor,
    BattlePath(id): BattlePath,
    headers: HeaderMap,
    ApiJson(request): ApiJson<CastVoteRequest>,
) -> Result<Json<VoteBody>, ApiError> {
    let winner = request.winner().ok_or_else(|| {
        let given: String = request.winner.chars().take(80).collect();
        ApiError::new(
            "bad_request",
            format!(
                "`{given}` is not a winner: expected `model_a`, `model_b`, `tie` or `both_bad`"
            ),
        )
    })?;
    let key = idempotency_key(&headers)?;
    Ok(Json(
        app.cast_vote(visitor.visit()?, id, winner, key)
            .await?
            .into(),
    ))
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(key) if (1..=255).contains(&key.len()) => Ok(Some(key)),
        _ => Err(ApiError::new(
            "bad_request",
            "`Idempotency-Key` has to hold 1 to 255 visible ASCII characters",
        )),
    }
}
