-- Documents. This table is made when Store.Documents is called first, and is no part of the
-- layout of the threads.
--
-- A set removes the row and adds another, so that a version is never used twice.
CREATE TABLE IF NOT EXISTS documents (
    version    INTEGER PRIMARY KEY AUTOINCREMENT,
    collection BLOB    NOT NULL,
    part       BLOB    NOT NULL,
    id         BLOB    NOT NULL,
    ord        BLOB    NOT NULL,
    seq        INTEGER NOT NULL,              -- the version that the document had first
    value      BLOB    NOT NULL,
    write      TEXT    NOT NULL,              -- the name of the write that put it
    UNIQUE (collection, part, id)
);
CREATE INDEX IF NOT EXISTS documents_order ON documents (collection, part, ord, seq);
