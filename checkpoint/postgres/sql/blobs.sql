-- Blobs by hash. These tables are made when Store.Blobs is called first, and are no part of the
-- layout of the threads. {schema} is the quoted name of the schema.
--
-- A row of blob_uploads without a hash is an upload that was not finished, or a blob that was
-- removed.

CREATE TABLE {schema}.blob_uploads (
	upload bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name   text COLLATE "C" NOT NULL UNIQUE, -- begins with the time, see blob.Begun
	hash   text COLLATE "C" UNIQUE,
	size   bigint NOT NULL DEFAULT 0,        -- in bytes, once it has a hash
	chunks int NOT NULL DEFAULT 0
);

CREATE INDEX blob_unnamed ON {schema}.blob_uploads (name) WHERE hash IS NULL;

CREATE TABLE {schema}.blob_chunks (
	upload bigint NOT NULL REFERENCES {schema}.blob_uploads,
	n      int NOT NULL,
	data   bytea NOT NULL,
	PRIMARY KEY (upload, n)
);

ALTER TABLE {schema}.blob_chunks ALTER COLUMN data SET STORAGE EXTERNAL; -- not compressed

CREATE TABLE {schema}.blob_claims (
	owner bytea NOT NULL,
	hash  text COLLATE "C" NOT NULL,
	at    bigint NOT NULL,                   -- in milliseconds
	PRIMARY KEY (owner, hash)
);

CREATE INDEX blob_claims_hash ON {schema}.blob_claims (hash);
