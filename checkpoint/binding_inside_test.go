package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/state"
)

type bound struct {
	Title state.Value[string] `json:"title"`
	Lines state.List[string]  `json:"lines"`
	Count state.Sum[int]      `json:"count"`
}

func boundKeys() *Keys {
	return &Keys{Current: "k", Ring: map[string][]byte{"k": bytes.Repeat([]byte{7}, keyBytes)}}
}

// oldForm returns the only commit of thread "t" in the old form, in which encrypted records did not
// bind their values. Its values and its pending entry have the word.
func oldForm(t *testing.T, word string) Commit {
	t.Helper()
	plain := new(Memory)
	schema, err := state.SchemaOf[bound]()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(context.Background(), plain, Key{Thread: "t"}, schema)
	if err != nil {
		t.Fatal(err)
	}
	s := c.State.State.(*bound)
	for i, write := range []func(w *bound){func(w *bound) { w.Title.Set(word) }, func(w *bound) { w.Lines.Append(word) }} {
		task := schema.Blank()
		write(task.State.(*bound))
		if err := c.State.Channels[i].Fold(task.Channels[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if s.Title.Get() != word || s.Lines.Len() != 1 {
		t.Fatal("nothing was written")
	}
	entry := Entry{Task: "task", Slot: "answer", Data: []byte(`"` + word + `"`)}
	if err := c.Commit(context.Background(), "1", &Record{Run: "run", Step: 1}, c.State, make([]bool, 3), entry); err != nil {
		t.Fatal(err)
	}
	snap, err := plain.Load(context.Background(), Key{Thread: "t"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := boundKeys().ring().encrypter("t")
	if err != nil {
		t.Fatal(err)
	}
	encrypt := func(at spot, data []byte) []byte {
		b, err := enc.encrypt(at, data)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	raw := Commit{Key: snap.Key, ID: snap.ID, Header: encrypt(headerPlace(snap.Key, snap.Seq), snap.Header), Refs: snap.Refs}
	for _, b := range snap.Blobs {
		b.Data = encrypt(place(snap.Key, b.Field, b.Base, b.Chunk), b.Data)
		raw.Blobs = append(raw.Blobs, b)
	}
	for _, e := range snap.Pending {
		e.Data = encrypt(pendingPlace(snap.Key, e), e.Data)
		raw.Pending = append(raw.Pending, e)
	}
	return raw
}

// TestSealed_OldFormOpensOnlyInOldCommits checks that a commit in the old form, without bound
// values, opens and continues. The next commit binds the values that it carries over. Open rejects
// any other value or entry of the old form in it.
//
// Requirement: a value in the old sealed form opens only in an old commit, or if carried over
func TestSealed_OldFormOpensOnlyInOldCommits(t *testing.T) {
	ctx := context.Background()
	schema, err := state.SchemaOf[bound]()
	if err != nil {
		t.Fatal(err)
	}
	inside := new(Memory)
	store, err := Sealed(inside, Codec{Keys: boundKeys()})
	if err != nil {
		t.Fatal(err)
	}
	ours, other := oldForm(t, "ten"), oldForm(t, "a million")
	if err := inside.Commit(ctx, ours); err != nil {
		t.Fatal(err)
	}
	reopen := func() (*Chain, error) { return Open(ctx, store, Key{Thread: "t"}, schema) }
	c, err := reopen()
	if err != nil || len(c.Pending) != 1 || string(c.Pending[0].Data) != `"ten"` || c.State.State.(*bound).Title.Get() != "ten" {
		t.Fatalf("the old form opens as %+v, %v", c, err)
	}
	// A new entry is bound to the old commit, and is read together with the unbound entry.
	if err := c.Put(ctx, []Entry{{Task: "task", Slot: "result", Data: []byte(`1`)}}); err != nil {
		t.Fatal(err)
	}
	if c, err = reopen(); err != nil || len(c.Pending) != 2 {
		t.Fatalf("with another entry it opens as %+v, %v", c, err)
	}
	if err := Copy(ctx, store, "t", store, "copy"); err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(ctx, "2", &Record{Run: "run", Step: 2}, c.State, make([]bool, 3)); err != nil {
		t.Fatal(err)
	}
	if _, err := reopen(); err != nil {
		t.Fatal(err)
	}
	head, err := inside.Load(ctx, Key{Thread: "t"}, 0)
	if err != nil || head.Seq != 2 || len(head.Blobs) != 2 {
		t.Fatalf("the head is commit %d with %d pieces, %v", head.Seq, len(head.Blobs), err)
	}

	if err := inside.Put(ctx, Pending{Key: head.Key, Head: 2, Entries: other.Pending}); err != nil {
		t.Fatal(err)
	}
	if _, err := reopen(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "the entry has no mark") {
		t.Errorf("with an entry of the old form beside a new commit, Open returned %v, want %v", err, ErrCorrupt)
	}
	for _, b := range other.Blobs {
		if err := inside.Delete(ctx, "t"); err != nil {
			t.Fatal(err)
		}
		c := Commit{Key: head.Key, ID: head.ID, Number: 2, Header: head.Header, Refs: head.Refs}
		for _, mine := range head.Blobs {
			if mine.Field == b.Field {
				mine = b
			}
			c.Blobs = append(c.Blobs, mine)
		}
		if err := inside.Commit(ctx, c); err != nil {
			t.Fatal(err)
		}
		if _, err := reopen(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), b.Field) {
			t.Errorf("with field %s of another commit in the old form, Open returned %v, want %v", b.Field, err, ErrCorrupt)
		}
	}
	// The copy was written now, so it binds what it has.
	copied, err := store.Load(ctx, Key{Thread: "copy"}, 0)
	if err != nil || !binds(copied.Header) {
		t.Errorf("the copy binds its values: %v, %v", binds(copied.Header), err)
	}
	rec, err := ReadRecord(copied)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(rec.Fields)
	if err != nil || strings.Count(string(data), `"t":`) != 2 {
		t.Errorf("the fields of the copy are %s, %v, want two with a tag", data, err)
	}
}
