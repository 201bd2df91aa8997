//! Services that look at pictures and texts: moderation, known abuse images, faces, personal data.
//!
//! [`ScreeningService`] is one of them, whatever it speaks; [`cybertip`] is the authority's service that takes reports.
//! A service answers with findings or with a failure, and nothing in between: an answer that is cut, unknown, partial or not about what was asked is a failure, so that "undecided" never looks clean.
//!
//! What is sent where, and each service's limits, is in `docs/connectors.md`.
//! Content and keys are in no error and no log.

mod arachnid_shield;
mod azure_content_moderator;
mod azure_content_safety;
mod azure_language;
pub mod cybertip;
mod exchange;
mod google_redact;
mod google_vision;
mod guard;
mod language;
mod openai_moderation;
mod photo_dna;
mod place;
mod presidio;
mod score;

use agon_domain::{DetectorFailure, DetectorFailureKind, DetectorIdentity, Finding, FindingKind};

use self::exchange::Trouble;
pub use self::{
    arachnid_shield::ArachnidShieldOptions,
    azure_content_moderator::ContentModeratorOptions,
    azure_content_safety::ContentSafetyOptions,
    azure_language::AzureLanguageOptions,
    exchange::{CallLimits, RETRIES_MAX, ServiceOptions},
    google_redact::GoogleRedactOptions,
    google_vision::{GoogleCredential, GoogleVisionOptions},
    guard::{GuardCategory, GuardOptions},
    language::Languages,
    openai_moderation::OpenAiModerationOptions,
    photo_dna::{EdgeHash, PhotoDnaOptions},
    presidio::PresidioOptions,
    score::{SCORE_MAP_VERSION, Thresholds, score_of_likelihood, score_of_severity},
};
use crate::{Client, Error, RequestImage};

/// A picture as it is sent to a service: already normalised, upright and one frame.
pub type Picture = RequestImage;

/// Which pictures a service takes. Fit a picture to them before it is screened; others are refused as unsupported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureLimits {
    /// The shortest side allowed, in pixels.
    pub side_px_min: u32,
    /// The longest side allowed, in pixels.
    pub side_px_max: u32,
    /// Bytes of the encoded file, before any Base64.
    pub bytes_max: usize,
    /// Media types that it reads.
    pub media_types: &'static [&'static str],
}

/// What a service takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceLimits {
    /// Pictures; `None` when it takes none.
    pub picture: Option<PictureLimits>,
    /// The most characters (code points) of a text; `None` when it takes no text.
    pub text_chars_max: Option<usize>,
}

/// One service that screens. Clones share their connections.
///
/// ```no_run
/// use agon_providers::{ApiKey, Client, ClientOptions, screening::*};
///
/// # async fn screen(picture: Picture) -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(&ClientOptions::default())?;
/// let service = ServiceOptions::new("https://example.cognitiveservices.azure.com", Some(ApiKey::new("…")));
/// let safety = ScreeningService::azure_content_safety(&client, ContentSafetyOptions::new(service))?;
/// match safety.screen_picture(&picture, 7).await {
///     Ok(findings) => println!("{} findings", findings.len()),
///     Err(failure) => println!("undecided: {}", failure.detail),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ScreeningService {
    identity: DetectorIdentity,
    screens_for: Vec<FindingKind>,
    protocol: Protocol,
}

#[derive(Clone, Debug)]
enum Protocol {
    ArachnidShield(arachnid_shield::ArachnidShield),
    AzureLanguage(azure_language::AzureLanguage),
    ContentModerator(azure_content_moderator::ContentModerator),
    ContentSafety(azure_content_safety::ContentSafety),
    GoogleRedact(google_redact::GoogleRedact),
    GoogleVision(google_vision::GoogleVision),
    Guard(Box<guard::Guard>),
    OpenAiModeration(openai_moderation::OpenAiModeration),
    PhotoDna(photo_dna::PhotoDna),
    Presidio(presidio::Presidio),
}

/// One finding before it is known whose it is.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    kind: FindingKind,
    category: String,
    score: f64,
    threshold: f64,
    place: agon_domain::FindingPlace,
}

/// Sexual and violent pictures.
const UNSAFE_PICTURES: [FindingKind; 2] = [FindingKind::NsfwImage, FindingKind::ViolentImage];

impl ScreeningService {
    /// Azure AI Content Safety: pictures and texts by severity.
    ///
    /// # Errors
    ///
    /// [`crate::ErrorKind::Configuration`], here and in all constructors, when an option cannot be used; nothing is sent.
    pub fn azure_content_safety(
        client: &Client,
        options: ContentSafetyOptions,
    ) -> Result<Self, Error> {
        let version = format!("{}+scores-{SCORE_MAP_VERSION}", options.api_version);
        let protocol = azure_content_safety::ContentSafety::new(client, options)?;
        let mut kinds = UNSAFE_PICTURES.to_vec();
        kinds.push(FindingKind::HarmfulText);
        Ok(Self::new(
            "azure-content-safety",
            version,
            kinds,
            Protocol::ContentSafety(protocol),
        ))
    }

    /// Azure Content Moderator: adult and racy pictures.
    ///
    /// # Errors
    ///
    /// As for all constructors.
    pub fn azure_content_moderator(
        client: &Client,
        options: ContentModeratorOptions,
    ) -> Result<Self, Error> {
        Ok(Self::new(
            "azure-content-moderator",
            "v1.0".to_owned(),
            vec![FindingKind::NsfwImage],
            Protocol::ContentModerator(azure_content_moderator::ContentModerator::new(
                client, options,
            )?),
        ))
    }

    /// Google Vision: sexual and violent pictures, faces.
    ///
    /// # Errors
    ///
    /// As for all constructors.
    pub fn google_vision(client: &Client, options: GoogleVisionOptions) -> Result<Self, Error> {
        let mut kinds = Vec::new();
        if options.safe_search {
            kinds.extend(UNSAFE_PICTURES);
        }
        if options.faces {
            kinds.push(FindingKind::Face);
        }
        Ok(Self::new(
            "google-vision",
            format!("v1+scores-{SCORE_MAP_VERSION}"),
            kinds,
            Protocol::GoogleVision(google_vision::GoogleVision::new(client, options)?),
        ))
    }

    /// `OpenAI` moderation: texts, and pictures with a multimodal model.
    ///
    /// # Errors
    ///
    /// As for all constructors.
    pub fn openai_moderation(
        client: &Client,
        options: OpenAiModerationOptions,
    ) -> Result<Self, Error> {
        let mut kinds = Vec::new();
        if options.sees_pictures {
            kinds.extend(UNSAFE_PICTURES);
        }
        kinds.push(FindingKind::HarmfulText);
        let version = options.model.clone();
        Ok(Self::new(
            "openai-moderation",
            version,
            kinds,
            Protocol::OpenAiModeration(openai_moderation::OpenAiModeration::new(client, options)?),
        ))
    }

    /// `PhotoDNA`: known abuse images.
    ///
    /// # Errors
    ///
    /// As for all constructors.
    pub fn photo_dna(client: &Client, options: PhotoDnaOptions) -> Result<Self, Error> {
        Ok(Self::new(
            "photo-dna",
            "v1.0".to_owned(),
            vec![FindingKind::KnownImage],
            Protocol::PhotoDna(photo_dna::PhotoDna::new(client, options)?),
        ))
    }

    /// Arachnid Shield: known abuse images.
    ///
    /// # Errors
    ///
    /// As for all constructors.
    pub fn arachnid_shield(client: &Client, options: ArachnidShieldOptions) -> Result<Self, Error> {
        Ok(Self::new(
            "arachnid-shield",
            "v1".to_owned(),
            vec![FindingKind::KnownImage],
            Protocol::ArachnidShield(arachnid_shield::ArachnidShield::new(client, options)?),
        ))
    }

    /// Azure Language: personal data in text.
    ///
    /// # Errors
    ///
    /// As for all constructors.
    pub fn azure_language(client: &Client, options: AzureLanguageOptions) -> Result<Self, Error> {
        let version = format!("{}+{}", options.api_version, options.model_version);
        Ok(Self::new(
            "azure-language-pii",
            version,
            vec![FindingKind::PiiText],
            Protocol::AzureLanguage(azure_language::AzureLanguage::new(client, options)?),
        ))
    }

    /// A Presidio analyzer: personal data in text.
    ///
    /// # Errors
    ///
    /// As for all constructors.
    pub fn presidio(client: &Client, options: PresidioOptions) -> Result<Self, Error> {
        let version = options.version.clone();
        Ok(Self::new(
            "presidio",
            version,
            vec![FindingKind::PiiText],
            Protocol::Presidio(presidio::Presidio::new(client, options)?),
        ))
    }

    /// Google image redaction: personal data in pictures.
    ///
    /// # Errors
    ///
    /// As for all constructors.
    pub fn google_redact(client: &Client, options: GoogleRedactOptions) -> Result<Self, Error> {
        Ok(Self::new(
            "google-redact",
            format!("v2+scores-{SCORE_MAP_VERSION}"),
            vec![FindingKind::PiiImage],
            Protocol::GoogleRedact(google_redact::GoogleRedact::new(client, options)?),
        ))
    }

    /// A guard model behind any provider, asked closed questions.
    ///
    /// # Errors
    ///
    /// As for all constructors.
    pub fn guard(options: GuardOptions) -> Result<Self, Error> {
        let guard = guard::Guard::new(options)?;
        Ok(Self {
            identity: guard.identity(),
            screens_for: guard.screens_for(),
            protocol: Protocol::Guard(Box::new(guard)),
        })
    }

    fn new(name: &str, version: String, screens_for: Vec<FindingKind>, protocol: Protocol) -> Self {
        Self {
            identity: DetectorIdentity::new(name, version),
            screens_for,
            protocol,
        }
    }

    /// Name and version, as in its findings and failures.
    pub const fn identity(&self) -> &DetectorIdentity {
        &self.identity
    }

    /// All that it answers for, pictures and texts together.
    pub fn screens_for(&self) -> &[FindingKind] {
        &self.screens_for
    }

    /// What it answers for of pictures, or of texts: what [`agon_domain::Screening::add`] takes beside an answer.
    pub fn screens_for_subject(&self, about_pictures: bool) -> Vec<FindingKind> {
        self.screens_for
            .iter()
            .copied()
            .filter(|kind| kind.is_about_pictures() == about_pictures)
            .collect()
    }

    /// Which pictures and texts it takes.
    pub fn limits(&self) -> ServiceLimits {
        match &self.protocol {
            Protocol::ArachnidShield(_) => arachnid_shield::LIMITS,
            Protocol::AzureLanguage(_) => azure_language::LIMITS,
            Protocol::ContentModerator(_) => azure_content_moderator::LIMITS,
            Protocol::ContentSafety(_) => azure_content_safety::LIMITS,
            Protocol::GoogleRedact(_) => google_redact::LIMITS,
            Protocol::GoogleVision(_) => google_vision::LIMITS,
            Protocol::Guard(guard) => guard.limits(),
            Protocol::OpenAiModeration(service) => service.service_limits(),
            Protocol::PhotoDna(_) => photo_dna::LIMITS,
            Protocol::Presidio(service) => service.service_limits(),
        }
    }

    /// Screens one picture for the kinds about pictures in [`Self::screens_for`].
    ///
    /// `seed` spreads retries in time; a guard model takes its delimiters from it.
    /// Dropping the future cancels the request.
    ///
    /// # Errors
    ///
    /// A failure whenever the service gave no complete answer about this picture, and [`DetectorFailureKind::Unsupported`] for a picture outside [`Self::limits`], which is not sent.
    pub async fn screen_picture(
        &self,
        picture: &Picture,
        seed: u64,
    ) -> Result<Vec<Finding>, DetectorFailure> {
        self.findings(true, self.found_in_picture(picture, seed).await)
    }

    /// Screens one text for the kinds about texts in [`Self::screens_for`].
    ///
    /// `language` is a code such as `en` or `pt-BR`; `None` when it is not known.
    ///
    /// # Errors
    ///
    /// A failure whenever the service gave no complete answer about this text, and [`DetectorFailureKind::Unsupported`] for a text outside [`Self::limits`] or in a language that it does not read, which is not sent.
    pub async fn screen_text(
        &self,
        text: &str,
        language: Option<&str>,
        seed: u64,
    ) -> Result<Vec<Finding>, DetectorFailure> {
        self.findings(false, self.found_in_text(text, language, seed).await)
    }

    /// Compares edge hashes with `PhotoDNA`'s lists, so that the picture does not leave the house. One answer for each hash, in order.
    ///
    /// # Errors
    ///
    /// A failure when any of them has no verdict, and for a service that is not `PhotoDNA`.
    pub async fn match_edge_hashes(
        &self,
        hashes: &[EdgeHash],
        seed: u64,
    ) -> Result<Vec<Vec<Finding>>, DetectorFailure> {
        let answers = match &self.protocol {
            Protocol::PhotoDna(service) => service.match_hashes(hashes, seed).await,
            _ => Err(Trouble::unsupported("the service takes no edge hashes")),
        };
        match answers {
            Ok(answers) => answers
                .into_iter()
                .map(|found| self.findings(true, Ok(found)))
                .collect(),
            Err(trouble) => Err(self.failure(true, trouble)),
        }
    }

    async fn found_in_picture(&self, picture: &Picture, seed: u64) -> Result<Vec<Found>, Trouble> {
        let Some(limits) = self.limits().picture else {
            return Err(Trouble::unsupported("the service takes no pictures"));
        };
        check_picture(picture, &limits)?;
        match &self.protocol {
            Protocol::ArachnidShield(service) => service.screen_picture(picture, seed).await,
            Protocol::ContentModerator(service) => service.screen_picture(picture, seed).await,
            Protocol::ContentSafety(service) => service.screen_picture(picture, seed).await,
            Protocol::GoogleRedact(service) => service.screen_picture(picture, seed).await,
            Protocol::GoogleVision(service) => service.screen_picture(picture, seed).await,
            Protocol::Guard(service) => service.screen_picture(picture, seed).await,
            Protocol::OpenAiModeration(service) => service.screen_picture(picture, seed).await,
            Protocol::PhotoDna(service) => service.screen_picture(picture, seed).await,
            Protocol::AzureLanguage(_) | Protocol::Presidio(_) => {
                Err(Trouble::unsupported("the service takes no pictures"))
            }
        }
    }

    async fn found_in_text(
        &self,
        text: &str,
        language: Option<&str>,
        seed: u64,
    ) -> Result<Vec<Found>, Trouble> {
        let Some(chars_max) = self.limits().text_chars_max else {
            return Err(Trouble::unsupported("the service takes no text"));
        };
        let n_chars = text.chars().count();
        if n_chars > chars_max {
            return Err(Trouble::unsupported(format!(
                "the text has {n_chars} characters: expected at most {chars_max}"
            )));
        }
        // Without a letter there is nothing to send, and some services refuse empty texts.
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        match &self.protocol {
            Protocol::AzureLanguage(service) => service.screen_text(text, language, seed).await,
            Protocol::ContentSafety(service) => service.screen_text(text, language, seed).await,
            Protocol::Guard(service) => service.screen_text(text, seed).await,
            Protocol::OpenAiModeration(service) => service.screen_text(text, seed).await,
            Protocol::Presidio(service) => service.screen_text(text, language, seed).await,
            _ => Err(Trouble::unsupported("the service takes no text")),
        }
    }

    fn findings(
        &self,
        about_pictures: bool,
        answer: Result<Vec<Found>, Trouble>,
    ) -> Result<Vec<Finding>, DetectorFailure> {
        match answer {
            Ok(found) => Ok(found
                .into_iter()
                .map(|found| Finding {
                    detector: self.identity.clone(),
                    kind: found.kind,
                    category: found.category,
                    score: found.score,
                    threshold: found.threshold,
                    place: found.place,
                })
                .collect()),
            Err(trouble) => Err(self.failure(about_pictures, trouble)),
        }
    }

    fn failure(&self, about_pictures: bool, trouble: Trouble) -> DetectorFailure {
        DetectorFailure {
            detector: self.identity.clone(),
            screens_for: self.screens_for_subject(about_pictures),
            kind: trouble.kind,
            detail: trouble.detail,
        }
    }
}

/// Refuses a picture that the service would not take, before anything is sent.
fn check_picture(picture: &Picture, limits: &PictureLimits) -> Result<(), Trouble> {
    let PictureLimits {
        side_px_min,
        side_px_max,
        bytes_max,
        media_types,
    } = *limits;
    let (width, height) = (picture.width_px, picture.height_px);
    if width.min(height) < side_px_min || width.max(height) > side_px_max {
        return Err(Trouble::unsupported(format!(
            "the picture is {width} × {height} pixels: expected sides from {side_px_min} to {side_px_max}"
        )));
    }
    if picture.bytes.len() > bytes_max {
        return Err(Trouble::unsupported(format!(
            "the picture has {} bytes: expected at most {bytes_max}",
            picture.bytes.len()
        )));
    }
    if !media_types.contains(&picture.media_type.as_str()) {
        let expected = media_types.join("`, `");
        return Err(Trouble::unsupported(format!(
            "the picture's media type is not read by the service: expected `{expected}`"
        )));
    }
    Ok(())
}

/// A score that services state themselves: from 0 to 1, or it is none.
fn checked_score(score: f64) -> Result<f64, Trouble> {
    if (0.0..=1.0).contains(&score) {
        Ok(score)
    } else {
        Err(Trouble::malformed("a score is not from 0 to 1"))
    }
}

/// A malformed answer that names a category which is not known here, and so cannot be judged.
fn unknown_category() -> Trouble {
    Trouble::malformed("the answer holds a category that is not known")
}

/// A failure that a service states beside a success.
fn failed_inside(code: Option<&'static str>) -> Trouble {
    Trouble::new(
        DetectorFailureKind::Unsupported,
        format!(
            "the service could not judge it: code `{}`",
            code.unwrap_or("other")
        ),
    )
}

#[cfg(test)]
mod tests;
