//! Visits and the consents they gave.

use agon_domain::{ConsentId, VisitId};
use jiff::Timestamp;
use sqlx::FromRow;

use crate::{Error, Store, error::During as _, id_bytes, microseconds, timestamp};

/// A consent to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewConsent {
    /// Its id, new.
    pub id: ConsentId,
    /// Which version of the terms was agreed to.
    pub policy_version: String,
    /// SHA-256 of the text that was shown.
    pub text_sha256: [u8; 32],
    /// In which language it was shown, as a BCP 47 tag.
    pub locale: String,
    /// When.
    pub given_at: Timestamp,
}

/// A recorded consent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Its id.
    pub id: ConsentId,
    /// Who gave it.
    pub visit: VisitId,
    /// Which version of the terms was agreed to.
    pub policy_version: String,
    /// SHA-256 of the text that was shown.
    pub text_sha256: [u8; 32],
    /// In which language it was shown, as a BCP 47 tag.
    pub locale: String,
    /// When.
    pub given_at: Timestamp,
}

#[derive(FromRow)]
struct ConsentRow {
    id: Vec<u8>,
    visit: Vec<u8>,
    policy_version: String,
    text_sha256: Vec<u8>,
    locale: String,
    given_at: i64,
}

impl ConsentRow {
    fn into_consent(self) -> Result<Consent, Error> {
        Ok(Consent {
            id: ConsentId::from_bytes(id_bytes(self.id, "consents.id")?),
            visit: VisitId::from_bytes(id_bytes(self.visit, "consents.visit")?),
            policy_version: self.policy_version,
            text_sha256: id_bytes(self.text_sha256, "consents.text_sha256")?,
            locale: self.locale,
            given_at: timestamp(self.given_at, "consents.given_at")?,
        })
    }
}

impl Store {
    /// Records a consent, and the visit when it is new. A visit may consent again, to a later version.
    ///
    /// # Errors
    ///
    /// [`Error::DuplicateId`] when the consent's id is taken, [`Error::Database`].
    pub async fn record_visit_and_consent(
        &self,
        visit: VisitId,
        consent: &NewConsent,
    ) -> Result<(), Error> {
        const ACTION: &str = "record a consent";
        let mut transaction = self.database.write().await?;
        sqlx::query(
            "INSERT INTO visits (id, created_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
        )
        .bind(visit.as_bytes().as_slice())
        .bind(microseconds(consent.given_at))
        .execute(&mut *transaction)
        .await
        .during(ACTION)?;
        let inserted = sqlx::query(
            "INSERT INTO consents (id, visit, policy_version, text_sha256, locale, given_at) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING",
        )
        .bind(consent.id.as_bytes().as_slice())
        .bind(visit.as_bytes().as_slice())
        .bind(consent.policy_version.as_str())
        .bind(consent.text_sha256.as_slice())
        .bind(consent.locale.as_str())
        .bind(microseconds(consent.given_at))
        .execute(&mut *transaction)
        .await
        .during(ACTION)?;
        if inserted.rows_affected() == 0 {
            return Err(Error::DuplicateId { kind: "consent" });
        }
        transaction.commit().await.during(ACTION)
    }

    /// The newest consent of a visit.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn consent(&self, visit: VisitId) -> Result<Option<Consent>, Error> {
        const ACTION: &str = "read a consent";
        let mut transaction = self.database.read().await?;
        let row: Option<ConsentRow> = sqlx::query_as(
            "SELECT id, visit, policy_version, text_sha256, locale, given_at FROM consents \
             WHERE visit = $1 ORDER BY given_at DESC, id DESC LIMIT 1",
        )
        .bind(visit.as_bytes().as_slice())
        .fetch_optional(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        row.map(ConsentRow::into_consent).transpose()
    }

    /// A consent, whoever gave it.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn consent_by_id(&self, id: ConsentId) -> Result<Option<Consent>, Error> {
        const ACTION: &str = "read a consent";
        let mut transaction = self.database.read().await?;
        let row: Option<ConsentRow> = sqlx::query_as(
            "SELECT id, visit, policy_version, text_sha256, locale, given_at FROM consents WHERE id = $1",
        )
        .bind(id.as_bytes().as_slice())
        .fetch_optional(&mut *transaction)
        .await
        .during(ACTION)?;
        transaction.commit().await.during(ACTION)?;
        row.map(ConsentRow::into_consent).transpose()
    }
}
