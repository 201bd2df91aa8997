-- Battles of other arenas, imported from published sets and logs.
--
-- They have tables of their own: neither a visit nor a consent of this arena stands behind them, and its leaderboard never counts them.
-- The battles of an import count once it is finished. At most one import of a source is unfinished; another run goes on with it.

CREATE TABLE imports (
    id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    source           TEXT    NOT NULL CHECK (source <> ''),
    request_sha256   BLOB    NOT NULL CHECK (length(request_sha256) = 32),
    clean_profile    TEXT,
    aliases_version  TEXT,
    aliases_sha256   BLOB    CHECK (length(aliases_sha256) = 32),
    program_version  TEXT    NOT NULL,
    started_at       INTEGER NOT NULL,
    finished_at      INTEGER,
    n_rows           INTEGER CHECK (n_rows >= 0),
    CHECK ((aliases_version IS NULL) = (aliases_sha256 IS NULL)),
    CHECK ((finished_at IS NULL) = (n_rows IS NULL))
) STRICT;
CREATE UNIQUE INDEX imports_unfinished ON imports (source) WHERE finished_at IS NULL;

-- What an import read, once it is finished.
CREATE TABLE import_inputs (
    import  BLOB    NOT NULL REFERENCES imports (id),
    idx     INTEGER NOT NULL CHECK (idx >= 0),
    name    TEXT    NOT NULL,
    format  TEXT    NOT NULL,
    sha256  TEXT,
    n_rows  INTEGER NOT NULL CHECK (n_rows >= 0),
    n_kept  INTEGER NOT NULL CHECK (n_kept >= 0),
    PRIMARY KEY (import, idx)
) STRICT;

-- Its counts by reason: rows that were rejected, and images that are not there.
CREATE TABLE import_counts (
    import  BLOB    NOT NULL REFERENCES imports (id),
    kind    TEXT    NOT NULL CHECK (kind IN ('rejected', 'image')),
    reason  TEXT    NOT NULL,
    n       INTEGER NOT NULL CHECK (n >= 0),
    PRIMARY KEY (import, kind, reason)
) STRICT;

-- The id is a hash of the source's name and the original id, so that a second copy is refused by the index.
-- `row_idx` is the position among the votes that the import reads. `excluded_by` and `flags` (codes, separated by spaces) are what cleaning says.
CREATE TABLE imported_battles (
    sequence      INTEGER NOT NULL PRIMARY KEY CHECK (sequence >= 1),
    id            BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    import        BLOB    NOT NULL REFERENCES imports (id),
    row_idx       INTEGER NOT NULL CHECK (row_idx >= 0),
    original_id   TEXT    NOT NULL CHECK (original_id <> ''),
    model_a       TEXT    NOT NULL,
    model_b       TEXT    NOT NULL,
    winner        TEXT    NOT NULL CHECK (winner IN ('model_a', 'model_b', 'tie', 'both_bad')),
    judge         BLOB    CHECK (length(judge) = 16),
    is_anonymous  INTEGER CHECK (is_anonymous IN (0, 1)),
    language      TEXT,
    n_turns       INTEGER CHECK (n_turns >= 0),
    cast_at       INTEGER,
    tokens_a      INTEGER CHECK (tokens_a >= 0),
    headers_a     INTEGER CHECK (headers_a >= 0),
    lists_a       INTEGER CHECK (lists_a >= 0),
    bold_a        INTEGER CHECK (bold_a >= 0),
    tokens_b      INTEGER CHECK (tokens_b >= 0),
    headers_b     INTEGER CHECK (headers_b >= 0),
    lists_b       INTEGER CHECK (lists_b >= 0),
    bold_b        INTEGER CHECK (bold_b >= 0),
    excluded_by   TEXT,
    flags         TEXT    NOT NULL DEFAULT '',
    CHECK (model_a <> model_b)
) STRICT;
CREATE INDEX imported_battles_by_import ON imported_battles (import, row_idx);

CREATE TABLE imported_messages (
    battle  INTEGER NOT NULL REFERENCES imported_battles (sequence),
    side    TEXT    NOT NULL CHECK (side IN ('a', 'b')),
    idx     INTEGER NOT NULL CHECK (idx >= 0),
    role    TEXT    NOT NULL,
    text    TEXT,
    PRIMARY KEY (battle, side, idx)
) STRICT, WITHOUT ROWID;

-- The images of a battle in their order. `reference` is how the source names it, `problem` why it is not here.
CREATE TABLE imported_images (
    battle     INTEGER NOT NULL REFERENCES imported_battles (sequence),
    idx        INTEGER NOT NULL CHECK (idx >= 0),
    turn_idx   INTEGER CHECK (turn_idx >= 0),
    reference  TEXT,
    image      BLOB    REFERENCES images (id),
    problem    TEXT,
    PRIMARY KEY (battle, idx),
    CHECK ((image IS NULL) <> (problem IS NULL))
) STRICT, WITHOUT ROWID;

-- Which image became of which original bytes, so that the same ones are decoded once.
CREATE TABLE image_originals (
    sha256  BLOB NOT NULL PRIMARY KEY CHECK (length(sha256) = 32),
    image   BLOB NOT NULL REFERENCES images (id)
) STRICT, WITHOUT ROWID;

-- The votes of finished imports that cleaning keeps, by ordered pair, and those that it does not, by rule.
CREATE TABLE imported_tallies (
    source   TEXT    NOT NULL,
    model_a  TEXT    NOT NULL,
    model_b  TEXT    NOT NULL,
    winner   TEXT    NOT NULL CHECK (winner IN ('model_a', 'model_b', 'tie', 'both_bad')),
    n        INTEGER NOT NULL CHECK (n >= 1),
    PRIMARY KEY (source, model_a, model_b, winner)
) STRICT;
CREATE TABLE imported_exclusions (
    source       TEXT    NOT NULL,
    excluded_by  TEXT    NOT NULL,
    n            INTEGER NOT NULL CHECK (n >= 1),
    PRIMARY KEY (source, excluded_by)
) STRICT;
