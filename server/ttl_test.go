package server

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/server/work"
	"github.com/weftrun/weft/state"
)

type counterState struct {
	N state.Sum[int] `json:"n"`
}

// counter is a graph of three steps.
func counter(t *testing.T, store checkpoint.Store) graph.Untyped {
	t.Helper()
	b := graph.New[counterState]("counter")
	add := func(_ context.Context, s *counterState) error { s.N.Add(1); return nil }
	for i, name := range []string{"a", "b", "c"} {
		b.Node(name, graph.Func(add))
		b.Edge([]string{graph.Start, "a", "b"}[i], name)
	}
	b.Edge("c", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g.Untyped()
}

// clock is a clock that a test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// Requirement: Threads expire
func TestSweep_ExpiresThreads(t *testing.T) {
	store, c := &checkpoint.Memory{}, &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	g := counter(t, store)
	config := Config{Store: store, Documents: &document.Map{}, Graphs: map[string]graph.Untyped{"counter": g}, Now: c.now}
	s, err := New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(t.Context(), config) // as another process on the store
	if err != nil {
		t.Fatal(err)
	}
	add := func(id string, lives *ttl, status wire.ThreadStatus) {
		now := wire.At(c.at)
		record := thread{wire.Thread{ThreadID: id, CreatedAt: now, UpdatedAt: now, Status: status}, lives, "", nil}
		if _, err := s.threads.create(t.Context(), id, record, c.at); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Invoke(t.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: id}); err != nil {
			t.Fatal(err)
		}
	}
	add("forever", nil, wire.ThreadIdle)
	add("deleted", &ttl{Minutes: 10, Strategy: ttlDelete}, wire.ThreadIdle)
	add("pruned", &ttl{Minutes: 10, Strategy: ttlKeepLatest}, wire.ThreadIdle)
	add("busy", &ttl{Minutes: 10, Strategy: ttlDelete}, wire.ThreadBusy)
	add("held", &ttl{Minutes: 10, Strategy: ttlDelete}, wire.ThreadIdle)
	if _, err := s.queue.Create(t.Context(), queue.Run{ID: "run", Thread: "busy"}, queue.Enqueue); err != nil {
		t.Fatal(err)
	}
	add("left busy", &ttl{Minutes: 10, Strategy: ttlDelete}, wire.ThreadBusy) // by a process that has died
	held, err := checkpoint.Hold(t.Context(), store, "held", checkpoint.HoldOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sweep := func(s *Server, after time.Duration, want int) {
		t.Helper()
		c.at = c.at.Add(after)
		if got, err := s.sweep(t.Context()); err != nil || got != want {
			t.Fatalf("sweep after %v: %d threads and error %v, want %d", after, got, err, want)
		}
	}
	sweep(s, 9*time.Minute, 0)
	sweep(other, time.Minute, 3)
	sweep(s, time.Second, 0) // it was the turn of the other process
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	sweep(s, time.Minute, 1)
	sweep(s, time.Minute, 0)
	for id, want := range map[string]int{"forever": 4, "deleted": 0, "pruned": 1, "busy": 4, "left busy": 0, "held": 0} {
		commits := 0
		for _, err := range store.History(t.Context(), checkpoint.Key{Thread: id}, checkpoint.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			commits++
		}
		_, found, err := s.threads.get(t.Context(), id)
		if err != nil || commits != want || found != (want > 0) {
			t.Errorf("thread %s has %d commits, record %v, error %v; want %d commits", id, commits, found, err, want)
		}
	}
	// An update restarts the time to live.
	if _, _, err := s.threads.change(t.Context(), "pruned", func(t *thread) error { t.UpdatedAt = wire.At(c.at); return nil }); err != nil {
		t.Fatal(err)
	}
	sweep(s, 11*time.Minute, 1)
}

func TestWork_SweepsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &checkpoint.Memory{}
		s, err := New(t.Context(), Config{Store: store, Graphs: map[string]graph.Untyped{"counter": counter(t, store)}})
		if err != nil {
			t.Fatal(err)
		}
		record := thread{wire.Thread{ThreadID: "t", UpdatedAt: wire.At(time.Now())}, &ttl{Minutes: 10, Strategy: ttlDelete}, "", nil}
		if _, err := s.threads.create(t.Context(), "t", record, time.Now()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() { s.Work(ctx, Workers{}); close(ended) }()
		for _, want := range []bool{true, false} {
			time.Sleep(9 * time.Minute) // of the fake clock
			if _, found, err := s.threads.get(ctx, "t"); err != nil || found != want {
				t.Errorf("after %v the record is there: %v and %v, want %v", time.Now(), found, err, want)
			}
		}
		cancel()
		<-ended
	})
}

// A process has died after it had stored the end of a run in the record of its thread.
func TestExpire_LeavesAThreadWhoseRunHasToBeEnded(t *testing.T) {
	for _, members := range []string{`"on_completion":"keep"`, `"on_completion":"delete"`} {
		synctest.Test(t, func(t *testing.T) {
			s := newSingle(t, func(context.Context, *onceState) error { return nil })
			made := s.call("POST /runs", `{"assistant_id":"g","input":{},`+members+`}`)
			thread := made.Get("thread_id").String()
			left := strings.Contains(members, "delete")
			if !left {
				s.call("PATCH /threads/"+thread, `{"ttl":1}`)
			}
			claims, err := s.queue.Claim(t.Context(), 1)
			if err != nil || len(claims) != 1 {
				t.Fatalf("Claim returned %d claims and error %v", len(claims), err)
			}
			if err := (host{s.Server}).Ended(t.Context(), claims[0].Run, work.Outcome{Status: queue.Success}); err != nil {
				t.Fatal(err)
			}
			claims[0].Abandon()
			time.Sleep(time.Hour) // of the fake clock
			remove := func(want int) {
				t.Helper()
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				_, err := s.sweep(ctx)
				err = errors.Join(err, s.removeLeftovers(ctx))
				runs, err2 := s.queue.List(ctx, thread)
				if err := errors.Join(err, err2); err != nil || len(runs) != want {
					t.Errorf("%d runs are left and error %v, want %d", len(runs), err, want)
				}
				time.Sleep(time.Hour)
			}
			remove(1)
			if r := s.work(thread); r.Status != queue.Success {
				t.Errorf("the run has ended with %s", r.Status)
			}
			time.Sleep(time.Hour)
			remove(0)
		})
	}
}
