//! How ratings went from month to month, from the arena's own votes.
//!
//! Each month has the board of all votes up to its end. It is computed when somebody asks, and kept until a vote of that
//! month, or of an earlier one, comes in.

use std::{collections::BTreeMap, sync::Arc};

use agon_domain::Tally;
use agon_store::MonthTally;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    App, AppError,
    leaderboard::{
        Board, HistoryBody, InputBody, LeaderboardBody, RankOptions, Settings, SliceBody,
        SliceSettings, Votes, history, rank,
    },
};

/// The unit of time, as the settings of a ranking name it.
const UNIT: &str = "month";

/// Ratings over time, made of the arena's own votes.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RatingHistory {
    /// All votes.
    pub votes: u64,
    /// Each month in which somebody voted, the earliest first: its board is made of all votes up to its end.
    pub months: Vec<SliceBody>,
    /// The ratings of each model on the boards of the months.
    pub history: HistoryBody,
    /// How the boards were made.
    pub settings: Settings,
}

/// What is kept from one request to the next.
#[derive(Debug, Default)]
pub(super) struct KeptHistory {
    /// The newest vote that is counted in.
    sequence: u64,
    months: BTreeMap<String, Month>,
    document: Option<Arc<RatingHistory>>,
}

#[derive(Debug, Default)]
struct Month {
    tally: Tally,
    /// The boards of all votes up to the end of the month, or why there are none; `None` when they have to be made.
    boards: Option<Result<Vec<LeaderboardBody>, String>>,
}

impl KeptHistory {
    /// Counts votes in. Boards of their months and of all later ones are forgotten.
    fn add(&mut self, new: Vec<MonthTally>, sequence: u64) {
        self.sequence = sequence;
        let Some(first) = new.iter().map(|month| month.month.clone()).min() else {
            return;
        };
        for MonthTally { month, tally } in new {
            self.months.entry(month).or_default().tally.merge(&tally);
        }
        for month in self.months.range_mut(first..) {
            month.1.boards = None;
        }
        self.document = None;
    }

    fn document(&mut self) -> Arc<RatingHistory> {
        if let Some(document) = &self.document {
            return Arc::clone(document);
        }
        let settings = Settings {
            slices: SliceSettings {
                by: vec![UNIT.to_owned()],
                cumulative: true,
                ..SliceSettings::default()
            },
            ..Settings::default()
        };
        let mut so_far = Tally::new();
        let mut board = Board {
            leaderboards: Vec::new(),
            input: InputBody::default(),
            settings,
            slices: Vec::new(),
            history: Vec::new(),
            notes: Vec::new(),
        };
        for (name, month) in &mut self.months {
            so_far.merge(&month.tally);
            let category = format!("{UNIT}={name}");
            let boards = month
                .boards
                .get_or_insert_with(|| boards(&so_far, &category));
            board.slices.push(SliceBody {
                category,
                column: Some(UNIT.to_owned()),
                value: Some(name.clone()),
                battles: so_far.total(),
                status: if boards.is_ok() {
                    "ranked"
                } else {
                    "not_ranked"
                }
                .to_owned(),
                reason: boards.as_ref().err().cloned(),
            });
            board.leaderboards.extend(boards.iter().flatten().cloned());
        }
        let document = Arc::new(RatingHistory {
            votes: so_far.total(),
            history: history::of(&board).pop().unwrap_or(HistoryBody {
                unit: UNIT.to_owned(),
                cumulative: true,
                style_control: false,
                periods: Vec::new(),
                models: Vec::new(),
            }),
            months: board.slices,
            settings: board.settings,
        });
        self.document = Some(Arc::clone(&document));
        document
    }
}

/// The boards of these votes, under this name; why there are none.
fn boards(tally: &Tally, category: &str) -> Result<Vec<LeaderboardBody>, String> {
    // Nobody looks at the checks of a month that is over.
    let options = RankOptions {
        checks: None,
        ..RankOptions::default()
    };
    let board = rank(
        Votes::Counted(tally.clone()),
        &Settings::default(),
        InputBody::default(),
        &options,
    )
    .map_err(|error| error.to_string())?;
    let mut boards = board.leaderboards;
    if !boards
        .iter()
        .flat_map(|board| &board.models)
        .any(|row| row.rank.is_some())
    {
        return Err("nobody can be rated".to_owned());
    }
    for board in &mut boards {
        category.clone_into(&mut board.category);
    }
    Ok(boards)
}

impl App {
    /// Ratings by month, the newest vote included. Only months with new votes, and those after them, are computed again.
    ///
    /// # Errors
    ///
    /// [`AppError::Store`]; [`AppError::Internal`] when the computation breaks off.
    pub async fn rating_history(&self) -> Result<Arc<RatingHistory>, AppError> {
        // Held to the end, so that requests at the same time do not compute the same.
        let mut kept = Arc::clone(&self.inner.rating_history).lock_owned().await;
        let (new, sequence) = self
            .store()
            .tally_by_month(kept.sequence)
            .await
            .map_err(AppError::Store)?;
        let computed = tokio::task::spawn_blocking(move || {
            kept.add(new, sequence);
            kept.document()
        });
        computed.await.map_err(|source| AppError::Internal {
            what: "ranking the votes by month",
            source: source.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use agon_domain::Winner;

    use super::*;

    fn votes(month: &str, wins: u64, losses: u64) -> MonthTally {
        let mut tally = Tally::new();
        let (a, b) = (tally.model("a"), tally.model("b"));
        tally.add(a, b, Winner::A, wins);
        tally.add(a, b, Winner::B, losses);
        MonthTally {
            month: month.to_owned(),
            tally,
        }
    }

    fn ratings(document: &RatingHistory, model: usize) -> Vec<Option<f64>> {
        let points = document.history.models[model].points.iter();
        points
            .map(|point| point.as_ref().map(|point| point.rating))
            .collect()
    }

    #[test]
    fn each_month_holds_the_ones_before_it() {
        let mut kept = KeptHistory::default();
        assert_eq!(kept.document().months, []);
        kept.add(
            vec![
                votes("2026-01", 5, 0),
                votes("2026-02", 5, 5),
                votes("2026-04", 20, 5),
            ],
            40,
        );
        let document = kept.document();
        assert_eq!(document.votes, 40);
        assert_eq!(
            document.history.periods,
            ["2026-01", "2026-02", "2026-04"],
            "months without votes have no board"
        );
        // Five wins and no loss have no finite rating; then 10 to 5 and 30 to 10.
        assert_eq!(document.months[0].status, "not_ranked");
        let ahead = |wins: f64, losses: f64| 1000.0 + 200.0 * (wins / losses).log10();
        for (found, expected) in ratings(&document, 0).into_iter().zip([
            None,
            Some(ahead(10.0, 5.0)),
            Some(ahead(30.0, 10.0)),
        ]) {
            match (found, expected) {
                (Some(found), Some(expected)) => {
                    assert!((found - expected).abs() < 1e-6, "{found} {expected}");
                }
                (found, expected) => assert_eq!(found, expected),
            }
        }
    }

    #[test]
    fn only_changed_months_are_computed_again_and_the_result_is_that_of_a_new_start() {
        let mut kept = KeptHistory::default();
        kept.add(vec![votes("2026-01", 3, 1), votes("2026-02", 5, 5)], 14);
        let first = kept.document();
        kept.add(Vec::new(), 14);
        assert!(Arc::ptr_eq(&first, &kept.document()), "nothing has changed");

        kept.add(vec![votes("2026-02", 1, 0)], 15);
        assert!(kept.months["2026-01"].boards.is_some());
        assert!(kept.months["2026-02"].boards.is_none());
        let second = kept.document();
        assert_eq!(ratings(&first, 0)[0], ratings(&second, 0)[0]);
        assert_ne!(ratings(&first, 0)[1], ratings(&second, 0)[1]);

        // A clock that was set back: a vote of a month that is over.
        kept.add(vec![votes("2026-01", 0, 1)], 16);
        assert!(kept.months.values().all(|month| month.boards.is_none()));
        let mut fresh = KeptHistory::default();
        fresh.add(vec![votes("2026-01", 3, 2), votes("2026-02", 6, 5)], 16);
        assert_eq!(kept.document(), fresh.document());
    }
}
