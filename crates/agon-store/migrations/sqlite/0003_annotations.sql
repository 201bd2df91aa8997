-- What annotators said of battles with a vote: the newest label of each annotator. Labels are JSON.
-- A vote fixes what was labelled, the turns that it counted, so a label is out of date only when its annotator has another version.
CREATE TABLE annotations (
    battle     BLOB    NOT NULL REFERENCES battles (id),
    annotator  TEXT    NOT NULL CHECK (annotator <> ''),
    version    INTEGER NOT NULL CHECK (version >= 1),
    label      TEXT    NOT NULL CHECK (label <> ''),
    given_at   INTEGER NOT NULL,
    PRIMARY KEY (battle, annotator)
) STRICT, WITHOUT ROWID;
