-- Events of topics. These tables are created by the first call of Store.Bus, and are not part of
-- the layout of the threads. {schema} is the quoted name of the schema. The row of a topic orders
-- its events: a transaction that appends holds it.

CREATE TABLE {schema}.topics (
	name bytea  NOT NULL PRIMARY KEY,
	last bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE {schema}.events (
	topic    bytea  NOT NULL,
	position bigint NOT NULL,
	data     bytea  NOT NULL,
	PRIMARY KEY (topic, position)
);
