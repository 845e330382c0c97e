-- Layout 1. {schema} is the quoted name of the schema.
--
-- A name that a caller chooses is bytea: text cannot hold a zero byte, and bytea sorts
-- by bytes whatever the collation of the database.

-- A thread: its lease and when it expires. A writer to a chain of a thread first locks this
-- row, shared. A function that takes over or removes the thread locks it exclusively. Locks are
-- always taken in this order: thread, then head.
CREATE TABLE {schema}.threads (
	thread  bytea PRIMARY KEY,
	fence   text NOT NULL DEFAULT '', -- of the newest lease; '' when it was released
	owner   text NOT NULL DEFAULT '',
	leased  timestamptz,              -- until when
	expires timestamptz               -- NULL for never
) WITH (fillfactor = 80);

CREATE INDEX threads_expires ON {schema}.threads (expires) WHERE expires IS NOT NULL;

-- A chain of commits. chain is never used twice.
CREATE TABLE {schema}.heads (
	thread bytea NOT NULL,
	ns     bytea NOT NULL,
	chain  bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
	seq    bigint NOT NULL,
	id     bytea NOT NULL,
	labels jsonb NOT NULL, -- those of the head
	PRIMARY KEY (thread, ns)
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX heads_root ON {schema}.heads (thread) WHERE ns = '';
CREATE INDEX heads_labels ON {schema}.heads USING gin (labels jsonb_path_ops) WHERE ns = '' AND labels <> '{}';

-- The references of a commit are three arrays of one length; refsum is their CRC-32C.
CREATE TABLE {schema}.commits (
	chain  bigint NOT NULL,
	seq    bigint NOT NULL,
	id     bytea NOT NULL,
	labels jsonb NOT NULL,
	header bytea NOT NULL,
	fields bytea[] NOT NULL,
	bases  bigint[] NOT NULL,
	chunks integer[] NOT NULL,
	refsum bigint NOT NULL,
	PRIMARY KEY (chain, seq)
);

CREATE TABLE {schema}.blobs (
	chain bigint NOT NULL,
	field bytea NOT NULL,
	base  bigint NOT NULL,
	chunk integer NOT NULL,
	data  bytea NOT NULL,
	PRIMARY KEY (chain, field, base, chunk)
);

CREATE TABLE {schema}.pending (
	chain bigint NOT NULL,
	task  bytea NOT NULL,
	slot  bytea NOT NULL,
	data  bytea NOT NULL,
	PRIMARY KEY (chain, task, slot)
);

-- What follows is every write, one function each, so that a write is one round trip,
-- is planned once a connection, and gives its verdict from under its locks. Plans are
-- retained while the tables grow, so those that touch rows must not scan a table that
-- happened to be small. A function is never changed once it was released: another
-- layout brings another name.
--
-- A verdict is done, again (it was done before), conflict, fenced, busy or none (there
-- is nothing). at is the head, or how many microseconds a lease still runs.

-- forget_1 removes a thread, or only if it has expired. A statement of a function sees
-- what was committed before it began, so those after the first see all that the writers
-- it waited for had written.
CREATE FUNCTION {schema}.forget_1(p_thread bytea, p_expired boolean) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	chains bigint[];
BEGIN
	PERFORM 1 FROM {schema}.threads t
	WHERE t.thread = p_thread AND (NOT p_expired OR t.expires <= now()) FOR UPDATE;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	chains := ARRAY(SELECT h.chain FROM {schema}.heads h WHERE h.thread = p_thread);
	DELETE FROM {schema}.pending x WHERE x.chain = ANY (chains);
	DELETE FROM {schema}.blobs x WHERE x.chain = ANY (chains);
	DELETE FROM {schema}.commits x WHERE x.chain = ANY (chains);
	DELETE FROM {schema}.heads h WHERE h.thread = p_thread;
	DELETE FROM {schema}.threads t WHERE t.thread = p_thread;
	RETURN true;
END $$;

-- enter_1 locks a thread for a writer: done, fenced, or none when there is no thread.
-- One that has expired is removed. With p_make it makes the thread that is not there.
CREATE FUNCTION {schema}.enter_1(p_thread bytea, p_fence text, p_alone boolean, p_make boolean,
	OUT verdict text, OUT owner text)
LANGUAGE plpgsql AS $$
DECLARE
	t record;
BEGIN
	FOR try IN 1..10 LOOP
		IF p_alone THEN
			SELECT x.fence, x.owner INTO t FROM {schema}.threads x
			WHERE x.thread = p_thread AND (x.expires IS NULL OR x.expires > now()) FOR UPDATE;
		ELSE
			SELECT x.fence, x.owner INTO t FROM {schema}.threads x
			WHERE x.thread = p_thread AND (x.expires IS NULL OR x.expires > now()) FOR SHARE;
		END IF;
		IF FOUND THEN
			verdict := CASE WHEN t.fence = p_fence THEN 'done' ELSE 'fenced' END;
			owner := t.owner;
			RETURN;
		END IF;
		PERFORM {schema}.forget_1(p_thread, true);
		IF p_fence <> '' OR NOT p_make THEN
			verdict := CASE WHEN p_fence <> '' THEN 'fenced' ELSE 'none' END;
			owner := '';
			RETURN;
		END IF;
		INSERT INTO {schema}.threads (thread) VALUES (p_thread) ON CONFLICT DO NOTHING;
	END LOOP;
	RAISE serialization_failure USING MESSAGE = 'the thread comes and goes';
END $$;

-- commit_1 appends a commit. p_again means that this very call was made before and its
-- outcome is not known. A commit that starts a chain which can expire removes two
-- threads that have.
CREATE FUNCTION {schema}.commit_1(
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
	FROM {schema}.enter_1(p_thread, p_fence, p_ttl > 0, p_head = 0) e;
	IF verdict = 'fenced' THEN
		RETURN;
	END IF;
	IF p_head = 0 THEN
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

-- put_1 stores entries beside a head. No two have the same task and slot.
CREATE FUNCTION {schema}.put_1(
	p_thread bytea, p_ns bytea, p_fence text, p_head bigint,
	e_tasks bytea[], e_slots bytea[], e_keep boolean[], e_data bytea[],
	OUT verdict text, OUT at bigint, OUT owner text)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	c bigint;
BEGIN
	SELECT e.verdict, e.owner INTO verdict, owner FROM {schema}.enter_1(p_thread, p_fence, false, false) e;
	IF verdict = 'fenced' THEN
		RETURN;
	END IF;
	SELECT x.chain, x.seq INTO c, at FROM {schema}.heads x WHERE x.thread = p_thread AND x.ns = p_ns FOR SHARE;
	at := coalesce(at, 0);
	IF at <> p_head OR at = 0 THEN
		verdict := CASE WHEN at <> p_head THEN 'conflict' ELSE 'none' END;
		RETURN;
	END IF;
	INSERT INTO {schema}.pending
	SELECT c, u.task, u.slot, u.data FROM unnest(e_tasks, e_slots, e_keep, e_data) u (task, slot, keep, data)
	WHERE u.keep ON CONFLICT DO NOTHING;
	INSERT INTO {schema}.pending
	SELECT c, u.task, u.slot, u.data FROM unnest(e_tasks, e_slots, e_keep, e_data) u (task, slot, keep, data)
	WHERE NOT u.keep ON CONFLICT (chain, task, slot) DO UPDATE SET data = excluded.data;
END $$;

-- drop_1 removes commits and blobs of a chain, or all of it.
CREATE FUNCTION {schema}.drop_1(
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
	DELETE FROM {schema}.threads x WHERE x.thread = p_thread AND x.fence = ''
		AND NOT EXISTS (SELECT FROM {schema}.heads h WHERE h.thread = p_thread);
END $$;

-- acquire_1 gives out a lease with the fence p_fence, or renews the one that has it.
CREATE FUNCTION {schema}.acquire_1(
	p_thread bytea, p_fence text, p_renew boolean, p_owner text, p_ttl bigint, p_force boolean, p_over text,
	OUT verdict text, OUT at bigint, OUT owner text)
LANGUAGE plpgsql AS $$
DECLARE
	t record;
BEGIN
	FOR try IN 1..10 LOOP
		SELECT x.fence, x.owner, x.leased INTO t FROM {schema}.threads x
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
	IF p_renew AND t.fence <> p_fence THEN
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
	SET fence = p_fence, owner = acquire_1.owner, leased = clock_timestamp() + p_ttl * interval '1 microsecond'
	WHERE x.thread = p_thread;
	verdict := 'done';
	at := p_ttl;
END $$;

-- release_1 gives a lease back, and removes a thread that was nothing but a lease.
CREATE FUNCTION {schema}.release_1(p_thread bytea, p_fence text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM 1 FROM {schema}.threads x WHERE x.thread = p_thread AND x.fence = p_fence FOR UPDATE;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	DELETE FROM {schema}.threads x WHERE x.thread = p_thread
		AND NOT EXISTS (SELECT FROM {schema}.heads h WHERE h.thread = p_thread);
	UPDATE {schema}.threads x SET fence = '', owner = '', leased = NULL WHERE x.thread = p_thread;
END $$;

-- expire_1 lets a thread expire in p_ttl microseconds, or never when that is 0.
CREATE FUNCTION {schema}.expire_1(p_thread bytea, p_ttl bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
	UPDATE {schema}.threads x
	SET expires = CASE WHEN p_ttl > 0 THEN now() + p_ttl * interval '1 microsecond' END
	WHERE x.thread = p_thread AND (x.expires IS NULL OR x.expires > now())
		AND EXISTS (SELECT FROM {schema}.heads h WHERE h.thread = p_thread);
	RETURN FOUND;
END $$;
