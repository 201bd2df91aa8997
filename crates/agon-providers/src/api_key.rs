//! A key that does not show itself.

use std::fmt;

use crate::{Error, ErrorKind};

/// A credential of an endpoint. Its debug print hides it, and there is no other print.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes a key as it is; what cannot be sent is refused when a provider is built with it.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// The key itself, to be sent and never to be shown.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The value of the `authorization` header.
    pub(crate) fn bearer(&self) -> Result<reqwest::header::HeaderValue, Error> {
        let refuse = |message| Err(Error::new(ErrorKind::Configuration, message));
        if self.0.is_empty() {
            return refuse("the key is empty: expected a key, or none at all");
        }
        let Ok(mut value) = reqwest::header::HeaderValue::from_str(&format!("Bearer {}", self.0))
        else {
            return refuse("the key holds a character that cannot be sent, perhaps a line break");
        };
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_hides_itself_and_an_unusable_one_is_refused_without_being_shown() {
        assert_eq!(format!("{:?}", ApiKey::new("sk-1")), "ApiKey(…)");
        for (key, message) in [
            ("", "the key is empty: expected a key, or none at all"),
            (
                "sk-1\n",
                "the key holds a character that cannot be sent, perhaps a line break",
            ),
        ] {
            assert_eq!(ApiKey::new(key).bearer().unwrap_err().message, message);
        }
        assert!(ApiKey::new("sk-1").bearer().unwrap().is_sensitive());
    }
}
