//! Links: with a user's secret in them, or with something that leads to a person.

use memchr::memmem;

use super::{Reading, Recogniser, email::is_known_domain};
use crate::{Entity as E, finding::Evidence, shapes::Candidate, work};

pub(super) const RECOGNISER: Recogniser = Recogniser {
    entities: &[E::Url, E::UrlCredentials],
    words: &[(
        E::Url,
        &[
            "profile",
            "my page",
            "my site",
            "my website",
            "homepage",
            "linkedin",
            "mon profil",
            "mein profil",
            "mi perfil",
        ],
    )],
    find,
};

const SCHEME_BYTES_MAX: usize = 16;
const URL_BYTES_MAX: usize = 2048;

fn find(reading: &Reading<'_>, found: &mut Vec<Candidate>) {
    let text = reading.text();
    let mut from = 0;
    for sign in memmem::find_iter(text.as_bytes(), b"://") {
        // A link inside another one, as in the address of an archive, is a part of it.
        if sign < from {
            continue;
        }
        let scheme = text[..sign]
            .bytes()
            .rev()
            .take(SCHEME_BYTES_MAX)
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
            .count();
        let scheme =
            text[sign - scheme..sign].trim_start_matches(|edge: char| !edge.is_ascii_alphabetic());
        if scheme.len() < 2 {
            continue;
        }
        let start = sign - scheme.len();
        let rest = &text[sign + 3..];
        let end = sign
            + 3
            + rest
                .char_indices()
                .find(|(place, character)| {
                    character.is_whitespace()
                        || *place > URL_BYTES_MAX
                        || matches!(
                            character,
                            '<' | '>'
                                | '"'
                                | '`'
                                | '|'
                                | '\\'
                                | '^'
                                | '{'
                                | '}'
                                | '，'
                                | '。'
                                | '、'
                                | '」'
                                | '）'
                        )
                })
                .map_or(rest.len(), |(place, _)| place);
        let end = start
            + text[start..end]
                .trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'', '*', '_'])
                .len();
        from = end;
        work::count(end - start);
        if end <= sign + 3 {
            continue;
        }
        let rest = &text[sign + 3..end];
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let path = &rest[authority.len()..];
        let host = authority.rsplit('@').next().unwrap_or_default();
        let user = &authority[..authority.len() - host.len()];
        let word = reading.surroundings.around(start, end).word(E::Url);
        if let Some((name, secret)) = user.trim_end_matches('@').split_once(':')
            && !secret.is_empty()
            && !is_placeholder(secret)
        {
            let log_odds = if name.is_empty() { 2.0 } else { 3.5 };
            found.push(Candidate {
                entity: E::UrlCredentials,
                range: start..end,
                log_odds,
                evidence: Evidence::by("url", log_odds),
            });
        } else if scheme.starts_with("http") || scheme.starts_with("ftp") {
            let name = host.split(':').next().unwrap_or_default();
            if !name.contains('.')
                || !is_known_domain(name) && name.bytes().any(|byte| byte.is_ascii_alphabetic())
            {
                continue;
            }
            let prior = if leads_to_a_person(path) { 0.8 } else { -1.2 };
            let log_odds = prior + if word.is_some() { 2.0 } else { 0.0 };
            found.push(Candidate {
                entity: E::Url,
                range: start..end,
                log_odds,
                evidence: Evidence::by("url", prior).announced(word),
            });
        }
    }
}

/// `<password>`, `$PASS` and the like stand for a secret and are none.
fn is_placeholder(secret: &str) -> bool {
    let lower = secret.to_ascii_lowercase();
    secret.starts_with(['$', '<', '{', '*', '%', '['])
        || matches!(
            lower.as_str(),
            "password"
                | "pass"
                | "secret"
                | "pwd"
                | "token"
                | "your_password"
                | "yourpassword"
                | "xxx"
                | "xxxx"
                | "mypassword"
        )
}

/// A token, an address or a page of one user in path or query.
fn leads_to_a_person(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let queries = [
        "token=",
        "key=",
        "auth=",
        "password=",
        "passwd=",
        "session=",
        "sig=",
        "signature=",
        "email=",
        "phone=",
        "access_token=",
        "code=",
    ];
    let has_query = lower.split_once(['?', '#']).is_some_and(|(_, query)| {
        query.split(['&', ';']).any(|part| {
            queries.iter().any(|name| {
                part.starts_with(name)
                    && part.len() > name.len() + 1
                    && !part.ends_with("key")
                    && !part.contains("your")
            })
        })
    });
    let mut parts = lower
        .split(['?', '#'])
        .next()
        .unwrap_or_default()
        .split('/')
        .skip(1);
    let first = parts.next().unwrap_or_default();
    let named = parts
        .next()
        .is_some_and(|name| !name.is_empty() && !name.starts_with(['{', ':', '<']));
    has_query
        || path.split_once('@').is_some_and(|(_, rest)| {
            let domain = rest
                .split(['/', '?', '&', '#', ';'])
                .next()
                .unwrap_or_default();
            domain.contains('.') && is_known_domain(domain)
        })
        || (matches!(
            first,
            "u" | "user" | "users" | "profile" | "profiles" | "people" | "~"
        ) && named)
        || (first.starts_with('~') && first.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn personal_pages_are_told_from_public_ones() {
        for path in [
            "/u/ana",
            "/users/17",
            "/~ana",
            "/x?token=abc",
            "/x?mail=ana@example.com",
        ] {
            assert!(leads_to_a_person(path), "{path}");
        }
        for path in ["", "/", "/wiki/Cat", "/users/", "/docs/u", "/x?page=2"] {
            assert!(!leads_to_a_person(path), "{path}");
        }
        assert!(is_placeholder("$PASSWORD") && !is_placeholder("s3cr3t"));
    }
}
