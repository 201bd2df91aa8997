//! How often intervals, places and claims to the first place hold: many simulated arenas with known strengths.
//!
//! ```text
//! cargo run --release -p agon-ranking --example coverage                  # 2,000 arenas; about 12 minutes of processor time
//! cargo run --release -p agon-ranking --example coverage -- --arenas 100  # a first look
//! ```
//!
//! `--threads N` and `--seed N` are the other options. Arenas are numbered and each has random numbers of its own, so
//! that the table does not depend on the number of threads.
//!
//! An arena has 100 models; the expected number of battles of each is the same in all arenas and grows from 15 to 90,000
//! by equal factors (to 9,000 with style features, where every battle is a row of its own).
//! Strengths are normal with standard deviation 0.6, drawn anew for every arena. About 29 per cent of battles are ties,
//! which leave the expected score of a side alone and count half a win.
//!
//! Places and claims to the first place are tried in small arenas too: 20 models with 3,000 battles each, once with
//! normal strengths and once with the two best exactly equal, where every claim to be first is wrong.

mod arenas;
mod counts;

use std::{
    error::Error,
    num::NonZeroUsize,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use agon_ranking::{
    Anchor, BootstrapOptions, CovarianceMethod, Fitted, Leaderboard, LeaderboardOptions, bootstrap,
    leaderboard,
};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

use crate::{
    arenas::{
        BATTLES_EACH_OF_SMALL, MODELS, MODELS_OF_SMALL, MOST_BATTLES, MOST_BATTLES_WITH_STYLE,
        Popularity, plain_arena, strengths, style_arena,
    },
    counts::{Coverage, KINDS, LEVEL, Share, Together, count_board, count_together, true_ratings},
};

const BOOTSTRAP_ROUNDS: usize = 500;
/// A bootstrap takes much longer than a closed form: one arena of so many has it.
const BOOTSTRAP_EVERY: usize = 8;

struct Options {
    arenas: usize,
    threads: NonZeroUsize,
    seed: u64,
}

impl Options {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            arenas: 2_000,
            threads: thread::available_parallelism()?,
            seed: 1,
        };
        while let Some(name) = arguments.next() {
            let value = arguments
                .next()
                .ok_or_else(|| format!("`{name}` needs a value"))?;
            match name.as_str() {
                "--arenas" => options.arenas = value.parse()?,
                "--threads" => options.threads = value.parse()?,
                "--seed" => options.seed = value.parse()?,
                _ => return Err(format!("unknown option `{name}`").into()),
            }
        }
        Ok(options)
    }
}

/// Kinds of arena in which statements that hold together are tried, in the order of the table.
const TOGETHER: [&str; 3] = [
    "100 models, 15 to 90,000 battles",
    "20 models, 3,000 battles each",
    "the same, the two best equal",
];

#[derive(Clone, Default)]
struct Seen {
    kinds: [Coverage; KINDS.len()],
    together: [Together; TOGETHER.len()],
    ties: Share,
}

impl Seen {
    fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.add(theirs);
        }
        for (mine, theirs) in self.together.iter_mut().zip(&other.together) {
            mine.add(theirs);
        }
        self.ties.add(other.ties);
    }
}

/// What arenas are drawn from.
struct Populations {
    plain: Popularity,
    style: Popularity,
    small: Popularity,
}

fn fitted(board: &Leaderboard) -> Result<&Fitted, Box<dyn Error + Send + Sync>> {
    board
        .main()
        .fitted
        .as_ref()
        .ok_or_else(|| "nobody could be rated".into())
}

/// One arena of each size, and everything that is said of it.
fn arena(
    idx: usize,
    seed: u64,
    populations: &Populations,
) -> Result<Seen, Box<dyn Error + Send + Sync>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(idx as u64);
    let mut seen = Seen::default();
    let options = |anchor, covariance| LeaderboardOptions {
        anchor,
        covariance,
        level: LEVEL,
        ..LeaderboardOptions::default()
    };

    let truth = strengths(MODELS, &mut rng);
    let comparisons = plain_arena(&truth, &populations.plain, &mut rng)?;
    for model in 0..MODELS {
        let record = comparisons.record(model);
        seen.ties.add(Share {
            held: record.ties,
            all: record.battles,
        });
    }
    let variants = [
        (0, Anchor::Mean, CovarianceMethod::Sandwich),
        (1, Anchor::WeightedMean, CovarianceMethod::Sandwich),
        (2, Anchor::Mean, CovarianceMethod::ModelBased),
    ];
    for (kind, anchor, covariance) in variants {
        let options = options(anchor, covariance);
        let board = leaderboard(&comparisons, &options)?;
        let fitted = fitted(&board)?;
        count_board(
            &mut seen.kinds[kind],
            &truth,
            board.main(),
            fitted,
            &options,
        );
        if kind == 0 {
            count_together(&mut seen.together[0], &truth, fitted, &options)?;
            if idx.is_multiple_of(BOOTSTRAP_EVERY) {
                let rounds = BootstrapOptions {
                    rounds: BOOTSTRAP_ROUNDS,
                    seed: idx as u64,
                    ..BootstrapOptions::default()
                };
                let drawn = bootstrap(&comparisons, fitted, &options, &rounds)?;
                let coverage = &mut seen.kinds[5];
                coverage.arenas += 1;
                coverage.absent += (MODELS - fitted.models.len()) as u64;
                for (number, rating) in true_ratings(&truth, fitted, &options)
                    .into_iter()
                    .enumerate()
                {
                    let interval = drawn.interval(number, LEVEL)?;
                    coverage.count(
                        fitted.models[number],
                        rating,
                        interval.map(|interval| (interval.lower, interval.upper)),
                    );
                }
            }
        }
    }

    let (truth, comparisons) = style_arena(&populations.style, &mut rng)?;
    for (kind, anchor) in [(3, Anchor::Mean), (4, Anchor::WeightedMean)] {
        let options = options(anchor, CovarianceMethod::Sandwich);
        let board = leaderboard(&comparisons, &options)?;
        count_board(
            &mut seen.kinds[kind],
            &truth,
            board.main(),
            fitted(&board)?,
            &options,
        );
    }

    let options = options(Anchor::Mean, CovarianceMethod::Sandwich);
    let mut truth = strengths(MODELS_OF_SMALL, &mut rng);
    for kind in [1, 2] {
        if kind == 2 {
            // Every claim to be first is wrong now.
            truth.sort_by(f64::total_cmp);
            truth[MODELS_OF_SMALL - 2] = truth[MODELS_OF_SMALL - 1];
        }
        let comparisons = plain_arena(&truth, &populations.small, &mut rng)?;
        let board = leaderboard(&comparisons, &options)?;
        count_together(&mut seen.together[kind], &truth, fitted(&board)?, &options)?;
    }
    Ok(seen)
}

#[expect(
    clippy::print_stdout,
    reason = "a program for people: its output is the table"
)]
fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_arguments(std::env::args().skip(1))?;
    let started = Instant::now();
    let populations = Populations {
        plain: Popularity::up_to(MOST_BATTLES),
        style: Popularity::up_to(MOST_BATTLES_WITH_STYLE),
        small: Popularity::equal(MODELS_OF_SMALL, BATTLES_EACH_OF_SMALL),
    };
    let next = AtomicUsize::new(0);
    let work = || -> Result<Seen, Box<dyn Error + Send + Sync>> {
        let mut seen = Seen::default();
        loop {
            let idx = next.fetch_add(1, Ordering::Relaxed);
            if idx >= options.arenas {
                return Ok(seen);
            }
            seen.add(&arena(idx, options.seed, &populations)?);
        }
    };
    let parts: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads.get())
            .map(|_| scope.spawn(work))
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| "a thread panicked"))
            .collect()
    });
    let mut seen = Seen::default();
    for part in parts {
        seen.add(&part?.map_err(|error| error as Box<dyn Error>)?);
    }

    println!(
        "{MODELS} models; {} battles an arena, {} with style features; {} ties; seed {}; {:.0} s\n",
        populations.plain.battles,
        populations.style.battles,
        seen.ties.text(),
        options.seed,
        started.elapsed().as_secs_f64()
    );
    println!(
        "| 95 % intervals | arenas | all models | fewest battles (15) | the ten with fewest | in the middle | most battles | coefficients | models without one |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, coverage) in KINDS.iter().zip(&seen.kinds) {
        println!("{}", coverage.row(name));
    }
    println!(
        "\n| statements that hold together, 95 % | arenas | all intervals of an arena | all places of an arena | true claims to be first with 50 % | with 80 % | with 95 % |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, together) in TOGETHER.iter().zip(&seen.together) {
        println!("{}", together.row(name));
    }
    Ok(())
}
