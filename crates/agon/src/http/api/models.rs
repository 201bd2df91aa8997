//! Who takes part.

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;

/// Who takes part, and under which terms.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelsBody {
    /// Whether the models are scripted ones, for trying the arena out.
    pub demo: bool,
    /// The version of the terms in force.
    pub policy_version: String,
    /// All models that can meet, in the order of their names.
    pub models: Vec<ModelBody>,
}

/// A model on the arena.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelBody {
    /// Its name.
    pub name: String,
    /// Who made it.
    pub organization: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// Whether it can be shown images.
    pub vision: bool,
    /// How often it is drawn, relative to the others.
    pub weight: f64,
    /// Whether its answers are scripted.
    pub scripted: bool,
}

/// List the models that take part
///
/// Sampling weights are public: how often a model is drawn decides how well it is known.
#[utoipa::path(get, path = "/api/v1/models", tag = "leaderboard",
    responses((status = 200, description = "The models", body = ModelsBody)))]
pub async fn list(State(app): State<App>) -> Json<ModelsBody> {
    let mut models: Vec<ModelBody> = app
        .models()
        .iter()
        .map(|model| ModelBody {
            name: model.name.clone(),
            organization: model.organization.clone(),
            license: model.license.clone(),
            vision: model.vision,
            weight: model.weight,
            scripted: model.scripted,
        })
        .collect();
    models.sort_by(|one, other| one.name.cmp(&other.name));
    Json(ModelsBody {
        demo: app.is_demo(),
        policy_version: app.terms().version.clone(),
        models,
    })
}
