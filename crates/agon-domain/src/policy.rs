//! What follows from findings: nothing, a warning, a blur, a block, quarantine.
//!
//! "Undecided" is an answer of its own: a kind that somebody asked to be acted on and that no detector answered for is never taken for clean.

use std::{collections::BTreeMap, fmt, str::FromStr};

use crate::finding::{FindingKind, Screening};

/// What is done when something of a kind is found, from the mildest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// It is not screened for.
    Off,
    /// The finding is kept and counted, nobody is told.
    Log,
    /// The voter is told, and may go on.
    Warn,
    /// Shown and released with the places blurred (pictures) or taken out (text).
    Blur,
    /// Refused: it reaches no model and no release.
    Block,
    /// Refused, sealed, and reported on by a person.
    Quarantine,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Off,
        Self::Log,
        Self::Warn,
        Self::Blur,
        Self::Block,
        Self::Quarantine,
    ];

    /// The spelling in configuration, API and files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Log => "log",
            Self::Warn => "warn",
            Self::Blur => "blur",
            Self::Block => "block",
            Self::Quarantine => "quarantine",
        }
    }

    /// Whether a detector that gives no answer leaves the content undecided.
    pub const fn needs_an_answer(self) -> bool {
        matches!(self, Self::Blur | Self::Block | Self::Quarantine)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A text that is no [`Action`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{value}` is not an action: expected `off`, `log`, `warn`, `blur`, `block` or `quarantine`"
)]
pub struct UnknownAction {
    /// The text as given, cut to 80 characters.
    pub value: String,
}

impl FromStr for Action {
    type Err = UnknownAction;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|action| action.as_str() == text)
            .ok_or_else(|| UnknownAction {
                value: text.chars().take(80).collect(),
            })
    }
}

/// What the content is wanted for. Chatting and publishing have policies of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// Sending it to models and showing it to its voter.
    Chat,
    /// Publishing it.
    Release,
}

impl Purpose {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Chat, Self::Release];

    /// The spelling in configuration, API and files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Release => "release",
        }
    }
}

/// What screening says of content for one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// It may go on, with what the action asks for.
    Allow,
    /// Not known: something that has to be screened for was not.
    Undecided,
    /// It may not go on.
    Block,
}

impl Verdict {
    /// The spelling in API, database and files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Undecided => "undecided",
            Self::Block => "block",
        }
    }
}

/// A verdict and what led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it may go on.
    pub verdict: Verdict,
    /// The strongest action among the findings; [`Action::Off`] without any.
    pub action: Action,
    /// The kinds found, each with its action, from the strongest.
    pub found: Vec<(FindingKind, Action)>,
    /// The kinds that need an answer and have none.
    pub unanswered: Vec<FindingKind>,
}

/// Which action follows from which finding, for one purpose.
///
/// A rule for a category (`pii_text`, `EMAIL_ADDRESS`) goes before the rule for its kind; a kind without a rule is off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    kinds: BTreeMap<FindingKind, Action>,
    categories: BTreeMap<(FindingKind, String), Action>,
    allows_unanswered: bool,
}

impl Policy {
    /// Sets the action for a kind.
    #[must_use]
    pub fn with(mut self, kind: FindingKind, action: Action) -> Self {
        self.kinds.insert(kind, action);
        self
    }

    /// Sets the action for one category of a kind.
    #[must_use]
    pub fn with_category(mut self, kind: FindingKind, category: &str, action: Action) -> Self {
        self.categories.insert((kind, category.to_owned()), action);
        self
    }

    /// Lets content go on for whose kinds no detector answered. Only an operator's explicit word may set this.
    #[must_use]
    pub fn allowing_unanswered(mut self, allows: bool) -> Self {
        self.allows_unanswered = allows;
        self
    }

    /// Whether content without an answer may go on.
    pub const fn allows_unanswered(&self) -> bool {
        self.allows_unanswered
    }

    /// The action for a finding of this kind and category.
    pub fn action(&self, kind: FindingKind, category: &str) -> Action {
        self.categories
            .get(&(kind, category.to_owned()))
            .or_else(|| self.kinds.get(&kind))
            .copied()
            .unwrap_or(Action::Off)
    }

    /// The strongest action that a finding of this kind can have.
    pub fn strongest(&self, kind: FindingKind) -> Action {
        self.categories
            .iter()
            .filter(|((of, _), _)| *of == kind)
            .map(|(_, action)| *action)
            .chain(self.kinds.get(&kind).copied())
            .max()
            .unwrap_or(Action::Off)
    }

    /// The kinds that must be answered for, among those about pictures or those about text.
    pub fn required(&self, about_pictures: bool) -> Vec<FindingKind> {
        FindingKind::ALL
            .into_iter()
            .filter(|kind| kind.is_about_pictures() == about_pictures)
            .filter(|kind| self.strongest(*kind).needs_an_answer())
            .collect()
    }

    /// Decides on one text or picture.
    ///
    /// A finding that blocks does so whatever else is unanswered; otherwise a required kind without an answer leaves it undecided, unless the operator allows that.
    pub fn decide(&self, screening: &Screening, about_pictures: bool) -> Decision {
        let mut found: BTreeMap<FindingKind, Action> = BTreeMap::new();
        for finding in screening.findings.iter().filter(|finding| finding.counts()) {
            let action = self.action(finding.kind, &finding.category);
            if action > Action::Off {
                let strongest = found.entry(finding.kind).or_insert(action);
                *strongest = action.max(*strongest);
            }
        }
        let unanswered: Vec<FindingKind> = self
            .required(about_pictures)
            .into_iter()
            .filter(|kind| !screening.covers(*kind))
            .collect();
        let mut found: Vec<(FindingKind, Action)> = found.into_iter().collect();
        found.sort_by_key(|(kind, action)| (std::cmp::Reverse(*action), *kind));
        let action = found.first().map_or(Action::Off, |(_, action)| *action);
        let verdict = if action >= Action::Block {
            Verdict::Block
        } else if unanswered.is_empty() || self.allows_unanswered {
            Verdict::Allow
        } else {
            Verdict::Undecided
        };
        Decision {
            verdict,
            action,
            found,
            unanswered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{DetectorIdentity, Finding, FindingPlace};

    fn screening(covered: &[FindingKind], found: &[(FindingKind, &str, f64)]) -> Screening {
        let detector = DetectorIdentity::new("test", "1");
        Screening {
            answered: vec![(detector.clone(), covered.to_vec())],
            findings: found
                .iter()
                .map(|(kind, category, score)| Finding {
                    detector: detector.clone(),
                    kind: *kind,
                    category: (*category).to_owned(),
                    score: *score,
                    threshold: 0.5,
                    place: FindingPlace::Whole,
                })
                .collect(),
            failures: Vec::new(),
        }
    }

    #[test]
    fn silence_is_not_an_answer() {
        let policy = Policy::default().with(FindingKind::NsfwImage, Action::Block);
        let nothing = policy.decide(&Screening::default(), true);
        assert_eq!(nothing.verdict, Verdict::Undecided);
        assert_eq!(nothing.unanswered, [FindingKind::NsfwImage]);
        let clean = policy.decide(&screening(&[FindingKind::NsfwImage], &[]), true);
        assert_eq!(clean.verdict, Verdict::Allow);
        let allowed = policy.allowing_unanswered(true);
        assert_eq!(
            allowed.decide(&Screening::default(), true).verdict,
            Verdict::Allow
        );
    }

    #[test]
    fn a_block_stands_even_when_another_detector_is_silent() {
        let policy = Policy::default()
            .with(FindingKind::NsfwImage, Action::Block)
            .with(FindingKind::KnownImage, Action::Quarantine);
        let decision = policy.decide(
            &screening(
                &[FindingKind::NsfwImage],
                &[(FindingKind::NsfwImage, "nsfw", 0.9)],
            ),
            true,
        );
        assert_eq!(decision.verdict, Verdict::Block);
        assert_eq!(decision.action, Action::Block);
        assert_eq!(decision.unanswered, [FindingKind::KnownImage]);
    }

    #[test]
    fn a_score_below_its_threshold_decides_nothing() {
        let policy = Policy::default().with(FindingKind::NsfwImage, Action::Block);
        let decision = policy.decide(
            &screening(
                &[FindingKind::NsfwImage],
                &[(FindingKind::NsfwImage, "nsfw", 0.4)],
            ),
            true,
        );
        assert_eq!(decision.verdict, Verdict::Allow);
        assert!(decision.found.is_empty());
    }

    #[test]
    fn a_category_goes_before_its_kind() {
        let policy = Policy::default()
            .with(FindingKind::PiiText, Action::Warn)
            .with_category(FindingKind::PiiText, "PRIVATE_KEY", Action::Block);
        assert_eq!(
            policy.action(FindingKind::PiiText, "EMAIL_ADDRESS"),
            Action::Warn
        );
        assert_eq!(policy.strongest(FindingKind::PiiText), Action::Block);
        let decision = policy.decide(
            &screening(
                &[FindingKind::PiiText],
                &[
                    (FindingKind::PiiText, "EMAIL_ADDRESS", 0.9),
                    (FindingKind::PiiText, "PRIVATE_KEY", 0.9),
                ],
            ),
            false,
        );
        assert_eq!(decision.verdict, Verdict::Block);
    }

    #[test]
    fn pictures_do_not_wait_for_detectors_of_text() {
        let policy = Policy::default().with(FindingKind::HarmfulText, Action::Block);
        assert_eq!(
            policy.decide(&Screening::default(), true).verdict,
            Verdict::Allow
        );
        assert_eq!(
            policy.decide(&Screening::default(), false).verdict,
            Verdict::Undecided
        );
    }
}
