//! Who met whom, and who among them can be rated.

use super::RATED_BATTLES_MIN;
use crate::comparisons::Comparisons;
use crate::components::Components;

/// The groups that met, the main one first, each with the models that can be rated.
pub(super) struct Parts {
    pub(super) groups: Vec<Part>,
}

pub(super) struct Part {
    /// All models of the group, ascending.
    pub(super) models: Vec<usize>,
    /// Those that can be rated, ascending; empty when nobody can.
    pub(super) rated: Vec<usize>,
    /// Battles among the rated.
    pub(super) rated_battles: u64,
    /// All battles of the group.
    pub(super) battles: u64,
    pub(super) strong_components: usize,
}

impl Parts {
    pub(super) fn of(comparisons: &Comparisons) -> Self {
        let components = Components::of(comparisons);
        let n_models = comparisons.n_models();
        let mut strong_of = vec![usize::MAX; n_models];
        for (idx, members) in components.strong.iter().enumerate() {
            for &model in members {
                strong_of[model] = idx;
            }
        }
        let inside = battles_inside(comparisons, &strong_of, components.strong.len());

        let mut groups: Vec<Part> = components
            .connected
            .into_iter()
            .map(|models| {
                let mut strong: Vec<usize> = models.iter().map(|&model| strong_of[model]).collect();
                strong.sort_unstable();
                strong.dedup();
                let battles = models
                    .iter()
                    .map(|&model| comparisons.record(model).battles)
                    .sum::<u64>()
                    / 2;
                let mut part = Part {
                    models,
                    rated: Vec::new(),
                    rated_battles: 0,
                    battles,
                    strong_components: strong.len(),
                };
                for idx in strong {
                    let members = &components.strong[idx];
                    let Inside { battles, models } = inside[idx];
                    // Strict, so that among equals the component with the first model stays.
                    if models > 1
                        && (battles, members.len()) > (part.rated_battles, part.rated.len())
                    {
                        part.rated.clone_from(members);
                        part.rated_battles = battles;
                    }
                }
                part
            })
            .collect();
        // A stable sort: equal groups stay in the order of their first models.
        groups.sort_by_key(|part| {
            std::cmp::Reverse((part.rated_battles, part.rated.len(), part.battles))
        });
        Self { groups }
    }
}

/// What happened inside a strong component.
#[derive(Clone, Copy, Default)]
struct Inside {
    battles: u64,
    /// Models with at least [`RATED_BATTLES_MIN`] battles inside. One alone has nobody to be rated against.
    models: usize,
}

/// Battles, and models that these can rate, inside each strong component.
fn battles_inside(
    comparisons: &Comparisons,
    strong_of: &[usize],
    n_components: usize,
) -> Vec<Inside> {
    let mut inside = vec![Inside::default(); n_components];
    let mut of_model = vec![0_u64; strong_of.len()];
    for (pair, cells) in comparisons.by_pair() {
        let (i, j) = (pair.i as usize, pair.j as usize);
        let component = strong_of[i];
        if component == strong_of[j] && component < n_components {
            let counts = comparisons.counts()[cells].iter();
            let of_pair = counts.fold(0_u64, |sum, &count| sum.saturating_add(count));
            inside[component].battles = inside[component].battles.saturating_add(of_pair);
            for model in [i, j] {
                of_model[model] = of_model[model].saturating_add(of_pair);
            }
        }
    }
    for (model, &battles) in of_model.iter().enumerate() {
        if battles >= RATED_BATTLES_MIN {
            inside[strong_of[model]].models += 1;
        }
    }
    inside
}
