-- What detectors said of content, and what followed. Neither holds content: hashes name it, findings say where and what kind.

-- The answer of one detector in one version. Answers of other versions stay until they are replaced, and are not read.
CREATE TABLE screenings (
    content      TEXT    NOT NULL CHECK (content IN ('picture', 'text')),
    sha256       BLOB    NOT NULL CHECK (length(sha256) = 32),
    -- The language that a text was said to be in; '' for none.
    language     TEXT    NOT NULL,
    detector     TEXT    NOT NULL CHECK (detector <> ''),
    version      TEXT    NOT NULL,
    -- JSON.
    findings     TEXT    NOT NULL,
    answered_at  INTEGER NOT NULL,
    PRIMARY KEY (content, sha256, language, detector)
) STRICT, WITHOUT ROWID;

-- The newest decision on content for a purpose, with the hash of the rules and detectors that it rests on.
CREATE TABLE dispositions (
    content     TEXT    NOT NULL CHECK (content IN ('picture', 'text')),
    sha256      BLOB    NOT NULL CHECK (length(sha256) = 32),
    purpose     TEXT    NOT NULL CHECK (purpose IN ('chat', 'release')),
    rules       BLOB    NOT NULL CHECK (length(rules) = 32),
    verdict     TEXT    NOT NULL CHECK (verdict IN ('allow', 'undecided', 'block')),
    action      TEXT    NOT NULL CHECK (action IN ('off', 'log', 'warn', 'blur', 'block', 'quarantine')),
    -- Kinds found, kinds without an answer, and failures by detector, as JSON.
    reasons     TEXT    NOT NULL,
    decided_at  INTEGER NOT NULL,
    PRIMARY KEY (content, sha256, purpose)
) STRICT, WITHOUT ROWID;

-- What lists of known images and searches for copies know an image by. The legacy MD5 is in `images`.
CREATE TABLE image_hashes (
    image            BLOB    NOT NULL PRIMARY KEY REFERENCES images (id),
    original_md5     BLOB    NOT NULL CHECK (length(original_md5) = 16),
    original_sha256  BLOB    NOT NULL CHECK (length(original_sha256) = 32),
    pixel_sha256     BLOB    NOT NULL CHECK (length(pixel_sha256) = 32),
    pdq              BLOB    NOT NULL CHECK (length(pdq) = 32),
    pdq_quality      INTEGER NOT NULL CHECK (pdq_quality BETWEEN 0 AND 100)
) STRICT, WITHOUT ROWID;

-- Battles that ended before their voter ended them.
CREATE TABLE ended_battles (
    battle    BLOB    NOT NULL PRIMARY KEY REFERENCES battles (id),
    ended_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Sealed cases: matches with known images. What is sealed is in a file that two custodians open together.
CREATE TABLE quarantine_cases (
    id             BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    sealed_at      INTEGER NOT NULL,
    retain_until   INTEGER NOT NULL,
    -- A battle that existed when the match was found; none for a picture that was refused at the door.
    battle         BLOB    REFERENCES battles (id),
    sealed_sha256  BLOB    NOT NULL CHECK (length(sealed_sha256) = 32),
    n_bytes        INTEGER NOT NULL CHECK (n_bytes > 0),
    state          TEXT    NOT NULL CHECK (state IN ('sealed', 'report_prepared', 'report_submitting', 'report_parked', 'reported', 'destroyed')),
    -- The authority's number of the report.
    report_id      TEXT
) STRICT, WITHOUT ROWID;

-- Everything that was done with a case. Rows are added, never changed, never removed.
CREATE TABLE quarantine_events (
    sequence     INTEGER NOT NULL PRIMARY KEY,
    quarantined  BLOB    NOT NULL REFERENCES quarantine_cases (id),
    what         TEXT    NOT NULL CHECK (what IN ('sealed', 'opened', 'report_prepared', 'report_submitting', 'report_parked', 'reported', 'destroyed')),
    -- Who did it, as they said or as their keys say.
    who          TEXT    NOT NULL CHECK (who <> ''),
    at           INTEGER NOT NULL
) STRICT;
CREATE INDEX quarantine_events_by_case ON quarantine_events (quarantined, sequence);
CREATE TRIGGER quarantine_events_are_not_changed BEFORE UPDATE ON quarantine_events
BEGIN
    SELECT RAISE(ABORT, 'events of sealed cases are never changed');
END;
CREATE TRIGGER quarantine_events_are_not_removed BEFORE DELETE ON quarantine_events
BEGIN
    SELECT RAISE(ABORT, 'events of sealed cases are never removed');
END;
