package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// untouched is a store that fails the test when it is asked to write.
type untouched struct {
	checkpoint.Store
	t *testing.T
}

func (s untouched) Commit(context.Context, checkpoint.Commit) error {
	s.t.Error("the store was asked to commit")
	return nil
}

func (s untouched) Put(context.Context, checkpoint.Pending) error {
	s.t.Error("the store was asked to put")
	return nil
}

// Requirement: a state is huge
// Requirement: ErrTooLarge, ErrRequest, ErrThreadID: the store was not called
func TestLimits_TooLargeNeverReachesTheStore(t *testing.T) {
	long := strings.Repeat("x", 2000)
	entries := make([]checkpoint.Entry, 3)
	for i := range entries {
		entries[i] = checkpoint.Entry{Task: fmt.Sprint(i), Slot: "s", Data: []byte("1")}
	}
	for name, tt := range map[string]struct {
		limits      checkpoint.Limits
		what, field string
		size        int
		do          func(w *writer) error
	}{
		"a value": {checkpoint.Limits{Value: 2001}, "value", "title", 2002, func(w *writer) error {
			return commit(w, func(s *notes) { s.Title.Set(long) })
		}},
		"an element": {checkpoint.Limits{Value: 2003}, "value", "lines", 2004, func(w *writer) error {
			return commit(w, func(s *notes) { s.Lines.Append(long) })
		}},
		"a header": {checkpoint.Limits{Header: 2000}, "header", "", 0, func(w *writer) error {
			return w.chain.Commit(ctx, "1", &checkpoint.Record{Input: long}, w.view, make([]bool, 5))
		}},
		"a commit": {checkpoint.Limits{Commit: 2000}, "commit", "", 0, func(w *writer) error {
			return commit(w, func(s *notes) { s.Title.Set(long) })
		}},
		"an entry": {checkpoint.Limits{Value: 2001}, "value", "pending", 2002, func(w *writer) error {
			return w.chain.Put(ctx, []checkpoint.Entry{{Task: "a", Slot: "s", Data: []byte(`"` + long + `"`)}})
		}},
		"many entries": {checkpoint.Limits{Pending: 2}, "entries", "", 3, func(w *writer) error { return w.chain.Put(ctx, entries) }},
		"many entries beside a commit": {checkpoint.Limits{Pending: 2}, "entries", "", 3, func(w *writer) error {
			return w.chain.Commit(ctx, "1", &checkpoint.Record{}, w.view, make([]bool, 5), entries...)
		}},
		"many fields": {checkpoint.Limits{Fields: 4}, "fields", "", 5, func(w *writer) error { return commit(w, func(s *notes) {}) }},
	} {
		w := open[notes](t, sealedStore(t, untouched{new(checkpoint.Memory), t}, checkpoint.Codec{NoCompression: true, Limits: tt.limits}))
		err := tt.do(w)
		var tl *checkpoint.TooLargeError
		if !errors.As(err, &tl) || !errors.Is(err, checkpoint.ErrTooLarge) {
			t.Errorf("%s gives %v, want a *TooLargeError", name, err)
			continue
		}
		if tl.Thread != "t" || tl.What != tt.what || tl.Field != tt.field || tt.size != 0 && tl.Size != tt.size || tl.Size <= tl.Limit {
			t.Errorf("%s gives %+v (%v)", name, tl, err)
		}
	}
}

func TestLimits_DepthOfANamespace(t *testing.T) {
	for depth, ok := range map[int]bool{32: true, 33: false} {
		key := checkpoint.Key{Thread: "t", Namespace: strings.Repeat("n|", depth-1) + "n"}
		c, err := checkpoint.Open(ctx, new(checkpoint.Memory), key, schemaOf[notes](t))
		if err != nil {
			t.Fatal(err)
		}
		err = c.Commit(ctx, "1", &checkpoint.Record{}, c.State, make([]bool, 5))
		if ok != (err == nil) || !ok && !errors.Is(err, checkpoint.ErrTooLarge) {
			t.Errorf("%d levels give %v", depth, err)
		}
	}
}

func TestLimits_PendingEntriesAreCounted(t *testing.T) {
	store := sealedStore(t, new(checkpoint.Memory), checkpoint.Codec{Limits: checkpoint.Limits{Pending: 3}})
	w := open[notes](t, store)
	step(w, func(*notes) {})
	put := func(w *writer, task string) error {
		return w.chain.Put(ctx, []checkpoint.Entry{{Task: task, Slot: "s", Data: []byte("1")}, {Task: task, Slot: "t", Data: []byte("1")}})
	}
	if err := put(w, "a"); err != nil {
		t.Fatal(err)
	}
	if err := put(w, "b"); !errors.Is(err, checkpoint.ErrTooLarge) {
		t.Errorf("a fourth entry gives %v", err)
	}
	if err := put(open[notes](t, store), "b"); !errors.Is(err, checkpoint.ErrTooLarge) {
		t.Errorf("opened anew, a fourth entry gives %v", err)
	}
	step(w, func(*notes) {})
	if err := put(w, "c"); err != nil {
		t.Errorf("beside a new head: %v", err)
	}
}

// The pieces of a list never take more than a value may, and a list that is too large as a
// whole is refused as a whole: with the step that makes it so.
func TestLimits_ListIsAsLargeAsAValue(t *testing.T) {
	store := sealedStore(t, new(checkpoint.Memory), checkpoint.Codec{NoCompression: true, Limits: checkpoint.Limits{Value: 10_000}})
	w := open[notes](t, store)
	line := strings.Repeat("x", 996) // with its quotes and comma just less than 1000 bytes
	var err error
	n := 0
	for ; err == nil && n < 20; n++ {
		err = commit(w, func(s *notes) { s.Lines.Append(line) })
	}
	var tl *checkpoint.TooLargeError
	if !errors.As(err, &tl) || tl.Field != "lines" || n != 11 {
		t.Fatalf("step %d gives %v, want the eleventh refused", n, err)
	}
	if back := open[notes](t, store); back.view.State.(*notes).Lines.Len() != 10 {
		t.Errorf("the thread has %d lines, want 10", back.view.State.(*notes).Lines.Len())
	}
}

// A map whose entries are written over and over stays as small as it is.
func TestChunks_TooLargeBecomeABase(t *testing.T) {
	store := &scales{Store: new(checkpoint.Memory)}
	w := open[notes](t, sealedStore(t, store, checkpoint.Codec{Limits: checkpoint.Limits{Value: 2000}}))
	for n := range 300 {
		step(w, func(s *notes) { s.Index.Put(fmt.Sprint(n%20), n) })
	}
	if back := open[notes](t, store); back.json(back.view) != w.json(w.view) {
		t.Errorf("it comes back as %s", back.json(back.view))
	}
	if bases := strings.Join(store.bases, " "); strings.Count(bases, "index") < 2 {
		t.Errorf("the map was never stored whole")
	}
}

func TestWarn_IsCalledForLargeValues(t *testing.T) {
	var warned []checkpoint.Size
	store := sealedStore(t, new(checkpoint.Memory), checkpoint.Codec{Warn: func(s checkpoint.Size) { warned = append(warned, s) }})
	w := open[notes](t, store)
	const envelope = 100 // more bytes than that of a value
	is := func(n int, bytes, added int) bool {
		return len(warned) == n && warned[n-1].Thread == "t" && warned[n-1].Field == "lines" &&
			warned[n-1].Bytes-bytes < n*envelope && warned[n-1].Bytes >= bytes &&
			warned[n-1].Added-added < envelope && warned[n-1].Added >= added
	}
	step(w, func(s *notes) {
		s.Title.Set(strings.Repeat("x", checkpoint.WarnFrom-envelope))
		s.Lines.Append(strings.Repeat("y", checkpoint.WarnFrom))
	})
	if !is(1, checkpoint.WarnFrom, checkpoint.WarnFrom) {
		t.Errorf("got warnings for %+v, want one for lines", warned)
	}
	step(w, func(s *notes) { s.Lines.Append(strings.Repeat("y", checkpoint.WarnFrom/2)) })
	if len(warned) != 1 {
		t.Errorf("got warnings for %+v before the field has doubled", warned)
	}
	step(w, func(s *notes) { s.Lines.Append(strings.Repeat("y", checkpoint.WarnFrom/2+envelope)) })
	if !is(2, 2*checkpoint.WarnFrom, checkpoint.WarnFrom/2) && !is(2, 2*checkpoint.WarnFrom+envelope, checkpoint.WarnFrom/2+envelope) {
		t.Errorf("got warnings for %+v, want a second one for lines, with what was added", warned)
	}
}

func TestSizes_LargestFieldsFirst(t *testing.T) {
	store := sealedStore(t, new(checkpoint.Memory), checkpoint.Codec{NoCompression: true, Keys: ring("k")})
	w := open[notes](t, store)
	step(w, func(s *notes) { s.Title.Set(strings.Repeat("x", 1000)); s.Lines.Append(strings.Repeat("y", 5000)) })
	step(w, func(s *notes) { s.Lines.Append(strings.Repeat("y", 3000)) })
	sub, err := checkpoint.Open(ctx, store, checkpoint.Key{Thread: "t", Namespace: "sub"}, schemaOf[notes](t))
	if err != nil {
		t.Fatal(err)
	}
	sub.State.State.(*notes).Title.Set(strings.Repeat("z", 1000))
	if err := sub.State.Channels[0].Fold([]state.Channel{sub.State.Channels[0]}); err != nil {
		t.Fatal(err)
	}
	if err := sub.Commit(ctx, "1", &checkpoint.Record{}, sub.State, make([]bool, 5)); err != nil {
		t.Fatal(err)
	}
	r, err := checkpoint.Sizes(ctx, store, "t")
	if err != nil {
		t.Fatal(err)
	}
	top := r.Fields[0]
	if top.Field != "lines" || top.Bytes < 8000 || top.Share < 0.79 || top.Share > 0.81 || r.Bytes < 10_000 || r.Bytes > 10_200 {
		t.Errorf("got %+v", r)
	}
	lines := strings.Split(r.String(), "\n")
	want := []string{`thread "t" takes 9.9 KiB`, "lines is 80 % of this thread: 7.9 KiB", "title is 10 % of this thread: 1.0 KiB", "sub title is 10 % of this thread: 1.0 KiB"}
	if fmt.Sprint(lines) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", lines, want)
	}
	if _, err := checkpoint.Sizes(ctx, store, "unknown"); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("an unknown thread gives %v", err)
	}
	if _, err := checkpoint.Sizes(ctx, store, ""); !errors.Is(err, checkpoint.ErrThreadID) {
		t.Errorf("an empty id gives %v", err)
	}
	// The sizes are those of the stored blobs.
	snap, err := store.Load(ctx, root, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(bytes.Join(blobData(snap), nil)); n != top.Bytes+r.Fields[1].Bytes {
		t.Errorf("the root has %d bytes, Sizes returned %d", n, top.Bytes+r.Fields[1].Bytes)
	}
}
