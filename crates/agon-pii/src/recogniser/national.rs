//! Numbers that one country issues: for each its shapes, its check and its words, grouped by part of the world.
//!
//! Formulas and sources are listed in `docs/safety.md`.

mod africa;
mod america_north;
mod america_south;
mod asia_east;
mod asia_south;
mod asia_west;
mod europe_east;
mod europe_germany;
mod europe_north;
mod europe_south;
mod europe_west;
mod oceania;
mod united_kingdom;

use super::Rule;

/// The rules of all countries.
pub(super) const ALL: &[&[Rule]] = &[
    africa::RULES,
    america_north::RULES,
    america_south::RULES,
    asia_east::RULES,
    asia_south::RULES,
    asia_west::RULES,
    europe_east::RULES,
    europe_germany::RULES,
    europe_north::RULES,
    europe_south::RULES,
    europe_west::RULES,
    oceania::RULES,
    united_kingdom::RULES,
];
