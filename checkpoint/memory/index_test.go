package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/memory/memorytest"
)

// embedder counts letters: texts with the same letters are alike.
type embedder struct {
	mu    sync.Mutex
	calls int
	fails error
	turn  func([][]float32) [][]float32
}

func (e *embedder) embed(_ context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	if e.fails != nil {
		return nil, e.fails
	}
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
	if e.turn != nil {
		list = e.turn(list)
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

func near(t *testing.T, x *memory.Index, q memory.Query) (keys string, unindexed int) {
	t.Helper()
	for {
		page, err := x.Search(t.Context(), q)
		must(t, err)
		for _, f := range page.Items {
			keys += f.Key + " "
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return strings.TrimSpace(keys), page.Unindexed
		}
	}
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

func TestIndex_FindsTheMostSimilar(t *testing.T) {
	x, e, failed := indexed(t)
	for _, kv := range [][2]string{{"tea", "tea eat ate"}, {"coat", "coat taco"}, {"dog", "god dog"}, {"blank", " "}, {"number", "1"}} {
		put(t, x, []string{"a"}, kv[0], fmt.Sprintf(`{"t":%q}`, kv[1]))
	}
	put(t, x, []string{"a", "b"}, "team", `{"t":"meat team","kind":"other"}`)
	put(t, x, []string{"b"}, "east", `"east"`)
	keys, unindexed := near(t, x, memory.Query{Near: "EAT", Prefix: []string{"a"}})
	same(t, "the most alike come first", keys, "tea team coat number dog")
	same(t, "all have a vector, or no text", unindexed, 0)
	keys, _ = near(t, x, memory.Query{Near: "eat", Limit: 2})
	same(t, "pages are the whole", keys, "tea east team coat number dog")
	keys, _ = near(t, x, memory.Query{Near: "eat", Where: memory.Filter{{Path: "kind", Op: memory.Eq, Value: "other"}}})
	same(t, "a filter holds beside", keys, "team")
	keys, _ = near(t, x, memory.Query{Near: "eat", Text: "taco"})
	same(t, "words hold beside", keys, "coat")
	page, err := x.Search(t.Context(), memory.Query{Near: "tea"})
	must(t, err)
	same(t, "the score is the cosine", math.Abs(page.Items[0].Score-1) < 1e-9, true)
	must(t, x.Delete(t.Context(), []string{"a"}, "tea"))
	put(t, x, []string{"a"}, "dog", `"eat eat"`)
	keys, _ = near(t, x, memory.Query{Near: "eat", Prefix: []string{"a"}})
	same(t, "the last value counts", keys, "dog team coat number")
	same(t, "nothing failed", *failed, []string{})
	before := e.calls
	_, err = x.Batch(t.Context(), []string{"c"}, []memory.Op{{Key: "1", Value: json.RawMessage(`"x"`)}, {Key: "2", Value: json.RawMessage(`"y"`)}, {Key: "3"}})
	must(t, err)
	same(t, "a batch is one call of the embedder", e.calls-before, 1)
}

func TestIndex_OfFieldsTakesTheBestOfThem(t *testing.T) {
	x, _, _ := indexed(t, "title", "body.text")
	put(t, x, []string{"a"}, "one", `{"title":"zzz","body":{"text":["abc","abc"]},"other":"q"}`)
	put(t, x, []string{"a"}, "two", `{"title":"abcz"}`)
	put(t, x, []string{"a"}, "none", `{"other":"abc"}`)
	keys, unindexed := near(t, x, memory.Query{Near: "abc"})
	same(t, "the most alike field of an item counts", keys, "one two")
	same(t, "an item without such fields is not found, and lacks nothing", unindexed, 0)
}

func TestIndex_FailureOfTheEmbedderLosesNoPut(t *testing.T) {
	down := errors.New("the model is down")
	for name, breakIt := range map[string]func(*embedder){
		"fails":           func(e *embedder) { e.fails = down },
		"panics":          func(e *embedder) { e.turn = func([][]float32) [][]float32 { panic("oh") } },
		"returns too few": func(e *embedder) { e.turn = func(v [][]float32) [][]float32 { return v[1:] } },
		"returns short":   func(e *embedder) { e.turn = func(v [][]float32) [][]float32 { v[0] = v[0][1:]; return v } },
		"returns infinity": func(e *embedder) {
			e.turn = func(v [][]float32) [][]float32 { v[0][0] = float32(math.Inf(1)); return v }
		},
	} {
		t.Run(name, func(t *testing.T) {
			x, e, failed := indexed(t)
			put(t, x, []string{"a"}, "old", `"abc"`)
			breakIt(e)
			put(t, x, []string{"a"}, "new", `"abc"`)
			put(t, x, []string{"a"}, "old", `"xyz"`)
			same(t, "Failed is called", len(*failed), 2)
			if item, err := x.Get(t.Context(), []string{"a"}, "new"); err != nil || string(item.Value) != `"abc"` {
				t.Errorf("rule: the item is stored\n got: %s, %v", item.Value, err)
			}
			if _, err := x.Search(t.Context(), memory.Query{Near: "abc"}); err == nil {
				t.Error("rule: a search that cannot be embedded is an error\n got: none")
			}
			if n, err := x.Reindex(t.Context(), nil); err == nil || n != 0 {
				t.Errorf("rule: Reindex returns the error that stopped it\n got: %d, %v", n, err)
			}
			e.fails, e.turn = nil, nil
			keys, unindexed := near(t, x, memory.Query{Near: "abc"})
			same(t, "items without a vector of their own are passed over", keys, "")
			same(t, "and counted", unindexed, 2)
			n, err := x.Reindex(t.Context(), nil)
			same(t, "Reindex makes up for it", fmt.Sprint(n, err), "2 <nil>")
			keys, unindexed = near(t, x, memory.Query{Near: "abc"})
			same(t, "then they are found", fmt.Sprint(keys, unindexed), "new old0")
		})
	}
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

func TestIndex_VectorsEndWithTheirItems(t *testing.T) {
	now := time.Now()
	e := &embedder{}
	x := &memory.Index{Store: &memory.Map{Now: func() time.Time { return now }}, Embed: e.embed, Dims: 26}
	for key, o := range map[string]memory.Options{"brief": {TTL: time.Hour}, "renewed": {TTL: time.Hour, Refresh: true}} {
		_, err := x.Put(t.Context(), []string{"a"}, key, json.RawMessage(`"abc"`), o)
		must(t, err)
	}
	now = now.Add(45 * time.Minute)
	_, err := x.Get(t.Context(), []string{"a"}, "renewed")
	must(t, err)
	now = now.Add(45 * time.Minute)
	keys, unindexed := near(t, x, memory.Query{Near: "abc"})
	same(t, "what lives on by reading keeps its vector, the rest is gone", fmt.Sprint(keys, unindexed), "renewed0")
}
