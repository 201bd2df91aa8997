//! The answers while they are written, as server-sent events.
//!
//! Each `answer` event carries the whole answer so far, so that a lost event or a reconnect loses nothing, and the HTML is sanitised as a whole each time, never piece by piece.

use std::{convert::Infallible, time::Duration};

use agon_domain::{BattleId, Side, Sides, VisitId};
use axum::{
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, StreamExt as _};
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use utoipa::ToSchema;

use crate::{
    app::{AnswerView, App, BattleView},
    http::{
        api::views::ProblemBody,
        error::{ApiError, ErrorBody},
        extract::{ApiQuery, BattlePath},
        markdown,
        visit::Visitor,
    },
};

/// The shortest time between two events of one stream, in milliseconds: at most ten a second.
const TICK_MS: u64 = 100;
/// How many bytes of an answer make the time between two events a millisecond longer: long answers are sent whole too, but less often.
const BYTES_PER_MS: usize = 1024;
/// How many events wait for a slow reader. Each holds a whole answer, and the next one is made only when there is room for it.
const QUEUE_EVENTS_MAX: usize = 1;

/// How many answers are copied and rendered for streams at the same time. Each copy may have the longest answer's size.
static SNAPSHOTS: Semaphore = Semaphore::const_new(8);

/// How answers are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Render {
    /// `text`, the model's Markdown.
    #[default]
    Text,
    /// `html`, rendered and sanitised.
    Html,
}

/// The query of the stream.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// How answers are sent.
    #[serde(default)]
    pub render: Render,
}

/// Data of an `answer` event.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AnswerEvent {
    /// The position of the turn, from 0.
    pub turn: usize,
    /// `a` or `b`.
    pub side: &'static str,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// `waiting`, `thinking`, `streaming` or `finished`.
    pub phase: &'static str,
    /// How the answer ended.
    pub finish: Option<&'static str>,
    /// What went wrong.
    pub problem: Option<ProblemBody>,
    /// The whole answer so far, in Markdown, with `render=text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The whole answer so far, rendered and sanitised, with `render=html`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
}

/// Data of a `status` event.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StatusEvent {
    /// `answering`, `ratable`, `failed` or `voted`.
    pub status: &'static str,
    /// Whether a vote is accepted now.
    pub can_vote: bool,
    /// Whether another turn is accepted now.
    pub can_follow_up: bool,
    /// Whether a failed answer can be asked for again.
    pub can_retry: bool,
    /// Why no vote is accepted now, in words.
    pub not_ratable: Option<String>,
}

/// Stream the answers of the last turn
///
/// Server-sent events: `answer` (the whole answer of one side so far), `status`, and `end` when nothing is being written.
#[utoipa::path(get, path = "/api/v1/battles/{id}/events", tag = "battles",
    params(
        ("id" = String, Path, description = "32 hexadecimal digits"),
        ("render" = Option<Render>, Query, description = "`text` (default) or `html`"),
    ),
    responses(
        (status = 200, description = "The events; their data are `AnswerEvent` and `StatusEvent`", content_type = "text/event-stream", body = AnswerEvent),
        (status = 403, description = "`consent_required`", body = ErrorBody),
        (status = 404, description = "`unknown_battle`", body = ErrorBody),
    ))]
pub async fn stream(
    State(app): State<App>,
    visitor: Visitor,
    BattlePath(id): BattlePath,
    ApiQuery(query): ApiQuery<EventsQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let visit = visitor.visit()?;
    let view = app.battle_view(visit, id).await?;
    let (sender, receiver) = mpsc::channel(QUEUE_EVENTS_MAX);
    tokio::spawn(async move {
        // A closed channel means that the reader is gone: there is nothing left to do.
        let _ = produce(&app, visit, id, view, query.render, &sender).await;
    });
    Ok(Sse::new(ReceiverStream::new(receiver).map(Ok)).keep_alive(KeepAlive::default()))
}

/// What a stream has sent of each side, to send only what changed.
type Sent = Sides<Option<(u32, usize, &'static str)>>;

async fn produce(
    app: &App,
    visit: VisitId,
    id: BattleId,
    mut view: BattleView,
    render: Render,
    sender: &mpsc::Sender<Event>,
) -> Result<(), mpsc::error::SendError<()>> {
    let mut sent = Sent::default();
    let stopping = app.stopping();
    loop {
        // Taken before the view is looked at, so that no change can fall between the two.
        let watcher = app.live().watch(id);
        if let Ok(newer) = app.battle_view(visit, id).await {
            view = newer;
        }
        send_answers(&view, render, &mut sent, sender).await?;
        // The stream may be open for long, and needs no more than how the battle stands.
        view.turns.clear();
        let Some(mut watcher) = watcher else { break };
        loop {
            tokio::select! {
                () = stopping.cancelled() => return Ok(()),
                () = sender.closed() => return Ok(()),
                changed = watcher.changed() => if changed.is_err() { break },
            }
            watcher.mark_unchanged();
            let mut is_over = true;
            let mut n_bytes = 0;
            for side in Side::BOTH {
                // The answer is looked at when there is room to send it, so that a slow reader gets the newest state and holds one.
                let room = sender.reserve().await?;
                let _place = SNAPSHOTS.acquire().await;
                let Some(answer) = watcher.borrow().get(side).clone() else {
                    continue;
                };
                is_over &= answer.finish.is_some();
                n_bytes += answer.text.len();
                let turn_idx = answer.turn_idx;
                let answer = AnswerView::live(&answer);
                if let Some(event) = answer_event(turn_idx, side, answer, render, &mut sent).await {
                    room.send(event);
                }
            }
            if is_over {
                break;
            }
            let longer_ms = u64::try_from(n_bytes / BYTES_PER_MS).unwrap_or(u64::MAX);
            tokio::time::sleep(Duration::from_millis(TICK_MS.saturating_add(longer_ms))).await;
        }
    }
    let status = StatusEvent {
        status: view.status.as_str(),
        can_vote: view.can_vote,
        can_follow_up: view.can_follow_up,
        can_retry: view.can_retry,
        not_ratable: view.not_ratable,
    };
    sender.reserve().await?.send(event("status", &status));
    sender
        .reserve()
        .await?
        .send(Event::default().event("end").data("{}"));
    Ok(())
}

/// Sends both answers of the last turn, as far as they changed.
async fn send_answers(
    view: &BattleView,
    render: Render,
    sent: &mut Sent,
    sender: &mpsc::Sender<Event>,
) -> Result<(), mpsc::error::SendError<()>> {
    let Some((turn_idx, turn)) = view.turns.iter().enumerate().next_back() else {
        return Ok(());
    };
    for (side, answer) in turn.answers.iter() {
        let room = sender.reserve().await?;
        let _place = SNAPSHOTS.acquire().await;
        if let Some(event) = answer_event(turn_idx, side, answer.clone(), render, sent).await {
            room.send(event);
        }
    }
    Ok(())
}

/// The event of an answer, unless the same was sent before.
async fn answer_event(
    turn_idx: usize,
    side: Side,
    answer: AnswerView,
    render: Render,
    sent: &mut Sent,
) -> Option<Event> {
    let state = Some((answer.attempt, answer.text.len(), answer.phase.as_str()));
    if *sent.get(side) == state {
        return None;
    }
    *sent.get_mut(side) = state;
    let (text, html) = match render {
        Render::Text => (Some(answer.text), None),
        Render::Html => (None, Some(markdown::render_shared(answer.text).await)),
    };
    let data = AnswerEvent {
        turn: turn_idx,
        side: side.as_str(),
        attempt: answer.attempt,
        phase: answer.phase.as_str(),
        finish: answer.finish.map(agon_domain::Finish::as_str),
        problem: answer.problem.map(ProblemBody::from),
        text,
        html,
    };
    Some(event("answer", &data))
}

fn event(name: &str, data: &impl Serialize) -> Event {
    // Unwrap safety: the data are plain structs of strings and numbers, which serialise always.
    Event::default()
        .event(name)
        .json_data(data)
        .unwrap_or_default()
}
