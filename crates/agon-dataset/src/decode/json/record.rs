//! The needed cells of one record, and the values that somebody wants, found in one pass over it.

use std::{borrow::Cow, fmt};

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use crate::{
    battles::row::RowReader,
    columns::{N_SPELLINGS_MAX, Role, role_of},
    fate::COLUMNS_SHOWN_MAX,
    layout::winner::Flag,
};

/// A cell that is needed.
#[derive(Debug, Default)]
pub(super) enum Cell<'de> {
    #[default]
    Absent,
    Null,
    Bool(bool),
    Text(Cow<'de, str>),
    /// A whole number, as text.
    Number(String),
    /// Something else, in words.
    Other(String),
}

impl Cell<'_> {
    /// What the cell says if it says yes or no.
    pub(super) fn flag(&self) -> Flag {
        match self {
            Self::Absent | Self::Null => Flag::Missing,
            Self::Bool(value) => Flag::of(if *value { b"1" } else { b"0" }),
            Self::Text(text) => Flag::of(text.as_bytes()),
            Self::Number(text) => Flag::of(text.as_bytes()),
            // Fractions that are whole, as data frames write them.
            Self::Other(what) if what == "1: expected text" => Flag::Yes,
            Self::Other(what) if what == "0: expected text" => Flag::No,
            Self::Other(_) => Flag::Other,
        }
    }
}

/// The cells of each role, by spelling.
pub(super) type Cells<'de> = [[Cell<'de>; N_SPELLINGS_MAX]; Role::N];

/// The needed cells of one record.
#[derive(Default)]
pub(super) struct Record<'de, 'k, 'c> {
    pub(super) cells: Cells<'de>,
    /// Where to note the keys, for a message about missing ones.
    pub(super) keys: Option<&'k mut Vec<String>>,
    /// What knows which other values are wanted.
    pub(super) reader: Option<&'k mut RowReader<'c>>,
    /// The wanted values, each with its place in the reader.
    pub(super) values: Vec<(usize, &'de str)>,
}

impl<'de> Record<'de, '_, '_> {
    fn set<E: serde::de::Error>(
        &mut self,
        role: Role,
        rank: usize,
        key: &str,
        new: Cell<'de>,
    ) -> Result<(), E> {
        let cell = &mut self.cells[role as usize][rank];
        if !matches!(cell, Cell::Absent) {
            return Err(E::custom(format_args!("duplicate key `{key}`")));
        }
        *cell = new;
        Ok(())
    }
}

pub(super) struct RecordSeed<'r, 'de, 'k, 'c>(pub(super) &'r mut Record<'de, 'k, 'c>);

impl<'de> DeserializeSeed<'de> for RecordSeed<'_, 'de, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RecordSeed<'_, 'de, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(key)) = map.next_key()? {
            if let Some(keys) = &mut self.0.keys
                && keys.len() < COLUMNS_SHOWN_MAX
            {
                keys.push(key.clone().into_owned());
            }
            let role = role_of(&key);
            if let Some(reader) = &mut self.0.reader {
                let node = reader.root(&key);
                let notes_names = reader.notes_names();
                if node.is_some() || notes_names {
                    let raw: &'de RawValue = map.next_value()?;
                    if notes_names {
                        reader.note_name(&key, raw.get());
                    }
                    self.0.values.extend(node.map(|node| (node, raw.get())));
                    if let Some((role, rank)) = role {
                        let cell = serde_json::from_str(raw.get());
                        self.0
                            .set(role, rank, &key, cell.map_err(serde::de::Error::custom)?)?;
                    }
                    continue;
                }
            }
            match role {
                Some((role, rank)) => {
                    let cell = map.next_value()?;
                    self.0.set(role, rank, &key, cell)?;
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A key, borrowed when it has no escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

impl<'de> Deserialize<'de> for Cell<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CellVisitor;
        impl<'de> Visitor<'de> for CellVisitor {
            type Value = Cell<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E>(self) -> Result<Cell<'de>, E> {
                Ok(Cell::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Cell<'de>, E> {
                Ok(Cell::Bool(value))
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cell<'de>, E> {
                Ok(Cell::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Cell<'de>, E> {
                Ok(Cell::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Cell<'de>, E> {
                Ok(Cell::Number(value.to_string()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Cell<'de>, E> {
                Ok(Cell::Number(value.to_string()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Cell<'de>, E> {
                Ok(Cell::Other(format!("{value}: expected text")))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Cell<'de>, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Cell::Other("a list: expected text".to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell<'de>, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Cell::Other("an object: expected text".to_owned()))
            }
        }
        deserializer.deserialize_any(CellVisitor)
    }
}
