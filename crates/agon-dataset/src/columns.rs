//! Which column holds what, by its name.

use crate::{
    Error,
    fate::{COLUMNS_SHOWN_MAX, cut},
    layout,
};

/// What a column is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The model on side A.
    ModelA,
    /// The model on side B.
    ModelB,
    /// What the vote says, as a label.
    Winner,
    /// Whether the names were hidden from the voter.
    Anonymous,
    /// The battle's id.
    Id,
    /// Whether side A won.
    WonA,
    /// Whether side B won.
    WonB,
    /// Whether nobody won.
    Tied,
    /// The name of the model that won.
    Chosen,
    /// Whether the voter found both alike, where the winner is a name.
    Equal,
    /// The score of side A: 1, 0 or one half.
    Score,
}

impl Role {
    pub(crate) const N: usize = 11;
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
        if name.len() > "chosen_model_name".len() {
            return None;
        }
        exact_role_of(&name.to_lowercase().replace([' ', '-'], "_"))
    })
}

fn exact_role_of(name: &str) -> Option<(Role, usize)> {
    Some(match name {
        "model_a" => (Role::ModelA, 0),
        "left" => (Role::ModelA, 1),
        "model_a_name" => (Role::ModelA, 2),
        "model_b" => (Role::ModelB, 0),
        "right" => (Role::ModelB, 1),
        "model_b_name" => (Role::ModelB, 2),
        "winner" => (Role::Winner, 0),
        "choice" => (Role::Winner, 1),
        "verdict" => (Role::Winner, 2),
        "anony" => (Role::Anonymous, 0),
        "question_id" => (Role::Id, 0),
        "battle_id" => (Role::Id, 1),
        "id" => (Role::Id, 2),
        "winner_model_a" => (Role::WonA, 0),
        "winner_model_b" => (Role::WonB, 0),
        "winner_tie" => (Role::Tied, 0),
        "winner_model_tie" => (Role::Tied, 1),
        "chosen_model_name" => (Role::Chosen, 0),
        "both_equal" => (Role::Equal, 0),
        "score_a" => (Role::Score, 0),
        "outcome" => (Role::Score, 1),
        _ => return None,
    })
}

/// The columns that say who won, the way of saying it that is preferred first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WinnerRule<C> {
    /// A label.
    Label(C),
    /// Three columns of which one is set: side A, side B, tie.
    OneHot([C; 3]),
    /// The winner's name, and what says that both are alike.
    Named { chosen: C, equal: Option<C> },
    /// Side A's score.
    Score(C),
}

impl<C> WinnerRule<C> {
    /// The same rule with something else for each column.
    pub(crate) fn map<D, E>(
        self,
        mut f: impl FnMut(C, Role) -> Result<D, E>,
    ) -> Result<WinnerRule<D>, E> {
        Ok(match self {
            Self::Label(column) => WinnerRule::Label(f(column, Role::Winner)?),
            Self::OneHot([a, b, tie]) => {
                WinnerRule::OneHot([f(a, Role::WonA)?, f(b, Role::WonB)?, f(tie, Role::Tied)?])
            }
            Self::Named { chosen, equal } => WinnerRule::Named {
                chosen: f(chosen, Role::Chosen)?,
                equal: equal.map(|column| f(column, Role::Equal)).transpose()?,
            },
            Self::Score(column) => WinnerRule::Score(f(column, Role::Score)?),
        })
    }

    /// The column that messages blame.
    pub(crate) fn first(&self) -> &C {
        match self {
            Self::Label(column) | Self::Score(column) => column,
            Self::OneHot([a, ..]) => a,
            Self::Named { chosen, .. } => chosen,
        }
    }

    /// All columns.
    pub(crate) fn columns(&self) -> Vec<&C> {
        match self {
            Self::Label(column) | Self::Score(column) => vec![column],
            Self::OneHot(columns) => columns.iter().collect(),
            Self::Named { chosen, equal } => std::iter::once(chosen).chain(equal).collect(),
        }
    }
}

/// The positions of the columns in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) model_a: usize,
    pub(crate) model_b: usize,
    pub(crate) winner: WinnerRule<usize>,
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
        let won = [Role::WonA, Role::WonB, Role::Tied].map(first);
        let winner = if let Some(label) = first(Role::Winner) {
            Some(WinnerRule::Label(label))
        } else if let [Some(a), Some(b), Some(tie)] = won {
            Some(WinnerRule::OneHot([a, b, tie]))
        } else if let Some(chosen) = first(Role::Chosen) {
            let equal = first(Role::Equal);
            Some(WinnerRule::Named { chosen, equal })
        } else {
            first(Role::Score).map(WinnerRule::Score)
        };
        let (Some((model_a, model_b)), Some(winner)) = (models, winner) else {
            layout::refuse_conversations(path, names.clone())?;
            return Err(missing(path, models.is_some(), winner.is_some(), names));
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
