//! Battles as they may be published: screened, without what the rules take out, or left out with a reason.

use agon_content::image::{MediaType, decode_normalised};
use agon_domain::{
    Action, Battle, Clock as _, Decision, Finding, ImageId, Policy, Purpose, Screening,
    SystemClock, Verdict,
};
use agon_store::{ContentKey, ImageFormat, Store, StoredImage};
use anyhow::anyhow;
use sha2::{Digest as _, Sha256};

use crate::{
    app::screening::{
        Coverage, Screener, Standing,
        gate::{count, picture_of_stored},
        redact, text_sha256,
    },
    exit_code::CommandError,
};

/// How often content is changed and looked at again before its battle is left out.
const PASSES_MAX: usize = 3;

/// Why a battle is left out, as the manifest counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// Something in it may not be published.
    Blocked,
    /// Something in it was not looked at for what has to be looked for.
    Undecided,
}

impl LeftOut {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "screening_blocked",
            Self::Undecided => "screening_undecided",
        }
    }
}

/// What was changed in all battles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) n_texts: u64,
    pub(super) n_pictures: u64,
}

/// Screens battles for a release.
#[derive(Debug)]
pub(super) struct ReleaseScreening {
    screener: Screener,
    policy: Policy,
    store: Store,
    /// Whether decisions are under the rules of the configuration alone, so that they may be kept.
    are_kept: bool,
    pub(super) changed: Changed,
}

/// A battle that may be published.
#[derive(Debug)]
pub(super) struct Admitted {
    /// The battle, with what was taken out.
    pub(super) battle: Battle,
    /// Its picture, with what was made unrecognisable.
    pub(super) image: Option<(Vec<u8>, ImageFormat)>,
    /// Whether it differs from what is kept.
    pub(super) was_changed: bool,
}

impl ReleaseScreening {
    /// `allows_unscreened` lets content go on for whose kinds nobody answered; what is blocked stays blocked.
    pub(super) fn new(screener: Screener, store: Store, allows_unscreened: bool) -> Self {
        let policy = screener.policy(Purpose::Release).clone();
        Self {
            policy: if allows_unscreened {
                policy.allowing_unanswered(true)
            } else {
                policy
            },
            screener,
            store,
            are_kept: !allows_unscreened,
            changed: Changed::default(),
        }
    }

    /// Who looks for what.
    pub(super) fn coverage(&self) -> &Coverage {
        self.screener.coverage()
    }

    /// The detectors that look at content for releases, as the card lists them; none when something that has to be looked for is not and goes on all the same.
    pub(super) fn detectors(&self) -> Vec<String> {
        let coverage = self.coverage();
        let is_missing = coverage
            .with(Purpose::Release, Standing::Missing)
            .next()
            .is_some();
        if is_missing && self.policy.allows_unanswered() {
            return Vec::new();
        }
        let mut names: Vec<String> = coverage
            .kinds
            .iter()
            .filter(|kind| kind.release == Standing::Covered)
            .flat_map(|kind| kind.by.iter().map(ToString::to_string))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The battle as it may be published, with its picture where that could be read.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub(super) async fn admit(
        &mut self,
        battle: &Battle,
    ) -> Result<Result<Admitted, LeftOut>, CommandError> {
        let n_turns = battle
            .vote
            .map_or(battle.turns.len(), |vote| vote.n_turns as usize);
        let mut admitted = Admitted {
            battle: battle.clone(),
            image: None,
            was_changed: false,
        };
        let mut n_texts = 0;
        let mut n_pictures = 0;
        for turn in admitted.battle.turns.iter_mut().take(n_turns) {
            if let Some(id) = turn.image {
                if self.store.is_ended(battle.id).await? {
                    return Ok(Err(LeftOut::Blocked));
                }
                let stored = match self.store.image(id).await {
                    Ok(Some(stored)) => stored,
                    // The record is then left out as one whose picture is missing.
                    Ok(None) | Err(agon_store::Error::DamagedImage(_)) => continue,
                    Err(error) => return Err(error.into()),
                };
                match self.picture(stored).await? {
                    Ok((bytes, format, was_changed)) => {
                        if was_changed {
                            turn.image = Some(ImageId::from_bytes(Sha256::digest(&bytes).into()));
                            n_pictures += 1;
                        }
                        admitted.image = Some((bytes, format));
                    }
                    Err(reason) => return Ok(Err(reason)),
                }
            }
            let [a, b] = [&mut turn.generations.a.text, &mut turn.generations.b.text];
            for text in [&mut turn.prompt, a, b] {
                match self.text(text).await? {
                    Ok(None) => {}
                    Ok(Some(changed)) => {
                        *text = changed;
                        n_texts += 1;
                    }
                    Err(reason) => return Ok(Err(reason)),
                }
            }
        }
        self.changed.n_texts += n_texts;
        self.changed.n_pictures += n_pictures;
        admitted.was_changed = n_texts + n_pictures > 0;
        Ok(Ok(admitted))
    }

    /// A text as it may be published: `None` as it is, or changed.
    async fn text(&self, text: &str) -> Result<Result<Option<String>, LeftOut>, CommandError> {
        if text.trim().is_empty() {
            return Ok(Ok(None));
        }
        let key = ContentKey::text(text_sha256(text), None);
        if self.was_allowed(key).await? {
            return Ok(Ok(None));
        }
        let mut current = text.to_owned();
        for pass in 0..PASSES_MAX {
            let screening = self
                .screener
                .screen_text_for(&current, None, &[Purpose::Release])
                .await;
            let decision = self.decide(&screening, false);
            if let Some(reason) = stops(&decision) {
                return Ok(Err(reason));
            }
            if decision.action != Action::Blur {
                if pass == 0 {
                    self.keep(key, &decision).await?;
                }
                return Ok(Ok((pass > 0).then_some(current)));
            }
            current = redact::text(&current, &screening, &self.policy);
        }
        Ok(Err(LeftOut::Undecided))
    }

    /// A picture as it may be published, and whether it was changed.
    async fn picture(
        &self,
        stored: StoredImage,
    ) -> Result<Result<(Vec<u8>, ImageFormat, bool), LeftOut>, CommandError> {
        let key = ContentKey::picture(*stored.id.as_bytes());
        if self.was_allowed(key).await? {
            return Ok(Ok((stored.bytes, stored.meta.format, false)));
        }
        let hashes = self.store.image_hashes(stored.id).await?;
        let mut current = stored;
        for pass in 0..PASSES_MAX {
            let picture = picture_of_stored(current.clone(), hashes)
                .await
                .map_err(|error| anyhow!(error))?;
            let screening = self
                .screener
                .screen_picture_for(&picture, &[Purpose::Release])
                .await;
            let decision = self.decide(&screening, true);
            if let Some(reason) = stops(&decision) {
                return Ok(Err(reason));
            }
            if decision.action != Action::Blur {
                if pass == 0 {
                    self.keep(key, &decision).await?;
                }
                return Ok(Ok((current.bytes, current.meta.format, pass > 0)));
            }
            let findings: Vec<Finding> = redact::taken_out(&screening, &self.policy)
                .cloned()
                .collect();
            let changed = decode_normalised(&current.bytes)
                .ok()
                .and_then(|pixels| redact::picture(&pixels, &findings));
            let Some(bytes) = changed else {
                return Ok(Err(LeftOut::Undecided));
            };
            current.id = ImageId::from_bytes(Sha256::digest(&bytes).into());
            current.meta.format = match MediaType::of_normalised(&bytes) {
                Some(MediaType::Jpeg) => ImageFormat::Jpeg,
                Some(MediaType::Png) | None => ImageFormat::Png,
            };
            current.bytes = bytes;
        }
        Ok(Err(LeftOut::Undecided))
    }

    /// Whether exactly this content was let go on as it is, under the rules and detectors in force.
    async fn was_allowed(&self, key: ContentKey<'_>) -> Result<bool, CommandError> {
        let kept = self.store.disposition(key, Purpose::Release).await?;
        Ok(kept.is_some_and(|kept| {
            kept.rules == self.screener.rules(Purpose::Release)
                && kept.verdict == Verdict::Allow
                && kept.action < Action::Blur
        }))
    }

    async fn keep(&self, key: ContentKey<'_>, decision: &Decision) -> Result<(), CommandError> {
        if !self.are_kept {
            return Ok(());
        }
        let mut disposition = self.screener.disposition(Purpose::Release, decision);
        disposition.decided_at = SystemClock.now();
        self.store.save_dispositions(&[(key, disposition)]).await?;
        Ok(())
    }

    fn decide(&self, screening: &Screening, is_picture: bool) -> Decision {
        let decision = self.policy.decide(screening, is_picture);
        count(&decision, is_picture, Purpose::Release);
        decision
    }
}

/// Why a decision stops a battle, if it does.
fn stops(decision: &Decision) -> Option<LeftOut> {
    match decision.verdict {
        Verdict::Allow => None,
        Verdict::Undecided => Some(LeftOut::Undecided),
        Verdict::Block => Some(LeftOut::Blocked),
    }
}
