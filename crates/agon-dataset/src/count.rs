//! Raw cells to counted votes: model names and winners become small integers once, rows only add.
//!
//! Each distinct spelling is trimmed, normalised and looked up once; a row costs one addition in a flat table.

use std::collections::HashMap;

use agon_domain::{Tally, Winner};
use foldhash::fast::RandomState;
use unicode_normalization::UnicodeNormalization as _;

use crate::{
    Aliases, Error,
    fate::{Place, Reason, RejectedRow, Rejections, cut},
    layout::verdict,
    repeated::Hashes,
};

/// Models in one source.
pub(crate) const MODELS_MAX: usize = 100_000;

/// Bytes of a model's name.
const MODEL_NAME_BYTES_MAX: usize = 1_000;

/// Spellings that are remembered; a file with more is read more slowly, not refused.
const SPELLINGS_MAX: usize = 4 * MODELS_MAX;

/// Distinct faulty values that are remembered for one part of a source.
const FAULTS_MAX: usize = 1_000;

/// Up to so many models, counts are kept in a flat table of 8 MiB at most.
const DENSE_MODELS_MAX: usize = 512;

/// What a cell means: the position of a model, a winner, or what is wrong with the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(u32);

impl Code {
    const FIRST_FAULT: u32 = 1 << 31;

    /// A null, absent or blank cell.
    pub(crate) const MISSING: Self = Self(Self::FIRST_FAULT);

    /// Marks a model that had another name in the source.
    const RENAMED: u32 = 1 << 29;

    /// The position of a model, or what a winner is as a number, of a row that is kept.
    #[inline]
    pub(crate) const fn position(self) -> u32 {
        self.0 & !(Self::RENAMED | Self::STRONG)
    }

    const fn is_renamed(self) -> bool {
        self.0 & Self::RENAMED != 0 && !self.is_fault()
    }

    /// Marks a winner as one of a strong verdict.
    const STRONG: u32 = 1 << 30;

    /// A winner.
    pub(crate) const fn of(winner: Winner) -> Self {
        Self(winner as u32)
    }

    const fn is_strong(self) -> bool {
        self.0 & Self::STRONG != 0 && !self.is_fault()
    }

    const fn is_fault(self) -> bool {
        self.0 >= Self::FIRST_FAULT
    }
}

/// What is wrong with a cell.
#[derive(Debug)]
struct Fault {
    reason: Reason,
    value: Option<String>,
}

/// Which of the three needed cells of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// The model on side A.
    ModelA,
    /// The model on side B.
    ModelB,
    /// The winner.
    Winner,
}

/// Where a row is inside its source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowPlace {
    /// From 1.
    pub(crate) row: u64,
    /// From 1, in text formats.
    pub(crate) line: Option<u64>,
}

#[derive(Debug)]
enum Counts {
    /// `table[(a * stride + b) * 4 + winner]`.
    Dense { stride: usize, table: Vec<u64> },
    /// For more models than fit.
    Sparse(HashMap<(u32, u32), [u64; 4], RandomState>),
}

/// What is to be told of kept rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Noted {
    /// Rows with a strong verdict.
    pub(crate) n_strong: u64,
    /// Rows with a model that had another name.
    pub(crate) n_renamed: u64,
}

/// Counts the votes of one source, or of one part of it.
#[derive(Debug)]
pub(crate) struct Counter {
    source: String,
    /// How the source spells its three columns.
    columns: [String; 3],
    models: Vec<String>,
    positions: HashMap<String, u32, RandomState>,
    model_spellings: HashMap<Box<[u8]>, Code, RandomState>,
    winner_spellings: HashMap<Box<[u8]>, Code, RandomState>,
    faults: Vec<Fault>,
    counts: Counts,
    too_many_models: bool,
    rejections: Rejections,
    kept: u64,
    n_named: u64,
    noted: Noted,
    aliases: Aliases,
    /// Why a row without a winner is rejected.
    without_winner: Reason,
    /// A hash of each kept row's id.
    id_hashes: Hashes,
    /// All rejected rows since they were last taken, when somebody wants them.
    rejected_rows: Option<Vec<RejectedRow>>,
}

impl Counter {
    /// Counts nothing yet.
    pub(crate) fn new(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            columns: ["model_a", "model_b", "winner"].map(str::to_owned),
            models: Vec::new(),
            positions: HashMap::default(),
            model_spellings: HashMap::default(),
            winner_spellings: HashMap::default(),
            faults: Vec::new(),
            counts: Counts::Dense {
                stride: 0,
                table: Vec::new(),
            },
            too_many_models: false,
            rejections: Rejections::default(),
            kept: 0,
            n_named: 0,
            noted: Noted::default(),
            aliases: Aliases::default(),
            without_winner: Reason::WinnerMissing,
            id_hashes: Hashes::default(),
            rejected_rows: None,
        }
    }

    /// Keeps every rejected row until it is taken.
    pub(crate) fn keep_rejected_rows(&mut self) {
        self.rejected_rows = Some(Vec::new());
    }

    /// The rows rejected since the last call, when they are kept.
    pub(crate) fn take_rejected_rows(&mut self) -> Vec<RejectedRow> {
        self.rejected_rows
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// The models, by position.
    pub(crate) fn models(&self) -> &[String] {
        &self.models
    }

    /// Sets how the source spells the columns of the models and the winner, for messages.
    pub(crate) fn set_columns(&mut self, columns: [String; 3]) {
        self.columns = columns;
    }

    /// Sets which models are counted under other names.
    pub(crate) fn set_aliases(&mut self, aliases: Option<&Aliases>) {
        self.aliases = aliases.cloned().unwrap_or_default();
    }

    /// Sets why a row without a winner is rejected.
    pub(crate) fn set_without_winner(&mut self, reason: Reason) {
        self.without_winner = reason;
    }

    /// The name of a model, unless the code says that the cell is faulty.
    pub(crate) fn name_of(&self, model: Code) -> Option<&str> {
        self.models
            .get(model.position() as usize)
            .map(String::as_str)
    }

    /// Rows rejected for a fault since the rejections were last taken.
    pub(crate) fn n_faults(&self) -> u64 {
        self.rejections.n_faults()
    }

    /// The meaning of the text of a model's cell.
    pub(crate) fn model(&mut self, raw: &[u8]) -> Code {
        if let Some(&code) = self.model_spellings.get(raw) {
            return code;
        }
        let code = self.new_model_spelling(raw);
        if self.model_spellings.len() < SPELLINGS_MAX {
            self.model_spellings.insert(raw.into(), code);
        }
        code
    }

    fn new_model_spelling(&mut self, raw: &[u8]) -> Code {
        let Ok(text) = std::str::from_utf8(raw) else {
            return self.fault(
                Reason::RowMalformed,
                &format!("not UTF-8: {}", cut(&String::from_utf8_lossy(raw))),
            );
        };
        let text = text.trim();
        if text.is_empty() {
            return Code::MISSING;
        }
        if text.len() > MODEL_NAME_BYTES_MAX {
            return self.fault(
                Reason::RowMalformed,
                &format!(
                    "a name of {} bytes, more than {MODEL_NAME_BYTES_MAX}",
                    text.len()
                ),
            );
        }
        let composed: String;
        let name = if text.is_ascii() {
            text
        } else {
            composed = text.nfc().collect();
            &composed
        };
        let new = self.aliases.get(name).map(str::to_owned);
        let renamed = if new.is_some() { Code::RENAMED } else { 0 };
        let name = new.as_deref().unwrap_or(name);
        if let Some(&position) = self.positions.get(name) {
            return Code(position | renamed);
        }
        if self.models.len() >= MODELS_MAX {
            self.too_many_models = true;
            return self.fault(Reason::RowMalformed, "too many models");
        }
        let position = u32::try_from(self.models.len()).unwrap_or(u32::MAX);
        self.models.push(name.to_owned());
        self.positions.insert(name.to_owned(), position);
        self.make_room();
        Code(position | renamed)
    }

    /// The meaning of the text of a winner's cell.
    pub(crate) fn winner(&mut self, raw: &[u8]) -> Code {
        if let Some(&code) = self.winner_spellings.get(raw) {
            return code;
        }
        let code = match std::str::from_utf8(raw) {
            Err(_) => self.fault(
                Reason::RowMalformed,
                &format!("not UTF-8: {}", cut(&String::from_utf8_lossy(raw))),
            ),
            Ok(text) if text.trim().is_empty() => Code::MISSING,
            Ok(text) => match Winner::parse(text) {
                Ok(winner) => Code(winner as u32),
                Err(error) => match verdict::parse(text) {
                    Some(verdict) if verdict.is_strong => {
                        Code(verdict.winner as u32 | Code::STRONG)
                    }
                    Some(verdict) => Code::of(verdict.winner),
                    None => self.fault(Reason::WinnerUnknown, error.value.trim()),
                },
            },
        };
        if self.winner_spellings.len() < FAULTS_MAX {
            self.winner_spellings.insert(raw.into(), code);
        }
        code
    }

    /// The meaning of a cell that does not hold text.
    pub(crate) fn malformed(&mut self, detail: &str) -> Code {
        self.fault(Reason::RowMalformed, detail)
    }

    /// A cell with this fault.
    pub(crate) fn fault(&mut self, reason: Reason, value: &str) -> Code {
        let value = cut(value);
        // Equal faults share their place, so that a column of one wrong type does not use up the room.
        let known = self
            .faults
            .iter()
            .rev()
            .take(8)
            .position(|fault| fault.reason == reason && fault.value.as_ref() == Some(&value))
            .map(|back| self.faults.len() - 1 - back);
        let idx = known.unwrap_or_else(|| {
            if self.faults.len() < FAULTS_MAX {
                self.faults.push(Fault {
                    reason,
                    value: Some(value),
                });
                return self.faults.len() - 1;
            }
            // Beyond the limit the reason is still right, only the value is not kept.
            let rest = self.faults[FAULTS_MAX..]
                .iter()
                .position(|fault| fault.reason == reason);
            rest.map_or_else(
                || {
                    self.faults.push(Fault {
                        reason,
                        value: None,
                    });
                    self.faults.len() - 1
                },
                |idx| FAULTS_MAX + idx,
            )
        });
        Code(Code::FIRST_FAULT + 1 + u32::try_from(idx).unwrap_or(0))
    }

    fn make_room(&mut self) {
        let n_models = self.models.len();
        let Counts::Dense { stride, table } = &mut self.counts else {
            return;
        };
        if n_models <= *stride {
            return;
        }
        if n_models > DENSE_MODELS_MAX {
            let mut sparse: HashMap<(u32, u32), [u64; 4], RandomState> = HashMap::default();
            for (idx, counts) in table.chunks_exact(4).enumerate() {
                if counts.iter().any(|&n| n > 0) {
                    let pair = (narrow(idx / *stride), narrow(idx % *stride));
                    sparse.insert(pair, [counts[0], counts[1], counts[2], counts[3]]);
                }
            }
            self.counts = Counts::Sparse(sparse);
            return;
        }
        let new_stride = (*stride * 2).max(16);
        let mut new_table = vec![0; new_stride * new_stride * 4];
        if *stride > 0 {
            for (row, old) in table.chunks_exact(*stride * 4).enumerate() {
                let start = row * new_stride * 4;
                new_table[start..start + old.len()].copy_from_slice(old);
            }
        }
        *stride = new_stride;
        *table = new_table;
    }

    /// Counts one row.
    #[inline]
    pub(crate) fn row(&mut self, a: Code, b: Code, winner: Code, place: impl FnOnce() -> RowPlace) {
        if (a.0 | b.0 | winner.0) < Code::RENAMED && a != b {
            self.keep(a, b, winner, 1);
        } else if Self::would_keep(a, b, winner) {
            self.note(a, b, winner, 1);
            let plain = |code: Code| Code(code.position());
            self.keep(plain(a), plain(b), plain(winner), 1);
        } else {
            self.reject_row(a, b, winner, place());
        }
    }

    /// Counts `n` equal rows.
    pub(crate) fn rows(&mut self, a: Code, b: Code, winner: Winner, n: u64) {
        self.note(a, b, Code::of(winner), n);
        let plain = |code: Code| Code(code.position());
        self.keep(plain(a), plain(b), Code::of(winner), n);
    }

    #[inline]
    fn keep(&mut self, a: Code, b: Code, winner: Code, n: u64) {
        self.kept += n;
        match &mut self.counts {
            Counts::Dense { stride, table } => {
                let pair = a.0 as usize * *stride + b.0 as usize;
                table[pair * 4 + winner.0 as usize] += n;
            }
            Counts::Sparse(sparse) => {
                sparse.entry((a.0, b.0)).or_default()[winner.0 as usize] += n;
            }
        }
    }

    /// Notes what is to be told of `n` kept rows, for those that are not counted by [`Counter::row`].
    #[inline]
    pub(crate) fn note(&mut self, a: Code, b: Code, winner: Code, n: u64) {
        self.noted.n_strong += if winner.is_strong() { n } else { 0 };
        self.noted.n_renamed += if a.is_renamed() || b.is_renamed() {
            n
        } else {
            0
        };
    }

    /// Rejects a row that would not be kept.
    #[inline]
    pub(crate) fn reject(&mut self, a: Code, b: Code, winner: Code, place: RowPlace) {
        self.reject_row(a, b, winner, place);
    }

    /// Whether such a row would be kept.
    #[inline]
    pub(crate) fn would_keep(a: Code, b: Code, winner: Code) -> bool {
        (a.0 | b.0 | winner.0) < Code::FIRST_FAULT && a.position() != b.position()
    }

    /// Notes that the last kept row was of a battle with known names.
    #[inline]
    pub(crate) fn add_named(&mut self, n: u64) {
        self.n_named += n;
    }

    /// What is to be told of the kept rows since the last call.
    pub(crate) fn take_noted(&mut self) -> Noted {
        std::mem::take(&mut self.noted)
    }

    /// Adds what another counter noted.
    pub(crate) fn add_noted(&mut self, noted: Noted) {
        self.noted.n_strong += noted.n_strong;
        self.noted.n_renamed += noted.n_renamed;
    }

    /// Notes the id of the last kept row.
    #[inline]
    pub(crate) fn add_id(&mut self, hash: u64) {
        self.id_hashes.push(hash);
    }

    #[cold]
    fn reject_row(&mut self, a: Code, b: Code, winner: Code, place: RowPlace) {
        let cells = [(Cell::ModelA, a), (Cell::ModelB, b), (Cell::Winner, winner)];
        let fault_of = |code: Code| {
            code.0
                .checked_sub(Code::FIRST_FAULT + 1)
                .and_then(|idx| self.faults.get(idx as usize))
        };
        let mut found: Option<(Reason, Option<Cell>, Option<String>)> = None;
        for (cell, code) in cells {
            if !code.is_fault() {
                continue;
            }
            let (reason, value) = match (fault_of(code), cell) {
                (Some(fault), _) => (fault.reason, fault.value.clone()),
                (None, Cell::Winner) => (self.without_winner, None),
                (None, Cell::ModelA | Cell::ModelB) => (Reason::ModelMissing, None),
            };
            if found.as_ref().is_none_or(|(first, ..)| reason < *first) {
                found = Some((reason, Some(cell), value));
            }
        }
        let (reason, cell, value) = found.unwrap_or_else(|| {
            let name = self.name_of(a).map(cut);
            (Reason::SelfBattle, None, name)
        });
        let source = &self.source;
        let columns = &self.columns;
        let place = || Place {
            source: source.clone(),
            row: place.row,
            line: place.line,
            column: cell.map(|cell| columns[cell as usize].clone()),
            value: value.clone(),
        };
        if let Some(rows) = &mut self.rejected_rows {
            rows.push(RejectedRow {
                reason,
                place: place(),
            });
        }
        self.rejections.add(reason, value.as_deref(), place);
    }

    /// Rejects a conversation without a vote for what its model's cell says.
    #[cold]
    pub(crate) fn reject_model(&mut self, model: Code, place: RowPlace) {
        self.reject_row(model, Code(0), Code(0), place);
    }

    /// Rejects a row that could not be taken apart.
    #[cold]
    pub(crate) fn reject_unreadable(&mut self, place: RowPlace, detail: &str) {
        self.reject_whole(place, Reason::RowMalformed, detail);
    }

    /// Rejects a row as a whole.
    #[cold]
    pub(crate) fn reject_whole(&mut self, place: RowPlace, reason: Reason, detail: &str) {
        let source = &self.source;
        let place = || Place {
            source: source.clone(),
            row: place.row,
            line: place.line,
            column: None,
            value: Some(cut(detail)),
        };
        if let Some(rows) = &mut self.rejected_rows {
            rows.push(RejectedRow {
                reason,
                place: place(),
            });
        }
        let value = (reason != Reason::RowMalformed).then_some(detail);
        self.rejections.add(reason, value, place);
    }

    /// What was rejected since the last call, and forgets faulty spellings, so that what is remembered of one part of a source does not depend on another.
    pub(crate) fn take_rejections(&mut self) -> Rejections {
        if !self.faults.is_empty() {
            self.faults.clear();
            self.model_spellings.retain(|_, code| !code.is_fault());
            self.winner_spellings.retain(|_, code| !code.is_fault());
        }
        std::mem::take(&mut self.rejections)
    }

    /// The first rejected row as an error.
    pub(crate) fn first_rejection(&self) -> Option<Error> {
        self.rejections
            .first()
            .map(|(reason, place)| Error::RowRejected {
                place: place.clone(),
                reason: reason.as_static(),
            })
    }

    /// Whether the limits were kept.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.too_many_models {
            return Err(Error::TooManyModels {
                path: self.source.clone(),
                n_max: MODELS_MAX,
            });
        }
        Ok(())
    }

    fn each_pair(&self, mut f: impl FnMut(u32, u32, [u64; 4])) {
        match &self.counts {
            Counts::Dense { stride, table } => {
                for (idx, counts) in table.chunks_exact(4).enumerate() {
                    if counts.iter().any(|&n| n > 0) {
                        let counts = [counts[0], counts[1], counts[2], counts[3]];
                        f(narrow(idx / stride), narrow(idx % stride), counts);
                    }
                }
            }
            Counts::Sparse(sparse) => {
                for (&(a, b), &counts) in sparse {
                    f(a, b, counts);
                }
            }
        }
    }
}

/// Adds the counters of all parts of one source to a tally, new models in the order of their names, so that the way a source was cut into parts does not show.
pub(crate) fn add_to_tally(parts: &[Counter], tally: &mut Tally) {
    let mut names: Vec<&str> = Vec::new();
    for part in parts {
        let mut is_rated = vec![false; part.models.len()];
        part.each_pair(|a, b, _| {
            is_rated[a as usize] = true;
            is_rated[b as usize] = true;
        });
        let rated = part.models.iter().zip(is_rated);
        names.extend(rated.filter_map(|(name, is_rated)| is_rated.then_some(name.as_str())));
    }
    names.sort_unstable();
    names.dedup();
    for name in names {
        tally.model(name);
    }
    for part in parts {
        let mut positions: Vec<Option<u32>> = vec![None; part.models.len()];
        part.each_pair(|a, b, counts| {
            let mut position = |idx: u32| {
                *positions[idx as usize]
                    .get_or_insert_with(|| tally.model(&part.models[idx as usize]))
            };
            let (a, b) = (position(a), position(b));
            for winner in Winner::ALL {
                let n = counts[winner as usize];
                if n > 0 {
                    tally.add(a, b, winner, n);
                }
            }
        });
    }
}

/// What one source adds to the sums of a report.
#[derive(Debug, Default)]
pub(crate) struct SourceSums {
    pub(crate) kept: u64,
    pub(crate) n_named: u64,
    pub(crate) noted: Noted,
    /// Those of each part of the source.
    pub(crate) id_hashes: Vec<Hashes>,
}

/// The sums of all parts of a source.
pub(crate) fn sums(parts: &mut [Counter]) -> SourceSums {
    let mut sums = SourceSums::default();
    for part in parts {
        sums.kept += part.kept;
        sums.n_named += part.n_named;
        sums.noted.n_strong += part.noted.n_strong;
        sums.noted.n_renamed += part.noted.n_renamed;
        sums.id_hashes.push(std::mem::take(&mut part.id_hashes));
    }
    sums
}

/// Groups of names that are nearly the same, sorted: those of which the same letters and digits are left, whatever their case, form and width.
///
/// Names are brought to Unicode's normal form KC and folded by writing them large, then small, which makes `ß` and `SS` one, and `ς` and `σ`.
/// A name without a letter or a digit is like no other.
pub(crate) fn near_duplicates(names: &[String]) -> Vec<Vec<String>> {
    let mut by_letters: HashMap<String, Vec<String>> = HashMap::new();
    for name in names {
        let letters: String = name
            .nfkc()
            .flat_map(char::to_uppercase)
            .flat_map(char::to_lowercase)
            .filter(|character| character.is_alphanumeric())
            .collect();
        if !letters.is_empty() {
            by_letters.entry(letters).or_default().push(name.clone());
        }
    }
    let mut groups: Vec<Vec<String>> = by_letters
        .into_values()
        .filter(|group| group.len() > 1)
        .collect();
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort_unstable();
    groups
}

/// Positions are below [`MODELS_MAX`], so nothing is cut.
fn narrow(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_same_letters_and_digits_are_near_duplicates() {
        let names = [
            "gpt-4o",
            "GPT 4o",
            "gpt-4",
            "gpt4",
            "Tülu",
            "tülu",
            "tulu",
            "+",
            "-",
            "",
            "ＧＰＴ４",
            "straße",
            "STRASSE",
            "gpt-4ο",
            "ΟΔΟΣ",
            "οδος",
        ];
        let names = names.map(str::to_owned);
        // The omicron of `gpt-4ο` is another letter than `o`.
        assert_eq!(
            near_duplicates(&names),
            [
                vec!["GPT 4o", "gpt-4o"],
                vec!["STRASSE", "straße"],
                vec!["Tülu", "tülu"],
                vec!["gpt-4", "gpt4", "ＧＰＴ４"],
                vec!["ΟΔΟΣ", "οδος"],
            ]
        );
    }
}
