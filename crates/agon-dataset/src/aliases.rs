//! Names of models that stand for other names.

use std::{collections::HashMap, sync::Arc};

use unicode_normalization::UnicodeNormalization as _;

/// Old names of models with the names that they are counted under.
///
/// Applied after white space is trimmed and names are brought to Unicode's normal form C, and only once: a new name is never an old one too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aliases {
    names: Arc<HashMap<String, String>>,
}

/// Aliases that make no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AliasError {
    /// A name without a visible character.
    #[error("an alias is blank")]
    Blank,
    /// The same old name twice.
    #[error("`{old}` has two new names, `{first}` and `{second}`")]
    Twice {
        /// The old name.
        old: String,
        /// One new name.
        first: String,
        /// The other.
        second: String,
    },
    /// A new name that is an old one too, so that the order of renaming would matter.
    #[error("`{name}` is both an old name and a new one")]
    Chain {
        /// The name.
        name: String,
    },
}

impl Aliases {
    /// Aliases from pairs of an old and a new name.
    ///
    /// # Errors
    ///
    /// Blank names, an old name with two new ones, and a new name that is an old one too.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, AliasError> {
        let mut names: HashMap<String, String> = HashMap::new();
        for (old, new) in pairs {
            let [old, new] = [old, new].map(|name| name.trim().nfc().collect::<String>());
            if old.is_empty() || new.is_empty() {
                return Err(AliasError::Blank);
            }
            if let Some(first) = names.get(&old)
                && *first != new
            {
                return Err(AliasError::Twice {
                    first: first.clone(),
                    old,
                    second: new,
                });
            }
            names.insert(old, new);
        }
        let mut chained: Vec<&String> = names
            .iter()
            .filter(|(old, new)| old != new)
            .map(|(_, new)| new)
            .filter(|new| names.contains_key(*new))
            .collect();
        chained.sort_unstable();
        if let Some(name) = chained.first() {
            return Err(AliasError::Chain {
                name: (*name).clone(),
            });
        }
        names.retain(|old, new| old != new);
        Ok(Self {
            names: Arc::new(names),
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The new name of an old one.
    pub fn get(&self, old: &str) -> Option<&str> {
        self.names.get(old).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aliases(pairs: &[(&str, &str)]) -> Result<Aliases, String> {
        let pairs = pairs.iter();
        let pairs = pairs.map(|&(old, new)| (old.to_owned(), new.to_owned()));
        Aliases::new(pairs).map_err(|error| error.to_string())
    }

    #[test]
    fn aliases_are_normalised_and_never_chained() {
        let known = aliases(&[(" bard ", "palm-2"), ("Tu\u{308}lu", "tulu"), ("x", "x")]).unwrap();
        assert_eq!(known.len(), 2);
        assert_eq!(known.get("bard"), Some("palm-2"));
        assert_eq!(known.get("T\u{fc}lu"), Some("tulu"));
        assert_eq!(known.get("x"), None);
        assert!(aliases(&[]).unwrap().is_empty());
        for (pairs, expected) in [
            (
                vec![("a", "b"), ("b", "c")],
                "`b` is both an old name and a new one",
            ),
            (
                vec![("a", "b"), ("b", "a")],
                "`a` is both an old name and a new one",
            ),
            (
                vec![("a", "b"), ("a ", "c")],
                "`a` has two new names, `b` and `c`",
            ),
            (vec![(" ", "c")], "an alias is blank"),
            (vec![("a", "")], "an alias is blank"),
        ] {
            assert_eq!(aliases(&pairs).unwrap_err(), expected);
        }
    }
}
