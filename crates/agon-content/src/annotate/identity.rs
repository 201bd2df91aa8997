//! Identity: answers in which a model says who it is or who made it, and prompts that ask for it. A vote that knows the names is not blind.
//!
//! What counts is self-reference, not the mention of a name: "I am Claude" and "作为 OpenAI 开发的模型" are mentions, "Explain Claude Monet", "a palm tree" and "Which phones run Gemini?" are not.
//! Names are built in for the known families and vendors, and [`IdentityAnnotator::new`] takes those of the live catalogue beside them.
//! Text is folded first (lower case, compatibility forms, look-alike letters, invisible characters), so that "Chat\u{200b}GPT" and "Сlаudе" in Cyrillic are found.
//!
//! Answers and prompts are different questions: [`IdentityAnnotator::answer`] looks for a model that reveals itself, [`IdentityAnnotator::prompt`] for a voter who asks it to. A voter who writes "I am using Gemini" reveals nothing.
//!
//! Languages: Arabic, Chinese, Dutch, English, French, German, Hindi, Indonesian, Italian, Japanese, Korean, Persian, Polish, Portuguese, Russian, Spanish, Turkish, Ukrainian, Vietnamese.
//!
//! # Cost
//!
//! Time and memory are linear in the text, whatever stands in it. The first use compiles the patterns, once a process.
//!
//! # Limits
//!
//! A model that describes itself without a name ("made by the company behind Android"), spells it backwards, or puts it into a picture is not found.
//! A passage in quotation marks is taken for somebody else's words, unless the answer begins with it.

pub(crate) mod fold;
mod names;
mod patterns;

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};

use self::{
    fold::{Folded, fold, fold_literal},
    names::{ARENAS, Known, MODELS, Strength, VARIANTS, VENDORS},
    patterns::{Patterns, marker},
};
use super::Annotator;

/// The annotator of this module.
pub const IDENTITY_ANNOTATOR: Annotator = Annotator {
    name: "identity",
    version: 1,
};

/// A model of the live catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CatalogueModel<'a> {
    /// Its name, such as `pixtral-12b-2409`.
    pub name: &'a str,
    /// How else it is called, such as its name on the board.
    pub aliases: &'a [&'a str],
    /// Who makes it.
    pub vendor: Option<&'a str>,
}

/// What a name is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameOf {
    /// A model or a family of models.
    Model,
    /// Who makes models.
    Vendor,
    /// An arena or its operator.
    Arena,
}

impl NameOf {
    /// The code in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Vendor => "vendor",
            Self::Arena => "arena",
        }
    }
}

/// How an answer reveals who answers, or a prompt asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MentionKind {
    /// "I am X", "my name is X", "you are talking to X".
    Introduction,
    /// "I was made by V", "as an AI developed by V", "my creators at V".
    Origin,
    /// "I run on X".
    Basis,
    /// "As X, I cannot".
    Speaker,
    /// A name where the answer to the question for it stands. Only after a prompt with an [`MentionKind::IdentityProbe`].
    Answer,
    /// A prompt that asks who answers. It leaks nothing by itself.
    IdentityProbe,
}

impl MentionKind {
    /// The code in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Introduction => "introduction",
            Self::Origin => "origin",
            Self::Basis => "basis",
            Self::Speaker => "speaker",
            Self::Answer => "answer",
            Self::IdentityProbe => "identity_probe",
        }
    }

    /// Whether it tells the voter who answers: every kind but a probe.
    pub const fn is_leak(self) -> bool {
        !matches!(self, Self::IdentityProbe)
    }
}

/// A name within a mention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The known name: of the family for a built-in one (`Claude` for "Claude 3.5 Sonnet"), as given for one of the catalogue.
    pub name: String,
    /// What it names.
    pub of: NameOf,
    /// Whose model it is, as far as known.
    pub vendor: Option<String>,
    /// Where it stands, in bytes of the text.
    pub span: Range<usize>,
}

/// A passage that reveals who answers, or asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Where it stands, in bytes of the text, on the borders of characters.
    pub span: Range<usize>,
    /// How it reveals or asks.
    pub kind: MentionKind,
    /// Whom it names, in order. May be empty for a probe only.
    pub named: Vec<Named>,
}

/// The catalogue is too large to be searched for: more names than any arena has.
#[derive(Debug, thiserror::Error)]
#[error("the names of {n_models} models cannot be searched for")]
pub struct TooManyNames {
    /// Models that were given.
    pub n_models: usize,
    /// What the search says.
    #[source]
    source: aho_corasick::BuildError,
}

/// What a matched spelling names.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    vendor: Option<String>,
    of: NameOf,
    strength: Strength,
    is_vendor_too: bool,
    /// Whether a version may follow.
    is_family: bool,
}

/// Finds self-reference. Build it once for a catalogue.
#[derive(Clone, Debug)]
pub struct IdentityAnnotator {
    entries: Vec<Entry>,
    /// The entry of each spelling of `search`.
    spellings: Vec<usize>,
    search: AhoCorasick,
    ignored: Vec<String>,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(Patterns::compile);

impl IdentityAnnotator {
    /// An annotator that knows the built-in names and those of the catalogue.
    ///
    /// A catalogue's name is found with hyphens, spaces or nothing between its parts, and without its organisation (`org/`).
    ///
    /// # Errors
    ///
    /// [`TooManyNames`] when the names exceed what a search can hold, which is gigabytes.
    pub fn new(catalogue: &[CatalogueModel<'_>]) -> Result<Self, TooManyNames> {
        let mut names = NameList::default();
        for model in catalogue {
            names.add_catalogue_model(model);
        }
        for known in MODELS {
            names.add_known(known, NameOf::Model);
        }
        for known in VENDORS {
            names.add_known(known, NameOf::Vendor);
        }
        for known in ARENAS {
            names.add_known(known, NameOf::Arena);
        }
        let search = AhoCorasickBuilder::new()
            .match_kind(MatchKind::LeftmostLongest)
            .build(names.texts.iter().map(String::as_bytes))
            .map_err(|source| TooManyNames {
                n_models: catalogue.len(),
                source,
            })?;
        Ok(Self {
            entries: names.entries,
            spellings: names.spellings,
            search,
            ignored: names.ignored,
        })
    }

    /// Names of the catalogue that are not looked for, because fewer than two letters or digits are left of them.
    pub fn ignored_names(&self) -> &[String] {
        &self.ignored
    }

    /// The passages of an answer in which the model says who it is, in order.
    ///
    /// `after_probe` says that the prompt asked for it ([`IdentityAnnotator::prompt`] is not empty): then a name at the start of the answer is one.
    pub fn answer(&self, text: &str, after_probe: bool) -> Vec<Mention> {
        let template = self.template(text);
        if template.names.is_empty() {
            return Vec::new();
        }
        let patterns = &*PATTERNS;
        let mut mentions = Vec::new();
        for (regex, kind) in [
            (&patterns.introduction, MentionKind::Introduction),
            (&patterns.origin, MentionKind::Origin),
            (&patterns.basis, MentionKind::Basis),
            (&patterns.speaker, MentionKind::Speaker),
        ] {
            template.find(regex, kind, &self.entries, &mut mentions);
        }
        if after_probe && mentions.is_empty() {
            template.find(
                &patterns.answer,
                MentionKind::Answer,
                &self.entries,
                &mut mentions,
            );
        }
        mentions.sort_by_key(|mention| (mention.span.start, mention.span.end));
        mentions
    }

    /// The passages of a prompt that ask who answers, in order.
    pub fn prompt(&self, text: &str) -> Vec<Mention> {
        let template = self.template(text);
        let mut mentions = Vec::new();
        template.find(
            &PATTERNS.probe,
            MentionKind::IdentityProbe,
            &self.entries,
            &mut mentions,
        );
        mentions
    }

    /// The folded text with each name replaced by its marker.
    fn template<'t>(&self, source: &'t str) -> Template<'t> {
        let folded = fold(source);
        let mut template = Template {
            source,
            text: String::with_capacity(folded.text.len()),
            origins: Vec::with_capacity(folded.text.len()),
            names: Vec::new(),
        };
        let mut done = 0;
        for found in self.search.find_iter(folded.text.as_bytes()) {
            if found.start() < done {
                continue;
            }
            let entry = self.spellings[found.pattern().as_usize()];
            let Some(end) = name_end(
                &folded.text,
                found.start(),
                found.end(),
                self.entries[entry].is_family,
            ) else {
                continue;
            };
            template.copy(&folded, done..found.start());
            template.mark(&folded, found.start()..end, entry, &self.entries[entry]);
            done = end;
        }
        let len = folded.text.len();
        template.copy(&folded, done..len);
        template
    }
}

/// Spellings to search for, each with what it names. The first to claim a spelling has it, and a vendor's claim on a model's spelling makes it both.
#[derive(Default)]
struct NameList {
    entries: Vec<Entry>,
    texts: Vec<String>,
    spellings: Vec<usize>,
    known: std::collections::HashMap<String, usize>,
    ignored: Vec<String>,
}

impl NameList {
    fn add_known(&mut self, known: &Known, of: NameOf) {
        let entry = self.entry(Entry {
            name: known.name.to_owned(),
            vendor: (!known.vendor.is_empty()).then(|| known.vendor.to_owned()),
            of,
            strength: known.strength,
            is_vendor_too: known.is_vendor_too,
            is_family: of == NameOf::Model,
        });
        self.add_spelling(known.name, entry);
        for spelling in known.spellings {
            self.add_spelling(spelling, entry);
        }
    }

    fn add_catalogue_model(&mut self, model: &CatalogueModel<'_>) {
        for name in std::iter::once(&model.name).chain(model.aliases) {
            let without_organisation = name.rsplit('/').next().unwrap_or(name);
            let folded = fold_literal(without_organisation.trim());
            if folded.chars().filter(|c| c.is_alphanumeric()).count() < 2 {
                self.ignored.push((*name).to_owned());
                continue;
            }
            // What the built-in list knows, it knows better.
            let of_family = MODELS.iter().find(|known| {
                std::iter::once(&known.name)
                    .chain(known.spellings)
                    .any(|spelling| fold_literal(spelling) == folded)
            });
            let strength = match of_family {
                Some(known) => known.strength,
                None if folded.contains(|c: char| c.is_ascii_digit()) => Strength::Distinct,
                None => Strength::Proper,
            };
            let entry = self.entry(Entry {
                name: model.name.to_owned(),
                vendor: model.vendor.map(ToOwned::to_owned),
                of: NameOf::Model,
                strength,
                is_vendor_too: of_family.is_some_and(|known| known.is_vendor_too),
                is_family: true,
            });
            self.add_spelling(without_organisation.trim(), entry);
        }
        if let Some(vendor) = model.vendor {
            let entry = self.entry(Entry {
                name: vendor.to_owned(),
                vendor: None,
                of: NameOf::Vendor,
                strength: Strength::Distinct,
                is_vendor_too: true,
                is_family: false,
            });
            self.add_spelling(vendor.trim(), entry);
        }
    }

    fn entry(&mut self, entry: Entry) -> usize {
        self.entries.push(entry);
        self.entries.len() - 1
    }

    fn add_spelling(&mut self, spelling: &str, entry: usize) {
        let folded = fold_literal(spelling);
        let parts: Vec<&str> = folded
            .split([' ', '-'])
            .filter(|part| !part.is_empty())
            .collect();
        for text in joined(&parts) {
            if text.chars().filter(|c| c.is_alphanumeric()).count() < 2 {
                continue;
            }
            match self.known.get(&text) {
                None => {
                    self.known.insert(text.clone(), entry);
                    self.texts.push(text);
                    self.spellings.push(entry);
                }
                Some(&other) if self.entries[entry].of == NameOf::Vendor => {
                    if self.entries[other].of == NameOf::Model {
                        self.entries[other].is_vendor_too = true;
                    }
                }
                Some(_) => {}
            }
        }
    }
}

/// Parts that are joined in every mixture of separators; more than that is no longer typed by hand.
const MIXED_PARTS_MAX: usize = 4;

/// The parts of a name with a hyphen, a space or nothing between them.
fn joined(parts: &[&str]) -> Vec<String> {
    const SEPARATORS: [&str; 3] = ["-", " ", ""];
    let Some((first, rest)) = parts.split_first() else {
        return Vec::new();
    };
    if parts.len() > MIXED_PARTS_MAX {
        return SEPARATORS.map(|separator| parts.join(separator)).into();
    }
    let mut texts = vec![(*first).to_owned()];
    for part in rest {
        texts = texts
            .iter()
            .flat_map(|text| SEPARATORS.map(|separator| format!("{text}{separator}{part}")))
            .collect();
    }
    texts
}

/// Whether a character continues a word in a script that puts spaces between words. Letters of other scripts may stand right beside a name.
fn joins(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || matches!(character,
            '\u{df}'..='\u{24f}' | '\u{370}'..='\u{52f}' | '\u{531}'..='\u{587}')
}

/// Whether a character continues a word of Arabic or an Indic script.
fn joins_own_script(name: char, neighbour: char) -> bool {
    let is_arabic = |c: char| matches!(c, '\u{620}'..='\u{6d3}');
    let is_indic = |c: char| matches!(c, '\u{900}'..='\u{97f}');
    (is_arabic(name) && is_arabic(neighbour)) || (is_indic(name) && is_indic(neighbour))
}

/// Where the name that was found at `start..end` ends with its version, or `None` if it is a part of a longer word.
fn name_end(text: &str, start: usize, end: usize, is_family: bool) -> Option<usize> {
    let first = text[start..].chars().next()?;
    let last = text[..end].chars().next_back()?;
    let is_apart = |neighbour: Option<char>, own: char| {
        neighbour.is_none_or(|neighbour| {
            !(joins_own_script(own, neighbour) || joins(own) && joins(neighbour))
        })
    };
    if !is_apart(text[..start].chars().next_back(), first) {
        return None;
    }
    let mut end = end;
    if is_family {
        // `gpt-4` is followed by `o` in `gpt-4o`.
        if last.is_ascii_digit() {
            let attached = attached_version(&text[end..]);
            end += attached;
        }
        for _ in 0..6 {
            match version(&text[end..]) {
                0 => break,
                width => end += width,
            }
        }
    }
    let last = text[..end].chars().next_back()?;
    is_apart(text[end..].chars().next(), last).then_some(end)
}

/// Bytes of letters, digits and dots right behind a digit.
fn attached_version(rest: &str) -> usize {
    let width = rest
        .bytes()
        .take(12)
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
        .count();
    rest[..width].trim_end_matches('.').len()
}

/// Bytes of one more part of a model's name: `-4o`, ` 3.5`, ` sonnet`, `-70b`.
fn version(rest: &str) -> usize {
    let separator = usize::from(rest.starts_with([' ', '-', ':']));
    let body = &rest[separator..];
    let width = body
        .bytes()
        .take(24)
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
        .count();
    let token = body[..width].trim_end_matches('.');
    let number = token.strip_prefix('v').unwrap_or(token);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().filter(char::is_ascii_alphabetic).count() <= 2;
    let is_variant = separator == 1 && VARIANTS.contains(&token);
    if is_number || is_variant {
        separator + token.len()
    } else {
        0
    }
}

/// A folded text in which each name is one marker, with the way back to its source.
struct Template<'t> {
    source: &'t str,
    text: String,
    /// For each byte of `text`, the range of the source that its character stands for.
    origins: Vec<(usize, usize)>,
    /// Where the markers stand, in order, and for which entries.
    names: Vec<(usize, usize)>,
}

impl Template<'_> {
    fn copy(&mut self, folded: &Folded, range: Range<usize>) {
        self.text.push_str(&folded.text[range.clone()]);
        for &origin in &folded.origins[range] {
            let width = self.source[origin..]
                .chars()
                .next()
                .map_or(0, char::len_utf8);
            self.origins.push((origin, origin + width));
        }
    }

    fn mark(&mut self, folded: &Folded, range: Range<usize>, idx: usize, entry: &Entry) {
        let span = folded.source_range(self.source, range);
        self.names.push((self.text.len(), idx));
        let marker = marker(
            entry.strength,
            entry.of == NameOf::Model,
            entry.is_vendor_too,
        );
        self.text.push(marker);
        self.origins.extend(std::iter::repeat_n(
            (span.start, span.end),
            marker.len_utf8(),
        ));
    }

    /// Adds what a pattern finds.
    fn find(
        &self,
        regex: &regex::bytes::Regex,
        kind: MentionKind,
        entries: &[Entry],
        mentions: &mut Vec<Mention>,
    ) {
        for found in regex.find_iter(self.text.as_bytes()) {
            // Patterns begin with what separates words; it is not part of the mention.
            let skipped = found
                .as_bytes()
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace() || byte.is_ascii_punctuation())
                .count();
            let start = found.start() + skipped;
            if start >= found.end() {
                continue;
            }
            let first_name = self.names.partition_point(|&(at, _)| at < start);
            let names = self.names[first_name..]
                .iter()
                .take_while(|&&(at, _)| at < found.end());
            let named: Vec<Named> = names
                .clone()
                .map(|&(at, idx)| {
                    let entry = &entries[idx];
                    Named {
                        name: entry.name.clone(),
                        of: entry.of,
                        vendor: entry.vendor.clone(),
                        span: self.origins[at].0..self.origins[at].1,
                    }
                })
                .collect();
            if kind.is_leak() && named.is_empty() {
                continue;
            }
            if self.is_quoted(start) {
                continue;
            }
            let is_of_a_person = kind == MentionKind::Introduction
                && names.clone().all(|&(_, idx)| {
                    entries[idx].strength == Strength::Proper && entries[idx].of == NameOf::Model
                })
                && self.names[first_name..]
                    .iter()
                    .take_while(|&&(at, _)| at < found.end())
                    .last()
                    .is_some_and(|&(at, _)| self.goes_on_as_a_name(at));
            if is_of_a_person {
                continue;
            }
            let (source_start, _) = self.origins[start];
            let (_, source_end) = self.origins[found.end() - 1];
            mentions.push(Mention {
                span: source_start..source_end,
                kind,
                named,
            });
        }
    }

    /// Whether a quotation begins right before `start`, unless all of the text is one.
    fn is_quoted(&self, start: usize) -> bool {
        let Some(rest) = self.text[..start]
            .ends_with('"')
            .then(|| &self.text[start..])
        else {
            return false;
        };
        let is_all = start == 1
            && rest
                .find('"')
                .is_none_or(|end| !rest[end..].contains(char::is_alphanumeric));
        !is_all
    }

    /// Whether a surname or a possessive follows the name at `at`: "Claude Monet", "Claude's".
    fn goes_on_as_a_name(&self, at: usize) -> bool {
        let (_, end) = self.origins[at];
        let rest = &self.source[end..];
        if rest.starts_with("'s ") || rest.starts_with("’s ") {
            return true;
        }
        let Some(next) = rest.strip_prefix(' ') else {
            return false;
        };
        // "AI" and the like are no surnames, and what follows a line of its own neither.
        let word: String = next.chars().take_while(|c| c.is_alphabetic()).collect();
        word.chars().next().is_some_and(char::is_uppercase)
            && word.chars().nth(1).is_some_and(char::is_lowercase)
    }
}

#[cfg(test)]
mod tests;
