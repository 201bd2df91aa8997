//! SQLite: one connection that writes, a few that read.
//!
//! SQLite has one writer at a time in any case.
//! With one writing connection the waiting happens in the pool, in order and without a busy error, however many tasks write at once.
//! The statements elsewhere in this crate keep to what PostgreSQL understands too.

use std::{path::Path, time::Duration};

use sqlx::{
    ConnectOptions as _, Connection as _, Sqlite, SqlitePool, Transaction,
    migrate::{MigrateError, Migrator},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use crate::{Error, error::During as _};

/// How many connections read.
const READERS_MAX: u32 = 4;
/// How long a statement waits for a lock that another process holds (a checkpoint, a migration).
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a verb waits for a connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(60);

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// The connections to one database.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    writer: SqlitePool,
    reader: SqlitePool,
}

impl Connections {
    /// Opens the database file, which must exist (an empty file is an empty database), and brings its schema up to date.
    ///
    /// A writing connection that comes back in the middle of a transaction is replaced.
    /// When the disk is full SQLite rolls back by itself; the driver's own rollback then fails, and it would take that connection to be in a transaction for good, so that nothing was ever written again.
    pub(crate) async fn open(path: &Path) -> Result<Self, Error> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT)
            .foreign_keys(true)
            .disable_statement_logging();
        let writer = pool(1)
            .before_acquire(|connection, _| Box::pin(async { Ok(!connection.is_in_transaction()) }))
            .connect_with(options.clone())
            .await
            .during("open the file")?;
        migrate(&writer, path).await?;
        let reader = pool(READERS_MAX).connect_lazy_with(options.pragma("query_only", "ON"));
        Ok(Self { writer, reader })
    }

    /// A database in memory: one connection, because each connection would be a database of its own.
    pub(crate) async fn in_memory() -> Result<Self, Error> {
        let options = SqliteConnectOptions::new()
            .foreign_keys(true)
            .disable_statement_logging();
        let writer = pool(1)
            .connect_with(options)
            .await
            .during("open a database in memory")?;
        migrate(&writer, Path::new(":memory:")).await?;
        Ok(Self {
            reader: writer.clone(),
            writer,
        })
    }

    /// A transaction that writes. It takes the write lock at once, so that what it reads stays true until it commits.
    pub(crate) async fn write(&self) -> Result<Transaction<'static, Sqlite>, Error> {
        self.writer
            .begin_with("BEGIN IMMEDIATE")
            .await
            .during("begin a transaction")
    }

    /// A transaction that reads one state of the database, whatever is written meanwhile.
    pub(crate) async fn read(&self) -> Result<Transaction<'static, Sqlite>, Error> {
        self.reader.begin().await.during("begin a transaction")
    }

    /// Waits for the running verbs and closes.
    pub(crate) async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }
}

/// Connections stay open: there are few, and the one in memory must not be lost.
fn pool(connections_max: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections_max)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

async fn migrate(writer: &SqlitePool, path: &Path) -> Result<(), Error> {
    let newest_known = MIGRATIONS
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or(0);
    match MIGRATIONS.run(writer).await {
        Ok(()) => Ok(()),
        Err(MigrateError::VersionMissing(_)) => {
            let found: i64 = sqlx::query_scalar("SELECT MAX(version) FROM _sqlx_migrations")
                .fetch_one(writer)
                .await
                .during("read its schema version")?;
            Err(Error::NewerDatabase {
                path: path.to_owned(),
                found,
                newest_known,
            })
        }
        Err(source) => Err(Error::Database {
            action: "bring its schema up to date",
            source: Box::new(source),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn writing_goes_on_after_the_disk_was_full() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agon.db");
        std::fs::File::create(&path).unwrap();
        let connections = Connections::open(&path).await.unwrap();
        sqlx::query("CREATE TABLE scratch (bytes BLOB)")
            .execute(&connections.writer)
            .await
            .unwrap();
        // As a full disk, of which it has the same error, and only for this connection.
        sqlx::query("PRAGMA max_page_count = 1")
            .execute(&connections.writer)
            .await
            .unwrap();
        let write = async || {
            let mut transaction = connections.write().await?;
            sqlx::query("INSERT INTO scratch VALUES (zeroblob(1000000))")
                .execute(&mut *transaction)
                .await
                .during("write")?;
            transaction.commit().await.during("write")
        };
        write().await.unwrap_err();
        write().await.unwrap();
        let n: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM scratch")
            .fetch_one(&connections.reader)
            .await
            .unwrap();
        assert_eq!(n, 1);
    }
}
