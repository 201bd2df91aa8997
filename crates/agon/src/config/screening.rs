//! `[screening]`: what content is screened for, by whom, and what follows.
//!
//! [`ScreeningConfig`] is what the operator wrote, [`ScreeningSettings`] what the program needs.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use agon_domain::{Action, FindingKind, Purpose};
use serde::{Deserialize, Serialize};

use super::{ConfigError, Secret, SecretSource, read_secret};

/// What happens to chats when the operator says nothing, as far as a detector is there.
const CHAT_DEFAULTS: [(FindingKind, Action); 8] = [
    (FindingKind::KnownImage, Action::Quarantine),
    (FindingKind::NsfwImage, Action::Block),
    (FindingKind::ViolentImage, Action::Log),
    // Looking for them takes a second of each picture, and a line in the log would be all that follows.
    (FindingKind::Face, Action::Off),
    (FindingKind::PiiText, Action::Log),
    (FindingKind::PiiImage, Action::Off),
    (FindingKind::HarmfulText, Action::Log),
    (FindingKind::Probe, Action::Log),
];

/// What happens to releases when the operator says nothing, whether or not a detector is there: publishing needs an answer.
const RELEASE_DEFAULTS: [(FindingKind, Action); 8] = [
    (FindingKind::KnownImage, Action::Quarantine),
    (FindingKind::NsfwImage, Action::Block),
    (FindingKind::ViolentImage, Action::Log),
    (FindingKind::Face, Action::Blur),
    (FindingKind::PiiText, Action::Blur),
    (FindingKind::PiiImage, Action::Blur),
    (FindingKind::HarmfulText, Action::Log),
    (FindingKind::Probe, Action::Log),
];

/// `[screening]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScreeningConfig {
    /// Folder with the weights that `agon detectors install` put there; else `agon/detectors` in the XDG data folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectors_dir: Option<PathBuf>,
    /// Most pictures, and most texts, that local detectors look at at the same time.
    pub at_once_max: usize,
    /// Longest wait for a local detector, waiting for its turn included, in milliseconds.
    pub local_ms_max: u64,
    /// Longest wait for a remote service, in milliseconds.
    pub service_ms_max: u64,
    /// Whether a picture with too little structure to be compared by its looks counts as compared with the lists.
    pub allow_structureless: bool,
    /// Whether `/readyz` answers 503 while a kind that must be answered for is not covered.
    pub ready_needs_coverage: bool,
    /// Most refusals that a visit is told of in an hour; further content is refused unseen until then.
    pub refusals_per_hour_max: u32,
    /// Scores from which findings count, over the detectors' own, by kind (`nsfw_image`) or category (`pii_text/EMAIL_ADDRESS`).
    pub thresholds: BTreeMap<String, f64>,
    /// What follows in chats.
    pub chat: PurposeConfig,
    /// What follows for releases.
    pub release: PurposeConfig,
    /// Lists of hashes of known abuse images.
    #[serde(rename = "hash_list")]
    pub hash_lists: Vec<HashListConfig>,
    /// Lists of words and patterns for the local moderation of text.
    #[serde(rename = "word_list")]
    pub word_lists: Vec<WordListConfig>,
    /// Remote services that are asked too.
    #[serde(rename = "service")]
    pub services: Vec<ServiceConfig>,
    /// How matches with known images are sealed.
    pub quarantine: QuarantineConfig,
}

impl Default for ScreeningConfig {
    fn default() -> Self {
        Self {
            detectors_dir: None,
            at_once_max: 2,
            local_ms_max: 15_000,
            service_ms_max: 10_000,
            allow_structureless: false,
            ready_needs_coverage: false,
            refusals_per_hour_max: 10,
            thresholds: BTreeMap::new(),
            chat: PurposeConfig::default(),
            release: PurposeConfig::default(),
            hash_lists: Vec::new(),
            word_lists: Vec::new(),
            services: Vec::new(),
            quarantine: QuarantineConfig::default(),
        }
    }
}

/// `[screening.chat]` and `[screening.release]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct PurposeConfig {
    /// Lets content go on for whose kinds no detector answered.
    pub allow_unanswered: bool,
    /// Whether models' answers are screened before they are kept: findings are logged, or an answer that is to be blocked is hidden.
    pub answers: AnswerScreening,
    /// What follows, by kind (`nsfw_image = "block"`) or category (`"pii_text/PRIVATE_KEY" = "block"`): `off`, `log`, `warn`, `blur`, `block`, `quarantine`.
    ///
    /// A kind that is named here must be answered for when its action is `blur`, `block` or `quarantine`.
    pub actions: BTreeMap<String, String>,
}

/// Whether models' answers are screened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerScreening {
    /// They are not.
    #[default]
    Off,
    /// Findings are counted.
    Log,
    /// An answer that the policy blocks, or that is undecided, ends as filtered and is not kept.
    Block,
}

/// `[[screening.hash_list]]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HashListConfig {
    /// The list, as CSV or JSON.
    pub file: PathBuf,
    /// What it is called in evidence; else the file's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What its programme calls this version; its content's SHA-256 is kept in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// `[[screening.word_list]]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WordListConfig {
    /// The list; `docs/safety.md` describes its form.
    pub file: PathBuf,
}

/// `[[screening.service]]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceConfig {
    /// Which protocol it speaks: `arachnid_shield`, `azure_content_moderator`, `azure_content_safety`, `azure_language`, `google_redact`, `google_vision`, `guard`, `openai_moderation`, `photo_dna` or `presidio`.
    pub kind: String,
    /// Its address, when it is not the vendor's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Where the key is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretSource>,
    /// The model's name (`openai_moderation`, `guard`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The version of what answers, which findings name (`presidio`, `guard`); another one makes older answers out of date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The user name (`arachnid_shield`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The project (`google_redact`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The language that a text is taken to be in when it cannot be told (`azure_content_safety`, `azure_language`, `presidio`); without it such a text is undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language_when_unknown: Option<String>,
    /// Whether the model looks at pictures too (`guard`).
    #[serde(default)]
    pub vision: bool,
}

/// `[screening.quarantine]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct QuarantineConfig {
    /// Public keys (`age1…`) of the people who may open sealed cases; any two of them together can.
    pub custodians: Vec<String>,
    /// How long a sealed case is kept, in days.
    pub retention_days: u32,
    /// First name of the person who reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reporter_first_name: Option<String>,
    /// Last name of the person who reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reporter_last_name: Option<String>,
    /// Where the authority writes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reporter_email: Option<String>,
    /// The reporting service; else NCMEC's CyberTipline. `https://exttest.cybertip.org/ispws` is for rehearsals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cybertip_url: Option<String>,
    /// The arena's user name at the reporting service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cybertip_user: Option<String>,
    /// Where the password for the reporting service is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cybertip_password: Option<SecretSource>,
}

impl Default for QuarantineConfig {
    fn default() -> Self {
        Self {
            custodians: Vec::new(),
            // The REPORT Act of 7 May 2024 asks for one year.
            retention_days: 365,
            reporter_first_name: None,
            reporter_last_name: None,
            reporter_email: None,
            cybertip_url: None,
            cybertip_user: None,
            cybertip_password: None,
        }
    }
}

/// A rule's place: a kind, or one category of it.
pub type RulePlace = (FindingKind, Option<String>);

/// The rules of one purpose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PurposeSettings {
    /// Whether content without an answer may go on.
    pub allows_unanswered: bool,
    /// Whether answers are screened.
    pub answers: AnswerScreening,
    /// What the operator wrote.
    pub actions: Vec<(RulePlace, Action)>,
}

impl PurposeSettings {
    /// Whether the operator said anything about this kind as a whole.
    pub fn names(&self, kind: FindingKind) -> bool {
        self.actions
            .iter()
            .any(|((named, category), _)| *named == kind && category.is_none())
    }
}

/// A service, checked.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// What the operator wrote.
    pub raw: ServiceConfig,
    /// Its key.
    pub key: Option<Secret>,
}

/// The checked section.
#[derive(Clone, Debug)]
pub struct ScreeningSettings {
    /// Folder with installed weights.
    pub detectors_dir: PathBuf,
    /// Rules for chats.
    pub chat: PurposeSettings,
    /// Rules for releases.
    pub release: PurposeSettings,
    /// Thresholds over the detectors' own.
    pub thresholds: Vec<(RulePlace, f64)>,
    /// Services with their keys.
    pub services: Vec<ServiceSettings>,
    /// The password for the reporting service.
    pub cybertip_password: Option<Secret>,
}

impl ScreeningSettings {
    /// The rules of a purpose.
    pub const fn purpose(&self, purpose: Purpose) -> &PurposeSettings {
        match purpose {
            Purpose::Chat => &self.chat,
            Purpose::Release => &self.release,
        }
    }

    /// What follows for a kind when the operator says nothing.
    pub fn default_action(purpose: Purpose, kind: FindingKind) -> Action {
        let defaults = match purpose {
            Purpose::Chat => &CHAT_DEFAULTS,
            Purpose::Release => &RELEASE_DEFAULTS,
        };
        defaults
            .iter()
            .find(|(of, _)| *of == kind)
            .map_or(Action::Off, |(_, action)| *action)
    }

    /// Whether a default holds without any detector: it does for releases alone.
    pub const fn default_is_required(purpose: Purpose) -> bool {
        matches!(purpose, Purpose::Release)
    }
}

impl ScreeningConfig {
    /// Checks the section and reads its secrets. Paths become relative to `base`.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the key, the value and what is accepted.
    pub(super) fn check(
        &mut self,
        detectors_dir: PathBuf,
        base: &Path,
        environment: &BTreeMap<String, String>,
    ) -> Result<ScreeningSettings, ConfigError> {
        for (key, value) in [
            ("screening.at_once_max", self.at_once_max as u64),
            ("screening.local_ms_max", self.local_ms_max),
            ("screening.service_ms_max", self.service_ms_max),
            (
                "screening.refusals_per_hour_max",
                u64::from(self.refusals_per_hour_max),
            ),
            (
                "screening.quarantine.retention_days",
                u64::from(self.quarantine.retention_days),
            ),
        ] {
            if value == 0 {
                return Err(value_error(key, &value, "a number above 0"));
            }
        }
        for list in &mut self.hash_lists {
            list.file = base.join(&list.file);
        }
        for list in &mut self.word_lists {
            list.file = base.join(&list.file);
        }
        if let Some(folder) = &mut self.detectors_dir {
            *folder = base.join(&folder);
        }
        let mut thresholds = Vec::with_capacity(self.thresholds.len());
        for (key, threshold) in &self.thresholds {
            if !(0.0..=1.0).contains(threshold) {
                return Err(value_error(
                    &format!("screening.thresholds.{key}"),
                    threshold,
                    "a number from 0 to 1",
                ));
            }
            thresholds.push((rule_place("screening.thresholds", key)?, *threshold));
        }
        let mut services = Vec::with_capacity(self.services.len());
        for service in &mut self.services {
            let key = service
                .api_key
                .as_mut()
                .map(|source| {
                    if let SecretSource::File(path) = source {
                        *path = base.join(&path);
                    }
                    let key = format!("screening.service `{}`: api_key", service.kind);
                    read_secret(&key, source, environment)
                })
                .transpose()?;
            services.push(ServiceSettings {
                raw: service.clone(),
                key,
            });
        }
        let cybertip_password = self
            .quarantine
            .cybertip_password
            .as_mut()
            .map(|source| {
                if let SecretSource::File(path) = source {
                    *path = base.join(&path);
                }
                let key = "screening.quarantine.cybertip_password";
                read_secret(key, source, environment)
            })
            .transpose()?;
        let settings = ScreeningSettings {
            cybertip_password,
            detectors_dir: self.detectors_dir.clone().unwrap_or(detectors_dir),
            chat: self.chat.check("screening.chat.actions")?,
            release: self.release.check("screening.release.actions")?,
            thresholds,
            services,
        };
        settings.check_entities()?;
        Ok(settings)
    }
}

impl ScreeningSettings {
    /// Refuses rules for kinds of personal data that nothing here looks for: a slip of the pen would switch a rule off.
    ///
    /// Services have names of their own, so that with one configured any name may be meant.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the rule.
    pub(crate) fn check_entities(&self) -> Result<(), ConfigError> {
        if !self.services.is_empty() {
            return Ok(());
        }
        let rules = [&self.chat, &self.release]
            .into_iter()
            .flat_map(|purpose| purpose.actions.iter().map(|(place, _)| place))
            .chain(self.thresholds.iter().map(|(place, _)| place));
        for (kind, category) in rules {
            let Some(category) = category else { continue };
            let is_known = match kind {
                FindingKind::PiiText => agon_pii::Entity::parse(category).is_some(),
                FindingKind::PiiImage => {
                    category == agon_detectors::picture_pii::UNREAD_CATEGORY
                        || agon_pii::Entity::parse(category).is_some()
                }
                _ => true,
            };
            if !is_known {
                return Err(value_error(
                    "screening",
                    &format!("{kind}/{category}"),
                    "the name of an entity that is looked for, such as `pii_text/EMAIL_ADDRESS` (docs/safety.md lists them)",
                ));
            }
        }
        Ok(())
    }
}

impl PurposeConfig {
    /// Checks the rules of a purpose, which stand in `section`.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the key, the value and what is accepted.
    pub(crate) fn check(&self, section: &str) -> Result<PurposeSettings, ConfigError> {
        let mut actions = Vec::with_capacity(self.actions.len());
        for (key, text) in &self.actions {
            let action: Action = text.parse().map_err(|_| {
                value_error(
                    &format!("{section}.{key}"),
                    text,
                    "`off`, `log`, `warn`, `blur`, `block` or `quarantine`",
                )
            })?;
            let place = rule_place(section, key)?;
            if action == Action::Quarantine && place.0 != FindingKind::KnownImage {
                return Err(value_error(
                    &format!("{section}.{key}"),
                    text,
                    "`block` at most: only known images are sealed",
                ));
            }
            actions.push((place, action));
        }
        Ok(PurposeSettings {
            allows_unanswered: self.allow_unanswered,
            answers: self.answers,
            actions,
        })
    }
}

/// Reads `nsfw_image` or `pii_text/EMAIL_ADDRESS`.
pub(crate) fn rule_place(section: &str, key: &str) -> Result<RulePlace, ConfigError> {
    let (kind, category) = match key.split_once('/') {
        Some((kind, category)) => (kind, Some(category)),
        None => (key, None),
    };
    match kind.parse() {
        Ok(kind) if category != Some("") => Ok((kind, category.map(str::to_owned))),
        _ => Err(value_error(
            section,
            &key,
            "a kind (`known_image`, `nsfw_image`, `violent_image`, `face`, `pii_text`, `pii_image`, `harmful_text`, `probe`) or a category of one, such as `pii_text/EMAIL_ADDRESS`",
        )),
    }
}

fn value_error(key: &str, value: &dyn fmt::Display, expected: &str) -> ConfigError {
    ConfigError::Value {
        key: key.to_owned(),
        value: value.to_string(),
        expected: expected.to_owned(),
    }
}
