//! Models, voters and battles: what is true, and what is drawn.

use rand::{Rng, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::options::Options;

pub(crate) const WINNERS: [&str; 4] = ["model_a", "model_b", "tie", "tie (bothbad)"];
/// The style features in the order of their effects.
pub(crate) const FEATURES: [&str; 4] = ["length", "headers", "lists", "bold"];
/// Four times the share of ties among equals; over all pairs about 37 per cent are ties then.
pub(crate) const TIE_FACTOR: f64 = 1.85;

const STRENGTH_SD: f64 = 0.6;
/// Added to the log-odds of a tie being *both bad*, which they are a little more often than not.
const BOTH_BAD_SHIFT: f64 = 0.13;
/// Voters who vote in turns; each stays until all votes that it has in it are given.
const VOTERS_AT_ONCE: usize = 64;
const YEAR_SECONDS: f64 = 31_536_000.0;
const START: f64 = 1_709_251_200.0;

/// Rows of VisionArena-Battle by language.
const LANGUAGES: [(&str, f64); 24] = [
    ("English", 18_483.0),
    ("Russian", 3_211.0),
    ("Chinese", 2_326.0),
    ("Vietnamese", 1_320.0),
    ("unknown", 633.0),
    ("Spanish", 615.0),
    ("German", 475.0),
    ("Japanese", 438.0),
    ("Portuguese", 399.0),
    ("Korean", 312.0),
    ("French", 303.0),
    ("Italian", 142.0),
    ("Turkish", 140.0),
    ("Persian", 111.0),
    ("Serbian", 109.0),
    ("Indonesian", 105.0),
    ("Polish", 101.0),
    ("Arabic", 96.0),
    ("Czech", 84.0),
    ("Bulgarian", 76.0),
    ("Ukrainian", 66.0),
    ("Dutch", 32.0),
    ("Hebrew", 19.0),
    ("Thai", 18.0),
];
/// Rows of VisionArena-Battle with 1, 2, … turns.
const TURNS: [f64; 12] = [
    25_713.0, 2_624.0, 813.0, 314.0, 165.0, 79.0, 39.0, 30.0, 25.0, 19.0, 14.0, 14.0,
];
/// Judges of VisionArena-Battle with 1, 2, … 10 votes; the last number is of those with more.
const JUDGES_BY_VOTES: [f64; 11] = [
    8_447.0, 2_474.0, 1_030.0, 542.0, 315.0, 186.0, 146.0, 105.0, 82.0, 56.0, 272.0,
];
/// Votes beyond ten of a judge with more than ten, on average.
const MORE_VOTES: f64 = 9.0;

/// Flags of `category_tag` with the share of battles that have them.
pub(crate) const CATEGORY_TAGS: [(&str, f32); 29] = [
    ("math", 0.08),
    ("coding", 0.21),
    ("creative_writing", 0.13),
    ("instruction_following", 0.28),
    ("multi_turn", 0.14),
    ("longer_query", 0.19),
    ("hard_prompts", 0.36),
    ("hard_prompts_english", 0.22),
    ("expert", 0.06),
    ("no_refusal", 0.95),
    ("english", 0.62),
    ("non_english", 0.38),
    ("chinese", 0.08),
    ("french", 0.012),
    ("german", 0.016),
    ("italian", 0.006),
    ("japanese", 0.015),
    ("korean", 0.011),
    ("polish", 0.006),
    ("russian", 0.11),
    ("spanish", 0.02),
    ("software", 0.24),
    ("writing_and_language", 0.18),
    ("science", 0.12),
    ("entertainment", 0.1),
    ("business", 0.09),
    ("mathematical", 0.07),
    ("legal", 0.04),
    ("medicine", 0.05),
];

pub(crate) struct Model {
    pub(crate) name: String,
    /// In nats, mean 0 over the models.
    pub(crate) strength: f64,
    popularity: f64,
    /// Mean of the logarithm of an answer's tokens.
    verbosity: f64,
    /// How much it likes headers, lists and bold text, relative to the others.
    markup: [f64; 3],
}

#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) tokens: i64,
    pub(crate) headers: [i64; 6],
    pub(crate) lists: [i64; 2],
    pub(crate) bolds: [i64; 2],
}

impl Answer {
    fn totals(&self) -> [f64; 4] {
        let sum = |counts: &[i64]| counts.iter().sum::<i64>() as f64;
        [
            self.tokens as f64,
            sum(&self.headers),
            sum(&self.lists),
            sum(&self.bolds),
        ]
    }
}

pub(crate) struct Battle {
    pub(crate) question_id: u128,
    pub(crate) judge: u128,
    /// Places in the list of models.
    pub(crate) models: [usize; 2],
    /// Place in [`WINNERS`].
    pub(crate) winner: usize,
    pub(crate) turns: i64,
    pub(crate) language: &'static str,
    /// Seconds since 1970.
    pub(crate) tstamp: f64,
    pub(crate) user_tokens: i64,
    pub(crate) answers: [Answer; 2],
    /// Bit i is flag i of [`CATEGORY_TAGS`].
    pub(crate) tags: u32,
}

impl Battle {
    /// (a − b) / (a + b + 1) of the four [`FEATURES`].
    pub(crate) fn style_differences(&self) -> [f64; 4] {
        style_differences(&self.answers)
    }
}

fn style_differences(answers: &[Answer; 2]) -> [f64; 4] {
    let [a, b] = answers.each_ref().map(Answer::totals);
    std::array::from_fn(|idx| (a[idx] - b[idx]) / (a[idx] + b[idx] + 1.0))
}

struct Voter {
    id: u128,
    votes_left: u64,
}

/// Everything that battles are drawn from.
pub(crate) struct World {
    pub(crate) models: Vec<Model>,
    popularity: Vec<f64>,
    languages: Vec<f64>,
    turns: Vec<f64>,
    judges_by_votes: Vec<f64>,
    voters: Vec<Voter>,
    n_voters: u64,
    style_effects: [f64; 4],
    seconds_per_row: f64,
    rng: ChaCha8Rng,
    /// A stream of its own, so that votes are the same with and without tags; absent when they are not written.
    tag_rng: Option<ChaCha8Rng>,
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

/// A whole number ≥ 0 with this mean, each next one less likely by the same factor.
fn geometric(mean: f64, rng: &mut impl Rng) -> i64 {
    ((1.0 - rng.random::<f64>()).ln() / (mean / (1.0 + mean)).ln()) as i64
}

fn cumulated(weights: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let weights = weights.into_iter();
    weights
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect()
}

fn models(n: usize, rng: &mut impl Rng) -> Vec<Model> {
    let families = [
        "aurora", "basalt", "cedar", "delta", "ember", "fjord", "grove",
    ];
    let mut models: Vec<Model> = (0..n)
        .map(|idx| {
            let strength = STRENGTH_SD * normal(rng);
            Model {
                name: format!("{}-vision-{:03}", families[idx % families.len()], idx + 1),
                strength,
                popularity: (0.7 * normal(rng)).exp(),
                verbosity: 5.5 + 0.25 * normal(rng) + 0.2 * strength,
                markup: std::array::from_fn(|_| (0.4 * normal(rng) + 0.3 * strength).exp()),
            }
        })
        .collect();
    let mean = models.iter().map(|model| model.strength).sum::<f64>() / n as f64;
    for model in &mut models {
        model.strength -= mean;
    }
    models
}

/// Tokens are log-normal; markup grows with length, and many answers have none of a kind.
fn answer(model: &Model, rng: &mut impl Rng) -> Answer {
    let tokens = (model.verbosity + 0.7 * normal(rng))
        .exp()
        .clamp(5.0, 8_000.0);
    let length = (tokens / 300.0).sqrt();
    let mut answer = Answer {
        tokens: tokens as i64,
        ..Answer::default()
    };
    let [headers, lists, bolds] = model.markup;
    if rng.random::<f64>() < 0.15 * headers {
        for (level, mean) in [(0, 0.05), (1, 0.5), (2, 0.9), (3, 0.3)] {
            answer.headers[level] = geometric(mean * length, rng);
        }
        // Deep headers are rare, and so is what follows them.
        if rng.random::<f64>() < 0.05 {
            answer.headers[4] = 1 + geometric(0.5, rng);
            answer.headers[5] = geometric(0.2, rng);
        }
    }
    if rng.random::<f64>() < 0.3 * lists {
        answer.lists[0] = geometric(1.8 * length, rng);
    }
    if rng.random::<f64>() < 0.35 * lists {
        answer.lists[1] = geometric(2.0 * length, rng);
    }
    if rng.random::<f64>() < 0.4 * bolds {
        answer.bolds[0] = geometric(4.5 * length, rng);
    }
    if rng.random::<f64>() < 0.015 {
        answer.bolds[1] = 1 + geometric(0.2, rng);
    }
    answer
}

/// An outcome whose score of side A is 1 / (1 + exp(−gap)) on average, and the kind of a tie by the models' quality.
fn winner(gap: f64, strengths: f64, rng: &mut impl Rng) -> usize {
    let score = 1.0 / (1.0 + (-gap).exp());
    let tie = TIE_FACTOR * score * (1.0 - score);
    let roll = rng.random::<f64>();
    if roll < score - tie / 2.0 {
        0
    } else if roll < 1.0 - tie {
        1
    } else {
        let both_good = 1.0 / (1.0 + (BOTH_BAD_SHIFT - strengths).exp());
        if rng.random::<f64>() < both_good {
            2
        } else {
            3
        }
    }
}

impl World {
    pub(crate) fn new(options: &Options) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        let models = models(options.models, &mut rng);
        let tag_rng = options.columns.contains(&"category_tag").then(|| {
            let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
            rng.set_stream(1);
            rng
        });
        Self {
            popularity: cumulated(models.iter().map(|model| model.popularity)),
            models,
            languages: cumulated(LANGUAGES.iter().map(|(_, rows)| *rows)),
            turns: cumulated(TURNS),
            judges_by_votes: cumulated(JUDGES_BY_VOTES),
            voters: Vec::new(),
            n_voters: 0,
            style_effects: options.style_effects,
            seconds_per_row: YEAR_SECONDS / options.rows.max(1) as f64,
            rng,
            tag_rng,
        }
    }

    fn next_voter(&mut self) -> Voter {
        let mut votes_left = draw(&self.judges_by_votes, &mut self.rng) as u64 + 1;
        if votes_left == JUDGES_BY_VOTES.len() as u64 {
            votes_left += geometric(MORE_VOTES, &mut self.rng) as u64;
        }
        self.n_voters += 1;
        // An odd factor makes distinct numbers of distinct ones, and they look like hashes.
        let id = u128::from(self.n_voters).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        Voter { id, votes_left }
    }

    fn judge(&mut self) -> u128 {
        if self.voters.len() < VOTERS_AT_ONCE {
            let voter = self.next_voter();
            self.voters.push(voter);
        }
        let place = self.rng.random_range(0..self.voters.len());
        let id = self.voters[place].id;
        self.voters[place].votes_left -= 1;
        if self.voters[place].votes_left == 0 {
            self.voters[place] = self.next_voter();
        }
        id
    }

    fn pair(&mut self) -> [usize; 2] {
        let first = draw(&self.popularity, &mut self.rng);
        let second = loop {
            let second = draw(&self.popularity, &mut self.rng);
            if second != first {
                break second;
            }
        };
        // A fair coin of its own, although the draw above is even-handed already.
        if self.rng.random::<bool>() {
            [first, second]
        } else {
            [second, first]
        }
    }

    /// The next battle; `idx` is its place in time.
    pub(crate) fn battle(&mut self, idx: usize) -> Battle {
        let pair = self.pair();
        let answers = pair.map(|model| answer(&self.models[model], &mut self.rng));
        let style: f64 = style_differences(&answers)
            .iter()
            .zip(self.style_effects)
            .map(|(x, effect)| x * effect)
            .sum();
        let [a, b] = pair.map(|model| self.models[model].strength);
        let winner = winner(a - b + style, a + b, &mut self.rng);
        let judge = self.judge();
        let rng = &mut self.rng;
        let seconds = (idx as f64 + rng.random::<f64>()) * self.seconds_per_row;
        Battle {
            question_id: rng.random(),
            judge,
            models: pair,
            winner,
            turns: draw(&self.turns, rng) as i64 + 1,
            language: LANGUAGES[draw(&self.languages, rng)].0,
            tstamp: START + (seconds * 16.0).floor() / 16.0,
            user_tokens: (3.2 + 0.95 * normal(rng)).exp().clamp(1.0, 4_000.0) as i64,
            answers,
            tags: self.tag_rng.as_mut().map_or(0, tags),
        }
    }
}

fn tags(rng: &mut ChaCha8Rng) -> u32 {
    CATEGORY_TAGS
        .iter()
        .enumerate()
        .fold(0, |bits, (idx, (_, share))| {
            bits | (u32::from(rng.random::<f32>() < *share) << idx)
        })
}
