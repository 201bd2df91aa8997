//! The terms that a voter accepts before the first prompt.

use std::{fs, io, path::Path};

use sha2::{Digest as _, Sha256};

/// The built-in terms.
const BUILT_IN: &str = include_str!("../../assets/terms.md");

/// A version of the terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The text, in Markdown.
    pub text_markdown: String,
    /// The SHA-256 of the text, which a consent records.
    pub text_sha256: [u8; 32],
    /// What it is called: the first 12 hexadecimal digits of the hash. A changed text is another version and asks again.
    pub version: String,
}

impl Terms {
    /// The terms with this text.
    pub fn new(text_markdown: String) -> Self {
        let text_sha256: [u8; 32] = Sha256::digest(text_markdown.as_bytes()).into();
        let version = text_sha256
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self {
            text_markdown,
            text_sha256,
            version,
        }
    }

    /// The built-in terms.
    pub fn built_in() -> Self {
        Self::new(BUILT_IN.to_owned())
    }

    /// The terms in a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is not UTF-8 or is empty.
    pub fn from_file(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        if text.trim().is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the file with the terms is empty",
            ));
        }
        Ok(Self::new(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_text_is_another_version() {
        let one = Terms::new("Be kind.".to_owned());
        assert_eq!(one, Terms::new("Be kind.".to_owned()));
        assert_ne!(one.version, Terms::new("Be kind!".to_owned()).version);
        assert_eq!(one.version.len(), 12);
    }

    #[test]
    fn an_empty_file_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Terms::from_file(file.path()).is_err());
    }
}
