-- Everything an arena keeps, images and keys apart.
--
-- Ids are the bytes of their domain types. Timestamps are microseconds since 1970 in UTC.
-- Spellings are those of `as_str` in agon-domain; a CHECK refuses every other.

CREATE TABLE visits (
    id          BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 32),
    created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE consents (
    id              BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    visit           BLOB    NOT NULL REFERENCES visits (id),
    policy_version  TEXT    NOT NULL,
    text_sha256     BLOB    NOT NULL CHECK (length(text_sha256) = 32),
    locale          TEXT    NOT NULL,
    given_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX consents_by_visit ON consents (visit, given_at);

CREATE TABLE images (
    id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 32),
    format           TEXT    NOT NULL CHECK (format IN ('png', 'jpeg', 'webp', 'gif', 'bmp', 'tiff')),
    width            INTEGER NOT NULL CHECK (width > 0),
    height           INTEGER NOT NULL CHECK (height > 0),
    n_bytes          INTEGER NOT NULL CHECK (n_bytes > 0),
    legacy_md5       BLOB    CHECK (length(legacy_md5) = 16),
    original_format  TEXT    NOT NULL CHECK (original_format IN ('png', 'jpeg', 'webp', 'gif', 'bmp', 'tiff')),
    created_at       INTEGER NOT NULL
) STRICT;

CREATE TABLE battles (
    id                BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    visit             BLOB    NOT NULL REFERENCES visits (id),
    voter             BLOB    NOT NULL CHECK (length(voter) = 16),
    consent           BLOB    NOT NULL REFERENCES consents (id),
    mode              TEXT    NOT NULL CHECK (mode IN ('battle')),
    model_a           TEXT    NOT NULL,
    model_b           TEXT    NOT NULL,
    pair_probability  REAL    NOT NULL CHECK (pair_probability > 0.0 AND pair_probability <= 1.0),
    started_at        INTEGER NOT NULL,
    CHECK (model_a <> model_b)
) STRICT;
CREATE INDEX battles_by_visit ON battles (visit, started_at);

CREATE TABLE turns (
    battle   BLOB    NOT NULL REFERENCES battles (id),
    idx      INTEGER NOT NULL CHECK (idx >= 0),
    prompt   TEXT    NOT NULL,
    image    BLOB    REFERENCES images (id),
    sent_at  INTEGER NOT NULL,
    PRIMARY KEY (battle, idx),
    CHECK (prompt <> '' OR image IS NOT NULL),
    CHECK (image IS NULL OR idx = 0)
) STRICT;

-- One row for each attempt. A generation without a finish is running.
CREATE TABLE generations (
    battle          BLOB    NOT NULL,
    turn_idx        INTEGER NOT NULL,
    side            TEXT    NOT NULL CHECK (side IN ('a', 'b')),
    attempt         INTEGER NOT NULL CHECK (attempt >= 1),
    text            TEXT    NOT NULL,
    finish          TEXT    CHECK (finish IN ('stop', 'length', 'filtered', 'empty', 'cut', 'failed', 'interrupted')),
    failure_kind    TEXT,
    input_tokens    INTEGER CHECK (input_tokens >= 0),
    output_tokens   INTEGER CHECK (output_tokens >= 0),
    first_token_ms  INTEGER CHECK (first_token_ms >= 0),
    duration_ms     INTEGER CHECK (duration_ms >= 0),
    started_at      INTEGER NOT NULL,
    finished_at     INTEGER,
    PRIMARY KEY (battle, turn_idx, side, attempt),
    FOREIGN KEY (battle, turn_idx) REFERENCES turns (battle, idx),
    CHECK ((finish IS NULL) = (finished_at IS NULL)),
    CHECK (failure_kind IS NULL OR (finish IS NOT NULL AND finish NOT IN ('stop', 'length')))
) STRICT;
CREATE INDEX generations_running ON generations (battle) WHERE finish IS NULL;

-- The unique battle makes a second vote impossible; the sequence has no holes.
CREATE TABLE votes (
    sequence  INTEGER NOT NULL PRIMARY KEY CHECK (sequence >= 1),
    battle    BLOB    NOT NULL UNIQUE REFERENCES battles (id),
    winner    TEXT    NOT NULL CHECK (winner IN ('model_a', 'model_b', 'tie', 'both_bad')),
    n_turns   INTEGER NOT NULL CHECK (n_turns >= 1),
    cast_at   INTEGER NOT NULL
) STRICT;

-- The votes counted by ordered pair, kept up to date by the transaction of each vote, so that a leaderboard does not read every vote.
CREATE TABLE tallies (
    model_a  TEXT    NOT NULL,
    model_b  TEXT    NOT NULL,
    winner   TEXT    NOT NULL CHECK (winner IN ('model_a', 'model_b', 'tie', 'both_bad')),
    n        INTEGER NOT NULL CHECK (n >= 1),
    PRIMARY KEY (model_a, model_b, winner)
) STRICT;

-- The first answer to a request that carried an idempotency key.
CREATE TABLE responses (
    visit           BLOB    NOT NULL REFERENCES visits (id),
    operation       TEXT    NOT NULL,
    request_key     TEXT    NOT NULL,
    request_sha256  BLOB    NOT NULL CHECK (length(request_sha256) = 32),
    response        TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (visit, operation, request_key)
) STRICT;
