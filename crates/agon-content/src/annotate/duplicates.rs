//! Duplicates: prompts asked more than once, to the letter or nearly, about the same picture.
//!
//! Two passes over the rows of a dataset: [`DuplicateScan::add`] for each row in order, then [`Duplicates::label`] for any.
//! Nothing is deleted: the labels say what is a repetition, and whoever reads them decides.
//!
//! # Definitions
//!
//! - A prompt is the text of the user messages, joined by a line feed, and the picture.
//!   Prompts about two pictures are never duplicates of each other.
//! - **Exact**: the same after NFKC, lower case, no invisible format characters and single blanks for white space.
//! - **Near**: sets of five-letter shingles (letters and digits, single blanks) whose Jaccard similarity, estimated by MinHash (64 values, 16 bands of 4), reaches [`DuplicateOptions::similarity_min`].
//!   Nearness is passed on: a cluster holds whatever a chain of near prompts connects.
//!   (Broder, *On the resemblance and containment of documents*, 1997; bands as in Leskovec, Rajaraman and Ullman, *Mining of Massive Datasets*, chapter 3.)
//! - **`dedup_tag`**, as the set of 100,000 battles has it: a prompt is of high frequency when it is asked exactly more often than the quantile [`DuplicateOptions::percentile`] of the counts of all prompts; of such a prompt, as many rows stay `sampled` as the quantile says, rounded down.
//!   All other rows are sampled.
//!
//! The same rows in the same order give the same labels on every machine.
//!
//! # Cost
//!
//! A pass takes time linear in the text.
//! Memory: at most about 220 bytes a different prompt and 8 bytes a row, whatever their length.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};
use unicode_normalization::UnicodeNormalization as _;

use super::Annotator;

/// The annotator of this module.
pub const DUPLICATES_ANNOTATOR: Annotator = Annotator {
    name: "duplicates",
    version: 1,
};

/// Values of a signature.
const N_VALUES: usize = 64;
/// Values of a band: prompts that share all values of a band are compared.
const BAND_VALUES: usize = 4;
/// Characters of a shingle.
const SHINGLE_CHARACTERS: usize = 5;
/// How many different prompts of one band's bucket each further one is compared with.
const COMPARED_MAX: usize = 64;

/// What counts as a duplicate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DuplicateOptions {
    /// Least similarity of near duplicates, above 0 and at most 1.
    pub similarity_min: f64,
    /// The quantile of counts above which a prompt is of high frequency, from 0 to 1.
    pub percentile: f64,
    /// Chooses which rows of such a prompt stay sampled.
    pub seed: u64,
}

impl Default for DuplicateOptions {
    /// 0.8; 0.9999 and 42, as published.
    fn default() -> Self {
        Self {
            similarity_min: 0.8,
            percentile: 0.9999,
            seed: 42,
        }
    }
}

/// Options that mean nothing.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum DuplicateOptionsError {
    /// The similarity is out of range.
    #[error("least similarity of duplicates is `{0}`, but has to be above 0 and at most 1")]
    Similarity(f64),
    /// The quantile is out of range.
    #[error("quantile of counts of prompts is `{0}`, but has to be from 0 to 1")]
    Percentile(f64),
}

/// `dedup_tag` of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DedupTag {
    /// Whether the prompt is asked unusually often.
    pub high_freq: bool,
    /// Whether the row is kept when such prompts are thinned out.
    pub sampled: bool,
}

/// The label of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuplicateLabel {
    /// The first row of the cluster of near duplicates: its id.
    pub cluster: usize,
    /// How many rows the cluster has, this one included.
    pub n_cluster: usize,
    /// The first row with exactly this prompt.
    pub exact: usize,
    /// How many rows have exactly this prompt, this one included.
    pub n_exact: usize,
    /// The published tag.
    pub dedup_tag: DedupTag,
}

/// A prompt that differs from all before it.
#[derive(Clone, Copy, Debug)]
struct Distinct {
    first_row: usize,
    n_rows: usize,
    /// What two near duplicates have in common to the bit: the picture.
    image: u64,
    signature: [u16; N_VALUES],
}

/// The first pass.
#[derive(Clone, Debug)]
pub struct DuplicateScan {
    options: DuplicateOptions,
    exact: HashMap<u128, usize>,
    distinct: Vec<Distinct>,
    rows: Vec<usize>,
    signer: Signer,
}

impl DuplicateScan {
    /// Starts a pass.
    ///
    /// # Errors
    ///
    /// A number of `options` is out of its range.
    pub fn new(options: DuplicateOptions) -> Result<Self, DuplicateOptionsError> {
        if !(options.similarity_min > 0.0 && options.similarity_min <= 1.0) {
            return Err(DuplicateOptionsError::Similarity(options.similarity_min));
        }
        if !(0.0..=1.0).contains(&options.percentile) {
            return Err(DuplicateOptionsError::Percentile(options.percentile));
        }
        Ok(Self {
            options,
            exact: HashMap::new(),
            distinct: Vec::new(),
            rows: Vec::new(),
            signer: Signer::new(),
        })
    }

    /// Reads the next row: its user messages joined by a line feed, and what identifies its picture, such as the hash of its bytes.
    pub fn add(&mut self, prompt: &str, image: Option<&[u8]>) {
        let text = normalised(prompt);
        let key = exact_key(&text, image);
        let next = self.distinct.len();
        let found = *self.exact.entry(key).or_insert(next);
        if found == next {
            self.distinct.push(Distinct {
                first_row: self.rows.len(),
                n_rows: 0,
                image: image_key(image),
                signature: self.signer.sign(&text),
            });
        }
        self.distinct[found].n_rows += 1;
        self.rows.push(found);
    }

    /// Ends the pass: finds the near duplicates and the prompts of high frequency.
    pub fn finish(self) -> Duplicates {
        let Self {
            options,
            exact,
            distinct,
            rows,
            ..
        } = self;
        drop(exact);
        let clusters = near_clusters(&distinct, options.similarity_min);
        let mut n_cluster = vec![0; distinct.len()];
        for (prompt, cluster) in distinct.iter().zip(&clusters) {
            n_cluster[*cluster] += prompt.n_rows;
        }
        let cut_off = quantile(
            distinct.iter().map(|prompt| prompt.n_rows).collect(),
            options.percentile,
        );
        let dropped = dropped_rows(&distinct, &rows, cut_off, options.seed);
        let n_clusters = n_cluster.iter().filter(|n| **n > 0).count();
        Duplicates {
            prompts: distinct
                .iter()
                .zip(&clusters)
                .map(|(prompt, cluster)| Prompt {
                    exact: prompt.first_row,
                    n_exact: prompt.n_rows,
                    cluster: distinct[*cluster].first_row,
                    n_cluster: n_cluster[*cluster],
                })
                .collect(),
            rows,
            dropped,
            cut_off,
            n_clusters,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Prompt {
    exact: usize,
    n_exact: usize,
    cluster: usize,
    n_cluster: usize,
}

/// What the first pass found, for the second.
#[derive(Clone, Debug)]
pub struct Duplicates {
    prompts: Vec<Prompt>,
    rows: Vec<usize>,
    /// Rows that are not sampled, in order.
    dropped: Vec<usize>,
    cut_off: f64,
    n_clusters: usize,
}

impl Duplicates {
    /// How many rows were read.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// How many prompts differ exactly.
    pub fn n_exact(&self) -> usize {
        self.prompts.len()
    }

    /// How many clusters of near duplicates there are, those of one row included.
    pub fn n_clusters(&self) -> usize {
        self.n_clusters
    }

    /// How often a prompt may be asked without being of high frequency.
    pub fn cut_off(&self) -> f64 {
        self.cut_off
    }

    /// The label of the row that was read after `row_idx` others, or `None` if fewer were read.
    pub fn label(&self, row_idx: usize) -> Option<DuplicateLabel> {
        let prompt = self.prompts[*self.rows.get(row_idx)?];
        Some(DuplicateLabel {
            cluster: prompt.cluster,
            n_cluster: prompt.n_cluster,
            exact: prompt.exact,
            n_exact: prompt.n_exact,
            dedup_tag: DedupTag {
                high_freq: is_above(prompt.n_exact, self.cut_off),
                sampled: self.dropped.binary_search(&row_idx).is_err(),
            },
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "rows are fewer than 2^52")]
fn is_above(n_rows: usize, cut_off: f64) -> bool {
    n_rows as f64 > cut_off
}

/// The quantile of counts, interpolated linearly, as pandas has it. 0 of nothing.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rows are fewer than 2^52, and the position lies between 0 and their number"
)]
fn quantile(mut counts: Vec<usize>, percentile: f64) -> f64 {
    if counts.is_empty() {
        return 0.0;
    }
    counts.sort_unstable();
    let position = percentile * (counts.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(counts.len() - 1);
    let part = position - below as f64;
    let (low, high) = (counts[below] as f64, counts[above] as f64);
    low + (high - low) * part
}

/// The rows of prompts of high frequency but for as many of each as `cut_off` says, in order.
fn dropped_rows(distinct: &[Distinct], rows: &[usize], cut_off: f64, seed: u64) -> Vec<usize> {
    let mut candidates: Vec<(usize, u64, usize)> = rows
        .iter()
        .enumerate()
        .filter(|(_, prompt)| is_above(distinct[**prompt].n_rows, cut_off))
        .map(|(row, prompt)| (*prompt, mixed(seed ^ mixed(row as u64)), row))
        .collect();
    candidates.sort_unstable();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of rows, rounded down as published"
    )]
    let n_kept = cut_off as usize;
    let mut dropped: Vec<usize> = candidates
        .chunk_by(|a, b| a.0 == b.0)
        .flat_map(|group| group.iter().skip(n_kept).map(|(_, _, row)| *row))
        .collect();
    dropped.sort_unstable();
    dropped
}

/// For each prompt, the first one of its cluster.
fn near_clusters(distinct: &[Distinct], similarity_min: f64) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..distinct.len()).collect();
    let mut keys: Vec<(u64, usize)> = Vec::with_capacity(distinct.len());
    for band in 0..N_VALUES / BAND_VALUES {
        keys.clear();
        keys.extend(distinct.iter().enumerate().map(|(at, prompt)| {
            let values = &prompt.signature[band * BAND_VALUES..][..BAND_VALUES];
            let key = values
                .iter()
                .fold(0, |key, value| key << 16 | u64::from(*value));
            (mixed(key ^ prompt.image), at)
        }));
        keys.sort_unstable();
        for bucket in keys.chunk_by(|a, b| a.0 == b.0) {
            let mut compared: Vec<usize> = Vec::new();
            for (_, at) in bucket {
                let near = compared
                    .iter()
                    .find(|other| is_near(&distinct[*at], &distinct[**other], similarity_min));
                match near {
                    Some(other) => unite(&mut parents, *at, *other),
                    None if compared.len() < COMPARED_MAX => compared.push(*at),
                    None => {}
                }
            }
        }
    }
    (0..distinct.len())
        .map(|at| root(&mut parents, at))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "at most 64 values")]
fn is_near(a: &Distinct, b: &Distinct, similarity_min: f64) -> bool {
    let n_equal = a
        .signature
        .iter()
        .zip(&b.signature)
        .filter(|(a, b)| a == b)
        .count();
    a.image == b.image && n_equal as f64 >= similarity_min * N_VALUES as f64
}

fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

/// Joins two clusters under the earlier prompt.
fn unite(parents: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(parents, a), root(parents, b));
    parents[a.max(b)] = a.min(b);
}

/// The text by which prompts are compared exactly.
fn normalised(prompt: &str) -> String {
    let mut text = String::with_capacity(prompt.len());
    for character in prompt.nfkc().flat_map(char::to_lowercase) {
        if character.is_whitespace() {
            if !text.is_empty() && !text.ends_with(' ') {
                text.push(' ');
            }
        } else if !is_invisible(character) {
            text.push(character);
        }
    }
    if text.ends_with(' ') {
        text.pop();
    }
    text
}

/// Characters that nobody sees: soft hyphen, joiners, direction marks, byte order mark, tags, variation selectors.
const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Half a SHA-256: two prompts that differ have the same one with a probability that does not matter.
fn exact_key(text: &str, image: Option<&[u8]>) -> u128 {
    let mut hash = Sha256::new();
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
    if let Some(image) = image {
        hash.update([1]);
        hash.update(image);
    }
    let mut key = [0; 16];
    key.copy_from_slice(&hash.finalize()[..16]);
    u128::from_le_bytes(key)
}

fn image_key(image: Option<&[u8]>) -> u64 {
    let Some(image) = image else { return 0 };
    let mut key = [0; 8];
    key.copy_from_slice(&Sha256::digest(image)[..8]);
    // Zero is no picture.
    u64::from_le_bytes(key).max(1)
}

/// Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, 2014: the mixing of SplitMix64.
const fn mixed(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// Makes signatures.
#[derive(Clone, Debug)]
struct Signer {
    factors: [u64; N_VALUES],
}

impl Signer {
    fn new() -> Self {
        // Odd factors: multiplication by one and taking the upper half is a hash function for each.
        Self {
            factors: std::array::from_fn(|at| mixed(at as u64) | 1),
        }
    }

    /// The least hash of all shingles, for each of 64 hash functions.
    fn sign(&self, text: &str) -> [u16; N_VALUES] {
        let mut least = [u32::MAX; N_VALUES];
        let mut add = |shingle: &[char]| {
            let hash = shingle.iter().fold(0, |hash, letter| {
                mixed(hash ^ u64::from(u32::from(*letter)))
            });
            for (least, factor) in least.iter_mut().zip(&self.factors) {
                let value = (hash.wrapping_mul(*factor) >> 32) as u32;
                *least = value.min(*least);
            }
        };
        let mut window: Vec<char> = Vec::with_capacity(SHINGLE_CHARACTERS + 1);
        let mut n_shingles = 0_usize;
        for character in text.chars() {
            let letter = if character.is_alphanumeric() {
                character
            } else {
                ' '
            };
            if letter == ' ' && matches!(window.last(), None | Some(' ')) {
                continue;
            }
            window.push(letter);
            if window.len() > SHINGLE_CHARACTERS {
                window.remove(0);
            }
            if window.len() == SHINGLE_CHARACTERS {
                add(&window);
                n_shingles += 1;
            }
        }
        if n_shingles == 0 {
            // Too short for a shingle, or signs only: the text itself is the only one.
            add(&text.chars().collect::<Vec<char>>());
        }
        #[expect(clippy::cast_possible_truncation, reason = "the lower half of each")]
        least.map(|value| value as u16)
    }
}

#[cfg(test)]
mod tests;
