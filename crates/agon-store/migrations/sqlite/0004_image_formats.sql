-- Bitmaps and TIFF files are uploaded too. A CHECK cannot be changed, so the table is made anew under its name.
-- The references to it are checked at the end of the transaction, when every row is back.
PRAGMA defer_foreign_keys = ON;
CREATE TABLE images_before AS SELECT * FROM images;
DROP TABLE images;
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
INSERT INTO images (id, format, width, height, n_bytes, legacy_md5, original_format, created_at)
    SELECT id, format, width, height, n_bytes, legacy_md5, original_format, created_at FROM images_before;
DROP TABLE images_before;
