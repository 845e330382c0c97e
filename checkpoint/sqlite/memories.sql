-- Long-term memory. These tables are made when Store.Memory is called first, and are no
-- part of the layout of the threads. Times are microseconds since 1970.
--
-- A put removes the row and adds another, so that a version is never used twice.
CREATE TABLE IF NOT EXISTS memories (
    version INTEGER PRIMARY KEY AUTOINCREMENT,
    ns      BLOB    NOT NULL,                 -- labels with a zero byte between them
    key     BLOB    NOT NULL,
    value   BLOB    NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    expires INTEGER NOT NULL,                 -- 0 for never
    refresh INTEGER NOT NULL,                 -- how long it lives from each read on
    write   TEXT    NOT NULL,                 -- the ID of the write that put it
    UNIQUE (ns, key)
);
CREATE INDEX IF NOT EXISTS memories_ending ON memories (expires) WHERE expires > 0;

-- The words of each value, as package memory finds them. To this tokenizer each of them is
-- one token, so that both agree on what a word is.
CREATE VIRTUAL TABLE IF NOT EXISTS memory_words
    USING fts5(words, content='', contentless_delete=1, detail=none, tokenize='ascii');
