//! The board of a running arena: kept with its fit, so that a vote more costs a few Newton steps and not a new start.

mod pairs;

use std::sync::{Arc, PoisonError, RwLock};

use agon_domain::{Tally, Winner};
use agon_ranking::{Comparison, Leaderboard, influence::Sides};
use agon_store::Store;
use tokio::sync::Mutex as AsyncMutex;

use super::{
    Board, Effort, InputBody, RankError, Settings, SourceBody, Threads, check_models,
    methods::{self, Run},
    slices::OVERALL,
    votes::{self, FitInput, Part},
};
use crate::app::{App, AppError};
use pairs::Pairs;

/// Votes after which all counts are read again, to be held against those that are kept.
const CHECKED_EVERY_VOTES: u64 = 1_000;
/// Models from which on the work is worth more than one thread.
const THREADED_MODELS_MIN: usize = 50;

/// Votes with the fit that was made of them, under the settings of the page.
///
/// Its board is that of [`super::rank`] for the same votes: counts, places and what is checked are equal, ratings and the
/// ends of intervals differ by less than 1e-6 points, as the last digits depend on where a fit starts.
///
/// # Examples
///
/// ```
/// use agon::app::leaderboard::{RunningBoard, Threads};
/// use agon_domain::{Tally, Winner};
///
/// let mut votes = Tally::new();
/// let (a, b) = (votes.model("a"), votes.model("b"));
/// votes.add(a, b, Winner::A, 60);
/// votes.add(a, b, Winner::B, 40);
/// let mut running = RunningBoard::of(votes)?;
/// running.board(Threads::MIN)?;
///
/// let mut one_more = Tally::new();
/// let (a, b) = (one_more.model("a"), one_more.model("b"));
/// one_more.add(a, b, Winner::Tie, 1);
/// running.add(&one_more)?;
/// assert_eq!(running.board(Threads::MIN)?.input.kept, 101);
/// # Ok::<(), agon::app::leaderboard::RankError>(())
/// ```
#[derive(Debug, Default)]
pub struct RunningBoard {
    settings: Settings,
    /// Ascending.
    names: Vec<String>,
    pairs: Pairs,
    /// What the fit counts of them, by side.
    sides: Sides,
    /// What the fit is made of; `None` before the first vote.
    input: Option<FitInput>,
    /// Where the next fit starts.
    leaderboard: Option<Leaderboard>,
    /// The board of these votes, once somebody has asked.
    board: Option<Arc<Board>>,
}

impl RunningBoard {
    /// A board of these votes. Nothing is fitted yet.
    ///
    /// # Errors
    ///
    /// [`RankError`], for votes that no board can be made of.
    pub fn of(votes: Tally) -> Result<Self, RankError> {
        let (names, pairs) = votes.into_sorted();
        check_models(names.len())?;
        let mut running = Self {
            names,
            pairs: Pairs::of(pairs),
            ..Self::default()
        };
        running.count()?;
        Ok(running)
    }

    /// All votes.
    pub fn n_votes(&self) -> u64 {
        self.pairs.n_votes()
    }

    /// Makes of the counts what a fit takes.
    fn count(&mut self) -> Result<(), RankError> {
        let part = Part::counted(&self.names, self.pairs.shared());
        self.sides = Sides::of(part.cells(&self.settings));
        self.input = if self.pairs.all().is_empty() {
            None
        } else {
            Some(part.fit_input(&self.settings, false, &[], Threads::MIN)?)
        };
        Ok(())
    }

    /// Adds votes. A model without votes so far makes the next fit start anew.
    ///
    /// # Errors
    ///
    /// As [`RunningBoard::of`].
    pub fn add(&mut self, new: &Tally) -> Result<(), RankError> {
        let positions: Option<Vec<u32>> = new
            .models()
            .iter()
            .map(|name| self.names.binary_search(name).ok()?.try_into().ok())
            .collect();
        let (Some(positions), Some(_)) = (positions, &self.input) else {
            let mut all = self.tally();
            all.merge(new);
            *self = Self::of(all)?;
            return Ok(());
        };
        self.board = None;
        for ((a, b), counts) in new.pairs() {
            let (a, b) = (positions[a as usize], positions[b as usize]);
            for winner in Winner::ALL {
                let n = counts.get(winner);
                if n > 0 {
                    self.add_votes(a, b, winner, n)?;
                }
            }
        }
        Ok(())
    }

    fn add_votes(&mut self, a: u32, b: u32, winner: Winner, n: u64) -> Result<(), RankError> {
        self.pairs.add(((a, b), winner, n));
        let (Some(outcome), Some(input)) =
            (votes::outcome(winner, &self.settings), &mut self.input)
        else {
            return Ok(());
        };
        let new = Comparison::new(a, b, outcome).with_count(n);
        let added = input.comparisons.add(new);
        added.map_err(|error| RankError::of(error, &self.names))?;
        self.sides.add(&new);
        Ok(())
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally::new();
        for name in &self.names {
            tally.model(name);
        }
        for &((a, b), counts) in self.pairs.all() {
            for winner in Winner::ALL {
                tally.add(a, b, winner, counts.get(winner));
            }
        }
        tally
    }

    /// What `all` has more than this; `None` when it has less of something.
    fn missing(&self, all: &Tally) -> Option<Tally> {
        let mut missing = Tally::new();
        let mut n_known = 0;
        for ((a, b), counts) in all.pairs() {
            let (name_a, name_b) = (&all.models()[a as usize], &all.models()[b as usize]);
            let position = |name: &String| -> Option<u32> {
                self.names.binary_search(name).ok()?.try_into().ok()
            };
            let known = position(name_a)
                .zip(position(name_b))
                .and_then(|pair| self.pairs.get(pair))
                .unwrap_or_default();
            n_known += known.total();
            for winner in Winner::ALL {
                let n = counts.get(winner).checked_sub(known.get(winner))?;
                if n > 0 {
                    let (a, b) = (missing.model(name_a), missing.model(name_b));
                    missing.add(a, b, winner, n);
                }
            }
        }
        (n_known == self.n_votes()).then_some(missing)
    }

    /// The board of all votes, made when there are new ones.
    ///
    /// # Errors
    ///
    /// [`RankError`]. Without votes there is a board without leaderboards, which is no failure.
    pub fn board(&mut self, n_threads: Threads) -> Result<Arc<Board>, RankError> {
        if let Some(board) = &self.board {
            return Ok(Arc::clone(board));
        }
        let leaderboards = match &self.input {
            None => Vec::new(),
            Some(input) => {
                let run = Run {
                    settings: &self.settings,
                    prior: None,
                    n_threads: if self.names.len() < THREADED_MODELS_MIN {
                        Threads::MIN
                    } else {
                        n_threads
                    },
                    checks: Some(Effort::Quick),
                    // For the plots of the pages.
                    keep_pairs: true,
                };
                let part = Part::counted(&self.names, self.pairs.shared());
                let from = |previous| {
                    methods::boards_again(&part, &self.sides, input, previous, OVERALL, &run)
                };
                let previous = self.leaderboard.take();
                let (leaderboards, leaderboard) = match from(previous.as_ref()) {
                    // A start that leads nowhere says nothing against the votes.
                    Err(_) if previous.is_some() => from(None)?,
                    result => result?,
                };
                self.leaderboard = Some(leaderboard);
                leaderboards
            }
        };
        let n_votes = self.n_votes();
        let board = Arc::new(Board {
            leaderboards,
            input: InputBody {
                rows: n_votes,
                kept: n_votes,
                sources: vec![SourceBody {
                    path: "this arena".to_owned(),
                    format: "store".to_owned(),
                    rows: n_votes,
                    kept: n_votes,
                    sha256: None,
                    etag: None,
                    member: None,
                }],
                ..InputBody::default()
            },
            settings: self.settings.clone(),
            slices: Vec::new(),
            history: Vec::new(),
            notes: Vec::new(),
        });
        self.board = Some(Arc::clone(&board));
        Ok(board)
    }
}

/// The board that an arena keeps from one request to the next.
#[derive(Clone, Debug, Default)]
pub struct KeptBoard {
    /// The newest board, with the sequence of its last vote: read without waiting for one that is being made.
    newest: Arc<RwLock<Option<Numbered>>>,
    running: Arc<AsyncMutex<Kept>>,
}

/// A board with the sequence of the last vote that is counted in it.
type Numbered = (u64, Arc<Board>);

#[derive(Debug, Default)]
struct Kept {
    running: RunningBoard,
    /// The newest vote that is counted in.
    sequence: u64,
    /// The newest vote when all counts were last read.
    checked_at: u64,
}

/// What the store says.
enum News {
    /// Votes after those that are counted in.
    Votes(Tally),
    /// All votes.
    All(Tally),
}

impl KeptBoard {
    fn at(&self, sequence: u64) -> Option<Arc<Board>> {
        let newest = self.newest.read().unwrap_or_else(PoisonError::into_inner);
        let (of, board) = newest.as_ref()?;
        (*of == sequence).then(|| Arc::clone(board))
    }

    fn publish(&self, sequence: u64, board: &Arc<Board>) {
        let mut newest = self.newest.write().unwrap_or_else(PoisonError::into_inner);
        *newest = Some((sequence, Arc::clone(board)));
    }
}

impl Kept {
    /// Reads what is new. Another process may have written votes too: the store's numbers are the truth.
    async fn read(&self, store: &Store, newest: u64) -> Result<(News, u64), agon_store::Error> {
        let n_unchecked = newest.checked_sub(self.checked_at);
        if self.sequence > 0
            && newest >= self.sequence
            && n_unchecked.is_some_and(|n| n < CHECKED_EVERY_VOTES)
        {
            let (months, sequence) = store.tally_by_month(self.sequence).await?;
            let mut new = Tally::new();
            for month in &months {
                new.merge(&month.tally);
            }
            // Sequences have no holes, so there cannot be more votes than numbers.
            if sequence
                .checked_sub(self.sequence)
                .is_some_and(|n| new.total() <= n)
            {
                return Ok((News::Votes(new), sequence));
            }
        }
        let (all, sequence) = store.tally().await?;
        Ok((News::All(all), sequence))
    }

    fn take(&mut self, news: News, sequence: u64) -> Result<(), RankError> {
        let n_before = self.sequence;
        // Whatever fails from here on, the next request reads everything again.
        self.sequence = 0;
        match news {
            News::Votes(new) => self.running.add(&new)?,
            News::All(all) => {
                let missing = self.running.missing(&all).filter(|missing| {
                    let n_new = sequence.checked_sub(n_before);
                    n_before > 0 && n_new.is_some_and(|n| missing.total() <= n)
                });
                match missing {
                    Some(missing) => self.running.add(&missing)?,
                    None => {
                        if n_before > 0 {
                            tracing::warn!(
                                "the votes that were counted are not those of the store; the leaderboard starts anew"
                            );
                        }
                        self.running = RunningBoard::of(all)?;
                    }
                }
                self.checked_at = sequence;
            }
        }
        self.sequence = sequence;
        Ok(())
    }
}

impl App {
    /// The leaderboard of all votes that were acknowledged before the call, those of other processes included.
    ///
    /// Computed when there are new votes, once for all who ask at the same time, from the fit before them and beside
    /// the threads that answer requests.
    ///
    /// # Errors
    ///
    /// [`AppError::Store`]; [`AppError::Internal`] when the numbers refuse.
    pub async fn leaderboard(&self) -> Result<Arc<Board>, AppError> {
        const WHAT: &str = "ranking the votes";
        let kept = &self.inner.board;
        let last_sequence = async || self.store().last_sequence().await.map_err(AppError::Store);
        if let Some(board) = kept.at(last_sequence().await?) {
            return Ok(board);
        }
        let mut running = Arc::clone(&kept.running).lock_owned().await;
        // Whoever had to wait finds the work done, unless there are votes again.
        let newest = last_sequence().await?;
        if let Some(board) = kept.at(newest) {
            return Ok(board);
        }
        let (news, sequence) = running
            .read(self.store(), newest)
            .await
            .map_err(AppError::Store)?;
        let kept = kept.clone();
        let n_threads = std::thread::available_parallelism().unwrap_or(Threads::MIN);
        // Goes on when the one who asked is gone, so that the work is not lost.
        let computed = tokio::task::spawn_blocking(move || {
            running.take(news, sequence)?;
            let board = running.running.board(n_threads)?;
            kept.publish(sequence, &board);
            Ok::<_, RankError>(board)
        });
        let result = computed.await.map_err(|source| AppError::Internal {
            what: WHAT,
            source: source.into(),
        })?;
        result.map_err(|source| AppError::Internal {
            what: WHAT,
            source: source.into(),
        })
    }
}

#[cfg(test)]
mod tests;
