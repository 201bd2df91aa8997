//! Cleaning: which rows a ranking should rest on, by a named, versioned profile.
//!
//! Nothing is deleted.
//! Each row gets a [`Verdict`]: all the rules that it breaks, and the first by which it is excluded, if any; [`Audit`] counts both for every rule.
//!
//! Two passes: [`Cleaner::add`] is given the [`Facts`] of every row once, [`Cleaner::finish`] gives a [`Cleaned`] with the verdict of each row by its number, so that a second pass over the rows can keep or drop them.
//! Only numbers are kept between the two, 48 bytes a row: flags, a time, and the first 64 bits of SHA-256 of id, judge, visit and prompt.
//!
//! # Profiles
//!
//! | name | what it does |
//! |---|---|
//! | `fastchat-2025-04` | what FastChat's `clean_battle_data.py` did in April 2025, faults included: words as substrings of all messages, errors recognised by their text. For comparison with published numbers |
//! | `agon-1` | Agon's own: facts instead of texts |
//!
//! A profile never changes once published; other rules are another name.
//!
//! # Order of rows
//!
//! It never matters to rules about one row.
//! Rules about several rows take them in the order of their times: of votes on one conversation the last counts, of a judge's votes of one day the first, of a visit's votes the first.
//! Where times are equal or missing, the order of adding decides, in `agon-1` after the id; of votes on one conversation the first then counts.
//! The rows sampled from a frequent prompt are chosen by seed and id; only rows without an id are chosen by their number.

mod fastchat;
mod local;
mod prompts;
mod rule;
mod time;

use std::collections::BTreeMap;

use agon_domain::{Finish, Sides, Winner};
use sha2::{Digest as _, Sha256};

pub use self::{
    fastchat::{
        ERROR_MARKERS, IDENTITY_WORDS, RENAMES, RENAMES_VERSION, Rename, UNFINISHED_MARKERS,
        canonical_name,
    },
    prompts::{DedupTag, PromptKey, TopPrompts, TopPromptsAudit},
    rule::{Rule, RuleSet},
    time::{MixedTimeUnits, TimeUnit},
};
use crate::Role;

/// Votes of one judge on one UTC day that `agon-1` counts: the cap of the reference board's category `overall_limit_5_user_vote`.
pub const DAILY_CAP: u32 = 5;

/// A set of rules, their order and their options.
#[derive(Clone, Debug, PartialEq)]
pub enum Profile {
    /// `fastchat-2025-04`.
    FastChat202504(FastChatOptions),
    /// `agon-1`.
    Agon1(AgonOptions),
}

/// A name that no profile has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a cleaning profile: expected `fastchat-2025-04` or `agon-1`")]
pub struct UnknownProfile {
    /// The name as given.
    pub name: String,
}

/// Options of `fastchat-2025-04`. The default is the cleaning program alone; what the rating program filters is off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FastChatOptions {
    /// Canonical names ([`canonical_name`]) of models to exclude.
    pub excluded_models: Vec<String>,
    /// Judges to exclude: the reference's list of banned addresses.
    pub banned_judges: Vec<String>,
    /// Tag frequent prompts, as its separate program does. [`TopPrompts::REFERENCE`] are its values.
    pub top_prompts: Option<TopPrompts>,
    /// Keep only these languages.
    pub languages: Option<Vec<String>>,
    /// Exclude languages whose name contains `unknown`.
    pub drop_unknown_languages: bool,
    /// Exclude votes whose names were known, as the rating program always does.
    pub anonymous_only: bool,
    /// Exclude ties of both kinds.
    pub drop_ties: bool,
    /// Votes of one judge on one day that count.
    pub daily_cap: Option<u32>,
    /// Seconds east of UTC of the machine that rates: the reference's days are local ones.
    pub utc_offset_s: i32,
}

/// Options of `agon-1`.
#[derive(Clone, Debug, PartialEq)]
pub struct AgonOptions {
    /// Models to exclude, by name.
    pub excluded_models: Vec<String>,
    /// Judges to exclude.
    pub banned_judges: Vec<String>,
    /// Of a visit, keep only the first vote: later ones may follow what earlier answers said.
    pub first_vote_of_visit_only: bool,
    /// Votes of one judge on one UTC day that count; `None` for all.
    pub daily_cap: Option<u32>,
    /// How often one prompt counts; `None` for always.
    pub top_prompts: Option<TopPrompts>,
}

impl Default for AgonOptions {
    fn default() -> Self {
        Self {
            excluded_models: Vec::new(),
            banned_judges: Vec::new(),
            first_vote_of_visit_only: false,
            daily_cap: Some(DAILY_CAP),
            top_prompts: Some(TopPrompts {
                key: PromptKey::TextAndImages,
                ..TopPrompts::REFERENCE
            }),
        }
    }
}

impl Profile {
    /// The names of all profiles.
    pub const NAMES: [&'static str; 2] = ["fastchat-2025-04", "agon-1"];

    /// The profile of this name, with its default options.
    ///
    /// # Errors
    ///
    /// [`UnknownProfile`].
    pub fn from_name(name: &str) -> Result<Self, UnknownProfile> {
        match name {
            "fastchat-2025-04" => Ok(Self::FastChat202504(FastChatOptions::default())),
            "agon-1" => Ok(Self::Agon1(AgonOptions::default())),
            _ => Err(UnknownProfile {
                name: name.to_owned(),
            }),
        }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::FastChat202504(_) => Self::NAMES[0],
            Self::Agon1(_) => Self::NAMES[1],
        }
    }

    /// The rules that exclude a row, in the order in which they are tried.
    pub fn rules(&self) -> Vec<Rule> {
        match self {
            Self::FastChat202504(options) => {
                let mut rules = fastchat::RULES.to_vec();
                let chosen = [
                    (
                        options.top_prompts.is_some_and(|top| top.excludes),
                        Rule::TopPrompt,
                    ),
                    (options.languages.is_some(), Rule::OtherLanguage),
                    (options.drop_unknown_languages, Rule::UnknownLanguage),
                    (options.anonymous_only, Rule::Named),
                    (options.drop_ties, Rule::Tie),
                    (options.daily_cap.is_some(), Rule::DailyCap),
                ];
                rules.extend(
                    chosen
                        .into_iter()
                        .filter_map(|(is_chosen, rule)| is_chosen.then_some(rule)),
                );
                rules
            }
            Self::Agon1(options) => {
                let mut rules = local::RULES.to_vec();
                let chosen = [
                    (true, Rule::Superseded),
                    (options.first_vote_of_visit_only, Rule::LaterVoteOfVisit),
                    (options.daily_cap.is_some(), Rule::DailyCap),
                    (
                        options.top_prompts.is_some_and(|top| top.excludes),
                        Rule::TopPrompt,
                    ),
                ];
                rules.extend(
                    chosen
                        .into_iter()
                        .filter_map(|(is_chosen, rule)| is_chosen.then_some(rule)),
                );
                rules
            }
        }
    }

    const fn daily_cap(&self) -> Option<u32> {
        match self {
            Self::FastChat202504(options) => options.daily_cap,
            Self::Agon1(options) => options.daily_cap,
        }
    }

    const fn top_prompts(&self) -> Option<TopPrompts> {
        match self {
            Self::FastChat202504(options) => options.top_prompts,
            Self::Agon1(options) => options.top_prompts,
        }
    }

    const fn utc_offset_s(&self) -> i32 {
        match self {
            Self::FastChat202504(options) => options.utc_offset_s,
            Self::Agon1(_) => 0,
        }
    }
}

/// What is known of how an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Nothing: the source has no such field.
    #[default]
    Unknown,
    /// It was still being written when the vote was cast.
    Running,
    /// It ended so.
    Ended(Finish),
}

/// One message of one side.
#[derive(Clone, Copy, Debug)]
pub struct MessageFacts<'a> {
    /// Who wrote it.
    pub role: Role,
    /// Its text; `None` where the source has null.
    pub text: Option<&'a str>,
    /// Ids of its images: hashes of their content.
    pub images: &'a [&'a str],
    /// How it ended, of an answer.
    pub status: Status,
    /// Of an answer, whether the identity annotator finds a leak in it; of a prompt, whether it asks for the identity; `None` where no annotator has run.
    pub identity: Option<bool>,
}

/// What is known of one vote.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The conversation's id. Votes with the same one are votes on one conversation, to `agon-1` when pair and judge are the same too.
    pub id: Option<&'a str>,
    /// The names of the models.
    pub models: Sides<&'a str>,
    /// What the reference's two model selectors held, where the source is its log: empty in an anonymous battle.
    pub selectors: Option<Sides<Option<&'a str>>>,
    /// What the vote says.
    pub winner: Winner,
    /// Who voted: any text that is the same for the same person in all sources of a run.
    pub judge: Option<&'a str>,
    /// The visit in which it was cast.
    pub visit: Option<&'a str>,
    /// When it was cast, as the number in the source; the unit is inferred ([`TimeUnit::of`]).
    pub time: Option<f64>,
    /// The language, by the name in the source.
    pub language: Option<&'a str>,
    /// Whether the names were hidden until the vote; `None` where the source does not say.
    pub is_anonymous: Option<bool>,
    /// Whether moderation refused a message or an image of it; `None` where none has run.
    pub is_refused: Option<bool>,
    /// The messages of each side, in their order; `None` where the source has no conversations.
    pub messages: Option<Sides<&'a [MessageFacts<'a>]>>,
}

/// What cleaning says of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// All that was found. Rules about several rows are only tried on rows that no earlier rule excludes.
    pub flags: RuleSet,
    /// The first rule that excludes the row; `None` for a row that is kept.
    pub excluded_by: Option<Rule>,
    /// Whether its prompt is frequent and the row one of those sampled from it; `None` where prompts are not counted, and for rows excluded before.
    pub dedup: Option<DedupTag>,
}

/// How many rows a rule concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleCount {
    /// The rule.
    pub rule: Rule,
    /// Rows that it is the first to exclude.
    pub first: u64,
    /// Rows that it flags.
    pub total: u64,
}

/// What cleaning did, in counts. `rows` is `kept` and the sum of `first` over `rules`.
#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    /// The name of the profile.
    pub profile: &'static str,
    /// Rows.
    pub rows: u64,
    /// Rows that no rule excludes.
    pub kept: u64,
    /// Kept rows that are anonymous as far as known: the reference prints them as `anony`.
    pub kept_anonymous: u64,
    /// The excluding rules in their order, those without a row too.
    pub rules: Vec<RuleCount>,
    /// What was found without excluding.
    pub notes: Vec<RuleCount>,
    /// Rows that do not say whether they are anonymous; they are taken to be.
    pub n_anonymity_unknown: u64,
    /// Rows without conversations: rules about messages do not see them.
    pub n_without_conversations: u64,
    /// Rows with an answer on which no identity annotator has run.
    pub n_without_identity: u64,
    /// Rows that no rule before excludes and that escape the daily cap, as judge or time is missing.
    pub n_uncapped: u64,
    /// Rows whose time is negative or no number; it counts as missing.
    pub n_bad_times: u64,
    /// The unit of the times, once there is one.
    pub time_unit: Option<TimeUnit>,
    /// The counting of prompts, where asked for.
    pub top_prompts: Option<TopPromptsAudit>,
}

impl Audit {
    /// The share of rows that are kept; `None` without rows.
    pub fn kept_share(&self) -> Option<f64> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a share is not more exact than 2^-53"
        )]
        let share = self.kept as f64 / self.rows as f64;
        (self.rows > 0).then_some(share)
    }

    /// The counts as the reference prints them: first hits by its own names, `invalid` for three of the rules, and the rows it drops without counting under `uncounted`.
    pub fn reference_counts(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for count in &self.rules {
            *counts.entry(count.rule.reference_name()).or_default() += count.first;
        }
        counts
    }
}

/// The verdict of every row, and the counts.
#[derive(Clone, Debug)]
pub struct Cleaned {
    flags: Vec<RuleSet>,
    excluded_by: Vec<Option<Rule>>,
    tags: Option<Vec<Option<DedupTag>>>,
    /// The counts.
    pub audit: Audit,
}

impl Cleaned {
    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.flags.len()
    }

    /// The verdict on the row that was added as number `row`, from 0; `None` beyond the last.
    pub fn verdict(&self, row: usize) -> Option<Verdict> {
        Some(Verdict {
            flags: *self.flags.get(row)?,
            excluded_by: *self.excluded_by.get(row)?,
            dedup: self.tags.as_ref().and_then(|tags| tags[row]),
        })
    }

    /// Whether the row that was added as number `row`, from 0, is kept.
    pub fn is_kept(&self, row: usize) -> bool {
        matches!(self.excluded_by.get(row), Some(None))
    }
}

/// What is kept of the rows between the passes.
#[derive(Clone, Debug, Default)]
struct Rows {
    flags: Vec<RuleSet>,
    ids: Vec<Option<Fingerprint>>,
    judges: Vec<Option<Fingerprint>>,
    visits: Vec<Option<Fingerprint>>,
    prompts: Vec<Option<Fingerprint>>,
    /// NaN where missing.
    times: Vec<f64>,
}

/// 64 bits of SHA-256: a text is told from another, and not kept.
///
/// Two of ten million texts share one with a probability of 3 in a million.
type Fingerprint = std::num::NonZeroU64;

fn fingerprint(parts: &[&[u8]]) -> Fingerprint {
    let mut hasher = Sha256::new();
    for part in parts {
        // Lengths keep "ab", "c" apart from "a", "bc".
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let digest = hasher.finalize();
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    Fingerprint::new(u64::from_le_bytes(bytes)).unwrap_or(Fingerprint::MIN)
}

/// What tells a battle: its id with its pair and its judge, as some sets have the ids of questions.
fn battle_fingerprint(id: &str, facts: &Facts<'_>) -> Fingerprint {
    let mut pair = [facts.models.a, facts.models.b];
    pair.sort_unstable();
    fingerprint(&[
        id.as_bytes(),
        pair[0].as_bytes(),
        pair[1].as_bytes(),
        facts.judge.unwrap_or_default().as_bytes(),
    ])
}

/// Takes the facts of all rows, then says what to keep.
#[derive(Clone, Debug)]
pub struct Cleaner {
    profile: Profile,
    local: local::LocalRules,
    rows: Rows,
    unit: Option<TimeUnit>,
    n_anonymity_unknown: u64,
    n_without_conversations: u64,
    n_without_identity: u64,
    n_bad_times: u64,
}

impl Cleaner {
    /// A cleaner without rows.
    pub fn new(profile: Profile) -> Self {
        Self {
            local: local::LocalRules::new(&profile),
            profile,
            rows: Rows::default(),
            unit: None,
            n_anonymity_unknown: 0,
            n_without_conversations: 0,
            n_without_identity: 0,
            n_bad_times: 0,
        }
    }

    /// Takes in the next row. Rows are numbered from 0 in this order.
    ///
    /// # Errors
    ///
    /// [`MixedTimeUnits`] when its time is in another unit than those before; the row is not taken in.
    pub fn add(&mut self, facts: &Facts<'_>) -> Result<(), MixedTimeUnits> {
        let time_s = match facts.time {
            None => None,
            Some(time) => match TimeUnit::of(time) {
                None => {
                    self.n_bad_times += 1;
                    None
                }
                Some(unit) => {
                    let expected = *self.unit.get_or_insert(unit);
                    if unit != expected {
                        return Err(MixedTimeUnits {
                            expected,
                            found: unit,
                            value: time,
                            row: self.rows.flags.len(),
                        });
                    }
                    Some(unit.to_seconds(time))
                }
            },
        };
        if facts.is_anonymous.is_none() && facts.selectors.is_none() {
            self.n_anonymity_unknown += 1;
        }
        match facts.messages {
            None => self.n_without_conversations += 1,
            Some(sides) => {
                let is_unannotated = sides.iter().any(|(_, messages)| {
                    messages.iter().any(|message| {
                        message.role == Role::Assistant && message.identity.is_none()
                    })
                });
                self.n_without_identity += u64::from(is_unannotated);
            }
        }
        let rows = &mut self.rows;
        rows.flags
            .push(self.local.flags(&self.profile, facts, time_s));
        let of_text = |text: Option<&str>| text.map(|text| fingerprint(&[text.as_bytes()]));
        rows.ids.push(match &self.profile {
            Profile::FastChat202504(_) => of_text(facts.id),
            Profile::Agon1(_) => facts.id.map(|id| battle_fingerprint(id, facts)),
        });
        rows.judges.push(of_text(facts.judge));
        rows.visits.push(of_text(facts.visit));
        rows.prompts.push(
            self.profile
                .top_prompts()
                .and_then(|top| prompts::key(top.key, facts)),
        );
        rows.times.push(time_s.unwrap_or(f64::NAN));
        Ok(())
    }

    /// Tries the rules in their order.
    pub fn finish(self) -> Cleaned {
        let Self {
            profile, mut rows, ..
        } = self;
        let n_rows = rows.flags.len();
        let mut pass = Pass {
            flags: std::mem::take(&mut rows.flags),
            excluded_by: vec![None; n_rows],
            tags: None,
            n_uncapped: 0,
        };
        pass.note_repeated_votes(&rows);
        let rules = profile.rules();
        let mut top_prompts = None;
        // The reference tags what its cleaning leaves, before the rating program filters; with tags alone, that is after the last of its cleaning rules.
        let tags_after = match &profile {
            Profile::FastChat202504(options) if options.top_prompts.is_some() => {
                fastchat::RULES.last().copied()
            }
            Profile::Agon1(options) if options.top_prompts.is_some() => {
                rules.iter().copied().rfind(|&rule| rule != Rule::TopPrompt)
            }
            _ => None,
        };
        for &rule in &rules {
            match rule {
                Rule::Superseded => pass.flag_superseded(&rows),
                Rule::LaterVoteOfVisit => pass.flag_later_votes(&rows),
                Rule::DailyCap => {
                    pass.flag_over_cap(&rows, &profile);
                }
                _ => {}
            }
            for (flags, excluded_by) in pass.flags.iter().zip(&mut pass.excluded_by) {
                if excluded_by.is_none() && flags.contains(rule) {
                    *excluded_by = Some(rule);
                }
            }
            if tags_after == Some(rule)
                && let Some(top) = profile.top_prompts()
            {
                top_prompts = Some(pass.tag_prompts(&rows, top));
            }
        }
        let kept = |row: &usize| pass.excluded_by[*row].is_none();
        let n_kept = (0..n_rows).filter(kept).count();
        let n_kept_anonymous = (0..n_rows)
            .filter(kept)
            .filter(|&row| !pass.flags[row].contains(Rule::Named))
            .count();
        let count = |rule: Rule| RuleCount {
            rule,
            first: pass
                .excluded_by
                .iter()
                .filter(|excluded_by| **excluded_by == Some(rule))
                .count() as u64,
            total: pass
                .flags
                .iter()
                .filter(|flags| flags.contains(rule))
                .count() as u64,
        };
        let audit = Audit {
            profile: profile.name(),
            rows: n_rows as u64,
            kept: n_kept as u64,
            kept_anonymous: n_kept_anonymous as u64,
            rules: rules.iter().map(|&rule| count(rule)).collect(),
            notes: Rule::ALL
                .into_iter()
                .filter(|rule| !rules.contains(rule))
                .map(count)
                .filter(|count| count.total > 0)
                .collect(),
            n_anonymity_unknown: self.n_anonymity_unknown,
            n_without_conversations: self.n_without_conversations,
            n_without_identity: self.n_without_identity,
            n_uncapped: pass.n_uncapped,
            n_bad_times: self.n_bad_times,
            time_unit: self.unit,
            top_prompts,
        };
        Cleaned {
            flags: pass.flags,
            excluded_by: pass.excluded_by,
            tags: pass.tags,
            audit,
        }
    }
}

/// The rules about several rows.
struct Pass {
    flags: Vec<RuleSet>,
    excluded_by: Vec<Option<Rule>>,
    tags: Option<Vec<Option<DedupTag>>>,
    n_uncapped: u64,
}

impl Pass {
    /// Rows that no rule has excluded so far and that have a key, sorted by key, then by time (missing ones last), id and number.
    fn by_key<K: Ord + Copy>(
        &self,
        rows: &Rows,
        is_id_order: bool,
        key: impl Fn(usize) -> Option<K>,
    ) -> Vec<(K, usize)> {
        let keyed = || {
            (0..self.flags.len())
                .filter(|&row| self.excluded_by[row].is_none())
                .filter_map(|row| key(row).map(|key| (key, row)))
        };
        // Counted first: a list that grows as it is filled takes up to three times its memory.
        let mut sorted = Vec::with_capacity(keyed().count());
        sorted.extend(keyed());
        sorted.sort_unstable_by(|&(key_1, row_1), &(key_2, row_2)| {
            let id = |row: usize| is_id_order.then(|| rows.ids[row]);
            key_1
                .cmp(&key_2)
                .then_with(|| rows.times[row_1].total_cmp(&rows.times[row_2]))
                .then_with(|| id(row_1).cmp(&id(row_2)))
                .then_with(|| row_1.cmp(&row_2))
        });
        sorted
    }

    /// Notes the rows whose conversation has several votes.
    fn note_repeated_votes(&mut self, rows: &Rows) {
        let sorted = self.by_key(rows, false, |row| rows.ids[row]);
        for group in sorted.chunk_by(|(id_1, _), (id_2, _)| id_1 == id_2) {
            if group.len() > 1 {
                for &(_, row) in group {
                    self.flags[row].insert(Rule::VotedAgain);
                }
            }
        }
    }

    /// Of several votes on one conversation that are left, all but the last are superseded; of those at one time or without one the first counts, which is the one that an import keeps.
    fn flag_superseded(&mut self, rows: &Rows) {
        let sorted = self.by_key(rows, false, |row| rows.ids[row]);
        for group in sorted.chunk_by(|(id_1, _), (id_2, _)| id_1 == id_2) {
            let mut kept = group[0].1;
            for &(_, row) in &group[1..] {
                // Sorted by time, missing ones last: neither these nor an equal time is later.
                if rows.times[row] > rows.times[kept] {
                    kept = row;
                }
            }
            for &(_, row) in group.iter().filter(|(_, row)| *row != kept) {
                self.flags[row].insert(Rule::Superseded);
            }
        }
    }

    /// Of a visit's votes that are left, all but the first are later ones.
    fn flag_later_votes(&mut self, rows: &Rows) {
        let sorted = self.by_key(rows, true, |row| rows.visits[row]);
        for group in sorted.chunk_by(|(visit_1, _), (visit_2, _)| visit_1 == visit_2) {
            for &(_, row) in &group[1..] {
                self.flags[row].insert(Rule::LaterVoteOfVisit);
            }
        }
    }

    /// Of a judge's votes of one day that are left, those beyond the cap.
    fn flag_over_cap(&mut self, rows: &Rows, profile: &Profile) {
        let Some(cap) = profile.daily_cap() else {
            return;
        };
        let is_agon = matches!(profile, Profile::Agon1(_));
        let offset_s = profile.utc_offset_s();
        let sorted = self.by_key(rows, is_agon, |row| {
            let day = time::day(rows.times[row], offset_s)?;
            Some((rows.judges[row]?, day))
        });
        let n_left = self
            .excluded_by
            .iter()
            .filter(|excluded_by| excluded_by.is_none())
            .count();
        self.n_uncapped = (n_left - sorted.len()) as u64;
        for group in sorted.chunk_by(|(key_1, _), (key_2, _)| key_1 == key_2) {
            for &(_, row) in group.iter().skip(cap as usize) {
                self.flags[row].insert(Rule::DailyCap);
            }
        }
    }

    /// Tags the rows that are left by how frequent their prompt is.
    fn tag_prompts(&mut self, rows: &Rows, top: TopPrompts) -> TopPromptsAudit {
        let left = || {
            (0..self.flags.len())
                .filter(|&row| self.excluded_by[row].is_none())
                .filter_map(|row| rows.prompts[row].map(|prompt| (prompt, row, rows.ids[row])))
        };
        let (tags, audit) = prompts::tag(top, left, self.flags.len());
        for (flags, tag) in self.flags.iter_mut().zip(&tags) {
            let Some(tag) = tag else { continue };
            if tag.high_freq {
                flags.insert(Rule::FrequentPrompt);
            }
            if !tag.sampled {
                flags.insert(Rule::TopPrompt);
            }
        }
        self.tags = Some(tags);
        audit
    }
}

#[cfg(test)]
mod tests;
