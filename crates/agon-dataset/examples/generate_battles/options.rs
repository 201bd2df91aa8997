//! The options of the generator.

use std::{error::Error, path::PathBuf, str::FromStr};

pub(crate) const HELP: &str = "\
Writes synthetic votes with known true ratings.

  -o, --output FILE        where to; the truth goes to FILE.truth.json
      --rows N             battles [30000]
      --models N           models [19]
      --seed N             [1]
      --format NAME        parquet, csv or jsonl [parquet]
      --columns A,B,…      columns to write, of: judge winner num_turns language question_id model_a model_b tstamp
                           conv_metadata category_tag [all but category_tag]
      --style-effects L,H,I,B
                           effects of length, headers, list items and bold text on the log-odds [0.55,0.06,0.10,0.08]
      --compression NAME   of Parquet: zstd, snappy or none [zstd]
      --row-group N        rows of a Parquet row group [100000]
";

/// In the order in which they are written.
pub(crate) const COLUMNS: [&str; 10] = [
    "judge",
    "winner",
    "num_turns",
    "language",
    "question_id",
    "model_a",
    "model_b",
    "tstamp",
    "conv_metadata",
    "category_tag",
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Parquet,
    Csv,
    JsonLines,
}

pub(crate) struct Options {
    pub(crate) rows: usize,
    pub(crate) models: usize,
    pub(crate) seed: u64,
    pub(crate) style_effects: [f64; 4],
    pub(crate) format: Format,
    /// A selection of [`COLUMNS`], in their order.
    pub(crate) columns: Vec<&'static str>,
    pub(crate) compression: String,
    pub(crate) row_group: usize,
    pub(crate) output: PathBuf,
}

impl Options {
    /// `None` when help was asked for.
    pub(crate) fn from_arguments(
        mut arguments: impl Iterator<Item = String>,
    ) -> Result<Option<Self>, Box<dyn Error>> {
        let mut options = Self {
            rows: 30_000,
            models: 19,
            seed: 1,
            style_effects: [0.55, 0.06, 0.10, 0.08],
            format: Format::Parquet,
            columns: COLUMNS
                .into_iter()
                .filter(|name| *name != "category_tag")
                .collect(),
            compression: "zstd".to_owned(),
            row_group: 100_000,
            output: PathBuf::new(),
        };
        while let Some(name) = arguments.next() {
            if name == "--help" || name == "-h" {
                return Ok(None);
            }
            let value = arguments
                .next()
                .ok_or_else(|| format!("`{name}` needs a value"))?;
            match name.as_str() {
                "--rows" => options.rows = number(&name, &value)?,
                "--models" => options.models = number(&name, &value)?,
                "--seed" => options.seed = number(&name, &value)?,
                "--row-group" => options.row_group = number(&name, &value)?,
                "--style-effects" => {
                    let effects: Vec<f64> = value
                        .split(',')
                        .map(|text| number(&name, text))
                        .collect::<Result<_, _>>()?;
                    options.style_effects = effects
                        .try_into()
                        .map_err(|_| format!("`{name}` needs four numbers"))?;
                }
                "--columns" => options.columns = columns(&value)?,
                "--compression" => options.compression = value,
                "--format" => {
                    options.format =
                        match value.as_str() {
                            "parquet" => Format::Parquet,
                            "csv" => Format::Csv,
                            "jsonl" => Format::JsonLines,
                            _ => return Err(format!(
                                "`{value}` is not a format: expected `parquet`, `csv` or `jsonl`"
                            )
                            .into()),
                        };
                }
                "-o" | "--output" => options.output = value.into(),
                _ => return Err(format!("unknown option `{name}`").into()),
            }
        }
        if options.output.as_os_str().is_empty() {
            return Err("where to? Give `-o FILE`".into());
        }
        if options.models < 2 {
            return Err("a battle needs two models: give `--models 2` or more".into());
        }
        if options.row_group == 0 {
            return Err("`--row-group` must be 1 or more".into());
        }
        if !options
            .style_effects
            .iter()
            .all(|effect| effect.is_finite())
        {
            return Err("`--style-effects` must be finite".into());
        }
        Ok(Some(options))
    }
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("`{name}`: `{value}` is not a number that fits"))
}

fn columns(value: &str) -> Result<Vec<&'static str>, String> {
    if let Some(unknown) = value.split(',').find(|name| !COLUMNS.contains(name)) {
        return Err(format!(
            "`{unknown}` is not a column: known are {}",
            COLUMNS.join(", ")
        ));
    }
    Ok(COLUMNS
        .into_iter()
        .filter(|known| value.split(',').any(|name| name == *known))
        .collect())
}
