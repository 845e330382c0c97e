-- What layout 3 adds: the newest leases of a thread, as checkpoint.LeaseLog writes them. A thread
-- that was ever leased has a row.
ALTER TABLE threads ADD COLUMN log TEXT NOT NULL DEFAULT '';
