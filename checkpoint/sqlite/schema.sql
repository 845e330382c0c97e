-- Rows of head are updated in place; a thread is a few of them.
CREATE TABLE head (
    chain  INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice
    thread TEXT    NOT NULL,
    ns     TEXT    NOT NULL,
    seq    INTEGER NOT NULL,                  -- number of the newest commit
    id     TEXT    NOT NULL,                  -- its ID
    UNIQUE (thread, ns)
);
CREATE UNIQUE INDEX roots ON head (thread) WHERE ns = '';

-- Tables with long rows keep their rowid: rows of all chains are appended to the
-- same page, so a group of commits writes few pages.
CREATE TABLE commits (
    chain  INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    id     TEXT    NOT NULL,
    labels BLOB    NOT NULL,                  -- see labels.go
    header BLOB    NOT NULL,
    refs   BLOB    NOT NULL,                  -- see refs.go
    UNIQUE (chain, seq)
);

CREATE TABLE blobs (
    chain INTEGER NOT NULL,
    field TEXT    NOT NULL,
    base  INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    data  BLOB    NOT NULL,
    UNIQUE (chain, field, base, chunk)
);

CREATE TABLE pending (
    chain INTEGER NOT NULL,
    task  TEXT    NOT NULL,
    slot  TEXT    NOT NULL,
    data  BLOB    NOT NULL,
    PRIMARY KEY (chain, task, slot)
) WITHOUT ROWID;
