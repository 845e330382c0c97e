package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/sqlscan"
)

//go:embed sql/documents.sql
var documentSchema string

//go:embed sql/documents2.sql
var documentSchema2 string

// Documents returns the documents in this schema, for all processes that share it. It makes
// their table if it is not there yet, unless Config.Migrate forbids it. It lasts until the
// Store is closed.
//
// A write waits for others of the same documents, and if it sets one without an Order, or more than
// eight, for all others of the partition. It is one round trip, or two if an If does not hold. A
// read is one round trip. A query makes one for each 100 to 500 documents, or 8 MiB, that it reads.
func (s *Store) Documents(ctx context.Context) (document.Store, error) {
	if err := s.ensure(ctx, "documents", documentSchema); err != nil {
		return nil, err
	}
	if err := s.ensure(ctx, "write_documents_1", documentSchema2); err != nil {
		return nil, err
	}
	return document.Over(documents{s}), nil
}

// documents is a Store as a document.Table.
type documents struct{ *Store }

var _ document.Table = documents{}

// documentColumns are those that scanDocument reads.
const documentColumns = "d.collection, d.part, d.id, d.ord, d.seq, d.version, d.value, d.write"

func scanDocument(rows pgx.Rows) (st document.Stored, err error) {
	var collection, part, id, ord, value []byte
	var seq, version int64
	err = rows.Scan(&collection, &part, &id, &ord, &seq, &version, &value, &st.Write)
	st.Place = document.At(string(collection), string(part))
	st.ID, st.Order, st.Value, st.Seq, st.Version = string(id), string(ord), value, uint64(seq), uint64(version)
	return st, err
}

// Write implements document.Table.
func (d documents) Write(ctx context.Context, w document.Write) (docs []document.Doc, err error) {
	var refusal error
	err = d.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) (err error) {
		docs, refusal, err = d.write(ctx, conn, w)
		return err
	})
	if err != nil {
		return nil, err
	}
	return docs, refusal
}

// write makes a write, or finds why it is not made: refusal is a *ConflictError. If neither is so
// any more when it looks, another writer was there in between, and it begins again.
func (d documents) write(ctx context.Context, conn *pgxpool.Conn, w document.Write) (docs []document.Doc, refusal, err error) {
	for {
		if docs, err = d.writeAtOnce(ctx, conn, w); err != nil || docs != nil {
			return docs, nil, err
		}
		current, err := d.current(ctx, conn, w)
		if err != nil {
			return nil, nil, err
		}
		if docs, done, refusal := w.Plan(current); done || refusal != nil {
			return docs, refusal, nil
		}
	}
}

// fewLocks is how many documents a write may lock one by one: the server has room for some
// thousands of locks.
const fewLocks = 8

// locks returns the keys of the locks of a write: that of its partition, and those of its
// documents. Without the latter the lock of the partition is exclusive. It is so for documents in
// the order of their Seq: a reader must not find one before another with a lower Seq.
//
// All processes lock the partition first and the documents in one order, so none waits in a circle.
func (d documents) locks(w document.Write) (partition int64, ids []int64) {
	name := d.lockName(w.Place)
	if len(w.Changes) <= fewLocks {
		for _, c := range w.Changes {
			if c.Value != nil && c.Order == "" {
				return lockKey(name), nil
			}
			ids = append(ids, lockKey(name+"\x00"+c.ID))
		}
	}
	slices.Sort(ids)
	return lockKey(name), ids
}

// writeAtOnce makes a write in one round trip. It returns nil if an If does not hold, or if it
// finds the write made, for which a lost reply is the reason.
func (d documents) writeAtOnce(ctx context.Context, conn *pgxpool.Conn, w document.Write) ([]document.Doc, error) {
	var ids, orders, values [][]byte
	var versions []*int64
	docs := make([]document.Doc, len(w.Changes))
	for i, c := range w.Changes {
		ids, orders, values, versions = append(ids, []byte(c.ID)), append(orders, []byte(c.Order)), append(values, c.Value), append(versions, nil)
		if c.If != nil {
			versions[i] = new(int64(*c.If)) // one that is negative then is that of no document
		}
		if c.Value != nil {
			docs[i] = document.Doc{Place: w.Place, ID: c.ID, Value: c.Value, Order: c.Order}
		}
	}
	partition, locked := d.locks(w)
	rows, err := conn.Query(ctx, d.sql("SELECT change, new_seq, new_version FROM {schema}.write_documents_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"),
		d.mode, partition, locked, []byte(w.Collection), []byte(w.Partition), ids, orders, versions, values, quote(d.schema)+".document_versions", w.Name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	made := false
	for rows.Next() {
		var change, seq, version int64
		if err := rows.Scan(&change, &seq, &version); err != nil {
			return nil, err
		}
		docs[change-1].Seq, docs[change-1].Version, made = uint64(seq), uint64(version), true
	}
	if !made && len(w.Changes) > 0 {
		docs = nil
	}
	return docs, rows.Err()
}

// lockName names the lock of a partition.
func (d documents) lockName(p document.Place) string {
	return "document " + d.schema + " " + p.Collection + "\x00" + p.Partition
}

// current returns the rows that lie where w wants to write.
func (d documents) current(ctx context.Context, conn *pgxpool.Conn, w document.Write) ([]document.Stored, error) {
	ids := make([][]byte, len(w.Changes))
	places := map[string]int{}
	for i, c := range w.Changes {
		ids[i], places[c.ID] = []byte(c.ID), i
	}
	list := make([]document.Stored, len(ids))
	err := forRows(ctx, d.Store, conn, scanDocument, func(st document.Stored) bool {
		list[places[st.ID]] = st
		return true
	}, "SELECT "+documentColumns+" FROM {schema}.documents d WHERE d.collection = $1::bytea AND d.part = $2::bytea AND d.id = ANY($3::bytea[])",
		[]byte(w.Collection), []byte(w.Partition), ids)
	return list, err
}

// Read implements document.Table.
func (d documents) Read(ctx context.Context, p document.Place, id string) (doc document.Doc, found bool, err error) {
	err = d.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		doc, found = document.Doc{}, false
		return forRows(ctx, d.Store, conn, scanDocument, func(st document.Stored) bool {
			doc, found = st.Doc, true
			return true
		}, "SELECT "+documentColumns+" FROM {schema}.documents d WHERE d.collection = $1::bytea AND d.part = $2::bytea AND d.id = $3::bytea",
			[]byte(p.Collection), []byte(p.Partition), []byte(id))
	})
	return doc, found, err
}

// Scan implements document.Table.
func (d documents) Scan(ctx context.Context, s document.Scan) (list []document.Doc, more bool, err error) {
	text, args := scanDocuments(s)
	err = d.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		list, more = nil, false
		size := 0
		return forRows(ctx, d.Store, conn, scanDocument, func(st document.Stored) bool {
			if more = len(list) == s.Limit || size > document.MaxPage; more {
				return false
			}
			list, size = append(list, st.Doc), size+len(st.Value)
			return true
		}, text, slices.Clone(args)...)
	})
	return list, more, err
}

// scannedDocuments is what a scan reads. The index documents_scan has the same two expressions.
const scannedDocuments = `(SELECT collection || ''::bytea AS collection, part || ''::bytea AS part, id, ord, seq, version, value, write
	FROM {schema}.documents) d`

// scanDocuments returns the query of a scan, its parameters numbered and with their types. Each
// is answered from the index documents_scan.
func scanDocuments(s document.Scan) (string, []any) {
	where, args := sqlscan.SQL(s)
	return "SELECT " + documentColumns + " FROM " + scannedDocuments + numbered(where, args), args
}

// numbered returns conditions with numbers and types in place of their question marks.
func numbered(where string, args []any) string {
	parts := strings.Split(where, "?")
	text := parts[0]
	for i, v := range args {
		kind := "bytea"
		if _, ok := v.(int64); ok {
			kind = "bigint"
		}
		text += fmt.Sprintf("$%d::%s", i+1, kind) + parts[i+1]
	}
	return text
}

// Count implements document.Table.
func (d documents) Count(ctx context.Context, s document.Scan) (n int, err error) {
	where, args := sqlscan.Where(s)
	from := scannedDocuments
	if s.From == "" && s.Until == "" {
		from = "{schema}.documents d" // all of a partition is counted in the index of the primary key
	}
	text := d.sql("SELECT count(*) FROM " + from + numbered(where, args))
	err = d.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, text, append([]any{d.mode}, args...)...).Scan(&n)
	})
	return n, err
}

// Clear implements document.Table. A partition goes in one transaction, which waits for writes to
// it: what a write has read is there until it is stored.
func (d documents) Clear(ctx context.Context, p document.Place) error {
	if p.Partition == "" {
		return d.clearAll(ctx, p)
	}
	return d.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if err := lock(ctx, tx, d.lockName(p)); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, d.sql("DELETE FROM {schema}.documents WHERE collection = $1::bytea AND part = $2::bytea"),
				d.mode, []byte(p.Collection), []byte(p.Partition))
			return err
		})
	})
}

// clearAll clears the partitions of a collection, one after the other.
func (d documents) clearAll(ctx context.Context, p document.Place) error {
	const text = `SELECT DISTINCT d.part FROM {schema}.documents d WHERE d.collection = $1::bytea AND d.part > $2::bytea ORDER BY d.part LIMIT $3::bigint`
	for after, more := []byte{}, true; more; {
		var parts [][]byte
		err := d.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
			rows, err := conn.Query(ctx, d.sql(text), d.mode, []byte(p.Collection), after, partitionsAtOnce)
			if err != nil {
				return err
			}
			parts, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
			return err
		})
		if err != nil {
			return err
		}
		for _, part := range parts {
			if err := d.Clear(ctx, document.At(p.Collection, string(part))); err != nil {
				return err
			}
			after = part
		}
		more = len(parts) == partitionsAtOnce
	}
	return nil
}

// partitionsAtOnce is how many partitions one query lists that are to be cleared.
const partitionsAtOnce = 256
