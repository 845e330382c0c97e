-- Long-term memory. These tables are made when Store.Memory is called first, and are no
-- part of the layout of the threads. {schema} stands for the quoted name of the schema.

CREATE SEQUENCE {schema}.memory_versions;

CREATE TABLE {schema}.memories (
	ns      bytea NOT NULL,       -- labels with a zero byte between them
	key     bytea NOT NULL,
	version bigint NOT NULL,
	value   bytea NOT NULL,       -- as it was put
	facts   jsonb,                -- the same, to be searched; NULL when jsonb cannot hold it
	words   text[] NOT NULL,      -- of the value, as package memory finds them
	created timestamptz NOT NULL,
	updated timestamptz NOT NULL,
	expires timestamptz,          -- NULL for never
	refresh bigint NOT NULL,      -- how many microseconds it lives from each read on
	write   text NOT NULL,        -- the ID of the write that put it
	PRIMARY KEY (ns, key)
) WITH (fillfactor = 80);

CREATE INDEX memories_expires ON {schema}.memories (expires) WHERE expires IS NOT NULL;
CREATE INDEX memories_facts ON {schema}.memories USING gin (facts jsonb_path_ops);
CREATE INDEX memories_words ON {schema}.memories USING gin (words);
