//! Which column holds what, by its name.

use crate::{
    Error,
    fate::{COLUMNS_SHOWN_MAX, cut},
};

/// What a column is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The model on side A.
    ModelA,
    /// The model on side B.
    ModelB,
    /// What the vote says.
    Winner,
    /// Whether the names were hidden from the voter.
    Anonymous,
    /// The battle's id.
    Id,
}

impl Role {
    pub(crate) const N: usize = 5;
}

/// Spellings of a role that are looked for, the preferred one first.
pub(crate) const N_SPELLINGS_MAX: usize = 3;

/// The role of a column with this name, and how far behind the preferred spelling it is.
///
/// Case, surrounding white space, and blanks or hyphens in place of underscores make no difference.
pub(crate) fn role_of(name: &str) -> Option<(Role, usize)> {
    // The common spellings are matched as they are, before any copy is made.
    exact_role_of(name).or_else(|| {
        let name = name.trim();
        if name.len() > "question_id".len() {
            return None;
        }
        exact_role_of(&name.to_lowercase().replace([' ', '-'], "_"))
    })
}

fn exact_role_of(name: &str) -> Option<(Role, usize)> {
    Some(match name {
        "model_a" => (Role::ModelA, 0),
        "left" => (Role::ModelA, 1),
        "model_b" => (Role::ModelB, 0),
        "right" => (Role::ModelB, 1),
        "winner" => (Role::Winner, 0),
        "anony" => (Role::Anonymous, 0),
        "question_id" => (Role::Id, 0),
        "battle_id" => (Role::Id, 1),
        "id" => (Role::Id, 2),
        _ => return None,
    })
}

/// The positions of the columns in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) model_a: usize,
    pub(crate) model_b: usize,
    pub(crate) winner: usize,
    pub(crate) anonymous: Option<usize>,
    pub(crate) id: Option<usize>,
}

impl Columns {
    /// Finds the columns of the table `path` among `names`.
    pub(crate) fn find<'a>(
        path: &str,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Self, Error> {
        let mut positions = [[None; N_SPELLINGS_MAX]; Role::N];
        for (idx, name) in names.clone().enumerate() {
            if let Some((role, rank)) = role_of(name) {
                let position = &mut positions[role as usize][rank];
                if position.is_some() {
                    return Err(Error::AmbiguousColumn {
                        path: path.to_owned(),
                        column: cut(name),
                    });
                }
                *position = Some(idx);
            }
        }
        let models = (0..N_SPELLINGS_MAX).find_map(|rank| {
            positions[Role::ModelA as usize][rank].zip(positions[Role::ModelB as usize][rank])
        });
        let first = |role: Role| positions[role as usize].iter().find_map(|&idx| idx);
        let (Some((model_a, model_b)), Some(winner)) = (models, first(Role::Winner)) else {
            return Err(missing(
                path,
                models.is_some(),
                first(Role::Winner).is_some(),
                names,
            ));
        };
        Ok(Self {
            model_a,
            model_b,
            winner,
            anonymous: first(Role::Anonymous),
            id: first(Role::Id),
        })
    }
}

/// The error that says what is missing and what is there.
pub(crate) fn missing<'a>(
    path: &str,
    has_models: bool,
    has_winner: bool,
    names: impl Iterator<Item = &'a str>,
) -> Error {
    Error::MissingColumns {
        path: path.to_owned(),
        missing: match (has_models, has_winner) {
            (false, false) => "the two models and the winner",
            (false, true) => "the two models",
            (true, _) => "the winner",
        },
        found: names.take(COLUMNS_SHOWN_MAX).map(cut).collect(),
    }
}
