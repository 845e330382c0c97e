package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weftrun/weft/checkpoint"
)

// maxCommit is how many bytes one commit or put may bring. A message to PostgreSQL has
// at most 1 GiB, and the server copies what is in it.
const maxCommit = 512 << 20

// answer is what a function of the schema returns.
type answer struct {
	verdict string
	at      *int64
	owner   *string
}

func (a answer) head() uint64 {
	if a.at == nil {
		return 0
	}
	return uint64(*a.at)
}

// ask calls a function of the schema and returns its answer, or the error that the
// answer means for a writer of the chain k who expects a head.
func (s *Store) ask(ctx context.Context, conn *pgxpool.Conn, text string, k checkpoint.Key, want uint64, args ...any) (a answer, err error) {
	args = append([]any{s.mode}, args...)
	if err := conn.QueryRow(ctx, text, args...).Scan(&a.verdict, &a.at, &a.owner); err != nil {
		return a, err
	}
	switch a.verdict {
	case "conflict":
		return a, &checkpoint.ConflictError{Key: k, Want: want, Head: a.head()}
	case "fenced":
		fenced := &checkpoint.FencedError{Thread: k.Thread}
		if a.owner != nil {
			fenced.Owner = *a.owner
		}
		return a, fenced
	case "none":
		return a, fmt.Errorf("%w: thread %q, namespace %q has no commit to put entries beside", checkpoint.ErrNotFound, k.Thread, k.Namespace)
	}
	return a, nil
}

// Commit implements checkpoint.Store. It returns when the server has the commit on its disk, unless
// the server's settings disable that wait; see Doctor.
func (s *Store) Commit(ctx context.Context, c checkpoint.Commit) error {
	if err := c.Check(); err != nil {
		return err
	}
	args, err := commitArgs(c)
	if err != nil {
		return err
	}
	return s.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := s.ask(ctx, conn, s.text.commit, c.Key, c.Head, args...)
		if isUniqueBlob(err) {
			return fmt.Errorf("thread %q, namespace %q, commit %d: one of its blobs is stored already; a blob is written once: %w",
				c.Thread, c.Namespace, c.Seq(), err)
		}
		return err
	})
}

// commitArgs returns the arguments of commit_3. All attempts of a call have one nonce.
func commitArgs(c checkpoint.Commit) ([]any, error) {
	refs, err := encodeRefs(c.Refs)
	if err != nil {
		return nil, fmt.Errorf("%w: thread %q, namespace %q, commit %d", err, c.Thread, c.Namespace, c.Seq())
	}
	size := len(c.Header)
	at, data := newPlaces(len(c.Blobs)), make([][]byte, 0, len(c.Blobs))
	for _, b := range c.Blobs {
		if err := at.add(b.Field, b.Base, b.Chunk); err != nil {
			return nil, fmt.Errorf("%w: thread %q, namespace %q, commit %d", err, c.Thread, c.Namespace, c.Seq())
		}
		data = append(data, owned(b.Data))
		size += len(b.Data)
	}
	beside := besides(c.Pending)
	if size += beside.size; size > maxCommit {
		return nil, fmt.Errorf("%w: thread %q, namespace %q, commit %d has %d bytes, the limit is %d", checkpoint.ErrTooLarge, c.Thread, c.Namespace, c.Seq(), size, maxCommit)
	}
	return []any{
		[]byte(c.Thread), []byte(c.Namespace), c.Fence, number(c.Head), number(c.Seq()), []byte(c.ID), int64(rand.Uint64()),
		micros(c.TTL), encodeLabels(c.Labels), owned(c.Header),
		refs.fields, refs.bases, refs.chunks, refs.sum(),
		at.fields, at.bases, at.chunks, data,
		beside.tasks, beside.slots, beside.data,
	}, nil
}

// owned makes bytes of nothing, since NULL is not the same.
func owned(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// number is a head as PostgreSQL can hold it. No chain is as long as the greatest.
func number(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// micros is a time to live as the functions want it; it is never 0 for one that is not. The longest
// durations lose a microsecond.
func micros(ttl time.Duration) int64 {
	return int64((min(ttl, math.MaxInt64-time.Microsecond) + time.Microsecond - 1) / time.Microsecond)
}

// encodeLabels returns labels as JSON. A value is always a string.
func encodeLabels(labels map[string]string) string {
	if len(labels) == 0 {
		return "{}"
	}
	b, err := json.Marshal(labels)
	if err != nil {
		panic(err) // strings cannot fail
	}
	return string(b)
}

// entries are arrays of one length, in order of task, then slot; no two are the same.
type entries struct {
	tasks, slots [][]byte
	keep         []bool
	data         [][]byte
	size         int
}

// besides puts entries in order, and leaves of those with one task and slot the one
// that would be there if they were put one after the other.
func besides(list []checkpoint.Entry) entries {
	list = slices.Clone(list)
	same := func(a, b checkpoint.Entry) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Slot, b.Slot))
	}
	slices.SortStableFunc(list, same)
	e := entries{make([][]byte, 0, len(list)), make([][]byte, 0, len(list)), make([]bool, 0, len(list)), make([][]byte, 0, len(list)), 0}
	for i, one := range list {
		e.size += len(one.Data)
		switch last := len(e.tasks) - 1; {
		case i == 0 || same(list[i-1], one) != 0:
			e.tasks, e.slots = append(e.tasks, []byte(one.Task)), append(e.slots, []byte(one.Slot))
			e.keep, e.data = append(e.keep, one.Keep), append(e.data, owned(one.Data))
		case !one.Keep:
			e.keep[last], e.data[last] = false, owned(one.Data)
		}
	}
	return e
}

// Put implements checkpoint.Store.
func (s *Store) Put(ctx context.Context, p checkpoint.Pending) error {
	e := besides(p.Entries)
	if e.size > maxCommit {
		return fmt.Errorf("%w: thread %q, namespace %q: entries have %d bytes, the limit is %d", checkpoint.ErrTooLarge, p.Thread, p.Namespace, e.size, maxCommit)
	}
	return s.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := s.ask(ctx, conn, s.text.put, p.Key, p.Head,
			[]byte(p.Thread), []byte(p.Namespace), p.Fence, number(p.Head), e.tasks, e.slots, e.keep, e.data)
		return err
	})
}

// Drop implements checkpoint.Dropper.
func (s *Store) Drop(ctx context.Context, d checkpoint.Drop) error {
	if err := d.Check(); err != nil {
		return err
	}
	at, seqs := newPlaces(len(d.Blobs)), make([]int64, 0, len(d.Commits))
	for _, b := range d.Blobs {
		if at.add(b.Field, b.Base, b.Chunk) != nil {
			continue // such a blob cannot be there
		}
	}
	for _, n := range d.Commits {
		seqs = append(seqs, number(n))
	}
	return d.Result(s.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := s.ask(ctx, conn, s.text.drop, d.Key, d.Head,
			[]byte(d.Thread), []byte(d.Namespace), d.Fence, number(d.Head), d.All, seqs, at.fields, at.bases, at.chunks)
		return err
	}))
}

// Delete implements checkpoint.Store.
func (s *Store) Delete(ctx context.Context, thread string) error {
	return s.call(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, s.text.forget, s.mode, []byte(thread), false)
		return err
	})
}
