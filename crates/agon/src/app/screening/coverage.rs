//! Who looks for what, and what nobody looks for.

use agon_domain::{Action, DetectorIdentity, FindingKind, Policy, Purpose};

use crate::{app::screening::Detectors, config::ScreeningSettings};

/// How a kind stands for one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Somebody looks for it, and something follows.
    Covered,
    /// It is switched off, by the operator or by default.
    SwitchedOff,
    /// Nobody looks for it, and nobody asked for it to be acted on: it goes unseen.
    NotInstalled,
    /// Nobody looks for it and it has to be answered for: content stays undecided.
    Missing,
}

impl Standing {
    /// The spelling in `/readyz`, pages and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Covered => "covered",
            Self::SwitchedOff => "switched_off",
            Self::NotInstalled => "not_installed",
            Self::Missing => "missing",
        }
    }
}

/// One kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindCoverage {
    /// Which.
    pub kind: FindingKind,
    /// Who looks for it.
    pub by: Vec<DetectorIdentity>,
    /// The strongest action in chats.
    pub chat_action: Action,
    /// How it stands in chats.
    pub chat: Standing,
    /// The strongest action for releases.
    pub release_action: Action,
    /// How it stands for releases.
    pub release: Standing,
}

impl KindCoverage {
    /// How it stands for a purpose.
    pub const fn standing(&self, purpose: Purpose) -> Standing {
        match purpose {
            Purpose::Chat => self.chat,
            Purpose::Release => self.release,
        }
    }

    /// The strongest action for a purpose.
    pub const fn action(&self, purpose: Purpose) -> Action {
        match purpose {
            Purpose::Chat => self.chat_action,
            Purpose::Release => self.release_action,
        }
    }
}

/// All kinds, in the order of [`FindingKind::ALL`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// One entry for each kind.
    pub kinds: Vec<KindCoverage>,
}

impl Coverage {
    pub(super) fn new(
        settings: &ScreeningSettings,
        detectors: &Detectors,
        chat: &Policy,
        release: &Policy,
    ) -> Self {
        let standing = |policy: &Policy, purpose, kind, is_looked_for: bool| {
            let action = policy.strongest(kind);
            if is_looked_for && action > Action::Off {
                Standing::Covered
            } else if action.needs_an_answer() {
                Standing::Missing
            } else if action == Action::Off
                && (is_looked_for || settings.purpose(purpose).names(kind))
            {
                Standing::SwitchedOff
            } else {
                Standing::NotInstalled
            }
        };
        let kinds = FindingKind::ALL
            .into_iter()
            .map(|kind| {
                let by = detectors.that_look_for(kind);
                let is_looked_for = !by.is_empty();
                KindCoverage {
                    kind,
                    by,
                    chat_action: chat.strongest(kind),
                    chat: standing(chat, Purpose::Chat, kind, is_looked_for),
                    release_action: release.strongest(kind),
                    release: standing(release, Purpose::Release, kind, is_looked_for),
                }
            })
            .collect();
        Self { kinds }
    }

    /// How a kind stands for a purpose.
    pub fn standing(&self, kind: FindingKind, purpose: Purpose) -> Standing {
        self.kinds
            .iter()
            .find(|coverage| coverage.kind == kind)
            .map_or(Standing::NotInstalled, |coverage| {
                coverage.standing(purpose)
            })
    }

    /// Kinds with this standing for a purpose.
    pub fn with(
        &self,
        purpose: Purpose,
        standing: Standing,
    ) -> impl Iterator<Item = FindingKind> + '_ {
        self.kinds
            .iter()
            .filter(move |kind| kind.standing(purpose) == standing)
            .map(|kind| kind.kind)
    }

    /// Kinds that go unseen in a purpose: nobody looks for them, or the operator switched them off.
    pub fn unseen(&self, purpose: Purpose) -> impl Iterator<Item = FindingKind> + '_ {
        self.kinds
            .iter()
            .filter(move |kind| kind.standing(purpose) != Standing::Covered)
            .map(|kind| kind.kind)
    }
}
