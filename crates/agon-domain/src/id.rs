//! One type for each kind of id, so that mixing two of them does not compile.
//!
//! Every id is 16 or 32 bytes, written as lower-case hexadecimal without separators, which is also how it appears in URLs, the database and a release.

use std::{fmt, str::FromStr};

use rand::{Rng, RngExt as _};

/// A text that is not an id of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not a {kind}: expected {digits} lower-case hexadecimal digits")]
pub struct ParseIdError {
    /// What kind of id was expected, in words.
    pub kind: &'static str,
    /// How many hexadecimal digits it has.
    pub digits: usize,
    /// The text as given, cut to 80 characters.
    pub value: String,
}

macro_rules! hexadecimal_id {
    ($(#[$doc:meta])* $name:ident, $bytes:literal, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $bytes]);

        impl $name {
            /// The id with these bytes.
            pub const fn from_bytes(bytes: [u8; $bytes]) -> Self {
                Self(bytes)
            }

            /// The bytes, most significant first.
            pub const fn as_bytes(&self) -> &[u8; $bytes] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                parse_hexadecimal(text).map(Self).ok_or_else(|| ParseIdError {
                    kind: $kind,
                    digits: 2 * $bytes,
                    value: text.chars().take(80).collect(),
                })
            }
        }
    };
}

hexadecimal_id!(
    /// One battle: the same prompts to two models. Published as `question_id`.
    BattleId, 16, "battle id"
);
hexadecimal_id!(
    /// One visit: a browser (or API client) that accepted the terms.
    ///
    /// The store keeps this id, which is the SHA-256 of the secret in the visitor's cookie, never the secret itself.
    VisitId, 32, "visit id"
);
hexadecimal_id!(
    /// One recorded consent.
    ConsentId, 16, "consent id"
);
hexadecimal_id!(
    /// The pseudonym of a voter: a keyed hash of an address prefix, see [`crate::voter`].
    VoterId, 16, "voter id"
);
hexadecimal_id!(
    /// An image, named by the SHA-256 of its normalised bytes.
    ImageId, 32, "image id"
);
hexadecimal_id!(
    /// One sealed case: a match with a known abuse image, see [`crate::policy::Action::Quarantine`].
    CaseId, 16, "case id"
);

impl BattleId {
    /// A new id with 128 random bits.
    pub fn random(rng: &mut impl Rng) -> Self {
        Self(rng.random())
    }
}

impl CaseId {
    /// A new id with 128 random bits.
    pub fn random(rng: &mut impl Rng) -> Self {
        Self(rng.random())
    }
}

impl ConsentId {
    /// A new id with 128 random bits.
    pub fn random(rng: &mut impl Rng) -> Self {
        Self(rng.random())
    }
}

fn parse_hexadecimal<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = (hexadecimal_digit(pair[0])? << 4) | hexadecimal_digit(pair[1])?;
    }
    Some(bytes)
}

fn hexadecimal_digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_what_it_writes() {
        let id = BattleId::from_bytes([
            0x00, 0x01, 0x7f, 0x80, 0xff, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xab,
        ]);
        assert_eq!(id.to_string(), "00017f80ff05060708090a0b0c0d0eab");
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn other_texts_are_refused_with_the_value() {
        for text in [
            "",
            "00",
            "00017F80ff05060708090a0b0c0d0eab",
            "00017f80-f05060708090a0b0c0d0eab",
            "é0017f80ff05060708090a0b0c0d0ea",
        ] {
            let error = text.parse::<BattleId>().unwrap_err();
            assert_eq!(error.value, text);
            assert!(
                error
                    .to_string()
                    .contains("32 lower-case hexadecimal digits")
            );
        }
    }
}
