-- The vectors of long-term memory, by the extension pgvector. This table is made when Store.Vectors
-- is called first. {schema} is the quoted name of the schema, {ext} that of the extension's.

CREATE TABLE {schema}.{table} (
	ns      bytea NOT NULL,
	key     bytea NOT NULL,
	part    int NOT NULL,         -- an item may have a vector for each of several fields
	version bigint NOT NULL,      -- of the item that the vector was made from
	v       {ext}.vector({dims}), -- NULL for an item without text
	PRIMARY KEY (ns, key, part),
	FOREIGN KEY (ns, key) REFERENCES {schema}.memories (ns, key) ON DELETE CASCADE
);
