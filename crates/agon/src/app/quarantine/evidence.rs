//! What a sealed case holds: a document and the files, in one piece of bytes.

use std::fmt;

use agon_content::known_image::{Finding as KnownFinding, KnownHash, MatchKind};
use serde::{Deserialize, Serialize};

use super::SealError;

/// Everything that is kept of a match. Its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// When the match was found, RFC 3339.
    pub found_at: String,
    /// Which entries of which lists were met; empty when a remote service said so.
    pub matches: Vec<EvidenceMatch>,
    /// The services that said so.
    pub services: Vec<String>,
    /// The visit.
    pub visit: String,
    /// The network address that the picture came from; none for a picture that was kept before.
    pub address: Option<String>,
    /// The battle, when there was one.
    pub battle: Option<String>,
    /// What was written with the picture.
    pub prompt: String,
    /// MD5 of the file as it was uploaded, hexadecimal.
    pub original_md5: String,
    /// SHA-256 of the file as it was uploaded, hexadecimal.
    pub original_sha256: String,
    /// Names and sizes of the files that follow, in order.
    files: Vec<(String, usize)>,
}

impl fmt::Debug for Evidence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Evidence(…)")
    }
}

/// A file in a sealed case: its name and its bytes.
pub type NamedFile = (String, Vec<u8>);

/// An entry that a picture met.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceMatch {
    /// The list's name.
    pub list: String,
    /// The list's version.
    pub version: String,
    /// The line, from 1.
    pub line: usize,
    /// The entry's id in the list.
    pub id: Option<String>,
    /// What the list says about it.
    pub labels: Vec<String>,
    /// `md5`, `sha256` or `pdq`.
    pub hash_kind: String,
    /// The distance in bits, for `pdq`.
    pub distance: Option<u32>,
}

impl EvidenceMatch {
    /// All matches of a picture.
    pub fn all(found: &KnownFinding) -> Vec<Self> {
        found
            .matches
            .iter()
            .map(|found| Self {
                list: found.list.clone(),
                version: found.version.clone(),
                line: found.entry.line,
                id: found.entry.id.clone(),
                labels: found.entry.labels.clone(),
                hash_kind: match found.entry.hash {
                    KnownHash::Md5(_) => "md5",
                    KnownHash::Sha256(_) => "sha256",
                    KnownHash::Pdq(_) => "pdq",
                }
                .to_owned(),
                distance: match found.kind {
                    MatchKind::Pdq { distance, .. } => Some(distance),
                    MatchKind::Md5 | MatchKind::Sha256 => None,
                },
            })
            .collect()
    }
}

/// Where and when a match was found.
pub struct Found<'a> {
    /// When, RFC 3339.
    pub at: String,
    /// The visit.
    pub visit: String,
    /// The network address, where it is known.
    pub address: Option<String>,
    /// The battle, when there is one.
    pub battle: Option<String>,
    /// What was written with the picture.
    pub prompt: &'a str,
    /// The services that said so.
    pub services: Vec<String>,
}

impl fmt::Debug for Found<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Found(…)")
    }
}

impl Evidence {
    /// Evidence of a match, without files yet.
    pub fn new(
        found: Found<'_>,
        matches: Vec<EvidenceMatch>,
        original_md5: &[u8],
        original_sha256: &[u8],
    ) -> Self {
        Self {
            found_at: found.at,
            matches,
            services: found.services,
            visit: found.visit,
            address: found.address,
            battle: found.battle,
            prompt: found.prompt.to_owned(),
            original_md5: hexadecimal(original_md5),
            original_sha256: hexadecimal(original_sha256),
            files: Vec::new(),
        }
    }

    /// The bytes to seal: the document in one line, then the files.
    ///
    /// # Errors
    ///
    /// [`SealError::Evidence`].
    pub fn pack(mut self, files: &[(&str, &[u8])]) -> Result<Vec<u8>, SealError> {
        self.files = files
            .iter()
            .map(|(name, bytes)| ((*name).to_owned(), bytes.len()))
            .collect();
        let mut packed = serde_json::to_vec(&self).map_err(SealError::Evidence)?;
        packed.push(b'\n');
        for (_, bytes) in files {
            packed.extend_from_slice(bytes);
        }
        Ok(packed)
    }

    /// The document and the files of opened bytes.
    ///
    /// # Errors
    ///
    /// [`SealError::Damaged`].
    pub fn unpack(packed: &[u8]) -> Result<(Self, Vec<NamedFile>), SealError> {
        let end = packed
            .iter()
            .position(|&byte| byte == b'\n')
            .ok_or(SealError::Damaged)?;
        let evidence: Self =
            serde_json::from_slice(&packed[..end]).map_err(|_| SealError::Damaged)?;
        let mut rest = &packed[end + 1..];
        let mut files = Vec::with_capacity(evidence.files.len());
        for (name, n_bytes) in &evidence.files {
            let (bytes, after) = rest.split_at_checked(*n_bytes).ok_or(SealError::Damaged)?;
            files.push((name.clone(), bytes.to_vec()));
            rest = after;
        }
        if rest.is_empty() {
            Ok((evidence, files))
        } else {
            Err(SealError::Damaged)
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_reads_back_with_its_files() {
        let found = Found {
            at: "2026-11-30T12:00:00Z".to_owned(),
            visit: "v".to_owned(),
            address: Some("192.0.2.1".to_owned()),
            battle: None,
            prompt: "line\nline",
            services: Vec::new(),
        };
        let evidence = Evidence::new(found, Vec::new(), &[0xab; 16], &[1; 32]);
        let packed = evidence
            .pack(&[("upload", b"\n\n{"), ("empty", b"")])
            .unwrap();
        let (read, files) = Evidence::unpack(&packed).unwrap();
        assert_eq!(read.prompt, "line\nline");
        assert_eq!(read.original_md5, "ab".repeat(16));
        assert_eq!(
            files,
            [
                ("upload".to_owned(), b"\n\n{".to_vec()),
                ("empty".to_owned(), Vec::new())
            ]
        );
        assert!(!format!("{read:?}").contains("192"));
        assert!(Evidence::unpack(&packed[..packed.len() - 1]).is_err());
        let mut longer = packed;
        longer.push(0);
        assert!(Evidence::unpack(&longer).is_err());
    }
}
