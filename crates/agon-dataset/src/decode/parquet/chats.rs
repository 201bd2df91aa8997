//! A Parquet file of conversations without votes, for whoever wants whole rows.

use std::sync::Arc;

use parquet::file::metadata::ParquetMetaData;

use super::{
    cells::{CellStream, RowColumns},
    guarded, malformed,
};
use crate::{
    ConversationSelection, Error, FeatureOrigin, Format,
    battles::{collect::Collector, row::RowReader},
    count::{Counter, RowPlace},
    decode::{DecodeOptions, Decoded, OnProgress, check, shown_columns},
    input::access::RandomAccess,
};

/// A file of conversations.
pub(super) struct Chats<'a> {
    pub(super) path: &'a str,
    pub(super) file: Arc<dyn RandomAccess>,
    pub(super) metadata: ParquetMetaData,
    pub(super) format: Format,
}

impl Chats<'_> {
    /// Reads them one after the other.
    pub(super) fn read(
        &self,
        collector: &Collector<'_>,
        selection: &ConversationSelection,
        options: DecodeOptions<'_>,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Decoded, Error> {
        let metadata = &self.metadata;
        let columns = RowColumns::find(self.path, metadata, selection)?;
        let bytes_total = self.file.size();
        let n_row_groups = metadata.num_row_groups();
        let mut counter = Counter::new(self.path);
        counter.set_columns(["model", "model", "winner"].map(str::to_owned));
        counter.set_aliases(options.aliases);
        let mut reader = RowReader::new(collector, self.path);
        reader.set_folder(options.folder);
        if collector.rejects.is_some() {
            counter.keep_rejected_rows();
        }
        let mut row = 0;
        'file: for idx in 0..n_row_groups {
            let mut n_left = usize::try_from(metadata.row_group(idx).num_rows()).map_err(|_| {
                let detail = "a row group has an impossible number of rows".to_owned();
                malformed(self.path, detail)
            })?;
            let mut cells = guarded(self.path, || {
                CellStream::new(metadata, &self.file, &columns, idx)
            })?;
            while n_left > 0 {
                let n = n_left.min(cells.block_rows());
                n_left -= n;
                let block = guarded(self.path, || cells.block(n))?;
                for i in 0..n {
                    row += 1;
                    let place = RowPlace { row, line: None };
                    reader.begin_row();
                    reader.add_chat(&mut counter, block.row(i), place);
                }
                check(&counter, options)?;
                if reader.is_full() && !reader.flush(&mut counter) {
                    break 'file;
                }
            }
            let share = u128::from(bytes_total) * (idx as u128 + 1) / n_row_groups.max(1) as u128;
            on_progress(u64::try_from(share).unwrap_or(bytes_total), row);
        }
        let origins: Vec<FeatureOrigin> = reader.finish(&mut counter, row)?;
        check(&counter, options)?;
        let root = metadata.file_metadata().schema_descr().root_schema();
        Ok(Decoded {
            format: self.format,
            rows: row,
            columns: shown_columns(root.get_fields().iter().map(|field| field.name())),
            oddities: Vec::new(),
            rejections: counter.take_rejections(),
            counters: vec![counter],
            origins,
        })
    }
}
