//! The identity of imported battles whose source gives them no id: their place in a file that is told by its bytes.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read},
    path::Path,
};

use agon_dataset::Place;
use sha2::{Digest as _, Sha256};

/// What sources without ids are told by: the SHA-256 of a file, or the address of what lies elsewhere.
///
/// A file is only read for it when a row without an id comes from it.
#[derive(Debug, Default)]
pub struct SourceKeys {
    keys: HashMap<String, String>,
    seen: HashMap<String, Seen>,
}

/// The rows of a source that were given an id.
#[derive(Debug, Default)]
struct Seen {
    /// The last of them.
    last: u64,
    /// How often rows not after the last one came: all votes of a cell of a matrix have its place.
    again: HashMap<u64, u32>,
}

impl SourceKeys {
    /// Says what a source is told by, for one that is no file.
    pub fn insert(&mut self, source: &str, key: String) {
        self.keys.insert(source.to_owned(), key);
    }

    /// The id of the row at this place.
    pub(super) fn id(&mut self, place: &Place) -> String {
        let key = match self.keys.get(&place.source) {
            Some(key) => key,
            None => {
                let key = key_of(&place.source);
                &*self.keys.entry(place.source.clone()).or_insert(key)
            }
        };
        let key = key.clone();
        let seen = self.seen.entry(place.source.clone()).or_default();
        if place.row > seen.last {
            seen.last = place.row;
            return format!("{key}#{}", place.row);
        }
        let n = seen.again.entry(place.row).or_insert(1);
        *n += 1;
        format!("{key}#{}.{n}", place.row)
    }
}

fn key_of(source: &str) -> String {
    let of_file = |path: &str| -> Option<String> {
        let path = Path::new(path);
        if !path.is_file() {
            return None;
        }
        sha256_of(&mut File::open(path).ok()?).ok()
    };
    if let Some(digest) = of_file(source) {
        return digest;
    }
    // A file in an archive is called by both, with `!` between.
    for (at, _) in source.match_indices('!') {
        if let Some(digest) = of_file(&source[..at]) {
            return format!("{digest}{}", &source[at..]);
        }
    }
    source.to_owned()
}

/// The SHA-256 of all bytes, as `sha256:` and hexadecimal digits.
///
/// # Errors
///
/// When they cannot be read.
pub fn sha256_of(reader: &mut dyn Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&buffer[..n]);
    }
    let digits: String = hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(format!("sha256:{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(source: &str, row: u64) -> Place {
        Place {
            source: source.to_owned(),
            row,
            line: None,
            column: None,
            value: None,
        }
    }

    #[test]
    fn a_file_is_told_by_its_bytes_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("a"), "abc").unwrap();
        std::fs::write(path("b"), "abc").unwrap();
        let mut keys = SourceKeys::default();
        let id = keys.id(&place(&path("a"), 7));
        assert!(
            id.starts_with("sha256:ba7816bf") && id.ends_with("#7"),
            "{id}"
        );
        assert_eq!(keys.id(&place(&path("b"), 7)), id);
        let member = keys.id(&place(&format!("{}!in/c.csv", path("a")), 1));
        assert!(member.ends_with("!in/c.csv#1") && member.starts_with("sha256:ba7816bf"));
        keys.insert("-", "sha256:00".to_owned());
        assert_eq!(keys.id(&place("-", 2)), "sha256:00#2");
        // Several votes of one place are told apart, the same in every run.
        assert_eq!(keys.id(&place("-", 2)), "sha256:00#2.2");
        assert_eq!(keys.id(&place("-", 1)), "sha256:00#1.2");
        assert_eq!(keys.id(&place("-", 2)), "sha256:00#2.3");
        assert_eq!(keys.id(&place("-", 3)), "sha256:00#3");
        assert_eq!(keys.id(&place("https://x.org/v", 2)), "https://x.org/v#2");
    }
}
