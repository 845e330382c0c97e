package journal_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/journal"
	"github.com/weftrun/weft/state"
)

type counter struct {
	N state.Sum[int] `json:"n"`
}

// source is a run that does nothing but count.
type source struct {
	schema  *state.Schema
	view    state.View
	changed []bool
	largest int // bytes of a commit; 0 is no bound
	calls   []string
	report  func() // what Stored returns
}

func (s *source) Record() (*checkpoint.Record, error) {
	s.calls = append(s.calls, "record")
	return &checkpoint.Record{Graph: "g", Source: checkpoint.Step, Step: s.view.State.(*counter).N.Get()}, nil
}

func (s *source) State() (state.View, []bool) { return s.view, s.changed }

func (s *source) Check(bytes int) error {
	if s.largest > 0 && bytes > s.largest {
		return errTooLarge
	}
	return nil
}

func (s *source) Encoded() { s.calls = append(s.calls, "encoded") }
func (s *source) Stored(seq uint64) func() {
	s.calls = append(s.calls, fmt.Sprint("stored ", seq))
	return s.report
}
func (s *source) Restate() error { s.calls = append(s.calls, "restate"); return nil }

// add is a step of the run.
func (s *source) add(t *testing.T) {
	t.Helper()
	v := s.schema.Blank()
	v.State.(*counter).N.Add(1)
	if err := s.view.Channels[0].Fold(v.Channels); err != nil {
		t.Fatal(err)
	}
	s.changed[0] = true
}

var (
	errTooLarge  = errors.New("the commit is too large")
	errAbandoned = errors.New("the run was given up")
)

// fixture is a journal on a store whose calls can be watched.
type fixture struct {
	*journal.Journal
	source  *source
	store   *store
	given   atomic.Bool // the run was given up
	stopped error       // why the journal has cancelled the run
}

// store fails, waits or panics before a write, and loses commits.
type store struct {
	checkpoint.Store
	before func() error
}

func (s *store) Commit(ctx context.Context, c checkpoint.Commit) error {
	if s.before != nil {
		if err := s.before(); err != nil {
			return err
		}
	}
	return s.Store.Commit(ctx, c)
}

func (s *store) Put(ctx context.Context, p checkpoint.Pending) error {
	if s.before != nil {
		if err := s.before(); err != nil {
			return err
		}
	}
	return s.Store.Put(ctx, p)
}

func open(t *testing.T, ctx context.Context, d journal.Durability, parent *journal.Journal) *fixture {
	t.Helper()
	schema, err := state.SchemaOf[counter]()
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{store: &store{Store: new(checkpoint.Memory)}}
	key := checkpoint.Key{Thread: "t"}
	if parent != nil {
		key.Namespace = "child"
	}
	chain, err := checkpoint.Open(ctx, f.store, key, schema)
	if err != nil {
		t.Fatal(err)
	}
	f.source = &source{schema: schema, view: chain.State, changed: make([]bool, 1)}
	f.Journal = journal.New(ctx, chain, journal.Config{Source: f.source, Store: f.store, Key: key, Run: "run", Durability: d,
		Parent: parent, Disposable: parent != nil, Writes: new(atomic.Int32),
		Allowed: func() error {
			if f.given.Load() {
				return errAbandoned
			}
			return nil
		},
		Cancel: func(cause error) { f.stopped = cause },
		Fail:   func(err error) error { return fmt.Errorf("graph: %w", err) },
		Panic:  func(v any) error { return fmt.Errorf("panic: %v", v) },
	})
	t.Cleanup(f.Close)
	return f
}

// stored returns the steps of the commits in the store, newest first, and the slots that are
// pending.
func (f *fixture) stored(t *testing.T) (steps []int, pending []string) {
	t.Helper()
	for snap, err := range f.store.History(t.Context(), checkpoint.Key{Thread: "t"}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		rec, err := checkpoint.ReadRecord(snap)
		if err != nil {
			t.Fatal(err)
		}
		if len(steps) == 0 {
			entries, err := checkpoint.ReadPending(snap)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				pending = append(pending, e.Slot)
			}
		}
		steps = append(steps, rec.Step)
	}
	return steps, pending
}

func entry(slot string) checkpoint.Entry {
	return checkpoint.Entry{Task: "task", Slot: slot, Data: []byte("1")}
}

func TestCommit_FollowsTheDurability(t *testing.T) {
	for _, c := range []struct {
		d        journal.Durability
		between  []int // stored after two steps of three, oldest last
		complete []int
	}{
		{journal.Sync, []int{2, 1}, []int{3, 2, 1}},
		{journal.Exit, nil, []int{3}},
	} {
		f := open(t, t.Context(), c.d, nil)
		for n := 1; n <= 3; n++ {
			f.source.add(t)
			if err := f.Commit(n == 3, false); err != nil {
				t.Fatal(err)
			}
			if steps, _ := f.stored(t); n == 2 && !slices.Equal(steps, c.between) {
				t.Errorf("durability %d after two steps\n got: commits of the steps %v\nwant: %v", c.d, steps, c.between)
			}
		}
		if steps, _ := f.stored(t); !slices.Equal(steps, c.complete) {
			t.Errorf("durability %d at the end\n got: commits of the steps %v\nwant: %v", c.d, steps, c.complete)
		}
	}
}

func TestCommit_AsyncGoesOnBesideTheStep(t *testing.T) {
	f := open(t, t.Context(), journal.Async, nil)
	sent, release := make(chan struct{}), make(chan struct{})
	f.store.before = func() error { close(sent); <-release; return nil }
	f.source.add(t)
	if err := f.Commit(false, false); err != nil {
		t.Fatal(err)
	}
	<-sent
	if got := f.Stored(); got != 0 {
		t.Errorf("a commit on its way\n got: stored is %d\nwant: 0", got)
	}
	f.store.before = nil
	close(release)
	if err := f.Flush(); err != nil || f.Stored() != 1 {
		t.Errorf("Flush waits for the commit on its way\n got: stored is %d, %v\nwant: 1", f.Stored(), err)
	}
}

func TestCommit_AsyncFailureCancelsTheRunAndFailsWhatFollows(t *testing.T) {
	f := open(t, t.Context(), journal.Async, nil)
	away := errors.New("the store is away")
	f.store.before = func() error { return away }
	f.source.add(t)
	if err := f.Commit(false, false); err != nil {
		t.Fatal(err)
	}
	f.source.add(t)
	err := f.Commit(false, false)
	if !errors.Is(err, away) || !errors.Is(f.stopped, away) || !errors.As(err, new(journal.WriteError)) {
		t.Errorf("a commit that failed beside a step\n got: %v, and the run was cancelled because of %v\nwant: %v for both, as a WriteError", err, f.stopped, away)
	}
}

func TestPut_StoresWhatComesBeforeIt(t *testing.T) {
	f := open(t, t.Context(), journal.Exit, nil)
	f.source.add(t)
	if err := f.Commit(false, false); err != nil {
		t.Fatal(err)
	}
	for _, slot := range []string{"a", "b", "a"} {
		if err := f.Put([]checkpoint.Entry{entry(slot)}); err != nil {
			t.Fatal(err)
		}
	}
	if steps, pending := f.stored(t); !slices.Equal(steps, []int{1}) || len(pending) != 2 {
		t.Errorf("pending writes under Exit\n got: commits of the steps %v, pending %v\nwant: step 1, and a and b once each", steps, pending)
	}
	if len(f.Chain.Pending) != 2 {
		t.Errorf("the chain knows %d pending writes, want 2", len(f.Chain.Pending))
	}
}

func TestFlush_StoresTheParentFirst(t *testing.T) {
	parent := open(t, t.Context(), journal.Exit, nil)
	parent.source.add(t)
	if err := parent.Commit(false, false); err != nil {
		t.Fatal(err)
	}
	child := open(t, t.Context(), journal.Exit, parent.Journal)
	child.source.add(t)
	if err := child.Commit(true, false); err != nil || !child.CanWait() {
		t.Fatalf("a subgraph that is done\n got: can wait %v, %v\nwant: it can wait for its parent", child.CanWait(), err)
	}
	if parent.Stored() != 0 {
		t.Fatal("the parent was stored although nothing needed it")
	}
	if err := child.Flush(); err != nil || parent.Stored() != 1 || child.Stored() != 1 {
		t.Errorf("a subgraph that is stored\n got: parent at %d, child at %d, %v\nwant: 1 and 1", parent.Stored(), child.Stored(), err)
	}
}

func TestCommit_ChecksBeforeItStoresAnything(t *testing.T) {
	f := open(t, t.Context(), journal.Sync, nil)
	f.source.largest = 1
	f.Before(func() error { f.source.calls = append(f.source.calls, "before"); return nil })
	f.source.add(t)
	if err := f.Commit(false, false); !errors.Is(err, errTooLarge) {
		t.Errorf("a commit that is too large\n got: %v\nwant: %v", err, errTooLarge)
	}
	if steps, _ := f.stored(t); len(steps) > 0 || slices.Contains(f.source.calls, "before") {
		t.Errorf("a commit that is too large\n got: commits %v, calls %v\nwant: none", steps, f.source.calls)
	}
	f.source.largest = 0
	if err := f.Commit(false, false); err != nil || !slices.Equal(f.source.calls, []string{"record", "record", "before", "encoded", "stored 1"}) {
		t.Errorf("a commit\n got: calls %v, %v\nwant: record twice, before, made, stored 1", f.source.calls, err)
	}
}

func TestCommit_RestatesWhatTheStoreHasLost(t *testing.T) {
	f := open(t, t.Context(), journal.Sync, nil)
	f.Record(checkpoint.Entry{Slot: "traced", Data: []byte("1")})
	for range 2 {
		f.source.add(t)
		if err := f.Commit(false, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Put([]checkpoint.Entry{entry("a")}); err != nil {
		t.Fatal(err)
	}
	f.store.Store = new(checkpoint.Memory) // a replica that had received nothing
	f.source.add(t)
	if err := f.Commit(false, false); err != nil {
		t.Fatal(err)
	}
	steps, _ := f.stored(t)
	snap, err := f.store.Load(t.Context(), checkpoint.Key{Thread: "t"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	rec, v, err := checkpoint.Restore(snap, f.source.schema)
	if err != nil {
		t.Fatal(err)
	}
	if n := v.State.(*counter).N.Get(); !slices.Equal(steps, []int{3}) || n != 3 || !rec.Recovered || len(rec.Trace) != 1 || !slices.Contains(f.source.calls, "restate") {
		t.Errorf("a store that lost the thread\n got: steps %v, state %d, recovered %v, trace %v, calls %v\nwant: one commit with all of it",
			steps, n, rec.Recovered, rec.Trace, f.source.calls)
	}
}

// forgetful acknowledges commits that it does not store, and reads nothing for a call that is over.
type forgetful struct {
	checkpoint.Store
	forgets bool
	broken  bool // History panics
}

func (s *forgetful) Commit(ctx context.Context, c checkpoint.Commit) error {
	if s.forgets {
		return nil
	}
	return s.Store.Commit(ctx, c)
}

func (s *forgetful) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	if s.broken {
		panic("broken")
	}
	if err := ctx.Err(); err != nil {
		return func(yield func(checkpoint.Snapshot, error) bool) { yield(checkpoint.Snapshot{}, err) }
	}
	return s.Store.History(ctx, k, q)
}

// loses returns a journal whose store has lost the second of two commits.
func loses(t *testing.T, ctx context.Context) (*fixture, *forgetful) {
	f := open(t, ctx, journal.Sync, nil)
	s := &forgetful{Store: f.store.Store}
	f.store.Store = s
	for n := range 2 {
		s.forgets = n == 1
		f.source.add(t)
		if err := f.Commit(false, false); err != nil {
			t.Fatal(err)
		}
	}
	s.forgets = false
	f.source.add(t)
	return f, s
}

// The loss is noticed by a commit that is still on its way when the next one has pending writes.
func TestCommitNow_KeepsPendingWritesWhenTheStoreHasLostCommits(t *testing.T) {
	f := open(t, t.Context(), journal.Async, nil)
	s := &forgetful{Store: f.store.Store}
	f.store.Store = s
	for n := range 3 {
		s.forgets = n == 1
		f.source.add(t)
		err := f.Commit(false, false)
		if n < 2 && err == nil {
			err = f.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f.source.add(t)
	if err := f.CommitNow(entry("a")); err != nil {
		t.Fatal(err)
	}
	if steps, pending := f.stored(t); !slices.Equal(steps, []int{4, 1}) || !slices.Equal(pending, []string{"a"}) {
		t.Errorf("a commit with pending writes after a loss\n got: commits of the steps %v, pending %v\nwant: 4 and 1, and a", steps, pending)
	}
}

func TestCommit_RestatesAfterTheRunWasCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f, s := loses(t, ctx)
	cancel()
	if err := f.Commit(true, false); err != nil {
		t.Fatalf("a cancelled run whose store lost a commit\n got: %v\nwant: the state is stored again", err)
	}
	f.store.Store = s.Store
	if steps, _ := f.stored(t); !slices.Equal(steps, []int{3, 1}) {
		t.Errorf("a cancelled run whose store lost a commit\n got: commits of the steps %v\nwant: 3 and 1", steps)
	}
}

func TestCommit_PanicOfTheStoreInRecoveryIsAnError(t *testing.T) {
	f, s := loses(t, t.Context())
	s.broken = true
	if err := f.Commit(true, false); err == nil || !strings.Contains(err.Error(), "panic: broken") {
		t.Errorf("a store that panics while a loss is recovered\n got: %v\nwant: an error that names it", err)
	}
}

func TestCommit_DoesNotGoOnFromAnothersCommit(t *testing.T) {
	f := open(t, t.Context(), journal.Sync, nil)
	for range 2 {
		f.source.add(t)
		if err := f.Commit(false, false); err != nil {
			t.Fatal(err)
		}
	}
	f.store.Store = new(checkpoint.Memory)
	other, err := checkpoint.Open(t.Context(), f.store, checkpoint.Key{Thread: "t"}, f.source.schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Commit(t.Context(), "another run", &checkpoint.Record{Graph: "g"}, other.State, []bool{true}); err != nil {
		t.Fatal(err)
	}
	f.source.add(t)
	if err := f.Commit(false, false); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("a chain whose end is not the run's own\n got: %v\nwant: %v", err, checkpoint.ErrConflict)
	}
}

func TestWrite_OutlivesTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := open(t, ctx, journal.Sync, nil)
	cancel()
	f.source.add(t)
	if err := f.Commit(true, false); err != nil || f.Stored() != 1 {
		t.Errorf("a run that was cancelled stores what it has\n got: stored is %d, %v\nwant: 1", f.Stored(), err)
	}
	f.given.Store(true)
	f.source.add(t)
	if err := f.Commit(true, false); !errors.Is(err, errAbandoned) {
		t.Errorf("a run that was given up writes nothing\n got: %v\nwant: %v", err, errAbandoned)
	}
}

func TestFlush_RunThatWasGivenUpTouchesNothing(t *testing.T) {
	parent := open(t, t.Context(), journal.Exit, nil)
	child := open(t, t.Context(), journal.Exit, parent.Journal)
	for _, f := range []*fixture{parent, child} {
		f.source.add(t)
		if err := f.Commit(false, false); err != nil {
			t.Fatal(err)
		}
	}
	child.given.Store(true)
	err := child.Flush()
	if !errors.Is(err, errAbandoned) || parent.Stored() != 0 || len(parent.source.calls)+len(child.source.calls) > 0 {
		t.Errorf("a subgraph that was given up\n got: %v, the parent is at %d, calls %v and %v\nwant: %v, and no call",
			err, parent.Stored(), parent.source.calls, child.source.calls, errAbandoned)
	}
}

func TestPutWhile_AsksWhenEarlierWritesHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, t.Context(), journal.Sync, nil)
		f.source.add(t)
		if err := f.Commit(false, false); err != nil {
			t.Fatal(err)
		}
		release, waited := make(chan struct{}), make(chan struct{})
		f.store.before = func() error { <-release; return nil }
		var over atomic.Bool
		first, second := make(chan error, 1), make(chan error, 1)
		allowed := func() error {
			if over.Load() {
				return errAbandoned
			}
			return nil
		}
		go func() { first <- f.PutWhile(allowed, []checkpoint.Entry{entry("a")}) }()
		synctest.Wait()
		go func() { f.Wait(); close(waited) }()
		synctest.Wait()
		go func() { second <- f.PutWhile(allowed, []checkpoint.Entry{entry("b")}) }()
		synctest.Wait()
		select {
		case <-waited:
			t.Error("Wait returned while a write was under way")
		default:
		}
		over.Store(true)
		close(release)
		<-waited
		errA, errB := <-first, <-second
		if _, pending := f.stored(t); errA != nil || !errors.Is(errB, errAbandoned) || len(pending) != 1 {
			t.Errorf("two tasks that store beside the end of their step\n got: %v, %v, pending %v\nwant: the one that had begun is stored, the other %v",
				errA, errB, pending, errAbandoned)
		}
	})
}

func TestStored_ReportKeepsNoTaskWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, t.Context(), journal.Async, nil)
		read := make(chan struct{})
		f.source.report = func() { <-read } // a reader that is slow
		f.source.add(t)
		if err := f.Commit(false, false); err != nil {
			t.Fatal(err)
		}
		allowed := func() error { return nil }
		if err := f.PutWhile(allowed, []checkpoint.Entry{entry("a")}); err != nil || f.Stored() != 1 { // it waits for the commit
			t.Fatalf("a task that stores a result\n got: stored is %d, %v\nwant: 1", f.Stored(), err)
		}
		reported := make(chan error, 1)
		go func() { reported <- f.Flush() }()
		synctest.Wait()
		if err := f.PutWhile(allowed, []checkpoint.Entry{entry("b")}); err != nil {
			t.Error(err)
		}
		close(read)
		if err := <-reported; err != nil {
			t.Error(err)
		}
	})
}

func TestWrite_PanicOfTheStoreIsAnError(t *testing.T) {
	f := open(t, t.Context(), journal.Sync, nil)
	f.store.before = func() error { panic("broken") }
	f.source.add(t)
	if err := f.Commit(true, false); err == nil || !strings.Contains(err.Error(), "panic: broken") {
		t.Errorf("a store that panics\n got: %v\nwant: an error that names it", err)
	}
}

func TestPrune_RunsBesideTheNextStep(t *testing.T) {
	f := open(t, t.Context(), journal.Sync, nil)
	keep := checkpoint.Keep{Last: 10}
	j := journal.New(t.Context(), f.Chain, journal.Config{Source: f.source, Store: f.store.Store, Key: checkpoint.Key{Thread: "t"},
		Run: "run", Keep: keep, Now: time.Now, Writes: new(atomic.Int32), Allowed: func() error { return nil }, Cancel: func(error) {},
		Fail: func(err error) error { return err }, Panic: func(v any) error { return fmt.Errorf("%v", v) }})
	for range 64 {
		f.source.add(t)
		if err := j.Commit(false, false); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	if steps, _ := f.stored(t); len(steps) != 10 {
		t.Errorf("after 64 commits of which 10 are stored\n got: %d\nwant: 10", len(steps))
	}
}
