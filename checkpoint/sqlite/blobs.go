package sqlite

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

// batches are the numbers of references of the statements that read blobs. Unused parameters are
// NULL. Nearly every state fits the first.
var batches = [...]int{16, 256}

// blobsOf returns the statement for n references. CROSS JOIN keeps SQLite from scanning the blobs
// first.
func blobsOf(n int) string {
	places := strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?), ", n), ", ")
	return "WITH r (place, field, base, chunks) AS (VALUES " + places + `)
		SELECT r.place, b.base, b.chunk, b.data FROM r CROSS JOIN blobs b
		WHERE b.chain = ? AND b.field = r.field AND b.base = r.base AND b.chunk BETWEEN 0 AND r.chunks`
}

// blobs adds all blobs that the references of a snapshot name.
func (v *view) blobs(chain int64, snap *checkpoint.Snapshot) error {
	for rest := snap.Refs; len(rest) > 0; {
		size := 0
		if len(rest) > batches[0] {
			size = 1
		}
		n := min(len(rest), batches[size])
		if err := v.batch(v.stmts.blobs[size], batches[size], chain, rest[:n], snap); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// batch adds the blobs of a few references. Rows may come in any order of references. The rows of
// one reference come in the order of the chunks, which is the order of the index.
func (v *view) batch(stmt *sql.Stmt, size int, chain int64, refs []checkpoint.Ref, snap *checkpoint.Snapshot) error {
	args := make([]any, 4*size+1)
	for i, r := range refs {
		args[4*i], args[4*i+1], args[4*i+2], args[4*i+3] = i, r.Field, int64(r.Base), r.Chunks
	}
	args[4*size] = chain
	pieces := make([][]checkpoint.Blob, len(refs))
	err := v.query(stmt, func(rows *sql.Rows) error {
		var place int
		var b checkpoint.Blob
		if err := rows.Scan(&place, &b.Base, &b.Chunk, &b.Data); err != nil {
			return err
		}
		b.Field = refs[place].Field
		if b.Chunk != len(pieces[place]) {
			return missingBlob(snap, refs[place], len(pieces[place]))
		}
		pieces[place] = append(pieces[place], b)
		return nil
	}, args...)
	if err != nil {
		return err
	}
	for i, r := range refs {
		if len(pieces[i]) <= r.Chunks {
			return missingBlob(snap, r, len(pieces[i]))
		}
		snap.Blobs = append(snap.Blobs, pieces[i]...)
	}
	return nil
}

func missingBlob(snap *checkpoint.Snapshot, r checkpoint.Ref, chunk int) error {
	why := fmt.Sprintf("chunk %d of base %d is missing", chunk, r.Base)
	return &checkpoint.CorruptError{Key: snap.Key, Seq: snap.Seq, Field: r.Field, Why: why}
}
