//! Columns of numbers, and the first value in them that is none.

use super::{
    Column, Damage,
    pages::{ColumnStream, Raw},
};
use crate::fate::cut;

/// Set in the bits of what stands for a value that is no number, above the position of its text; a missing value is another NaN.
const MARK: u64 = 0x7ffc_0000_0000_0000;
/// Texts of such values that are remembered at most; what comes later is missing without a text.
const TEXTS_MAX: usize = 1 << 16;

/// The numbers of a column of one row group, from first to last; NaN where there is none.
pub(super) struct NumberStream {
    stream: ColumnStream<f64>,
    column: String,
    /// Texts in place of numbers, by the marks that stand for them.
    texts: Vec<String>,
    is_told: bool,
}

impl NumberStream {
    pub(super) fn new(column: &Column, stream: ColumnStream<f64>) -> Self {
        Self {
            stream,
            column: column.description.path().string(),
            texts: Vec::new(),
            is_told: false,
        }
    }

    /// Whether something that is no number was met.
    pub(super) fn has_texts(&self) -> bool {
        !self.texts.is_empty()
    }

    /// Reads the next numbers, and tells of the first kept row ever that has something else: its position, the column and the value.
    pub(super) fn fill(
        &mut self,
        out: &mut [f64],
        kept: Option<&[usize]>,
        tell: &mut dyn FnMut(usize, &str, &str),
    ) -> Result<(), Damage> {
        let Self {
            stream,
            column,
            texts,
            is_told,
        } = self;
        stream.fill(out, f64::NAN, &mut |raw: Raw<'_>| {
            let value = raw.number();
            if value.is_finite() {
                return value;
            }
            if *is_told || texts.len() == TEXTS_MAX {
                return f64::NAN;
            }
            let text = raw.text();
            let text = String::from_utf8_lossy(&text);
            // An empty text is a missing value.
            if text.trim().is_empty() {
                return f64::NAN;
            }
            texts.push(cut(text.trim()));
            f64::from_bits(MARK | (texts.len() as u64 - 1))
        })?;
        if texts.is_empty() {
            return Ok(());
        }
        let text = |value: f64| {
            let bits = value.to_bits();
            (bits & MARK == MARK).then_some((bits & !MARK) as usize)
        };
        if !*is_told {
            let first = match kept {
                None => (0..out.len()).find_map(|i| Some((i, text(out[i])?))),
                Some(kept) => kept.iter().find_map(|&i| Some((i, text(out[i])?))),
            };
            if let Some((i, position)) = first
                && let Some(text) = texts.get(position)
            {
                tell(i, column, text);
                *is_told = true;
            }
        }
        for value in out {
            if value.is_nan() {
                *value = f64::NAN;
            }
        }
        Ok(())
    }
}
