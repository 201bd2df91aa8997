//! What detectors said of content, what followed, and what images are known by.

use agon_domain::{
    Action, DetectorIdentity, Finding, FindingKind, FindingPlace, ImageId, PixelBox, Purpose,
    Verdict,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use crate::{
    Error, Store,
    error::{During as _, read_column},
    id_bytes, microseconds, timestamp,
};

/// What was looked at, by the SHA-256 of exactly the bytes that were: after any change it is other content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentKey<'a> {
    /// Whether it is a picture; otherwise it is a text.
    pub is_picture: bool,
    /// SHA-256 of the normalised picture, or of the text in UTF-8.
    pub sha256: [u8; 32],
    /// The language that a text was said to be in, as ISO 639-1.
    pub language: Option<&'a str>,
}

impl<'a> ContentKey<'a> {
    /// A normalised picture.
    pub const fn picture(sha256: [u8; 32]) -> Self {
        Self {
            is_picture: true,
            sha256,
            language: None,
        }
    }

    /// A text.
    pub const fn text(sha256: [u8; 32], language: Option<&'a str>) -> Self {
        Self {
            is_picture: false,
            sha256,
            language,
        }
    }

    const fn content(&self) -> &'static str {
        if self.is_picture { "picture" } else { "text" }
    }
}

/// A decision on content for a purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disposition {
    /// For what.
    pub purpose: Purpose,
    /// The hash of the rules and detectors that it rests on.
    pub rules: [u8; 32],
    /// Whether it may go on.
    pub verdict: Verdict,
    /// The strongest action.
    pub action: Action,
    /// Kinds found, kinds without an answer and failures, as JSON. No content.
    pub reasons: String,
    /// When.
    pub decided_at: Timestamp,
}

/// What an image is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageHashes {
    /// MD5 of the file as it was uploaded.
    pub original_md5: [u8; 16],
    /// SHA-256 of the file as it was uploaded.
    pub original_sha256: [u8; 32],
    /// SHA-256 of sides and pixels.
    pub pixel_sha256: [u8; 32],
    /// PDQ, bit 255 first.
    pub pdq: [u8; 32],
    /// PDQ's quality, 0 to 100.
    pub pdq_quality: u8,
}

#[derive(FromRow)]
struct HashesRow {
    original_md5: Vec<u8>,
    original_sha256: Vec<u8>,
    pixel_sha256: Vec<u8>,
    pdq: Vec<u8>,
    pdq_quality: i64,
}

/// A finding as JSON.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FindingRow {
    kind: String,
    category: String,
    score: f64,
    threshold: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<[usize; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chars: Option<[usize; 2]>,
    /// Left, top, width, height.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pixels: Option<[u32; 4]>,
}

impl From<&Finding> for FindingRow {
    fn from(finding: &Finding) -> Self {
        let (bytes, chars, pixels) = match &finding.place {
            FindingPlace::Whole => (None, None, None),
            FindingPlace::Text { bytes, chars } => (
                Some([bytes.start, bytes.end]),
                Some([chars.start, chars.end]),
                None,
            ),
            FindingPlace::Picture(place) => (
                None,
                None,
                Some([place.left_px, place.top_px, place.width_px, place.height_px]),
            ),
        };
        Self {
            kind: finding.kind.as_str().to_owned(),
            category: finding.category.clone(),
            score: finding.score,
            threshold: finding.threshold,
            bytes,
            chars,
            pixels,
        }
    }
}

impl FindingRow {
    fn into_finding(self, detector: &DetectorIdentity) -> Option<Finding> {
        let place = match (self.bytes, self.chars, self.pixels) {
            (None, None, None) => FindingPlace::Whole,
            (Some(bytes), Some(chars), None) => FindingPlace::Text {
                bytes: bytes[0]..bytes[1],
                chars: chars[0]..chars[1],
            },
            (None, None, Some([left_px, top_px, width_px, height_px])) => {
                FindingPlace::Picture(PixelBox {
                    left_px,
                    top_px,
                    width_px,
                    height_px,
                })
            }
            _ => return None,
        };
        Some(Finding {
            detector: detector.clone(),
            kind: self.kind.parse::<FindingKind>().ok()?,
            category: self.category,
            score: self.score,
            threshold: self.threshold,
            place,
        })
    }
}

impl Store {
    /// Remembers what a detector said of content, in the place of what it said before.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn remember_screening(
        &self,
        content: ContentKey<'_>,
        detector: &DetectorIdentity,
        findings: &[Finding],
        at: Timestamp,
    ) -> Result<(), Error> {
        const ACTION: &str = "remember findings";
        let rows: Vec<FindingRow> = findings.iter().map(FindingRow::from).collect();
        let json = read_column(rows, "screenings.findings", |rows| {
            serde_json::to_string(&rows)
        })?;
        let mut transaction = self.database.write().await?;
        sqlx::query(
            "INSERT INTO screenings (content, sha256, language, detector, version, findings, answered_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (content, sha256, language, detector) DO UPDATE \
             SET version = excluded.version, findings = excluded.findings, answered_at = excluded.answered_at",
        )
        .bind(content.content())
        .bind(content.sha256.as_slice())
        .bind(content.language.unwrap_or_default())
        .bind(detector.name.as_str())
        .bind(detector.version.as_str())
        .bind(json)
        .bind(microseconds(at))
        .execute(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)
    }

    /// What this detector in this version said of exactly this content; `None` when it has not been asked.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn remembered_screening(
        &self,
        content: ContentKey<'_>,
        detector: &DetectorIdentity,
    ) -> Result<Option<Vec<Finding>>, Error> {
        const ACTION: &str = "read findings";
        const COLUMN: &str = "screenings.findings";
        let mut transaction = self.database.read().await?;
        let json: Option<String> = sqlx::query_scalar(
            "SELECT findings FROM screenings \
             WHERE content = $1 AND sha256 = $2 AND language = $3 AND detector = $4 AND version = $5",
        )
        .bind(content.content())
        .bind(content.sha256.as_slice())
        .bind(content.language.unwrap_or_default())
        .bind(detector.name.as_str())
        .bind(detector.version.as_str())
        .fetch_optional(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        let Some(json) = json else { return Ok(None) };
        let rows: Vec<FindingRow> = read_column(json, COLUMN, |json| serde_json::from_str(&json))?;
        rows.into_iter()
            .map(|row| {
                row.into_finding(detector)
                    .ok_or(Error::Corrupt { column: COLUMN })
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// Keeps decisions on contents, each in the place of the last one for its purpose. All or none of them.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn save_dispositions(
        &self,
        decided: &[(ContentKey<'_>, Disposition)],
    ) -> Result<(), Error> {
        const ACTION: &str = "keep a decision";
        let mut transaction = self.database.write().await?;
        for (content, disposition) in decided {
            sqlx::query(
                "INSERT INTO dispositions (content, sha256, purpose, rules, verdict, action, reasons, decided_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (content, sha256, purpose) DO UPDATE \
                 SET rules = excluded.rules, verdict = excluded.verdict, action = excluded.action, \
                 reasons = excluded.reasons, decided_at = excluded.decided_at",
            )
            .bind(content.content())
            .bind(content.sha256.as_slice())
            .bind(disposition.purpose.as_str())
            .bind(disposition.rules.as_slice())
            .bind(disposition.verdict.as_str())
            .bind(disposition.action.as_str())
            .bind(disposition.reasons.as_str())
            .bind(microseconds(disposition.decided_at))
            .execute(&mut *transaction)
            .await
            .during(ACTION)?;
        }
        transaction.commit().await.during(ACTION)
    }

    /// The newest decision on content for a purpose, whatever rules it rests on.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn disposition(
        &self,
        content: ContentKey<'_>,
        purpose: Purpose,
    ) -> Result<Option<Disposition>, Error> {
        const ACTION: &str = "read a decision";
        let mut transaction = self.database.read().await?;
        let row: Option<(Vec<u8>, String, String, String, i64)> = sqlx::query_as(
            "SELECT rules, verdict, action, reasons, decided_at FROM dispositions \
             WHERE content = $1 AND sha256 = $2 AND purpose = $3",
        )
        .bind(content.content())
        .bind(content.sha256.as_slice())
        .bind(purpose.as_str())
        .fetch_optional(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        row.map(|(rules, verdict, action, reasons, decided_at)| {
            Ok(Disposition {
                purpose,
                rules: id_bytes(rules, "dispositions.rules")?,
                verdict: read_column(verdict, "dispositions.verdict", |text| {
                    [Verdict::Allow, Verdict::Undecided, Verdict::Block]
                        .into_iter()
                        .find(|verdict| verdict.as_str() == text)
                        .ok_or(())
                })?,
                action: read_column(action, "dispositions.action", |text| text.parse())?,
                reasons,
                decided_at: timestamp(decided_at, "dispositions.decided_at")?,
            })
        })
        .transpose()
    }

    /// Keeps what an image is known by. What was kept first stays.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], also for an image that is not there.
    pub async fn keep_image_hashes(
        &self,
        image: ImageId,
        hashes: &ImageHashes,
    ) -> Result<(), Error> {
        const ACTION: &str = "keep an image's hashes";
        let mut transaction = self.database.write().await?;
        sqlx::query(
            "INSERT INTO image_hashes (image, original_md5, original_sha256, pixel_sha256, pdq, pdq_quality) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (image) DO NOTHING",
        )
        .bind(image.as_bytes().as_slice())
        .bind(hashes.original_md5.as_slice())
        .bind(hashes.original_sha256.as_slice())
        .bind(hashes.pixel_sha256.as_slice())
        .bind(hashes.pdq.as_slice())
        .bind(i64::from(hashes.pdq_quality))
        .execute(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)
    }

    /// What an image is known by; `None` for images that were kept before hashes were.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn image_hashes(&self, image: ImageId) -> Result<Option<ImageHashes>, Error> {
        const ACTION: &str = "read an image's hashes";
        let mut transaction = self.database.read().await?;
        let row: Option<HashesRow> = sqlx::query_as(
            "SELECT original_md5, original_sha256, pixel_sha256, pdq, pdq_quality FROM image_hashes WHERE image = $1",
        )
        .bind(image.as_bytes().as_slice())
        .fetch_optional(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        row.map(|row| {
            Ok(ImageHashes {
                original_md5: id_bytes(row.original_md5, "image_hashes.original_md5")?,
                original_sha256: id_bytes(row.original_sha256, "image_hashes.original_sha256")?,
                pixel_sha256: id_bytes(row.pixel_sha256, "image_hashes.pixel_sha256")?,
                pdq: id_bytes(row.pdq, "image_hashes.pdq")?,
                pdq_quality: read_column(
                    row.pdq_quality,
                    "image_hashes.pdq_quality",
                    u8::try_from,
                )?,
            })
        })
        .transpose()
    }
}
