//! What an address says, before anybody is asked.

use url::Url;

use crate::Error;

/// A parsed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Web(Url),
    Bucket(Bucket),
    Hub(Dataset),
}

/// Whose protocol an object store speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vendor {
    S3,
    Google,
    Azure,
}

/// A place in an object store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) vendor: Vendor,
    pub(crate) scheme: &'static str,
    pub(crate) name: String,
    /// Without a slash in front; may be empty.
    pub(crate) key: String,
}

impl Bucket {
    /// The address of a key in the same bucket.
    pub(crate) fn address(&self, key: &str) -> String {
        format!("{}://{}/{key}", self.scheme, self.name)
    }
}

/// A place in a dataset of the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dataset {
    /// `ORG/NAME`, or `NAME` alone for the oldest ones.
    pub(crate) name: String,
    pub(crate) revision: Option<String>,
    /// Without slashes around it; may be empty.
    pub(crate) path: String,
}

impl Dataset {
    /// The address of a path in the same dataset.
    pub(crate) fn address(&self, path: &str) -> String {
        let mut text = format!("hf://datasets/{}", self.name);
        if let Some(revision) = &self.revision {
            text.push('@');
            text.push_str(revision);
        }
        if !path.is_empty() {
            text.push('/');
            text.push_str(path);
        }
        text
    }
}

/// The scheme of an address; none when the argument is no address.
pub(crate) fn scheme(argument: &str) -> Option<&str> {
    let (scheme, _) = argument.split_once("://")?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ['+', '-', '.'].contains(&c));
    // One letter is a drive.
    (is_scheme && scheme.len() > 1).then_some(scheme)
}

impl Address {
    /// Reads an argument; nothing when it is no address.
    pub(crate) fn parse(argument: &str) -> Result<Option<Self>, Error> {
        let Some(scheme) = scheme(argument) else {
            return Ok(None);
        };
        let rest = &argument[scheme.len() + "://".len()..];
        let scheme = scheme.to_ascii_lowercase();
        let refused = |detail: &str| Error::Address {
            address: shown(argument),
            detail: detail.to_owned(),
        };
        let bucket = |vendor, scheme| {
            let (name, key) = rest.split_once('/').unwrap_or((rest, ""));
            if name.is_empty() {
                return Err(refused("it names no bucket"));
            }
            if name.contains(['@', ':', '?', '#']) {
                return Err(refused("a bucket's name has none of `@`, `:`, `?` and `#`"));
            }
            Ok(Self::Bucket(Bucket {
                vendor,
                scheme,
                name: name.to_owned(),
                key: key.to_owned(),
            }))
        };
        match scheme.as_str() {
            "http" | "https" => {
                let mut url = Url::parse(argument).map_err(|error| refused(&error.to_string()))?;
                if !url.username().is_empty() || url.password().is_some() {
                    return Err(refused(
                        "a name or password in an address ends up in histories and logs, and is not taken",
                    ));
                }
                url.set_fragment(None);
                Ok(Self::Web(url))
            }
            "s3" => bucket(Vendor::S3, "s3"),
            "gs" => bucket(Vendor::Google, "gs"),
            "az" => bucket(Vendor::Azure, "az"),
            "hf" => dataset(rest).map_err(refused).map(Self::Hub),
            _ => Err(refused(
                "known are `https://`, `http://`, `s3://`, `gs://`, `az://` and `hf://`",
            )),
        }
        .map(Some)
    }
}

fn dataset(rest: &str) -> Result<Dataset, &'static str> {
    const EXPECTED: &str = "expected `hf://datasets/ORG/NAME[@REVISION][/PATH]`";
    let rest = rest.strip_prefix("datasets/").ok_or(EXPECTED)?;
    if rest.contains(['?', '#', '\\']) && !rest.contains('*') {
        return Err(EXPECTED);
    }
    let (org, rest) = rest.split_once('/').ok_or(EXPECTED)?;
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (name, revision) = match name.split_once('@') {
        Some((name, revision)) => (name, Some(revision)),
        None => (name, None),
    };
    // `refs/pr/1` and `refs/convert/parquet` are revisions with slashes, which the hub also takes written so.
    let revision = revision.map(|revision| revision.replace("%2F", "/").replace("%2f", "/"));
    let is_word = |text: &str| {
        !text.is_empty()
            && text != "."
            && text != ".."
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c))
    };
    let is_revision = |text: &String| text.split('/').all(is_word);
    if !is_word(org) || !is_word(name) || !revision.as_ref().is_none_or(is_revision) {
        return Err(EXPECTED);
    }
    let path = path.trim_matches('/');
    if path.split('/').any(|part| part == ".." || part == ".") {
        return Err(EXPECTED);
    }
    Ok(Dataset {
        name: format!("{org}/{name}"),
        revision,
        path: path.to_owned(),
    })
}

/// An address as it may be shown: without its query and without a name and password, which may be secret.
pub fn shown(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let rest = if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") {
        rest.split(['?', '#']).next().unwrap_or(rest)
    } else {
        rest
    };
    let (host, path) = match rest.find('/') {
        Some(position) => rest.split_at(position),
        None => (rest, ""),
    };
    let host = host.rsplit('@').next().unwrap_or(host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_paths() {
        for path in ["votes.csv", "./a://b", "C://votes", "-", "://x", "1a://b"] {
            assert_eq!(Address::parse(path).unwrap(), None, "{path}");
        }
        for address in [
            "ftp://host/x",
            "hf://ORG/NAME",
            "hf://datasets/NAME",
            "hf://datasets/ORG/NAME/../x",
            "hf://datasets/ORG/NAME@../x",
            "hf://datasets/O%2FG/NAME",
            "s3:///key",
            "s3://user:pass@bucket/key",
            "https://",
        ] {
            assert!(Address::parse(address).is_err(), "{address}");
        }
    }

    #[test]
    fn datasets_have_revisions_and_paths() {
        let Ok(Some(Address::Hub(dataset))) = Address::parse(
            "hf://datasets/lmarena-ai/VisionArena-Battle@refs%2Fpr%2F1/data/a.parquet",
        ) else {
            panic!("no dataset")
        };
        assert_eq!(dataset.name, "lmarena-ai/VisionArena-Battle");
        assert_eq!(dataset.revision.as_deref(), Some("refs/pr/1"));
        assert_eq!(dataset.path, "data/a.parquet");
    }

    #[test]
    fn nothing_secret_of_an_address_is_shown() {
        let error = Address::parse("https://me:hunter2@host/x?sig=abc").unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains("hunter2") && !text.contains("abc"), "{text}");
        assert!(text.contains("https://host/x"), "{text}");
    }
}
