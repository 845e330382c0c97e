package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// notes is the state of these tests.
type notes struct {
	Title state.Value[string]    `json:"title"`
	Lines state.List[string]     `json:"lines"`
	Count state.Sum[int]         `json:"count"`
	Index state.Map[string, int] `json:"index"`
	Tags  state.Set[string]      `json:"tags"`
}

var (
	ctx  = context.Background()
	root = checkpoint.Key{Thread: "t"}
)

func schemaOf[S any](t testing.TB) *state.Schema {
	t.Helper()
	s, err := state.SchemaOf[S]()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// writer is a chain with the state that goes on with it.
type writer struct {
	testing.TB
	chain  *checkpoint.Chain
	schema *state.Schema
	view   state.View
}

func open[S any](t testing.TB, store checkpoint.Store) *writer {
	t.Helper()
	w := &writer{TB: t, schema: schemaOf[S](t)}
	var err error
	if w.chain, err = checkpoint.Open(ctx, store, root, w.schema); err != nil {
		t.Fatal(err)
	}
	w.view = w.chain.State
	return w
}

// step lets a task write, folds what it wrote, and commits.
func step[S any](w *writer, write func(s *S)) {
	w.Helper()
	if err := commit(w, write); err != nil {
		w.Fatal(err)
	}
}

func commit[S any](w *writer, write func(s *S)) error {
	task := w.schema.Blank()
	w.schema.Assign(task, w.view)
	write(task.State.(*S))
	changed := make([]bool, len(task.Channels))
	for i, c := range task.Channels {
		if c.Wrote() {
			changed[i] = true
			if err := w.view.Channels[i].Fold(task.Channels[i : i+1]); err != nil {
				return err
			}
		}
	}
	rec := &checkpoint.Record{Graph: "g", Source: checkpoint.Step, Step: int(w.chain.Head()) + 1}
	return w.chain.Commit(ctx, "run", rec, w.view, changed)
}

func (w *writer) json(v state.View) string {
	w.Helper()
	data, err := w.schema.Encode(v)
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

// written returns a thread of a few steps with two entries beside its head, as stored.
func written(t *testing.T) (checkpoint.Store, checkpoint.Snapshot, string) {
	store := new(checkpoint.Memory)
	w := open[notes](t, store)
	for range 3 {
		step(w, func(s *notes) {
			s.Title.Set("title")
			s.Lines.Append("one", "two")
			s.Count.Add(7)
			s.Index.Put(string(rune('a'+s.Lines.Len())), 1)
			s.Tags.Add("tag")
		})
	}
	entries := []checkpoint.Entry{{Task: "a", Slot: "result", Keep: true, Data: []byte(`{"x":1}`)}, {Slot: "answer/1", Data: []byte(`false`)}}
	if err := w.chain.Put(ctx, entries); err != nil {
		t.Fatal(err)
	}
	snap, err := store.Load(ctx, root, 0)
	if err != nil {
		t.Fatal(err)
	}
	return store, snap, w.json(w.view)
}

// one is a store that holds one snapshot and refuses everything else.
type one struct {
	checkpoint.Store
	snap checkpoint.Snapshot
}

func (o one) Load(context.Context, checkpoint.Key, uint64) (checkpoint.Snapshot, error) {
	return o.snap, nil
}

// refused fails the test unless a snapshot is called damaged, with its place.
func refused(t *testing.T, what string, snap checkpoint.Snapshot) {
	t.Helper()
	_, err := checkpoint.Open(ctx, one{snap: snap}, root, schemaOf[notes](t))
	var ce *checkpoint.CorruptError
	if !errors.As(err, &ce) || !errors.Is(err, checkpoint.ErrCorrupt) || ce.Thread != "t" || ce.Field == "" {
		t.Fatalf("%s: Open gives %v, want a *CorruptError with its place", what, err)
	}
}

// spoilt calls refused for a snapshot with each way to damage the bytes at p.
func spoilt(t *testing.T, what string, snap *checkpoint.Snapshot, p *[]byte) {
	good := *p
	defer func() { *p = good }()
	for i := range len(good) * 8 {
		*p = bytes.Clone(good)
		(*p)[i/8] ^= 1 << (i % 8)
		refused(t, what+", a bit flipped", *snap)
	}
	for n := range good {
		*p = good[:n]
		refused(t, what+", cut", *snap)
	}
}

// Requirement: a flipped bit in a value is noticed
func TestDamage_IsAlwaysDetected(t *testing.T) {
	_, snap, _ := written(t)
	spoilt(t, "header", &snap, &snap.Header)
	for i := range snap.Blobs {
		spoilt(t, "blob "+snap.Blobs[i].Field, &snap, &snap.Blobs[i].Data)
	}
	for i := range snap.Pending {
		spoilt(t, "entry "+snap.Pending[i].Slot, &snap, &snap.Pending[i].Data)
	}
}

func TestDamage_MissingMovedOrAddedPiecesAreDetected(t *testing.T) {
	_, snap, _ := written(t)
	for i, b := range snap.Blobs {
		s := snap
		s.Blobs = slices.Delete(slices.Clone(snap.Blobs), i, i+1)
		refused(t, "a blob is missing", s)
		s.Blobs = append(slices.Clone(snap.Blobs), b)
		refused(t, "a blob comes twice", s)
		for j, c := range snap.Blobs {
			if i == j {
				continue
			}
			s.Blobs = slices.Clone(snap.Blobs)
			s.Blobs[i].Data = c.Data
			refused(t, "a blob has another's data", s)
			if b.Field == c.Field {
				s.Blobs[i], s.Blobs[j] = c, b
				refused(t, "two blobs have changed places", s)
			}
		}
	}
	s := snap
	s.Pending = slices.Clone(snap.Pending)
	s.Pending[0].Slot = "last"
	refused(t, "an entry is in another slot", s)
	s = snap
	s.Seq++
	refused(t, "a header is another commit's", s)
}

func TestRestore_ReturnsWhatWasCommitted(t *testing.T) {
	_, snap, want := written(t)
	schema := schemaOf[notes](t)
	rec, v, err := checkpoint.Restore(snap, schema)
	if err != nil || rec.Step != 3 {
		t.Fatalf("got %+v, %v", rec, err)
	}
	if got, _ := schema.Encode(v); string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	entries, err := checkpoint.ReadPending(snap)
	if err != nil || len(entries) != len(snap.Pending) {
		t.Errorf("got %d of %d entries, %v", len(entries), len(snap.Pending), err)
	}
	for _, e := range entries {
		if len(e.Data) == 0 {
			t.Errorf("entry %s holds nothing", e.Slot)
		}
	}
}

func TestRestore_OlderCommits(t *testing.T) {
	store, _, _ := written(t)
	for seq := uint64(1); seq <= 3; seq++ {
		snap, err := store.Load(ctx, root, seq)
		if err != nil {
			t.Fatal(err)
		}
		_, v, err := checkpoint.Restore(snap, schemaOf[notes](t))
		if s := v.State.(*notes); err != nil || s.Lines.Len() != int(2*seq) || s.Count.Get() != int(7*seq) || s.Index.Len() != int(seq) {
			t.Errorf("commit %d holds %v, %d and %d entries, %v", seq, s.Lines.Slice(), s.Count.Get(), s.Index.Len(), err)
		}
	}
}
