//! Lists of hashes of known abuse images, and whether a picture is on one.
//!
//! [`HashList::parse`] reads what sharing programmes hand out: CSV as `threatexchange dataset --print-signals --csv` writes it, pages of ThreatExchange's `threat_updates`, and content of a Hasher-Matcher-Actioner bank.
//! [`KnownImages::find`] compares a picture with all lists: exact hashes of the uploaded file (MD5, SHA-256) and of the normalised bytes (SHA-256), and PDQ within [`DISTANCE_MAX`] bits in all eight turns and flips.
//!
//! **Parsers are strict.** A list with one line that cannot be read is refused as a whole, with the line and the value: half a list would pass pictures that it was to stop.
//! Entries that do not count (deleted, disabled, labelled harmless, of low quality) are kept with the reason, never dropped.
//!
//! **A picture without structure is not cleared by PDQ.** [`Finding::perceptual`] says when a picture's quality was too low to compare; exact hashes were compared all the same.
//!
//! What is found is evidence: it names list, version and line, and goes into no ordinary log.

mod csv_list;
mod json_list;

use std::collections::HashMap;
use std::fmt;

use crate::hexadecimal;
use crate::image::NormalisedImage;
use crate::perceptual_hash::{DISTANCE_MAX, NearIndex, PdqHash, PerceptualHash, QUALITY_MIN, Turn};

/// How the kinds of hashes that are read are listed to people, by ThreatExchange's and the plain names.
pub const ACCEPTED_KINDS: &str = "pdq, md5, photo_md5, sha256, HASH_PDQ, HASH_MD5 or HASH_SHA256";

/// A hash of a known image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KnownHash {
    /// A perceptual hash, matched within a distance.
    Pdq(PdqHash),
    /// MD5 of a file.
    Md5([u8; 16]),
    /// SHA-256 of a file.
    Sha256([u8; 32]),
}

impl KnownHash {
    /// Reads a hash of a named kind.
    fn parse(kind: &str, text: &str) -> Result<Self, EntryError> {
        let wrong = |needed| EntryError::Hash {
            kind: hexadecimal::shortened(kind),
            text: hexadecimal::shortened(text),
            needed,
        };
        match kind {
            "pdq" | "HASH_PDQ" => {
                let hash = text.parse().map_err(|_| wrong("64 hexadecimal digits"))?;
                if hash == PdqHash::ZERO {
                    return Err(EntryError::EmptyHash);
                }
                Ok(Self::Pdq(hash))
            }
            "md5" | "photo_md5" | "HASH_MD5" => hexadecimal::parse(text)
                .map(Self::Md5)
                .ok_or_else(|| wrong("32 hexadecimal digits")),
            "sha256" | "HASH_SHA256" => hexadecimal::parse(text)
                .map(Self::Sha256)
                .ok_or_else(|| wrong("64 hexadecimal digits")),
            _ => Err(EntryError::Kind {
                kind: hexadecimal::shortened(kind),
            }),
        }
    }
}

/// Whether an entry of a list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It counts.
    Active,
    /// The list withdraws it (`should_delete`).
    Deleted,
    /// The list says that the image is harmless (`NEGATIVE_CLASS`, `NON_MALICIOUS`).
    Harmless,
    /// It is switched off until this time, in seconds since 1970; `i64::MAX` is for ever.
    DisabledUntil(i64),
    /// A perceptual hash whose quality is below [`QUALITY_MIN`]: it would match what it does not mean.
    LowQuality(u8),
}

impl Standing {
    /// Whether it counts at a time, in seconds since 1970.
    pub const fn is_active_at(self, now_s: i64) -> bool {
        match self {
            Self::Active => true,
            Self::DisabledUntil(until_s) => until_s != i64::MAX && now_s >= until_s,
            Self::Deleted | Self::Harmless | Self::LowQuality(_) => false,
        }
    }
}

/// One entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry {
    /// The hash.
    pub hash: KnownHash,
    /// The line of the list where the entry begins, from 1.
    pub line: usize,
    /// Its id in the list, where the list gives one.
    pub id: Option<String>,
    /// What the list says about it: category and tags, as written.
    pub labels: Vec<String>,
    /// Whether it counts.
    pub standing: Standing,
}

/// A list of known images.
#[derive(Clone, PartialEq, Eq)]
pub struct HashList {
    /// Its name, such as the programme it comes from.
    pub name: String,
    /// Its version: what the operator calls it, such as a date.
    pub version: String,
    /// All its entries in order, those that do not count too.
    pub entries: Vec<ListEntry>,
}

impl fmt::Debug for HashList {
    /// Says how many entries there are, not which.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HashList")
            .field("name", &self.name)
            .field("version", &self.version)
            .field("n_entries", &self.entries.len())
            .finish_non_exhaustive()
    }
}

/// What is wrong with one entry.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Not a hash of its kind.
    #[error("`{text}` is no {kind} hash, {needed} are needed")]
    Hash {
        /// The kind that is stated.
        kind: String,
        /// What is written.
        text: String,
        /// What is needed.
        needed: &'static str,
    },
    /// The PDQ hash of a picture that has none.
    #[error("a PDQ hash of zeros stands for a picture without a hash and cannot be matched")]
    EmptyHash,
    /// A kind of hash that cannot be compared here.
    #[error("`{kind}` is no kind of hash that is compared, {ACCEPTED_KINDS} is")]
    Kind {
        /// The kind that is stated.
        kind: String,
    },
    /// A value outside its set.
    #[error("`{text}` is no {field}, {accepted} is accepted")]
    Value {
        /// Where it stands.
        field: &'static str,
        /// What is written.
        text: String,
        /// What may stand there.
        accepted: &'static str,
    },
    /// Neither a hash nor a set of hashes.
    #[error("the entry has neither `indicator` with `type` nor `signals`")]
    NoHash,
}

/// Why a list is refused.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// There is nothing in it.
    #[error("the list is empty, CSV with a header or JSON is accepted")]
    Empty,
    /// Not UTF-8.
    #[error("line {line} is not UTF-8")]
    NotText {
        /// Where.
        line: usize,
    },
    /// The header lacks a column.
    #[error("line 1 has no column `{column}`, `signal_type` and `signal_str` are needed")]
    NoColumn {
        /// Which.
        column: &'static str,
    },
    /// The header has a column that is not known, or one twice.
    #[error(
        "line 1: the column `{column}` is unknown or given twice, `signal_type`, `signal_str`, `collab`, `category`, `tags` and `quality` are accepted"
    )]
    Column {
        /// Which.
        column: String,
    },
    /// A line of a CSV cannot be read.
    #[error("line {line} is not a line of this CSV")]
    Csv {
        /// Where.
        line: usize,
        /// What the reader said.
        #[source]
        source: csv::Error,
    },
    /// The JSON cannot be read.
    #[error("line {line} is not JSON of a hash list")]
    Json {
        /// Where.
        line: usize,
        /// What the reader said.
        #[source]
        source: serde_json::Error,
    },
    /// An entry is wrong.
    #[error("line {line}: {source}")]
    Entry {
        /// Where it begins.
        line: usize,
        /// What is wrong.
        source: EntryError,
    },
}

impl HashList {
    /// Reads a list: JSON if it begins with `{` or `[`, otherwise CSV.
    ///
    /// `docs/images.md` describes the forms.
    ///
    /// # Errors
    ///
    /// A [`ListError`] that names the line and the value. Nothing of a wrong list is used.
    pub fn parse(name: &str, version: &str, bytes: &[u8]) -> Result<Self, ListError> {
        let text = std::str::from_utf8(bytes).map_err(|error| ListError::NotText {
            line: line_at(bytes, error.valid_up_to()),
        })?;
        // Spreadsheets put a byte order mark in front.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let entries = match text.trim_start().chars().next() {
            None => return Err(ListError::Empty),
            Some('{' | '[') => json_list::parse(text)?,
            Some(_) => csv_list::parse(text)?,
        };
        Ok(Self {
            name: name.to_owned(),
            version: version.to_owned(),
            entries,
        })
    }
}

/// The number of the line that holds the byte at `at`, from 1.
fn line_at(text: &[u8], at: usize) -> usize {
    1 + text[..at].iter().filter(|&&byte| byte == b'\n').count()
}

/// The hashes of a picture that lists are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprints {
    /// MD5 of the file as it was uploaded.
    pub original_md5: [u8; 16],
    /// SHA-256 of the file as it was uploaded.
    pub original_sha256: [u8; 32],
    /// SHA-256 of the normalised bytes.
    pub normalised_sha256: [u8; 32],
    /// PDQ of the normalised picture.
    pub perceptual_hash: PerceptualHash,
}

impl From<&NormalisedImage> for Fingerprints {
    fn from(image: &NormalisedImage) -> Self {
        Self {
            original_md5: image.original.md5,
            original_sha256: image.original.sha256,
            normalised_sha256: image.sha256,
            perceptual_hash: image.perceptual_hash,
        }
    }
}

/// How a picture met an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// The uploaded file has this MD5.
    Md5,
    /// The uploaded file, or the normalised one, has this SHA-256.
    Sha256,
    /// The picture looks like the known one.
    Pdq {
        /// The turn or flip of the picture that is nearest.
        turn: Turn,
        /// In how many of 256 bits it differs, at most [`DISTANCE_MAX`].
        distance: u32,
    },
}

/// A picture's match with one entry of one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownMatch {
    /// The list's name.
    pub list: String,
    /// The list's version.
    pub version: String,
    /// The entry that was met.
    pub entry: ListEntry,
    /// How it was met.
    pub kind: MatchKind,
}

/// Whether a picture could be compared by its looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerceptualCheck {
    /// It was compared.
    Done,
    /// It has too little structure: only exact hashes were compared.
    QualityTooLow {
        /// Its quality, below [`QUALITY_MIN`].
        quality: u8,
    },
}

/// What a picture's comparison with all lists gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// All matches, in the order of lists and entries.
    pub matches: Vec<KnownMatch>,
    /// Whether looks were compared.
    pub perceptual: PerceptualCheck,
}

impl Finding {
    /// Whether the picture is on a list.
    pub const fn is_known(&self) -> bool {
        !self.matches.is_empty()
    }
}

/// Where an entry stands: list, entry.
type Place = (usize, usize);

/// All lists, ready to be searched.
pub struct KnownImages {
    lists: Vec<HashList>,
    md5: HashMap<[u8; 16], Vec<Place>>,
    sha256: HashMap<[u8; 32], Vec<Place>>,
    pdq: NearIndex,
    /// The entries of `pdq` by place.
    pdq_entries: Vec<Place>,
}

impl fmt::Debug for KnownImages {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KnownImages")
            .field("lists", &self.lists)
            .finish_non_exhaustive()
    }
}

impl KnownImages {
    /// Makes lists searchable. Takes a few seconds a million PDQ hashes; to change lists, make another and exchange them.
    pub fn new(lists: Vec<HashList>) -> Self {
        let mut md5: HashMap<_, Vec<Place>> = HashMap::new();
        let mut sha256: HashMap<_, Vec<Place>> = HashMap::new();
        let mut pdq = Vec::new();
        let mut pdq_entries = Vec::new();
        for (list_idx, list) in lists.iter().enumerate() {
            for (entry_idx, entry) in list.entries.iter().enumerate() {
                let place = (list_idx, entry_idx);
                match entry.hash {
                    KnownHash::Md5(hash) => md5.entry(hash).or_default().push(place),
                    KnownHash::Sha256(hash) => sha256.entry(hash).or_default().push(place),
                    KnownHash::Pdq(hash) => {
                        pdq.push(hash);
                        pdq_entries.push(place);
                    }
                }
            }
        }
        Self {
            lists,
            md5,
            sha256,
            pdq: NearIndex::new(&pdq),
            pdq_entries,
        }
    }

    /// The lists.
    pub fn lists(&self) -> &[HashList] {
        &self.lists
    }

    /// Compares a picture with every entry that counts at `now_s`, in seconds since 1970.
    pub fn find(&self, picture: &Fingerprints, now_s: i64) -> Finding {
        let mut met: Vec<(Place, MatchKind)> = Vec::new();
        let places = |places: Option<&Vec<Place>>| places.cloned().unwrap_or_default();
        for place in places(self.md5.get(&picture.original_md5)) {
            met.push((place, MatchKind::Md5));
        }
        let mut sha256 = places(self.sha256.get(&picture.original_sha256));
        if picture.normalised_sha256 != picture.original_sha256 {
            sha256.extend(places(self.sha256.get(&picture.normalised_sha256)));
        }
        met.extend(sha256.into_iter().map(|place| (place, MatchKind::Sha256)));
        let perceptual = if picture.perceptual_hash.is_reliable() {
            met.extend(self.near(&picture.perceptual_hash));
            PerceptualCheck::Done
        } else {
            PerceptualCheck::QualityTooLow {
                quality: picture.perceptual_hash.quality,
            }
        };
        met.sort_by_key(|&(place, _)| place);
        let matches = met
            .into_iter()
            .filter_map(|((list, entry), kind)| {
                let list = &self.lists[list];
                let entry = &list.entries[entry];
                entry.standing.is_active_at(now_s).then(|| KnownMatch {
                    list: list.name.clone(),
                    version: list.version.clone(),
                    entry: entry.clone(),
                    kind,
                })
            })
            .collect();
        Finding {
            matches,
            perceptual,
        }
    }

    /// The entries near to any turn or flip, each once with its nearest.
    fn near(&self, picture: &PerceptualHash) -> Vec<(Place, MatchKind)> {
        let mut nearest: HashMap<usize, (u32, Turn)> = HashMap::new();
        for (turn, hash) in Turn::ALL.into_iter().zip(picture.turned) {
            for neighbour in self.pdq.within(hash, DISTANCE_MAX) {
                let found = (neighbour.distance, turn);
                nearest
                    .entry(neighbour.idx)
                    .and_modify(|known| *known = found.min(*known))
                    .or_insert(found);
            }
        }
        nearest
            .into_iter()
            .map(|(idx, (distance, turn))| {
                (self.pdq_entries[idx], MatchKind::Pdq { turn, distance })
            })
            .collect()
    }
}

/// The standing of a PDQ hash of a stated quality.
const fn standing_of_quality(quality: u8) -> Standing {
    if quality < QUALITY_MIN {
        Standing::LowQuality(quality)
    } else {
        Standing::Active
    }
}

#[cfg(test)]
mod tests;
