//! Language: which one a text is in, or that it is in none.
//!
//! For the first user message of a conversation (what releases call its `language`) and for every answer.
//!
//! # Rules
//!
//! 1. Code, addresses, markup and formulas are left out; what is left is cut into clauses of words.
//! 2. A script that one language is written in decides by itself: Korean, Greek, Thai, …; Han is Japanese beside kana, Korean beside more hangul, else Chinese.
//! 3. In the other scripts each word is scored by how likely its letters are after each other in every language of the script.
//! 4. A clause long enough to be sure of belongs to its own best language, the others to that of the whole text.
//!    A second language with at least a quarter of the letters makes the answer a mixture.
//! 5. A single word is no evidence, unless its script is.
//!
//! At most the first 4,000 letters are looked at.

mod names;
mod ngrams;
mod prose;
mod script;

use std::fmt;

use names::{LANGUAGES, Use};
use ngrams::{NGRAMS, STEPS_PER_NAT};
use prose::{Prose, Word};
use script::{N_SCRIPTS, Script};

use super::{Annotator, Message, Role};

/// The annotator of this module.
pub const LANGUAGE_ANNOTATOR: Annotator = Annotator {
    name: "language",
    version: 1,
};

/// How many letters are looked at.
const LETTERS_MAX: usize = 4_000;
/// Letters that a clause needs to have a language of its own.
const CLAUSE_LETTERS_MIN: u32 = 12;
/// How sure of it the annotator has to be.
const CLAUSE_CONFIDENCE_MIN: f32 = 0.95;
/// Share of the letters from which a second language counts.
const MIXED_SHARE_MIN: f32 = 0.25;
/// Letters that a second language needs to count.
const MIXED_LETTERS_MIN: u32 = 12;
/// Words one after another that it needs, too, so that names in the letters of another script do not make a mixture.
const MIXED_RUN_MIN: u32 = 3;
/// Surprise a letter, in nats, above which a text is in no language that is known.
const SURPRISE_MAX: f32 = 4.0;
/// Confidence below which there is no answer.
const CONFIDENCE_MIN: f32 = 0.3;
/// How many nats of evidence are worth one: letters of a word are not independent.
const TEMPERATURE: f32 = 3.0;
/// By how many nats a common language is expected rather than a rare one.
const COMMON_NATS: f32 = 3.0;
/// By how many nats one of the languages that arenas are mostly asked in is expected rather than another common one.
const ASKED_NATS: f32 = 5.0;

/// A language that the annotator knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Language(u8);

impl Language {
    /// All of them, by code.
    pub fn all() -> impl Iterator<Item = Self> {
        // The table is shorter than 256.
        (0..=u8::MAX).map(Self).take(LANGUAGES.len())
    }

    /// Its English name, as releases spell it.
    pub fn name(self) -> &'static str {
        LANGUAGES[usize::from(self.0)].name
    }

    /// Its code of ISO 639-1, or of ISO 639-3 where there is none.
    pub fn code(self) -> &'static str {
        LANGUAGES[usize::from(self.0)].code
    }

    /// The language with that code.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::all().find(|language| language.code() == code)
    }

    /// The language with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|language| language.name() == name)
    }

    /// How much less it is expected than the languages that are asked in most, in nats.
    fn rarity_nats(self) -> f32 {
        match LANGUAGES[usize::from(self.0)].use_in_prompts {
            Use::Asked => 0.0,
            Use::Common => ASKED_NATS,
            Use::Rare => ASKED_NATS + COMMON_NATS,
        }
    }
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much of a text is in a language.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LanguageShare {
    /// The language.
    pub language: Language,
    /// Its share of the letters, a character of Chinese, Japanese or Korean counted as three.
    pub share: f32,
}

/// Why a text is in no language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLanguage {
    /// There is no text.
    Empty,
    /// Numbers, signs and emoji only.
    NoLetters,
    /// Program text, addresses and formulas only.
    Code,
    /// One word, in a script of many languages.
    OneWord,
}

/// What language a text is in.
#[derive(Clone, Debug, PartialEq)]
pub enum LanguageAnswer {
    /// One language.
    One(Language),
    /// Two or more, each with a good part of the text; the largest first.
    Mixed(Vec<LanguageShare>),
    /// None, and why.
    NoLanguage(NoLanguage),
    /// There are words, but of a language that is not known, or of one that cannot be told.
    Unknown,
}

/// The label of one text.
#[derive(Clone, Debug, PartialEq)]
pub struct LanguageLabel {
    /// The answer.
    pub answer: LanguageAnswer,
    /// How sure it is, from 0 to 1: for a language the estimated probability that it is right, of a mixture that of its least sure member.
    pub confidence: f32,
}

impl LanguageLabel {
    /// The language, of a mixture the largest.
    pub fn main(&self) -> Option<Language> {
        match &self.answer {
            LanguageAnswer::One(language) => Some(*language),
            LanguageAnswer::Mixed(shares) => shares.first().map(|share| share.language),
            LanguageAnswer::NoLanguage(_) | LanguageAnswer::Unknown => None,
        }
    }

    /// What the column `language` of a release says: the English name of [`Self::main`], or `unknown`.
    pub fn name(&self) -> &'static str {
        self.main().map_or("unknown", Language::name)
    }

    /// The code of [`Self::main`], or `und`.
    pub fn code(&self) -> &'static str {
        self.main().map_or("und", Language::code)
    }

    const fn none(reason: NoLanguage) -> Self {
        Self {
            answer: LanguageAnswer::NoLanguage(reason),
            confidence: 1.0,
        }
    }
}

/// The labels of a conversation with one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationLanguage {
    /// Of the first user message, if there is one.
    pub first_user: Option<LanguageLabel>,
    /// Of every answer, in their order.
    pub answers: Vec<LanguageLabel>,
}

/// Labels the first user message and all answers of a conversation.
pub fn conversation_language(messages: &[Message<'_>]) -> ConversationLanguage {
    let of = |role: Role| messages.iter().filter(move |message| message.role == role);
    ConversationLanguage {
        first_user: of(Role::User)
            .next()
            .map(|message| detect_language(message.text)),
        answers: of(Role::Assistant)
            .map(|message| detect_language(message.text))
            .collect(),
    }
}

/// Which language `text` is in.
pub fn detect_language(text: &str) -> LanguageLabel {
    if text.trim().is_empty() {
        return LanguageLabel::none(NoLanguage::Empty);
    }
    let mut prose = prose::read(text, LETTERS_MAX);
    settle_han(&mut prose);
    let clauses: Vec<Clause> = prose
        .clauses
        .iter()
        .flat_map(|words| by_script(words))
        .collect();
    let n_letters: u32 = clauses.iter().map(|clause| clause.n_letters).sum();
    if n_letters == 0 {
        let has_letters = text.chars().any(char::is_alphabetic);
        return LanguageLabel::none(if has_letters {
            NoLanguage::Code
        } else {
            NoLanguage::NoLetters
        });
    }
    let shares = shares(&clauses);
    let main = shares[0];
    let n_words: u32 = clauses.iter().map(|clause| clause.n_words).sum();
    if n_words == 1 && !main.is_certain {
        return LanguageLabel::none(NoLanguage::OneWord);
    }
    let Some(main_language) = main.language else {
        return LanguageLabel {
            answer: LanguageAnswer::Unknown,
            confidence: 1.0 - main.confidence,
        };
    };
    #[expect(clippy::cast_precision_loss, reason = "a few thousand letters")]
    let share_of = |found: &Found| found.n_letters as f32 / n_letters as f32;
    let members: Vec<(LanguageShare, f32)> = shares
        .iter()
        .filter_map(|found| {
            let share = LanguageShare {
                language: found.language?,
                share: share_of(found),
            };
            let counts = found.language == Some(main_language)
                || share.share >= MIXED_SHARE_MIN
                    && found.n_letters >= MIXED_LETTERS_MIN
                    && (found.is_certain || found.longest_run >= MIXED_RUN_MIN);
            counts.then_some((share, found.confidence))
        })
        .collect();
    if members.len() > 1 {
        return LanguageLabel {
            confidence: members.iter().map(|(_, sure)| *sure).fold(1.0, f32::min),
            answer: LanguageAnswer::Mixed(members.into_iter().map(|(share, _)| share).collect()),
        };
    }
    LanguageLabel {
        answer: LanguageAnswer::One(main_language),
        confidence: main.confidence,
    }
}

/// The words of one clause in one script.
struct Clause {
    script: Script,
    n_letters: u32,
    n_words: u32,
    /// Most words one after another.
    longest_run: u32,
    /// Steps of every class, if the script has several languages.
    totals: Vec<u32>,
    n_predicted: u32,
}

/// What was found to be in one language.
#[derive(Clone, Copy)]
struct Found {
    /// `None` is a language that cannot be told.
    language: Option<Language>,
    n_letters: u32,
    confidence: f32,
    /// Most words one after another.
    longest_run: u32,
    is_certain: bool,
}

/// Gives Han to Japanese or Korean where it is theirs.
fn settle_han(prose: &mut Prose) {
    let mut counts = [0_usize; N_SCRIPTS];
    for word in prose.clauses.iter().flatten() {
        counts[word.script as usize] += word.letters.len();
    }
    let [han, kana, hangul] =
        [Script::Han, Script::Kana, Script::Hangul].map(|script| counts[script as usize]);
    let owner = if kana * 10 >= han + kana && kana > 0 {
        Script::Kana
    } else if hangul > han {
        Script::Hangul
    } else {
        return;
    };
    for word in prose.clauses.iter_mut().flatten() {
        if word.script == Script::Han {
            word.script = owner;
        }
    }
}

/// The words of a clause, sorted by script and scored.
fn by_script(words: &[Word]) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    let mut run = 0;
    for (word_idx, word) in words.iter().enumerate() {
        let goes_on = word_idx > 0 && words[word_idx - 1].script == word.script;
        run = if goes_on { run + 1 } else { 1 };
        let at = match clauses
            .iter()
            .position(|clause| clause.script == word.script)
        {
            Some(at) => at,
            None => {
                clauses.push(Clause {
                    script: word.script,
                    n_letters: 0,
                    n_words: 0,
                    longest_run: 0,
                    totals: Vec::new(),
                    n_predicted: 0,
                });
                clauses.len() - 1
            }
        };
        let clause = &mut clauses[at];
        // A word has at most a few dozen letters.
        let n_letters = u32::try_from(word.letters.len()).unwrap_or(u32::MAX);
        clause.n_letters += n_letters * word.script.weight();
        clause.n_words += 1;
        clause.longest_run = clause.longest_run.max(run);
        if word.script.is_shared() {
            clause.totals.resize(NGRAMS.classes.len(), 0);
            let range = NGRAMS.classes_of(word.script);
            NGRAMS.add_word(&word.letters, &range, &mut clause.totals);
            clause.n_predicted += n_letters + 1;
        }
    }
    clauses
}

/// The languages of the clauses, the one with the most letters first. Never empty if `clauses` is not.
fn shares(clauses: &[Clause]) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut scripts: Vec<Script> = clauses.iter().map(|clause| clause.script).collect();
    scripts.sort_unstable();
    scripts.dedup();
    for script in scripts {
        let of_script: Vec<&Clause> = clauses
            .iter()
            .filter(|clause| clause.script == script)
            .collect();
        if script.is_shared() {
            found.extend(shares_in(&of_script, script));
        } else {
            found.push(Found {
                language: script.only_language().and_then(Language::from_code),
                n_letters: of_script.iter().map(|clause| clause.n_letters).sum(),
                confidence: 1.0,
                longest_run: 0,
                is_certain: script != Script::Other,
            });
        }
    }
    found.sort_by(|a, b| (b.n_letters, a.language).cmp(&(a.n_letters, b.language)));
    found
}

/// The languages of clauses in a script of many languages.
fn shares_in(clauses: &[&Clause], script: Script) -> Vec<Found> {
    let mut totals = vec![0; NGRAMS.classes.len()];
    for clause in clauses {
        for (total, step) in totals.iter_mut().zip(&clause.totals) {
            *total += step;
        }
    }
    let n_predicted = clauses.iter().map(|clause| clause.n_predicted).sum();
    let whole = best(&totals, n_predicted, script);
    let mut found: Vec<Found> = Vec::new();
    for clause in clauses {
        let own = best(&clause.totals, clause.n_predicted, script);
        let is_own = own.language.is_some()
            && clause.n_letters >= CLAUSE_LETTERS_MIN
            && own.confidence >= CLAUSE_CONFIDENCE_MIN;
        let (language, confidence) = if is_own {
            (own.language, own.confidence)
        } else {
            (whole.language, whole.confidence)
        };
        match found.iter_mut().find(|other| other.language == language) {
            Some(other) => {
                other.n_letters += clause.n_letters;
                other.confidence = other.confidence.max(confidence);
                other.longest_run = other.longest_run.max(clause.longest_run);
            }
            None => found.push(Found {
                language,
                n_letters: clause.n_letters,
                confidence,
                longest_run: clause.longest_run,
                is_certain: false,
            }),
        }
    }
    found
}

struct Best {
    language: Option<Language>,
    confidence: f32,
}

/// The likeliest class of a script.
fn best(totals: &[u32], n_predicted: u32, script: Script) -> Best {
    let range = NGRAMS.classes_of(script);
    #[expect(
        clippy::cast_precision_loss,
        reason = "a few thousand letters of at most 255 steps"
    )]
    let nats: Vec<f32> = range
        .clone()
        .map(|class| {
            let language = NGRAMS.classes[class].language;
            totals[class] as f32 / STEPS_PER_NAT + language.rarity_nats()
        })
        .collect();
    let Some((at, least)) = nats.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)) else {
        return Best {
            language: None,
            confidence: 0.0,
        };
    };
    let sum: f32 = nats
        .iter()
        .map(|other| (-(other - least) / TEMPERATURE).exp())
        .sum();
    let confidence = 1.0 / sum;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand letters")]
    let surprise = least / n_predicted.max(1) as f32;
    let is_known = surprise <= SURPRISE_MAX && confidence >= CONFIDENCE_MIN;
    Best {
        language: is_known.then(|| NGRAMS.classes[range.start + at].language),
        confidence,
    }
}

#[cfg(test)]
mod tests;
