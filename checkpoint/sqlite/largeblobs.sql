-- Blobs by hash. These tables are made when Store.Blobs is called first, and are no part of the
-- layout of the threads.
--
-- A row of uploads without a hash is an upload that was not finished, or a blob that was removed.
CREATE TABLE IF NOT EXISTS blob_uploads (
    upload INTEGER PRIMARY KEY,
    name   TEXT    NOT NULL UNIQUE,          -- begins with the time, see blob.Begun
    hash   TEXT    UNIQUE,
    size   INTEGER NOT NULL DEFAULT 0,       -- in bytes, once it has a hash
    chunks INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS blob_unnamed ON blob_uploads (name) WHERE hash IS NULL;
CREATE TABLE IF NOT EXISTS blob_chunks (
    upload INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    UNIQUE (upload, n)
);
CREATE TABLE IF NOT EXISTS blob_claims (
    owner BLOB    NOT NULL,
    hash  TEXT    NOT NULL,
    at    INTEGER NOT NULL,                  -- in milliseconds
    PRIMARY KEY (owner, hash)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS blob_claims_hash ON blob_claims (hash);
