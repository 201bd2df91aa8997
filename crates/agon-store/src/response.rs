//! The first answer to a request that carried an idempotency key, so that a repeated request gets the same one.
//!
//! Verbs that may not happen twice (a vote, a finish) are safe without this.

use agon_domain::VisitId;
use jiff::Timestamp;

use crate::{Error, Store, error::During as _, id_bytes, microseconds};

/// The longest accepted key, in bytes.
pub const REQUEST_KEY_BYTES_MAX: usize = 255;

/// What makes two requests the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestKey<'a> {
    /// Who sent it. Keys of different visits have nothing to do with each other.
    pub visit: VisitId,
    /// Which operation, for instance `start_battle`.
    pub operation: &'a str,
    /// The key that the client chose: 1 to [`REQUEST_KEY_BYTES_MAX`] bytes.
    pub key: &'a str,
}

/// The answer to the first request with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberedResponse {
    /// SHA-256 of the first request's body. Another body under the same key is a client's mistake.
    pub request_sha256: [u8; 32],
    /// The answer, as it was sent.
    pub response: String,
}

impl Store {
    /// The answer to the first request with this key.
    ///
    /// # Errors
    ///
    /// [`Error::Database`], [`Error::Corrupt`].
    pub async fn remembered_response(
        &self,
        key: RequestKey<'_>,
    ) -> Result<Option<RememberedResponse>, Error> {
        const ACTION: &str = "read a remembered response";
        let mut transaction = self.database.read().await?;
        let row = select(&mut transaction, key).await?;
        transaction.commit().await.during(ACTION)?;
        Ok(row)
    }

    /// Remembers the answer to a request and returns the one that counts: this one, or the one that another request with the same key was faster to leave.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a key that is empty or too long, [`Error::Database`] (also for an unknown visit), [`Error::Corrupt`].
    pub async fn remember_response(
        &self,
        key: RequestKey<'_>,
        response: &RememberedResponse,
        at: Timestamp,
    ) -> Result<RememberedResponse, Error> {
        const ACTION: &str = "remember a response";
        if key.key.is_empty() || key.key.len() > REQUEST_KEY_BYTES_MAX {
            return Err(Error::Invalid {
                field: "idempotency key",
                expected: "1 to 255 bytes",
            });
        }
        let mut transaction = self.database.write().await?;
        sqlx::query(
            "INSERT INTO responses (visit, operation, request_key, request_sha256, response, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (visit, operation, request_key) DO NOTHING",
        )
        .bind(key.visit.as_bytes().as_slice())
        .bind(key.operation)
        .bind(key.key)
        .bind(response.request_sha256.as_slice())
        .bind(response.response.as_str())
        .bind(microseconds(at))
        .execute(&mut *transaction)
        .await
        .during(ACTION)?;
        let first = select(&mut transaction, key).await?;
        transaction.commit().await.during(ACTION)?;
        first.ok_or(Error::Corrupt {
            column: "responses.request_key",
        })
    }
}

async fn select(
    connection: &mut sqlx::SqliteConnection,
    key: RequestKey<'_>,
) -> Result<Option<RememberedResponse>, Error> {
    let row: Option<(Vec<u8>, String)> = sqlx::query_as(
        "SELECT request_sha256, response FROM responses WHERE visit = $1 AND operation = $2 AND request_key = $3",
    )
    .bind(key.visit.as_bytes().as_slice())
    .bind(key.operation)
    .bind(key.key)
    .fetch_optional(connection)
    .await
    .during("read a remembered response")?;
    row.map(|(request_sha256, response)| {
        Ok(RememberedResponse {
            request_sha256: id_bytes(request_sha256, "responses.request_sha256")?,
            response,
        })
    })
    .transpose()
}
