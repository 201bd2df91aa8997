//! Words of the built-in English list and of operators' lists, as findings.

use std::ops::Range;

use agon_domain::{DetectorIdentity, Finding, FindingKind};
use rustrict::{Censor, Type};

use super::{
    disguise::Unmasked,
    list::{Severity, WordList},
    places,
};

/// Raised with every change of rules or of the built-in list, which is that of rustrict 0.7.
const VERSION: u32 = 1;

/// The most characters of one line that are looked at in one piece by the built-in list.
const STRETCH_CHARS_MAX: usize = 2_000;

/// What is searched for, and from when it counts.
#[derive(Clone, Debug)]
pub struct WordOptions {
    /// Whether the built-in English list is used.
    pub built_in: bool,
    /// The operator's lists, each with its version: a date or a hash, so that findings by an older list are out of date.
    pub lists: Vec<(WordList, String)>,
    /// From which score words of the built-in list count: `offensive` (slurs), `sexual`, `harassment`, `profanity`.
    pub built_in_thresholds: [f64; 4],
    /// From which score entries of the operator's lists count.
    pub list_threshold: f64,
}

impl Default for WordOptions {
    /// The built-in list alone: severe slurs count; sexual, mean and profane words are kept and decide nothing.
    fn default() -> Self {
        Self {
            built_in: true,
            lists: Vec::new(),
            built_in_thresholds: [1.0, 2.0, 2.0, 2.0],
            list_threshold: 0.67,
        }
    }
}

/// The categories of the built-in list, in the order of [`WordOptions::built_in_thresholds`].
const CATEGORIES: [&str; 4] = ["offensive", "sexual", "harassment", "profanity"];

/// Finds listed words. Build it once.
#[derive(Clone, Debug)]
pub struct WordDetector {
    identity: DetectorIdentity,
    options: WordOptions,
}

/// Something found, before it is known where that is in characters.
struct Hit {
    bytes: Range<usize>,
    category: String,
    score: f64,
    threshold: f64,
}

impl WordDetector {
    /// A detector with these lists.
    pub fn new(options: WordOptions) -> Self {
        let mut version = VERSION.to_string();
        if options.built_in {
            version.push_str("+english");
        }
        for (_, list_version) in &options.lists {
            version.push('+');
            version.push_str(list_version);
        }
        Self {
            identity: DetectorIdentity::new("words", version),
            options,
        }
    }

    /// Name and version, as in its findings.
    pub const fn identity(&self) -> &DetectorIdentity {
        &self.identity
    }

    /// [`FindingKind::HarmfulText`].
    pub const fn screens_for(&self) -> &'static [FindingKind] {
        &[FindingKind::HarmfulText]
    }

    /// Every listed word in the text, those below the threshold too, in the order of their starts.
    pub fn find(&self, text: &str) -> Vec<Finding> {
        let mut hits = Vec::new();
        if self.options.built_in {
            self.find_built_in(text, &mut hits);
        }
        if !self.options.lists.is_empty() {
            let unmasked = Unmasked::new(text);
            for (list, _) in &self.options.lists {
                self.find_listed(text, &unmasked, list, &mut hits);
            }
        }
        hits.sort_by_key(|hit| (hit.bytes.start, hit.bytes.end));
        let at = places(text, hits.iter().map(|hit| hit.bytes.clone()));
        hits.into_iter()
            .zip(at)
            .map(|(hit, place)| Finding {
                detector: self.identity.clone(),
                kind: FindingKind::HarmfulText,
                category: hit.category,
                score: hit.score,
                threshold: hit.threshold,
                place,
            })
            .collect()
    }

    fn find_listed(&self, text: &str, unmasked: &Unmasked, list: &WordList, hits: &mut Vec<Hit>) {
        let mut hit = |index: usize, bytes: Range<usize>| {
            let entry = &list.entries[index];
            hits.push(Hit {
                bytes,
                category: entry.category.clone(),
                score: entry.severity.score(),
                threshold: self.options.list_threshold,
            });
        };
        for (regex, entries) in &list.words {
            let mut at = 0;
            // The character that ends one word may begin the next, so the search goes on at the end of the word and not of the match.
            while let Some(found) = regex.captures_at(&unmasked.text, at) {
                let group = (1..found.len()).find_map(|n| Some((n - 1, found.get(n)?)));
                let Some((n, word)) = group else { break };
                hit(
                    entries[n],
                    unmasked.source_range(text, word.start()..word.end()),
                );
                at = word.end();
            }
        }
        for (regex, index) in &list.patterns {
            for found in regex.find_iter(text) {
                hit(*index, found.range());
            }
        }
    }

    /// The built-in list tells of a stretch of text what is in it, not where: lines are asked first, then the words of lines that hold something.
    fn find_built_in(&self, text: &str, hits: &mut Vec<Hit>) {
        for stretch in stretches(text) {
            let whole = judged(&text[stretch.clone()]);
            if whole.iter().all(Option::is_none) {
                continue;
            }
            let mut is_placed = [false; 4];
            for word in words(text, stretch.clone()) {
                for (n, severity) in judged(&text[word.clone()]).into_iter().enumerate() {
                    // A word may look worse alone than where it stands.
                    let Some(severity) = severity.filter(|_| whole[n].is_some()) else {
                        continue;
                    };
                    is_placed[n] = true;
                    self.hit(n, severity, word.clone(), hits);
                }
            }
            for (n, severity) in whole.into_iter().enumerate() {
                if let Some(severity) = severity.filter(|_| !is_placed[n]) {
                    self.hit(n, severity, stretch.clone(), hits);
                }
            }
        }
    }

    fn hit(&self, category: usize, severity: Severity, bytes: Range<usize>, hits: &mut Vec<Hit>) {
        hits.push(Hit {
            bytes,
            category: CATEGORIES[category].to_owned(),
            score: severity.score(),
            threshold: self.options.built_in_thresholds[category],
        });
    }
}

/// What the built-in list says of a text, by category.
fn judged(text: &str) -> [Option<Severity>; 4] {
    let kinds = Censor::from_str(text).analyze();
    [Type::OFFENSIVE, Type::SEXUAL, Type::MEAN, Type::PROFANE].map(|kind| {
        [
            (Type::SEVERE, Severity::Severe),
            (Type::MODERATE, Severity::Moderate),
            (Type::MILD, Severity::Mild),
        ]
        .into_iter()
        .find(|(level, _)| kinds.is(kind & *level))
        .map(|(_, severity)| severity)
    })
}

/// Lines that hold something, long ones cut at white space.
fn stretches(text: &str) -> Vec<Range<usize>> {
    let mut stretches = Vec::new();
    let mut start = 0;
    let mut n_chars = 0;
    for (at, character) in text.char_indices() {
        n_chars += 1;
        let is_end = character == '\n'
            || (n_chars >= STRETCH_CHARS_MAX && character.is_whitespace())
            || n_chars >= 2 * STRETCH_CHARS_MAX;
        if is_end {
            stretches.push(start..at + character.len_utf8());
            start = at + character.len_utf8();
            n_chars = 0;
        }
    }
    stretches.push(start..text.len());
    stretches.retain(|range| !text[range.clone()].trim().is_empty());
    stretches
        .into_iter()
        .map(|range| {
            let line = &text[range.clone()];
            let start = range.start + (line.len() - line.trim_start().len());
            start..start + line.trim().len()
        })
        .collect()
}

/// What white space separates in a part of the text.
fn words(text: &str, part: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let base = text.as_ptr() as usize;
    text[part].split_whitespace().map(move |word| {
        let start = word.as_ptr() as usize - base;
        start..start + word.len()
    })
}
