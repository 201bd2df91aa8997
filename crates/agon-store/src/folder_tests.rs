//! What only a store in a folder does: reopening, refusing what is not its own, locks, permissions, damage, sudden death.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use agon_domain::{BattleId, ImageId, Side, Winner};
use sqlx::{Connection as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

use crate::{
    Error, ImageFormat, ImageMeta, NewBattle, Store,
    contract::{
        admit, answer, at, battle_id, check_tally, ended, key, new_battle, start_answered, visit,
    },
};

async fn open(folder: &TempDir) -> Store {
    Store::open(folder.path()).await.unwrap()
}

/// A connection past the store, for what the store itself would never do.
async fn connect(folder: &TempDir) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(folder.path().join("agon.db"));
    SqliteConnection::connect_with(&options).await.unwrap()
}

fn meta() -> ImageMeta {
    ImageMeta {
        format: ImageFormat::Webp,
        width: 2,
        height: 1,
        legacy_md5: None,
        original_format: ImageFormat::Webp,
        created_at: at(5),
    }
}

fn image_path(folder: &TempDir, id: ImageId) -> PathBuf {
    let digits = id.to_string();
    folder
        .path()
        .join("images")
        .join(&digits[..2])
        .join(format!("{}.webp", &digits[2..]))
}

#[tokio::test]
async fn reopening_the_folder_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    admit(&store, visit(1)).await;
    let image = store.put_image(b"picture".to_vec(), &meta()).await.unwrap();
    for n in 0..3 {
        let new = NewBattle {
            image: Some(image),
            ..new_battle(n, visit(1))
        };
        store.start_battle(&new).await.unwrap();
        answer(&store, n, 0).await;
    }
    store
        .cast_vote(battle_id(1), visit(1), Winner::BothBad, at(40))
        .await
        .unwrap();
    let secret = store.voter_key([5; 32]).await.unwrap();
    let everything = async |store: &Store| {
        let mut battles = Vec::new();
        for n in 0..3 {
            battles.push(store.battle(battle_id(n)).await.unwrap().unwrap());
        }
        (
            battles,
            store.consent(visit(1)).await.unwrap().unwrap(),
            store.image(image).await.unwrap().unwrap(),
            store.counts().await.unwrap(),
            store.tally().await.unwrap().0.into_sorted(),
            store.battles_of_visit(visit(1), 10).await.unwrap(),
        )
    };
    let before = everything(&store).await;
    store.close().await;
    assert!(matches!(store.counts().await, Err(Error::Database { .. })));
    let store = open(&folder).await;
    assert_eq!(everything(&store).await, before);
    assert_eq!(store.voter_key([6; 32]).await.unwrap(), secret);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    open(&folder).await.close().await;
    let mut connection = connect(&folder).await;
    sqlx::query("INSERT INTO _sqlx_migrations SELECT 9999, 'from the future', installed_on, success, checksum, execution_time FROM _sqlx_migrations LIMIT 1")
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    let error = Store::open(folder.path()).await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::NewerDatabase {
                found: 9999,
                newest_known: 1..=9998,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(!error.is_refusal());
    let message = error.to_string();
    assert!(
        message.contains("agon.db") && message.contains("newer version"),
        "{message}"
    );
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agon.db");
    let text = b"these are my notes, not a database\n".repeat(100);
    fs::write(&path, &text).unwrap();
    let error = Store::open(folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::Database { .. }), "{error:?}");
    assert_eq!(fs::read(&path).unwrap(), text);
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::open(&file.join("data")).await.unwrap_err();
    assert!(matches!(&error, Error::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("file/data"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_what_is_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    fn visit_all(path: &Path, check: &mut impl FnMut(&Path, u32)) {
        let metadata = fs::symlink_metadata(path).unwrap();
        check(path, metadata.permissions().mode() & 0o777);
        if metadata.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                visit_all(&entry.unwrap().path(), check);
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("new/data");
    let store = Store::open(&data).await.unwrap();
    let lock = store.lock_for_serving().unwrap();
    admit(&store, visit(1)).await;
    start_answered(&store, 1, visit(1)).await;
    store.put_image(b"picture".to_vec(), &meta()).await.unwrap();
    store.voter_key([5; 32]).await.unwrap();
    let mut names = Vec::new();
    visit_all(&data, &mut |path, mode| {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, expected, "{}", path.display());
        names.push(path.file_name().unwrap().to_string_lossy().into_owned());
    });
    for name in [
        "agon.db",
        "agon.db-wal",
        "agon.db-shm",
        "agon.lock",
        "voter.key",
    ] {
        assert!(
            names.iter().any(|found| found == name),
            "{name} in {names:?}"
        );
    }
    assert!(
        !names.iter().any(|name| name.starts_with(".new-")),
        "no temporary file is left: {names:?}"
    );
    drop(lock);
}

#[tokio::test]
async fn a_commit_is_flushed_and_keys_are_enforced() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    for writes in [true, false] {
        let mut transaction = if writes {
            store.database.write().await.unwrap()
        } else {
            store.database.read().await.unwrap()
        };
        let mut setting = async |pragma: &'static str| -> String {
            let row = sqlx::query(pragma)
                .fetch_one(&mut *transaction)
                .await
                .unwrap();
            row.try_get::<i64, _>(0)
                .map(|number| number.to_string())
                .unwrap_or_else(|_| row.get(0))
        };
        assert_eq!(setting("PRAGMA journal_mode").await, "wal");
        assert_eq!(setting("PRAGMA synchronous").await, "2", "2 is FULL");
        assert_eq!(setting("PRAGMA foreign_keys").await, "1");
        assert_eq!(
            setting("PRAGMA query_only").await,
            if writes { "0" } else { "1" }
        );
    }
}

#[tokio::test]
async fn the_schema_itself_refuses_what_the_verbs_never_write() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    admit(&store, visit(1)).await;
    start_answered(&store, 1, visit(1)).await;
    start_answered(&store, 2, visit(1)).await;
    store
        .cast_vote(battle_id(1), visit(1), Winner::A, at(40))
        .await
        .unwrap();
    let mut connection = connect(&folder).await;
    let one = battle_id(1).to_string();
    let two = battle_id(2).to_string();
    for statement in [
        format!("INSERT INTO votes VALUES (2, x'{one}', 'model_a', 1, 0)"),
        format!("INSERT INTO votes VALUES (1, x'{two}', 'model_a', 1, 0)"),
        format!("INSERT INTO votes VALUES (0, x'{two}', 'model_a', 1, 0)"),
        format!("INSERT INTO votes VALUES (2, x'{two}', 'tie (bothbad)', 1, 0)"),
        format!("INSERT INTO votes VALUES (2, x'{two}', 'model_a', 0, 0)"),
        format!("INSERT INTO votes VALUES (2, x'{two}', 'model_a', 1, 'today')"),
        "INSERT INTO votes VALUES (2, x'00', 'model_a', 1, 0)".to_owned(),
        format!("DELETE FROM battles WHERE id = x'{two}'"),
        "UPDATE battles SET mode = 'direct'".to_owned(),
        "UPDATE battles SET model_a = model_b".to_owned(),
        "UPDATE battles SET pair_probability = 0.0".to_owned(),
        "UPDATE battles SET visit = x'00'".to_owned(),
        "UPDATE turns SET prompt = ''".to_owned(),
        "UPDATE turns SET image = zeroblob(32)".to_owned(),
        format!("INSERT INTO turns VALUES (x'{two}', 0, 'again', NULL, 0)"),
        "UPDATE generations SET finish = NULL".to_owned(),
        "UPDATE generations SET finish = 'done'".to_owned(),
        "UPDATE generations SET side = 'left'".to_owned(),
        "UPDATE generations SET failure_kind = 'timeout'".to_owned(),
        "UPDATE generations SET duration_ms = -1".to_owned(),
        "UPDATE generations SET attempt = 0".to_owned(),
        format!(
            "INSERT INTO generations (battle, turn_idx, side, attempt, text, started_at) VALUES (x'{two}', 0, 'a', 1, '', 0)"
        ),
        format!(
            "INSERT INTO generations (battle, turn_idx, side, attempt, text, started_at) VALUES (x'{two}', 7, 'a', 1, '', 0)"
        ),
    ] {
        let result = sqlx::query(sqlx::AssertSqlSafe(statement.clone()))
            .execute(&mut connection)
            .await;
        let error = result.expect_err(&statement);
        let kind = error.as_database_error().unwrap().message().to_owned();
        assert!(
            kind.contains("constraint") || kind.contains("cannot store"),
            "{statement}: {kind}"
        );
    }
    connection.close().await.unwrap();
    check_tally(&store).await;
}

#[tokio::test]
async fn a_stored_value_of_no_known_spelling_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    admit(&store, visit(1)).await;
    start_answered(&store, 1, visit(1)).await;
    let mut connection = connect(&folder).await;
    for (statement, column) in [
        (
            "UPDATE generations SET finish = 'done'",
            "generations.finish",
        ),
        (
            "UPDATE generations SET attempt = 4294967296",
            "generations.attempt",
        ),
        (
            "UPDATE turns SET sent_at = 9223372036854775807",
            "turns.sent_at",
        ),
        ("UPDATE battles SET voter = x'00'", "battles.voter"),
        ("UPDATE battles SET mode = 'direct'", "battles.mode"),
    ] {
        sqlx::raw_sql("PRAGMA ignore_check_constraints = ON; BEGIN")
            .execute(&mut connection)
            .await
            .unwrap();
        sqlx::query(statement)
            .execute(&mut connection)
            .await
            .unwrap();
        sqlx::raw_sql("COMMIT")
            .execute(&mut connection)
            .await
            .unwrap();
        let error = store.battle(battle_id(1)).await.unwrap_err();
        assert!(
            matches!(error, Error::Corrupt { column: found } if found == column),
            "{statement}: {error:?}"
        );
        assert_eq!(
            error.to_string(),
            format!("the stored value of `{column}` cannot be read")
        );
        let restore = "UPDATE generations SET finish = 'stop', attempt = 1; UPDATE turns SET sent_at = 0; \
                       UPDATE battles SET voter = zeroblob(16), mode = 'battle'";
        sqlx::raw_sql(restore)
            .execute(&mut connection)
            .await
            .unwrap();
        assert!(store.battle(battle_id(1)).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn one_server_owns_a_folder_and_others_may_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    let lock = store.lock_for_serving().unwrap();
    let other = open(&folder).await;
    let error = other.lock_for_serving().unwrap_err();
    assert!(
        matches!(&error, Error::AlreadyServing { folder: named } if named == folder.path()),
        "{error:?}"
    );
    assert!(error.to_string().contains(folder.path().to_str().unwrap()));
    admit(&store, visit(1)).await;
    start_answered(&store, 1, visit(1)).await;
    assert!(other.battle(battle_id(1)).await.unwrap().is_some());
    drop(lock);
    let _lock = other.lock_for_serving().unwrap();
    assert!(store.lock_for_serving().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_may_open_a_new_folder_at_once_and_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let tasks: Vec<_> = (0..16_u8)
        .map(|n| {
            let path = path.clone();
            tokio::spawn(async move {
                let store = Store::open(&path).await.unwrap();
                admit(&store, visit(n)).await;
                for i in 0..3 {
                    let n_battle = u64::from(n) * 10 + i;
                    start_answered(&store, n_battle, visit(n)).await;
                    store
                        .cast_vote(battle_id(n_battle), visit(n), Winner::Tie, at(40))
                        .await
                        .unwrap();
                }
                let key = store.voter_key([n; 32]).await.unwrap();
                store.close().await;
                key
            })
        })
        .collect();
    let mut keys = Vec::new();
    for task in tasks {
        keys.push(task.await.unwrap());
    }
    keys.dedup();
    assert_eq!(keys.len(), 1, "all got the same key");
    let store = Store::open(&path).await.unwrap();
    assert_eq!(store.last_sequence().await.unwrap(), 48);
    check_tally(&store).await;
}

#[tokio::test]
async fn readers_go_on_while_a_vote_is_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    admit(&store, visit(1)).await;
    start_answered(&store, 1, visit(1)).await;
    let writing = store.database.write().await.unwrap();
    assert!(store.battle(battle_id(1)).await.unwrap().is_some());
    assert_eq!(store.tally().await.unwrap().1, 0);
    drop(writing);
    store
        .cast_vote(battle_id(1), visit(1), Winner::A, at(40))
        .await
        .unwrap();
    assert_eq!(store.tally().await.unwrap().1, 1);
}

#[tokio::test]
async fn a_damaged_image_is_never_served() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    let bytes: Vec<u8> = (0..=255).collect();
    let id = store.put_image(bytes.clone(), &meta()).await.unwrap();
    let path = image_path(&folder, id);
    assert_eq!(fs::read(&path).unwrap(), bytes);
    let is_damaged = async || matches!(store.image(id).await, Err(Error::DamagedImage(damaged)) if damaged == id);
    for idx in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[idx] ^= 1 << (idx % 8);
        fs::write(&path, flipped).unwrap();
        assert!(is_damaged().await, "bit flipped in byte {idx}");
    }
    for other in [&bytes[..255], &[], &[&bytes[..], &[0]].concat()] {
        fs::write(&path, other).unwrap();
        assert!(is_damaged().await, "{} bytes", other.len());
    }
    fs::remove_file(&path).unwrap();
    assert!(is_damaged().await, "missing");
    // Storing the same image again mends it.
    fs::write(&path, b"rotten").unwrap();
    assert_eq!(store.put_image(bytes.clone(), &meta()).await.unwrap(), id);
    assert_eq!(store.image(id).await.unwrap().unwrap().bytes, bytes);
}

#[tokio::test]
async fn a_secret_that_cannot_be_trusted_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    store.voter_key([5; 32]).await.unwrap();
    let path = folder.path().join("voter.key");
    assert_eq!(fs::read(&path).unwrap(), [5; 32]);
    let refused = async |expected: &str| {
        let error = store.voter_key([6; 32]).await.unwrap_err();
        assert!(
            matches!(&error, Error::BadSecret { path: named, .. } if *named == path),
            "{error:?}"
        );
        assert!(error.to_string().contains(expected), "{error}");
    };
    for bytes in [&[][..], &[5; 31], &[5; 33], &[5; 64]] {
        fs::write(&path, bytes).unwrap();
        refused(&format!("it has `{}` bytes: expected 32", bytes.len())).await;
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    fs::write(&path, [7; 32]).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o777] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            refused(&format!("its mode is `{mode:o}`")).await;
        }
        for mode in [0o600, 0o400] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(store.voter_key([6; 32]).await.unwrap(), [7; 32]);
        }
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused("it is not a file").await;
}

#[tokio::test]
async fn no_secret_is_in_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    let secret = *b"0123456789abcdefghijklmnopqrstuv";
    store.voter_key(secret).await.unwrap();
    admit(&store, visit(1)).await;
    start_answered(&store, 1, visit(1)).await;
    let mut n_files = 0;
    for name in ["agon.db", "agon.db-wal"] {
        let bytes = fs::read(folder.path().join(name)).unwrap();
        assert!(!bytes.windows(32).any(|window| window == secret), "{name}");
        n_files += usize::from(!bytes.is_empty());
    }
    assert_eq!(n_files, 2);
}

#[tokio::test]
async fn a_replaced_attempt_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    admit(&store, visit(1)).await;
    store.start_battle(&new_battle(1, visit(1))).await.unwrap();
    let failed = crate::FinishedGeneration {
        failure_kind: Some("rate_limited".to_owned()),
        ..ended("half an ans", agon_domain::Finish::Failed)
    };
    store
        .finish_generation(key(1, 0, Side::A, 1), &failed)
        .await
        .unwrap();
    store
        .retry_generation(battle_id(1), visit(1), Side::A, at(30))
        .await
        .unwrap();
    let mut connection = connect(&folder).await;
    let kept: Vec<(i64, String, Option<String>, Option<String>)> = sqlx::query_as(
        "SELECT attempt, text, finish, failure_kind FROM generations WHERE side = 'a' ORDER BY attempt",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert_eq!(
        kept,
        [
            (
                1,
                "half an ans".to_owned(),
                Some("failed".to_owned()),
                Some("rate_limited".to_owned())
            ),
            (2, String::new(), None, None),
        ]
    );
}

/// Tells the child process of [`acknowledged_votes_survive_a_kill`] what it is: the folder, and the number of its first battle.
const CHILD_FOLDER: &str = "AGON_STORE_TEST_CHILD_FOLDER";
const CHILD_FIRST: &str = "AGON_STORE_TEST_CHILD_FIRST";

/// Not a test by itself: does nothing unless it is the child process of the next one.
#[tokio::test]
async fn a_child_votes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(CHILD_FOLDER) else {
        return;
    };
    let first: u64 = std::env::var_os(CHILD_FIRST)
        .unwrap()
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    let store = Store::open(Path::new(&folder)).await.unwrap();
    let _lock = store.lock_for_serving().unwrap();
    store.interrupt_running(at(5)).await.unwrap();
    for n in first.. {
        start_answered(&store, n, visit(1)).await;
        let cast = store
            .cast_vote(battle_id(n), visit(1), Winner::B, at(40))
            .await
            .unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "voted {} {}", cast.vote().sequence, battle_id(n)).unwrap();
        out.flush().unwrap();
    }
}

#[tokio::test]
async fn acknowledged_votes_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    admit(&store, visit(1)).await;
    store.close().await;
    let mut acknowledged: Vec<(u64, BattleId)> = Vec::new();
    for kill in 0..20_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "folder_tests::a_child_votes_until_it_is_killed",
                "--exact",
                "--nocapture",
            ])
            .env(CHILD_FOLDER, folder.path())
            .env(CHILD_FIRST, (kill * 1_000_000).to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut n_left = 1 + kill % 7 * 3;
        // After the kill, what the child had already written is still in the pipe and counts as acknowledged.
        while let Some(Ok(line)) = lines.next() {
            let mut words = line.split(' ');
            // The harness writes its own words around, and before, the first line.
            if !words.any(|word| word == "voted") {
                continue;
            }
            let (Some(sequence), Some(battle)) = (words.next(), words.next()) else {
                continue;
            };
            acknowledged.push((sequence.parse().unwrap(), battle.parse().unwrap()));
            n_left -= 1;
            if n_left == 0 {
                child.kill().unwrap();
                n_left = u64::MAX;
            }
        }
        child.wait().unwrap();
        let store = open(&folder).await;
        for (sequence, battle) in &acknowledged {
            let kept = store.battle(*battle).await.unwrap().unwrap();
            assert_eq!(kept.vote.unwrap().sequence, *sequence, "kill {kill}");
        }
        check_tally(&store).await;
        store.close().await;
    }
    let store = open(&folder).await;
    let stored = store.last_sequence().await.unwrap();
    let n_acknowledged = u64::try_from(acknowledged.len()).unwrap();
    // Each kill may leave one vote that was stored and not yet acknowledged.
    assert!(n_acknowledged <= stored && stored <= n_acknowledged + 20);
    assert!(n_acknowledged >= 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process_imports_into_a_source_and_what_it_leaves_is_gone_on_with() {
    use crate::{ImportId, NewImport, NewOriginal, OriginalId, OriginalMeta};
    let folder = tempfile::tempdir().unwrap();
    let import = |n: u8| NewImport {
        id: ImportId::from_bytes([n; 16]),
        source: "logs".to_owned(),
        request_sha256: [n; 32],
        clean_profile: None,
        aliases: None,
        program_version: "0.1.0".to_owned(),
        started_at: jiff::Timestamp::UNIX_EPOCH,
    };
    let original = |n: u8| {
        let bytes = vec![n; 100];
        NewOriginal {
            id: OriginalId::from_bytes(*crate::images::hash(&bytes).as_bytes()),
            bytes: bytes.into(),
            meta: OriginalMeta {
                format: ImageFormat::Png,
                width: 1,
                height: 1,
                legacy_md5: None,
            },
        }
    };
    let first = open(&folder).await;
    let begun = first.begin_import(&import(1)).await.unwrap();
    let written = first
        .write_originals(begun.id, vec![original(1)])
        .await
        .unwrap();
    first
        .add_imported_with(begun.id, &[], &written)
        .await
        .unwrap();
    // Written, and lost as nobody was told of it.
    first
        .write_originals(begun.id, vec![original(2)])
        .await
        .unwrap();
    let second = open(&folder).await;
    for n in [1, 2] {
        let error = second.begin_import(&import(n)).await.unwrap_err();
        assert!(matches!(error, Error::RunningImport { .. }), "{error}");
    }
    let error = second.discard_unfinished_import("logs").await.unwrap_err();
    assert!(matches!(error, Error::RunningImport { .. }), "{error}");
    first.close().await;
    drop(first);
    let error = second.begin_import(&import(2)).await.unwrap_err();
    assert!(matches!(error, Error::UnfinishedImport { .. }), "{error}");
    let again = second.begin_import(&import(1)).await.unwrap();
    assert_eq!(again.id, begun.id);
    let pack = crate::import::pack::place_of(folder.path(), begun.id);
    assert_eq!(std::fs::metadata(&pack).unwrap().len(), 100);
    let written = second
        .write_originals(begun.id, vec![original(3)])
        .await
        .unwrap();
    second
        .add_imported_with(begun.id, &[], &written)
        .await
        .unwrap();
    for n in [1, 3] {
        let read = second.original(original(n).id).await.unwrap().unwrap();
        assert_eq!(read.bytes, original(n).bytes);
    }
    // A damaged picture is never given out.
    let mut bytes = std::fs::read(&pack).unwrap();
    bytes[150] ^= 1;
    std::fs::write(&pack, bytes).unwrap();
    let error = second.original(original(3).id).await.unwrap_err();
    assert!(matches!(error, Error::DamagedImage(_)), "{error}");
    assert_eq!(second.discard_unfinished_import("logs").await.unwrap(), 0);
    assert!(!pack.exists());
}
