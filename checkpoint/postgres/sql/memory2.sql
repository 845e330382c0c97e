-- A search by equality reads the rows without facts, too, since jsonb cannot hold their values.
-- {schema} is the quoted name of the schema.

CREATE INDEX memories_without_facts ON {schema}.memories (ns, key) WHERE facts IS NULL;
