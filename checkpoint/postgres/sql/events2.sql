-- The second part of the events. It is run by the first call of Store.Bus that does not find the
-- function append_1. {schema} is the quoted name of the schema.

-- append_1 appends an event to a topic, and removes those that are more than p_keep before it.
CREATE FUNCTION {schema}.append_1(p_name bytea, p_data bytea, p_keep bigint) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
	WITH t AS (
		INSERT INTO {schema}.topics AS t (name, last) VALUES (p_name, 1)
		ON CONFLICT (name) DO UPDATE SET last = t.last + 1 RETURNING last
	), e AS (
		INSERT INTO {schema}.events (topic, position, data) SELECT p_name, t.last, p_data FROM t
	)
	DELETE FROM {schema}.events AS old USING t WHERE old.topic = p_name AND old.position <= t.last - p_keep;
END $$;
