//! A piece of a source by column, as one thread fills it, before it is appended to the rest.

use std::collections::HashMap;

use agon_domain::Winner;
use foldhash::fast::RandomState;

use super::{
    time::{Time, Unit},
    wanted::Wanted,
};
use crate::{
    ConversationRow, Dedup, FeatureRequest, Place, RefusedNumbers, conversations::BATCH_BYTES,
    count::RowPlace, fate::RejectedRow,
};

/// Distinct texts of a slice column.
pub(crate) const LABELS_MAX: usize = 100_000;

/// Labels of a slice column of which a row can have many.
pub(crate) const FLAGS_MAX: usize = 64;

/// The kept rows of a piece of a source.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) model_a: Vec<u32>,
    pub(crate) model_b: Vec<u32>,
    pub(crate) winner: Vec<Winner>,
    pub(crate) features: Vec<Vec<f64>>,
    pub(crate) n_from_conversations: Vec<u64>,
    pub(crate) judge_hashes: Vec<u128>,
    /// The numbers of the judges, once they have one.
    pub(crate) judges: Vec<u32>,
    /// Missing values of each feature.
    pub(crate) n_missing: Vec<u64>,
    pub(crate) times: Times,
    pub(crate) weights: Vec<f64>,
    pub(crate) slices: Vec<ChunkSlice>,
    /// Whether the names were known, for sources that say so.
    pub(crate) is_named: Vec<bool>,
    pub(crate) ids: Vec<u128>,
    /// What tells rows apart by content.
    pub(crate) contents: Vec<u128>,
    /// Where each row stands, when that may be asked for.
    pub(crate) places: Vec<RowPlace>,
    /// Rows that were rejected, when somebody wants them all.
    pub(crate) rejected: Vec<RejectedRow>,
    /// Rows of whose numbers a feature makes no difference: the feature, and the row as a position in this chunk.
    pub(crate) refused: Vec<(usize, RefusedNumbers)>,
    /// The first texts that are no numbers: the number of the row that they would add to, and where they stand.
    pub(crate) texts: Vec<(usize, Place)>,
    /// The rows as a whole, when somebody wants them.
    pub(crate) rows: Vec<ConversationRow>,
    /// About how many bytes they take.
    pub(crate) rows_bytes: usize,
}

/// Points in time, bare numbers in one unit.
#[derive(Debug, Default)]
pub(crate) struct Times {
    pub(crate) seconds: Vec<f64>,
    /// The unit of the bare numbers, and the first row that has one.
    pub(crate) unit: Option<(Unit, u64)>,
    /// The first row with another unit.
    pub(crate) other_unit: Option<(Unit, u64)>,
}

impl Times {
    /// Adds the time of a row.
    pub(crate) fn push(&mut self, time: Time, row: u64) {
        self.seconds.push(match time {
            Time::Missing => f64::NAN,
            Time::Exact(seconds) => seconds,
            Time::Bare(value) => {
                let unit = Unit::of(value);
                let (known, _) = *self.unit.get_or_insert((unit, row));
                if known != unit {
                    self.other_unit.get_or_insert((unit, row));
                }
                value / unit.per_second()
            }
        });
    }
}

/// What kind of values a slice column has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SliceKind {
    /// Only missing ones so far.
    #[default]
    Unknown,
    One,
    Many,
}

/// The values of one slice column in a chunk. `codes` has them unless the kind is [`SliceKind::Many`], then `bits` has.
#[derive(Debug, Default)]
pub(crate) struct ChunkSlice {
    pub(crate) kind: SliceKind,
    pub(crate) labels: Vec<String>,
    positions: HashMap<Box<[u8]>, u32, RandomState>,
    pub(crate) codes: Vec<u32>,
    pub(crate) bits: Vec<u64>,
    /// More labels than fit.
    pub(crate) has_too_many: bool,
    /// One value here and many there.
    pub(crate) is_mixed: bool,
}

impl ChunkSlice {
    /// The code of a text; [`u32::MAX`] for a blank one.
    pub(crate) fn label(&mut self, raw: &[u8]) -> u32 {
        let raw = raw.trim_ascii();
        if raw.is_empty() {
            return u32::MAX;
        }
        if let Some(&code) = self.positions.get(raw) {
            return code;
        }
        if self.labels.len() >= LABELS_MAX {
            self.has_too_many = true;
            return u32::MAX;
        }
        let code = u32::try_from(self.labels.len()).unwrap_or(u32::MAX);
        self.labels
            .push(String::from_utf8_lossy(raw).trim().to_owned());
        self.positions.insert(raw.into(), code);
        code
    }

    /// The bit of a label.
    pub(crate) fn flag(&mut self, raw: &[u8]) -> u64 {
        match self.label(raw) {
            u32::MAX => 0,
            code if code as usize >= FLAGS_MAX => {
                self.has_too_many = true;
                0
            }
            code => 1 << code,
        }
    }

    /// Makes the column one of this kind, if it is not known to be another.
    pub(crate) fn be(&mut self, kind: SliceKind) {
        match (self.kind, kind) {
            (_, SliceKind::Unknown) => {}
            (SliceKind::Unknown, SliceKind::One) => self.kind = kind,
            (SliceKind::Unknown, SliceKind::Many) => {
                self.kind = kind;
                self.bits.resize(self.codes.len(), 0);
                self.codes.clear();
            }
            (known, new) => self.is_mixed |= known != new,
        }
    }

    /// Adds a row with one text or none.
    pub(crate) fn push_code(&mut self, code: u32) {
        match self.kind {
            SliceKind::Many => self.bits.push(0),
            SliceKind::Unknown | SliceKind::One => self.codes.push(code),
        }
    }

    /// Adds a row with many labels.
    pub(crate) fn push_bits(&mut self, bits: u64) {
        match self.kind {
            SliceKind::Many => self.bits.push(bits),
            SliceKind::Unknown | SliceKind::One => self.codes.push(u32::MAX),
        }
    }

    fn clear(&mut self) {
        self.kind = SliceKind::Unknown;
        self.labels.clear();
        self.positions.clear();
        self.codes.clear();
        self.bits.clear();
        self.has_too_many = false;
        self.is_mixed = false;
    }
}

impl Chunk {
    /// An empty one with room for what is wanted.
    pub(crate) fn new(wanted: &Wanted<'_>) -> Self {
        let selection = wanted.selection;
        Self {
            features: vec![Vec::new(); selection.features.len()],
            n_from_conversations: vec![0; selection.features.len()],
            slices: selection
                .slices
                .iter()
                .map(|_| ChunkSlice::default())
                .collect(),
            ..Self::default()
        }
    }

    /// Battles so far.
    pub(crate) fn len(&self) -> usize {
        self.winner.len()
    }

    /// Rows so far: battles, or conversations without a vote.
    pub(crate) fn n_kept(&self) -> usize {
        self.winner.len().max(self.rows.len())
    }

    /// Whether so much waits that it is to be handed over.
    pub(crate) fn is_full(&self) -> bool {
        self.rows_bytes >= BATCH_BYTES
    }

    /// Adds a row as a whole.
    pub(crate) fn push_row(&mut self, row: ConversationRow) {
        self.rows_bytes += row.bytes();
        self.rows.push(row);
    }

    /// What a feature makes of the numbers of two sides, in the row at a position of this chunk; NaN where it is missing.
    pub(crate) fn difference(
        &mut self,
        (idx, request): (usize, &FeatureRequest),
        [a, b]: [f64; 2],
        battle: usize,
        place: RowPlace,
    ) -> f64 {
        // One that is missing on a side is not refused.
        if a.is_nan() || b.is_nan() {
            return f64::NAN;
        }
        match (request.difference)(a, b) {
            Some(value) if value.is_finite() => value,
            Some(_) => f64::NAN,
            None => {
                let refused = RefusedNumbers {
                    battle,
                    row: place.row,
                    line: place.line,
                    numbers: [a, b],
                };
                self.refused.push((idx, refused));
                f64::NAN
            }
        }
    }

    /// Forgets the rows and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.model_a.clear();
        self.model_b.clear();
        self.winner.clear();
        self.features.iter_mut().for_each(Vec::clear);
        self.n_from_conversations.fill(0);
        self.judge_hashes.clear();
        self.judges.clear();
        self.times.seconds.clear();
        self.times.unit = None;
        self.times.other_unit = None;
        self.weights.clear();
        self.slices.iter_mut().for_each(ChunkSlice::clear);
        self.is_named.clear();
        self.ids.clear();
        self.contents.clear();
        self.places.clear();
        self.rejected.clear();
        self.refused.clear();
        self.texts.clear();
        self.rows.clear();
        self.rows_bytes = 0;
    }

    /// Keeps only the rows for which `drop` is false.
    pub(crate) fn remove(&mut self, drop: &[bool]) {
        if !self.refused.is_empty() {
            let mut n_before = vec![0];
            n_before.extend(drop.iter().scan(0, |n, &drop| {
                *n += usize::from(drop);
                Some(*n)
            }));
            self.refused.retain(|(_, refused)| !drop[refused.battle]);
            for (_, refused) in &mut self.refused {
                refused.battle -= n_before[refused.battle];
            }
        }
        self.features
            .iter_mut()
            .chain([&mut self.times.seconds, &mut self.weights])
            .for_each(|column| remove(column, drop));
        for slice in &mut self.slices {
            remove(&mut slice.codes, drop);
            remove(&mut slice.bits, drop);
        }
        remove(&mut self.model_a, drop);
        remove(&mut self.model_b, drop);
        remove(&mut self.winner, drop);
        remove(&mut self.judge_hashes, drop);
        remove(&mut self.judges, drop);
        remove(&mut self.is_named, drop);
        remove(&mut self.ids, drop);
        remove(&mut self.contents, drop);
        remove(&mut self.places, drop);
        remove(&mut self.rows, drop);
    }

    /// The hashes by which rows count as repeated.
    pub(crate) fn hashes(&self, dedup: Dedup) -> &[u128] {
        match dedup {
            Dedup::Id => &self.ids,
            Dedup::Content => &self.contents,
        }
    }
}

/// Empty columns stay empty.
fn remove<T>(column: &mut Vec<T>, drop: &[bool]) {
    let mut drop = drop.iter();
    column.retain(|_| !drop.next().is_some_and(|&drop| drop));
}
