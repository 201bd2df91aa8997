//! Plots that visitors ask for: bounded in size, drawn a few at a time.

use std::{
    collections::VecDeque,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::Duration,
};

use agon_plot::{Fonts, Plot, Theme};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use super::{PlotError, PlotKind, draw, draw_history};
use crate::app::{
    App, AppError, RatingHistory,
    leaderboard::{Board, LeaderboardBody},
};

/// Models in a matrix of pairs at most: each cell is about 300 bytes of SVG, and a browser has to hold them all.
const MATRIX_MODELS_MAX: usize = 120;
/// Models in any other plot at most.
const MODELS_MAX: usize = 1_000;
/// Pixels of a PNG at most: four bytes of memory each while it is drawn.
const PIXELS_MAX: f64 = 25e6;
/// Pixels for each unit of a plot, where there is room; else one.
const PIXELS_A_UNIT: f32 = 2.0;
/// How long a plot waits for its turn.
const WAIT: Duration = Duration::from_secs(5);

/// Only the embedded font: reading those of the system would take longer than the drawing, and differ from server to server.
static FONTS: LazyLock<Fonts> = LazyLock::new(Fonts::embedded);

/// Files that are kept at most, so that the same plot is not drawn for everybody who wants it.
const KEPT_FILES_MAX: usize = 64;
/// Bytes of kept files at most.
const KEPT_BYTES_MAX: usize = 32_000_000;

/// A pool for drawing, each plot on a thread that may wait.
#[derive(Clone, Debug)]
pub struct PlotPool {
    permits: Arc<Semaphore>,
    /// Pixels take a hundred times as long as lines: they have a place of their own, and pages never wait for them.
    png_permits: Arc<Semaphore>,
    kept: Arc<Mutex<KeptFiles>>,
}

/// Files that were drawn, by version and format, the newest last.
#[derive(Debug, Default)]
struct KeptFiles {
    files: VecDeque<(FileKey, Arc<[u8]>)>,
    n_bytes: usize,
}

type FileKey = (String, PlotFormat);

impl KeptFiles {
    fn get(&self, key: &FileKey) -> Option<Arc<[u8]>> {
        let mut files = self.files.iter();
        files
            .find(|(known, _)| known == key)
            .map(|(_, bytes)| Arc::clone(bytes))
    }

    fn put(&mut self, key: FileKey, bytes: &Arc<[u8]>) {
        if self.get(&key).is_some() {
            return;
        }
        self.n_bytes += bytes.len();
        self.files.push_back((key, Arc::clone(bytes)));
        while self.files.len() > KEPT_FILES_MAX || self.n_bytes > KEPT_BYTES_MAX {
            let Some((_, oldest)) = self.files.pop_front() else {
                break;
            };
            self.n_bytes -= oldest.len();
        }
    }
}

/// What a plot is made of.
#[derive(Clone, Debug)]
pub struct PlotSource {
    kind: PlotKind,
    board: Arc<Board>,
    /// The position of the leaderboard.
    position: usize,
    history: Option<Arc<RatingHistory>>,
}

/// What a plot is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotFormat {
    /// An element of a page, with the style sheet of [`agon_plot`].
    Embedded,
    /// A file in these colours.
    Svg(Theme),
    /// Pixels in these colours.
    Png(Theme),
}

impl PlotPool {
    /// A pool that draws `n_at_once` plots at a time.
    pub fn new(n_at_once: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(n_at_once.max(1))),
            png_permits: Arc::new(Semaphore::new(1)),
            kept: Arc::default(),
        }
    }

    /// Draws a plot, or gives the one that was drawn of the same numbers before.
    ///
    /// # Errors
    ///
    /// [`PlotError`]; [`PlotError::Busy`] when its turn does not come in time.
    pub async fn draw(
        &self,
        source: PlotSource,
        format: PlotFormat,
    ) -> Result<Arc<[u8]>, PlotError> {
        source.check_size()?;
        let key = (source.version(), format);
        if let Some(bytes) = self.kept(&key) {
            return Ok(bytes);
        }
        let permits = match format {
            PlotFormat::Png(_) => &self.png_permits,
            PlotFormat::Embedded | PlotFormat::Svg(_) => &self.permits,
        };
        let turn = tokio::time::timeout(WAIT, Arc::clone(permits).acquire_owned());
        let Ok(Ok(permit)) = turn.await else {
            return Err(PlotError::Busy);
        };
        // Whoever had to wait may find it drawn.
        if let Some(bytes) = self.kept(&key) {
            return Ok(bytes);
        }
        let kept = Arc::clone(&self.kept);
        tokio::task::spawn_blocking(move || {
            let bytes: Arc<[u8]> = source.draw().and_then(|plot| write(&plot, format))?.into();
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.put(key, &bytes);
            drop(permit);
            Ok(bytes)
        })
        .await
        .map_err(PlotError::BrokenOff)?
    }

    fn kept(&self, key: &FileKey) -> Option<Arc<[u8]>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(key)
    }
}

fn write(plot: &Plot, format: PlotFormat) -> Result<Vec<u8>, PlotError> {
    match format {
        PlotFormat::Embedded => Ok(plot.to_embedded_svg("").into_bytes()),
        PlotFormat::Svg(theme) => Ok(plot.to_svg(theme).into_bytes()),
        PlotFormat::Png(theme) => {
            let units = plot.width() * plot.height();
            let fits = |scale: f32| units * f64::from(scale).powi(2) <= PIXELS_MAX;
            let scale = [PIXELS_A_UNIT, 1.0].into_iter().find(|&scale| fits(scale));
            let scale = scale.ok_or(PlotError::TooMuch {
                what: "pixels",
                found: units as usize,
                limit: PIXELS_MAX as usize,
            })?;
            Ok(plot.to_png(theme, scale, &FONTS)?)
        }
    }
}

impl PlotSource {
    /// Which plot it is.
    pub fn kind(&self) -> PlotKind {
        self.kind
    }

    /// The document that it is of.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// The leaderboard that it is of.
    pub fn leaderboard(&self) -> &LeaderboardBody {
        &self.board.leaderboards[self.position]
    }

    /// Ratings over time, for a plot of them.
    pub fn history(&self) -> Option<&RatingHistory> {
        self.history.as_deref()
    }

    /// A text that changes with every plot that can be drawn of this: the number of votes, and a hash of the numbers.
    pub fn version(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.kind.as_str());
        // Documents are made of strings, numbers and maps with string keys, which serialise always.
        hash.update(serde_json::to_vec(&self.board.settings).unwrap_or_default());
        hash.update(serde_json::to_vec(self.leaderboard()).unwrap_or_default());
        hash.update(serde_json::to_vec(&self.history).unwrap_or_default());
        let digits: String = hash
            .finalize()
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("{}-{digits}", self.board.input.kept)
    }

    fn check_size(&self) -> Result<(), PlotError> {
        let (found, limit) = match self.kind {
            PlotKind::WinRates | PlotKind::Predicted | PlotKind::Battles => {
                (self.leaderboard().models.len(), MATRIX_MODELS_MAX)
            }
            PlotKind::History => (
                self.history
                    .as_ref()
                    .map_or(0, |history| history.history.models.len()),
                MODELS_MAX,
            ),
            PlotKind::Intervals | PlotKind::Calibration | PlotKind::Coefficients => {
                (self.leaderboard().models.len(), MODELS_MAX)
            }
        };
        if found > limit {
            return Err(PlotError::TooMuch {
                what: "models",
                found,
                limit,
            });
        }
        Ok(())
    }

    fn draw(&self) -> Result<Plot, PlotError> {
        match &self.history {
            Some(history) => draw_history(&history.history, history.votes, &history.settings),
            None => draw(&self.board, self.leaderboard(), self.kind),
        }
    }
}

impl App {
    /// What a plot of a group of models is made of; `None` when there is no such group. Draws nothing yet.
    ///
    /// # Errors
    ///
    /// As [`App::leaderboard`] and [`App::rating_history`].
    pub async fn plot_source(
        &self,
        kind: PlotKind,
        group: usize,
    ) -> Result<Option<PlotSource>, AppError> {
        let board = self.leaderboard().await?;
        let position = board
            .leaderboards
            .iter()
            .position(|leaderboard| leaderboard.group == group);
        let Some(position) = position else {
            return Ok(None);
        };
        // Over time only the group with most battles is followed.
        if kind == PlotKind::History && position > 0 {
            return Ok(None);
        }
        let history = match kind {
            PlotKind::History => Some(self.rating_history().await?),
            _ => None,
        };
        Ok(Some(PlotSource {
            kind,
            board,
            position,
            history,
        }))
    }

    /// Draws a plot, a few at a time.
    ///
    /// # Errors
    ///
    /// [`PlotError`].
    pub async fn draw_plot(
        &self,
        source: PlotSource,
        format: PlotFormat,
    ) -> Result<Arc<[u8]>, PlotError> {
        self.inner.plots.draw(source, format).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_files_make_room() {
        let mut kept = KeptFiles::default();
        let key = |n: usize| (n.to_string(), PlotFormat::Svg(Theme::Light));
        for n in 0..100 {
            kept.put(key(n), &vec![0; 10].into());
            kept.put(key(n), &vec![0; 10].into());
        }
        assert_eq!((kept.files.len(), kept.n_bytes), (KEPT_FILES_MAX, 640));
        assert!(kept.get(&key(99)).is_some() && kept.get(&key(0)).is_none());
        let other = ("99".to_owned(), PlotFormat::Png(Theme::Light));
        assert!(kept.get(&other).is_none());
        kept.put(key(100), &vec![0; KEPT_BYTES_MAX].into());
        assert_eq!((kept.files.len(), kept.n_bytes), (1, KEPT_BYTES_MAX));
        kept.put(key(101), &vec![0; KEPT_BYTES_MAX + 1].into());
        assert_eq!((kept.files.len(), kept.n_bytes), (0, 0));
    }
}
