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

/// How long a word is that the built-in list is asked about, in bytes.
const WORD_BYTES: std::ops::RangeInclusive<usize> = 3..=20;

/// What is searched for, and from when it counts.
#[derive(Clone, Debug)]
pub struct WordOptions {
    /// Whether the built-in English list is used.
    pub built_in: bool,
    /// The operator's lists, each with its version: a date or a hash, so that findings by an older list are out of date.
    pub lists: Vec<(WordList, String)>,
    /// From which score words of the built-in list count: `offensive` (slurs), `sexual`, `harassment`, `profanity`. Above 1 for never.
    pub built_in_thresholds: [f64; 4],
    /// From which score entries of the operator's lists count.
    pub list_threshold: f64,
}

impl Default for WordOptions {
    /// The built-in list alone, whose words are kept and decide nothing: on published cases it tells hateful texts from others no better than chance.
    fn default() -> Self {
        Self {
            built_in: true,
            lists: Vec::new(),
            built_in_thresholds: [2.0; 4],
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
                let bytes = unmasked.source_range(text, word.start()..word.end());
                // Digits stand for letters in words only: `455` is a number.
                if text[bytes.clone()].chars().any(char::is_alphabetic) {
                    hit(entries[n], bytes);
                }
                at = word.end();
            }
        }
        for (regex, index) in &list.patterns {
            for found in regex.find_iter(text) {
                hit(*index, found.range());
            }
        }
    }

    /// The built-in list is asked word by word: across words and in code, numbers and other scripts it sees what is not there.
    fn find_built_in(&self, text: &str, hits: &mut Vec<Hit>) {
        for word in words(text) {
            for (n, severity) in judged(&text[word.clone()]).into_iter().enumerate() {
                if let Some(severity) = severity {
                    self.hit(n, severity, word.clone(), hits);
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

/// The words that the built-in list is asked about: short, of ASCII, and mostly of letters.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '@' | '$' | '!' | '*');
    let base = text.as_ptr() as usize;
    text.split(move |c| !is_part(c)).filter_map(move |word| {
        let word = word.trim_matches(|c: char| matches!(c, '!' | '*'));
        let n_letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
        let is_asked = WORD_BYTES.contains(&word.len()) && word.is_ascii();
        let start = word.as_ptr() as usize - base;
        (is_asked && 2 * n_letters >= word.len()).then(|| start..start + word.len())
    })
}
