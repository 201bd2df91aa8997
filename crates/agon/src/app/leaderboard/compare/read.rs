//! Reading boards back: the document of `agon rank --json`, and the shape of the published catalog.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use agon_ranking::{critical_value, ranks};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess, Visitor},
};

/// The catalog's name for the board of all votes, and ours.
const CATALOG_OVERALL: &str = "full";
const OVERALL: &str = "overall";
/// The bounds of the catalog are quantiles 0.025 and 0.975.
const CATALOG_LEVEL: f64 = 0.95;

/// Boards as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// What kind of document it is: `agon` or `catalog`.
    pub format: &'static str,
    /// Confidence level of its intervals.
    pub level: f64,
    /// Its boards, in its order.
    pub boards: Vec<ReadBoard>,
    /// What its boards were made with, by name, as JSON; empty where the document does not say.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// SHA-256 of the sources its boards were made from, where the document says so.
    pub sources: Vec<String>,
}

/// One board as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadBoard {
    /// Which battles it is made of.
    pub category: String,
    /// Which group of models, from 1.
    pub group: u64,
    /// Whether ratings are net of style; `None` where the document does not say.
    pub style_control: Option<bool>,
    /// Its models, in its order.
    pub models: Vec<ReadModel>,
}

/// One model as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadModel {
    /// Its name.
    pub name: String,
    /// Its rating.
    pub rating: f64,
    /// Its interval.
    pub bounds: Option<(f64, f64)>,
    /// Its place, where it has one.
    pub rank: Option<usize>,
    /// Whether its rating is one, or a guess for a provisional model.
    pub is_rated: bool,
    /// Share of the points of its battles, a tie of either kind being half a point; `None` where battles are not told.
    pub win_rate: Option<f64>,
}

/// Why a file is no board.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no JSON.
    #[error("not JSON")]
    NoJson(#[source] serde_json::Error),
    /// It is JSON, but neither of the documents.
    #[error("neither `leaderboards` of `agon rank --json` nor a catalog of categories and models")]
    Unknown,
    /// A field is missing, or is not what it should be.
    #[error("`{field}`: {problem}")]
    Field {
        /// Where in the document, such as `leaderboards[0].models[3].rating`.
        field: String,
        /// What is wrong.
        problem: String,
    },
}

impl ReadError {
    fn field(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Field {
            field: field.into(),
            problem: problem.into(),
        }
    }
}

/// Reads either kind of document; content decides which.
///
/// # Errors
///
/// [`ReadError`], with the field.
pub fn read(bytes: &[u8]) -> Result<Document, ReadError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let top: BTreeMap<String, serde::de::IgnoredAny> = match serde_json::from_slice(bytes) {
        Ok(top) => top,
        Err(error) if error.is_data() => return Err(ReadError::Unknown),
        Err(error) => return Err(ReadError::NoJson(error)),
    };
    if top.contains_key("leaderboards") {
        agon(parse(bytes)?)
    } else if top.is_empty() {
        Err(ReadError::Unknown)
    } else {
        catalog(parse(bytes)?)
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ReadError> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let field = error.path().to_string();
        ReadError::field(field, error.into_inner().to_string())
    })
}

// What is read of our own document. Everything else in it may change without breaking this.
#[derive(Deserialize)]
struct AgonDocument {
    leaderboards: Vec<AgonBoard>,
    #[serde(default)]
    settings: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    input: AgonInput,
}

#[derive(Default, Deserialize)]
struct AgonInput {
    #[serde(default)]
    sources: Vec<AgonSource>,
}

#[derive(Deserialize)]
struct AgonSource {
    sha256: Option<String>,
}

#[derive(Deserialize)]
struct AgonBoard {
    category: String,
    group: u64,
    style_control: bool,
    models: Vec<AgonModel>,
}

#[derive(Deserialize)]
struct AgonModel {
    model: String,
    rating: f64,
    rating_lower: Option<f64>,
    rating_upper: Option<f64>,
    rank: Option<usize>,
    status: Status,
    battles: u64,
    wins: u64,
    ties: u64,
    both_bad: u64,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Status {
    Rated,
    Provisional,
}

fn agon(document: AgonDocument) -> Result<Document, ReadError> {
    let level = match document.settings.get("level") {
        None => return Err(ReadError::field("settings.level", "missing")),
        Some(level) => level
            .as_f64()
            .filter(|level| *level > 0.0 && *level < 1.0)
            .ok_or_else(|| ReadError::field("settings.level", "not a number between 0 and 1"))?,
    };
    let mut boards = Vec::with_capacity(document.leaderboards.len());
    for (idx, board) in document.leaderboards.into_iter().enumerate() {
        let mut models = Vec::with_capacity(board.models.len());
        for (position, model) in board.models.into_iter().enumerate() {
            let place = || format!("leaderboards[{idx}].models[{position}]");
            let bounds = bounds(model.rating_lower, model.rating_upper, place)?;
            // Twice the points, so that halves stay whole; in 128 bits, so that no count is too large.
            let points =
                2 * u128::from(model.wins) + u128::from(model.ties) + u128::from(model.both_bad);
            let most = 2 * u128::from(model.battles);
            if points > most {
                return Err(ReadError::field(
                    format!("{}.battles", place()),
                    "fewer than its wins, ties and both bad",
                ));
            }
            models.push(ReadModel {
                name: model.model,
                rating: model.rating,
                bounds,
                rank: model.rank,
                is_rated: model.status == Status::Rated,
                win_rate: (most > 0).then(|| points as f64 / most as f64),
            });
        }
        check_names(&models, || format!("leaderboards[{idx}].models"))?;
        boards.push(ReadBoard {
            category: board.category,
            group: board.group,
            style_control: Some(board.style_control),
            models,
        });
    }
    let sources = document.input.sources.into_iter();
    Ok(Document {
        format: "agon",
        level,
        boards,
        settings: document.settings,
        sources: sources.filter_map(|source| source.sha256).collect(),
    })
}

#[derive(Deserialize)]
struct CatalogModel {
    rating: f64,
    #[serde(alias = "rating_q025")]
    rating_lower: Option<f64>,
    #[serde(alias = "rating_q975")]
    rating_upper: Option<f64>,
}

fn catalog(categories: Entries<Entries<CatalogModel>>) -> Result<Document, ReadError> {
    let names_overall = categories.0.iter().any(|(name, _)| name == OVERALL);
    let mut boards = Vec::with_capacity(categories.0.len());
    for (category, entries) in categories.0 {
        let mut models = Vec::with_capacity(entries.0.len());
        for (name, model) in entries.0 {
            let place = || format!("{category}.{name}");
            models.push(ReadModel {
                bounds: bounds(model.rating_lower, model.rating_upper, place)?,
                name,
                rating: model.rating,
                rank: None,
                is_rated: true,
                win_rate: None,
            });
        }
        check_names(&models, || category.clone())?;
        // The catalog has no places; they follow from its intervals, as they do where it is shown.
        let intervals: Vec<_> = models.iter().map(|model| model.bounds).collect();
        for (model, place) in models.iter_mut().zip(ranks(&intervals)) {
            model.rank = model.bounds.map(|_| place.rank);
        }
        let is_overall = category == CATALOG_OVERALL && !names_overall;
        boards.push(ReadBoard {
            category: if is_overall {
                OVERALL.to_owned()
            } else {
                category
            },
            group: 1,
            style_control: None,
            models,
        });
    }
    Ok(Document {
        format: "catalog",
        level: CATALOG_LEVEL,
        boards,
        settings: BTreeMap::new(),
        sources: Vec::new(),
    })
}

fn bounds(
    lower: Option<f64>,
    upper: Option<f64>,
    place: impl Fn() -> String,
) -> Result<Option<(f64, f64)>, ReadError> {
    match (lower, upper) {
        (Some(lower), Some(upper)) if lower <= upper => Ok(Some((lower, upper))),
        (Some(_), Some(_)) => Err(ReadError::field(
            format!("{}.rating_upper", place()),
            "below the lower bound",
        )),
        (None, None) => Ok(None),
        (Some(_), None) => Err(ReadError::field(
            format!("{}.rating_upper", place()),
            "missing beside a lower bound",
        )),
        (None, Some(_)) => Err(ReadError::field(
            format!("{}.rating_lower", place()),
            "missing beside an upper bound",
        )),
    }
}

fn check_names(models: &[ReadModel], place: impl Fn() -> String) -> Result<(), ReadError> {
    let mut names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ReadError::field(
            place(),
            format!("the model `{}` stands there twice", pair[0]),
        )),
        None => Ok(()),
    }
}

/// Standard error behind an interval, which is taken as symmetric: half its width over the critical value.
pub(super) fn standard_error(
    (lower, upper): (f64, f64),
    level: f64,
) -> Result<f64, agon_ranking::Error> {
    Ok((upper - lower) / 2.0 / critical_value(level)?)
}

/// An object as a list, so that its order is kept and a key that stands there twice is seen.
#[derive(Debug)]
struct Entries<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
            type Value = Entries<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refusal(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_field_that_is_wrong_is_named() {
        let agon = |model: &str| {
            format!(
                r#"{{"leaderboards":[{{"category":"overall","group":1,"style_control":false,"models":[{model}]}}],"settings":{{"level":0.95}}}}"#
            )
        };
        let model = r#""model":"a","rating":1000,"status":"rated","battles":4,"wins":1,"ties":1,"both_bad":0"#;
        let good = agon(&format!(
            r#"{{{model},"rating_lower":990,"rating_upper":1010,"rank":1,"new":[1]}}"#
        ));
        let document = read(good.as_bytes()).unwrap();
        assert_eq!(document.boards[0].models[0].win_rate, Some(0.375));
        assert_eq!(document.boards[0].models[0].bounds, Some((990.0, 1010.0)));

        for (text, expected) in [
            (
                agon(r#"{"model":"a"}"#),
                "`leaderboards[0].models[0]`: missing field `rating`",
            ),
            (
                agon(r#"{"model":"a","rating":"high"}"#),
                "`leaderboards[0].models[0].rating`: invalid type: string \"high\", expected f64",
            ),
            (
                agon(&format!(
                    r#"{{{model},"rating_lower":1010,"rating_upper":990}}"#
                )),
                "`leaderboards[0].models[0].rating_upper`: below the lower bound",
            ),
            (
                agon(&format!(r#"{{{model},"rating_upper":990}}"#)),
                "`leaderboards[0].models[0].rating_lower`: missing beside an upper bound",
            ),
            (
                agon(&format!("{{{model}}},{{{model}}}")),
                "`leaderboards[0].models`: the model `a` stands there twice",
            ),
            (
                agon(&format!(
                    "{{{}}}",
                    model.replace("\"wins\":1", "\"wins\":4")
                )),
                "`leaderboards[0].models[0].battles`: fewer than its wins, ties and both bad",
            ),
            (
                good.replace("0.95", "95"),
                "`settings.level`: not a number between 0 and 1",
            ),
            (
                r#"{"leaderboards":[]}"#.to_owned(),
                "`settings.level`: missing",
            ),
            (
                r#"{"full":{"a":{"rating_q025":1}}}"#.to_owned(),
                "`full.a`: missing field `rating`",
            ),
            (
                r#"{"full":{"a":{"rating":1},"a":{"rating":2}}}"#.to_owned(),
                "`full`: the model `a` stands there twice",
            ),
            (
                r#"{"full":[1]}"#.to_owned(),
                "`full`: invalid type: sequence, expected an object",
            ),
        ] {
            let found = refusal(&text);
            assert!(found.starts_with(expected), "{found}\n{expected}");
        }
        for text in ["[]", "{}", "3", "\"a\""] {
            assert!(
                matches!(read(text.as_bytes()), Err(ReadError::Unknown)),
                "{text}"
            );
        }
        for text in [
            "",
            "{",
            "model_a,model_b,winner\n",
            r#"{"full":{"a":{"rating":NaN}}}"#,
        ] {
            assert!(
                matches!(read(text.as_bytes()), Err(ReadError::NoJson(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn the_catalog_gets_its_places_and_its_overall_board() {
        let text = r#"{"full":{"a":{"rating":1100,"rating_q975":1110,"rating_q025":1090},"b":{"rating":1000,"rating_upper":1010,"rating_lower":990},"c":{"rating":900}},"math":{}}"#;
        let document = read(text.as_bytes()).unwrap();
        assert_eq!(document.format, "catalog");
        assert_eq!(document.boards[0].category, "overall");
        let ranks: Vec<_> = document.boards[0]
            .models
            .iter()
            .map(|model| model.rank)
            .collect();
        assert_eq!(ranks, [Some(1), Some(2), None]);
        assert_eq!(document.boards[1].models, []);
        let both = read(br#"{"full":{},"overall":{}}"#).unwrap();
        assert_eq!(both.boards[0].category, "full");
    }
}
