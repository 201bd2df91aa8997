//! Columns of text that hold, as JSON, what other files hold in groups of columns.

use super::{
    BLOCK_ROWS, Column, Damage, Table,
    pages::{ColumnStream, Raw},
};
use crate::battles::{
    chunk::ChunkSlice,
    collect::Collector,
    row::{RowReader, RowValues},
    wanted::{FeaturePlaces, Wanted},
};

/// The numbers of a feature in a row.
pub(super) enum Found {
    /// Those of side A and side B.
    Sides([f64; 2]),
    /// Their difference; NaN where it is missing.
    Difference(f64),
}

/// The columns of text in which something is wanted.
#[derive(Default)]
pub(super) struct JsonCells {
    columns: Vec<(String, Column)>,
}

impl JsonCells {
    pub(super) fn add(&mut self, name: &str, column: Column) {
        self.columns.push((name.to_owned(), column));
    }

    /// Whether this leaf is one of them.
    pub(super) fn has(&self, leaf_idx: usize) -> bool {
        self.columns
            .iter()
            .any(|(_, column)| column.leaf_idx == leaf_idx)
    }

    /// Whether a name is in one of them, if it is anywhere.
    pub(super) fn is_below(&self, name: &str) -> bool {
        self.columns.iter().any(|(column, _)| {
            name.strip_prefix(column.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// Whether the numbers of a feature may be in one of them.
    pub(super) fn may_have(&self, wanted: &Wanted<'_>, places: &FeaturePlaces) -> bool {
        let mut numbers = places.sides.iter().flatten().chain(&places.differences);
        numbers.any(|&number| {
            wanted
                .names_of_number(number)
                .any(|name| self.is_below(name))
        })
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().map(|(_, column)| column)
    }
}

/// The cells of one row group while they are read.
pub(super) struct JsonStream<'a> {
    streams: Vec<(usize, ColumnStream<u32>)>,
    reader: Option<RowReader<'a>>,
    /// Every distinct cell, or every cell, read once.
    values: Vec<RowValues>,
    /// Which of them each row of the block has, column by column.
    positions: Vec<Vec<u32>>,
}

impl<'a> JsonStream<'a> {
    pub(super) fn new(
        table: &'a Table,
        cells: &JsonCells,
        collector: &'a Collector<'a>,
        idx: usize,
    ) -> Result<Self, Damage> {
        let mut reader =
            (!cells.columns.is_empty()).then(|| RowReader::new(collector, &table.path));
        let mut streams = Vec::new();
        for (name, column) in &cells.columns {
            if let Some(node) = reader.as_mut().and_then(|reader| reader.path_root(name)) {
                streams.push((node, table.stream(idx, column)?));
            }
        }
        Ok(Self {
            positions: vec![vec![u32::MAX; BLOCK_ROWS]; streams.len()],
            streams,
            reader,
            values: Vec::new(),
        })
    }

    /// Reads the next `n` rows.
    pub(super) fn block(&mut self, n: usize) -> Result<(), Damage> {
        let Some(reader) = &mut self.reader else {
            return Ok(());
        };
        let values = &mut self.values;
        for ((node, stream), positions) in self.streams.iter_mut().zip(&mut self.positions) {
            stream.fill(&mut positions[..n], u32::MAX, &mut |raw: Raw<'_>| {
                reader.begin_row();
                reader.cell(*node, &raw.text());
                values.push(reader.take_values());
                u32::try_from(values.len() - 1).unwrap_or(u32::MAX)
            })?;
        }
        Ok(())
    }

    fn cells(&self, row: usize) -> impl Iterator<Item = &RowValues> {
        self.positions
            .iter()
            .filter_map(move |positions| self.values.get(positions[row] as usize))
    }

    /// A number of a row of the block.
    pub(super) fn number(&self, row: usize, number: usize) -> Option<f64> {
        self.cells(row).find_map(|values| values.numbers[number])
    }

    /// A feature of a row of the block.
    pub(super) fn feature(&self, row: usize, places: &FeaturePlaces) -> Found {
        let pair = places
            .sides
            .iter()
            .find_map(|&[a, b]| self.number(row, a).zip(self.number(row, b)));
        pair.map_or_else(
            || {
                let mut numbers = places.differences.iter();
                let number = numbers.find_map(|&number| self.number(row, number));
                Found::Difference(number.unwrap_or(f64::NAN))
            },
            |(a, b)| Found::Sides([a, b]),
        )
    }

    /// Adds the value of a slice in a row of the block.
    pub(super) fn push_slice(&self, row: usize, idx: usize, slice: &mut ChunkSlice) {
        match self.cells(row).find_map(|values| values.slice(idx)) {
            Some(cell) => cell.push_to(slice),
            None => slice.push_code(u32::MAX),
        }
    }
}
