//! The leaderboard as a page, as CSV and as plots.

mod checks;
pub(super) mod plots;

use askama::Template;
use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};

use super::{Page, Refusal, html, or_error};
use crate::app::{
    App, AppError,
    leaderboard::{Board, BothBadRule, LeaderboardBody, ModelRow, StyleRow, TieRule, csv},
};
use checks::ListedCheck;
use plots::Tab;

/// Width of an interval's picture, in its own units.
const BAR_WIDTH: f64 = 220.0;
/// Room at both of its ends.
const BAR_MARGIN: f64 = 6.0;

#[derive(Template)]
#[template(path = "leaderboard.html")]
struct LeaderboardPage {
    page: Page,
    tabs: Vec<Tab>,
    groups: Vec<Group>,
    n_votes: u64,
    n_models: usize,
    /// Whether any model states a licence: a column of nothing is left out.
    has_licenses: bool,
    level: f64,
    method: String,
}

struct Group {
    number: usize,
    rated: Vec<Row>,
    provisional: Vec<Row>,
    coefficients: Vec<CoefficientRow>,
    checks: Vec<ListedCheck>,
    n_passed: usize,
}

/// What a feature of answers is worth.
struct CoefficientRow {
    feature: String,
    coefficient: String,
    range: String,
    /// The factor by which one unit more changes the odds of winning.
    odds: String,
}

struct Row {
    /// Place in the table.
    order: usize,
    rank: String,
    rank_range: Option<String>,
    model: String,
    /// Who made it.
    by: String,
    license: String,
    rating: String,
    rating_value: f64,
    interval: Option<String>,
    bar: Option<Bar>,
    battles: u64,
    wins: u64,
    losses: u64,
    ties: u64,
    both_bad: u64,
    outcomes: Vec<Part>,
    note: String,
}

/// A rating with its interval, drawn.
struct Bar {
    label: String,
    has_interval: bool,
    lower: String,
    upper: String,
    point: String,
}

/// A share of all battles, drawn.
struct Part {
    class: &'static str,
    x: String,
    width: String,
}

/// `GET /leaderboard`.
pub(super) async fn show(State(app): State<App>) -> Response {
    or_error(&app, page(&app).await)
}

async fn page(app: &App) -> Result<Response, Refusal> {
    let board = app.leaderboard().await?;
    let groups: Vec<Group> = board
        .leaderboards
        .iter()
        .map(|leaderboard| Group::new(app, leaderboard, board.settings.level))
        .collect();
    let page = LeaderboardPage {
        page: Page::new(app, "leaderboard"),
        tabs: plots::tabs(board.leaderboards.first(), &board.settings, None, 1),
        has_licenses: groups
            .iter()
            .flat_map(|group| &group.rated)
            .any(|row| !row.license.is_empty()),
        groups,
        n_votes: board.input.kept,
        n_models: board
            .leaderboards
            .iter()
            .map(|leaderboard| leaderboard.models.len())
            .sum(),
        level: (board.settings.level * 1000.0).round() / 10.0,
        method: method(&board),
    };
    Ok(html(StatusCode::OK, &page))
}

/// How ratings are made, in words that follow the settings.
fn method(board: &Board) -> String {
    let settings = &board.settings;
    const HALF: &str = "counts as half a win for each side";
    const OUT: &str = "is left out";
    const OWN: &str = "is an outcome of its own";
    let tie = match settings.ties {
        TieRule::Half => HALF,
        TieRule::Drop => OUT,
        TieRule::Davidson | TieRule::RaoKupper | TieRule::Grounded => OWN,
    };
    let both_bad = match settings.both_bad {
        BothBadRule::Half => HALF,
        BothBadRule::Drop => OUT,
        BothBadRule::Loss => "counts as a loss of both",
        BothBadRule::Tie => "counts as a tie",
        BothBadRule::Outcome => OWN,
    };
    let both = if tie == both_bad {
        format!("A tie, and “both are bad”, each {tie}")
    } else {
        format!("A tie {tie}, “both are bad” {both_bad}")
    };
    format!(
        "The Bradley-Terry model is fitted to all votes at once, to a checked optimum; {} points more mean {}-fold odds of winning. {both}. Ranges come from the sandwich estimator and are relative to the mean of the rated models, which has {} points. A rank is one more than the number of models whose whole range lies above.",
        settings.scale, settings.base, settings.init
    )
}

impl Group {
    fn new(app: &App, leaderboard: &LeaderboardBody, level: f64) -> Self {
        let is_rated = |row: &&ModelRow| row.status == "rated";
        let axis = Axis::of(leaderboard.models.iter().filter(is_rated));
        let rows = |wanted: bool| -> Vec<Row> {
            leaderboard
                .models
                .iter()
                .filter(|row| is_rated(row) == wanted)
                .enumerate()
                .map(|(idx, row)| Row::new(app, idx, row, &axis, level))
                .collect()
        };
        Self {
            number: leaderboard.group,
            rated: rows(true),
            provisional: rows(false),
            coefficients: leaderboard.style.iter().map(CoefficientRow::from).collect(),
            n_passed: leaderboard
                .checks
                .iter()
                .filter(|check| check.passed)
                .count(),
            checks: leaderboard.checks.iter().map(ListedCheck::from).collect(),
        }
    }
}

impl From<&StyleRow> for CoefficientRow {
    fn from(row: &StyleRow) -> Self {
        Self {
            feature: row.feature.replace('_', " "),
            coefficient: format!("{:+.3}", row.coefficient),
            range: row
                .lower
                .zip(row.upper)
                .map_or_else(String::new, |(lower, upper)| {
                    format!("{lower:+.3} to {upper:+.3}")
                }),
            odds: format!("{:.2}", row.coefficient.exp()),
        }
    }
}

impl Row {
    fn new(app: &App, idx: usize, row: &ModelRow, axis: &Axis, level: f64) -> Self {
        let known = app.models().iter().find(|model| model.name == row.model);
        let mut by: Vec<&str> = known
            .and_then(|model| model.organization.as_deref())
            .into_iter()
            .collect();
        // In a demo every page says it at the top.
        if !app.is_demo() && known.is_some_and(|model| model.scripted) {
            by.push("scripted");
        }
        let interval = row
            .rating_lower
            .zip(row.rating_upper)
            .filter(|(lower, upper)| lower.is_finite() && upper.is_finite());
        let rank_range = match (row.rank_upper, row.rank_lower) {
            (Some(best), Some(worst)) if best < worst => Some(format!("{best} to {worst}")),
            _ => None,
        };
        Self {
            order: idx + 1,
            rank: row.rank.map(|rank| rank.to_string()).unwrap_or_default(),
            rank_range,
            model: row.model.clone(),
            by: by.join(" · "),
            license: known
                .and_then(|model| model.license.clone())
                .unwrap_or_default(),
            rating: format!("{:.0}", row.rating),
            rating_value: row.rating,
            interval: interval.map(|(lower, upper)| {
                format!("+{:.0} / −{:.0}", upper - row.rating, row.rating - lower)
            }),
            bar: Some(axis.bar(row.rating, interval, level)).filter(|_| row.rating.is_finite()),
            battles: row.battles,
            wins: row.wins,
            losses: row.losses,
            ties: row.ties,
            both_bad: row.both_bad,
            outcomes: parts(row),
            note: note(row),
        }
    }
}

fn note(row: &ModelRow) -> String {
    let why = row.note.clone().unwrap_or_default();
    match row.votes_needed {
        Some(n) if n > 0 && !why.contains("more vote") => format!(
            "{why}{}about {n} more {} needed",
            if why.is_empty() { "" } else { "; " },
            if n == 1 { "vote is" } else { "votes are" }
        ),
        _ => why,
    }
}

fn parts(row: &ModelRow) -> Vec<Part> {
    let total = (row.wins + row.ties + row.both_bad + row.losses).max(1) as f64;
    let mut x = 0.0;
    [
        ("win", row.wins),
        ("tie", row.ties),
        ("bad", row.both_bad),
        ("loss", row.losses),
    ]
    .into_iter()
    .filter(|(_, n)| *n > 0)
    .map(|(class, n)| {
        let width = 100.0 * n as f64 / total;
        let part = Part {
            class,
            x: format!("{x:.2}"),
            width: format!("{width:.2}"),
        };
        x += width;
        part
    })
    .collect()
}

/// Which ratings the pictures of a table reach from and to.
struct Axis {
    start: f64,
    end: f64,
}

impl Axis {
    fn of<'a>(rows: impl Iterator<Item = &'a ModelRow>) -> Self {
        let mut axis = Self {
            start: f64::INFINITY,
            end: f64::NEG_INFINITY,
        };
        for row in rows {
            for value in [Some(row.rating), row.rating_lower, row.rating_upper]
                .into_iter()
                .flatten()
                .filter(|value| value.is_finite())
            {
                axis.start = axis.start.min(value);
                axis.end = axis.end.max(value);
            }
        }
        axis
    }

    fn position(&self, rating: f64) -> f64 {
        let length = self.end - self.start;
        if !length.is_finite() || length <= 0.0 {
            return BAR_WIDTH / 2.0;
        }
        let share = ((rating - self.start) / length).clamp(0.0, 1.0);
        BAR_MARGIN + share * (BAR_WIDTH - 2.0 * BAR_MARGIN)
    }

    fn bar(&self, rating: f64, interval: Option<(f64, f64)>, level: f64) -> Bar {
        let (lower, upper) = interval.unwrap_or((rating, rating));
        Bar {
            label: match interval {
                Some(_) => format!("{:.0} % range {lower:.0} to {upper:.0}", level * 100.0),
                None => "no range can be estimated".to_owned(),
            },
            has_interval: interval.is_some(),
            lower: format!("{:.1}", self.position(lower)),
            upper: format!("{:.1}", self.position(upper)),
            // The mark is four units wide.
            point: format!("{:.1}", self.position(rating) - 2.0),
        }
    }
}

/// `GET /leaderboard.csv`.
pub(super) async fn download(State(app): State<App>) -> Response {
    or_error(&app, table(&app).await)
}

async fn table(app: &App) -> Result<Response, Refusal> {
    let board = app.leaderboard().await?;
    let text = csv::write(&board).map_err(|source| AppError::Internal {
        what: "writing the leaderboard as CSV",
        source,
    })?;
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/csv; charset=utf-8"),
        ),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment; filename=\"leaderboard.csv\""),
        ),
    ];
    Ok((headers, text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rating: f64, interval: Option<(f64, f64)>) -> ModelRow {
        ModelRow {
            model: "m".to_owned(),
            rating,
            rating_lower: interval.map(|(lower, _)| lower),
            rating_upper: interval.map(|(_, upper)| upper),
            rank: Some(1),
            rank_upper: Some(1),
            rank_lower: Some(2),
            battles: 10,
            wins: 5,
            losses: 2,
            ties: 2,
            both_bad: 1,
            status: "rated".to_owned(),
            reason: None,
            votes_needed: None,
            note: None,
            rank_change: None,
            simultaneous: None,
            good_enough: None,
        }
    }

    #[test]
    fn bars_stay_inside_their_picture() {
        let rows = [
            row(1000.0, Some((900.0, 1100.0))),
            row(1200.0, None),
            row(f64::NAN, None),
        ];
        let axis = Axis::of(rows.iter());
        assert_eq!((axis.start, axis.end), (900.0, 1200.0));
        for (rating, expected) in [
            (900.0, 6.0),
            (1200.0, 214.0),
            (5000.0, 214.0),
            (-5000.0, 6.0),
        ] {
            assert_eq!(axis.position(rating), expected);
        }
        let alone = Axis::of([row(1000.0, None)].iter());
        assert_eq!(alone.position(1000.0), 110.0);
        assert_eq!(Axis::of([].iter()).position(0.0), 110.0);
    }

    #[test]
    fn outcomes_fill_the_whole_width() {
        let parts = parts(&row(0.0, None));
        let classes: Vec<_> = parts.iter().map(|part| part.class).collect();
        assert_eq!(classes, ["win", "tie", "bad", "loss"]);
        let width: f64 = parts
            .iter()
            .map(|part| part.width.parse::<f64>().unwrap())
            .sum();
        assert!((width - 100.0).abs() < 0.05, "{width}");
    }
}
