//! The votes of the store as a ranking takes them: the arena's own, the imported ones, or both.
//!
//! Plain boards take counts, which are kept up to date by every vote and import; everything else takes rows.

use std::collections::{BTreeMap, HashMap};

use agon_content::annotate::style::style_features;
use agon_dataset::{
    Aliases, Battles, FeatureColumn, FeatureOrigin, Judges, Labels, Reason, SliceColumn,
    SliceValues,
};
use agon_domain::{Sides, Tally, VoterId, Winner};
use agon_store::{Error, ImportedStyle, Store};

use super::style::of_markdown;
use crate::app::leaderboard::{InputBody, Method, Settings, SourceBody, Votes, slices};

/// Imported votes read at a time.
const PAGE_VOTES: u32 = 10_000;
/// Battles of the arena read at a time: they come with their texts.
const PAGE_BATTLES: u32 = 64;
/// What the arena's own votes are called among the sources.
const ARENA: &str = "store:arena";
/// The reason under which votes of imports that are not finished are counted.
pub const UNFINISHED: &str = "unfinished_import";

/// Which votes of a store are ranked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreSelection {
    /// The arena's own.
    pub live: bool,
    /// Those of finished imports.
    pub imported: bool,
    /// Of the imported ones only those of this source.
    pub source: Option<String>,
    /// The imported votes that cleaning excludes too.
    pub keep_flagged: bool,
    /// Names that models are counted under.
    pub aliases: Option<Aliases>,
}

impl StoreSelection {
    /// The name that a model is counted under, and whether it is another one.
    fn name<'n>(&'n self, model: &'n str) -> (&'n str, bool) {
        match self.aliases.as_ref().and_then(|aliases| aliases.get(model)) {
            Some(name) => (name, true),
            None => (model, false),
        }
    }
}

/// Votes of a store, and what they are made of.
#[derive(Debug)]
pub struct StoredVotes {
    /// The votes.
    pub votes: Votes,
    /// What they are made of. What is left out is in [`InputBody::dropped`], by cleaning rule.
    pub input: InputBody,
    /// Votes with a model that is counted under another name.
    pub n_renamed: u64,
}

/// The columns that cut the votes of a store into parts.
pub const STORE_COLUMNS: [&str; 5] = ["language", "turns", "category", "source", "judge"];
/// Categories at most, as of a file with several in a row.
const CATEGORIES_MAX: usize = 64;

/// Reads the votes of a store, and says what they are made of.
///
/// # Errors
///
/// Those of the store, and [`Error::Invalid`] for more categories than a ranking takes.
pub async fn stored_votes(
    store: &Store,
    selection: &StoreSelection,
    settings: &Settings,
) -> Result<StoredVotes, Error> {
    let mut dropped = BTreeMap::new();
    if selection.imported {
        let counts = store.imported_counts(selection.source.as_deref()).await?;
        if !selection.keep_flagged {
            dropped = counts.excluded;
        }
        if counts.n_unfinished > 0 {
            dropped.insert(UNFINISHED.to_owned(), counts.n_unfinished);
        }
    }
    let (votes, sources, renamed) = if settings.needs_rows() || selection.keep_flagged {
        let mut rows = Rows::new(settings, selection);
        if selection.live {
            rows.add_live(store).await?;
        }
        if selection.imported {
            rows.add_imported(store).await?;
        }
        let renamed = rows.renamed;
        let (battles, sources) = rows.into_battles()?;
        (Votes::Rows(Box::new(battles)), sources, renamed)
    } else {
        counted(store, selection).await?
    };
    if renamed.n_self_battles > 0 {
        dropped.insert(
            Reason::SelfBattle.as_str().to_owned(),
            renamed.n_self_battles,
        );
    }
    let kept: u64 = sources.iter().map(|source| source.kept).sum();
    let input = InputBody {
        rows: kept + dropped.values().sum::<u64>(),
        kept,
        dropped,
        sources,
        ..InputBody::default()
    };
    Ok(StoredVotes {
        votes,
        input,
        n_renamed: renamed.n_renamed,
    })
}

/// What other names for models do to votes.
#[derive(Clone, Copy, Debug, Default)]
struct Renamed {
    /// Votes with a model that is counted under another name.
    n_renamed: u64,
    /// Those of them whose two models are one under their new names, which are left out.
    n_self_battles: u64,
}

impl Renamed {
    /// Takes in `n` votes between two models, and says under which names they count; `None` for a model against itself.
    fn names<'n>(
        &mut self,
        selection: &'n StoreSelection,
        models: [&'n str; 2],
        n: u64,
    ) -> Option<[&'n str; 2]> {
        let [(a, is_new_a), (b, is_new_b)] = models.map(|model| selection.name(model));
        if is_new_a || is_new_b {
            self.n_renamed += n;
        }
        if a == b {
            self.n_self_battles += n;
            return None;
        }
        Some([a, b])
    }
}

async fn counted(
    store: &Store,
    selection: &StoreSelection,
) -> Result<(Votes, Vec<SourceBody>, Renamed), Error> {
    let mut tally = Tally::new();
    let mut sources = Vec::new();
    let mut renamed = Renamed::default();
    if selection.live {
        let n = add(&mut tally, store.tally().await?.0, selection, &mut renamed);
        sources.push(body(ARENA.to_owned(), n));
    }
    if selection.imported {
        for source in store.imported_sources().await? {
            if selection
                .source
                .as_ref()
                .is_some_and(|only| *only != source)
            {
                continue;
            }
            let of_source = store.imported_tally(Some(&source)).await?;
            let n = add(&mut tally, of_source, selection, &mut renamed);
            sources.push(body(path_of(&source), n));
        }
    }
    Ok((Votes::Counted(tally), sources, renamed))
}

/// Adds the counts of one tally to another, and returns how many votes they are.
fn add(all: &mut Tally, tally: Tally, selection: &StoreSelection, renamed: &mut Renamed) -> u64 {
    let (names, pairs) = tally.into_sorted();
    let mut n_votes = 0;
    for ((a, b), counts) in pairs {
        let models = [a, b].map(|model| names[model as usize].as_str());
        let Some(models) = renamed.names(selection, models, counts.total()) else {
            continue;
        };
        let [a, b] = models.map(|model| all.model(model));
        for winner in Winner::ALL {
            let n = counts.get(winner);
            if n > 0 {
                all.add(a, b, winner, n);
                n_votes += n;
            }
        }
    }
    n_votes
}

fn path_of(source: &str) -> String {
    format!("store:{source}")
}

fn body(path: String, n: u64) -> SourceBody {
    SourceBody {
        path,
        format: "agon-store".to_owned(),
        rows: n,
        kept: n,
        sha256: None,
        etag: None,
        member: None,
    }
}

/// One vote, whoever it comes from.
struct Row {
    models: Sides<String>,
    winner: Winner,
    judge: Option<VoterId>,
    language: Option<String>,
    categories: Option<Vec<(String, bool)>>,
    n_turns: Option<u32>,
    /// Seconds since 1970; NaN where missing.
    time_s: f64,
    style: Sides<Option<ImportedStyle>>,
}

/// Votes by column, one set of columns for each source.
struct Rows<'a> {
    settings: &'a Settings,
    selection: &'a StoreSelection,
    renamed: Renamed,
    /// Whether every vote with categories has exactly one, as in a column with one value a row.
    has_one_category: bool,
    categories: Numbered<String>,
    names: Numbered<String>,
    judges: Numbered<VoterId>,
    languages: Numbered<String>,
    turns: Numbered<String>,
    sources: Vec<(String, Columns)>,
    positions: HashMap<String, usize>,
}

#[derive(Default)]
struct Columns {
    model_a: Vec<u32>,
    model_b: Vec<u32>,
    winner: Vec<Winner>,
    judges: Vec<u32>,
    languages: Vec<u32>,
    turns: Vec<u32>,
    /// One bit for each category that the vote is in, and the number of the first one.
    categories: Vec<u64>,
    first_categories: Vec<u32>,
    times: Vec<f64>,
    features: Vec<Vec<f64>>,
}

/// Values numbered in the order of first appearance.
struct Numbered<T> {
    values: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T: Clone + Eq + std::hash::Hash> Numbered<T> {
    fn new() -> Self {
        Self {
            values: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    fn number(&mut self, value: Option<&T>) -> u32 {
        let Some(value) = value else { return u32::MAX };
        if let Some(&number) = self.numbers.get(value) {
            return number;
        }
        let number = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.values.push(value.clone());
        self.numbers.insert(value.clone(), number);
        number
    }
}

impl<'a> Rows<'a> {
    fn new(settings: &'a Settings, selection: &'a StoreSelection) -> Self {
        Self {
            settings,
            selection,
            renamed: Renamed::default(),
            has_one_category: true,
            categories: Numbered::new(),
            names: Numbered::new(),
            judges: Numbered::new(),
            languages: Numbered::new(),
            turns: Numbered::new(),
            sources: Vec::new(),
            positions: HashMap::new(),
        }
    }

    async fn add_live(&mut self, store: &Store) -> Result<(), Error> {
        let needs_style = self.settings.style.is_some();
        self.source(ARENA.to_owned());
        let mut after = 0;
        loop {
            let battles = store.voted_battles(after, PAGE_BATTLES).await?;
            if battles.is_empty() {
                return Ok(());
            }
            for battle in battles {
                let Some(vote) = battle.vote else { continue };
                after = vote.sequence;
                let style = if needs_style {
                    let features = style_features(&battle, vote.n_turns);
                    let style = |tokens, markdown| {
                        Some(ImportedStyle {
                            tokens,
                            ..of_markdown(markdown)
                        })
                    };
                    let (tokens, markdown) = (features.assistant_tokens, features.markdown);
                    Sides {
                        a: style(tokens.a, &markdown.a),
                        b: style(tokens.b, &markdown.b),
                    }
                } else {
                    Sides { a: None, b: None }
                };
                self.add(
                    ARENA,
                    &Row {
                        models: battle.models,
                        winner: vote.winner,
                        judge: Some(battle.voter),
                        language: None,
                        categories: None,
                        n_turns: Some(vote.n_turns),
                        time_s: seconds(vote.cast_at),
                        style,
                    },
                );
            }
        }
    }

    async fn add_imported(&mut self, store: &Store) -> Result<(), Error> {
        let selection = self.selection;
        let mut after = 0;
        loop {
            let votes = store.imported_votes(after, PAGE_VOTES).await?;
            let Some(last) = votes.last() else {
                return Ok(());
            };
            after = last.sequence;
            for vote in votes {
                let is_other = selection
                    .source
                    .as_ref()
                    .is_some_and(|only| *only != vote.source);
                if is_other || (vote.excluded_by.is_some() && !selection.keep_flagged) {
                    continue;
                }
                self.add(
                    &path_of(&vote.source),
                    &Row {
                        models: vote.models,
                        winner: vote.winner,
                        judge: vote.judge,
                        language: vote.language,
                        categories: vote.categories,
                        n_turns: vote.n_turns,
                        time_s: vote.cast_at.map_or(f64::NAN, seconds),
                        style: vote.style,
                    },
                );
            }
        }
    }

    fn source(&mut self, path: String) -> usize {
        if let Some(&position) = self.positions.get(&path) {
            return position;
        }
        let position = self.sources.len();
        let n_features = self
            .settings
            .style
            .as_ref()
            .map_or(0, |style| style.features.len());
        let columns = Columns {
            features: vec![Vec::new(); n_features],
            ..Columns::default()
        };
        self.sources.push((path.clone(), columns));
        self.positions.insert(path, position);
        position
    }

    fn add(&mut self, path: &str, row: &Row) {
        let position = match self.positions.get(path) {
            Some(&position) => position,
            None => self.source(path.to_owned()),
        };
        let models = [row.models.a.as_str(), row.models.b.as_str()];
        let Some([a, b]) = self.renamed.names(self.selection, models, 1) else {
            return;
        };
        let model_a = self.names.number(Some(&a.to_owned()));
        let model_b = self.names.number(Some(&b.to_owned()));
        let (mut categories, mut first_category) = (0, u32::MAX);
        if let Some(named) = &row.categories {
            self.has_one_category &= matches!(named.as_slice(), [(_, true)]);
            for (name, is_in) in named {
                let number = self.categories.number(Some(name));
                // More than there are bits are refused at the end, unless each vote has one.
                categories |= u64::from(*is_in).checked_shl(number).unwrap_or(0);
                first_category = first_category.min(number);
            }
        }
        let judge = self.judges.number(row.judge.as_ref());
        let language = self.languages.number(row.language.as_ref());
        let turns = self
            .turns
            .number(row.n_turns.map(|n| n.to_string()).as_ref());
        let columns = &mut self.sources[position].1;
        columns.model_a.push(model_a);
        columns.model_b.push(model_b);
        columns.winner.push(row.winner);
        columns.judges.push(judge);
        columns.languages.push(language);
        columns.turns.push(turns);
        columns.categories.push(categories);
        columns.first_categories.push(first_category);
        columns.times.push(row.time_s);
        if let Some(style) = &self.settings.style {
            let difference = style.difference.function();
            for (name, values) in style.features.iter().zip(&mut columns.features) {
                let count = |side: Option<ImportedStyle>| {
                    let side = side?;
                    Some(f64::from(match name.as_str() {
                        "length" => side.tokens,
                        "headers" => side.headers,
                        "lists" => side.lists,
                        "bold" => side.bold,
                        _ => return None,
                    }))
                };
                values.push(match (count(row.style.a), count(row.style.b)) {
                    (Some(a), Some(b)) => difference(a, b).unwrap_or(f64::NAN),
                    _ => f64::NAN,
                });
            }
        }
    }

    /// All sources one after the other, models in the order of their names.
    fn into_battles(self) -> Result<(Battles, Vec<SourceBody>), Error> {
        let settings = self.settings;
        let wanted = slices::columns(settings);
        let n_categories = self.categories.values.len();
        let has_too_many = n_categories > CATEGORIES_MAX && !self.has_one_category;
        if has_too_many && wanted.iter().any(|name| name == slices::CATEGORY) {
            return Err(Error::Invalid {
                field: "set of categories",
                expected: "at most 64 different ones",
            });
        }
        let mut order: Vec<u32> = (0..).take(self.names.values.len()).collect();
        order.sort_unstable_by_key(|&number| &self.names.values[number as usize]);
        let mut position_of = vec![0_u32; order.len()];
        for (position, &number) in (0..).zip(&order) {
            position_of[number as usize] = position;
        }
        let mut all = Columns {
            features: vec![
                Vec::new();
                settings
                    .style
                    .as_ref()
                    .map_or(0, |style| style.features.len())
            ],
            ..Columns::default()
        };
        let mut ranges = Vec::new();
        let mut bodies = Vec::new();
        let mut source_codes = Vec::new();
        for (code, (path, columns)) in (0_u32..).zip(self.sources) {
            let from = all.winner.len();
            let models = |numbers: Vec<u32>| {
                let position_of = &position_of;
                numbers
                    .into_iter()
                    .map(move |number| position_of[number as usize])
            };
            all.model_a.extend(models(columns.model_a));
            all.model_b.extend(models(columns.model_b));
            all.winner.extend(columns.winner);
            all.judges.extend(columns.judges);
            all.languages.extend(columns.languages);
            all.turns.extend(columns.turns);
            all.categories.extend(columns.categories);
            all.first_categories.extend(columns.first_categories);
            all.times.extend(columns.times);
            for (all, values) in all.features.iter_mut().zip(columns.features) {
                all.extend(values);
            }
            let range = from..all.winner.len();
            source_codes.extend(range.clone().map(|_| code));
            bodies.push(body(path, range.len() as u64));
            ranges.push(range);
        }
        let n_sources = ranges.len();
        let one = |name: &str, values: Vec<String>, codes: &[u32]| SliceColumn {
            name: name.to_owned(),
            values: SliceValues::One(Labels {
                values,
                codes: codes.to_vec(),
            }),
        };
        let slices = wanted
            .into_iter()
            .filter_map(|name| {
                Some(match name.as_str() {
                    "language" => one(&name, self.languages.values.clone(), &all.languages),
                    "turns" => one(&name, self.turns.values.clone(), &all.turns),
                    // Where no vote says anything of categories there is no column of them.
                    slices::CATEGORY if n_categories == 0 => return None,
                    slices::CATEGORY if self.has_one_category => {
                        one(&name, self.categories.values.clone(), &all.first_categories)
                    }
                    slices::CATEGORY => SliceColumn {
                        values: SliceValues::Many {
                            labels: self.categories.values.clone(),
                            bits: all.categories.clone(),
                        },
                        name,
                    },
                    "judge" => {
                        let ids = self.judges.values.iter().map(ToString::to_string);
                        one(&name, ids.collect(), &all.judges)
                    }
                    "source" => {
                        let names = bodies.iter().map(|body| {
                            let path = body.path.as_str();
                            path.strip_prefix("store:").unwrap_or(path).to_owned()
                        });
                        one(&name, names.collect(), &source_codes)
                    }
                    // What there is no column for is told by whoever looks for it.
                    _ => return None,
                })
            })
            .collect();
        let needs_times = slices::needs_times(settings) || settings.method == Method::Elo;
        let features = settings
            .style
            .iter()
            .flat_map(|style| &style.features)
            .zip(all.features)
            .map(|(name, values)| FeatureColumn {
                name: name.clone(),
                n_missing: values.iter().filter(|value| value.is_nan()).count() as u64,
                n_from_conversations: 0,
                n_refused: 0,
                refused: Vec::new(),
                first_text: None,
                values,
                origins: vec![FeatureOrigin::Sides; n_sources],
            })
            .collect();
        let battles = Battles {
            models: order
                .iter()
                .map(|&number| self.names.values[number as usize].clone())
                .collect(),
            model_a: all.model_a,
            model_b: all.model_b,
            winner: all.winner,
            sources: ranges,
            features,
            judges: settings.interval.needs_judges().then(|| Judges {
                n_judges: u32::try_from(self.judges.values.len()).unwrap_or(u32::MAX),
                codes: all.judges,
            }),
            times: needs_times.then_some(all.times),
            slices,
            weights: None,
            first_text_weight: None,
        };
        Ok((battles, bodies))
    }
}

fn seconds(at: jiff::Timestamp) -> f64 {
    at.as_microsecond() as f64 / 1e6
}
