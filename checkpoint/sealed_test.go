package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/checkpointtest"
)

// ring returns a keyring with these ids, of which the first is current. A key is made of
// its id.
func ring(ids ...string) *checkpoint.Keys {
	k := &checkpoint.Keys{Current: ids[0], Ring: map[string][]byte{}}
	for _, id := range ids {
		k.Ring[id] = bytes.Repeat([]byte(id[:1]), 32)
	}
	return k
}

func TestSealed_PassesTheSuite(t *testing.T) {
	checkpointtest.Run(t, func(t testing.TB) checkpoint.Store {
		return sealedStore(t, new(checkpoint.Memory), checkpoint.Codec{Keys: ring("k")})
	})
}

func TestSealed_HasTheInterfacesOfItsStore(t *testing.T) {
	type none struct{ checkpoint.Store }
	type leaser struct {
		checkpoint.Store
		checkpoint.Leaser
	}
	type dropper struct {
		checkpoint.Store
		checkpoint.Dropper
	}
	type expirer struct {
		checkpoint.Store
		checkpoint.Expirer
	}
	type leaserDropper struct {
		checkpoint.Store
		checkpoint.Leaser
		checkpoint.Dropper
	}
	type leaserExpirer struct {
		checkpoint.Store
		checkpoint.Leaser
		checkpoint.Expirer
	}
	type dropperExpirer struct {
		checkpoint.Store
		checkpoint.Dropper
		checkpoint.Expirer
	}
	can := func(s checkpoint.Store) string {
		_, l := s.(checkpoint.Leaser)
		_, d := s.(checkpoint.Dropper)
		_, e := s.(checkpoint.Expirer)
		return fmt.Sprint(l, d, e)
	}
	m := new(checkpoint.Memory)
	for _, s := range []checkpoint.Store{
		m, none{m}, leaser{m, m}, dropper{m, m}, expirer{m, m}, leaserDropper{m, m, m}, leaserExpirer{m, m, m}, dropperExpirer{m, m, m},
	} {
		for _, c := range []checkpoint.Codec{{}, {Keys: ring("k")}} {
			if got, want := can(sealedStore(t, s, c)), can(s); got != want {
				t.Errorf("sealed, %T can %s, want %s", s, got, want)
			}
		}
	}
}

// leaks is what must not be found in stored bytes.
const leaks = "secret words"

// encryptedThread writes a thread whose values all hold leaks.
func encryptedThread(t *testing.T, store checkpoint.Store) *writer {
	t.Helper()
	w := open[notes](t, store)
	step(w, func(s *notes) { s.Title.Set(leaks); s.Lines.Append(leaks); s.Index.Put(leaks, 1); s.Tags.Add(leaks) })
	step(w, func(s *notes) { s.Lines.Append(leaks) })
	if err := w.chain.Put(ctx, []checkpoint.Entry{{Task: "a", Slot: "result", Data: []byte(`"` + leaks + `"`)}}); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestSealed_NoPartOfAValueIsReadable(t *testing.T) {
	inside := new(checkpoint.Memory)
	store := sealedStore(t, inside, checkpoint.Codec{Keys: ring("k")})
	w := encryptedThread(t, store)
	snap, err := inside.Load(ctx, root, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range slices.Concat([][]byte{snap.Header, snap.Pending[0].Data}, blobData(snap)) {
		if bytes.Contains(data, []byte("secret")) || bytes.Contains(data, []byte("lines")) || bytes.Contains(data, []byte("state.")) {
			t.Errorf("it can be read: %q", data)
		}
	}
	back := open[notes](t, store)
	if back.json(back.view) != w.json(w.view) || string(back.chain.Pending[0].Data) != `"`+leaks+`"` {
		t.Errorf("it comes back as %s with %s", back.json(back.view), back.chain.Pending[0].Data)
	}
}

func blobData(snap checkpoint.Snapshot) (all [][]byte) {
	for _, b := range snap.Blobs {
		all = append(all, b.Data)
	}
	return all
}

// denied fails the test unless a thread cannot be opened for want of the key with this id.
func denied(t *testing.T, what string, store checkpoint.Store, id string) {
	t.Helper()
	_, err := checkpoint.Open(ctx, store, root, schemaOf[notes](t))
	var ke *checkpoint.KeyError
	if !errors.Is(err, checkpoint.ErrKey) || !errors.As(err, &ke) || ke.ID != id || !strings.Contains(err.Error(), `"t"`) {
		t.Errorf("%s: Open gives %v, want an ErrKey for thread t and key %q", what, err, id)
	}
}

func TestSealed_NeedsTheRightKey(t *testing.T) {
	inside := new(checkpoint.Memory)
	encryptedThread(t, sealedStore(t, inside, checkpoint.Codec{Keys: ring("k")}))
	other := ring("k")
	other.Ring["k"] = bytes.Repeat([]byte{9}, 32)
	denied(t, "no keys", inside, "k")
	denied(t, "no keys, with a codec", sealedStore(t, inside, checkpoint.Codec{}), "k")
	denied(t, "a missing key", sealedStore(t, inside, checkpoint.Codec{Keys: ring("l")}), "k")
	denied(t, "another key of the same id", sealedStore(t, inside, checkpoint.Codec{Keys: other}), "k")
	for _, listing := range []func(checkpoint.Store) error{
		func(s checkpoint.Store) (last error) {
			for _, err := range s.Threads(ctx, checkpoint.ThreadQuery{}) {
				last = err
			}
			return last
		},
		func(s checkpoint.Store) (last error) {
			for _, err := range s.History(ctx, root, checkpoint.Query{}) {
				last = err
			}
			return last
		},
		func(s checkpoint.Store) error { _, err := checkpoint.Sizes(ctx, s, "t"); return err },
	} {
		if err := listing(sealedStore(t, inside, checkpoint.Codec{Keys: other})); !errors.Is(err, checkpoint.ErrKey) {
			t.Errorf("a listing with another key gives %v", err)
		}
	}
}

func TestSealed_PlainValueIsRefusedUnlessAllowed(t *testing.T) {
	inside := new(checkpoint.Memory)
	w := encryptedThread(t, inside)
	denied(t, "a thread from before", sealedStore(t, inside, checkpoint.Codec{Keys: ring("k")}), "")
	keys := ring("k")
	keys.Plain = true
	store := sealedStore(t, inside, checkpoint.Codec{Keys: keys})
	back := open[notes](t, store)
	if back.json(back.view) != w.json(w.view) {
		t.Errorf("with Plain it is %s", back.json(back.view))
	}
	if err := checkpoint.Reseal(ctx, store, "t", ""); err != nil {
		t.Fatal(err)
	}
	strict := open[notes](t, sealedStore(t, inside, checkpoint.Codec{Keys: ring("k")}))
	if strict.json(strict.view) != w.json(w.view) || len(strict.chain.Pending) != 1 {
		t.Errorf("after Reseal the thread is %s with %d entries", strict.json(strict.view), len(strict.chain.Pending))
	}
}

// swap gives back the stored bytes of one thread and place in the place of another.
type swap struct {
	checkpoint.Store
	do func(*checkpoint.Snapshot)
}

func (s swap) Load(ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	snap, err := s.Store.Load(ctx, k, seq)
	s.do(&snap)
	return snap, err
}

func TestSealed_ValuesStayInTheirPlace(t *testing.T) {
	for name, codec := range map[string]checkpoint.Codec{"plain": {}, "encrypted": {Keys: ring("k")}} {
		inside := new(checkpoint.Memory)
		encryptedThread(t, sealedStore(t, inside, codec))
		// The same again, as another thread, under the same key.
		if err := checkpoint.Copy(ctx, sealedStore(t, inside, codec), "t", sealedStore(t, inside, codec), "u"); err != nil {
			t.Fatal(err)
		}
		u, err := inside.Load(ctx, checkpoint.Key{Thread: "u"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		for what, do := range map[string]func(*checkpoint.Snapshot){
			"another thread's header": func(s *checkpoint.Snapshot) { s.Header = u.Header },
			"another thread's value":  func(s *checkpoint.Snapshot) { s.Blobs[0].Data = u.Blobs[0].Data },
			"another thread's entry":  func(s *checkpoint.Snapshot) { s.Pending[0].Data = u.Pending[0].Data },
			"another field's value":   func(s *checkpoint.Snapshot) { s.Blobs[0].Data = s.Blobs[1].Data },
			"another chunk":           func(s *checkpoint.Snapshot) { s.Blobs[2].Data = s.Blobs[1].Data },
			"an entry as a value":     func(s *checkpoint.Snapshot) { s.Blobs[0].Data = s.Pending[0].Data },
			"a value as the header":   func(s *checkpoint.Snapshot) { s.Header = s.Blobs[0].Data },
			"another slot":            func(s *checkpoint.Snapshot) { s.Pending[0].Slot = "last" },
			"another commit":          func(s *checkpoint.Snapshot) { s.Seq-- },
		} {
			_, err := checkpoint.Open(ctx, sealedStore(t, swap{inside, do}, codec), root, schemaOf[notes](t))
			if !errors.Is(err, checkpoint.ErrCorrupt) {
				t.Errorf("%s, %s: Open gives %v, want an ErrCorrupt", name, what, err)
			}
		}
		back := open[notes](t, sealedStore(t, swap{inside, func(*checkpoint.Snapshot) {}}, codec))
		if back.chain.Head() != 2 {
			t.Errorf("%s: unspoilt it has head %d", name, back.chain.Head())
		}
	}
}

func TestSealed_KeysCanBeChanged(t *testing.T) {
	inside := new(checkpoint.Memory)
	old := encryptedThread(t, sealedStore(t, inside, checkpoint.Codec{Keys: ring("old")}))
	both := sealedStore(t, inside, checkpoint.Codec{Keys: ring("new", "old")})
	w := open[notes](t, both)
	if w.json(w.view) != old.json(old.view) {
		t.Fatalf("with a new current key the thread is %s", w.json(w.view))
	}
	step(w, func(s *notes) { s.Count.Add(1) })
	denied(t, "the new key alone, before Reseal", sealedStore(t, inside, checkpoint.Codec{Keys: ring("new")}), "old")
	if err := w.chain.Put(ctx, []checkpoint.Entry{{Task: "b", Slot: "result", Data: []byte(`7`)}}); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Reseal(ctx, both, "t", ""); err != nil {
		t.Fatal(err)
	}
	back := open[notes](t, sealedStore(t, inside, checkpoint.Codec{Keys: ring("new")}))
	if back.json(back.view) != w.json(w.view) || len(back.chain.Pending) != 1 || string(back.chain.Pending[0].Data) != "7" {
		t.Errorf("resealed it is %s with %v, want %s", back.json(back.view), back.chain.Pending, w.json(w.view))
	}
	if rec := back.chain.Record; rec.Source != checkpoint.Update || rec.Step != w.chain.Record.Step {
		t.Errorf("the commit has source %s, step %d", rec.Source, rec.Step)
	}
	step(back, func(s *notes) { s.Lines.Append("on") })
	step(back, func(s *notes) { s.Title.Set("on") })
	if again := open[notes](t, both); again.json(again.view) != back.json(back.view) {
		t.Errorf("it goes on as %s, want %s", again.json(again.view), back.json(back.view))
	}
}

func TestReseal_AllNamespaces(t *testing.T) {
	inside := new(checkpoint.Memory)
	before := sealedStore(t, inside, checkpoint.Codec{Keys: ring("old")})
	encryptedThread(t, before)
	c, err := checkpoint.Open(ctx, before, checkpoint.Key{Thread: "t", Namespace: "sub"}, schemaOf[notes](t))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(ctx, "1", &checkpoint.Record{Step: 1}, c.State, make([]bool, 5)); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Reseal(ctx, sealedStore(t, inside, checkpoint.Codec{Keys: ring("new", "old")}), "t", ""); err != nil {
		t.Fatal(err)
	}
	after := sealedStore(t, inside, checkpoint.Codec{Keys: ring("new")})
	for _, ns := range []string{"", "sub"} {
		if _, err := checkpoint.Open(ctx, after, checkpoint.Key{Thread: "t", Namespace: ns}, schemaOf[notes](t)); err != nil {
			t.Errorf("namespace %q: %v", ns, err)
		}
	}
	if err := checkpoint.Reseal(ctx, after, "unknown", ""); err != nil {
		t.Errorf("an unknown thread: %v", err)
	}
}

func TestSealed_BadCodecsAreRefused(t *testing.T) {
	short := ring("k")
	short.Ring["k"] = []byte("too short")
	unknown := ring("k")
	unknown.Current = "l"
	unnamed := ring("k")
	unnamed.Ring[""] = checkpoint.NewKey()
	for name, c := range map[string]checkpoint.Codec{
		"a short key": {Keys: short}, "an unknown current key": {Keys: unknown}, "a key without id": {Keys: unnamed}, "no keys in the ring": {Keys: &checkpoint.Keys{}},
		"a negative limit": {Limits: checkpoint.Limits{Pending: -1}}, "a limit beyond all": {Limits: checkpoint.Limits{Value: 1 << 31}},
	} {
		if _, err := checkpoint.Sealed(new(checkpoint.Memory), c); !errors.Is(err, checkpoint.ErrRequest) {
			t.Errorf("%s gives %v, want an ErrRequest", name, err)
		}
	}
	twice := sealedStore(t, new(checkpoint.Memory), checkpoint.Codec{})
	if _, err := checkpoint.Sealed(twice, checkpoint.Codec{}); !errors.Is(err, checkpoint.ErrRequest) {
		t.Errorf("sealing twice gives %v", err)
	}
}

func TestSealed_WithoutRandomNumbersNoCommit(t *testing.T) {
	keys := ring("k")
	keys.SetRand(strings.NewReader("short"))
	c, err := checkpoint.Open(ctx, sealedStore(t, new(checkpoint.Memory), checkpoint.Codec{Keys: keys}), root, schemaOf[notes](t))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(ctx, "1", &checkpoint.Record{}, c.State, make([]bool, 5)); err == nil || !strings.Contains(err.Error(), "random") {
		t.Errorf("got %v", err)
	}
}

func TestSealed_EqualValuesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 50 {
		inside := new(checkpoint.Memory)
		w := open[notes](t, sealedStore(t, inside, checkpoint.Codec{Keys: ring("k")}))
		step(w, func(s *notes) { s.Title.Set(leaks) })
		snap, err := inside.Load(ctx, root, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range append(blobData(snap), snap.Header) {
			if seen[string(data)] {
				t.Fatal("two values are the same")
			}
			seen[string(data)] = true
		}
	}
}
