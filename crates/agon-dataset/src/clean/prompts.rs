//! Prompts that come too often: how many of their rows count.
//!
//! The reference's rule: of the counts of the distinct prompts, take the quantile 0.9999 (linear between neighbours); of a prompt that comes more often, only that many rows count, rounded down, drawn at random.
//! Rows of other prompts all count.
//!
//! Which rows are drawn is for the seed and their ids to say: those whose SHA-256 of seed, prompt and id is smallest.
//! The reference draws with a pseudo-random generator in the order of rows, so that counts agree with it and the rows drawn do not.

use unicode_normalization::UnicodeNormalization as _;

use super::{Facts, Fingerprint, fingerprint};
use crate::Role;

/// Characters of a prompt that are compared, as in the reference.
const KEY_CHARS_MAX: usize = 10_000;

/// What makes two prompts the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKey {
    /// The user messages of side A as they stand: the reference's way, which merges one sentence asked about many images.
    Text,
    /// The user messages of side A without regard to case, white space and compatibility forms (NFKC), together with their images.
    TextAndImages,
}

/// How often a prompt may count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopPrompts {
    /// What makes two prompts the same.
    pub key: PromptKey,
    /// The quantile of the prompts' counts, from 0 to 1, that is the most that count.
    pub quantile: f64,
    /// For the choice of the rows that count.
    pub seed: u64,
    /// Whether the other rows are excluded, or only tagged.
    pub excludes: bool,
}

impl TopPrompts {
    /// The reference's values: text alone, 0.9999, seed 42.
    pub const REFERENCE: Self = Self {
        key: PromptKey::Text,
        quantile: 0.9999,
        seed: 42,
        excludes: true,
    };
}

/// The tag of published releases, `dedup_tag`. Rankings keep the rows that are `sampled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DedupTag {
    /// Whether the prompt comes more often than counts.
    pub high_freq: bool,
    /// Whether the row counts: every row of a prompt that is not frequent, and the drawn rows of one that is.
    pub sampled: bool,
}

/// What the counting of prompts gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopPromptsAudit {
    /// What was asked for.
    pub options: TopPrompts,
    /// Rows with a prompt that were counted: those that no rule before excludes.
    pub n_rows: u64,
    /// Distinct prompts.
    pub n_prompts: u64,
    /// The quantile of their counts; `None` without prompts.
    pub cut_off: Option<f64>,
    /// Prompts that come more often than that.
    pub n_frequent_prompts: u64,
    /// Rows of these prompts.
    pub n_frequent_rows: u64,
    /// Rows drawn from these.
    pub n_sampled_rows: u64,
}

/// The key of a row's prompt; `None` without conversations or user messages.
pub(super) fn key(key: PromptKey, facts: &Facts<'_>) -> Option<Fingerprint> {
    let messages = facts.messages?.a;
    let prompts = messages.iter().filter(|message| message.role == Role::User);
    let mut text = String::new();
    let mut n_prompts = 0;
    for prompt in prompts.clone() {
        n_prompts += 1;
        let content = prompt.text.unwrap_or_default();
        match key {
            PromptKey::Text => text.push_str(content),
            PromptKey::TextAndImages => {
                let folded: String = content.nfkc().flat_map(char::to_lowercase).collect();
                for word in folded.split_whitespace() {
                    text.push_str(word);
                    text.push(' ');
                }
            }
        }
        text.push('\n');
    }
    if n_prompts == 0 {
        return None;
    }
    if let Some((end, _)) = text.char_indices().nth(KEY_CHARS_MAX) {
        text.truncate(end);
    }
    let mut parts: Vec<&[u8]> = vec![text.as_bytes()];
    if key == PromptKey::TextAndImages {
        parts.extend(prompts.flat_map(|prompt| prompt.images.iter().map(|id| id.as_bytes())));
    }
    Some(fingerprint(&parts))
}

/// The tag of each of `n_rows` rows that has a prompt, and the counts. The rows are gone over twice: the prompt of each, its number, its id.
///
/// Takes 24 bytes for each row with a prompt, 8 more for each distinct prompt, and the tags.
pub(super) fn tag<R: Iterator<Item = (Fingerprint, usize, Option<Fingerprint>)>>(
    options: TopPrompts,
    rows: impl Fn() -> R,
    n_rows: usize,
) -> (Vec<Option<DedupTag>>, TopPromptsAudit) {
    // Counted first: a list that grows as it is filled takes up to three times its memory.
    let mut sorted: Vec<(Fingerprint, u64, usize)> = Vec::with_capacity(rows().count());
    sorted.extend(rows().map(|(prompt, row, id)| {
        let mut name = [0; 9];
        let name = match id {
            Some(id) => {
                name[..8].copy_from_slice(&id.get().to_le_bytes());
                &name[..8]
            }
            // One byte more, so that no number is an id.
            None => {
                name[..8].copy_from_slice(&(row as u64).to_le_bytes());
                &name[..]
            }
        };
        let rank = fingerprint(&[
            &options.seed.to_le_bytes(),
            &prompt.get().to_le_bytes(),
            name,
        ]);
        (prompt, rank.get(), row)
    }));
    sorted.sort_unstable();
    let same =
        |first: &(Fingerprint, u64, usize), second: &(Fingerprint, u64, usize)| first.0 == second.0;
    let mut counts = Vec::with_capacity(sorted.chunk_by(same).count());
    counts.extend(sorted.chunk_by(same).map(<[_]>::len));
    counts.sort_unstable();
    let cut_off = quantile(&counts, options.quantile);
    let mut audit = TopPromptsAudit {
        options,
        n_rows: sorted.len() as u64,
        n_prompts: counts.len() as u64,
        cut_off,
        n_frequent_prompts: 0,
        n_frequent_rows: 0,
        n_sampled_rows: 0,
    };
    let mut tags = vec![None; n_rows];
    for group in sorted.chunk_by(same) {
        let is_frequent = cut_off.is_some_and(|cut_off| group.len() as f64 > cut_off);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a quantile of counts is a count, rounded down as the reference does"
        )]
        let n_sampled = if is_frequent {
            cut_off.unwrap_or_default() as usize
        } else {
            group.len()
        };
        if is_frequent {
            audit.n_frequent_prompts += 1;
            audit.n_frequent_rows += group.len() as u64;
            audit.n_sampled_rows += n_sampled as u64;
        }
        for (place, &(_, _, row)) in group.iter().enumerate() {
            tags[row] = Some(DedupTag {
                high_freq: is_frequent,
                sampled: place < n_sampled,
            });
        }
    }
    (tags, audit)
}

/// A quantile of sorted counts, linear between neighbours: NumPy's default, operation by operation, because the result is rounded down.
fn quantile(sorted: &[usize], quantile: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = quantile.clamp(0.0, 1.0) * last as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place between 0 and the last"
    )]
    let lower = place.floor() as usize;
    let from = sorted[lower] as f64;
    let to = sorted[(lower + 1).min(last)] as f64;
    let share = place - place.floor();
    Some(if share >= 0.5 {
        to - (to - from) * (1.0 - share)
    } else {
        from + (to - from) * share
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        // numpy.quantile([1, 2, 3, 10], q)
        for (q, expected) in [
            (0.0, 1.0),
            (0.5, 2.5),
            (0.9, 7.9),
            (1.0, 10.0),
            (0.25, 1.75),
        ] {
            let found = quantile(&[1, 2, 3, 10], q).unwrap();
            assert!((found - expected).abs() < 1e-12, "{q}: {found}");
        }
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[7], 0.9999), Some(7.0));
    }
}
