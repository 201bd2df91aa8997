//! The words around a value: which of them announce what, how far away they are, and which countries are named.
//!
//! All words of all rules are searched in one pass; a value then asks for the few that stand near it.

mod country;

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::{
    Entity,
    normalise::{ends_word, joins, starts_word},
    work,
};

pub(crate) use country::speaks;

/// How far in front of a value a word still counts, in bytes; the walk stops at six words or 40 characters before that.
const BEFORE_BYTES_MAX: usize = 160;
/// Words between a word and the value, at most, for the word to stand beside it.
const BESIDE_WORDS_MAX: u32 = 3;
/// Words between a word and the value, at most, for the word to count.
const NEAR_WORDS_MAX: u32 = 6;
/// Characters between a word and the value, at most.
const NEAR_CHARS_MAX: usize = 40;
/// Words between the value and a word after it, at most.
const AFTER_WORDS_MAX: u32 = 3;

/// What a word nearby says about a value, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// A word that many things share, some words away.
    SharedNear,
    /// A word of its own, some words away.
    Near,
    /// A word that many things share, right beside it.
    SharedBeside,
    /// A word of its own, right beside it.
    Beside,
    /// A word of its own, as a label: `word: value`.
    Label,
}

/// The words of all rules, ready to be searched; lists are by number of the word.
#[derive(Debug)]
pub(crate) struct Lexicon {
    automaton: AhoCorasick,
    words: Vec<&'static str>,
    /// What each word announces, and whether it is shared by many things; sorted by entity.
    announced: Vec<Vec<(Entity, bool)>>,
    /// The countries it names.
    countries: Vec<Vec<&'static str>>,
    /// Whether it stands in front of a number that is something else.
    references: Vec<bool>,
}

/// Words in front of a number that is something else.
const REFERENCES: &[&str] = &[
    "version",
    "isbn",
    "issn",
    "doi",
    "arxiv",
    "pmid",
    "rfc-editor",
    "chapter",
    "figure",
    "commit",
    "issue",
    "pull request",
    "cve-",
    "sha256",
    "md5",
    "uuid",
    "bug",
    "ticket",
    "article",
    "isbn-13",
];

impl Lexicon {
    /// Collects words with what they announce.
    pub(crate) fn new(
        words: impl Iterator<Item = (Entity, &'static [&'static str])>,
    ) -> Result<Self, aho_corasick::BuildError> {
        #[derive(Default)]
        struct Meaning {
            announced: BTreeMap<Entity, bool>,
            countries: Vec<&'static str>,
            reference: bool,
        }
        let mut meanings: BTreeMap<&'static str, Meaning> = BTreeMap::new();
        for (entity, list) in words {
            for word in list {
                let (word, shared) = word
                    .strip_prefix('~')
                    .map_or((*word, false), |word| (word, true));
                // A word of its own in one rule of an entity is one in all of them.
                let known = meanings
                    .entry(word)
                    .or_default()
                    .announced
                    .entry(entity)
                    .or_insert(shared);
                *known &= shared;
            }
        }
        for (country, names) in country::NAMES {
            for name in *names {
                meanings.entry(name).or_default().countries.push(country);
            }
        }
        for word in REFERENCES {
            meanings.entry(word).or_default().reference = true;
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(meanings.keys())?;
        let words = meanings.keys().copied().collect();
        let references = meanings.values().map(|meaning| meaning.reference).collect();
        let (announced, countries) = meanings
            .into_values()
            .map(|meaning| (meaning.announced.into_iter().collect(), meaning.countries))
            .unzip();
        Ok(Self {
            automaton,
            words,
            announced,
            countries,
            references,
        })
    }

    /// The words in a text, which must be in lower case.
    pub(crate) fn read<'r>(&'r self, lower: &'r str) -> Surroundings<'r> {
        let mut hits = Vec::new();
        work::count(lower.len());
        for hit in self.automaton.find_overlapping_iter(lower) {
            let (start, end) = (hit.start(), hit.end());
            let word = self.words[hit.pattern().as_usize()];
            if !starts_word(lower, start) {
                continue;
            }
            work::count(1);
            // An inflected or compound word ends where its letters end.
            let tail = || {
                lower[end..]
                    .chars()
                    .take_while(|next| joins(*next) && !next.is_ascii_digit())
            };
            let joined = word.ends_with(|last: char| joins(last));
            // Short words count only whole or with one more letter; longer ones may be inflected or begin a compound.
            let tail_max = match word.chars().count() {
                0..=3 => 0,
                4 => 1,
                _ => usize::MAX,
            };
            let is_whole =
                !joined || tail_max == usize::MAX || tail().take(tail_max + 1).count() <= tail_max;
            if is_whole && (tail_max > 0 || !joined || ends_word(lower, end)) {
                let tail: usize = if joined {
                    tail().map(char::len_utf8).sum()
                } else {
                    0
                };
                hits.push(Hit {
                    start,
                    end: end + tail,
                    word: hit.pattern().as_usize(),
                });
            }
        }
        // Hits are reported by where they end; values ask by it too.
        hits.sort_unstable_by_key(|hit| (hit.end, hit.start, hit.word));
        Surroundings {
            lexicon: self,
            lower,
            hits,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Hit {
    start: usize,
    end: usize,
    word: usize,
}

/// The announcing words of one text.
#[derive(Debug)]
pub(crate) struct Surroundings<'r> {
    lexicon: &'r Lexicon,
    lower: &'r str,
    hits: Vec<Hit>,
}

/// What stands around one value.
#[derive(Debug)]
pub(crate) struct Nearby<'r> {
    lexicon: &'r Lexicon,
    /// The words, each once, where it stands closest.
    words: Vec<(usize, Place)>,
}

impl Nearby<'_> {
    /// The strongest word for an entity.
    pub(crate) fn word(&self, entity: Entity) -> Option<(Strength, &'static str)> {
        self.words
            .iter()
            .filter_map(|(word, place)| {
                let announced = &self.lexicon.announced[*word];
                let meaning = announced[announced
                    .binary_search_by_key(&entity, |(entity, _)| *entity)
                    .ok()?];
                Some((place.strength(meaning.1), self.lexicon.words[*word]))
            })
            // Of equal ones the first, which is the closest.
            .reduce(|best, other| if other.0 > best.0 { other } else { best })
    }

    /// Whether this country is named; `None` when no country is.
    pub(crate) fn names(&self, country: &str) -> Option<bool> {
        self.words
            .iter()
            .flat_map(|(word, _)| &self.lexicon.countries[*word])
            .map(|named| *named == country)
            .reduce(|a, b| a || b)
    }

    /// Whether a version, ISBN or the like is announced.
    pub(crate) fn is_reference(&self) -> bool {
        self.words
            .iter()
            .any(|(word, place)| *place != Place::Near && self.lexicon.references[*word])
    }

    fn add(&mut self, word: usize, place: Place) {
        match self.words.iter_mut().find(|(known, _)| *known == word) {
            Some((_, known)) => *known = (*known).max(place),
            None => self.words.push((word, place)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Near,
    Beside,
    Label,
}

impl Place {
    fn strength(self, shared: bool) -> Strength {
        match (self, shared) {
            (Self::Label, false) => Strength::Label,
            (Self::Beside, false) => Strength::Beside,
            (Self::Label | Self::Beside, true) => Strength::SharedBeside,
            (Self::Near, false) => Strength::Near,
            (Self::Near, true) => Strength::SharedNear,
        }
    }
}

impl Surroundings<'_> {
    /// What stands around the value at `start..end`.
    pub(crate) fn around(&self, start: usize, end: usize) -> Nearby<'_> {
        let mut nearby = Nearby {
            lexicon: self.lexicon,
            words: Vec::new(),
        };
        let first = self.hits.partition_point(|hit| hit.end <= start);
        for hit in self.hits[..first].iter().rev() {
            work::count(1);
            if start - hit.end > BEFORE_BYTES_MAX {
                break;
            }
            if let Some(place) = place_before(&self.lower[hit.end..start]) {
                nearby.add(hit.word, place);
            }
        }
        for hit in &self.hits[self.hits.partition_point(|hit| hit.end <= end)..] {
            work::count(1);
            // Hits are sorted by their ends, and no word is longer than this.
            if hit.end > end + BEFORE_BYTES_MAX {
                break;
            }
            if hit.start >= end && is_shortly_after(&self.lower[end..hit.start]) {
                nearby.add(hit.word, Place::Near);
            }
        }
        nearby
    }

    /// Where the words that announce one of `entities` end, with the entity.
    pub(crate) fn announcements(
        &self,
        entities: &[Entity],
    ) -> impl Iterator<Item = (usize, Entity, &'static str)> {
        self.hits.iter().flat_map(move |hit| {
            self.lexicon.announced[hit.word]
                .iter()
                .filter(move |(entity, _)| entities.contains(entity))
                .map(move |(entity, _)| (hit.end, *entity, self.lexicon.words[hit.word]))
        })
    }
}

/// How close a word is whose distance to the value is this stretch.
fn place_before(between: &str) -> Option<Place> {
    let mut words = 0;
    let mut chars = 0;
    let mut lines = 0;
    let mut other_value = false;
    let mut digits = 0;
    let mut in_word = false;
    for character in between.chars() {
        chars += 1;
        lines += u32::from(character == '\n');
        let is_word = joins(character);
        words += u32::from(is_word && !in_word);
        in_word = is_word;
        digits = if character.is_ascii_digit() {
            digits + 1
        } else if character == ' ' || character == '\n' {
            0
        } else {
            digits
        };
        other_value |= digits >= 4;
        if chars > NEAR_CHARS_MAX || words > NEAR_WORDS_MAX || lines > 2 {
            return None;
        }
    }
    let place = if between
        .trim_matches(|edge: char| {
            matches!(
                edge,
                ' ' | '"' | '\'' | '`' | '*' | '|' | '\t' | '#' | '.' | '(' | '_'
            )
        })
        .chars()
        .all(|one| matches!(one, ':' | '=' | '"' | ' ' | '>'))
        && between.contains([':', '='])
    {
        Place::Label
    } else if words <= BESIDE_WORDS_MAX && lines == 0 {
        Place::Beside
    } else {
        Place::Near
    };
    match (other_value, place) {
        // The word belongs to the other value first; in a list it may still belong to this one.
        (true, Place::Near) => None,
        (true, _) => Some(Place::Near),
        (false, place) => Some(place),
    }
}

fn is_shortly_after(between: &str) -> bool {
    let mut words = 0;
    let mut in_word = false;
    for (count, character) in between.chars().enumerate() {
        let is_word = joins(character);
        words += u32::from(is_word && !in_word);
        in_word = is_word;
        if character == '\n'
            || character.is_ascii_digit()
            || count > NEAR_CHARS_MAX / 2
            || words > AFTER_WORDS_MAX
        {
            return false;
        }
    }
    true
}
