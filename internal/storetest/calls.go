package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/topic"
)

// Store has the interfaces that each store of this module implements.
type Store interface {
	checkpoint.Store
	checkpoint.Leaser
	checkpoint.Dropper
	checkpoint.Expirer
	checkpoint.Examiner
}

// Call is one call of a store. Its name is that of the method, with the prefix "Documents." or
// "Memory." for those of documents and memory. A Call without a Do only lists a method that sends
// the server nothing.
type Call struct {
	Name string
	Do   func(ctx context.Context) error
}

// Calls returns the calls of a store that have a Do, on a thread that has the commit [First]. more
// are the calls of methods that only this store has. Calls fails the test if a method that takes a
// context is in no Call.
func Calls(t testing.TB, s Store, docs document.Store, mem memory.Store, more ...Call) []Call {
	t.Helper()
	calls := append(threadCalls(s), append(documentCalls(docs), memoryCalls(mem)...)...)
	calls = append(calls, more...)
	known := map[string]bool{}
	for _, c := range calls {
		known[c.Name] = true
	}
	for prefix, of := range map[string]reflect.Type{
		"": reflect.TypeOf(s), "Documents.": reflect.TypeFor[document.Store](), "Memory.": reflect.TypeFor[memory.Store](),
	} {
		for m := range of.Methods() {
			if takesContext(m.Type) && !known[prefix+m.Name] {
				t.Errorf("rule: the table has every call of the store\n got: no %s%s in it", prefix, m.Name)
			}
		}
	}
	return slices.DeleteFunc(calls, func(c Call) bool { return c.Do == nil })
}

// takesContext reports whether the first parameter of a method, or the one after the receiver, is
// a context.
func takesContext(method reflect.Type) bool {
	for i := range min(2, method.NumIn()) {
		if method.In(i) == reflect.TypeFor[context.Context]() {
			return true
		}
	}
	return false
}

// Thread is the thread that the calls are about.
var Thread = checkpoint.Key{Thread: "thread"}

// First returns the commit that the thread must have before the calls.
func First() checkpoint.Commit { return commit(1) }

func commit(seq uint64) checkpoint.Commit {
	return checkpoint.Commit{
		Key: Thread, ID: fmt.Sprint("commit ", seq), Head: seq - 1, Header: []byte("header"),
		Refs:  []checkpoint.Ref{{Field: "log", Base: 1, Chunks: int(seq) - 1}},
		Blobs: []checkpoint.Blob{{Field: "log", Base: 1, Chunk: int(seq) - 1, Data: []byte("chunk")}},
	}
}

func threadCalls(s Store) []Call {
	return []Call{
		{"Load", func(ctx context.Context) error { _, err := s.Load(ctx, Thread, 0); return err }},
		{"Commit", func(ctx context.Context) error { return s.Commit(ctx, commit(2)) }},
		{"Put", func(ctx context.Context) error {
			return s.Put(ctx, checkpoint.Pending{Key: Thread, Head: 1, Entries: []checkpoint.Entry{{Task: "t", Data: []byte("x")}}})
		}},
		{"History", func(ctx context.Context) error { return drain(s.History(ctx, Thread, checkpoint.Query{})) }},
		{"Threads", func(ctx context.Context) error { return drain(s.Threads(ctx, checkpoint.ThreadQuery{})) }},
		{"Namespaces", func(ctx context.Context) error { _, err := s.Namespaces(ctx, Thread.Thread); return err }},
		{"Delete", func(ctx context.Context) error { return s.Delete(ctx, "another thread") }},
		{"Acquire", func(ctx context.Context) error {
			_, err := s.Acquire(ctx, checkpoint.LeaseRequest{Thread: "leased", Owner: "me", TTL: time.Minute})
			return err
		}},
		{"Release", func(ctx context.Context) error { return s.Release(ctx, "leased", "fence") }},
		{"Drop", func(ctx context.Context) error {
			return s.Drop(ctx, checkpoint.Drop{Key: Thread, Head: 2, Commits: []uint64{1}})
		}},
		{"Expire", func(ctx context.Context) error { return s.Expire(ctx, "another thread", time.Hour) }},
		{"Doctor", func(ctx context.Context) error { _, err := s.Doctor(ctx); return err }},
	}
}

func drain(all iter.Seq2[checkpoint.Snapshot, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func documentCalls(s document.Store) []Call {
	at, value := document.At("c", "p"), json.RawMessage(`{"a":1}`)
	return []Call{
		{"Documents.Get", func(ctx context.Context) error { _, err := s.Get(ctx, at, "id"); return err }},
		{"Documents.Set", func(ctx context.Context) error {
			_, err := s.Set(ctx, at, document.Change{ID: "id", Value: value})
			return err
		}},
		{"Documents.Delete", func(ctx context.Context) error { return s.Delete(ctx, at, "id") }},
		{"Documents.Batch", func(ctx context.Context) error {
			_, err := s.Batch(ctx, at, []document.Change{{ID: "a", Value: value}, {ID: "b", Value: value}})
			return err
		}},
		{"Documents.Query", func(ctx context.Context) error { _, err := s.Query(ctx, document.Query{Place: at}); return err }},
		{"Documents.Count", func(ctx context.Context) error { _, err := s.Count(ctx, document.Query{Place: at}); return err }},
		{"Documents.Clear", func(ctx context.Context) error { return s.Clear(ctx, document.At("c", "")) }},
	}
}

func memoryCalls(s memory.Store) []Call {
	ns, value := []string{"n"}, json.RawMessage(`{"a":1}`)
	return []Call{
		{"Memory.Get", func(ctx context.Context) error { _, err := s.Get(ctx, ns, "key"); return err }},
		{"Memory.Put", func(ctx context.Context) error {
			_, err := s.Put(ctx, ns, "key", value, memory.Options{})
			return err
		}},
		{"Memory.Delete", func(ctx context.Context) error { return s.Delete(ctx, ns, "key") }},
		{"Memory.Batch", func(ctx context.Context) error {
			_, err := s.Batch(ctx, ns, []memory.Op{{Key: "a", Value: value}, {Key: "b", Value: value}})
			return err
		}},
		{"Memory.Search", func(ctx context.Context) error { _, err := s.Search(ctx, memory.Query{}); return err }},
		{"Memory.Namespaces", func(ctx context.Context) error {
			_, err := s.Namespaces(ctx, memory.NamespaceQuery{})
			return err
		}},
	}
}

// BusCalls returns the calls of a bus. Follow is not one of them: it waits until its context ends.
func BusCalls(b topic.Bus) []Call {
	return []Call{
		{"Bus.Publish", func(ctx context.Context) error { return b.Publish(ctx, "topic", []byte("event")) }},
		{"Bus.Delete", func(ctx context.Context) error { return b.Delete(ctx, "topic") }},
		{"Bus.Last", func(ctx context.Context) error { _, err := b.Last(ctx, "topic"); return err }},
	}
}

// BlobCalls returns the calls of the blobs of a store.
func BlobCalls(b *blob.Store) []Call {
	ref := blob.Ref{Hash: strings.Repeat("0", 64)}
	return []Call{
		{"Blobs.Put", func(ctx context.Context) error {
			_, err := b.Put(ctx, "thread", strings.NewReader("content"))
			return err
		}},
		{"Blobs.Open", func(ctx context.Context) error { _, err := b.Open(ctx, ref); return err }},
		{"Blobs.Claim", func(ctx context.Context) error { return b.Claim(ctx, "thread", []string{ref.Hash}) }},
		{"Blobs.Release", func(ctx context.Context) error {
			_, err := b.Release(ctx, "thread", -1, func(context.Context) (map[string]bool, error) { return nil, nil })
			return err
		}},
		{"Blobs.Sweep", func(ctx context.Context) error { return b.Sweep(ctx, 0) }},
	}
}

// generous is how many times its bound a call may take. The test is only that it ends.
const generous = 50

// Ends calls f and returns its error. It fails the test if f takes longer than generous*bound.
func Ends(t testing.TB, name string, bound time.Duration, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	timer := time.NewTimer(generous * bound)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		t.Fatalf("rule: every call ends within its bound\n got: %s has not ended after %d times %v", name, generous, bound)
		return nil
	}
}

// Bounded makes every call twice on a connection whose bytes the network drops: once with no
// deadline other than that of the store, retryFor, and once with a shorter one. ready opens the
// connection of the next call; Prepare retries it, since it may fail on a slow machine.
func Bounded(t *testing.T, n *Network, way Way, retryFor time.Duration, ready func(ctx context.Context) error, calls []Call) {
	t.Helper()
	for _, c := range calls {
		name := fmt.Sprintf("%s, %v", c.Name, way)
		Prepare(t, n, ready)
		n.Set(way)
		err := Ends(t, name, retryFor, func() error { return c.Do(context.Background()) })
		switch {
		case !errors.Is(err, checkpoint.ErrUnavailable) && !errors.Is(err, checkpoint.ErrUnknownOutcome):
			t.Errorf("rule: a call to a silent server fails with a typed error\n got: %s: %v", name, err)
		case !strings.Contains(err.Error(), n.Addr):
			t.Errorf("rule: the error names the address of the server: %s\n got: %v", n.Addr, err)
		}
		short, cancel := context.WithTimeout(context.Background(), retryFor/10)
		err = Ends(t, name+" with a context", retryFor, func() error { return c.Do(short) })
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("rule: the deadline of the caller's context applies\n got: %s: %v", name, err)
		}
	}
	n.Set(Pass)
}

// answered reports whether err is nil or an error that a server may return.
func answered(err error) bool {
	for _, kind := range []error{checkpoint.ErrConflict, checkpoint.ErrNotFound, checkpoint.ErrFenced, checkpoint.ErrOwned,
		blob.ErrNotFound, document.ErrConflict, document.ErrNotFound, memory.ErrNotFound, memory.ErrNoVectors} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return err == nil
}

// Stops makes every call on a network that becomes silent during the call: after no reply, after
// one reply, and so on, until the call gets all its replies.
func Stops(t *testing.T, n *Network, retryFor time.Duration, ready func(ctx context.Context) error, calls []Call) {
	t.Helper()
	const most = 200 // replies of a call
	for _, c := range calls {
		for replies := 0; ; replies++ {
			name := fmt.Sprintf("%s after %d replies", c.Name, replies)
			Prepare(t, n, ready)
			n.SetAfter(replies)
			err := Ends(t, name, retryFor, func() error { return c.Do(context.Background()) })
			if answered(err) {
				break
			}
			if replies == most || !errors.Is(err, checkpoint.ErrUnavailable) && !errors.Is(err, checkpoint.ErrUnknownOutcome) {
				t.Fatalf("rule: a call makes few round trips, and its error is typed\n got: %s: %v", name, err)
			}
		}
	}
	n.Set(Pass)
}

// Prepare lets bytes pass, and waits for ready to succeed.
func Prepare(t testing.TB, n *Network, ready func(ctx context.Context) error) {
	t.Helper()
	n.Set(Pass)
	var err error
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if err = ready(t.Context()); err == nil {
			return
		}
	}
	t.Fatalf("rule: the store works again once the network does\n got: %v", err)
}
