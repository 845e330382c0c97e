package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/memory/memorytest"
)

// embedder counts letters: texts with the same letters are alike.
type embedder struct {
	mu sync.Mutex
}

func (e *embedder) embed(_ context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list [][]float32
	for _, text := range texts {
		v := make([]float32, 26)
		for _, r := range strings.ToLower(text) {
			if r >= 'a' && r <= 'z' {
				v[r-'a']++
			}
		}
		list = append(list, v)
	}
	return list, nil
}

// indexed returns an Index over a Map, and the keys for which Failed was called.
func indexed(t *testing.T, fields ...string) (*memory.Index, *embedder, *[]string) {
	e, failed := &embedder{}, &[]string{}
	x := &memory.Index{Store: &memory.Map{}, Embed: e.embed, Dims: 26, Fields: fields}
	x.Failed = func(ns []string, key string, err error) { *failed = append(*failed, fmt.Sprint(ns, key, " ", err)) }
	return x, e, failed
}

func same(t *testing.T, rule string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("rule: %s\n got: %v\nwant: %v", rule, got, want)
	}
}

func TestIndex_PassesTheSuite(t *testing.T) {
	memorytest.Run(t, func(t testing.TB) memory.Store {
		e := &embedder{}
		// One label and some bytes of a namespace are the Index's: long ones go past it.
		return roomy{&memory.Index{Store: &memory.Map{}, Embed: e.embed, Dims: 26}}
	})
}

// watched is a Map with a clock that the suite moves.
type watched struct {
	*memory.Map
	mu  sync.Mutex
	now time.Time
}

func (w *watched) Advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func TestIndex_OfAMapPassesTheSuite(t *testing.T) {
	memorytest.RunIndex(t, func(testing.TB) (memory.Store, memory.Vectors) {
		w := &watched{now: time.Now()}
		w.Map = &memory.Map{Now: func() time.Time {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.now = w.now.Add(time.Microsecond)
			return w.now
		}}
		return w, nil
	})
}

// roomy is an Index, but for the namespaces that leave it no room.
type roomy struct{ *memory.Index }

func (r roomy) store(ns []string) memory.Store {
	if len(ns) == memory.MaxLabels || len(ns) == 1 && len(ns[0]) == memory.MaxLabel {
		return r.Index.Store
	}
	return r.Index
}

func (r roomy) Put(ctx context.Context, ns []string, key string, v json.RawMessage, o memory.Options) (memory.Item, error) {
	return r.store(ns).Put(ctx, ns, key, v, o)
}

func (r roomy) Get(ctx context.Context, ns []string, key string) (memory.Item, error) {
	return r.store(ns).Get(ctx, ns, key)
}

func TestReindex_AddsItemsPutPastTheIndex(t *testing.T) {
	x, _, _ := indexed(t)
	for i := range 150 {
		put(t, x.Store, []string{"a", fmt.Sprint(i % 3)}, fmt.Sprint(i), fmt.Sprintf(`"abc %d"`, i))
	}
	put(t, x, []string{"a", "0"}, "gone", `"abc"`)
	must(t, x.Store.Delete(t.Context(), []string{"a", "0"}, "gone"))
	for _, want := range []int{150, 0} {
		n, err := x.Reindex(t.Context(), []string{"a"})
		same(t, "Reindex makes what is missing, once", fmt.Sprint(n, err), fmt.Sprint(want, " <nil>"))
	}
	vectors, err := x.Store.Search(t.Context(), memory.Query{Prefix: []string{"weft:vectors"}, Limit: 1000})
	must(t, err)
	same(t, "vectors of items that are gone go too", len(vectors.Items), 150)
}

// An item that the embedder refuses does not keep the others from their vectors.
func TestReindex_LeavesOutWhatIsRefused(t *testing.T) {
	calls := 0
	x, e := memory.Index{Store: &memory.Map{}, Dims: 26}, &embedder{}
	x.Embed = func(ctx context.Context, texts []string) ([][]float32, error) {
		calls++
		if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "refused") }) {
			return nil, errors.New("this text is refused")
		}
		return e.embed(ctx, texts)
	}
	for i := range 100 {
		text := "abc"
		if i == 30 || i == 31 || i == 70 {
			text = "refused"
		}
		put(t, x.Store, []string{"a"}, fmt.Sprintf("%03d", i), fmt.Sprintf("%q", text))
	}
	n, err := x.Reindex(t.Context(), nil)
	if n != 97 || err == nil || !strings.Contains(err.Error(), "030") {
		t.Errorf("got %d, %v; want 97 vectors, and an error that names item 030", n, err)
	}
	put(t, x.Store, []string{"a"}, "029", `"refused"`) // three in turn
	put(t, x.Store, []string{"a"}, "050", `"new"`)
	calls = 0
	if n, err = x.Reindex(t.Context(), nil); n != 0 || err == nil || !strings.Contains(err.Error(), "029") || calls != 4 {
		t.Errorf("got %d, %v after %d calls; want that it stops after one page and three items", n, err, calls)
	}
}

func TestIndex_VectorsAreHidden(t *testing.T) {
	x, _, _ := indexed(t)
	put(t, x, []string{"zzz"}, "k", `"abc"`)
	put(t, x, []string{"a"}, "k", `"abc"`)
	list, err := x.Namespaces(t.Context(), memory.NamespaceQuery{})
	must(t, err)
	same(t, "namespaces of vectors are not listed", list, "[[a] [zzz]]")
	page, err := x.Search(t.Context(), memory.Query{})
	must(t, err)
	same(t, "vectors are not found", len(page.Items), 2)
	for _, err := range []error{
		func() error { _, err := x.Get(t.Context(), []string{"weft:vectors", "a"}, "k"); return err }(),
		func() error {
			_, err := x.Search(t.Context(), memory.Query{Prefix: []string{"weft:vectors"}})
			return err
		}(),
		x.Delete(t.Context(), []string{"weft:vectors", "a"}, "k"),
	} {
		if !errors.Is(err, memory.ErrNamespace) {
			t.Errorf("rule: the namespaces of vectors are the Index's own\n got: %v\nwant: ErrNamespace", err)
		}
	}
}

func TestIndex_ImpossibleIsRefused(t *testing.T) {
	good := memory.Index{Store: &memory.Map{}, Embed: (&embedder{}).embed, Dims: 26}
	for name, spoil := range map[string]func(*memory.Index){
		"no store": func(x *memory.Index) { x.Store = nil }, "no embedder": func(x *memory.Index) { x.Embed = nil }, "no dimensions": func(x *memory.Index) { x.Dims = 0 },
		"too many dimensions": func(x *memory.Index) { x.Dims = memory.MaxDims + 1 }, "a bad field": func(x *memory.Index) { x.Fields = []string{"a..b"} },
		"too many fields": func(x *memory.Index) { x.Fields = strings.Split(strings.Repeat("a", memory.MaxVectors+1), "") },
	} {
		x := good
		spoil(&x)
		_, err := x.Put(t.Context(), []string{"a"}, "k", json.RawMessage(`1`), memory.Options{})
		if !errors.Is(err, memory.ErrRequest) {
			t.Errorf("rule: an Index with %s is refused\n got: %v\nwant: ErrRequest", name, err)
		}
	}
	for _, q := range []memory.Query{{Near: "x", Order: memory.ByKey}, {Near: strings.Repeat("x", memory.MaxText+1)}, {Near: "x", Limit: -1}, {Near: "x", Cursor: "x"}} {
		if _, err := good.Search(t.Context(), q); !errors.Is(err, memory.ErrQuery) {
			t.Errorf("rule: %.60v is no query\n got: %v\nwant: ErrQuery", q, err)
		}
	}
}
