//! Votes to serve, and how they are read.

use std::{io::Write as _, sync::Arc, time::Duration};

use agon_dataset::{Input, ReadOptions, Votes, read_votes};
use agon_remote::{Environment, Remote, Waits};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::{arrow::ArrowWriter, basic::Compression, file::properties::WriterProperties};

pub(crate) const CSV: &str = "model_a,model_b,winner\nx,y,model_a\ny,z,tie\n";

/// A table in text of about `n_bytes`.
pub(crate) fn long_csv(n_bytes: usize) -> String {
    let row = "first model,second model,model_b\n";
    format!(
        "model_a,model_b,winner\n{}",
        row.repeat(n_bytes / row.len())
    )
}

/// Row groups of votes, each row with noise that no ranking needs.
pub(crate) fn parquet(n_row_groups: usize, noise_bytes: usize) -> Vec<u8> {
    let mut writer: Option<ArrowWriter<Vec<u8>>> = None;
    let mut state = 1_u64;
    for _ in 0..n_row_groups {
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b'!' + (state >> 57) as u8 % 90)
        };
        let columns: Vec<(&str, Vec<String>)> = vec![
            ("winner", vec!["model_a".into(), "tie".into()]),
            (
                "conversation_a",
                vec![(0..noise_bytes).map(|_| noise()).collect(), String::new()],
            ),
            ("model_a", vec!["x".into(), "x".into()]),
            ("model_b", vec!["y".into(), "z".into()]),
        ];
        let batch = RecordBatch::try_from_iter(
            columns
                .into_iter()
                .map(|(name, values)| (name, Arc::new(StringArray::from(values)) as ArrayRef)),
        )
        .unwrap();
        let properties = WriterProperties::builder()
            .set_compression(Compression::UNCOMPRESSED)
            .build();
        let writer = writer.get_or_insert_with(|| {
            ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap()
        });
        writer.write(&batch).unwrap();
        writer.flush().unwrap();
    }
    writer.expect("a row group").into_inner().unwrap()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A finder that loses patience quickly.
pub(crate) fn remote(variables: &[(&str, &str)]) -> Remote {
    let variables = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let waits = Waits {
        connect: Duration::from_secs(5),
        silence: Duration::from_millis(700),
        piece: Duration::from_secs(10),
        backoff: Duration::from_millis(5),
        n_retries: 3,
    };
    Remote::new(Environment::new(variables), waits).unwrap()
}

/// Reads inputs; a failure with all its causes.
pub(crate) fn read(inputs: Vec<Input>) -> Result<Votes, String> {
    let options = ReadOptions {
        checksums: true,
        ..ReadOptions::default()
    };
    read_votes(inputs, &options, &mut |_| {}).map_err(|error| chain(&error))
}

/// Reads what an address stands for; a failure with all its causes.
pub(crate) fn read_address(remote: &Remote, address: &str) -> Result<Votes, String> {
    let inputs = match remote.resolve(address) {
        Ok(inputs) => inputs.expect("an address"),
        Err(error) => return Err(error.to_string()),
    };
    read(inputs)
}

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
