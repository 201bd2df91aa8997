//! `[[screening.service]]` → clients of services.

use agon_providers::{
    ApiKey, Client, ClientOptions, Limits, OpenAi, OpenAiOptions, Provider,
    screening::{
        ArachnidShieldOptions, AzureLanguageOptions, ContentModeratorOptions, ContentSafetyOptions,
        GoogleRedactOptions, GoogleVisionOptions, GuardOptions, OpenAiModerationOptions,
        PhotoDnaOptions, PresidioOptions, ScreeningService, ServiceOptions,
    },
};

use crate::{
    app::screening::{KnownService, build::BuildError},
    config::{Config, screening::ServiceSettings},
};

/// The kinds of services, as messages list them.
const ACCEPTED: &str = "`arachnid_shield`, `azure_content_moderator`, `azure_content_safety`, `azure_language`, `google_redact`, `google_vision`, `guard`, `openai_moderation`, `photo_dna`, `presidio`";

/// Clients of all configured services, in their order.
///
/// # Errors
///
/// [`BuildError`] that names the service and the key.
pub(super) fn services(config: &Config) -> Result<Vec<KnownService>, BuildError> {
    if config.screening.services.is_empty() {
        return Ok(Vec::new());
    }
    let client = Client::new(&ClientOptions::default()).map_err(|source| BuildError::Client {
        kind: "every service".to_owned(),
        source,
    })?;
    config
        .screening
        .services
        .iter()
        .map(|settings| service(config, settings, &client).map(KnownService::new))
        .collect()
}

fn service(
    config: &Config,
    settings: &ServiceSettings,
    client: &Client,
) -> Result<ScreeningService, BuildError> {
    let raw = &settings.raw;
    let needed = |value: &Option<String>, key: &'static str| {
        value.clone().ok_or_else(|| BuildError::ServiceKey {
            kind: raw.kind.clone(),
            key,
        })
    };
    let key = settings.key.as_ref().map(|key| ApiKey::new(key.expose()));
    let at = |endpoint: String| {
        let mut options = ServiceOptions::new(endpoint, key.clone());
        options.limits.timeout_ms = config.raw.screening.service_ms_max;
        options
    };
    let usually = |endpoint: &str| at(raw.base_url.clone().unwrap_or_else(|| endpoint.to_owned()));
    let of_operator = || needed(&raw.base_url, "base_url").map(at);
    let built = match raw.kind.as_str() {
        "arachnid_shield" => ScreeningService::arachnid_shield(
            client,
            ArachnidShieldOptions {
                service: usually("https://shield.projectarachnid.com"),
                user: needed(&raw.user, "user")?,
            },
        ),
        "azure_content_moderator" => ScreeningService::azure_content_moderator(
            client,
            ContentModeratorOptions::new(of_operator()?),
        ),
        "azure_content_safety" => {
            let mut options = ContentSafetyOptions::new(of_operator()?);
            if let Some(language) = &raw.language_when_unknown {
                options.languages = options.languages.when_unknown(language);
            }
            ScreeningService::azure_content_safety(client, options)
        }
        "azure_language" => {
            let mut options = AzureLanguageOptions::new(of_operator()?);
            if let Some(language) = &raw.language_when_unknown {
                options.languages = options.languages.when_unknown(language);
            }
            ScreeningService::azure_language(client, options)
        }
        "google_redact" => {
            let mut options = GoogleRedactOptions::new(
                usually("https://dlp.googleapis.com"),
                needed(&raw.project, "project")?,
            );
            options.service.limits.timeout_ms = config.raw.screening.service_ms_max;
            ScreeningService::google_redact(client, options)
        }
        "google_vision" => ScreeningService::google_vision(
            client,
            GoogleVisionOptions::new(usually("https://vision.googleapis.com")),
        ),
        "guard" => {
            let model = needed(&raw.model, "model")?;
            let limits = Limits {
                total_ms: config.raw.screening.service_ms_max,
                ..Limits::default()
            };
            let mut options = OpenAiOptions::new(needed(&raw.base_url, "base_url")?, model.clone());
            options.api_key = key;
            options.limits = limits;
            OpenAi::new(client, options).and_then(|provider| {
                ScreeningService::guard(GuardOptions::new(
                    Provider::OpenAi(provider),
                    format!("guard-{model}"),
                    raw.version.clone().unwrap_or_else(|| "1".to_owned()),
                    raw.vision,
                ))
            })
        }
        "openai_moderation" => {
            let mut options = OpenAiModerationOptions::new(usually("https://api.openai.com/v1"));
            if let Some(model) = &raw.model {
                options.model.clone_from(model);
            }
            ScreeningService::openai_moderation(client, options)
        }
        "photo_dna" => ScreeningService::photo_dna(
            client,
            PhotoDnaOptions::new(usually(PhotoDnaOptions::ENDPOINT)),
        ),
        "presidio" => {
            let mut options =
                PresidioOptions::new(of_operator()?, needed(&raw.version, "version")?);
            if let Some(language) = &raw.language_when_unknown {
                options.languages = options.languages.when_unknown(language);
            }
            ScreeningService::presidio(client, options)
        }
        _ => {
            return Err(BuildError::Service {
                kind: raw.kind.clone(),
                accepted: ACCEPTED,
            });
        }
    };
    built.map_err(|source| BuildError::Client {
        kind: raw.kind.clone(),
        source,
    })
}
