//! The life of a battle: consent, prompt, further turns, retry, vote, reveal.

use std::net::IpAddr;

use agon_content::image::NormalisedImage;
use agon_domain::{
    Battle, BattleId, ConsentId, ImageId, Mode, NotRatable, Side, VisitId, Winner, draw_pair,
};
use agon_store::{CastVote, GenerationKey, NewBattle, NewConsent, RequestKey, StoredImage};
use axum::body::Bytes;
use sha2::{Digest as _, Sha256};

use crate::{
    app::{
        App, AppError, BattleView, HistoryEntry, Reveal,
        generation::GenerationPermits,
        images::image_meta,
        pseudonym,
        screening::gate::{RETRY_UNDECIDED_S, Sender, image_hashes},
        views,
    },
    http::visit::Visitor,
};

/// How many battles a visit's history shows.
const HISTORY_BATTLES_MAX: u32 = 200;

impl App {
    /// Records that a visit accepted the terms.
    ///
    /// # Errors
    ///
    /// [`AppError::ConsentOutdated`] when `policy_version` is not in force, [`AppError::RateLimited`], [`AppError::Store`].
    pub async fn give_consent(
        &self,
        visit: VisitId,
        address: IpAddr,
        policy_version: &str,
        locale: Option<String>,
    ) -> Result<(), AppError> {
        if policy_version != self.terms().version {
            return Err(AppError::ConsentOutdated {
                given: policy_version.chars().take(80).collect(),
                current: self.terms().version.clone(),
            });
        }
        self.inner.limits.take(None, address)?;
        let consent = NewConsent {
            id: self.with_rng(ConsentId::random),
            policy_version: self.terms().version.clone(),
            text_sha256: self.terms().text_sha256,
            // The pages have one language; what the browser asked for is kept as evidence, `und` when it did not say.
            locale: locale.unwrap_or_else(|| "und".to_owned()),
            given_at: self.inner.clock.now(),
        };
        self.store()
            .record_visit_and_consent(visit, &consent)
            .await
            .map_err(AppError::Store)
    }

    /// Whether a visit has accepted the terms in force.
    ///
    /// # Errors
    ///
    /// [`AppError::Store`].
    pub async fn consent(&self, visit: VisitId) -> Result<bool, AppError> {
        Ok(self.current_consent(visit).await?.is_some())
    }

    async fn current_consent(&self, visit: VisitId) -> Result<Option<ConsentId>, AppError> {
        let consent = self.store().consent(visit).await.map_err(AppError::Store)?;
        Ok(consent
            .filter(|consent| consent.text_sha256 == self.terms().text_sha256)
            .map(|consent| consent.id))
    }

    /// Draws a pair and asks both models.
    ///
    /// # Errors
    ///
    /// [`AppError::ConsentRequired`] without the terms in force; what is wrong with the prompt or the image; [`AppError::RateLimited`], [`AppError::Busy`], [`AppError::Draw`].
    pub async fn start_battle(
        &self,
        visitor: &Visitor,
        prompt: String,
        image: Option<Bytes>,
    ) -> Result<BattleId, AppError> {
        let visit = visitor.visit()?;
        let consent = self
            .current_consent(visit)
            .await?
            .ok_or(AppError::ConsentRequired)?;
        if prompt.trim().is_empty() && image.is_none() {
            return Err(AppError::PromptEmpty);
        }
        self.check_prompt(&prompt)?;
        self.check_not_stopping()?;
        self.inner.limits.take(Some(visit), visitor.address)?;
        let sender = Sender::new(visitor, visit);
        self.check_refusals(sender)?;
        let permits = self.reserve_generations(2)?;
        // The picture first: a known image is sealed before anything else is looked at.
        let image = match image {
            Some(upload) => {
                let image = self.inner.images.normalise(upload.clone()).await?;
                Some(self.admit_picture(sender, &prompt, upload, image).await?)
            }
            None => None,
        };
        let prompt = self.admit_text(sender, prompt).await?;
        let pair = self
            .with_rng(|rng| draw_pair(self.models(), image.is_some(), rng))
            .map_err(AppError::Draw)?;
        let image = match image {
            Some(image) => Some(self.keep_image(image).await?),
            None => None,
        };
        let started_at = self.inner.clock.now();
        let battle = NewBattle {
            id: self.with_rng(BattleId::random),
            visit,
            voter: pseudonym::voter_id(
                &self.inner.voter_key,
                &pseudonym::epoch(started_at),
                visitor.address,
            ),
            consent,
            mode: Mode::Battle,
            models: pair.models.map(|idx| self.models()[idx].name.clone()),
            pair_probability: pair.probability,
            started_at,
            prompt,
            image,
        };
        let id = battle.id;
        let app = self.clone();
        self.to_its_end(async move {
            app.store()
                .start_battle(&battle)
                .await
                .map_err(store_error)?;
            metrics::counter!("agon_battles_started_total").increment(1);
            tracing::info!(battle.id = %id, battle.has_image = battle.image.is_some(), "battle started");
            app.ask_last_turn(id, 0, &[(Side::A, 1), (Side::B, 1)], permits)
                .await
        })
        .await?;
        Ok(id)
    }

    /// Asks both models a further question.
    ///
    /// # Errors
    ///
    /// [`AppError::UnknownBattle`], [`AppError::AlreadyVoted`], [`AppError::StillAnswering`], [`AppError::AnswerInvalid`], [`AppError::TooManyTurns`]; what is wrong with the prompt; limits.
    pub async fn add_turn(
        &self,
        visitor: &Visitor,
        id: BattleId,
        prompt: String,
    ) -> Result<(), AppError> {
        let visit = visitor.visit()?;
        if prompt.trim().is_empty() {
            return Err(AppError::PromptEmpty);
        }
        self.check_prompt(&prompt)?;
        self.check_not_stopping()?;
        // Made-up visits and battles take no token: each would keep a bucket, and empty the address's for its neighbours.
        let battle = self.own_battle(visit, id).await?;
        self.check_not_ended(id).await?;
        self.inner.limits.take(Some(visit), visitor.address)?;
        let sender = Sender::new(visitor, visit);
        self.check_refusals(sender)?;
        let permits = self.reserve_generations(2)?;
        self.check_kept_picture(sender, &battle).await?;
        let prompt = self.admit_text(sender, prompt).await?;
        let n_turns_max = self.config().raw.limits.turns_max;
        let app = self.clone();
        self.to_its_end(async move {
            let at = app.inner.clock.now();
            match app
                .store()
                .add_turn(id, visit, &prompt, n_turns_max, at)
                .await
            {
                Ok(turn_idx) => {
                    app.ask_last_turn(id, turn_idx, &[(Side::A, 1), (Side::B, 1)], permits)
                        .await
                }
                Err(agon_store::Error::AlreadyVoted(_)) => Err(app.already_voted(visit, id).await),
                Err(error) => Err(store_error(error)),
            }
        })
        .await
    }

    /// Asks again on every side whose answer to the last turn failed; the other side's answer stays.
    ///
    /// # Errors
    ///
    /// [`AppError::UnknownBattle`], [`AppError::AlreadyVoted`], [`AppError::NothingToRetry`]; limits.
    pub async fn retry(&self, visitor: &Visitor, id: BattleId) -> Result<(), AppError> {
        let visit = visitor.visit()?;
        let battle = self.own_battle(visit, id).await?;
        if battle.vote.is_some() {
            return Err(self.already_voted(visit, id).await);
        }
        self.check_not_ended(id).await?;
        let failed: Vec<Side> = battle
            .turns
            .last()
            .into_iter()
            .flat_map(|turn| turn.generations.iter())
            .filter(|(_, generation)| generation.finish.is_some_and(|finish| !finish.is_valid()))
            .map(|(side, _)| side)
            .collect();
        if failed.is_empty() {
            return Err(AppError::NothingToRetry);
        }
        self.check_not_stopping()?;
        self.inner.limits.take(Some(visit), visitor.address)?;
        let permits = self.reserve_generations(failed.len())?;
        self.check_kept_picture(Sender::new(visitor, visit), &battle)
            .await?;
        let turn_idx = u32::try_from(battle.turns.len() - 1).unwrap_or(u32::MAX);
        let app = self.clone();
        self.to_its_end(async move {
            let mut attempts = Vec::with_capacity(failed.len());
            for side in failed {
                let at = app.inner.clock.now();
                match app.store().retry_generation(id, visit, side, at).await {
                    Ok(attempt) => attempts.push((side, attempt)),
                    // Another request was faster on this side; the other side may still be this one's.
                    Err(agon_store::Error::NothingToRetry { .. }) => {}
                    Err(error) => return Err(store_error(error)),
                }
            }
            if attempts.is_empty() {
                return Err(AppError::NothingToRetry);
            }
            app.ask_last_turn(id, turn_idx, &attempts, permits).await
        })
        .await
    }

    /// Casts the vote and reveals the models. Returns only after the vote is on disk.
    ///
    /// With an idempotency key, repeating the same request gets the same answer instead of a refusal.
    ///
    /// # Errors
    ///
    /// [`AppError::AlreadyVoted`] with the first result, [`AppError::UnknownBattle`], [`AppError::StillAnswering`], [`AppError::AnswerInvalid`], [`AppError::IdempotencyKeyReused`], [`AppError::Store`].
    pub async fn cast_vote(
        &self,
        visit: VisitId,
        id: BattleId,
        winner: Winner,
        idempotency_key: Option<&str>,
    ) -> Result<Reveal, AppError> {
        self.check_not_ended(id).await?;
        let is_repeated = match idempotency_key {
            Some(key) => self.announce_vote(visit, id, winner, key).await?,
            None => false,
        };
        let outcome = self
            .store()
            .cast_vote(id, visit, winner, self.inner.clock.now())
            .await
            .map_err(store_error)?;
        let reveal = views::revealed(outcome.vote(), outcome.models(), self.models());
        match outcome {
            CastVote::Recorded { vote, .. } => {
                metrics::counter!("agon_votes_total", "winner" => winner.as_str()).increment(1);
                tracing::info!(battle.id = %id, vote.sequence = vote.sequence, "vote recorded");
                self.inner.voted.notify_one();
                Ok(reveal)
            }
            CastVote::AlreadyVoted { .. } if is_repeated && reveal.winner == winner => Ok(reveal),
            CastVote::AlreadyVoted { .. } => Err(AppError::AlreadyVoted(Box::new(reveal))),
        }
    }

    /// Notes that a vote with this key is about to be cast; says whether the same request was seen before.
    ///
    /// The note is made before the vote and only while there is none, so a repeated key with a vote present means that the vote is this request's.
    async fn announce_vote(
        &self,
        visit: VisitId,
        id: BattleId,
        winner: Winner,
        key: &str,
    ) -> Result<bool, AppError> {
        let operation = format!("vote {id}");
        let request_key = RequestKey {
            visit,
            operation: &operation,
            key,
        };
        let request_sha256: [u8; 32] = Sha256::digest(winner.as_str().as_bytes()).into();
        if let Some(remembered) = self
            .store()
            .remembered_response(request_key)
            .await
            .map_err(store_error)?
        {
            return if remembered.request_sha256 == request_sha256 {
                Ok(true)
            } else {
                Err(AppError::IdempotencyKeyReused)
            };
        }
        let battle = self.own_battle(visit, id).await?;
        // A vote that cannot be cast yet leaves no note: each would stay in the store for good.
        battle.check_ratable().map_err(AppError::from)?;
        if battle.vote.is_none() {
            let note = agon_store::RememberedResponse {
                request_sha256,
                response: winner.as_str().to_owned(),
            };
            self.store()
                .remember_response(request_key, &note, self.inner.clock.now())
                .await
                .map_err(store_error)?;
        }
        Ok(false)
    }

    /// A battle as its voter sees it, with the answers as far as they came.
    ///
    /// # Errors
    ///
    /// [`AppError::UnknownBattle`] also for another visit's battle.
    pub async fn battle_view(&self, visit: VisitId, id: BattleId) -> Result<BattleView, AppError> {
        // Taken before the store is read: an answer that ends in between is then in the store, not lost between the two.
        let live = self.live().answers(id);
        let battle = self.own_battle(visit, id).await?;
        self.check_not_ended(id).await?;
        let notices = self.notices(&battle).await?;
        let mut view = BattleView::new(
            battle,
            &live,
            self.models(),
            self.config().raw.limits.turns_max,
        );
        for (turn, notices) in view.turns.iter_mut().zip(notices) {
            turn.notices = notices;
        }
        Ok(view)
    }

    /// The picture of a battle.
    ///
    /// # Errors
    ///
    /// [`AppError::UnknownBattle`] also for another visit's battle.
    pub async fn battle_image(
        &self,
        visit: VisitId,
        id: BattleId,
    ) -> Result<Option<StoredImage>, AppError> {
        let battle = self.own_battle(visit, id).await?;
        self.check_not_ended(id).await?;
        match battle.turns.iter().find_map(|turn| turn.image) {
            Some(image) => self.store().image(image).await.map_err(AppError::Store),
            None => Ok(None),
        }
    }

    /// The newest battle of a visit that has no vote yet.
    ///
    /// # Errors
    ///
    /// [`AppError::Store`].
    pub async fn open_battle(&self, visit: VisitId) -> Result<Option<BattleId>, AppError> {
        let open = self
            .store()
            .open_battle(visit)
            .await
            .map_err(AppError::Store)?;
        match open {
            Some(id) if self.store().is_ended(id).await.map_err(AppError::Store)? => Ok(None),
            open => Ok(open),
        }
    }

    /// A visit's battles, newest first.
    ///
    /// # Errors
    ///
    /// [`AppError::Store`].
    pub async fn history(&self, visit: VisitId) -> Result<Vec<HistoryEntry>, AppError> {
        let summaries = self
            .store()
            .battles_of_visit(visit, HISTORY_BATTLES_MAX)
            .await
            .map_err(AppError::Store)?;
        let mut entries = Vec::with_capacity(summaries.len());
        for summary in summaries {
            let battle = if summary.voted {
                self.store()
                    .battle(summary.id)
                    .await
                    .map_err(AppError::Store)?
            } else {
                None
            };
            let vote = battle.as_ref().and_then(|battle| battle.vote);
            entries.push(HistoryEntry {
                id: summary.id,
                started_at: summary.started_at,
                prompt: summary.first_prompt,
                vote: vote.map(|vote| vote.winner),
                models: battle
                    .filter(|_| vote.is_some())
                    .map(|battle| battle.models),
            });
        }
        Ok(entries)
    }

    async fn own_battle(&self, visit: VisitId, id: BattleId) -> Result<Battle, AppError> {
        self.store()
            .battle(id)
            .await
            .map_err(AppError::Store)?
            .filter(|battle| battle.visit == visit)
            .ok_or(AppError::UnknownBattle)
    }

    /// The refusal of whatever comes after the vote, with the vote's result.
    async fn already_voted(&self, visit: VisitId, id: BattleId) -> AppError {
        match self.own_battle(visit, id).await {
            Ok(battle) => match views::reveal(&battle, self.models()) {
                Some(reveal) => AppError::AlreadyVoted(Box::new(reveal)),
                None => AppError::UnknownBattle,
            },
            Err(error) => error,
        }
    }

    fn check_prompt(&self, prompt: &str) -> Result<(), AppError> {
        let n_chars_max = self.config().raw.limits.prompt_chars_max;
        let n_chars = prompt.chars().count();
        if n_chars > n_chars_max {
            return Err(AppError::PromptTooLong {
                n_chars,
                n_chars_max,
            });
        }
        // PostgreSQL cannot keep a NUL in a text, and no keyboard types one.
        if prompt.contains('\0') {
            return Err(AppError::PromptUnprintable);
        }
        Ok(())
    }

    async fn check_not_ended(&self, id: BattleId) -> Result<(), AppError> {
        if self.store().is_ended(id).await.map_err(AppError::Store)? {
            Err(AppError::ConversationEnded)
        } else {
            Ok(())
        }
    }

    fn check_not_stopping(&self) -> Result<(), AppError> {
        if self.inner.stopping.is_cancelled() {
            Err(AppError::Stopping)
        } else {
            Ok(())
        }
    }

    async fn keep_image(&self, image: NormalisedImage) -> Result<ImageId, AppError> {
        let meta = image_meta(&image, image.legacy_md5, self.inner.clock.now());
        let hashes = image_hashes(&image);
        let id = self
            .store()
            .put_image(image.bytes, &meta)
            .await
            .map_err(AppError::Store)?;
        self.store()
            .keep_image_hashes(id, &hashes)
            .await
            .map_err(AppError::Store)?;
        Ok(id)
    }

    /// Runs `work` to its end even when whoever asked for it has gone: a battle that is stored is also answered.
    pub(super) async fn to_its_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, AppError>> + Send + 'static,
    ) -> Result<T, AppError> {
        let result = self.inner.tasks.spawn(work).await;
        result.map_err(|source| AppError::Internal {
            what: "asking two models",
            source: source.into(),
        })?
    }

    /// Starts these attempts at the last turn, which the store has as running; one that cannot be started ends as failed.
    async fn ask_last_turn(
        &self,
        id: BattleId,
        turn_idx: u32,
        attempts: &[(Side, u32)],
        mut permits: GenerationPermits,
    ) -> Result<(), AppError> {
        match self.battle_with_image(id).await {
            Ok((battle, image)) => {
                for &(side, _) in attempts {
                    self.start_generation(&battle, side, image.as_ref(), permits.take_one());
                }
                Ok(())
            }
            Err(error) => {
                for &(side, attempt) in attempts {
                    let key = GenerationKey {
                        battle: id,
                        turn_idx,
                        side,
                        attempt,
                    };
                    // Not waited for: a store that fails may go on failing for long.
                    let app = self.clone();
                    self.inner
                        .tasks
                        .spawn(async move { app.fail_generation(key).await });
                }
                Err(error)
            }
        }
    }

    async fn battle_with_image(
        &self,
        id: BattleId,
    ) -> Result<(Battle, Option<StoredImage>), AppError> {
        let battle = self
            .store()
            .battle(id)
            .await
            .map_err(AppError::Store)?
            .ok_or(AppError::UnknownBattle)?;
        let image = match battle.turns.iter().find_map(|turn| turn.image) {
            // The last word before a picture goes out: without a complete "allow" under the rules in force it does not.
            Some(image) if !self.is_allowed(image).await? => {
                return Err(AppError::NotScreened {
                    is_picture: true,
                    retry_after_s: RETRY_UNDECIDED_S,
                });
            }
            Some(image) => self.store().image(image).await.map_err(AppError::Store)?,
            None => None,
        };
        Ok((battle, image))
    }
}

/// A store's refusal as the application's.
fn store_error(error: agon_store::Error) -> AppError {
    match error {
        agon_store::Error::UnknownBattle => AppError::UnknownBattle,
        agon_store::Error::NoConsent => AppError::ConsentRequired,
        agon_store::Error::NotRatable(reason) => AppError::from(reason),
        agon_store::Error::TooManyTurns { n_turns_max } => AppError::TooManyTurns { n_turns_max },
        agon_store::Error::EmptyPrompt => AppError::PromptEmpty,
        agon_store::Error::NothingToRetry { .. } => AppError::NothingToRetry,
        other => AppError::Store(other),
    }
}

impl From<NotRatable> for AppError {
    fn from(reason: NotRatable) -> Self {
        match reason {
            // A battle is stored with its first turn; one without is none.
            NotRatable::NoTurn => Self::UnknownBattle,
            NotRatable::Running { side } => Self::StillAnswering { side },
            NotRatable::Invalid { side, finish } => Self::AnswerInvalid { side, finish },
        }
    }
}
