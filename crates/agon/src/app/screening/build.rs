//! Configuration → detectors.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use agon_content::{
    annotate::identity::{CatalogueModel, TooManyNames},
    detect::PictureDetector,
    known_image::{HashList, ListError},
    moderation::{ListError as ListLineError, ProbeDetector, WordDetector, WordList, WordOptions},
};
use agon_detectors::{
    FaceOptions, Faces, Ocr, OpenNsfw, OpenNsfwOptions, PiiInPicture, Runtime,
    weights::{ModelFile, OCR_DETECTION, OCR_DIRECTION, OCR_RECOGNITION},
};
use agon_domain::{Action, Clock, FindingKind, Purpose};
use agon_store::Store;
use sha2::{Digest as _, Sha256};

use crate::{
    app::screening::{
        Detectors, KnownImageLists, PersonalData, Screener, ScreeningService, TextDetector,
        services::services,
    },
    config::{
        Config,
        screening::{HashListConfig, WordListConfig},
    },
};

/// Fewest people who must be named before a match can be sealed.
pub const CUSTODIANS_MIN: usize = 2;

/// The files that reading text in pictures needs together.
const OCR_FILES: [&ModelFile; 3] = [OCR_DETECTION, OCR_DIRECTION, OCR_RECOGNITION];

/// Why no screener can be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A file of the configuration cannot be read.
    #[error("`{key}`: cannot read `{}`", path.display())]
    Read {
        /// Which key names it.
        key: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A hash list is wrong.
    #[error("`screening.hash_list`: `{}` is no usable hash list", path.display())]
    HashList {
        /// Which.
        path: PathBuf,
        /// Where and what.
        source: ListError,
    },
    /// A word list is wrong.
    #[error("`screening.word_list`: `{}` is no usable word list", path.display())]
    WordList {
        /// Which.
        path: PathBuf,
        /// Where and what.
        source: ListLineError,
    },
    /// A word list is not UTF-8.
    #[error("`screening.word_list`: `{}` is not UTF-8", path.display())]
    WordListText {
        /// Which.
        path: PathBuf,
    },
    /// The models have too many names to be searched for.
    #[error("the names of the models cannot be searched for")]
    Names(#[source] TooManyNames),
    /// The detector of personal data refuses its threshold.
    #[error("`screening.thresholds.pii_text` cannot be used")]
    PersonalData(#[source] agon_pii::Error),
    /// A kind of service that is not known.
    #[error("`screening.service`: `{kind}` is no kind of service, expected one of: {accepted}")]
    Service {
        /// What is written.
        kind: String,
        /// What is accepted.
        accepted: &'static str,
    },
    /// A service lacks a key.
    #[error("`screening.service` `{kind}`: `{key}` is absent and needed")]
    ServiceKey {
        /// Which kind of service.
        kind: String,
        /// Which key.
        key: &'static str,
    },
    /// A service's settings cannot be used.
    #[error("`screening.service` `{kind}` cannot be used")]
    Client {
        /// Which kind of service.
        kind: String,
        /// Why.
        source: agon_providers::Error,
    },
    /// A detector's file or threshold cannot be used.
    #[error("a detector in `{}` cannot be loaded", folder.display())]
    Detector {
        /// The folder with the weights.
        folder: PathBuf,
        /// Why.
        source: agon_detectors::Error,
    },
    /// Matches are to be sealed, and nobody could open the seal.
    #[error(
        "`screening.quarantine.custodians` names {n_custodians} people: matches with known images are sealed for any two of at least {CUSTODIANS_MIN}"
    )]
    Custodians {
        /// How many are named.
        n_custodians: usize,
    },
}

impl Screener {
    /// A screener with everything that the configuration names and that is installed.
    ///
    /// Reads lists and weights, which can take seconds: call it on a thread that may block.
    ///
    /// # Errors
    ///
    /// [`BuildError`] that names the key and the file. A list that cannot be read is never left out.
    pub fn from_config(
        config: &Config,
        clock: Arc<dyn Clock>,
        store: Option<Store>,
    ) -> Result<Self, BuildError> {
        let screener = Self::new(config, detectors(config)?, clock, store);
        let n_custodians = config.raw.screening.quarantine.custodians.len();
        let seals = [Purpose::Chat, Purpose::Release]
            .into_iter()
            .any(|purpose| {
                let is_there = screener
                    .coverage()
                    .kinds
                    .iter()
                    .any(|kind| kind.kind == FindingKind::KnownImage && !kind.by.is_empty());
                is_there
                    && screener.policy(purpose).strongest(FindingKind::KnownImage)
                        == Action::Quarantine
            });
        if seals && n_custodians < CUSTODIANS_MIN {
            return Err(BuildError::Custodians { n_custodians });
        }
        Ok(screener)
    }
}

/// Everything that the configuration names and that is installed.
///
/// # Errors
///
/// [`BuildError`] that names the key and the file.
pub fn detectors(config: &Config) -> Result<Detectors, BuildError> {
    let raw = &config.raw.screening;
    let known_images = (!raw.hash_lists.is_empty())
        .then(|| {
            let lists = raw.hash_lists.iter().map(hash_list);
            lists.collect::<Result<_, _>>().map(KnownImageLists::new)
        })
        .transpose()?;
    let threshold = config
        .screening
        .thresholds
        .iter()
        .filter(|((kind, _), _)| *kind == FindingKind::PiiText)
        .map(|(_, threshold)| *threshold)
        .chain([agon_pii::THRESHOLD])
        .reduce(f64::min);
    let personal_data = PersonalData::new(threshold).map_err(BuildError::PersonalData)?;
    let services = services(config)?
        .into_iter()
        .map(|service| Arc::new(service) as Arc<dyn ScreeningService>)
        .collect();
    let mut texts: Vec<Arc<dyn TextDetector>> =
        vec![Arc::new(personal_data), Arc::new(probes(config)?)];
    if !raw.word_lists.is_empty() {
        texts.push(Arc::new(words(&raw.word_lists)?));
    }
    Ok(Detectors {
        known_images,
        pictures: picture_detectors(config)?,
        texts,
        services,
    })
}

/// The local detectors of pictures whose weights are installed. One whose file is there and wrong is an error, not an absence.
fn picture_detectors(config: &Config) -> Result<Vec<Arc<dyn PictureDetector>>, BuildError> {
    let folder = &config.screening.detectors_dir;
    let broken = |source| BuildError::Detector {
        folder: folder.clone(),
        source,
    };
    // A folder that somebody names and that is not there would switch detectors off without a word.
    if config.raw.screening.detectors_dir.is_some() {
        fs::read_dir(folder).map_err(|source| BuildError::Read {
            key: "screening.detectors_dir",
            path: folder.clone(),
            source,
        })?;
    }
    let runtime = Runtime::new(config.raw.screening.at_once_max);
    let mut detectors: Vec<Arc<dyn PictureDetector>> = Vec::new();
    match OpenNsfw::load(folder, &runtime, OpenNsfwOptions::default()) {
        Ok(detector) => detectors.push(Arc::new(detector)),
        Err(agon_detectors::Error::Absent { .. }) => {}
        Err(source) => return Err(broken(source)),
    }
    match Ocr::load(folder, &runtime) {
        Ok(ocr) => {
            let options = agon_pii::Options::default();
            let detector = PiiInPicture::new(ocr, &options).map_err(broken)?;
            detectors.push(Arc::new(detector));
        }
        // Some of its files without the others are no wish to go without it.
        Err(agon_detectors::Error::Absent { .. })
            if !OCR_FILES.iter().any(|file| folder.join(file.name).exists()) => {}
        Err(source) => return Err(broken(source)),
    }
    match Faces::load(Some(folder), &runtime, &FaceOptions::default()) {
        Ok(detector) => detectors.push(Arc::new(detector)),
        Err(agon_detectors::Error::NotBuiltIn) => {}
        Err(source) => return Err(broken(source)),
    }
    Ok(detectors)
}

/// The detector of listed words.
///
/// Only with an operator's list: the built-in one decides nothing, and alone it would be taken for an answer about harmful text.
fn words(lists: &[WordListConfig]) -> Result<WordDetector, BuildError> {
    let mut options = WordOptions::default();
    for list in lists {
        let bytes = read("screening.word_list", &list.file)?;
        let version = short_sha256(&bytes);
        let parsed = String::from_utf8(bytes)
            .map_err(|_| BuildError::WordListText {
                path: list.file.clone(),
            })
            .and_then(|text| {
                WordList::parse(&text).map_err(|source| BuildError::WordList {
                    path: list.file.clone(),
                    source,
                })
            })?;
        options.lists.push((parsed, version));
    }
    Ok(WordDetector::new(options))
}

/// The detector of questions after the models' names.
fn probes(config: &Config) -> Result<ProbeDetector, BuildError> {
    let catalogue: Vec<CatalogueModel<'_>> = config
        .raw
        .models
        .iter()
        .map(|model| CatalogueModel {
            name: &model.name,
            aliases: &[],
            vendor: model.organization.as_deref(),
        })
        .collect();
    ProbeDetector::new(&catalogue).map_err(BuildError::Names)
}

fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, BuildError> {
    fs::read(path).map_err(|source| BuildError::Read {
        key,
        path: path.to_owned(),
        source,
    })
}

/// The beginning of a file's SHA-256, as its version.
fn short_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn hash_list(list: &HashListConfig) -> Result<HashList, BuildError> {
    let bytes = read("screening.hash_list", &list.file)?;
    let name = list.name.clone().unwrap_or_else(|| {
        list.file
            .file_stem()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    });
    let version = list.version.clone().unwrap_or_else(|| short_sha256(&bytes));
    let wrong = |source| BuildError::HashList {
        path: list.file.clone(),
        source,
    };
    let parsed = HashList::parse(&name, &version, &bytes).map_err(wrong)?;
    // Comparing with a list of nothing would count as having looked.
    if parsed.entries.is_empty() {
        return Err(wrong(ListError::Empty));
    }
    Ok(parsed)
}
