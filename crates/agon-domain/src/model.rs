//! A vision-language model on the arena.

/// A model as voters may come to know it after the vote.
///
/// How it is reached (vendor protocol, address, key) is the provider's business, not the domain's.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its name, unique on the arena, shown after the vote and published.
    pub name: String,
    /// Who made it, for the leaderboard.
    pub organization: Option<String>,
    /// The licence of its weights or of its service, for the leaderboard.
    pub license: Option<String>,
    /// Whether it can be shown images.
    pub vision: bool,
    /// How often it is drawn, relative to the others; 0 takes it out of battles.
    pub weight: f64,
    /// Whether its answers are scripted rather than generated, which every page says.
    pub scripted: bool,
}
