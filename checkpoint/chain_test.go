package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// scales is a store that records the size of each commit and can be set to fail.
type scales struct {
	checkpoint.Store
	bytes []int
	bases []string // the fields that were stored whole, a commit each
	fail  error
}

func (s *scales) Commit(ctx context.Context, c checkpoint.Commit) error {
	if s.fail != nil {
		return s.fail
	}
	n, bases := len(c.Header), ""
	for _, b := range c.Blobs {
		if n += len(b.Data); b.Chunk == 0 {
			bases += " " + b.Field
		}
	}
	s.bytes, s.bases = append(s.bytes, n), append(s.bases, strings.TrimSpace(bases))
	return s.Store.Commit(ctx, c)
}

// Requirement: The stored form of a field is invisible
func TestStep_BytesDoNotGrowWithTheThread(t *testing.T) {
	store := &scales{Store: new(checkpoint.Memory)}
	w := open[notes](t, store)
	line := strings.Repeat("x", 1024)
	for range 3000 {
		step(w, func(s *notes) { s.Lines.Append(line) })
	}
	if at100, at1000 := store.bytes[99], store.bytes[999]; at1000 > at100*105/100 {
		t.Errorf("step 1000 stores %d bytes, step 100 %d: want at most 5 %% more", at1000, at100)
	}
	total, rebased := 0, 0
	for i, n := range store.bytes {
		if total += n; store.bases[i] == "lines" {
			rebased++
		}
	}
	if added := 3000 * 1024; total > 3*added { // the headers of this test are a third of what it adds
		t.Errorf("the thread takes %d bytes for the %d that were added: want a small multiple", total, added)
	}
	if rebased < 2 || rebased > 10 {
		t.Errorf("the list was stored whole %d times in 3000 steps, want a few times", rebased)
	}
	back := open[notes](t, store.Store)
	if got := back.view.State.(*notes).Lines.Len(); got != 3000 {
		t.Errorf("the list comes back with %d lines, want 3000", got)
	}
}

func TestCommit_StoresOnlyWhatChanged(t *testing.T) {
	store := &scales{Store: new(checkpoint.Memory)}
	w := open[notes](t, store)
	step(w, func(s *notes) { s.Title.Set("a"); s.Lines.Append("1"); s.Count.Add(1); s.Index.Put("k", 1) })
	step(w, func(s *notes) { s.Title.Set("a"); s.Lines.Append("2"); s.Count.Add(0) }) // equal values, and a chunk
	step(w, func(s *notes) { s.Title.Set("b") })
	step(w, func(*notes) {})
	step(w, func(s *notes) { s.Lines.Overwrite([]string{"3"}) })
	for i, want := range []string{"title lines count index", "", "title", "", "lines"} {
		if store.bases[i] != want {
			t.Errorf("commit %d stores %q whole, want %q", i+1, store.bases[i], want)
		}
	}
}

func TestCommit_FailureChangesNothing(t *testing.T) {
	store := &scales{Store: new(checkpoint.Memory)}
	w := open[notes](t, store)
	step(w, func(s *notes) { s.Lines.Append("1") })
	store.fail = errors.New("full")
	if err := commit(w, func(s *notes) { s.Lines.Append("2") }); !errors.Is(err, store.fail) {
		t.Fatalf("got %v, want the store's error", err)
	}
	if w.chain.Head() != 1 || w.chain.Record.Step != 1 {
		t.Errorf("after a failed commit the head is %d, step %d", w.chain.Head(), w.chain.Record.Step)
	}
	store.fail = nil
	step(w, func(s *notes) { s.Lines.Append("3") })
	back := open[notes](t, store.Store)
	if got := fmt.Sprint(back.view.State.(*notes).Lines.Slice()); got != "[1 2 3]" {
		t.Errorf("the thread holds %s, want what the state held at the commit", got)
	}
}

func TestCommit_DetectsAnotherWriter(t *testing.T) {
	store := new(checkpoint.Memory)
	a, b := open[notes](t, store), open[notes](t, store)
	step(a, func(s *notes) { s.Title.Set("a") })
	rec := &checkpoint.Record{Source: checkpoint.Input}
	err := b.chain.Commit(ctx, "other", rec, b.view, make([]bool, 5))
	var ce *checkpoint.ConflictError
	if !errors.As(err, &ce) || ce.Head != 1 || ce.Want != 0 || ce.Thread != "t" {
		t.Errorf("got %v, want a *ConflictError with the head", err)
	}
	if err := b.chain.Put(ctx, []checkpoint.Entry{{Task: "a", Slot: "x", Data: []byte("1")}}); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("Put gives %v, want ErrConflict", err)
	}
}

func TestFields_UnknownAreCarriedAlong(t *testing.T) {
	type title struct {
		Title state.Value[string] `json:"title"`
		New   state.Sum[int]      `json:"new" weft:"default=5"`
	}
	store := new(checkpoint.Memory)
	w := open[notes](t, store)
	step(w, func(s *notes) { s.Title.Set("a"); s.Lines.Append("1"); s.Index.Put("k", 1) })
	step(w, func(s *notes) { s.Lines.Append("2") })
	other := open[title](t, store)
	if s := other.view.State.(*title); s.Title.Get() != "a" || s.New.Get() != 5 {
		t.Errorf("another type reads %q and %d, want a and its default", s.Title.Get(), s.New.Get())
	}
	step(other, func(s *title) { s.Title.Set("b") })
	step(other, func(s *title) { s.New.Add(1) })
	back := open[notes](t, store)
	if got, want := back.json(back.view), `{"title":"b","lines":["1","2"],"count":0,"index":{"k":1},"tags":[]}`; got != want {
		t.Errorf("the thread comes back as %s, want %s", got, want)
	}
	step(back, func(s *notes) { s.Lines.Append("3") })
	again := open[title](t, store)
	if s := again.view.State.(*title); s.New.Get() != 6 {
		t.Errorf("the field that notes does not know is %d, want 6", s.New.Get())
	}
}

func TestThreadIDs_BadAreRefused(t *testing.T) {
	for _, id := range []string{"", strings.Repeat("é", 1024), "a\xff"} {
		_, err := checkpoint.Open(ctx, new(checkpoint.Memory), checkpoint.Key{Thread: id}, schemaOf[notes](t))
		if !errors.Is(err, checkpoint.ErrThreadID) {
			t.Errorf("an id of %d bytes gives %v, want ErrThreadID", len(id), err)
		}
	}
}

// A chain that is opened anew at any time reads what the one that wrote it holds.
func TestChain_ReadsBackWhatWasWritten(t *testing.T) {
	words := rapid.SampledFrom([]string{"a", "b", "c", "", "é\x00"})
	rapid.Check(t, func(rt *rapid.T) {
		store := new(checkpoint.Memory)
		w := open[notes](t, store)
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			ops := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 4).Draw(rt, "ops")
			word := words.Draw(rt, "word")
			step(w, func(s *notes) {
				for _, op := range ops {
					write(s, op, word)
				}
			})
			back := open[notes](t, store)
			if got, want := back.json(back.view), w.json(w.view); got != want {
				rt.Fatalf("after %v of %q the chain reads %s, want %s", ops, word, got, want)
			}
			if rapid.IntRange(0, 3).Draw(rt, "reopen") == 0 {
				w = back
			}
		}
	})
}

func write(s *notes, op int, word string) {
	switch op {
	case 0:
		s.Title.Set(word)
	case 1:
		s.Title.Clear()
	case 2:
		s.Lines.Append(word, word)
	case 3:
		s.Lines.Overwrite([]string{word})
	case 4:
		s.Lines.Overwrite(nil)
	case 5:
		s.Count.Add(len(word) - 1)
	case 6:
		s.Index.Put(word, s.Index.Len())
	case 7:
		s.Index.Delete(word)
	case 8:
		s.Tags.Add(word)
	case 9:
		s.Tags.Remove(word)
	}
}
