package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// place is a store with blobs, and the clock of the blobs.
type place struct {
	threads checkpoint.Store
	table   blob.Table
	blobs   *blob.Store
	store   checkpoint.Store
	now     time.Time
}

func newPlace(t testing.TB, o checkpoint.BlobOptions, keys *checkpoint.Keys) *place {
	t.Helper()
	return newPlaceOn(t, new(checkpoint.Memory), new(blob.Map), o, keys)
}

func newPlaceOn(t testing.TB, threads checkpoint.Store, table blob.Table, o checkpoint.BlobOptions, keys *checkpoint.Keys) *place {
	t.Helper()
	p := &place{threads: threads, table: table, now: time.UnixMilli(1_800_000_000_000)}
	p.blobs = blob.Over(p.table)
	p.blobs.Now = func() time.Time { return p.now }
	if keys != nil {
		var err error
		if threads, err = checkpoint.Sealed(threads, checkpoint.Codec{Keys: keys}); err != nil {
			t.Fatal(err)
		}
		if p.blobs, err = p.blobs.Sealed(keys); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if p.store, err = checkpoint.WithBlobs(threads, p.blobs, o); err != nil {
		t.Fatal(err)
	}
	return p
}

func newKeys(id string) *checkpoint.Keys {
	return &checkpoint.Keys{Current: id, Ring: map[string][]byte{id: checkpoint.NewKey()}}
}

// hashes returns the hashes that an owner claims.
func (p *place) hashes(t testing.TB, owner string) []string {
	t.Helper()
	var list []string
	for c, err := range p.blobs.Claims(t.Context(), owner) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c.Hash)
	}
	return list
}

// album is a state with blobs in several channels.
type album struct {
	Cover state.Blob                `json:"cover"`
	Pages state.List[state.BlobRef] `json:"pages"`
	Text  state.Value[string]       `json:"text"`
	Turns state.Sum[int]            `json:"turns"`
}

// newAlbum returns a graph whose node stores a cover, a page and a text with each turn.
func newAlbum(t testing.TB, store checkpoint.Store) *graph.Graph[album] {
	t.Helper()
	b := graph.New[album]("album")
	b.Node("add", graph.Func(func(ctx context.Context, s *album) error {
		n := s.Turns.Get()
		if err := s.Cover.Store(ctx, strings.NewReader(fmt.Sprint("cover ", n))); err != nil {
			return err
		}
		page, err := state.PutBlob(ctx, strings.NewReader(fmt.Sprint("page ", n)))
		if err != nil {
			return err
		}
		s.Pages.Append(page)
		s.Text.Set(strings.Repeat(fmt.Sprint("text ", n, " "), 60))
		s.Turns.Add(1)
		return nil
	}))
	b.Edge(graph.Start, "add")
	b.Edge("add", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func turn(t testing.TB, g *graph.Graph[album], thread string) album {
	t.Helper()
	res, err := g.Invoke(t.Context(), album{}, graph.RunOptions{Thread: thread})
	if err != nil {
		t.Fatal(err)
	}
	return res.State
}

// wantAlbum demands that everything to which an album refers can be read.
func wantAlbum(t testing.TB, s *blob.Store, a album, turns int) {
	t.Helper()
	if a.Turns.Get() != turns || a.Pages.Len() != turns {
		t.Fatalf("got %d turns and %d pages, want %d", a.Turns.Get(), a.Pages.Len(), turns)
	}
	wantContent(t, s, a.Cover.Get(), fmt.Sprint("cover ", turns-1))
	for i, ref := range a.Pages.All() {
		wantContent(t, s, ref, fmt.Sprint("page ", i))
	}
	if want := strings.Repeat(fmt.Sprint("text ", turns-1, " "), 60); a.Text.Get() != want {
		t.Errorf("got the text %q, want %q", a.Text.Get(), want)
	}
}

func stateOf(t testing.TB, store checkpoint.Store, thread string) album {
	t.Helper()
	a, _, err := newAlbum(t, store).Thread(thread).State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestThread_PruneRemovesOldBlobs keeps what the remaining commits refer to.
//
// Requirement: blobs are collected by prune
func TestThread_PruneRemovesOldBlobs(t *testing.T) {
	for _, keys := range []*checkpoint.Keys{nil, newKeys("k")} {
		p := newPlace(t, checkpoint.BlobOptions{Above: 300}, keys)
		g := newAlbum(t, p.store)
		for range 3 {
			turn(t, g, "t")
		}
		all := len(p.hashes(t, "t")) // 3 covers, 3 pages, 3 texts
		prune := func() {
			if err := checkpoint.Prune(t.Context(), p.store, "t", checkpoint.Keep{Last: 1}); err != nil {
				t.Fatal(err)
			}
		}
		prune()
		if n := len(p.hashes(t, "t")); n != all || all < 9 {
			t.Errorf("rule: nothing is collected within the grace\n got: %d of %d blobs, want 9", n, all)
		}
		p.now = p.now.Add(25 * time.Hour)
		prune()
		if n := len(p.hashes(t, "t")); n != 5 {
			t.Errorf("rule: the last cover, the last text and 3 pages stay\n got: %d blobs", n)
		}
		wantAlbum(t, p.blobs, stateOf(t, p.store, "t"), 3)
		if err := p.store.Delete(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		if n := len(p.hashes(t, "t")); n != 0 {
			t.Errorf("rule: a deleted thread has no blobs\n got: %d", n)
		}
	}
}

func TestThread_LargePieceIsStoredOnce(t *testing.T) {
	p := newPlace(t, checkpoint.BlobOptions{Above: 300}, nil)
	g := newAlbum(t, p.store)
	a := turn(t, g, "a")
	turn(t, g, "b")
	same := slices.Equal(p.hashes(t, "a"), p.hashes(t, "b"))
	if n := len(p.hashes(t, "a")); !same || n != 3 {
		t.Errorf("rule: two threads with the same values have the same blobs\n got: %d, the same: %v", n, same)
	}
	wantAlbum(t, p.blobs, a, 1)
	_, _, err := newAlbum(t, p.threads).Thread("a").State(t.Context(), 0)
	if !errors.Is(err, checkpoint.ErrNoBlobs) {
		t.Errorf("rule: a store that is opened without its blobs is a typed error\n got: %v", err)
	}
	inline := newPlace(t, checkpoint.BlobOptions{Above: -1}, nil)
	turn(t, newAlbum(t, inline.store), "a")
	if n := len(inline.hashes(t, "a")); n != 2 {
		t.Errorf("rule: a negative Above stores no piece as a blob\n got: %d blobs, want the cover and the page", n)
	}
}

func TestThread_LostBlobIsATypedError(t *testing.T) {
	p := newPlace(t, checkpoint.BlobOptions{Above: 300}, nil)
	turn(t, newAlbum(t, p.store), "t")
	p.now = p.now.Add(time.Hour)
	if _, err := p.table.Release(t.Context(), "t", p.hashes(t, "t"), p.now, p.now); err != nil {
		t.Fatal(err)
	}
	_, _, err := newAlbum(t, p.store).Thread("t").State(t.Context(), 0)
	if !errors.Is(err, blob.ErrNotFound) || !strings.Contains(err.Error(), `"text"`) {
		t.Errorf("rule: the error names the field\n got: %v", err)
	}
}

func TestThread_RefOfAnotherThreadIsClaimed(t *testing.T) {
	p := newPlace(t, checkpoint.BlobOptions{}, nil)
	g := newAlbum(t, p.store)
	a := turn(t, g, "a")
	if _, err := g.Invoke(t.Context(), album{Pages: state.ListOf(a.Cover.Get())}, graph.RunOptions{Thread: "b"}); err != nil {
		t.Fatal(err)
	}
	if err := p.store.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(p.hashes(t, "b"), a.Cover.Get().Hash) {
		t.Errorf("rule: an input claims the blobs that it names\n got: %q", p.hashes(t, "b"))
	}
	none := state.BlobRef{Hash: strings.Repeat("0", 64), Size: 1}
	_, err := g.Invoke(t.Context(), album{Pages: state.ListOf(none)}, graph.RunOptions{Thread: "c"})
	var missing *blob.MissingError
	if !errors.As(err, &missing) || missing.Owner != "c" {
		t.Errorf("rule: a commit that refers to a missing blob fails\n got: %v", err)
	}
	if _, err := p.store.Load(t.Context(), checkpoint.Key{Thread: "c"}, 0); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("rule: that commit is not stored\n got: %v", err)
	}
}

func TestThread_WithoutBlobs(t *testing.T) {
	g := newAlbum(t, new(checkpoint.Memory))
	_, err := g.Invoke(t.Context(), album{}, graph.RunOptions{Thread: "t"})
	if !errors.Is(err, state.ErrNoBlobs) {
		t.Errorf("rule: a graph without blobs is a typed error\n got: %v", err)
	}
}

func TestWithBlobs_Invalid(t *testing.T) {
	p := newPlace(t, checkpoint.BlobOptions{}, nil)
	for name, o := range map[string]checkpoint.BlobOptions{"twice": {}, "a negative grace": {Grace: -1}} {
		store := checkpoint.Store(p.threads)
		if name == "twice" {
			store = p.store
		}
		if _, err := checkpoint.WithBlobs(store, p.blobs, o); !errors.Is(err, checkpoint.ErrRequest) {
			t.Errorf("%s: got %v, want an ErrRequest", name, err)
		}
	}
}

func TestCollect_DeletedAndHeldThreads(t *testing.T) {
	ctx, p := t.Context(), newPlace(t, checkpoint.BlobOptions{}, nil)
	g := newAlbum(t, p.store)
	for _, thread := range []string{"deleted", "alive", "held"} {
		turn(t, g, thread)
		if _, err := p.blobs.Put(ctx, thread, strings.NewReader("never committed by "+thread)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.threads.Delete(ctx, "deleted"); err != nil { // as an expiry does
		t.Fatal(err)
	}
	held, err := checkpoint.Hold(ctx, p.store, "held", checkpoint.HoldOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release(ctx)
	collect := func() blob.Freed {
		freed, err := blob.Collect(ctx, p.store, p.blobs, 0)
		if err != nil {
			t.Fatal(err)
		}
		return freed
	}
	if freed := collect(); freed.Blobs != 0 {
		t.Errorf("rule: nothing is collected within the grace\n got: %+v", freed)
	}
	p.now = p.now.Add(25 * time.Hour)
	if freed := collect(); freed.Blobs != 2 {
		t.Errorf("rule: what the deleted and the thread that is alive did not commit is freed\n got: %+v", freed)
	}
	counts := map[string]int{}
	for _, thread := range []string{"deleted", "alive", "held"} {
		counts[thread] = len(p.hashes(t, thread))
	}
	if want := (map[string]int{"deleted": 0, "alive": 2, "held": 3}); !maps.Equal(counts, want) {
		t.Errorf("rule: a thread that another program holds is left as it is\n got: %v\nwant: %v", counts, want)
	}
	if _, err := blob.Collect(ctx, p.threads, p.blobs, 0); !errors.Is(err, checkpoint.ErrNoBlobs) {
		t.Errorf("rule: a store without blobs is a typed error\n got: %v", err)
	}
}

// TestExport_CarriesBlobs exports a thread and imports it into another store, under other keys.
//
// Requirement: exports carry blobs
func TestExport_CarriesBlobs(t *testing.T) {
	ctx := t.Context()
	for name, keys := range map[string][2]*checkpoint.Keys{
		"plain": {nil, nil}, "from sealed": {newKeys("k"), nil}, "to sealed": {nil, newKeys("k")}, "other keys": {newKeys("a"), newKeys("b")},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := newPlace(t, checkpoint.BlobOptions{Above: 300}, keys[0]), newPlace(t, checkpoint.BlobOptions{Above: 300}, keys[1])
			g := newAlbum(t, from.store)
			for range 2 {
				turn(t, g, "t")
			}
			var file bytes.Buffer
			if err := checkpoint.Export(ctx, from.store, "t", &file); err != nil {
				t.Fatal(err)
			}
			if err := checkpoint.Import(ctx, to.store, "imported", bytes.NewReader(file.Bytes())); err != nil {
				t.Fatal(err)
			}
			if err := checkpoint.Copy(ctx, from.store, "t", to.store, "copied"); err != nil {
				t.Fatal(err)
			}
			if err := checkpoint.Copy(ctx, from.store, "t", from.store, "here"); err != nil {
				t.Fatal(err)
			}
			wantAlbum(t, to.blobs, stateOf(t, to.store, "imported"), 2)
			wantAlbum(t, to.blobs, stateOf(t, to.store, "copied"), 2)
			wantAlbum(t, from.blobs, stateOf(t, from.store, "here"), 2)
			wantAlbum(t, to.blobs, turn(t, newAlbum(t, to.store), "imported"), 3)
			err := checkpoint.Import(ctx, new(checkpoint.Memory), "t", bytes.NewReader(file.Bytes()))
			if !errors.Is(err, checkpoint.ErrNoBlobs) {
				t.Errorf("rule: a store without blobs cannot import them\n got: %v", err)
			}
			for cut := range bytes.SplitAfterSeq(file.Bytes(), []byte("\n")) {
				damaged := bytes.Replace(file.Bytes(), cut, nil, 1)
				other := newPlace(t, checkpoint.BlobOptions{}, nil)
				if err := checkpoint.Import(ctx, other.store, "t", bytes.NewReader(damaged)); len(cut) > 0 && !errors.Is(err, checkpoint.ErrCorrupt) {
					t.Errorf("rule: a file without a line is damaged\n got: %v, without %.60s", err, cut)
				}
			}
		})
	}
}

// TestImport_FailureLeavesNoBlob cuts a file after the blobs of its first commit.
func TestImport_FailureLeavesNoBlob(t *testing.T) {
	ctx, from, to := t.Context(), newPlace(t, checkpoint.BlobOptions{}, nil), newPlace(t, checkpoint.BlobOptions{}, nil)
	ref, err := from.blobs.Put(ctx, "t", strings.NewReader("page"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newAlbum(t, from.store).Invoke(ctx, album{Pages: state.ListOf(ref)}, graph.RunOptions{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := checkpoint.Export(ctx, from.store, "t", &file); err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(file.Bytes(), []byte("\n"))
	if err := checkpoint.Import(ctx, to.store, "t", bytes.NewReader(bytes.Join(lines[:2], nil))); !errors.Is(err, checkpoint.ErrCorrupt) || !bytes.Contains(lines[1], []byte(`"blob":`)) {
		t.Fatalf("a file that ends after %.60s: got %v, want an ErrCorrupt", lines[1], err)
	}
	if left := to.hashes(t, "t"); len(left) > 0 {
		t.Errorf("rule: an import that fails leaves no blob\n got: %q", left)
	}
}
