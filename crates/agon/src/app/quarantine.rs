//! Sealed cases: what is kept of a match with a known abuse image, and how two people together open it.
//!
//! The arena can seal and cannot open: it holds custodians' public keys alone.
//! Each case has a key of its own, an [age](https://age-encryption.org/v1) identity.
//! For every pair of custodians that key is encrypted twice, to one and then to the other, so that any two can open and no one can alone.
//! Nothing in here is logged, and no type here shows what it holds.

mod evidence;
pub mod report;

use std::fmt;

use age::secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};

use crate::config::Config;

pub use age::x25519::{Identity, Recipient};
pub use evidence::{Evidence, EvidenceMatch, Found, NamedFile};

/// What a sealed file starts with; the number is the version of its form.
const MAGIC: &str = "agon-sealed-case-1";

/// Why something could not be sealed or opened. None of them says what is inside.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// Fewer than two keys.
    #[error("a case is sealed for at least two custodians")]
    TooFewCustodians,
    /// A text that is no public key.
    #[error("`{value}` is no public key: expected `age1…`, as `agon quarantine key` prints it")]
    PublicKey {
        /// The text, cut to 80 characters.
        value: String,
    },
    /// The same key twice.
    #[error("the key `{value}` is there twice: two people are needed")]
    SameKey {
        /// The public key.
        value: String,
    },
    /// These two cannot open this case.
    #[error("the case was not sealed for `{first}` and `{second}` together")]
    NotTheirs {
        /// The first one's public key.
        first: String,
        /// The second one's public key.
        second: String,
    },
    /// Not a sealed file.
    #[error("the file is no sealed case, or is damaged")]
    Damaged,
    /// Encryption failed.
    #[error("the case could not be sealed")]
    Encrypt(#[source] age::EncryptError),
    /// Evidence that is no JSON.
    #[error("the evidence could not be written")]
    Evidence(#[source] serde_json::Error),
}

/// The people who can open cases, any two of them together.
#[derive(Clone)]
pub struct Custodians(Vec<Recipient>);

impl fmt::Debug for Custodians {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Custodians")
            .field(&self.0.len())
            .finish()
    }
}

impl Custodians {
    /// From their public keys.
    ///
    /// # Errors
    ///
    /// [`SealError::PublicKey`], [`SealError::SameKey`], [`SealError::TooFewCustodians`].
    pub fn new(public_keys: &[String]) -> Result<Self, SealError> {
        let mut recipients = Vec::with_capacity(public_keys.len());
        for (idx, key) in public_keys.iter().enumerate() {
            if public_keys[..idx].contains(key) {
                return Err(SealError::SameKey { value: key.clone() });
            }
            recipients.push(key.parse().map_err(|_| SealError::PublicKey {
                value: key.chars().take(80).collect(),
            })?);
        }
        if recipients.len() < 2 {
            return Err(SealError::TooFewCustodians);
        }
        Ok(Self(recipients))
    }

    /// The custodians that the configuration names; `None` when it names nobody.
    ///
    /// # Errors
    ///
    /// As [`Custodians::new`].
    pub fn from_config(config: &Config) -> Result<Option<Self>, SealError> {
        let keys = &config.raw.screening.quarantine.custodians;
        (!keys.is_empty()).then(|| Self::new(keys)).transpose()
    }

    /// Seals bytes so that any two custodians together, and nobody else, can read them.
    ///
    /// # Errors
    ///
    /// [`SealError::Encrypt`], [`SealError::Evidence`].
    pub fn seal(&self, bytes: &[u8]) -> Result<Vec<u8>, SealError> {
        let case_key = Identity::generate();
        let secret = case_key.to_string();
        let mut keys = Vec::new();
        for (idx, first) in self.0.iter().enumerate() {
            for second in &self.0[idx + 1..] {
                let inner = age::encrypt(second, secret.expose_secret().as_bytes())
                    .map_err(SealError::Encrypt)?;
                let key = age::encrypt(first, &inner).map_err(SealError::Encrypt)?;
                keys.push(PairKey {
                    first: first.to_string(),
                    second: second.to_string(),
                    key,
                });
            }
        }
        let header = Header {
            form: MAGIC.to_owned(),
            keys,
        };
        let mut sealed = serde_json::to_vec(&header).map_err(SealError::Evidence)?;
        sealed.push(b'\n');
        sealed.extend(age::encrypt(&case_key.to_public(), bytes).map_err(SealError::Encrypt)?);
        Ok(sealed)
    }
}

/// Opens a sealed case with the keys of two custodians.
///
/// # Errors
///
/// [`SealError::SameKey`], [`SealError::NotTheirs`], [`SealError::Damaged`].
pub fn open(sealed: &[u8], identities: [&Identity; 2]) -> Result<Vec<u8>, SealError> {
    let names = identities.map(|identity| identity.to_public().to_string());
    if names[0] == names[1] {
        let [value, _] = names;
        return Err(SealError::SameKey { value });
    }
    let end = sealed
        .iter()
        .position(|&byte| byte == b'\n')
        .ok_or(SealError::Damaged)?;
    let header: Header = serde_json::from_slice(&sealed[..end]).map_err(|_| SealError::Damaged)?;
    if header.form != MAGIC {
        return Err(SealError::Damaged);
    }
    for (first, second) in [(0, 1), (1, 0)] {
        let pair = header
            .keys
            .iter()
            .find(|pair| pair.first == names[first] && pair.second == names[second]);
        if let Some(pair) = pair {
            let damaged = |_| SealError::Damaged;
            let inner = age::decrypt(identities[first], &pair.key).map_err(damaged)?;
            let secret = age::decrypt(identities[second], &inner).map_err(damaged)?;
            let case_key: Identity = std::str::from_utf8(&secret)
                .ok()
                .and_then(|text| text.parse().ok())
                .ok_or(SealError::Damaged)?;
            return age::decrypt(&case_key, &sealed[end + 1..]).map_err(damaged);
        }
    }
    let [first, second] = names;
    Err(SealError::NotTheirs { first, second })
}

/// The first line of a sealed file.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    form: String,
    keys: Vec<PairKey>,
}

/// The case's key, for two people.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct PairKey {
    first: String,
    second: String,
    /// Encrypted to the first; inside, to the second.
    key: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people(n: usize) -> (Vec<Identity>, Custodians) {
        let identities: Vec<Identity> = (0..n).map(|_| Identity::generate()).collect();
        let keys: Vec<String> = identities
            .iter()
            .map(|identity| identity.to_public().to_string())
            .collect();
        let custodians = Custodians::new(&keys).unwrap();
        (identities, custodians)
    }

    #[test]
    fn any_two_custodians_open_a_case_in_either_order() {
        let (people, custodians) = people(3);
        let sealed = custodians.seal(b"evidence").unwrap();
        for (a, b) in [(0, 1), (1, 0), (0, 2), (2, 1)] {
            assert_eq!(
                open(&sealed, [&people[a], &people[b]]).unwrap(),
                b"evidence",
                "{a} {b}"
            );
        }
    }

    #[test]
    fn nobody_opens_a_case_alone_or_with_a_stranger() {
        let (people, custodians) = people(2);
        let sealed = custodians.seal(b"evidence").unwrap();
        let stranger = Identity::generate();
        let alone = open(&sealed, [&people[0], &people[0]]);
        assert!(matches!(alone, Err(SealError::SameKey { .. })), "{alone:?}");
        let foreign = open(&sealed, [&people[0], &stranger]);
        assert!(
            matches!(foreign, Err(SealError::NotTheirs { .. })),
            "{foreign:?}"
        );
        // Neither layer of a pair's key gives the case's key to one person.
        let end = sealed.iter().position(|&byte| byte == b'\n').unwrap();
        let header: Header = serde_json::from_slice(&sealed[..end]).unwrap();
        let inner = age::decrypt(&people[0], &header.keys[0].key).unwrap();
        assert!(age::decrypt(&people[0], &inner).is_err());
        assert!(age::decrypt(&people[1], &header.keys[0].key).is_err());
        assert!(
            std::str::from_utf8(&inner).is_err()
                || !String::from_utf8_lossy(&inner).contains("AGE-SECRET-KEY")
        );
    }

    #[test]
    fn a_changed_byte_is_noticed_wherever_it_is() {
        let (people, custodians) = people(2);
        let sealed = custodians.seal(&[7; 1000]).unwrap();
        for at in (0..sealed.len()).step_by(13) {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(open(&changed, [&people[0], &people[1]]).is_err(), "{at}");
        }
        assert!(open(b"", [&people[0], &people[1]]).is_err());
    }

    #[test]
    fn two_different_keys_are_needed() {
        let key = Identity::generate().to_public().to_string();
        let one = Custodians::new(std::slice::from_ref(&key));
        assert!(matches!(one, Err(SealError::TooFewCustodians)), "{one:?}");
        let same = Custodians::new(&[key.clone(), key]);
        assert!(matches!(same, Err(SealError::SameKey { .. })), "{same:?}");
        let odd = Custodians::new(&["age1x".to_owned()]);
        assert!(matches!(odd, Err(SealError::PublicKey { .. })), "{odd:?}");
    }
}
