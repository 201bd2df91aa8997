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
use tokio::sync::mpsc;
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
/// How many events wait for a slow reader before the stream stops producing more.
const QUEUE_EVENTS_MAX: usize = 8;

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
) -> Result<(), mpsc::error::SendError<Event>> {
    let mut sent = Sent::default();
    let stopping = app.stopping();
    loop {
        // Taken before the view is looked at, so that no change can fall between the two.
        let watcher = app.live().watch(id);
        if let Ok(newer) = app.battle_view(visit, id).await {
            view = newer;
        }
        send_answers(&view, render, &mut sent, sender).await?;
        let Some(mut watcher) = watcher else { break };
        loop {
            tokio::select! {
                () = stopping.cancelled() => return Ok(()),
                () = sender.closed() => return Ok(()),
                changed = watcher.changed() => if changed.is_err() { break },
            }
            let live = watcher.borrow_and_update().clone();
            for (side, answer) in live.iter() {
                if let Some(answer) = answer {
                    send_answer(
                        answer.turn_idx,
                        side,
                        &AnswerView::live(answer),
                        render,
                        &mut sent,
                        sender,
                    )
                    .await?;
                }
            }
            if live
                .iter()
                .all(|(_, answer)| answer.as_ref().is_none_or(|answer| answer.finish.is_some()))
            {
                break;
            }
            tokio::time::sleep(Duration::from_millis(TICK_MS)).await;
        }
    }
    let status = StatusEvent {
        status: view.status.as_str(),
        can_vote: view.can_vote,
        can_follow_up: view.can_follow_up,
        can_retry: view.can_retry,
        not_ratable: view.not_ratable,
    };
    sender.send(event("status", &status)).await?;
    sender.send(Event::default().event("end").data("{}")).await
}

/// Sends both answers of the last turn, as far as they changed.
async fn send_answers(
    view: &BattleView,
    render: Render,
    sent: &mut Sent,
    sender: &mpsc::Sender<Event>,
) -> Result<(), mpsc::error::SendError<Event>> {
    let Some((turn_idx, turn)) = view.turns.iter().enumerate().next_back() else {
        return Ok(());
    };
    for (side, answer) in turn.answers.iter() {
        send_answer(turn_idx, side, answer, render, sent, sender).await?;
    }
    Ok(())
}

async fn send_answer(
    turn_idx: usize,
    side: Side,
    answer: &AnswerView,
    render: Render,
    sent: &mut Sent,
    sender: &mpsc::Sender<Event>,
) -> Result<(), mpsc::error::SendError<Event>> {
    let state = Some((answer.attempt, answer.text.len(), answer.phase.as_str()));
    if *sent.get(side) == state {
        return Ok(());
    }
    *sent.get_mut(side) = state;
    let (text, html) = match render {
        Render::Text => (Some(answer.text.clone()), None),
        Render::Html => (None, Some(markdown::render(&answer.text))),
    };
    let data = AnswerEvent {
        turn: turn_idx,
        side: side.as_str(),
        attempt: answer.attempt,
        phase: answer.phase.as_str(),
        finish: answer.finish.map(agon_domain::Finish::as_str),
        problem: answer.problem.clone().map(ProblemBody::from),
        text,
        html,
    };
    sender.send(event("answer", &data)).await
}

fn event(name: &str, data: &impl Serialize) -> Event {
    // Unwrap safety: the data are plain structs of strings and numbers, which serialise always.
    Event::default()
        .event(name)
        .json_data(data)
        .unwrap_or_default()
}
