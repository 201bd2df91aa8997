//! What the arena does with what screening says: content goes on, goes on changed, is refused, or is sealed.
//!
//! This is the only way to a model: `App::admit_picture` and `App::admit_text` before anything is kept, and `App::check_kept_picture` whenever a kept picture is about to be sent again.

use std::net::IpAddr;

use agon_content::{
    image::{NormalisedImage, decode_normalised, normalise},
    known_image::Fingerprints,
};
use agon_domain::{
    Action, Battle, BattleId, CaseId, Decision, DetectorFailureKind, Finding, FindingKind, ImageId,
    Purpose, Screening, Verdict, VisitId,
};
use agon_store::{ContentKey, Disposition, ImageHashes, NewCase, StoredImage};
use axum::body::Bytes;
use jiff::ToSpan as _;

use crate::{
    app::{
        App, AppError,
        quarantine::{Evidence, EvidenceMatch, Found},
        screening::{OriginalHashes, PictureContent, redact, text_sha256},
    },
    config::screening::AnswerScreening,
    http::visit::Visitor,
};

/// How often content is changed and looked at again before it is refused.
const PASSES_MAX: usize = 3;
/// When content that could not be looked at is welcome again, in seconds.
pub(in crate::app) const RETRY_UNDECIDED_S: u64 = 30;

/// Why content is refused, as far as whoever sent it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalClass {
    /// What the picture shows.
    Picture,
    /// Faces, personal data or codes in the picture.
    PersonalPicture,
    /// Personal data or secrets in the text.
    PersonalText,
    /// What the text says.
    Text,
}

impl RefusalClass {
    /// The class of the strongest kind found.
    fn of(kind: FindingKind) -> Self {
        match kind {
            FindingKind::KnownImage | FindingKind::NsfwImage | FindingKind::ViolentImage => {
                Self::Picture
            }
            FindingKind::Face | FindingKind::PiiImage => Self::PersonalPicture,
            FindingKind::PiiText => Self::PersonalText,
            FindingKind::HarmfulText | FindingKind::Probe => Self::Text,
        }
    }

    /// The code in the API.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Picture => "picture_refused",
            Self::PersonalPicture | Self::PersonalText => "personal_data",
            Self::Text => "text_refused",
        }
    }

    /// What is said, the same for every refusal of the class.
    pub const fn message(self) -> &'static str {
        match self {
            Self::Picture => "this picture cannot be used here",
            Self::PersonalPicture => "the picture seems to show a face, personal data or a code",
            Self::PersonalText => "the text seems to hold personal data or a secret",
            Self::Text => "this text cannot be used here",
        }
    }

    /// What to do about it.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Picture => "Choose another picture. Nothing was sent or kept.",
            Self::PersonalPicture => {
                "Choose another picture, or cover what is private. Nothing was sent or kept."
            }
            Self::PersonalText => "Take it out and send the text again. Nothing was sent or kept.",
            Self::Text => "Write something else. Nothing was sent or kept.",
        }
    }
}

/// What a voter is told of content that went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// Something was found, and it goes on all the same.
    Warned(RefusalClass),
    /// Something was taken out of it.
    Changed(RefusalClass),
}

impl Notice {
    /// A sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Warned(RefusalClass::Picture) => {
                "The picture may be unsuitable for this arena. Both models see it."
            }
            Self::Warned(RefusalClass::PersonalPicture) => {
                "The picture seems to show a face, personal data or a code. Both models see it."
            }
            Self::Warned(RefusalClass::PersonalText) => {
                "The text seems to hold personal data or a secret. Both models read it."
            }
            Self::Warned(RefusalClass::Text) => {
                "The text may be unsuitable for this arena. Both models read it."
            }
            Self::Changed(RefusalClass::Picture | RefusalClass::PersonalPicture) => {
                "Parts of the picture were made unrecognisable before it was sent."
            }
            Self::Changed(RefusalClass::PersonalText | RefusalClass::Text) => {
                "Personal data was taken out of the text before it was sent."
            }
        }
    }
}

/// Who sends content.
#[derive(Clone, Copy, Debug)]
pub(in crate::app) struct Sender {
    visit: VisitId,
    address: IpAddr,
}

impl Sender {
    /// Whoever makes this request.
    pub(in crate::app) fn new(visitor: &Visitor, visit: VisitId) -> Self {
        Self {
            visit,
            address: visitor.address,
        }
    }
}

impl App {
    /// Whether content of this visit is looked at now.
    ///
    /// # Errors
    ///
    /// [`AppError::TooManyRefusals`] with the seconds to wait.
    pub(in crate::app) fn check_refusals(&self, sender: Sender) -> Result<(), AppError> {
        self.inner
            .refusals
            .check(sender.visit, sender.address, self.inner.clock.now())
            .map_err(|retry_after_s| AppError::TooManyRefusals { retry_after_s })
    }

    /// Lets a new picture in, changed where the rules ask for it. A match with a known image is sealed.
    ///
    /// # Errors
    ///
    /// [`AppError::ContentRefused`], [`AppError::NotScreened`], [`AppError::CannotBeScreened`], [`AppError::Store`].
    pub(in crate::app) async fn admit_picture(
        &self,
        sender: Sender,
        prompt: &str,
        upload: Bytes,
        image: NormalisedImage,
    ) -> Result<NormalisedImage, AppError> {
        let mut image = image;
        let mut was_changed = false;
        for _ in 0..PASSES_MAX {
            let picture = PictureContent::from(&image);
            let screening = self.screen_picture_for_chat(&picture).await;
            let decision = self.decide(&screening, true);
            if decision.action == Action::Quarantine {
                let found = self.found(Some(sender), None, prompt, &screening);
                self.seal(&picture, found, None, vec![("upload", upload.clone())])
                    .await?;
            }
            self.refuse(sender, &screening, &decision, true)?;
            if decision.action == Action::Blur {
                image = self.blurred(&picture, &screening, image).await?;
                was_changed = true;
                continue;
            }
            self.keep_decision(ContentKey::picture(image.sha256), &decision, was_changed)
                .await?;
            return Ok(image);
        }
        Err(AppError::CannotBeScreened { is_picture: true })
    }

    /// Lets a text in, changed where the rules ask for it.
    ///
    /// # Errors
    ///
    /// As [`App::admit_picture`].
    pub(in crate::app) async fn admit_text(
        &self,
        sender: Sender,
        text: String,
    ) -> Result<String, AppError> {
        let mut text = text;
        let mut was_changed = false;
        for _ in 0..PASSES_MAX {
            let screening = self.screen_text_for_chat(&text).await;
            let decision = self.decide(&screening, false);
            self.refuse(sender, &screening, &decision, false)?;
            if decision.action == Action::Blur {
                let policy = self.inner.screener.policy(Purpose::Chat);
                text = redact::text(&text, &screening, policy);
                was_changed = true;
                continue;
            }
            if was_changed || decision.action > Action::Off {
                let key = ContentKey::text(text_sha256(&text), None);
                self.keep_decision(key, &decision, was_changed).await?;
            }
            return Ok(text);
        }
        Err(AppError::CannotBeScreened { is_picture: false })
    }

    /// Makes sure that a battle's kept picture may still be sent: by the decision under the rules in force, or by looking again.
    ///
    /// # Errors
    ///
    /// [`AppError::ConversationEnded`] for a picture that has become known since, otherwise as [`App::admit_picture`].
    pub(in crate::app) async fn check_kept_picture(
        &self,
        sender: Sender,
        battle: &Battle,
    ) -> Result<(), AppError> {
        let Some((id, prompt)) = battle
            .turns
            .iter()
            .find_map(|turn| turn.image.map(|image| (image, turn.prompt.as_str())))
        else {
            return Ok(());
        };
        if self.is_allowed(id).await? {
            return Ok(());
        }
        let Some(stored) = self.store().image(id).await.map_err(AppError::Store)? else {
            return Err(AppError::UnknownBattle);
        };
        let picture = self.kept_picture(stored).await?;
        let screening = self.screen_picture_for_chat(&picture).await;
        let decision = self.decide(&screening, true);
        if decision.action == Action::Quarantine {
            let found = self.found(Some(sender), Some(battle.id), prompt, &screening);
            self.seal(&picture, found, Some(battle.id), Vec::new())
                .await?;
            self.store()
                .remove_image_bytes(id)
                .await
                .map_err(AppError::Store)?;
            return Err(AppError::ConversationEnded);
        }
        self.refuse(sender, &screening, &decision, true)?;
        if decision.action == Action::Blur {
            // Its voter and its models have seen it as it is: it is not sent again, rather than sent differently.
            return Err(AppError::ContentRefused {
                class: RefusalClass::PersonalPicture,
            });
        }
        self.keep_decision(ContentKey::picture(picture.sha256), &decision, false)
            .await
    }

    /// Whether a picture has a complete "allow" under the rules in force.
    ///
    /// # Errors
    ///
    /// [`AppError::Store`].
    pub(in crate::app) async fn is_allowed(&self, image: ImageId) -> Result<bool, AppError> {
        let key = ContentKey::picture(*image.as_bytes());
        let kept = self
            .store()
            .disposition(key, Purpose::Chat)
            .await
            .map_err(AppError::Store)?;
        Ok(kept.is_some_and(|kept| {
            kept.verdict == Verdict::Allow && kept.rules == self.inner.screener.rules(Purpose::Chat)
        }))
    }

    /// A kept picture with the hashes of its upload.
    async fn kept_picture(&self, stored: StoredImage) -> Result<PictureContent, AppError> {
        let hashes = self
            .store()
            .image_hashes(stored.id)
            .await
            .map_err(AppError::Store)?;
        picture_of_stored(stored, hashes).await
    }

    /// Whether answers are screened, and how.
    pub(in crate::app) fn answer_screening(&self) -> AnswerScreening {
        self.config().screening.chat.answers
    }

    /// Whether an answer may be kept and shown.
    pub(in crate::app) async fn admits_answer(&self, text: &str) -> bool {
        let screening = self.screen_text_for_chat(text).await;
        self.decide(&screening, false).verdict == Verdict::Allow
    }

    /// What to tell the voter of each turn of a battle.
    ///
    /// # Errors
    ///
    /// [`AppError::Store`].
    pub(in crate::app) async fn notices(
        &self,
        battle: &Battle,
    ) -> Result<Vec<Vec<&'static str>>, AppError> {
        let mut notices = vec![Vec::new(); battle.turns.len()];
        if !self.inner.screener.tells_voters() {
            return Ok(notices);
        }
        for (turn, notices) in battle.turns.iter().zip(&mut notices) {
            let picture = turn
                .image
                .map(|image| ContentKey::picture(*image.as_bytes()));
            let text = (!turn.prompt.is_empty())
                .then(|| ContentKey::text(text_sha256(&turn.prompt), None));
            for key in picture.into_iter().chain(text) {
                let kept = self
                    .store()
                    .disposition(key, Purpose::Chat)
                    .await
                    .map_err(AppError::Store)?;
                for notice in kept
                    .iter()
                    .flat_map(|kept| notices_of(kept, key.is_picture))
                {
                    let sentence = notice.sentence();
                    if !notices.contains(&sentence) {
                        notices.push(sentence);
                    }
                }
            }
        }
        Ok(notices)
    }

    async fn screen_picture_for_chat(&self, picture: &PictureContent) -> Screening {
        self.inner
            .screener
            .screen_picture_for(picture, &[Purpose::Chat])
            .await
    }

    async fn screen_text_for_chat(&self, text: &str) -> Screening {
        self.inner
            .screener
            .screen_text_for(text, None, &[Purpose::Chat])
            .await
    }

    /// Decides for chats, and counts. Known images are in no figure and no line of the log.
    fn decide(&self, screening: &Screening, is_picture: bool) -> Decision {
        let decision = self
            .inner
            .screener
            .policy(Purpose::Chat)
            .decide(screening, is_picture);
        count(&decision, is_picture, Purpose::Chat);
        decision
    }

    /// Turns a decision that stops content into the refusal that its sender sees.
    fn refuse(
        &self,
        sender: Sender,
        screening: &Screening,
        decision: &Decision,
        is_picture: bool,
    ) -> Result<(), AppError> {
        match decision.verdict {
            Verdict::Allow => Ok(()),
            Verdict::Block => {
                self.inner
                    .refusals
                    .note(sender.visit, sender.address, self.inner.clock.now());
                let class = decision
                    .found
                    .first()
                    .map_or(RefusalClass::Picture, |(kind, _)| RefusalClass::of(*kind));
                Err(AppError::ContentRefused { class })
            }
            Verdict::Undecided => {
                let is_hopeless = screening
                    .failures
                    .iter()
                    .filter(|failure| {
                        failure
                            .screens_for
                            .iter()
                            .any(|kind| decision.unanswered.contains(kind))
                    })
                    .any(|failure| failure.kind == DetectorFailureKind::Unsupported);
                if is_hopeless {
                    Err(AppError::CannotBeScreened { is_picture })
                } else {
                    Err(AppError::NotScreened {
                        is_picture,
                        retry_after_s: RETRY_UNDECIDED_S,
                    })
                }
            }
        }
    }

    /// Keeps the decision to let content go on.
    async fn keep_decision(
        &self,
        key: ContentKey<'_>,
        decision: &Decision,
        was_changed: bool,
    ) -> Result<(), AppError> {
        let mut disposition = self.inner.screener.disposition(Purpose::Chat, decision);
        if was_changed {
            disposition.action = Action::Blur;
        }
        disposition.decided_at = self.inner.clock.now();
        self.store()
            .save_dispositions(&[(key, disposition)])
            .await
            .map_err(AppError::Store)
    }

    /// The picture with what was found in it made unrecognisable, normalised anew.
    async fn blurred(
        &self,
        picture: &PictureContent,
        screening: &Screening,
        image: NormalisedImage,
    ) -> Result<NormalisedImage, AppError> {
        let policy = self.inner.screener.policy(Purpose::Chat);
        let findings: Vec<Finding> = redact::taken_out(screening, policy).cloned().collect();
        let bytes = picture.bytes.clone();
        let limits = self.inner.images.limits();
        let original = image.original;
        let changed = tokio::task::spawn_blocking(move || {
            let pixels = decode_normalised(&bytes).ok()?;
            let bytes = redact::picture(&pixels, &findings)?;
            normalise(&bytes, &limits).ok()
        })
        .await
        .map_err(|source| AppError::Internal {
            what: "making a picture unrecognisable",
            source: source.into(),
        })?;
        // What it was made from stays known; what it is now is other content.
        changed
            .map(|changed| NormalisedImage {
                original,
                ..changed
            })
            .ok_or(AppError::CannotBeScreened { is_picture: true })
    }

    fn found<'a>(
        &self,
        sender: Option<Sender>,
        battle: Option<BattleId>,
        prompt: &'a str,
        screening: &Screening,
    ) -> Found<'a> {
        Found {
            at: self.inner.clock.now().to_string(),
            visit: sender.map_or_else(String::new, |sender| sender.visit.to_string()),
            // A later request is not where a kept picture came from.
            address: sender
                .filter(|_| battle.is_none())
                .map(|sender| sender.address.to_string()),
            battle: battle.map(|battle| battle.to_string()),
            prompt,
            services: screening
                .findings
                .iter()
                .filter(|finding| finding.kind == FindingKind::KnownImage && finding.counts())
                .map(|finding| finding.detector.to_string())
                .collect(),
        }
    }

    /// Seals a match, to its end even when whoever sent it goes away. Nothing of it is logged.
    async fn seal(
        &self,
        picture: &PictureContent,
        found: Found<'_>,
        battle: Option<BattleId>,
        mut files: Vec<(&'static str, Bytes)>,
    ) -> Result<(), AppError> {
        let broken = |source: anyhow::Error| AppError::Internal {
            what: "keeping a sealed case",
            source,
        };
        let custodians = self
            .inner
            .custodians
            .clone()
            .ok_or_else(|| broken(anyhow::anyhow!("no custodians are configured")))?;
        let matches = self
            .inner
            .screener
            .known_matches(picture)
            .map(|found| EvidenceMatch::all(&found))
            .unwrap_or_default();
        let fingerprints: &Fingerprints = &picture.fingerprints;
        let evidence = Evidence::new(
            found,
            matches,
            &fingerprints.original_md5,
            &fingerprints.original_sha256,
        );
        files.push(("normalised", picture.bytes.clone()));
        let sealed_at = self.inner.clock.now();
        let days = self.config().raw.screening.quarantine.retention_days;
        let retain_until = sealed_at
            .checked_add((i64::from(days) * 24).hours())
            .map_err(|source| broken(source.into()))?;
        let case = NewCase {
            id: self.with_rng(CaseId::random),
            sealed_at,
            retain_until,
            battle,
        };
        let app = self.clone();
        self.to_its_end(async move {
            let sealed = tokio::task::spawn_blocking(move || {
                let files: Vec<(&str, &[u8])> = files
                    .iter()
                    .map(|(name, bytes)| (*name, bytes.as_ref()))
                    .collect();
                custodians.seal(&evidence.pack(&files)?)
            })
            .await
            .map_err(|source| broken(source.into()))?
            .map_err(|source| broken(source.into()))?;
            app.store()
                .seal_case(&case, sealed)
                .await
                .map_err(AppError::Store)
        })
        .await
    }
}

/// A stored picture with the hashes of its upload, decoded on a thread that may block.
///
/// # Errors
///
/// [`AppError::Internal`] for bytes that are no normalised picture.
pub async fn picture_of_stored(
    stored: StoredImage,
    hashes: Option<ImageHashes>,
) -> Result<PictureContent, AppError> {
    let broken = |source: anyhow::Error| AppError::Internal {
        what: "reading a kept picture",
        source,
    };
    let original = hashes.map(|hashes| OriginalHashes {
        md5: hashes.original_md5,
        sha256: hashes.original_sha256,
    });
    tokio::task::spawn_blocking(move || {
        PictureContent::of_normalised(Bytes::from(stored.bytes), original)
    })
    .await
    .map_err(|source| broken(source.into()))?
    .map_err(|source| broken(source.into()))
}

/// What is kept of an image's identity.
pub(in crate::app) fn image_hashes(image: &NormalisedImage) -> ImageHashes {
    ImageHashes {
        original_md5: image.original.md5,
        original_sha256: image.original.sha256,
        pixel_sha256: image.pixel_sha256,
        pdq: image.perceptual_hash.hash().to_bytes(),
        pdq_quality: image.perceptual_hash.quality,
    }
}

/// Counts a decision. Known images are in no figure: what is counted for them is a refused picture.
pub fn count(decision: &Decision, is_picture: bool, purpose: Purpose) {
    metrics::counter!(
        "agon_screenings_total",
        "content" => if is_picture { "picture" } else { "text" },
        "purpose" => purpose.as_str(),
        "verdict" => decision.verdict.as_str()
    )
    .increment(1);
    for (kind, _) in &decision.found {
        if *kind != FindingKind::KnownImage {
            metrics::counter!("agon_screening_found_total", "kind" => kind.as_str()).increment(1);
        }
    }
}

fn notices_of(kept: &Disposition, is_picture: bool) -> Vec<Notice> {
    let kinds: Vec<FindingKind> = serde_json::from_str::<serde_json::Value>(&kept.reasons)
        .ok()
        .and_then(|reasons| {
            let found = reasons.get("found")?.as_object()?;
            Some(
                found
                    .iter()
                    .filter(|(_, action)| action.as_str() == Some(Action::Warn.as_str()))
                    .filter_map(|(kind, _)| kind.parse().ok())
                    .collect(),
            )
        })
        .unwrap_or_default();
    let mut notices: Vec<Notice> = kinds
        .into_iter()
        .map(|kind| Notice::Warned(RefusalClass::of(kind)))
        .collect();
    if kept.action == Action::Blur {
        notices.push(Notice::Changed(if is_picture {
            RefusalClass::PersonalPicture
        } else {
            RefusalClass::PersonalText
        }));
    }
    notices
}
