-- What layout 2 has beside the tables of layout 1. Times are milliseconds since 1970.
-- A thread has a row only if it is leased or expires.
CREATE TABLE threads (
    thread  TEXT    NOT NULL PRIMARY KEY,
    fence   TEXT    NOT NULL DEFAULT '',      -- of the newest lease; '' when it was released
    owner   TEXT    NOT NULL DEFAULT '',
    until   INTEGER NOT NULL DEFAULT 0,       -- when the lease runs out
    expires INTEGER NOT NULL DEFAULT 0        -- when the thread ends; 0 for never
) WITHOUT ROWID;
CREATE INDEX ending ON threads (expires) WHERE expires > 0;

-- Chains of threads that have ended. No head names them any more; their rows are
-- removed a few at a time.
CREATE TABLE garbage (chain INTEGER PRIMARY KEY);
