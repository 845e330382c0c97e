package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
)

// row is a commit as the statements return it; see found. What was not there is nil.
type row struct {
	head   *int64
	seq    *int64
	id     []byte
	labels *string
	header []byte
	refs   places
	sum    *int64

	tasks, slots, data [][]byte
}

// places returns where to scan the columns of found.
func (r *row) places() []any {
	return []any{
		&r.head, &r.seq, &r.id, &r.labels, &r.header, &r.refs.fields, &r.refs.bases, &r.refs.chunks, &r.sum,
		&r.tasks, &r.slots, &r.data,
	}
}

// snapshot makes a snapshot without blobs of a row of the chain k.
func (r *row) snapshot(k checkpoint.Key) (checkpoint.Snapshot, error) {
	snap := checkpoint.Snapshot{Key: k, Head: uint64(*r.head)}
	if r.seq == nil {
		return snap, missingCommit(k, snap.Head)
	}
	snap.Seq, snap.ID, snap.Header = uint64(*r.seq), string(r.id), r.header
	damaged := func(field, why string) error {
		return &checkpoint.CorruptError{Key: k, Seq: snap.Seq, Field: field, Why: why}
	}
	var why string
	if snap.Refs, why = decodeRefs(r.refs, *r.sum); why != "" {
		return snap, damaged("header", why)
	}
	if *r.labels != "{}" {
		if err := json.Unmarshal([]byte(*r.labels), &snap.Labels); err != nil {
			return snap, damaged("header", "the labels are not text: "+err.Error())
		}
	}
	for i := range r.tasks {
		snap.Pending = append(snap.Pending, checkpoint.Entry{Task: string(r.tasks[i]), Slot: string(r.slots[i]), Data: r.data[i]})
	}
	return snap, nil
}

func missingCommit(k checkpoint.Key, seq uint64) error {
	return &checkpoint.CorruptError{Key: k, Seq: seq, Field: "header", Why: "the commit is missing"}
}

func notFound(k checkpoint.Key, seq uint64) error {
	return fmt.Errorf("%w: thread %q, namespace %q, commit %d", checkpoint.ErrNotFound, k.Thread, k.Namespace, seq)
}

// Load implements checkpoint.Store.
func (s *Store) Load(ctx context.Context, k checkpoint.Key, seq uint64) (snap checkpoint.Snapshot, err error) {
	err = s.call(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, s.text.load, s.mode, []byte(k.Thread), []byte(k.Namespace), number(seq))
		if err != nil {
			return err
		}
		defer rows.Close()
		snap, err = readLoad(rows, k, seq)
		return err
	})
	if err != nil {
		return checkpoint.Snapshot{}, err
	}
	return snap, nil
}

// piece is a row that holds a blob of the reference at a place, counted from 1.
type piece struct {
	place int64
	chunk int32
	data  []byte
}

func readLoad(rows pgx.Rows, k checkpoint.Key, seq uint64) (snap checkpoint.Snapshot, err error) {
	var commit *row
	var pieces []piece
	for rows.Next() {
		var p piece
		var r row
		if err := rows.Scan(append([]any{&p.place, &p.chunk, &p.data}, r.places()...)...); err != nil {
			return snap, err
		}
		if p.place == 0 {
			commit = &r
		} else {
			pieces = append(pieces, p)
		}
	}
	switch err := rows.Err(); {
	case err != nil:
		return snap, err
	case commit == nil, seq > math.MaxInt64, commit.seq == nil && seq != 0 && seq != uint64(*commit.head):
		return snap, notFound(k, seq)
	}
	if snap, err = commit.snapshot(k); err != nil {
		return snap, err
	}
	return snap, addBlobs(&snap, pieces)
}

// addBlobs adds the chunks 0 to Chunks of each reference, all of them.
func addBlobs(snap *checkpoint.Snapshot, pieces []piece) error {
	slices.SortFunc(pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.chunk, b.chunk))
	})
	snap.Blobs = make([]checkpoint.Blob, 0, len(pieces))
	for i, r := range snap.Refs {
		for chunk := 0; chunk <= r.Chunks; chunk++ {
			if len(pieces) == 0 || pieces[0].place != int64(i+1) || int(pieces[0].chunk) != chunk {
				why := fmt.Sprintf("chunk %d of base %d is missing", chunk, r.Base)
				return &checkpoint.CorruptError{Key: snap.Key, Seq: snap.Seq, Field: r.Field, Why: why}
			}
			snap.Blobs = append(snap.Blobs, checkpoint.Blob{Field: r.Field, Base: r.Base, Chunk: chunk, Data: pieces[0].data})
			pieces = pieces[1:]
		}
	}
	return nil
}
