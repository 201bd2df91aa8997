//! Writes synthetic votes with known true ratings: the same seed gives the same bytes.
//!
//! ```text
//! cargo run --release -p agon-dataset --example generate_battles -- --rows 30000 --models 19 --seed 1 --format parquet -o battles.parquet
//! ```
//!
//! The truth is written beside the file as `<file>.truth.json`.
//!
//! How votes come about: models have a strength (normal, standard deviation 0.6 on the natural scale), a popularity (log-normal) and a taste for length (log-normal).
//! A pair is drawn by popularity and its sides by a fair coin.
//! With g = strength difference + length effect × normalised length difference and s = 1 / (1 + exp(−g)), a vote is a tie with probability 1.48 × s × (1 − s), else one side's, so that side A scores s on average when a tie counts half: Bradley-Terry with halved ties and control for length finds the strengths again.
//! A tie is more often *both bad* the weaker the two models are.
//! `--length-effect 0` gives votes whose plain ratings are the true ones.

use std::{
    error::Error,
    fmt::Write as _,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::PathBuf,
    sync::Arc,
};

use agon_dataset::release_schema;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Fields, Schema};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::WriterProperties,
};
use rand::{Rng, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Rows of one row group: a few hundred KiB of the columns that a leaderboard needs.
const ROW_GROUP_ROWS: usize = 100_000;

const STRENGTH_SD: f64 = 0.6;
/// Four times the share of ties among equals, 37 per cent as in VisionArena-Battle.
const TIE_FACTOR: f64 = 1.48;
const WINNERS: [&str; 4] = ["model_a", "model_b", "tie", "tie (bothbad)"];
const LANGUAGES: [(&str, f64); 8] = [
    ("English", 0.62),
    ("Russian", 0.11),
    ("Chinese", 0.08),
    ("Vietnamese", 0.05),
    ("unknown", 0.04),
    ("German", 0.04),
    ("Spanish", 0.03),
    ("Japanese", 0.03),
];

struct Options {
    rows: usize,
    models: usize,
    seed: u64,
    length_effect: f64,
    format: String,
    output: PathBuf,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        rows: 30_000,
        models: 19,
        seed: 1,
        length_effect: 0.2,
        format: "parquet".to_owned(),
        output: PathBuf::new(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments
            .next()
            .ok_or_else(|| format!("`{name}` needs a value"))?;
        match name.as_str() {
            "--rows" => options.rows = value.parse()?,
            "--models" => options.models = value.parse()?,
            "--seed" => options.seed = value.parse()?,
            "--length-effect" => options.length_effect = value.parse()?,
            "--format" => options.format = value,
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
    Ok(options)
}

/// A standard normal number (Box and Muller 1958).
fn normal(rng: &mut impl Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// The first position whose cumulated weight exceeds a random share of the sum.
fn draw(cumulated: &[f64], rng: &mut impl Rng) -> usize {
    let last = cumulated.len() - 1;
    let target = rng.random::<f64>() * cumulated[last];
    cumulated.partition_point(|&sum| sum <= target).min(last)
}

fn cumulated(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    weights
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect()
}

struct Model {
    name: String,
    strength: f64,
    popularity: f64,
    /// Mean of the logarithm of an answer's tokens.
    verbosity: f64,
}

#[derive(Default)]
struct Answer {
    tokens: i64,
    headers: [i64; 6],
    lists: [i64; 2],
    bolds: [i64; 2],
}

struct Battle {
    question_id: String,
    judge: String,
    models: [usize; 2],
    winner: usize,
    turns: i64,
    language: &'static str,
    tstamp: f64,
    user_tokens: i64,
    answers: [Answer; 2],
}

fn models(n: usize, rng: &mut impl Rng) -> Vec<Model> {
    let families = [
        "aurora", "basalt", "cedar", "delta", "ember", "fjord", "grove",
    ];
    let mut models: Vec<Model> = (0..n)
        .map(|idx| Model {
            name: format!("{}-vision-{:03}", families[idx % families.len()], idx + 1),
            strength: STRENGTH_SD * normal(rng),
            popularity: (0.7 * normal(rng)).exp(),
            verbosity: 5.7 + 0.25 * normal(rng),
        })
        .collect();
    let mean = models.iter().map(|model| model.strength).sum::<f64>() / n as f64;
    for model in &mut models {
        model.strength -= mean;
    }
    models
}

fn answer(model: &Model, rng: &mut impl Rng) -> Answer {
    let tokens = (model.verbosity + 0.6 * normal(rng))
        .exp()
        .clamp(1.0, 8_000.0);
    let mut count = |share: f64| (tokens * share * rng.random::<f64>()) as i64;
    Answer {
        tokens: tokens as i64,
        headers: [0, count(0.002), count(0.008), 0, 0, 0],
        lists: [count(0.02), count(0.03)],
        bolds: [count(0.02), 0],
    }
}

fn battle(
    models: &[Model],
    popularity: &[f64],
    languages: &[f64],
    n_judges: usize,
    length_effect: f64,
    idx: usize,
    rng: &mut impl Rng,
) -> Battle {
    let first = draw(popularity, rng);
    let second = loop {
        let second = draw(popularity, rng);
        if second != first {
            break second;
        }
    };
    // A fair coin of its own, although the draw above is even-handed already.
    let pair = if rng.random::<bool>() {
        [first, second]
    } else {
        [second, first]
    };
    let answers = pair.map(|model| answer(&models[model], rng));
    let lengths = answers.each_ref().map(|answer| answer.tokens as f64);
    let length = (lengths[0] - lengths[1]) / (lengths[0] + lengths[1]);
    let [a, b] = pair.map(|model| models[model].strength);
    let gap = a - b + length_effect * length;
    let score = 1.0 / (1.0 + (-gap).exp());
    let tie = TIE_FACTOR * score * (1.0 - score);
    let roll = rng.random::<f64>();
    let winner = if roll < score - tie / 2.0 {
        0
    } else if roll < 1.0 - tie {
        1
    } else {
        let quality = 1.0 / (1.0 + (-(a + b)).exp());
        if rng.random::<f64>() < quality { 2 } else { 3 }
    };
    let turns = 1 + (0..9).take_while(|_| rng.random::<f64>() < 0.14).count() as i64;
    // A few voters vote often: squaring favours the first of them.
    let judge = (rng.random::<f64>().powi(2) * n_judges as f64) as u64;
    Battle {
        question_id: format!("{:032x}", rng.random::<u128>()),
        judge: format!(
            "{:032x}",
            u128::from(judge + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
        ),
        models: pair,
        winner,
        turns,
        language: LANGUAGES[draw(languages, rng)].0,
        tstamp: 1_730_000_000.0 + idx as f64 * 20.0 + (rng.random::<f64>() * 16.0).floor() / 16.0,
        user_tokens: (3.5 + 0.9 * normal(rng)).exp().clamp(1.0, 4_000.0) as i64,
        answers,
    }
}

/// `conv_metadata` as a JSON object or as columns: name, then the value of one battle.
fn metadata_numbers(battle: &Battle) -> [(&'static str, i64); 6] {
    let [a, b] = &battle.answers;
    [
        ("sum_assistant_a_tokens", a.tokens),
        ("sum_assistant_b_tokens", b.tokens),
        (
            "context_a_tokens",
            battle.user_tokens + a.tokens * (battle.turns - 1) / battle.turns,
        ),
        (
            "context_b_tokens",
            battle.user_tokens + b.tokens * (battle.turns - 1) / battle.turns,
        ),
        ("sum_user_tokens", battle.user_tokens),
        ("turns", battle.turns),
    ]
}

fn counts<'a>(group: &str, battle: &'a Battle) -> &'a [i64] {
    let answer = &battle.answers[usize::from(group.ends_with("_b"))];
    match group.split('_').next() {
        Some("header") => &answer.headers,
        Some("list") => &answer.lists,
        _ => &answer.bolds,
    }
}

fn metadata_array(fields: &Fields, battles: &[Battle]) -> ArrayRef {
    let columns = fields
        .iter()
        .map(|field| match field.data_type() {
            DataType::Struct(members) => {
                let columns = (0..members.len())
                    .map(|idx| {
                        let values = battles
                            .iter()
                            .map(|battle| counts(field.name(), battle)[idx]);
                        Arc::new(Int64Array::from_iter_values(values)) as ArrayRef
                    })
                    .collect();
                Arc::new(StructArray::new(members.clone(), columns, None)) as ArrayRef
            }
            _ => {
                let values = battles.iter().map(|battle| {
                    let numbers = metadata_numbers(battle);
                    numbers
                        .iter()
                        .find(|(name, _)| name == field.name())
                        .map(|(_, n)| *n)
                });
                Arc::new(values.collect::<Int64Array>())
            }
        })
        .collect();
    Arc::new(StructArray::new(fields.clone(), columns, None))
}

fn batch(
    schema: &Arc<Schema>,
    models: &[Model],
    battles: &[Battle],
) -> Result<RecordBatch, Box<dyn Error>> {
    let text = |f: &dyn Fn(&Battle) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(battles.iter().map(f)))
    };
    let columns = schema
        .fields()
        .iter()
        .map(|field| match (field.name().as_str(), field.data_type()) {
            ("judge", _) => text(&|battle| battle.judge.clone()),
            ("winner", _) => text(&|battle| WINNERS[battle.winner].to_owned()),
            ("num_turns", _) => Arc::new(Int64Array::from_iter_values(
                battles.iter().map(|battle| battle.turns),
            )),
            ("language", _) => text(&|battle| battle.language.to_owned()),
            ("question_id", _) => text(&|battle| battle.question_id.clone()),
            ("model_a", _) => text(&|battle| models[battle.models[0]].name.clone()),
            ("model_b", _) => text(&|battle| models[battle.models[1]].name.clone()),
            ("conv_metadata", DataType::Struct(fields)) => metadata_array(fields, battles),
            _ => Arc::new(Float64Array::from_iter_values(
                battles.iter().map(|battle| battle.tstamp),
            )),
        })
        .collect();
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

fn csv_line(models: &[Model], battle: &Battle) -> String {
    format!(
        "{},{},{},{},{},{},{},{:.4}",
        battle.question_id,
        models[battle.models[0]].name,
        models[battle.models[1]].name,
        WINNERS[battle.winner],
        battle.judge,
        battle.turns,
        battle.language,
        battle.tstamp
    )
}

fn json_line(models: &[Model], battle: &Battle) -> String {
    let mut metadata = String::new();
    for (name, n) in metadata_numbers(battle) {
        let _ = write!(metadata, "\"{name}\": {n}, ");
    }
    for side in ["a", "b"] {
        let answer = &battle.answers[usize::from(side == "b")];
        let [h1, h2, h3, h4, h5, h6] = answer.headers;
        let [ordered, unordered] = answer.lists;
        let [asterisks, underscores] = answer.bolds;
        let _ = write!(
            metadata,
            "\"header_count_{side}\": {{\"h1\": {h1}, \"h2\": {h2}, \"h3\": {h3}, \"h4\": {h4}, \"h5\": {h5}, \"h6\": {h6}}}, \
             \"list_count_{side}\": {{\"ordered\": {ordered}, \"unordered\": {unordered}}}, \
             \"bold_count_{side}\": {{\"**\": {asterisks}, \"__\": {underscores}}}{}",
            if side == "a" { ", " } else { "" }
        );
    }
    format!(
        "{{\"question_id\": \"{}\", \"model_a\": \"{}\", \"model_b\": \"{}\", \"winner\": \"{}\", \"judge\": \"{}\", \
         \"num_turns\": {}, \"language\": \"{}\", \"tstamp\": {:.4}, \"conv_metadata\": {{{metadata}}}}}",
        battle.question_id,
        models[battle.models[0]].name,
        models[battle.models[1]].name,
        WINNERS[battle.winner],
        battle.judge,
        battle.turns,
        battle.language,
        battle.tstamp
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let models = models(options.models, &mut rng);
    let popularity = cumulated(models.iter().map(|model| model.popularity));
    let languages = cumulated(LANGUAGES.iter().map(|(_, share)| *share));
    let n_judges = options.rows.div_ceil(3).max(1);
    let mut n_battles = vec![0_u64; models.len()];
    let mut n_winners = [0_u64; 4];

    let release = release_schema();
    let wanted = [
        "judge",
        "winner",
        "num_turns",
        "language",
        "question_id",
        "model_a",
        "model_b",
        "tstamp",
        "conv_metadata",
    ];
    let fields: Fields = release
        .fields()
        .iter()
        .filter(|field| wanted.contains(&field.name().as_str()))
        .cloned()
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let file = File::create(&options.output)?;
    let mut parquet = None;
    let mut text = None;
    match options.format.as_str() {
        "parquet" => {
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
                .set_created_by("agon generate_battles".to_owned())
                .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
                .build();
            parquet = Some(ArrowWriter::try_new(
                file,
                Arc::clone(&schema),
                Some(properties),
            )?);
        }
        "csv" => {
            let mut file = BufWriter::new(file);
            writeln!(
                file,
                "question_id,model_a,model_b,winner,judge,num_turns,language,tstamp"
            )?;
            text = Some(file);
        }
        "jsonl" => text = Some(BufWriter::new(file)),
        other => {
            return Err(
                format!("`{other}` is not a format: expected `parquet`, `csv` or `jsonl`").into(),
            );
        }
    }
    let mut n_done = 0;
    while n_done < options.rows {
        let n = (options.rows - n_done).min(ROW_GROUP_ROWS);
        let battles: Vec<Battle> = (n_done..n_done + n)
            .map(|idx| {
                battle(
                    &models,
                    &popularity,
                    &languages,
                    n_judges,
                    options.length_effect,
                    idx,
                    &mut rng,
                )
            })
            .collect();
        n_done += n;
        for battle in &battles {
            n_battles[battle.models[0]] += 1;
            n_battles[battle.models[1]] += 1;
            n_winners[battle.winner] += 1;
        }
        if let Some(writer) = &mut parquet {
            writer.write(&batch(&schema, &models, &battles)?)?;
        }
        if let Some(file) = &mut text {
            for battle in &battles {
                let line = if options.format == "csv" {
                    csv_line(&models, battle)
                } else {
                    json_line(&models, battle)
                };
                writeln!(file, "{line}")?;
            }
        }
    }
    if let Some(writer) = parquet {
        writer.close()?;
    }
    if let Some(mut file) = text {
        file.flush()?;
    }

    let scale = 400.0 / std::f64::consts::LN_10;
    let truth = serde_json::json!({
        "rows": options.rows,
        "seed": options.seed,
        "length_effect": options.length_effect,
        "tie_factor": TIE_FACTOR,
        "winners": WINNERS.iter().zip(n_winners).map(|(name, n)| (name.to_string(), n.into())).collect::<serde_json::Map<String, serde_json::Value>>(),
        "models": models.iter().zip(&n_battles).map(|(model, battles)| serde_json::json!({
            "name": model.name,
            "strength": model.strength,
            "rating": 1000.0 + scale * model.strength,
            "battles": battles,
        })).collect::<Vec<_>>(),
    });
    let mut path = options.output.into_os_string();
    path.push(".truth.json");
    fs::write(path, serde_json::to_string_pretty(&truth)? + "\n")?;
    Ok(())
}
