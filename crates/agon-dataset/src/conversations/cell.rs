//! A value as any format holds it: JSON, a field of a table in text, or a nested column of Parquet.

use std::{borrow::Cow, fmt};

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

use crate::battles::time::Time;

/// What is said of a text in which something was replaced.
pub(super) const REPAIRED: &str = "half of a surrogate pair, replaced by U+FFFD";

/// A value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Cell {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    /// Bytes that are no text by their column's type; of Parquet those of the decoded column, as pictures are large.
    Bytes(Bytes),
    /// A point in time, in seconds since 1970 UTC.
    Seconds(f64),
    List(Vec<Self>),
    Group(Vec<(String, Self)>),
    /// A value of a type that is not read, by the name of the type.
    Other(String),
}

impl Cell {
    /// Reads JSON, and says whether halves of surrogate pairs had to be replaced in it.
    ///
    /// # Errors
    ///
    /// What keeps it from being JSON that can be held.
    pub(super) fn parse(text: &str) -> Result<(Self, bool), serde_json::Error> {
        serde_json::from_str(text)
            .map(|cell| (cell, false))
            .or_else(|error| {
                let repaired = without_lone_surrogates(text);
                let cell = repaired.and_then(|text| serde_json::from_str(&text).ok());
                cell.map(|cell| (cell, true)).ok_or(error)
            })
    }

    /// A number, which is null where it is none.
    pub(crate) fn of_f64(value: f64) -> Self {
        Number::from_f64(value).map_or(Self::Null, Self::Number)
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// A member of a group.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Group(members) => members
                .iter()
                .find_map(|(key, cell)| (key == name).then_some(cell)),
            _ => None,
        }
    }

    /// What it is, in words.
    pub(crate) fn kind(&self) -> &str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a truth value",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::Seconds(_) => "a point in time",
            Self::List(_) => "a list",
            Self::Group(_) => "an object",
            Self::Other(kind) => kind,
        }
    }

    /// Its text: of a text, and of bytes that are one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// What stands for a single value, as text: a name or a number; `None` for a blank.
    pub(crate) fn as_label(&self) -> Option<Cow<'_, str>> {
        let text = match self {
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Bool(value) => Cow::Owned(value.to_string()),
            cell => Cow::Borrowed(cell.as_text()?.trim()),
        };
        (!text.is_empty()).then_some(text)
    }

    /// The truth value that it is or spells.
    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Number(number) => match number.as_f64()? {
                0.0 => Some(false),
                1.0 => Some(true),
                _ => None,
            },
            cell => match cell.as_text()?.trim() {
                "0" => Some(false),
                "1" => Some(true),
                text if text.eq_ignore_ascii_case("false") => Some(false),
                text if text.eq_ignore_ascii_case("true") => Some(true),
                _ => None,
            },
        }
    }

    /// The point in time that it is.
    pub(crate) fn as_time(&self) -> Time {
        match self {
            Self::Seconds(seconds) => Time::Exact(*seconds),
            Self::Number(number) => number.as_f64().map_or(Time::Missing, Time::of_number),
            cell => cell.as_text().map_or(Time::Missing, Time::of_text),
        }
    }

    /// The cell itself, or what stands in it as JSON when it is a text that looks like a list or an object.
    pub(crate) fn unpacked(&self) -> Cow<'_, Self> {
        if let Some(text) = self.as_text()
            && text.trim_start().starts_with(['[', '{'])
            && let Ok((cell, _)) = Self::parse(text)
        {
            return Cow::Owned(cell);
        }
        Cow::Borrowed(self)
    }

    /// The same as JSON. Bytes that are no text become base64.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone()),
            Self::Bytes(bytes) => Value::String(super::image::base64(bytes)),
            Self::Seconds(seconds) => Number::from_f64(*seconds).map_or(Value::Null, Value::Number),
            Self::List(cells) => cells.iter().map(Self::to_json).collect(),
            Self::Group(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, cell)| (name.clone(), cell.to_json()))
                    .collect(),
            ),
            Self::Other(kind) => Value::String(kind.clone()),
        }
    }
}

/// The same JSON with U+FFFD in place of each escape that is half of a surrogate pair; `None` where there is none.
fn without_lone_surrogates(json: &str) -> Option<String> {
    let mut repaired = String::with_capacity(json.len());
    let mut rest = json;
    let mut has_lone = false;
    while let Some(idx) = rest.find('\\') {
        let (before, escape) = rest.split_at(idx);
        repaired.push_str(before);
        let length = match surrogate(escape) {
            None => escape.chars().take(2).map(char::len_utf8).sum(),
            Some(unit)
                if unit < 0xdc00 && surrogate(&escape[6..]).is_some_and(|low| low >= 0xdc00) =>
            {
                12
            }
            Some(_) => {
                has_lone = true;
                repaired.push_str("\\ufffd");
                rest = &escape[6..];
                continue;
            }
        };
        repaired.push_str(&escape[..length]);
        rest = &escape[length..];
    }
    repaired.push_str(rest);
    has_lone.then_some(repaired)
}

/// The surrogate that the text begins with as an escape of six bytes.
fn surrogate(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let unit = u32::from_str_radix(digits, 16).ok()?;
    (0xd800..0xe000).contains(&unit).then_some(unit)
}

/// About how many bytes a value takes.
pub(super) fn json_bytes(value: &Value) -> usize {
    32 + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(json_bytes).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len() + json_bytes(value))
            .sum(),
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CellVisitor;
        impl<'de> Visitor<'de> for CellVisitor {
            type Value = Cell;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E>(self) -> Result<Cell, E> {
                Ok(Cell::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Cell, E> {
                Ok(Cell::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Cell, E> {
                Ok(Cell::Number(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Cell, E> {
                Ok(Cell::Number(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Cell, E> {
                Ok(Cell::of_f64(value))
            }

            fn visit_str<E>(self, text: &str) -> Result<Cell, E> {
                Ok(Cell::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<Cell, E> {
                Ok(Cell::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Cell, A::Error> {
                let mut cells = Vec::new();
                while let Some(cell) = seq.next_element()? {
                    cells.push(cell);
                }
                Ok(Cell::List(cells))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Cell::Group(members))
            }
        }
        deserializer.deserialize_any(CellVisitor)
    }
}
