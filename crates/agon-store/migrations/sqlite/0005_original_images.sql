-- Pictures of imported battles as they came, in one file for each import that brought some. `pack` is the import whose file it is.
-- `problem` says why a picture could not be made fit to be shown, once that was tried; what became of it otherwise is in `image_originals`.
CREATE TABLE original_images (
    sha256      BLOB    NOT NULL PRIMARY KEY CHECK (length(sha256) = 32),
    pack        BLOB    NOT NULL CHECK (length(pack) = 16),
    position    INTEGER NOT NULL CHECK (position >= 0),
    n_bytes     INTEGER NOT NULL CHECK (n_bytes > 0),
    format      TEXT    NOT NULL CHECK (format IN ('png', 'jpeg', 'webp', 'gif', 'bmp', 'tiff')),
    width       INTEGER NOT NULL CHECK (width > 0),
    height      INTEGER NOT NULL CHECK (height > 0),
    legacy_md5  BLOB    CHECK (length(legacy_md5) = 16),
    problem     TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX original_images_by_pack ON original_images (pack, position);

-- An image of an imported battle is an original. Those of earlier versions were made fit when they were imported, and their originals were not kept.
CREATE TABLE imported_images_before AS SELECT * FROM imported_images;
DROP TABLE imported_images;
CREATE TABLE imported_images (
    battle     INTEGER NOT NULL REFERENCES imported_battles (sequence),
    idx        INTEGER NOT NULL CHECK (idx >= 0),
    turn_idx   INTEGER CHECK (turn_idx >= 0),
    reference  TEXT,
    original   BLOB    REFERENCES original_images (sha256),
    image      BLOB    REFERENCES images (id),
    problem    TEXT,
    PRIMARY KEY (battle, idx),
    CHECK ((original IS NOT NULL) + (image IS NOT NULL) + (problem IS NOT NULL) = 1)
) STRICT, WITHOUT ROWID;
INSERT INTO imported_images (battle, idx, turn_idx, reference, image, problem)
    SELECT battle, idx, turn_idx, reference, image, problem FROM imported_images_before;
DROP TABLE imported_images_before;
CREATE INDEX imported_images_by_original ON imported_images (original) WHERE original IS NOT NULL;

-- The categories that the source gives in their order, each on a line of its own, after `+` when the battle is in it and after `-` when it is not; null where it says nothing of them.
ALTER TABLE imported_battles ADD COLUMN categories TEXT;
-- Whether the id is made of pair and judge too, as another battle of the source has the same original id: that of a question, for one.
ALTER TABLE imported_battles ADD COLUMN is_shared_id INTEGER NOT NULL DEFAULT 0 CHECK (is_shared_id IN (0, 1));
