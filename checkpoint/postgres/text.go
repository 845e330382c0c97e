package postgres

import "strings"

// texts are the statements, with the name of the schema in them and nothing else that
// is not written here: what a caller gives is always a parameter.
type texts struct {
	commit, put, drop, forget, acquire, release, expire string

	load, history, threads, labelled, namespaces, facts string
}

func textsFor(schema string) texts {
	s := func(text string) string { return strings.ReplaceAll(text, "{schema}", quote(schema)) }
	return texts{
		commit: s(`SELECT verdict, at, owner FROM {schema}.commit_3($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
			$14, $15, $16, $17, $18, $19, $20, $21)`),
		put:        s(`SELECT verdict, at, owner FROM {schema}.put_1($1, $2, $3, $4, $5, $6, $7, $8)`),
		drop:       s(`SELECT verdict, at, owner FROM {schema}.drop_2($1, $2, $3, $4, $5, $6, $7, $8, $9)`),
		acquire:    s(`SELECT verdict, at, owner FROM {schema}.acquire_2($1, $2, $3, $4, $5, $6, $7, $8)`),
		forget:     s(`SELECT {schema}.forget_1($1, $2)`),
		release:    s(`SELECT {schema}.release_2($1, $2)`),
		expire:     s(`SELECT {schema}.expire_1($1, $2)`),
		load:       s(loadText),
		history:    s(historyText),
		threads:    s(threadsText),
		labelled:   s(labelledText),
		namespaces: s(namespacesText),
		facts:      s(factsText),
	}
}

// alive is the condition for a thread t that has not expired.
const alive = `(t.expires IS NULL OR t.expires > now())`

// found is the columns of a commit c and its head h, as a row scans them.
const found = `h.seq AS head, c.seq, c.id, c.labels::text AS labels, c.header, c.fields, c.bases, c.chunks, c.refsum,
	CASE WHEN c.seq = h.seq THEN ARRAY(SELECT p.task FROM {schema}.pending p WHERE p.chain = h.chain ORDER BY p.task, p.slot) END AS tasks,
	CASE WHEN c.seq = h.seq THEN ARRAY(SELECT p.slot FROM {schema}.pending p WHERE p.chain = h.chain ORDER BY p.task, p.slot) END AS slots,
	CASE WHEN c.seq = h.seq THEN ARRAY(SELECT p.data FROM {schema}.pending p WHERE p.chain = h.chain ORDER BY p.task, p.slot) END AS data`

// loadText returns a row for the commit and one for each blob. It is one statement, and
// so sees one moment.
const loadText = `
WITH c AS MATERIALIZED (
	SELECT h.chain, ` + found + `
	FROM {schema}.threads t JOIN {schema}.heads h ON h.thread = t.thread
	LEFT JOIN {schema}.commits c ON c.chain = h.chain AND c.seq = CASE WHEN $3::bigint = 0 THEN h.seq ELSE $3::bigint END
	WHERE t.thread = $1::bytea AND h.ns = $2::bytea AND ` + alive + `)
SELECT 0::bigint, 0, NULL::bytea, c.head, c.seq, c.id, c.labels, c.header, c.fields, c.bases, c.chunks, c.refsum, c.tasks, c.slots, c.data
FROM c
UNION ALL
SELECT r.place, b.chunk, b.data, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM c, unnest(c.fields, c.bases, c.chunks) WITH ORDINALITY r (field, base, chunks, place), {schema}.blobs b
WHERE b.chain = c.chain AND b.field = r.field AND b.base = r.base AND b.chunk BETWEEN 0 AND r.chunks`

// historyText returns a page of a chain, which must still be the chain that the page
// before it was of; or one row without a commit when there is none on it.
const historyText = `
SELECT h.chain, ` + found + `
FROM {schema}.threads t JOIN {schema}.heads h ON h.thread = t.thread
LEFT JOIN {schema}.commits c ON c.chain = h.chain AND c.seq < $4::bigint AND c.labels @> $5::jsonb
WHERE t.thread = $1::bytea AND h.ns = $2::bytea AND ` + alive + `
	AND h.chain = CASE WHEN $3::bigint = 0 THEN h.chain ELSE $3::bigint END
ORDER BY c.seq DESC LIMIT $6::bigint`

// threadsText returns a page of the root heads.
const threadsText = `
SELECT h.thread, ` + found + `
FROM {schema}.heads h JOIN {schema}.threads t ON t.thread = h.thread
LEFT JOIN {schema}.commits c ON c.chain = h.chain AND c.seq = h.seq
WHERE h.ns = '' AND h.thread > $1::bytea AND ` + alive + `
ORDER BY h.thread LIMIT $2::bigint`

// labelledText is threadsText for those with labels; the conditions are those of the index.
const labelledText = `
SELECT h.thread, ` + found + `
FROM {schema}.heads h JOIN {schema}.threads t ON t.thread = h.thread
LEFT JOIN {schema}.commits c ON c.chain = h.chain AND c.seq = h.seq
WHERE h.ns = '' AND h.thread > $1::bytea AND ` + alive + ` AND h.labels <> '{}' AND h.labels @> $3::jsonb
ORDER BY h.thread LIMIT $2::bigint`

const namespacesText = `
SELECT h.ns FROM {schema}.threads t JOIN {schema}.heads h ON h.thread = t.thread
WHERE t.thread = $1::bytea AND ` + alive + ` ORDER BY h.ns`
