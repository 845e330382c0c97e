-- The second part of the documents. It is run by the first call of Store.Documents that does not
-- find the function write_documents_1. {schema} is the quoted name of the schema.

-- Writers of older processes wait from the beginning: a lock that grew would be a deadlock with them.
LOCK TABLE {schema}.documents IN ACCESS EXCLUSIVE MODE;

-- The index of scans. A query for one document must not match it: it would read a whole partition
-- through it, whenever the server takes the partition for small, as one that no ANALYZE has seen. So
-- it has expressions in place of the first two columns, which only scans use. For a large table
-- create it before, with CONCURRENTLY.
CREATE INDEX IF NOT EXISTS documents_scan ON {schema}.documents ((collection || ''::bytea), (part || ''::bytea), ord, seq);

DROP INDEX IF EXISTS {schema}.documents_order;

-- write_documents_1 makes all changes of a batch if all versions are those that are wanted, and none
-- of the rows is from this write already. Else it makes none, and returns no row. A NULL in
-- p_versions is any version, and a NULL in p_values a deletion. Without p_locks, those of documents,
-- the lock of the partition is exclusive. The write is a statement after that of the locks, so it
-- sees all that the locks waited for. Rows are numbered in the order of the batch.
--
-- OFFSET 0 makes each row look for its document by its whole key: a plan that is kept would else
-- read the partition for all of them, since it takes each partition for small.
CREATE FUNCTION {schema}.write_documents_1(p_partition bigint, p_locks bigint[], p_collection bytea, p_part bytea,
	p_ids bytea[], p_orders bytea[], p_versions bigint[], p_values bytea[], p_sequence text, p_write text)
RETURNS TABLE (change bigint, new_seq bigint, new_version bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
	IF p_locks IS NULL THEN
		PERFORM pg_advisory_xact_lock(p_partition);
	ELSE
		PERFORM pg_advisory_xact_lock_shared(p_partition);
		PERFORM pg_advisory_xact_lock(k) FROM unnest(p_locks) k;
	END IF;
	RETURN QUERY WITH wanted AS (
		SELECT * FROM unnest(p_ids, p_orders, p_versions, p_values) WITH ORDINALITY AS w (id, ord, version, value, i)
	), current AS (
		SELECT w.*, d.at, d.seq, coalesce(d.version, 0) AS found, d.write FROM wanted w
		LEFT JOIN LATERAL (
			SELECT e.ctid AS at, e.seq, e.version, e.write FROM {schema}.documents e
			WHERE e.collection = p_collection AND e.part = p_part AND e.id = w.id OFFSET 0
		) d ON true
	), fit AS (
		SELECT c.* FROM current c WHERE NOT EXISTS (SELECT FROM current o WHERE o.found <> o.version OR o.write = p_write)
	), gone AS (
		DELETE FROM {schema}.documents d USING fit WHERE d.ctid = fit.at AND fit.value IS NULL
	), put AS (
		INSERT INTO {schema}.documents AS d (collection, part, id, ord, seq, version, value, write)
		SELECT p_collection, p_part, c.id, c.ord, coalesce(c.seq, c.n), c.n, c.value, p_write
		FROM (SELECT u.*, nextval(p_sequence::regclass) AS n FROM (SELECT * FROM fit WHERE fit.value IS NOT NULL ORDER BY fit.i) u) c
		ON CONFLICT (collection, part, id) DO UPDATE SET ord = excluded.ord, version = excluded.version, value = excluded.value, write = excluded.write
		RETURNING d.id, d.seq, d.version
	) SELECT fit.i, coalesce(put.seq, 0), coalesce(put.version, 0) FROM fit LEFT JOIN put ON put.id = fit.id;
END $$;
