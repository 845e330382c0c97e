-- The index of scans of documents. It is created by the first call of Store.Documents. {schema} is
-- the quoted name of the schema.
--
-- A query for one document must not match it: it would read a whole partition through it, whenever
-- the server takes the partition for small, as one that no ANALYZE has seen. So it has expressions
-- in place of the first two columns, which only scans use.

CREATE INDEX documents_scan ON {schema}.documents ((collection || ''::bytea), (part || ''::bytea), ord, seq);

DROP INDEX IF EXISTS {schema}.documents_order;
