-- Layout 3: a commit remembers the call that made it, so that only this call finds it again.

-- A number that names the call. It is NULL in a commit that an older version made with
-- commit_2, which gives no value for it.
ALTER TABLE {schema}.commits ADD COLUMN nonce bigint;

-- commit_3 is commit_2, but a call that is repeated because its reply was lost is recognized by
-- its nonce. A commit with that nonce was made before its writer lost the thread, or before other
-- writers went on from it. The number and the id are not enough: another call may have made that
-- commit, and only the head answers for those.
CREATE FUNCTION {schema}.commit_3(
	p_thread bytea, p_ns bytea, p_fence text, p_head bigint, p_seq bigint, p_id bytea, p_nonce bigint,
	p_ttl bigint, p_labels jsonb, p_header bytea,
	p_fields bytea[], p_bases bigint[], p_chunks integer[], p_refsum bigint,
	b_fields bytea[], b_bases bigint[], b_chunks integer[], b_data bytea[],
	e_tasks bytea[], e_slots bytea[], e_data bytea[],
	OUT verdict text, OUT at bigint, OUT owner text)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	c bigint;
	h record;
BEGIN
	SELECT e.verdict, e.owner INTO verdict, owner
	FROM {schema}.enter_1(p_thread, p_fence, p_ttl > 0 OR p_head = 0, p_head = 0) e;
	IF verdict = 'fenced' THEN
		IF EXISTS (SELECT FROM {schema}.heads y JOIN {schema}.commits x ON x.chain = y.chain
				WHERE y.thread = p_thread AND y.ns = p_ns AND x.seq = p_seq AND x.nonce = p_nonce) THEN
			verdict := 'again';
		END IF;
		RETURN;
	END IF;
	IF p_head = 0 THEN
		UPDATE {schema}.threads x SET expires = NULL WHERE x.thread = p_thread AND x.expires IS NOT NULL
			AND NOT EXISTS (SELECT FROM {schema}.heads y WHERE y.thread = p_thread);
		INSERT INTO {schema}.heads AS x (thread, ns, seq, id, labels)
		VALUES (p_thread, p_ns, p_seq, p_id, p_labels)
		ON CONFLICT (thread, ns) DO NOTHING RETURNING x.chain INTO c;
	ELSE
		UPDATE {schema}.heads x SET seq = p_seq, id = p_id, labels = p_labels
		WHERE x.thread = p_thread AND x.ns = p_ns AND x.seq = p_head RETURNING x.chain INTO c;
	END IF;
	IF c IS NULL THEN
		SELECT x.chain, x.seq, x.id INTO h FROM {schema}.heads x WHERE x.thread = p_thread AND x.ns = p_ns;
		at := coalesce(h.seq, 0);
		verdict := CASE
			WHEN h.seq = p_seq AND h.id = p_id THEN 'again'
			WHEN EXISTS (SELECT FROM {schema}.commits x
				WHERE x.chain = h.chain AND x.seq = p_seq AND x.nonce = p_nonce) THEN 'again'
			ELSE 'conflict' END;
		RETURN;
	END IF;
	WITH p AS (DELETE FROM {schema}.pending x WHERE x.chain = c),
	b AS (INSERT INTO {schema}.blobs SELECT c, u.* FROM unnest(b_fields, b_bases, b_chunks, b_data) u)
	INSERT INTO {schema}.commits
	VALUES (c, p_seq, p_id, p_labels, p_header, p_fields, p_bases, p_chunks, p_refsum, p_nonce);
	IF cardinality(e_tasks) > 0 THEN
		INSERT INTO {schema}.pending SELECT c, u.* FROM unnest(e_tasks, e_slots, e_data) u;
	END IF;
	IF p_ttl > 0 THEN
		UPDATE {schema}.threads x SET expires = now() + p_ttl * interval '1 microsecond' WHERE x.thread = p_thread;
	END IF;
	at := p_seq;
	IF p_ttl > 0 AND p_head = 0 THEN
		PERFORM {schema}.forget_1(x.thread, true) FROM (
			SELECT y.thread FROM {schema}.threads y WHERE y.expires <= now()
			ORDER BY y.expires LIMIT 2 FOR UPDATE SKIP LOCKED) x;
	END IF;
END $$;
