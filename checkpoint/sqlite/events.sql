-- Events of topics. These tables are created by the first call of Store.Bus, and are not part of
-- the layout of the threads. A topic remembers its newest position when its events are removed.
CREATE TABLE IF NOT EXISTS topics (
    name BLOB    NOT NULL PRIMARY KEY,
    last INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    topic    BLOB    NOT NULL,
    position INTEGER NOT NULL,
    data     BLOB    NOT NULL,
    PRIMARY KEY (topic, position)
) WITHOUT ROWID;
