//! What the file and the environment say ([`RawConfig`]) → what the program needs ([`Config`]).
//!
//! Order, later ones win: defaults, `agon.toml`, `AGON_SECTION__KEY` variables, flags.
//! Unknown keys are errors; secrets are only named here (`{ env = "NAME" }` or `{ file = "PATH" }`) and read once.

use std::{
    collections::{BTreeMap, HashSet},
    fmt, fs,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};

use agon_domain::sampling::{WEIGHT_MAX, WEIGHT_MIN, is_usable_weight};
use serde::{Deserialize, Serialize};

pub mod screening;

pub use screening::{ScreeningConfig, ScreeningSettings};

use crate::cli::GlobalArgs;

/// Environment variables that start with `AGON_` and are not configuration keys.
const RESERVED_VARIABLES: [&str; 3] = ["AGON_CONFIG", "AGON_DATA_DIR", "AGON_LOG"];
/// Variables with this prefix belong to the tests.
const TEST_PREFIX: &str = "AGON_TEST";

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration `{}`", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The text is not TOML, or has an unknown key or a value of the wrong type.
    #[error("{origin} is not a usable configuration:\n{message}")]
    Parse {
        /// The file or the environment.
        origin: String,
        /// Where and what.
        message: String,
        /// The nearest known key, when a key was unknown.
        nearest: Option<String>,
    },
    /// A value is out of its range.
    #[error("`{key}` is `{value}`: expected {expected}")]
    Value {
        /// Which key.
        key: String,
        /// The value as given; never a secret.
        value: String,
        /// What is accepted.
        expected: String,
    },
    /// A secret's variable or file cannot be read.
    #[error("the secret of `{key}` cannot be read from {place}")]
    Secret {
        /// Which key.
        key: String,
        /// The variable or the file.
        place: String,
        /// Why, when it is a file.
        source: Option<std::io::Error>,
    },
}

/// What the operator wrote.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct RawConfig {
    /// What voters see of the arena.
    pub arena: ArenaConfig,
    /// Where it listens.
    pub server: ServerConfig,
    /// How much one voter, and all together, may ask.
    pub limits: LimitsConfig,
    /// How models are asked.
    pub generation: GenerationConfig,
    /// What a release says of itself.
    pub release: ReleaseConfig,
    /// What content is screened for.
    pub screening: ScreeningConfig,
    /// The models that meet in battles. None: the scripted demo models.
    #[serde(rename = "model")]
    pub models: Vec<ModelConfig>,
}

/// `[arena]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ArenaConfig {
    /// The name on every page.
    pub name: String,
    /// How to reach the operator, for deletion and questions: an e-mail address or a URL.
    pub contact: Option<String>,
    /// A Markdown file with the terms; without it, the built-in ones.
    pub terms_file: Option<PathBuf>,
}

impl Default for ArenaConfig {
    fn default() -> Self {
        Self {
            name: "Agon".to_owned(),
            contact: None,
            terms_file: None,
        }
    }
}

/// `[server]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Address and port to listen on.
    pub bind: String,
    /// Whether browsers reach the arena over HTTPS, through a proxy: cookies are then marked `Secure`.
    pub https: bool,
    /// Proxies whose `X-Forwarded-For` is believed, as addresses or `ADDRESS/BITS`.
    pub trusted_proxies: Vec<String>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            bind: "127.0.0.1:8080".to_owned(),
            https: false,
            trusted_proxies: Vec::new(),
        }
    }
}

/// `[limits]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Longest prompt, in Unicode scalar values. Longer ones are refused, never cut.
    pub prompt_chars_max: usize,
    /// Most turns of one battle.
    pub turns_max: u32,
    /// Largest upload, in bytes.
    pub upload_bytes_max: usize,
    /// Prompts a visit may send in a minute.
    pub prompts_per_minute_visit: u32,
    /// Prompts one network address (IPv4 /32, IPv6 /64) may send in a minute.
    pub prompts_per_minute_address: u32,
    /// Answers that may run at the same time.
    pub generations_max: usize,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            prompt_chars_max: 30_000,
            turns_max: 50,
            upload_bytes_max: 20 * 1024 * 1024,
            prompts_per_minute_visit: 30,
            prompts_per_minute_address: 600,
            generations_max: 256,
        }
    }
}

/// `[generation]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct GenerationConfig {
    /// Sampling temperature.
    pub temperature: f64,
    /// Nucleus sampling.
    pub top_p: f64,
    /// Most tokens of one answer.
    pub output_tokens_max: u32,
    /// Longest wait for a connection, in milliseconds.
    pub connect_ms_max: u64,
    /// Longest wait for the first token, in milliseconds.
    pub first_token_ms_max: u64,
    /// Longest pause between two tokens, in milliseconds.
    pub gap_ms_max: u64,
    /// Longest answer, in milliseconds.
    pub total_ms_max: u64,
}

impl Default for GenerationConfig {
    fn default() -> Self {
        // Temperature, top_p and tokens are the reference arena's for battles: FastChat, `gradio_block_arena_vision_anony.py`.
        Self {
            temperature: 0.7,
            top_p: 1.0,
            output_tokens_max: 2000,
            connect_ms_max: 10_000,
            first_token_ms_max: 60_000,
            gap_ms_max: 30_000,
            total_ms_max: 300_000,
        }
    }
}

/// `[release]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReleaseConfig {
    /// The dataset's name on its card.
    pub name: Option<String>,
    /// The licence id of the card's front matter.
    pub license: String,
    /// The licence's name.
    pub license_name: Option<String>,
    /// The licence in words, as Markdown. Without it, the card grants nothing.
    pub license_terms: Option<String>,
}

impl Default for ReleaseConfig {
    fn default() -> Self {
        Self {
            name: None,
            license: "other".to_owned(),
            license_name: None,
            license_terms: None,
        }
    }
}

/// `[[model]]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Unique name, shown after the vote and published.
    pub name: String,
    /// How it is reached.
    pub provider: ProviderKind,
    /// The endpoint, such as `https://api.openai.com/v1` (provider `openai`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The model's id at the endpoint, when it is not `name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where the key is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretSource>,
    /// The scripted persona (provider `scripted`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// How quickly a scripted model writes, in milliseconds a token; 0 is at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_ms: Option<u64>,
    /// Whether it can see images.
    #[serde(default)]
    pub vision: bool,
    /// Who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// Its licence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// How often it is drawn, relative to the others.
    #[serde(default = "one")]
    pub weight: f64,
    /// The name of the token limit in requests; newer OpenAI models want `max_completion_tokens`.
    #[serde(default)]
    pub token_limit_parameter: TokenLimitParameter,
    /// Temperature for this model, over `[generation]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Most tokens of one answer for this model, over `[generation]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens_max: Option<u32>,
}

fn one() -> f64 {
    1.0
}

/// Vendor protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// Any OpenAI-compatible chat endpoint.
    Openai,
    /// Answers from a script, for trying the arena out.
    Scripted,
}

/// The name of the token limit in requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenLimitParameter {
    /// `max_tokens`.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// Where a secret is; never the secret itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum SecretSource {
    /// In this environment variable.
    Env(String),
    /// In this file, without surrounding white space.
    File(PathBuf),
}

/// A secret, which does not show itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The secret, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What the program needs.
#[derive(Clone, Debug)]
pub struct Config {
    /// The checked file, for printing.
    pub raw: RawConfig,
    /// Where it came from, when there was a file.
    pub file: Option<PathBuf>,
    /// The folder with the arena's data.
    pub data_dir: PathBuf,
    /// Where to listen.
    pub bind: String,
    /// Proxies whose word on the client's address is taken.
    pub trusted_proxies: Vec<Network>,
    /// The keys of the models that have one, by name.
    pub api_keys: BTreeMap<String, Secret>,
    /// What content is screened for, checked.
    pub screening: ScreeningSettings,
}

/// An address range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Reads `ADDRESS` or `ADDRESS/BITS`.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (
                address.parse::<IpAddr>().ok()?,
                Some(bits.parse::<u8>().ok()?),
            ),
            None => (text.parse::<IpAddr>().ok()?, None),
        };
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(width);
        (bits <= width).then_some(Self { address, bits })
    }

    /// Whether `address` lies in it. IPv4-mapped addresses count as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address.to_canonical(), address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.bits.min(32));
                u64::from(network.to_bits()) >> shift == u64::from(address.to_bits()) >> shift
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.bits);
                shift == 128 || network.to_bits() >> shift == address.to_bits() >> shift
            }
            _ => false,
        }
    }
}

impl Config {
    /// Reads file, environment and flags.
    ///
    /// `environment` holds all variables of the process; `working_folder` is where `agon.toml` is looked for first.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with the key, the value and what is accepted.
    pub fn load(
        global: &GlobalArgs,
        environment: &BTreeMap<String, String>,
        working_folder: &Path,
    ) -> Result<Self, ConfigError> {
        let file = match &global.config {
            Some(path) => Some(path.clone()),
            None => [
                Some(working_folder.join("agon.toml")),
                xdg(environment, "XDG_CONFIG_HOME", ".config")
                    .map(|folder| folder.join("agon/agon.toml")),
            ]
            .into_iter()
            .flatten()
            .find(|path| path.is_file()),
        };
        let mut table = match &file {
            Some(path) => {
                let text = fs::read_to_string(path).map_err(|source| ConfigError::Read {
                    path: path.clone(),
                    source,
                })?;
                // Parsed into the final type first, because only then does an error point at its line.
                let origin = format!("`{}`", path.display());
                toml::from_str::<RawConfig>(&text)
                    .map_err(|error| parse_error(&origin, &text, &error))?;
                toml::from_str::<toml::Table>(&text)
                    .map_err(|error| parse_error(&origin, &text, &error))?
            }
            None => toml::Table::new(),
        };
        overlay_environment(&mut table, environment)?;
        let raw = RawConfig::deserialize(table)
            .map_err(|error| parse_error("the environment", "", &error))?;
        let base = file
            .as_deref()
            .and_then(Path::parent)
            .unwrap_or(working_folder);
        Self::check(raw, global, environment, base, file.clone())
    }

    fn check(
        mut raw: RawConfig,
        global: &GlobalArgs,
        environment: &BTreeMap<String, String>,
        base: &Path,
        file: Option<PathBuf>,
    ) -> Result<Self, ConfigError> {
        let value_error =
            |key: &str, value: &dyn fmt::Display, expected: &str| ConfigError::Value {
                key: key.to_owned(),
                value: value.to_string(),
                expected: expected.to_owned(),
            };
        if raw.arena.name.trim().is_empty() {
            return Err(value_error("arena.name", &raw.arena.name, "a name"));
        }
        if raw.server.bind.parse::<SocketAddr>().is_err() && !is_host_and_port(&raw.server.bind) {
            return Err(value_error(
                "server.bind",
                &raw.server.bind,
                "HOST:PORT, such as 127.0.0.1:8080",
            ));
        }
        for (key, value) in [
            ("limits.prompt_chars_max", raw.limits.prompt_chars_max),
            ("limits.turns_max", raw.limits.turns_max as usize),
            ("limits.upload_bytes_max", raw.limits.upload_bytes_max),
            (
                "limits.prompts_per_minute_visit",
                raw.limits.prompts_per_minute_visit as usize,
            ),
            (
                "limits.prompts_per_minute_address",
                raw.limits.prompts_per_minute_address as usize,
            ),
            ("limits.generations_max", raw.limits.generations_max),
            (
                "generation.output_tokens_max",
                raw.generation.output_tokens_max as usize,
            ),
        ] {
            if value == 0 {
                return Err(value_error(key, &value, "a number above 0"));
            }
        }
        if !(0.0..=2.0).contains(&raw.generation.temperature) {
            return Err(value_error(
                "generation.temperature",
                &raw.generation.temperature,
                "a number from 0 to 2",
            ));
        }
        if !(raw.generation.top_p > 0.0 && raw.generation.top_p <= 1.0) {
            return Err(value_error(
                "generation.top_p",
                &raw.generation.top_p,
                "a number above 0, up to 1",
            ));
        }
        let release = &raw.release;
        if release.license_terms.is_none()
            && (release.license != "other" || release.license_name.is_some())
        {
            return Err(value_error(
                "release.license_terms",
                &"absent",
                "the licence in words: a name alone grants nothing",
            ));
        }
        let trusted_proxies = raw
            .server
            .trusted_proxies
            .iter()
            .map(|text| {
                Network::parse(text).ok_or_else(|| {
                    value_error(
                        "server.trusted_proxies",
                        text,
                        "ADDRESS or ADDRESS/BITS, such as 10.0.0.0/8",
                    )
                })
            })
            .collect::<Result<_, _>>()?;
        if let Some(terms_file) = &mut raw.arena.terms_file {
            *terms_file = base.join(&terms_file);
        }

        let mut names = HashSet::new();
        let mut api_keys = BTreeMap::new();
        for model in &mut raw.models {
            let key = |name: &str| format!("model `{}`: {name}", model.name);
            if model.name.trim() != model.name
                || model.name.is_empty()
                || model.name.chars().any(char::is_control)
            {
                return Err(value_error(
                    "model.name",
                    &model.name,
                    "a name without surrounding white space or control characters",
                ));
            }
            if !names.insert(model.name.clone()) {
                return Err(value_error(
                    "model.name",
                    &model.name,
                    "a name that no other model has",
                ));
            }
            if !is_usable_weight(model.weight) {
                return Err(value_error(
                    &key("weight"),
                    &model.weight,
                    &format!("0, or a number from {WEIGHT_MIN} to {WEIGHT_MAX}"),
                ));
            }
            if let Some(temperature) = model
                .temperature
                .filter(|temperature| !(0.0..=2.0).contains(temperature))
            {
                return Err(value_error(
                    &key("temperature"),
                    &temperature,
                    "a number from 0 to 2",
                ));
            }
            match (model.provider, &model.base_url) {
                (ProviderKind::Openai, None) => {
                    return Err(value_error(
                        &key("base_url"),
                        &"absent",
                        "the endpoint, such as https://api.openai.com/v1",
                    ));
                }
                (ProviderKind::Openai, Some(url))
                    if !(url.starts_with("http://") || url.starts_with("https://")) =>
                {
                    return Err(value_error(
                        &key("base_url"),
                        url,
                        "an address that starts with http:// or https://",
                    ));
                }
                (ProviderKind::Scripted, Some(url)) => {
                    return Err(value_error(
                        &key("base_url"),
                        url,
                        "no endpoint: a scripted model has none",
                    ));
                }
                _ => {}
            }
            if model.provider == ProviderKind::Scripted && model.persona.is_none() {
                return Err(value_error(
                    &key("persona"),
                    &"absent",
                    "the name of a scripted persona",
                ));
            }
            if let Some(source) = &mut model.api_key {
                if let SecretSource::File(path) = source {
                    *path = base.join(&path);
                }
                let secret = read_secret(
                    &format!("model `{}`: api_key", model.name),
                    source,
                    environment,
                )?;
                api_keys.insert(model.name.clone(), secret);
            }
        }

        let data_dir = match &global.data_dir {
            Some(folder) => folder.clone(),
            None => xdg(environment, "XDG_DATA_HOME", ".local/share")
                .map(|folder| folder.join("agon"))
                .ok_or_else(|| {
                    value_error(
                        "--data-dir",
                        &"absent",
                        "a folder: neither XDG_DATA_HOME nor HOME is set",
                    )
                })?,
        };
        let detectors_dir = xdg(environment, "XDG_DATA_HOME", ".local/share").map_or_else(
            || data_dir.join("detectors"),
            |folder| folder.join("agon/detectors"),
        );
        let screening = raw.screening.check(detectors_dir, base, environment)?;
        Ok(Self {
            bind: raw.server.bind.clone(),
            screening,
            raw,
            file,
            data_dir,
            trusted_proxies,
            api_keys,
        })
    }
}

fn is_host_and_port(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !host.contains(['/', ' ']) && port.parse::<u16>().is_ok()
    })
}

fn xdg(
    environment: &BTreeMap<String, String>,
    variable: &str,
    below_home: &str,
) -> Option<PathBuf> {
    let set = |name: &str| {
        environment
            .get(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    // The XDG base directory specification: a relative path is invalid and ignored.
    set(variable)
        .filter(|path| path.is_absolute())
        .or_else(|| set("HOME").map(|home| home.join(below_home)))
}

fn read_secret(
    key: &str,
    source: &SecretSource,
    environment: &BTreeMap<String, String>,
) -> Result<Secret, ConfigError> {
    let text = match source {
        SecretSource::Env(name) => {
            environment
                .get(name)
                .cloned()
                .ok_or_else(|| ConfigError::Secret {
                    key: key.to_owned(),
                    place: format!("the environment variable `{name}`, which is not set"),
                    source: None,
                })?
        }
        SecretSource::File(path) => {
            fs::read_to_string(path).map_err(|source| ConfigError::Secret {
                key: key.to_owned(),
                place: format!("the file `{}`", path.display()),
                source: Some(source),
            })?
        }
    };
    let secret = text.trim();
    if secret.is_empty() {
        return Err(ConfigError::Secret {
            key: key.to_owned(),
            place: match source {
                SecretSource::Env(name) => {
                    format!("the environment variable `{name}`, which is empty")
                }
                SecretSource::File(path) => {
                    format!("the file `{}`, which is empty", path.display())
                }
            },
            source: None,
        });
    }
    Ok(Secret(secret.to_owned()))
}

/// Sets the keys that `AGON_SECTION__KEY` variables name.
fn overlay_environment(
    table: &mut toml::Table,
    environment: &BTreeMap<String, String>,
) -> Result<(), ConfigError> {
    for (name, text) in environment {
        let Some(path) = name.strip_prefix("AGON_") else {
            continue;
        };
        if RESERVED_VARIABLES.contains(&name.as_str()) || name.starts_with(TEST_PREFIX) {
            continue;
        }
        let path = path.to_lowercase();
        let Some((section, key)) = path.split_once("__") else {
            return Err(ConfigError::Value {
                key: name.clone(),
                value: text.clone(),
                expected: format!(
                    "a variable named AGON_SECTION__KEY, such as AGON_SERVER__BIND, or one of {}",
                    RESERVED_VARIABLES.join(", ")
                ),
            });
        };
        // A number, a boolean or an array as TOML writes it; anything else is a text.
        let value = toml::from_str::<toml::Table>(&format!("value = {text}"))
            .ok()
            .and_then(|mut table| table.remove("value"))
            .unwrap_or_else(|| toml::Value::String(text.clone()));
        let section = table
            .entry(section.to_owned())
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        if let toml::Value::Table(section) = section {
            section.insert(key.to_owned(), value);
        } else {
            return Err(ConfigError::Value {
                key: name.clone(),
                value: text.clone(),
                expected: "the key of a section; models are listed in the configuration file"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// What is wrong with `text`, with the line, but never a line that names a secret: somebody may have written it there.
fn parse_error(origin: &str, text: &str, error: &toml::de::Error) -> ConfigError {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line_idx = before.map(|before| before.matches('\n').count());
    let line = line_idx.and_then(|line_idx| text.lines().nth(line_idx));
    let holds_secret =
        line.is_some_and(|line| ["api_key", "password"].iter().any(|key| line.contains(key)));
    let message = match line_idx {
        Some(line_idx) if holds_secret => format!(
            "line {}: a secret is named here as {{ env = \"NAME\" }} or {{ file = \"PATH\" }}, and is never written here itself",
            line_idx + 1
        ),
        _ => error.to_string(),
    };
    ConfigError::Parse {
        origin: origin.to_owned(),
        nearest: nearest_key(&message),
        message: message.trim_end().to_owned(),
    }
}

/// The known key nearest to an unknown one, from serde's message "unknown field `x`, expected one of `y`, `z`".
fn nearest_key(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("unknown field `")?;
    let (unknown, rest) = rest.split_once('`')?;
    rest.split('`')
        .skip(1)
        .step_by(2)
        .map(|known| (strsim::osa_distance(unknown, known), known))
        .filter(|(distance, known)| *distance <= known.len().div_ceil(2))
        .min()
        .map(|(_, known)| known.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agon.toml");
        fs::write(&path, text).unwrap();
        let mut environment: BTreeMap<String, String> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        environment
            .entry("HOME".to_owned())
            .or_insert_with(|| "/home/someone".to_owned());
        let global = GlobalArgs {
            config: Some(path),
            data_dir: None,
            json: false,
            quiet: false,
            verbose: 0,
        };
        Config::load(&global, &environment, folder.path())
    }

    #[track_caller]
    fn check_refused(text: &str, variables: &[(&str, &str)], expected: &[&str]) {
        let error = load(text, variables).unwrap_err();
        let message = match &error {
            ConfigError::Parse {
                message, nearest, ..
            } => format!("{error} {message} {nearest:?}"),
            other => other.to_string(),
        };
        for part in expected {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
    }

    #[test]
    fn nothing_configured_is_a_working_arena() {
        let config = load("", &[]).unwrap();
        assert_eq!(config.bind, "127.0.0.1:8080");
        assert_eq!(
            config.data_dir,
            Path::new("/home/someone/.local/share/agon")
        );
        assert!(config.raw.models.is_empty());
    }

    #[test]
    fn the_environment_overrides_the_file() {
        let config = load(
            "[server]\nbind = \"127.0.0.1:1\"\n[limits]\nturns_max = 3",
            &[
                ("AGON_SERVER__BIND", "0.0.0.0:2"),
                ("AGON_LIMITS__TURNS_MAX", "7"),
                ("AGON_SERVER__TRUSTED_PROXIES", "[\"10.0.0.0/8\"]"),
                ("AGON_TESTDATA", "/x"),
                ("AGON_LOG", "debug"),
            ],
        )
        .unwrap();
        assert_eq!(config.bind, "0.0.0.0:2");
        assert_eq!(config.raw.limits.turns_max, 7);
        assert!(config.trusted_proxies[0].contains("10.1.2.3".parse().unwrap()));
    }

    #[test]
    fn a_key_comes_from_the_environment_or_a_file_and_is_never_shown() {
        let text = "[[model]]\nname = \"m\"\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key = { env = \"KEY\" }";
        let config = load(text, &[("KEY", " sk-123\n")]).unwrap();
        assert_eq!(config.api_keys["m"].expose(), "sk-123");
        assert!(!format!("{config:?}").contains("sk-123"));
        check_refused(
            text,
            &[],
            &["model `m`: api_key", "`KEY`, which is not set"],
        );
        check_refused(text, &[("KEY", " ")], &["which is empty"]);
        for written in [
            "[[model]]\nname = \"m\"\napi_key = \"sk-456\"",
            "[[screening.service]]\nkind = \"presidio\"\napi_key = \"sk-456\"",
            "[[model]]\napi_key = sk-456",
        ] {
            let error = load(written, &[]).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("sk-456"), "{error}");
            check_refused(written, &[], &["a secret is named here as"]);
        }
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_known_one() {
        check_refused(
            "[server]\nbnid = \"x\"",
            &[],
            &["bnid", "line 2", "Some(\"bind\")"],
        );
        check_refused(
            "[[model]]\nname = \"m\"\nprovider = \"openai\"\nbaseurl = \"http://x\"",
            &[],
            &["Some(\"base_url\")"],
        );
        check_refused(
            "",
            &[("AGON_SERVER__PORT", "1")],
            &["the environment", "port"],
        );
        check_refused(
            "",
            &[("AGON_BIND", "1")],
            &["AGON_BIND", "AGON_SERVER__BIND"],
        );
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_what_is_accepted() {
        let model = |more: &str| format!("[[model]]\nname = \"m\"\nprovider = \"openai\"\n{more}");
        check_refused(
            "[limits]\nturns_max = 0",
            &[],
            &["limits.turns_max", "`0`", "above 0"],
        );
        check_refused(
            "[server]\nbind = \"nowhere\"",
            &[],
            &["server.bind", "`nowhere`", "HOST:PORT"],
        );
        check_refused(
            "[server]\ntrusted_proxies = [\"10.0.0.0/33\"]",
            &[],
            &["10.0.0.0/33"],
        );
        check_refused(&model(""), &[], &["base_url", "https://api.openai.com/v1"]);
        check_refused(
            &model("base_url = \"ftp://x\""),
            &[],
            &["ftp://x", "http://"],
        );
        check_refused(
            &model("base_url = \"http://x\"\nweight = -1.0"),
            &[],
            &["weight", "-1"],
        );
        check_refused(
            &model(
                "base_url = \"http://x\"\n[[model]]\nname = \"m\"\nprovider = \"scripted\"\npersona = \"x\"",
            ),
            &[],
            &["`m`", "no other model"],
        );
        check_refused(
            "[generation]\ntemperature = 3.0",
            &[],
            &["generation.temperature", "0 to 2"],
        );
    }

    #[test]
    fn networks_contain_their_addresses() {
        let check = |network: &str, address: &str, expected| {
            assert_eq!(
                Network::parse(network)
                    .unwrap()
                    .contains(address.parse().unwrap()),
                expected,
                "{network} {address}"
            );
        };
        check("10.0.0.0/8", "10.255.0.1", true);
        check("10.0.0.0/8", "::ffff:10.255.0.1", true);
        check("10.0.0.0/8", "11.0.0.1", false);
        check("0.0.0.0/0", "203.0.113.7", true);
        check("::/0", "2001:db8::1", true);
        check("::/0", "203.0.113.7", false);
        check("2001:db8::/32", "2001:db8:ffff::1", true);
        check("127.0.0.1", "127.0.0.2", false);
        for text in ["", "10.0.0.0/33", "x", "10.0.0.0/-1", "::/129"] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
    }
}
