//! Keys, tokens and connection strings, by the fixed text that they begin with.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::AhoCorasick;

use super::{Reading, Recogniser, run_forwards};
use crate::{Entity as E, finding::Evidence, normalise::joins, shapes::Candidate, work};

pub(super) const RECOGNISER: Recogniser = Recogniser {
    entities: &[
        E::AwsAccessKey,
        E::AwsSecretKey,
        E::GithubToken,
        E::OpenaiApiKey,
        E::GoogleApiKey,
        E::SlackToken,
        E::StripeKey,
        E::Jwt,
        E::PrivateKey,
        E::AzureStorageKey,
        E::SqlConnectionString,
    ],
    words: &[],
    find,
};

/// Where a secret begins, from its mark at `start..end`; `None` if what follows is none.
type Read = fn(&str, Range<usize>) -> Option<Range<usize>>;

/// Marks with what they begin; on text as it stands, because keys mean their capitals.
const MARKS: &[(&str, E, Read)] = &[
    ("AKIA", E::AwsAccessKey, aws_access_key),
    ("ASIA", E::AwsAccessKey, aws_access_key),
    ("aws_secret_access_key", E::AwsSecretKey, aws_secret_key),
    ("AWS_SECRET_ACCESS_KEY", E::AwsSecretKey, aws_secret_key),
    ("aws_secret_key", E::AwsSecretKey, aws_secret_key),
    ("secretAccessKey", E::AwsSecretKey, aws_secret_key),
    ("SecretAccessKey", E::AwsSecretKey, aws_secret_key),
    ("ghp_", E::GithubToken, github),
    ("gho_", E::GithubToken, github),
    ("ghs_", E::GithubToken, github),
    ("ghu_", E::GithubToken, github),
    ("ghr_", E::GithubToken, github),
    ("github_pat_", E::GithubToken, |text, mark| {
        token(text, mark, 40, 255, is_word)
    }),
    ("sk-", E::OpenaiApiKey, |text, mark| {
        token(text, mark, 20, 256, is_dashed).filter(|range| {
            text[range.clone()]
                .bytes()
                .any(|byte| byte.is_ascii_digit())
        })
    }),
    ("AIza", E::GoogleApiKey, |text, mark| {
        token(text, mark, 35, 40, is_dashed)
    }),
    ("xoxa-", E::SlackToken, slack),
    ("xoxb-", E::SlackToken, slack),
    ("xoxp-", E::SlackToken, slack),
    ("xoxr-", E::SlackToken, slack),
    ("xoxs-", E::SlackToken, slack),
    ("sk_live_", E::StripeKey, stripe),
    ("sk_test_", E::StripeKey, stripe),
    ("rk_live_", E::StripeKey, stripe),
    ("rk_test_", E::StripeKey, stripe),
    ("eyJ", E::Jwt, jwt),
    ("-----BEGIN ", E::PrivateKey, private_key),
    ("AccountKey=", E::AzureStorageKey, |text, mark| {
        base64_after(text, mark, 40)
    }),
    ("SharedAccessKey=", E::AzureStorageKey, |text, mark| {
        base64_after(text, mark, 40)
    }),
    ("Server=", E::SqlConnectionString, connection_string),
    ("server=", E::SqlConnectionString, connection_string),
    ("Data Source=", E::SqlConnectionString, connection_string),
];

static MARK_SEARCH: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new(MARKS.iter().map(|(mark, ..)| mark)).ok());

/// No key or connection string is longer; PEM blocks may be.
const SECRET_BYTES_MAX: usize = 4096;
const CONNECTION_BYTES_MAX: usize = 512;
const PEM_BYTES_MAX: usize = 16 * 1024;

fn find(reading: &Reading<'_>, found: &mut Vec<Candidate>) {
    let text = reading.text();
    let Some(search) = MARK_SEARCH.as_ref() else {
        return;
    };
    let mut done = 0;
    for hit in search.find_iter(text) {
        if hit.start() < done {
            continue;
        }
        let (_, entity, read) = MARKS[hit.pattern().as_usize()];
        work::count(1);
        if let Some(range) = read(text, hit.start()..hit.end()) {
            done = range.end;
            found.push(Candidate {
                entity,
                range,
                log_odds: 4.0,
                evidence: Evidence::by("secret", 4.0),
            });
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_dashed(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// The mark and the permitted characters after it, if there are enough and the mark begins a word.
fn token(
    text: &str,
    mark: Range<usize>,
    min: usize,
    max: usize,
    allowed: fn(u8) -> bool,
) -> Option<Range<usize>> {
    let begins = text[..mark.start]
        .chars()
        .next_back()
        .is_none_or(|before| !joins(before) && before != '_' && before != '-');
    if !begins {
        return None;
    }
    let rest = run_forwards(text, mark.end, max + 1, allowed);
    let body = &text[rest.clone()];
    // A placeholder repeats one character: `sk-xxxxxxxx`, `ghp_****`.
    let varied = body.bytes().any(|byte| Some(byte) != body.bytes().next());
    (varied && (min..=max).contains(&rest.len())).then_some(mark.start..rest.end)
}

fn aws_access_key(text: &str, mark: Range<usize>) -> Option<Range<usize>> {
    token(text, mark, 16, 16, |byte| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit()
    })
}

fn github(text: &str, mark: Range<usize>) -> Option<Range<usize>> {
    token(text, mark, 36, 255, |byte| byte.is_ascii_alphanumeric())
}

fn slack(text: &str, mark: Range<usize>) -> Option<Range<usize>> {
    token(text, mark, 10, 250, |byte| {
        byte.is_ascii_alphanumeric() || byte == b'-'
    })
}

fn stripe(text: &str, mark: Range<usize>) -> Option<Range<usize>> {
    token(text, mark, 16, 250, |byte| byte.is_ascii_alphanumeric())
}

/// Forty characters of base64 after the key's name and a sign; a digest in hexadecimal is not one.
fn aws_secret_key(text: &str, mark: Range<usize>) -> Option<Range<usize>> {
    let signs = run_forwards(text, mark.end, 8, |byte| {
        matches!(byte, b' ' | b'=' | b':' | b'"' | b'\'')
    });
    let value = run_forwards(text, signs.end, 41, is_base64);
    let is_hex = text[value.clone()]
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit());
    (!signs.is_empty() && value.len() == 40 && !is_hex).then_some(value)
}

/// Header, payload and signature; the header decodes to JSON that names an algorithm.
fn jwt(text: &str, mark: Range<usize>) -> Option<Range<usize>> {
    let whole = token(text, mark.clone(), 20, SECRET_BYTES_MAX, |byte| {
        is_dashed(byte) || byte == b'.'
    })?;
    let parts: Vec<&str> = text[whole.clone()]
        .trim_end_matches('.')
        .split('.')
        .collect();
    let [header, payload, signature] = parts[..] else {
        return None;
    };
    let header = decode_base64url(header)?;
    let named = header.windows(5).any(|window| window == b"\"alg\"") && header.starts_with(b"{");
    let end = mark.start + text[whole].trim_end_matches('.').len();
    (named && !payload.is_empty() && !signature.is_empty()).then_some(mark.start..end)
}

fn decode_base64url(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut n_bits) = (0_u32, 0);
    for byte in text.bytes() {
        bits = bits << 6 | ALPHABET.iter().position(|letter| *letter == byte)? as u32;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits & 0xff) as u8);
        }
    }
    Some(bytes)
}

/// From the header of a PEM block to its footer, or to the end of its base64 when the footer was cut off.
fn private_key(text: &str, mark: Range<usize>) -> Option<Range<usize>> {
    let label = run_forwards(text, mark.end, 48, |byte| {
        byte.is_ascii_uppercase() || byte == b' '
    });
    if !text[label.clone()].ends_with("PRIVATE KEY")
        && !text[label.clone()].ends_with("PRIVATE KEY BLOCK")
    {
        return None;
    }
    let body = run_forwards(text, label.end, PEM_BYTES_MAX, |byte| {
        is_base64(byte) || matches!(byte, b'-' | b'\n' | b'\r' | b'\\' | b' ' | b':' | b',')
    });
    let after = &text[label.end..body.end];
    let end = match after.find("-----END ") {
        Some(footer) => {
            let line = &after[footer + 9..];
            label.end + footer + 9 + line.find("-----").map_or(line.len(), |dashes| dashes + 5)
        }
        None => body.end,
    };
    // A header followed by dots or by nothing is an example.
    let key = after
        .bytes()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .count();
    (key >= 16).then_some(mark.start..end)
}

fn base64_after(text: &str, mark: Range<usize>, min: usize) -> Option<Range<usize>> {
    let value = run_forwards(text, mark.end, SECRET_BYTES_MAX, is_base64);
    (value.len() >= min).then_some(mark.start..value.end)
}

/// `name=value;` pairs, one of which is a password.
fn connection_string(text: &str, mark: Range<usize>) -> Option<Range<usize>> {
    let line = run_forwards(text, mark.end, CONNECTION_BYTES_MAX, |byte| {
        !matches!(byte, b'\n' | b'"' | b'\'' | b'`' | b'<')
    });
    let whole = &text[mark.start..line.end];
    let lower = whole.to_ascii_lowercase();
    let key = ["password=", "pwd="]
        .iter()
        .find_map(|name| lower.find(name).map(|place| place + name.len()))?;
    let secret = whole[key..].split(';').next().unwrap_or_default().trim();
    let is_placeholder = secret.is_empty()
        || secret.starts_with(['{', '<', '$', '*', '%'])
        || secret.to_ascii_lowercase().contains("your");
    let end = match whole.rfind(';') {
        Some(last) if last + 1 > key => mark.start + last + 1,
        _ => mark.start + key + secret.len(),
    };
    (!is_placeholder && lower[..key].contains(';')).then_some(mark.start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<&str> {
        let hit = MARK_SEARCH.as_ref().unwrap().find(text)?;
        let (_, _, read) = MARKS[hit.pattern().as_usize()];
        read(text, hit.start()..hit.end()).map(|range| &text[range])
    }

    #[test]
    fn tokens_end_where_their_alphabet_ends() {
        assert_eq!(
            read("x=AKIAIOSFODNN7EXAMPLE;"),
            Some("AKIAIOSFODNN7EXAMPLE")
        );
        assert_eq!(read("ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), None);
        assert_eq!(read("task-list-with-many-words-in-it-1"), None);
        assert_eq!(
            read("Server=db;Password=Passw0rd!;Timeout=5"),
            Some("Server=db;Password=Passw0rd!;")
        );
        assert_eq!(read("Server=db;Password={password};"), None);
        assert_eq!(
            read("-----BEGIN PUBLIC KEY-----\nMIIEXAMPLE0000EXAMPLE"),
            None
        );
    }

    #[test]
    fn a_web_token_names_its_algorithm() {
        assert!(
            decode_base64url("eyJhbGciOiJIUzI1NiJ9")
                .is_some_and(|header| header == b"{\"alg\":\"HS256\"}")
        );
        assert_eq!(decode_base64url("a b"), None);
    }
}
