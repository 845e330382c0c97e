-- Documents. This table is made when Store.Documents is called first, and is no part of the
-- layout of the threads. {schema} is the quoted name of the schema.

CREATE SEQUENCE {schema}.document_versions;

CREATE TABLE {schema}.documents (
	collection bytea NOT NULL,
	part       bytea NOT NULL,
	id         bytea NOT NULL,
	ord        bytea NOT NULL,
	seq        bigint NOT NULL,    -- the version that the document had first
	version    bigint NOT NULL,    -- of document_versions, never used twice
	value      bytea NOT NULL,
	write      text NOT NULL,      -- the name of the write that put it
	PRIMARY KEY (collection, part, id)
) WITH (fillfactor = 80);
