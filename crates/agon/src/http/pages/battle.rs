//! The battle page: every state of a battle, rendered whole.
//!
//! Both sides go through the same code and the same template; before the vote there is nothing here that knows a model's name.

use agon_domain::{BattleId, Finish, Side, Winner};
use askama::Template;
use axum::{
    Form,
    extract::{State, rejection::FormRejection},
    http::StatusCode,
    response::Response,
};
use serde::Deserialize;

use super::{Page, Refusal, error_page, html, see_other, sentences};
use crate::{
    app::{AnswerView, App, AppError, BattleStatus, BattleView, Reveal, TurnView},
    config::LimitsConfig,
    http::{error::ApiError, extract::BattlePath, markdown, visit::Visitor},
};

#[derive(Template)]
#[template(path = "battle.html")]
struct BattlePage {
    page: Page,
    id: BattleId,
    status: &'static str,
    turns: Vec<Turn>,
    choices: [Choice; 4],
    can_vote: bool,
    can_follow_up: bool,
    more_turns: bool,
    not_ratable: Option<String>,
    result: Option<BattleResult>,
    notice: Option<String>,
    prompt: String,
    prompt_chars_max: usize,
}

struct Turn {
    idx: usize,
    number: usize,
    prompt: String,
    has_image: bool,
    notices: Vec<&'static str>,
    panes: [Pane; 2],
}

struct Pane {
    side: &'static str,
    letter: &'static str,
    phase: &'static str,
    attempt: u32,
    state: &'static str,
    html: String,
    is_running: bool,
    is_empty: bool,
    is_cut: bool,
    problem: Option<&'static str>,
    can_retry: bool,
    reveal: Option<PaneReveal>,
    chip: Option<&'static str>,
    is_chosen: bool,
}

struct PaneReveal {
    name: String,
    /// Who made it, under which licence.
    by: String,
}

struct Choice {
    value: &'static str,
    icon: &'static str,
    long: &'static str,
    short: &'static str,
    key: &'static str,
}

struct BattleResult {
    title: &'static str,
    a: String,
    b: String,
    sequence: u64,
}

const CHOICES: [Choice; 4] = [
    Choice {
        value: Winner::A.as_str(),
        icon: "left",
        long: "A is better",
        short: "A",
        key: "1",
    },
    Choice {
        value: Winner::B.as_str(),
        icon: "right",
        long: "B is better",
        short: "B",
        key: "2",
    },
    Choice {
        value: Winner::Tie.as_str(),
        icon: "tie",
        long: "Tie",
        short: "Tie",
        key: "3",
    },
    Choice {
        value: Winner::BothBad.as_str(),
        icon: "bad",
        long: "Both are bad",
        short: "Both bad",
        key: "4",
    },
];

impl Turn {
    fn new(
        idx: usize,
        turn: TurnView,
        reveal: Option<&Reveal>,
        can_retry: bool,
        is_demo: bool,
    ) -> Self {
        let [a, b] = [(Side::A, turn.answers.a), (Side::B, turn.answers.b)]
            .map(|(side, answer)| Pane::new(side, answer, reveal, can_retry, is_demo));
        Self {
            idx,
            number: idx + 1,
            prompt: turn.prompt,
            has_image: turn.image.is_some(),
            notices: turn.notices,
            panes: [a, b],
        }
    }
}

impl Pane {
    fn new(
        side: Side,
        answer: AnswerView,
        reveal: Option<&Reveal>,
        can_retry: bool,
        is_demo: bool,
    ) -> Self {
        let phase = answer.phase.as_str();
        let (is_chosen, chip) = match (reveal.map(|reveal| reveal.winner), side) {
            (Some(Winner::A), Side::A) | (Some(Winner::B), Side::B) => (true, Some("Your choice")),
            (Some(Winner::Tie), _) => (false, Some("Tie")),
            (Some(Winner::BothBad), _) => (false, Some("Both bad")),
            _ => (false, None),
        };
        Self {
            side: side.as_str(),
            letter: letter(side),
            phase,
            attempt: answer.attempt,
            state: match phase {
                "thinking" => "Thinking",
                "streaming" => "Writing",
                _ => "Waiting",
            },
            is_running: answer.finish.is_none(),
            is_empty: answer.text.is_empty(),
            html: markdown::render(&answer.text),
            is_cut: answer.finish == Some(Finish::Length),
            can_retry: can_retry && answer.problem.is_some(),
            problem: answer.problem.map(|problem| problem.message),
            reveal: reveal.map(|reveal| {
                let model = reveal.models.get(side);
                let mut by: Vec<&str> = [&model.organization, &model.license]
                    .into_iter()
                    .flatten()
                    .map(String::as_str)
                    .collect();
                // In a demo every page says it at the top.
                if model.scripted && !is_demo {
                    by.push("scripted");
                }
                PaneReveal {
                    name: model.name.clone(),
                    by: by.join(" · "),
                }
            }),
            chip,
            is_chosen,
        }
    }
}

const fn letter(side: Side) -> &'static str {
    match side {
        Side::A => "A",
        Side::B => "B",
    }
}

impl From<&Reveal> for BattleResult {
    fn from(reveal: &Reveal) -> Self {
        Self {
            title: match reveal.winner {
                Winner::A => "You preferred A",
                Winner::B => "You preferred B",
                Winner::Tie => "You called it a tie",
                Winner::BothBad => "You found both bad",
            },
            a: reveal.models.a.name.clone(),
            b: reveal.models.b.name.clone(),
            sequence: reveal.sequence,
        }
    }
}

impl BattlePage {
    fn new(
        page: Page,
        view: BattleView,
        limits: &LimitsConfig,
        notice: Option<String>,
        prompt: String,
    ) -> Self {
        let n_turns = view.turns.len();
        let reveal = view.reveal.as_ref();
        let turns = view
            .turns
            .into_iter()
            .enumerate()
            .map(|(idx, turn)| {
                let can_retry = view.can_retry && idx + 1 == n_turns;
                Turn::new(idx, turn, reveal, can_retry, page.is_demo)
            })
            .collect();
        Self {
            id: view.id,
            status: view.status.as_str(),
            turns,
            choices: CHOICES,
            can_vote: view.can_vote,
            can_follow_up: view.can_follow_up,
            more_turns: u32::try_from(n_turns).is_ok_and(|n| n < limits.turns_max),
            not_ratable: view
                .not_ratable
                .filter(|_| view.status != BattleStatus::Voted),
            result: reveal.map(BattleResult::from),
            notice,
            prompt,
            prompt_chars_max: limits.prompt_chars_max,
            page,
        }
    }
}

async fn battle_page(
    app: &App,
    status: StatusCode,
    view: BattleView,
    notice: Option<String>,
    prompt: String,
) -> Response {
    let app = app.clone();
    markdown::apart(move || {
        let page = Page::new(&app, "battle");
        let limits = &app.config().raw.limits;
        html(status, &BattlePage::new(page, view, limits, notice, prompt))
    })
    .await
}

/// `GET /battle/{id}`.
pub(super) async fn show(
    State(app): State<App>,
    visitor: Visitor,
    path: Result<BattlePath, ApiError>,
) -> Response {
    match view(&app, &visitor, path).await {
        Ok(view) => battle_page(&app, StatusCode::OK, view, None, String::new()).await,
        Err(Refusal(error)) => error_page(&app, *error, None),
    }
}

async fn view(
    app: &App,
    visitor: &Visitor,
    path: Result<BattlePath, ApiError>,
) -> Result<BattleView, Refusal> {
    let BattlePath(id) = path?;
    // To whoever has no visit, every battle is an unknown one.
    let visit = visitor.visit().map_err(|_| AppError::UnknownBattle)?;
    Ok(app.battle_view(visit, id).await?)
}

/// The form with a further question.
#[derive(Deserialize)]
pub(super) struct TurnForm {
    prompt: String,
}

/// `POST /battle/{id}/turns`.
pub(super) async fn add_turn(
    State(app): State<App>,
    visitor: Visitor,
    path: Result<BattlePath, ApiError>,
    form: Result<Form<TurnForm>, FormRejection>,
) -> Response {
    let prompt = match form {
        // Browsers send line ends as CR LF.
        Ok(Form(form)) => form.prompt.replace("\r\n", "\n"),
        Err(rejection) => {
            return error_page(
                &app,
                ApiError::new("bad_request", rejection.body_text()),
                None,
            );
        }
    };
    let id = match path {
        Ok(BattlePath(id)) => id,
        Err(error) => return error_page(&app, error, None),
    };
    let result = app.add_turn(&visitor, id, prompt.clone()).await;
    back(&app, &visitor, id, result.map_err(ApiError::from), prompt).await
}

/// `POST /battle/{id}/retry`.
pub(super) async fn retry(
    State(app): State<App>,
    visitor: Visitor,
    path: Result<BattlePath, ApiError>,
) -> Response {
    let id = match path {
        Ok(BattlePath(id)) => id,
        Err(error) => return error_page(&app, error, None),
    };
    let result = app.retry(&visitor, id).await;
    back(
        &app,
        &visitor,
        id,
        result.map_err(ApiError::from),
        String::new(),
    )
    .await
}

/// The form with the vote.
#[derive(Deserialize)]
pub(super) struct VoteForm {
    winner: String,
}

/// `POST /battle/{id}/vote`.
pub(super) async fn vote(
    State(app): State<App>,
    visitor: Visitor,
    path: Result<BattlePath, ApiError>,
    form: Result<Form<VoteForm>, FormRejection>,
) -> Response {
    let id = match path {
        Ok(BattlePath(id)) => id,
        Err(error) => return error_page(&app, error, None),
    };
    let winner = form.ok().and_then(|Form(form)| {
        Winner::ALL
            .into_iter()
            .find(|winner| winner.as_str() == form.winner)
    });
    let result = match (winner, visitor.visit()) {
        (None, _) => Err(ApiError::new(
            "bad_request",
            "The form does not say which answer is better",
        )),
        (Some(_), Err(error)) => Err(error.into()),
        (Some(winner), Ok(visit)) => app
            .cast_vote(visit, id, winner, None)
            .await
            .map(drop)
            .map_err(ApiError::from),
    };
    back(&app, &visitor, id, result, String::new()).await
}

/// After a form: back to the battle, which shows the new state, or the battle with what was refused and why.
async fn back(
    app: &App,
    visitor: &Visitor,
    id: BattleId,
    result: Result<(), ApiError>,
    prompt: String,
) -> Response {
    let Err(error) = result else {
        return see_other(&format!("/battle/{id}"));
    };
    match view(app, visitor, Ok(BattlePath(id))).await {
        Ok(view) => {
            let notice = if error.code == "already_voted" {
                "You had voted on this battle already. The first vote counts; this is its result."
                    .to_owned()
            } else {
                sentences(&error.message, error.hint.as_deref())
            };
            battle_page(app, error.status, view, Some(notice), prompt).await
        }
        Err(_) => error_page(app, error, None),
    }
}

#[cfg(test)]
mod tests {
    use agon_domain::Sides;
    use jiff::Timestamp;

    use super::*;
    use crate::app::{Problem, RevealedModel, live::Phase};

    fn answer(text: &str, finish: Option<Finish>) -> AnswerView {
        AnswerView {
            text: text.to_owned(),
            attempt: 1,
            phase: if finish.is_some() {
                Phase::Finished
            } else {
                Phase::Streaming
            },
            finish,
            problem: finish.and_then(Problem::of),
        }
    }

    fn view(status: BattleStatus, a: AnswerView, b: AnswerView) -> BattleView {
        BattleView {
            id: BattleId::from_bytes([7; 16]),
            started_at: Timestamp::UNIX_EPOCH,
            turns: vec![TurnView {
                prompt: "<b>what</b> is this?".to_owned(),
                notices: Vec::new(),
                image: None,
                answers: Sides { a, b },
            }],
            can_vote: status == BattleStatus::Ratable,
            can_follow_up: status == BattleStatus::Ratable,
            can_retry: status == BattleStatus::Failed,
            not_ratable: (status == BattleStatus::Answering).then(|| "wait".to_owned()),
            reveal: (status == BattleStatus::Voted).then(|| {
                let model = |name: &str| RevealedModel {
                    name: name.to_owned(),
                    organization: Some("Org".to_owned()),
                    license: None,
                    scripted: false,
                };
                Reveal {
                    winner: Winner::B,
                    models: Sides {
                        a: model("<i>one"),
                        b: model("two"),
                    },
                    sequence: 12,
                    cast_at: Timestamp::UNIX_EPOCH,
                }
            }),
            status,
        }
    }

    fn render(view: BattleView) -> String {
        let page = Page {
            arena_name: "Arena".to_owned(),
            contact: None,
            is_demo: false,
            assets: "/assets/0",
            nav: "battle",
        };
        BattlePage::new(page, view, &LimitsConfig::default(), None, String::new())
            .render()
            .unwrap()
    }

    /// The pane of one side, without what names the side.
    fn pane(html: &str, side: Side) -> String {
        let start = html
            .find(&format!("id=\"turn-0-{}\"", side.as_str()))
            .unwrap();
        let end = start + html[start..].find("</section>").unwrap();
        html[start..end]
            .replace(&format!("turn-0-{}", side.as_str()), "turn-0-x")
            .replace(&format!("data-copy=\"{}\"", side.as_str()), "")
            .replace(&format!("odel {}", letter(side)), "odel X")
            .replace(&format!(">{}</span>", letter(side)), ">X</span>")
    }

    #[test]
    fn both_sides_look_the_same_in_every_state() {
        let finishes = Finish::ALL.map(Some).into_iter().chain([None]);
        for finish in finishes {
            for text in ["", "# Title\n\n*text* $x$"] {
                for status in [
                    BattleStatus::Answering,
                    BattleStatus::Failed,
                    BattleStatus::Ratable,
                ] {
                    let html = render(view(status, answer(text, finish), answer(text, finish)));
                    assert_eq!(
                        pane(&html, Side::A),
                        pane(&html, Side::B),
                        "{finish:?} {status:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_vote_is_possible_only_when_both_answers_are_complete() {
        let n_disabled = |html: &str| {
            let form = &html[html.find("id=\"votes\"").unwrap()..];
            form[..form.find("</form>").unwrap()]
                .matches(" disabled")
                .count()
        };
        let done = || answer("text", Some(Finish::Stop));
        let answering = render(view(BattleStatus::Answering, done(), answer("te", None)));
        assert_eq!(n_disabled(&answering), 4);
        assert!(
            answering.contains("http-equiv=\"refresh\""),
            "without script the page loads itself again"
        );
        let ratable = render(view(BattleStatus::Ratable, done(), done()));
        assert_eq!(n_disabled(&ratable), 0);
        assert!(!ratable.contains("http-equiv"));
        let voted = render(view(BattleStatus::Voted, done(), done()));
        assert!(!voted.contains("id=\"votes\"") && !voted.contains("id=\"follow\""));
    }

    #[test]
    fn only_the_failed_side_offers_another_try() {
        let html = render(view(
            BattleStatus::Failed,
            answer("text", Some(Finish::Stop)),
            answer("", Some(Finish::Failed)),
        ));
        assert!(!pane(&html, Side::A).contains("/retry"));
        assert!(pane(&html, Side::B).contains("/retry"));
        assert!(pane(&html, Side::B).contains("This model could not answer."));
    }

    #[test]
    fn the_reveal_names_both_models_and_the_choice() {
        let done = || answer("text", Some(Finish::Stop));
        let before = render(view(BattleStatus::Ratable, done(), done()));
        assert!(!before.contains("Org") && !before.contains("two"));
        let html = render(view(BattleStatus::Voted, done(), done()));
        assert!(pane(&html, Side::A).contains("&#60;i&#62;one"), "{html}");
        assert!(
            pane(&html, Side::B).contains("two") && pane(&html, Side::B).contains("Your choice")
        );
        assert!(!pane(&html, Side::A).contains("Your choice"));
        assert!(html.contains("You preferred B") && html.contains("vote no. 12"));
    }

    #[test]
    fn what_the_user_wrote_is_text() {
        let done = || answer("text", Some(Finish::Stop));
        let html = render(view(BattleStatus::Ratable, done(), done()));
        assert!(html.contains("&#60;b&#62;what&#60;/b&#62; is this?"));
        assert!(!html.contains("<b>what"));
        assert!(!html.contains("style=\"") && !html.contains("<script>"));
    }
}
