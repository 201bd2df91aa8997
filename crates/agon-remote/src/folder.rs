//! Which of many names are read: as in a folder on a disk.

use glob::{MatchOptions, Pattern};

use crate::Error;

/// Files of a folder or a pattern at most.
pub(crate) const FILES_MAX: usize = 10_000;

/// The same as for files on a disk.
const MATCH_OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// Whether a name stands for several.
pub(crate) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// The folder in which all names that match a pattern lie, without a slash at its end.
pub(crate) fn folder_of_pattern(pattern: &str) -> &str {
    let first = pattern.find(['*', '?', '[']).unwrap_or(pattern.len());
    pattern[..first]
        .rfind('/')
        .map_or("", |end| &pattern[..end])
}

/// A pattern that names are held against.
pub(crate) fn pattern(
    address: &str,
    pattern: &str,
) -> Result<impl Fn(&str) -> bool + use<>, Error> {
    let parsed = Pattern::new(pattern).map_err(|error| Error::Address {
        address: address.to_owned(),
        detail: format!("it is no pattern: {}", error.msg),
    })?;
    Ok(move |name: &str| parsed.matches_with(name, MATCH_OPTIONS))
}

/// Whether a file of a folder is read at all.
pub(crate) fn is_visible(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    !last.is_empty() && !last.starts_with('.')
}

/// Whether a file in `data/` makes its folder a release.
pub(crate) fn is_release_data(name: &str) -> bool {
    name.ends_with(".parquet")
}

/// What to say of a folder without files.
pub(crate) fn nothing(address: &str, folders: &[String]) -> Error {
    let mut detail = "neither `data/*.parquet` nor files right in it".to_owned();
    if !folders.is_empty() {
        let shown: Vec<String> = folders
            .iter()
            .take(20)
            .map(|folder| format!("`{folder}`"))
            .collect();
        detail.push_str("; it has the folders ");
        detail.push_str(&shown.join(", "));
    }
    Error::NothingToRead {
        address: address.to_owned(),
        detail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_begins_below_a_folder() {
        for (pattern, folder) in [
            ("a/b/*.csv", "a/b"),
            ("a/b*/c.csv", "a"),
            ("*.csv", ""),
            ("a/[ab].csv", "a"),
        ] {
            assert_eq!(folder_of_pattern(pattern), folder);
        }
        let matches = pattern("s3://b/a/*.csv", "a/*.csv").unwrap();
        assert!(matches("a/x.csv") && !matches("a/b/x.csv") && !matches("a/.x.csv"));
        assert!(pattern("s3://b/[", "[").is_err());
    }
}
