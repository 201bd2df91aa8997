//! Writes synthetic votes with known true ratings and style coefficients: the same options give the same bytes.
//!
//! ```text
//! cargo run --release -p agon-dataset --example generate_battles -- --rows 30000 --models 19 --seed 1 -o battles.parquet
//! ```
//!
//! `--help` lists the options. The truth is written beside the file as `<file>.truth.json`.
//! Rows are made and written one row group at a time, so that any number of them fits in little memory.
//!
//! How votes come about: models have a strength (normal, standard deviation 0.6 on the natural scale), a popularity
//! (log-normal) and a style of their own: how long they write, and how much they use headers, lists and bold text.
//! Longer and more structured answers are a little more usual among strong models, as in real arenas.
//! A pair is drawn by popularity and its sides by a fair coin.
//! With g = strength difference + Σ effect · (a − b) / (a + b + 1) over the four style features and
//! s = 1 / (1 + exp(−g)), a vote is a tie with probability 1.85 · s · (1 − s), else one side's, so that side A scores s
//! on average when a tie counts half: Bradley-Terry with halved ties and control for the four features finds strengths
//! and effects again.
//! A tie is more often *both bad* the weaker the two models are.
//! `--style-effects 0,0,0,0` gives votes whose plain ratings are the true ones.
//!
//! Shares of winners, of languages, of turns and of votes per judge follow those of VisionArena-Battle.

mod columns;
mod options;
mod text;
mod world;

use std::{
    error::Error,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::Path,
};

use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::WriterProperties,
};

use crate::{
    options::{Format, Options},
    world::{Battle, FEATURES, TIE_FACTOR, WINNERS, World},
};

/// Where rows go: one of the three formats.
enum Sink {
    Parquet(Box<ArrowWriter<File>>),
    Csv(BufWriter<File>),
    JsonLines(BufWriter<File>),
}

impl Sink {
    fn create(options: &Options) -> Result<Self, Box<dyn Error>> {
        let file = File::create(&options.output)?;
        Ok(match options.format {
            Format::Parquet => {
                let compression =
                    match options.compression.as_str() {
                        "zstd" => Compression::ZSTD(ZstdLevel::try_new(3)?),
                        "snappy" => Compression::SNAPPY,
                        "none" => Compression::UNCOMPRESSED,
                        other => return Err(format!(
                            "`{other}` is not a compression: expected `zstd`, `snappy` or `none`"
                        )
                        .into()),
                    };
                let properties = WriterProperties::builder()
                    .set_compression(compression)
                    .set_created_by("agon generate_battles".to_owned())
                    .set_max_row_group_row_count(Some(options.row_group))
                    .build();
                Self::Parquet(Box::new(ArrowWriter::try_new(
                    file,
                    columns::schema(&options.columns),
                    Some(properties),
                )?))
            }
            Format::Csv => {
                let mut file = BufWriter::new(file);
                text::csv_header(&options.columns, &mut file)?;
                Self::Csv(file)
            }
            Format::JsonLines => Self::JsonLines(BufWriter::new(file)),
        })
    }

    fn write(
        &mut self,
        options: &Options,
        world: &World,
        battles: &[Battle],
    ) -> Result<(), Box<dyn Error>> {
        match self {
            Self::Parquet(writer) => {
                writer.write(&columns::batch(&options.columns, world, battles)?)?;
            }
            Self::Csv(file) => {
                for battle in battles {
                    text::csv_row(&options.columns, world, battle, file)?;
                }
            }
            Self::JsonLines(file) => {
                for battle in battles {
                    text::json_row(&options.columns, world, battle, file)?;
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Box<dyn Error>> {
        match self {
            Self::Parquet(writer) => {
                writer.close()?;
            }
            Self::Csv(mut file) | Self::JsonLines(mut file) => file.flush()?,
        }
        Ok(())
    }
}

/// What came out, for the truth beside the file.
struct Outcome {
    battles_of: Vec<u64>,
    winners: [u64; 4],
    /// Sums of squares of the four normalised differences.
    squares: [f64; 4],
}

impl Outcome {
    fn count(&mut self, battle: &Battle) {
        for model in battle.models {
            self.battles_of[model] += 1;
        }
        self.winners[battle.winner] += 1;
        for (sum, difference) in self.squares.iter_mut().zip(battle.style_differences()) {
            *sum += difference * difference;
        }
    }
}

fn write_truth(
    options: &Options,
    world: &World,
    outcome: &Outcome,
    path: &Path,
) -> Result<(), Box<dyn Error>> {
    let points_per_nat = 400.0 / std::f64::consts::LN_10;
    let coefficients = FEATURES.iter().enumerate().map(|(idx, name)| {
        let deviation = (outcome.squares[idx] / options.rows as f64).sqrt();
        let effect = options.style_effects[idx];
        // What a fit finds when the feature is divided by the root of its mean square.
        serde_json::json!({ "feature": name, "effect": effect, "root_mean_square": deviation, "coefficient": effect * deviation })
    });
    let winners = WINNERS.iter().zip(outcome.winners);
    let truth = serde_json::json!({
        "rows": options.rows,
        "seed": options.seed,
        "tie_factor": TIE_FACTOR,
        "difference": "(a - b) / (a + b + 1)",
        "style": coefficients.collect::<Vec<_>>(),
        "winners": winners.map(|(name, n)| ((*name).to_owned(), n.into())).collect::<serde_json::Map<String, serde_json::Value>>(),
        "models": world.models.iter().zip(&outcome.battles_of).map(|(model, battles)| serde_json::json!({
            "name": model.name,
            "strength": model.strength,
            "rating": 1000.0 + points_per_nat * model.strength,
            "battles": battles,
        })).collect::<Vec<_>>(),
    });
    fs::write(path, serde_json::to_string_pretty(&truth)? + "\n")?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let Some(options) = Options::from_arguments(std::env::args().skip(1))? else {
        std::io::stdout().write_all(options::HELP.as_bytes())?;
        return Ok(());
    };
    let mut world = World::new(&options);
    let mut outcome = Outcome {
        battles_of: vec![0; world.models.len()],
        winners: [0; 4],
        squares: [0.0; 4],
    };
    let mut sink = Sink::create(&options)?;
    let mut n_done = 0;
    while n_done < options.rows {
        let n = (options.rows - n_done).min(options.row_group);
        let battles: Vec<Battle> = (n_done..n_done + n).map(|idx| world.battle(idx)).collect();
        n_done += n;
        for battle in &battles {
            outcome.count(battle);
        }
        sink.write(&options, &world, &battles)?;
    }
    sink.finish()?;

    let mut path = options.output.clone().into_os_string();
    path.push(".truth.json");
    write_truth(&options, &world, &outcome, path.as_ref())
}
