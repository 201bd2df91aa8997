//! Configured models → models with the providers that serve them; the scripted demo models when none is configured.

use agon_domain::Model;
use agon_providers::{
    ApiKey, Client, ClientOptions, Limits, OpenAi, OpenAiOptions, Pace, Persona, Provider,
    Scripted, TokenLimitField,
};

use crate::config::{Config, ConfigError, ModelConfig, ProviderKind, TokenLimitParameter};

/// Builds every model with its provider.
///
/// # Errors
///
/// [`ConfigError`] when a value of the configuration cannot be used.
pub fn build(config: &Config) -> Result<Vec<(Model, Provider)>, ConfigError> {
    if config.raw.models.is_empty() {
        return Ok(demo_models());
    }
    let generation = &config.raw.generation;
    let limits = Limits {
        first_token_ms: generation.first_token_ms_max,
        gap_ms: generation.gap_ms_max,
        total_ms: generation.total_ms_max,
        ..Limits::default()
    };
    let client = Client::new(&ClientOptions {
        connect_ms: generation.connect_ms_max,
        ..ClientOptions::default()
    })
    .map_err(|error| ConfigError::Value {
        key: "the HTTP client".to_owned(),
        value: error.message,
        expected: "a machine that can open connections".to_owned(),
    })?;
    config
        .raw
        .models
        .iter()
        .map(|model| {
            Ok((
                domain_model(model),
                provider(model, config, &client, &limits)?,
            ))
        })
        .collect()
}

/// The scripted models, each labelled as such.
pub fn demo_models() -> Vec<(Model, Provider)> {
    Persona::ALL
        .into_iter()
        .map(|persona| {
            let model = Model {
                name: persona.name().to_owned(),
                organization: None,
                license: None,
                vision: persona.vision(),
                weight: 1.0,
                scripted: true,
            };
            (
                model,
                Provider::from(Scripted::persona(persona, Pace::default())),
            )
        })
        .collect()
}

fn domain_model(model: &ModelConfig) -> Model {
    Model {
        name: model.name.clone(),
        organization: model.organization.clone(),
        license: model.license.clone(),
        vision: model.vision,
        weight: model.weight,
        scripted: model.provider == ProviderKind::Scripted,
    }
}

fn provider(
    model: &ModelConfig,
    config: &Config,
    client: &Client,
    limits: &Limits,
) -> Result<Provider, ConfigError> {
    let value_error = |key: &str, value: &str, expected: String| ConfigError::Value {
        key: format!("model `{}`: {key}", model.name),
        value: value.to_owned(),
        expected,
    };
    match model.provider {
        ProviderKind::Scripted => {
            let given = model.persona.as_deref().unwrap_or_default();
            let persona = Persona::ALL
                .into_iter()
                .find(|persona| persona.name() == given)
                .ok_or_else(|| {
                    let names: Vec<&str> = Persona::ALL.into_iter().map(Persona::name).collect();
                    value_error("persona", given, format!("one of {}", names.join(", ")))
                })?;
            let pace = match model.token_ms {
                None => Pace::default(),
                Some(0) => Pace::INSTANT,
                Some(token_ms) => Pace {
                    token_ms,
                    ..Pace::default()
                },
            };
            Ok(Provider::from(Scripted::persona(persona, pace)))
        }
        ProviderKind::Openai => {
            let base_url = model.base_url.as_deref().unwrap_or_default();
            let mut options =
                OpenAiOptions::new(base_url, model.model.as_deref().unwrap_or(&model.name));
            options.api_key = config
                .api_keys
                .get(&model.name)
                .map(|key| ApiKey::new(key.expose()));
            options.token_limit_field = match model.token_limit_parameter {
                TokenLimitParameter::MaxTokens => TokenLimitField::MaxTokens,
                TokenLimitParameter::MaxCompletionTokens => TokenLimitField::MaxCompletionTokens,
            };
            options.limits = *limits;
            OpenAi::new(client, options)
                .map(Provider::from)
                .map_err(|error| value_error("base_url", base_url, error.message))
        }
    }
}
