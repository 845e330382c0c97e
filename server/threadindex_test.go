package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/server/wire"
)

var errDied = errors.New("the process died")

// mortal is a store whose process dies now and then, before a write or after it.
type mortal struct {
	document.Store
	random *rand.Rand
}

func (m mortal) Batch(ctx context.Context, p document.Place, changes []document.Change) ([]document.Doc, error) {
	dies := m.random.IntN(10)
	if dies == 0 {
		return nil, errDied
	}
	docs, err := m.Store.Batch(ctx, p, changes)
	if dies == 1 {
		return nil, errors.Join(err, errDied)
	}
	return docs, err
}

// openedStore returns a store of each kind.
var openedStore = map[string]func(t *testing.T) checkpoint.Store{
	"memory": func(*testing.T) checkpoint.Store { return &checkpoint.Memory{} },
	"sqlite": func(t *testing.T) checkpoint.Store {
		s, err := sqlite.Open(t.Context(), t.TempDir()+"/weft.db")
		return closed(t, s, err)
	},
	"redis": func(t *testing.T) checkpoint.Store {
		s, err := redis.OpenURL(t.Context(), servertest.Redis(t))
		return closed(t, s, err)
	},
	"postgres": func(t *testing.T) checkpoint.Store {
		s, err := postgres.Open(t.Context(), servertest.Postgres(t), postgres.Config{RetryFor: time.Minute})
		return closed(t, s, err)
	},
}

func closed(t *testing.T, s checkpoint.Store, err error) checkpoint.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// indexModel changes threads at random, and compares what the index finds with a full scan.
type indexModel struct {
	t       *testing.T
	random  *rand.Rand
	threads records[thread]
	at      time.Time
}

func pick[T any](m *indexModel, list ...T) T { return list[m.random.IntN(len(list))] }

// object returns metadata, or a part of them to search for.
func (m *indexModel) object() wire.Object {
	o := wire.Object{}
	for _, key := range []string{wire.MetadataGraph, wire.MetadataAssistant, ownerKey, "user", "n"} {
		if m.random.IntN(3) == 0 {
			o[key] = []byte(pick(m, `"a"`, `"b"`, `1`, `1.0`, `true`, `null`, `{}`, `[1]`, `{"a":1}`, `{"a":{"b":"x"},"c":2}`, `{"a":{}}`))
		}
	}
	return o
}

func (m *indexModel) id() string {
	return fmt.Sprintf("%08d-0000-4000-8000-000000000000", m.random.IntN(30))
}

// change makes one change. A process that dies is another one's first step.
func (m *indexModel) change() {
	status := pick(m, threadStatuses...)
	id := m.id()
	var err error
	switch m.random.IntN(5) {
	case 0:
		err = m.threads.delete(m.t.Context(), id)
	case 1, 2:
		if m.random.IntN(2) == 0 { // else both are of one time
			m.at = m.at.Add(time.Second)
		}
		t := thread{Thread: wire.Thread{ThreadID: id, Status: status, Metadata: m.object(), UpdatedAt: wire.At(m.at)}}
		_, err = m.threads.create(m.t.Context(), id, t, m.at)
	default:
		_, _, err = m.threads.change(m.t.Context(), id, func(t *thread) error {
			t.Status, t.UpdatedAt = status, wire.At(m.at.Add(-time.Duration(m.random.IntN(5))*time.Second))
			if m.random.IntN(2) == 0 {
				t.Metadata = m.object()
			}
			t.TTL = pick(m, nil, &ttl{Minutes: 1})
			return nil
		})
	}
	if err != nil && !errors.Is(err, errDied) {
		m.t.Fatal(err)
	}
}

// check compares one search.
func (m *indexModel) check() {
	m.t.Helper()
	q := threadSearch{Metadata: m.object()}
	if m.random.IntN(2) == 0 {
		q.Status = pick(m, threadStatuses...)
	}
	if m.random.IntN(8) == 0 {
		q.IDs = []string{m.id(), m.id(), m.id()}
	}
	var filter Filter
	if m.random.IntN(3) == 0 {
		filter = Filter{ownerKey: pick[any](m, "a", 1, nil, map[string]any{"$eq": "a"}, map[string]any{"$contains": 1}, map[string]any{"$eq": 1, "$contains": 1})}
	}
	indexed, err := q.search(filter)
	if err != nil {
		m.t.Fatal(err)
	}
	indexed.sort, indexed.ascending = threadKeys[pick(m, "", "updated_at", "status")], m.random.IntN(2) == 0
	indexed.offset, indexed.limit = m.random.IntN(4), m.random.IntN(6)
	scanned := indexed
	scanned.terms, scanned.ids, scanned.exact = nil, nil, false
	got, gotTotal, err := m.threads.find(m.t.Context(), indexed)
	want, wantTotal, failed := m.threads.find(m.t.Context(), scanned)
	if err != nil || failed != nil {
		m.t.Fatal(err, failed)
	}
	sameID := func(a, b thread) bool { return a.ThreadID == b.ThreadID }
	if gotTotal != wantTotal || !slices.EqualFunc(got, want, sameID) {
		m.t.Fatalf("search %+v with filter %v: the index finds %d of %d threads, a scan %d of %d", q, filter, len(got), gotTotal, len(want), wantTotal)
	}
}

func TestThreadIndex_FindsWhatAScanFinds(t *testing.T) {
	for name, open := range openedStore {
		t.Run(name, func(t *testing.T) {
			steps := cmp.Or(map[string]int{"memory": 3000, "sqlite": 600}[name], 200)
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			m := &indexModel{t: t, random: rand.New(rand.NewPCG(seed, 1)), at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
			docs, _, err := storesOf(t.Context(), Config{Store: open(t)})
			if err != nil {
				t.Fatal(err)
			}
			m.threads = newRecords[thread](mortal{docs, m.random}, "weft.threads")
			for range 20 { // of a version without an index
				m.change()
			}
			m.threads.terms = threadTerms
			for died := true; died; {
				err := m.threads.index(t.Context())
				if died = errors.Is(err, errDied); err != nil && !died {
					t.Fatal(err)
				}
			}
			for range racescale.Of(steps, steps/4) {
				m.change()
				m.check()
			}
		})
	}
}

// TestThreadIndex_IsReadAlone counts what a search reads in a store of many threads.
func TestThreadIndex_IsReadAlone(t *testing.T) {
	store := &checkpoint.Memory{}
	docs := &readCounter{Store: &document.Map{}}
	s, err := New(t.Context(), Config{Store: store, Documents: docs, Graphs: map[string]graph.Untyped{"counter": counter(t, store)}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		now := wire.At(time.Now())
		r := thread{Thread: wire.Thread{ThreadID: newID(), Status: wire.ThreadIdle, Metadata: wire.Object{
			ownerKey: fmt.Appendf(nil, "%d", i%100), wire.MetadataGraph: []byte(`"counter"`)}}}
		if i%300 == 0 {
			r.Status = wire.ThreadInterrupted
		}
		if created, err := s.threads.create(t.Context(), r.ThreadID, r, now.Time); err != nil || !created {
			t.Fatal(created, err)
		}
	}
	object := func(text string) wire.Object { return wire.Object{wire.MetadataGraph: []byte(text)} }
	for _, c := range []struct {
		what   string
		q      threadSearch
		filter Filter
		total  int
		reads  int
	}{
		{"all", threadSearch{}, nil, 3000, 10},
		{"a status", threadSearch{Status: wire.ThreadIdle}, nil, 2990, 20},
		{"metadata", threadSearch{Metadata: object(`"counter"`)}, nil, 3000, 20},
		{"both", threadSearch{Status: wire.ThreadIdle, Metadata: object(`"counter"`)}, nil, 2990, 20},
		{"an owner's", threadSearch{}, Filter{ownerKey: 7}, 30, 20},
		{"an owner's of a graph", threadSearch{Metadata: object(`"counter"`)}, Filter{ownerKey: 7}, 30, 60},
		{"an owner's open questions", threadSearch{Status: wire.ThreadInterrupted, Metadata: object(`"counter"`)}, Filter{ownerKey: 0}, 10, 60},
		{"nothing", threadSearch{Metadata: object(`"other"`)}, nil, 0, 0},
	} {
		q, err := c.q.search(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		q.limit = 10
		docs.read.Store(0)
		list, total, err := s.threads.find(t.Context(), q)
		if read := int(docs.read.Load()); err != nil || total != c.total || len(list) != min(10, total) || read > c.reads {
			t.Errorf("%s: %d of %d threads with error %v, %d documents read; want a total of %d with at most %d",
				c.what, len(list), total, err, read, c.total, c.reads)
		}
	}
}

// readCounter counts the documents that are read.
type readCounter struct {
	document.Store
	read atomic.Int64
}

func (c *readCounter) Get(ctx context.Context, p document.Place, id string) (document.Doc, error) {
	c.read.Add(1)
	return c.Store.Get(ctx, p, id)
}

func (c *readCounter) Query(ctx context.Context, q document.Query) ([]document.Doc, error) {
	docs, err := c.Store.Query(ctx, q)
	c.read.Add(int64(len(docs)))
	return docs, err
}
