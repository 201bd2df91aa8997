//! The Parquet files of a dataset folder, one after the other, each up to a size, each with its SHA-256.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::{EnabledStatistics, WriterProperties},
    schema::types::ColumnPath,
};
use sha2::{Digest as _, Sha256};

use crate::{Error, ReleaseFile, decode::window::hexadecimal};

/// How strongly data are compressed: zstd's own default.
const ZSTD_LEVEL: i32 = 3;

/// Writes the files.
#[derive(Debug)]
pub(crate) struct Shards {
    /// The folder of the dataset; the files go into `data` below it.
    folder: PathBuf,
    schema: SchemaRef,
    agon_version: String,
    shard_bytes_max: u64,
    shard: Option<Shard>,
    /// Finished files, under their temporary names.
    finished: Vec<ReleaseFile>,
}

#[derive(Debug)]
struct Shard {
    name: String,
    path: PathBuf,
    writer: ArrowWriter<HashingFile>,
    rows: u64,
}

/// A file whose SHA-256 is computed while it is written.
#[derive(Debug)]
struct HashingFile {
    file: BufWriter<File>,
    hasher: Sha256,
    bytes: u64,
}

impl Write for HashingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.hasher.update(&bytes[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Shards {
    /// Files of `schema` in a dataset folder. After `shard_bytes_max` bytes a file is closed and the next one begun.
    pub(crate) fn new(
        folder: &Path,
        schema: SchemaRef,
        agon_version: &str,
        shard_bytes_max: u64,
    ) -> Self {
        Self {
            folder: folder.to_owned(),
            schema,
            agon_version: agon_version.to_owned(),
            shard_bytes_max,
            shard: None,
            finished: Vec::new(),
        }
    }

    /// Writes the rows of a batch as one row group.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let shard = match self.shard.take() {
            Some(shard) => shard,
            None => self.begin()?,
        };
        let shard = self.shard.insert(shard);
        shard.rows += batch.num_rows() as u64;
        shard
            .writer
            .write(batch)
            .and_then(|()| shard.writer.flush())
            .map_err(|error| Error::Encode {
                path: shard.path.clone(),
                source: error.into(),
            })?;
        if shard.writer.inner().bytes >= self.shard_bytes_max {
            self.end()?;
        }
        Ok(())
    }

    /// Ends the last file and gives all of them their names, `data/train-I-of-N.parquet`.
    pub(crate) fn finish(mut self) -> Result<Vec<ReleaseFile>, Error> {
        self.end()?;
        let n_shards = self.finished.len();
        let mut files = Vec::new();
        for (idx, shard) in self.finished.iter().enumerate() {
            let path = format!("data/train-{idx:05}-of-{n_shards:05}.parquet");
            let (from, to) = (
                self.folder.join("data").join(&shard.path),
                self.folder.join(&path),
            );
            fs::rename(from, &to).map_err(|source| Error::Write { path: to, source })?;
            files.push(ReleaseFile {
                path,
                ..shard.clone()
            });
        }
        Ok(files)
    }

    fn begin(&self) -> Result<Shard, Error> {
        let name = format!("part-{:05}.parquet", self.finished.len());
        let path = self.folder.join("data").join(&name);
        let file = File::create(&path).map_err(|source| Error::Write {
            path: path.clone(),
            source,
        })?;
        let file = HashingFile {
            file: BufWriter::with_capacity(1 << 20, file),
            hasher: Sha256::new(),
            bytes: 0,
        };
        let writer = writer_properties(&self.agon_version)
            .and_then(|properties| {
                ArrowWriter::try_new(file, SchemaRef::clone(&self.schema), Some(properties))
            })
            .map_err(|error| Error::Encode {
                path: path.clone(),
                source: error.into(),
            })?;
        Ok(Shard {
            name,
            path,
            writer,
            rows: 0,
        })
    }

    fn end(&mut self) -> Result<(), Error> {
        let Some(shard) = self.shard.take() else {
            return Ok(());
        };
        let path = shard.path;
        let mut file = shard.writer.into_inner().map_err(|error| Error::Encode {
            path: path.clone(),
            source: error.into(),
        })?;
        file.flush()
            .and_then(|()| file.file.get_ref().sync_all())
            .map_err(|source| Error::Write { path, source })?;
        self.finished.push(ReleaseFile {
            path: shard.name,
            bytes: file.bytes,
            sha256: hexadecimal(&file.hasher.finalize()),
            rows: Some(shard.rows),
        });
        Ok(())
    }
}

fn writer_properties(
    agon_version: &str,
) -> Result<WriterProperties, parquet::errors::ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_created_by(format!("agon {}", agon_version))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(None)
        .set_max_row_group_bytes(None);
    // The least and the greatest picture or answer tell nobody anything, and hardly two of them are equal.
    for column in [
        &["images", "list", "element", "bytes"][..],
        &[
            "conversation_a",
            "list",
            "element",
            "list",
            "element",
            "content",
        ],
        &[
            "conversation_b",
            "list",
            "element",
            "list",
            "element",
            "content",
        ],
    ] {
        let path = ColumnPath::new(column.iter().map(|part| (*part).to_owned()).collect());
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_statistics_enabled(path, EnabledStatistics::None);
    }
    Ok(properties.build())
}
