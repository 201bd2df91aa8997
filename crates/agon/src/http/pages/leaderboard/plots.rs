//! Plots of the leaderboard: each on a page of its own that needs no script, and as files to keep.

use agon_plot::Theme;
use askama::Template;
use axum::{
    extract::{Path, State, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Redirect, Response},
};
use serde::Deserialize;

use super::super::{Page, Refusal, html, or_error};
use crate::{
    app::{
        App,
        leaderboard::{LeaderboardBody, Settings},
        plots::{PlotError, PlotFormat, PlotKind, PlotSource, has_predictions},
    },
    http::{error::ApiError, extract::ApiQuery},
};

const SVG: &str = "image/svg+xml";

/// An entry of the navigation between the table and the plots.
pub(super) struct Tab {
    pub(super) address: String,
    pub(super) label: &'static str,
    pub(super) is_current: bool,
}

/// A link to another group of models.
struct GroupLink {
    number: usize,
    address: String,
    is_current: bool,
}

#[derive(Template)]
#[template(path = "plot.html")]
struct PlotPage {
    page: Page,
    tabs: Vec<Tab>,
    groups: Vec<GroupLink>,
    title: &'static str,
    about: String,
    /// The plot, an SVG element made by `agon-plot`, which escapes every name; empty when there is none.
    plot: String,
    /// Why there is none.
    missing: String,
    svg_address: String,
    png_address: String,
}

/// The query of a plot.
#[derive(Debug, Deserialize)]
pub(in super::super) struct PlotQuery {
    /// Which group of models, from 1.
    #[serde(default = "first_group")]
    group: usize,
    /// The colours of a file.
    #[serde(default)]
    theme: FileTheme,
}

/// The colours of a file.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FileTheme {
    #[default]
    Light,
    Dark,
}

fn first_group() -> usize {
    1
}

impl From<FileTheme> for Theme {
    fn from(theme: FileTheme) -> Self {
        match theme {
            FileTheme::Light => Self::Light,
            FileTheme::Dark => Self::Dark,
        }
    }
}

/// What an address below `/leaderboard/plots/` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Page(PlotKind),
    Svg(PlotKind),
    Png(PlotKind),
}

impl Wanted {
    fn parse(name: &str) -> Option<Self> {
        match name.split_once('.') {
            None => Some(Self::Page(PlotKind::parse(name)?)),
            Some((name, "svg")) => Some(Self::Svg(PlotKind::parse(name)?)),
            Some((name, "png")) => Some(Self::Png(PlotKind::parse(name)?)),
            Some(_) => None,
        }
    }

    fn kind(self) -> PlotKind {
        match self {
            Self::Page(kind) | Self::Svg(kind) | Self::Png(kind) => kind,
        }
    }
}

/// The navigation on the page of `current`, or of the table. Plots that cannot be are left out, but for the current one.
pub(super) fn tabs(
    first: Option<&LeaderboardBody>,
    settings: &Settings,
    current: Option<PlotKind>,
    group: usize,
) -> Vec<Tab> {
    let Some(first) = first else {
        return Vec::new();
    };
    let table = Tab {
        address: "/leaderboard".to_owned(),
        label: "Table",
        is_current: current.is_none(),
    };
    let kinds = PlotKind::ALL
        .into_iter()
        .filter(|&kind| current == Some(kind) || can_be(kind, first, settings));
    std::iter::once(table)
        .chain(kinds.map(|kind| Tab {
            address: address(kind, "", group),
            label: label(kind),
            is_current: current == Some(kind),
        }))
        .collect()
}

fn can_be(kind: PlotKind, leaderboard: &LeaderboardBody, settings: &Settings) -> bool {
    match kind {
        PlotKind::Intervals | PlotKind::History => true,
        PlotKind::WinRates | PlotKind::Battles => !leaderboard.pairs.is_empty(),
        PlotKind::Predicted => has_predictions(leaderboard, settings),
        PlotKind::Calibration => leaderboard
            .checks
            .iter()
            .any(|check| check.check == "calibrated"),
        PlotKind::Coefficients => !leaderboard.style.is_empty(),
    }
}

/// Where a plot is. The first group needs no mention, and history has no other.
fn address(kind: PlotKind, extension: &str, group: usize) -> String {
    let name = kind.as_str();
    if group == 1 || kind == PlotKind::History {
        format!("/leaderboard/plots/{name}{extension}")
    } else {
        format!("/leaderboard/plots/{name}{extension}?group={group}")
    }
}

fn label(kind: PlotKind) -> &'static str {
    match kind {
        PlotKind::Intervals => "Ranges",
        PlotKind::WinRates => "Win rates",
        PlotKind::Predicted => "Predictions",
        PlotKind::Battles => "Battles",
        PlotKind::History => "History",
        PlotKind::Calibration => "Calibration",
        PlotKind::Coefficients => "Style",
    }
}

fn title(kind: PlotKind) -> &'static str {
    match kind {
        PlotKind::Intervals => "Ratings and their ranges",
        PlotKind::WinRates => "Who beats whom",
        PlotKind::Predicted => "Predicted win rates",
        PlotKind::Battles => "Who has met whom",
        PlotKind::History => "Ratings over time",
        PlotKind::Calibration => "Do ratings predict votes?",
        PlotKind::Coefficients => "What sways votes",
    }
}

/// How to read the plot.
fn about(kind: PlotKind, settings: &Settings) -> String {
    match kind {
        PlotKind::Intervals => format!(
            "Each dot is a rating, and the bar around it the range in which the true value probably lies, at a confidence of {} %. Where bars overlap, the votes do not tell the models apart. Models below the line are not rated yet.",
            (settings.level * 1000.0).round() / 10.0
        ),
        PlotKind::WinRates => "The share of battles that the model of the row won against the model of the column; a tie, and both bad, count as half a win. Hatched pairs have not met. Few battles say little: “Battles” tells how many there were.".to_owned(),
        PlotKind::Predicted => "How often the ratings expect the model of the row to win against the model of the column, a tie as half a win; also where the two have not met yet. Only rated models are shown.".to_owned(),
        PlotKind::Battles => "How many battles each pair has fought, on whichever sides. Where the numbers are small, ratings rest on little.".to_owned(),
        PlotKind::History => "Each point is the rating from all votes up to the end of that month (UTC); the last month holds the newest vote. A model appears when it can be rated.".to_owned(),
        PlotKind::Calibration => "Battles are sorted by how sure the ratings are of their favourite; each dot says how often it won. On the diagonal, predictions and votes agree. Below: how many battles there are of each kind.".to_owned(),
        PlotKind::Coefficients => "How much each feature of an answer changes the odds of winning, apart from the strength of its model.".to_owned(),
    }
}

/// `GET /leaderboard/plots/{name}`: the page of a kind of plot, or with `.svg` or `.png` the plot as a file.
pub(in super::super) async fn show(
    State(app): State<App>,
    name: Result<Path<String>, PathRejection>,
    query: Result<ApiQuery<PlotQuery>, ApiError>,
    headers: HeaderMap,
) -> Response {
    // What is no UTF-8 is the name of no plot.
    let name = name.map_or_else(|_| String::new(), |Path(name)| name);
    let result = match query {
        Ok(ApiQuery(query)) => answer(&app, &name, &query, &headers).await,
        Err(error) => Err(error.into()),
    };
    or_error(&app, result)
}

async fn answer(
    app: &App,
    name: &str,
    query: &PlotQuery,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let nothing = || ApiError::new("not_found", "There is no such plot");
    let wanted = Wanted::parse(name).ok_or_else(nothing)?;
    if app.leaderboard().await?.leaderboards.is_empty() {
        return match wanted {
            // The page of the table says that there are no votes yet.
            Wanted::Page(_) => Ok(Redirect::to("/leaderboard").into_response()),
            Wanted::Svg(_) | Wanted::Png(_) => {
                Err(ApiError::new("not_found", "There are no votes to draw yet").into())
            }
        };
    }
    let source = app
        .plot_source(wanted.kind(), query.group)
        .await?
        .ok_or_else(nothing)?;
    let theme = query.theme.into();
    match wanted {
        Wanted::Page(_) => page(app, source, query.group).await,
        Wanted::Svg(_) => file(app, source, PlotFormat::Svg(theme), headers).await,
        Wanted::Png(_) => file(app, source, PlotFormat::Png(theme), headers).await,
    }
}

async fn page(app: &App, source: PlotSource, group: usize) -> Result<Response, Refusal> {
    let kind = source.kind();
    let board = source.board();
    let groups: Vec<GroupLink> = board
        .leaderboards
        .iter()
        .map(|leaderboard| GroupLink {
            number: leaderboard.group,
            address: address(kind, "", leaderboard.group),
            is_current: leaderboard.group == group,
        })
        .collect();
    let mut page = PlotPage {
        page: Page::new(app, "leaderboard"),
        tabs: tabs(
            Some(source.leaderboard()),
            &board.settings,
            Some(kind),
            group,
        ),
        groups: if kind == PlotKind::History || groups.len() < 2 {
            Vec::new()
        } else {
            groups
        },
        title: title(kind),
        about: about(kind, &board.settings),
        plot: String::new(),
        missing: String::new(),
        svg_address: address(kind, ".svg", group),
        png_address: address(kind, ".png", group),
    };
    match app.draw_plot(source, PlotFormat::Embedded).await {
        Ok(bytes) => page.plot = String::from_utf8_lossy(&bytes).into_owned(),
        // The page exists all the same, with the way to the other plots.
        Err(error @ (PlotError::Missing(_) | PlotError::TooMuch { .. })) => {
            let error = ApiError::from(error);
            page.missing = super::super::sentences(&error.message, error.hint.as_deref());
        }
        Err(error) => return Err(ApiError::from(error).into()),
    }
    Ok(html(StatusCode::OK, &page))
}

async fn file(
    app: &App,
    source: PlotSource,
    format: PlotFormat,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let (media_type, extension, theme) = match format {
        PlotFormat::Png(theme) => ("image/png", "png", theme),
        PlotFormat::Svg(theme) => (SVG, "svg", theme),
        PlotFormat::Embedded => (SVG, "svg", Theme::Light),
    };
    // Weak, as the same plot is sent compressed or not.
    let tag = format!("W/\"{}-{extension}-{theme:?}\"", source.version());
    let name = format!(
        "attachment; filename=\"leaderboard-{}.{extension}\"",
        source.kind().as_str()
    );
    let (Ok(etag), Ok(disposition)) = (HeaderValue::from_str(&tag), HeaderValue::from_str(&name))
    else {
        // Both are made of letters, digits and hyphens.
        return Err(ApiError::new("internal", "Something went wrong here").into());
    };
    // To be kept, and asked for again: the next vote may change it.
    let caching = [
        (header::ETAG, etag),
        (
            header::CACHE_CONTROL,
            HeaderValue::from_static("public, no-cache"),
        ),
    ];
    if is_known(headers, &tag) {
        let mut answer = (StatusCode::NOT_MODIFIED, caching).into_response();
        if media_type == SVG {
            // As on the answer with the plot, which is compressed for those who can read that (RFC 9110, 15.4.5).
            let vary = HeaderValue::from_static("accept-encoding");
            answer.headers_mut().insert(header::VARY, vary);
        }
        return Ok(answer);
    }
    let bytes = app
        .draw_plot(source, format)
        .await
        .map_err(ApiError::from)?;
    let described = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((caching, described, bytes.to_vec()).into_response())
}

/// Whether the client has what the tag names (RFC 9110, 13.1.2: compared weakly).
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|known| known.trim() == "*" || opaque(known) == opaque(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_pages_and_files() {
        for (name, expected) in [
            ("intervals", Some(Wanted::Page(PlotKind::Intervals))),
            ("win-rates.svg", Some(Wanted::Svg(PlotKind::WinRates))),
            ("history.png", Some(Wanted::Png(PlotKind::History))),
            ("intervals.gif", None),
            ("intervals.svg.png", None),
            (".svg", None),
            ("INTERVALS", None),
            ("", None),
        ] {
            assert_eq!(Wanted::parse(name), expected, "{name}");
        }
        for kind in PlotKind::ALL {
            assert_eq!(Wanted::parse(kind.as_str()), Some(Wanted::Page(kind)));
        }
    }

    #[test]
    fn tags_are_compared_weakly_and_in_lists() {
        let known = |value: &'static str| {
            let headers = [(header::IF_NONE_MATCH, HeaderValue::from_static(value))];
            is_known(&headers.into_iter().collect(), "W/\"5-ab\"")
        };
        for value in ["W/\"5-ab\"", "\"5-ab\"", "\"x\", W/\"5-ab\"", "*"] {
            assert!(known(value), "{value}");
        }
        for value in ["\"5-a\"", "5-ab", "", "\"x\",\"y\""] {
            assert!(!known(value), "{value}");
        }
    }
}
