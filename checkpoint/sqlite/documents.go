package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/internal/sqlscan"
)

//go:embed documents.sql
var documentSchema string

// Documents returns the documents in this file, for all processes that share it. It creates their
// table if it is missing. It gives the guarantees of the Store, and is usable until the Store is
// closed.
func (s *Store) Documents(ctx context.Context) (document.Store, error) {
	err := s.submit(ctx, func(w *writer) error {
		_, err := w.conn.ExecContext(context.Background(), documentSchema)
		return err
	})
	if err != nil {
		return nil, err
	}
	return document.Over(documents{s}), nil
}

// documents is a Store as a document.Table.
type documents struct{ *Store }

var _ document.Table = documents{}

// documentColumns are those that scanDocument reads.
const documentColumns = "d.collection, d.part, d.id, d.ord, d.seq, d.version, d.value, d.write"

func scanDocument(rows *sql.Rows) (st document.Stored, err error) {
	var collection, part, id, ord, value []byte
	var seq, version int64
	err = rows.Scan(&collection, &part, &id, &ord, &seq, &version, &value, &st.Write)
	st.Place = document.At(string(collection), string(part))
	st.ID, st.Order, st.Value, st.Seq, st.Version = string(id), string(ord), value, uint64(seq), uint64(version)
	return st, err
}

// Write implements document.Table.
func (d documents) Write(ctx context.Context, w document.Write) ([]document.Doc, error) {
	type result struct {
		docs    []document.Doc
		refusal error
	}
	var got result // the writer's until submit returns nil
	err := d.submit(ctx, func(wr *writer) (err error) {
		got.docs, err = wr.document(w)
		got.refusal = nil
		if errors.Is(err, document.ErrConflict) {
			got.refusal, err = err, nil // nothing was written, so the others in the group go on
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return got.docs, got.refusal
}

// document makes a write in the writer's transaction.
func (w *writer) document(wr document.Write) ([]document.Doc, error) {
	current := make([]document.Stored, len(wr.Changes))
	for i, c := range wr.Changes {
		var err error
		if current[i], err = w.documentAt(wr.Place, c.ID); err != nil {
			return nil, err
		}
	}
	docs, done, err := wr.Plan(current)
	if err != nil || done {
		return docs, err
	}
	for i := range docs {
		if err := w.replaceDocument(wr.Name, current[i], &docs[i]); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

func (w *writer) documentAt(p document.Place, id string) (st document.Stored, err error) {
	rows, err := w.query("SELECT "+documentColumns+
		" FROM documents d WHERE d.collection = ? AND d.part = ? AND d.id = ?", []byte(p.Collection), []byte(p.Partition), []byte(id))
	if err != nil {
		return st, err
	}
	defer rows.Close()
	if rows.Next() {
		st, err = scanDocument(rows)
	}
	return st, errors.Join(err, rows.Err(), rows.Close())
}

// replaceDocument makes one change, and gives a new row its numbers.
func (w *writer) replaceDocument(name string, old document.Stored, d *document.Doc) error {
	if old.Version != 0 {
		if err := w.run("DELETE FROM documents WHERE version = ?", int64(old.Version)); err != nil {
			return err
		}
	}
	if d.Value == nil {
		return nil
	}
	const insert = `INSERT INTO documents (collection, part, id, ord, seq, value, write)
		VALUES (?, ?, ?, ?, coalesce(nullif(?, 0), (SELECT seq + 1 FROM sqlite_sequence WHERE name = 'documents'), 1), ?, ?)
		RETURNING seq, version`
	return w.queryRow(insert, []byte(d.Collection), []byte(d.Partition), []byte(d.ID),
		[]byte(d.Order), int64(d.Seq), []byte(d.Value), name).Scan(&d.Seq, &d.Version)
}

// Read implements document.Table.
func (d documents) Read(ctx context.Context, p document.Place, id string) (doc document.Doc, found bool, err error) {
	const text = "SELECT " + documentColumns + " FROM documents d WHERE d.collection = ? AND d.part = ? AND d.id = ?"
	err = d.forRows(ctx, func(rows *sql.Rows) (bool, error) {
		st, err := scanDocument(rows)
		doc, found = st.Doc, err == nil
		return false, err
	}, text, []byte(p.Collection), []byte(p.Partition), []byte(id))
	return doc, found, err
}

// Scan implements document.Table.
func (d documents) Scan(ctx context.Context, s document.Scan) (list []document.Doc, more bool, err error) {
	text, args := scanDocuments(s)
	size := 0
	err = d.forRows(ctx, func(rows *sql.Rows) (bool, error) {
		if more = len(list) == s.Limit || size > document.MaxPage; more {
			return false, nil
		}
		st, err := scanDocument(rows)
		list, size = append(list, st.Doc), size+len(st.Value)
		return true, err
	}, text, args...)
	return list, more, err
}

// scanDocuments returns the query of a scan. Each is answered from the index documents_order.
func scanDocuments(s document.Scan) (string, []any) {
	where, args := sqlscan.SQL(s)
	return "SELECT " + documentColumns + " FROM documents d" + where, args
}

// Count implements document.Table.
func (d documents) Count(ctx context.Context, s document.Scan) (n int, err error) {
	where, args := sqlscan.Where(s)
	err = d.forRows(ctx, func(rows *sql.Rows) (bool, error) {
		return false, rows.Scan(&n)
	}, "SELECT count(*) FROM documents d"+where, args...)
	return n, err
}

// Clear implements document.Table.
func (d documents) Clear(ctx context.Context, p document.Place) error {
	return d.submit(ctx, func(w *writer) error {
		if p.Partition == "" {
			return w.run("DELETE FROM documents WHERE collection = ?", []byte(p.Collection))
		}
		return w.run("DELETE FROM documents WHERE collection = ? AND part = ?", []byte(p.Collection), []byte(p.Partition))
	})
}
