-- Layout 2: a thread remembers its newest leases, so that a request for one is granted once.

ALTER TABLE {schema}.threads ADD COLUMN log text[] NOT NULL DEFAULT '{}'; -- fences, the newest first

-- vacate_2 lets a thread without a lease end soon if there is nothing in it. The caller has
-- the row locked, alone.
CREATE FUNCTION {schema}.vacate_2(p_thread bytea) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	UPDATE {schema}.threads x SET expires = now() + interval '1 hour'
	WHERE x.thread = p_thread AND x.fence = ''
		AND NOT EXISTS (SELECT FROM {schema}.heads h WHERE h.thread = p_thread);
END $$;

-- acquire_2 is acquire_1, but a fence that was given out before, and is not that of the
-- newest lease, is fenced. p_log is how many leases to remember.
CREATE FUNCTION {schema}.acquire_2(
	p_thread bytea, p_fence text, p_renew boolean, p_owner text, p_ttl bigint, p_force boolean, p_over text, p_log integer,
	OUT verdict text, OUT at bigint, OUT owner text)
LANGUAGE plpgsql AS $$
DECLARE
	t record;
BEGIN
	FOR try IN 1..10 LOOP
		SELECT x.fence, x.owner, x.leased, x.log INTO t FROM {schema}.threads x
		WHERE x.thread = p_thread AND (x.expires IS NULL OR x.expires > now()) FOR UPDATE;
		IF FOUND THEN
			EXIT;
		END IF;
		PERFORM {schema}.forget_1(p_thread, true);
		IF p_renew THEN
			verdict := 'fenced';
			owner := '';
			RETURN;
		END IF;
		INSERT INTO {schema}.threads (thread) VALUES (p_thread) ON CONFLICT DO NOTHING;
	END LOOP;
	IF t.fence IS NULL THEN
		RAISE serialization_failure USING MESSAGE = 'the thread comes and goes';
	END IF;
	owner := t.owner;
	IF t.fence <> p_fence AND (p_renew OR p_fence = ANY (t.log)) THEN
		verdict := 'fenced';
		RETURN;
	END IF;
	at := ceil(extract(epoch FROM t.leased - clock_timestamp()) * 1000000);
	IF t.fence NOT IN ('', p_fence) AND at > 0 AND NOT (p_force AND p_over IN ('', t.owner)) THEN
		verdict := 'busy';
		RETURN;
	END IF;
	IF NOT p_renew THEN
		owner := p_owner;
	END IF;
	UPDATE {schema}.threads x
	SET fence = p_fence, owner = acquire_2.owner, leased = clock_timestamp() + p_ttl * interval '1 microsecond',
		log = CASE WHEN t.fence = p_fence THEN x.log ELSE (p_fence || x.log)[1:p_log] END,
		expires = CASE WHEN x.expires IS NULL OR EXISTS (SELECT FROM {schema}.heads h WHERE h.thread = p_thread) THEN x.expires END
	WHERE x.thread = p_thread;
	verdict := 'done';
	at := p_ttl;
END $$;

-- release_2 gives a lease back. A thread that was nothing but a lease ends soon.
CREATE FUNCTION {schema}.release_2(p_thread bytea, p_fence text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	UPDATE {schema}.threads x SET fence = '', owner = '', leased = NULL
	WHERE x.thread = p_thread AND x.fence = p_fence;
	IF FOUND THEN
		PERFORM {schema}.vacate_2(p_thread);
	END IF;
END $$;

-- commit_2 is commit_1, but a thread that begins does not end as vacate_2 said. Who begins a
-- chain has the thread alone. A commit that was made before its writer lost the thread was made.
CREATE FUNCTION {schema}.commit_2(
	p_thread bytea, p_ns bytea, p_fence text, p_head bigint, p_seq bigint, p_id bytea, p_again boolean,
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
		IF p_again AND EXISTS (SELECT FROM {schema}.heads y JOIN {schema}.commits x ON x.chain = y.chain
				WHERE y.thread = p_thread AND y.ns = p_ns AND x.seq = p_seq AND x.id = p_id) THEN
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
			WHEN p_again AND EXISTS (SELECT FROM {schema}.commits x
				WHERE x.chain = h.chain AND x.seq = p_seq AND x.id = p_id) THEN 'again'
			ELSE 'conflict' END;
		RETURN;
	END IF;
	WITH p AS (DELETE FROM {schema}.pending x WHERE x.chain = c),
	b AS (INSERT INTO {schema}.blobs SELECT c, u.* FROM unnest(b_fields, b_bases, b_chunks, b_data) u)
	INSERT INTO {schema}.commits
	VALUES (c, p_seq, p_id, p_labels, p_header, p_fields, p_bases, p_chunks, p_refsum);
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

-- drop_2 is drop_1, but a thread of which nothing is left ends soon.
CREATE FUNCTION {schema}.drop_2(
	p_thread bytea, p_ns bytea, p_fence text, p_head bigint, p_all boolean, p_seqs bigint[],
	b_fields bytea[], b_bases bigint[], b_chunks integer[],
	OUT verdict text, OUT at bigint, OUT owner text)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	c bigint;
BEGIN
	SELECT e.verdict, e.owner INTO verdict, owner FROM {schema}.enter_1(p_thread, p_fence, p_all, false) e;
	IF verdict = 'fenced' THEN
		RETURN;
	END IF;
	SELECT x.chain, x.seq INTO c, at FROM {schema}.heads x WHERE x.thread = p_thread AND x.ns = p_ns FOR UPDATE;
	at := coalesce(at, 0);
	IF at <> p_head OR at = 0 THEN
		verdict := CASE WHEN at <> p_head THEN 'conflict' ELSE 'done' END;
		RETURN;
	END IF;
	DELETE FROM {schema}.commits x WHERE x.chain = c AND (p_all OR x.seq = ANY (p_seqs));
	IF NOT p_all THEN
		DELETE FROM {schema}.blobs x USING unnest(b_fields, b_bases, b_chunks) u (field, base, chunk)
		WHERE x.chain = c AND x.field = u.field AND x.base = u.base AND x.chunk = u.chunk;
		RETURN;
	END IF;
	DELETE FROM {schema}.blobs x WHERE x.chain = c;
	DELETE FROM {schema}.pending x WHERE x.chain = c;
	DELETE FROM {schema}.heads x WHERE x.thread = p_thread AND x.ns = p_ns;
	PERFORM {schema}.vacate_2(p_thread);
END $$;
