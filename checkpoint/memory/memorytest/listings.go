package memorytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint/memory"
)

var listingRules = []rule{
	{"Namespaces", namespaces},
	{"NamespacesCut", namespacesCut},
	{"NamespacesPaging", namespacesPaging},
	{"NamespacesForgetTheEmpty", namespacesForgetTheEmpty},
}

func (p *probe) spaces(list ...[]string) {
	p.Helper()
	for _, ns := range list {
		p.put(ns, "k", `1`)
		p.put(ns, "l", `1`)
	}
}

func namespaces(p *probe) {
	p.Same("an empty store has no namespaces", p.namespaces(memory.NamespaceQuery{}), "[]")
	p.spaces([]string{"b"}, []string{"a", "c"}, []string{"a"}, []string{"ab"}, []string{"a", "b", "c"})
	for _, tt := range []struct {
		q    memory.NamespaceQuery
		want string
	}{
		{memory.NamespaceQuery{}, `[["a"] ["a" "b" "c"] ["a" "c"] ["ab"] ["b"]]`},
		{memory.NamespaceQuery{Prefix: []string{"a"}}, `[["a"] ["a" "b" "c"] ["a" "c"]]`},
		{memory.NamespaceQuery{Suffix: []string{"c"}}, `[["a" "b" "c"] ["a" "c"]]`},
		{memory.NamespaceQuery{Suffix: []string{"b", "c"}}, `[["a" "b" "c"]]`},
		{memory.NamespaceQuery{Prefix: []string{"a"}, Suffix: []string{"c"}}, `[["a" "b" "c"] ["a" "c"]]`},
		{memory.NamespaceQuery{Prefix: []string{"x"}}, `[]`},
		{memory.NamespaceQuery{Suffix: []string{"a", "b", "c", "d"}}, `[]`},
	} {
		p.Same(fmt.Sprintf("namespaces are listed in order: %+v", tt.q), p.namespaces(tt.q), tt.want)
	}
}

func namespacesCut(p *probe) {
	p.spaces([]string{"a", "b", "c"}, []string{"a", "b", "d"}, []string{"a", "e"}, []string{"f"}, []string{"f", "c"})
	for depth, want := range []string{
		`[["a" "b" "c"] ["a" "b" "d"] ["a" "e"] ["f"] ["f" "c"]]`, `[["a"] ["f"]]`, `[["a" "b"] ["a" "e"] ["f"] ["f" "c"]]`, `[["a" "b" "c"] ["a" "b" "d"] ["a" "e"] ["f"] ["f" "c"]]`,
	} {
		p.Same(fmt.Sprintf("namespaces are cut to %d labels, and named once", depth), p.namespaces(memory.NamespaceQuery{Depth: depth}), want)
	}
	p.Same("a suffix is that of the whole", p.namespaces(memory.NamespaceQuery{Depth: 1, Suffix: []string{"c"}}), `[["a"] ["f"]]`)
}

func namespacesPaging(p *probe) {
	for i := range 130 {
		p.put([]string{"n", fmt.Sprintf("%03d", i), "x"}, "k", `1`)
		p.put([]string{"n", fmt.Sprintf("%03d", i), "y"}, "k", `1`)
	}
	p.Same("a listing has 100 by default", len(p.all(memory.NamespaceQuery{}, 1)), 100)
	for _, q := range []memory.NamespaceQuery{{Limit: 7}, {Limit: 7, Prefix: []string{"n"}}, {Limit: 100, Depth: 3}} {
		p.Same(fmt.Sprintf("pages of namespaces are the whole: %+v", q), len(p.all(q, 100)), 260)
	}
	p.Same("also when they are cut", len(p.all(memory.NamespaceQuery{Limit: 7, Depth: 2}, 100)), 130)
}

// all lists namespaces, page by page, each once.
func (p *probe) all(q memory.NamespaceQuery, pages int) map[string]bool {
	p.Helper()
	seen := map[string]bool{}
	for range pages {
		list, err := p.store.Namespaces(p.Context(), q)
		p.Done("namespaces can be listed", err)
		for _, ns := range list {
			if key := fmt.Sprintf("%q", ns); seen[key] {
				p.Errorf("rule: a namespace is listed once\n got: %s again", key)
			} else {
				seen[key] = true
			}
		}
		if len(list) == 0 {
			break
		}
		q.After = list[len(list)-1]
	}
	return seen
}

func namespacesForgetTheEmpty(p *probe) {
	p.put([]string{"a"}, "k", `1`)
	p.put([]string{"b"}, "k", `1`)
	p.delete([]string{"a"}, "k")
	p.Same("a namespace without items is none", p.namespaces(memory.NamespaceQuery{}), `[["b"]]`)
	p.put([]string{"a"}, "k", `1`)
	p.Same("it may come back", p.namespaces(memory.NamespaceQuery{}), `[["a"] ["b"]]`)
	p.Same("with its items", p.keys(memory.Query{}), "k k")
}

var timeRules = []rule{
	{"TTL", ttl},
	{"TTLOfAnotherPut", ttlOfAnotherPut},
	{"Refresh", refresh},
	{"SearchDoesNotRefresh", searchDoesNotRefresh},
	{"ExpiredIsGone", expiredIsGone},
	{"ExpiredStartsAnew", expiredStartsAnew},
	{"ExpireMany", expireMany},
}

func brief(d time.Duration) memory.Options   { return memory.Options{TTL: d} }
func renewed(d time.Duration) memory.Options { return memory.Options{TTL: d, Refresh: true} }

func ttl(p *probe) {
	item := p.put(home, "k", `1`, brief(time.Hour))
	p.Same("an item ends its TTL after it was put", item.Expires.Sub(item.Updated), time.Hour)
	p.Same("Get returns when an item expires", p.get(home, "k").Expires, item.Expires)
	p.advance(59 * time.Minute)
	p.Same("reading does not matter", p.get(home, "k").Refresh, time.Duration(0))
	p.advance(2 * time.Minute)
	p.gone("an item ends", home, "k")
}

func ttlOfAnotherPut(p *probe) {
	p.put(home, "never", `1`, brief(time.Hour))
	p.put(home, "never", `2`)
	p.put(home, "later", `1`, brief(time.Hour))
	p.put(home, "later", `2`, brief(3*time.Hour))
	p.put(home, "sooner", `1`, brief(3*time.Hour))
	p.put(home, "sooner", `2`, brief(time.Hour))
	p.advance(2 * time.Hour)
	p.Same("the TTL of the last put counts", p.keys(memory.Query{}), "later never")
	p.advance(100 * 24 * time.Hour)
	p.Same("no TTL means never", p.keys(memory.Query{}), "never")
}

func refresh(p *probe) {
	first := p.put(home, "k", `{"a":"word"}`, renewed(time.Hour))
	p.Same("an item has its Refresh", first.Refresh, time.Hour)
	for range 4 {
		p.advance(45 * time.Minute)
		item := p.get(home, "k")
		p.Same("a Get changes nothing else", fmt.Sprint(item.Version, string(item.Value)), fmt.Sprint(first.Version, string(first.Value)))
	}
	p.Same("what is refreshed can be searched", p.keys(memory.Query{Text: "word"}), "k")
	p.put(home, "k", `2`, memory.Options{If: &first.Version, TTL: time.Hour})
	p.advance(45 * time.Minute)
	p.get(home, "k")
	p.advance(45 * time.Minute)
	p.gone("without Refresh reading does not matter", home, "k")
}

func searchDoesNotRefresh(p *probe) {
	p.put(home, "k", `1`, renewed(time.Hour))
	p.advance(45 * time.Minute)
	p.keys(memory.Query{})
	p.advance(45 * time.Minute)
	p.gone("a search lets nothing live on", home, "k")
}

func expiredIsGone(p *probe) {
	p.put([]string{"a"}, "k", `{"t":"word","n":1}`, brief(time.Hour))
	p.put([]string{"b"}, "l", `{"t":"word","n":1}`)
	p.advance(2 * time.Hour)
	p.Same("what has ended is in no search", p.keys(memory.Query{}), "l")
	p.Same("by no order", p.keys(memory.Query{Order: memory.ByUpdated}), "l")
	p.Same("by no word", p.keys(memory.Query{Text: "word"}), "l")
	p.Same("by no filter", p.keys(memory.Query{Where: where("n", memory.Eq, `1`)}), "l")
	p.Same("its namespace is none", p.namespaces(memory.NamespaceQuery{}), `[["b"]]`)
	p.delete([]string{"a"}, "k")
}

func expiredStartsAnew(p *probe) {
	old := p.put(home, "k", `1`, brief(time.Hour))
	p.advance(2 * time.Hour)
	_, err := p.store.Put(p.Context(), home, "k", json.RawMessage(`2`), memory.Options{If: &old.Version})
	p.conflict(err, home, "k", old.Version, 0)
	item := p.put(home, "k", `2`, memory.Options{If: new(uint64(0))})
	p.Same("a new item has a new time of creation", item.Created, item.Updated)
	p.Same("a version never comes back", item.Version > old.Version, true)
	p.Same("a new item without a TTL stays", item.Expires, time.Time{})
}

func expireMany(p *probe) {
	var ops []memory.Op
	for i := range 300 {
		o := op(fmt.Sprintf("%03d", i), `"word"`)
		if i%3 > 0 {
			o.TTL = time.Duration(i%3) * time.Hour
		}
		ops = append(ops, o)
	}
	_, err := p.store.Batch(p.Context(), home, ops)
	p.Done("many items are put", err)
	for _, want := range []int{200, 100, 100} {
		p.advance(61 * time.Minute)
		p.Same("expired items are not found, removed or not", len(p.search(memory.Query{Limit: 7})), want)
		p.put(home, "again", `1`)
		p.delete(home, "again")
		p.Same("a sweep takes no others", len(p.search(memory.Query{Limit: 1000, Text: "word"})), want)
	}
}

var mannerRules = []rule{
	{"BadTTLs", badTTLs},
	{"SlicesAreNotShared", slicesAreNotShared},
	{"CancelledContext", cancelledContext},
	{"ConcurrentUse", concurrentUse},
}

func badTTLs(p *probe) {
	for _, o := range []memory.Options{brief(-1), brief(-time.Hour), brief(time.Microsecond), {Refresh: true}} {
		_, err := p.store.Put(p.Context(), home, "k", json.RawMessage(`1`), o)
		p.Fails(fmt.Sprintf("this is no TTL: %+v", o), err, memory.ErrRequest)
	}
	p.gone("nothing was stored", home, "k")
}

func slicesAreNotShared(p *probe) {
	ns, value, version := []string{"users", "ada"}, json.RawMessage(`{"a":1}`), uint64(0)
	item, err := p.store.Put(p.Context(), ns, "k", value, memory.Options{If: &version})
	p.Done("an item is put", err)
	ns[0], value[2], version = "xxxxx", 'b', 7
	p.Same("a store keeps nothing of the caller's", string(p.get(home, "k").Value), `{"a":1}`)
	spoil := func(i memory.Item) { i.Value[2], i.Namespace[0] = 'c', "yyyyy" }
	spoil(item)
	spoil(p.get(home, "k"))
	for _, f := range p.search(memory.Query{}) {
		spoil(f.Item)
	}
	got := p.get(home, "k")
	p.Same("a store gives away nothing of its own", fmt.Sprintf("%q %s", got.Namespace, got.Value), fmt.Sprintf("%q %s", home, `{"a":1}`))
	p.Same("nor in a search", p.keys(memory.Query{Prefix: home, Where: where("a", memory.Eq, `1`)}), "k")
}

func cancelledContext(p *probe) {
	p.put(home, "k", `1`)
	ctx, cancel := context.WithCancel(p.Context())
	cancel()
	calls := map[string]func() error{
		"Put": func() error {
			_, err := p.store.Put(ctx, home, "k", json.RawMessage(`2`), memory.Options{})
			return err
		},
		"Get":        func() error { _, err := p.store.Get(ctx, home, "k"); return err },
		"Delete":     func() error { return p.store.Delete(ctx, home, "k") },
		"Batch":      func() error { _, err := p.store.Batch(ctx, home, []memory.Op{{Key: "k"}}); return err },
		"Search":     func() error { _, err := p.store.Search(ctx, memory.Query{}); return err },
		"Namespaces": func() error { _, err := p.store.Namespaces(ctx, memory.NamespaceQuery{}); return err },
	}
	for name, call := range calls {
		p.Fails(name+" does nothing when its context has ended", call(), context.Canceled)
	}
	p.Same("nothing was changed", string(p.get(home, "k").Value), `1`)
}

func concurrentUse(p *probe) {
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			ns := []string{"worker", fmt.Sprint(w % 4)}
			for i := range 15 {
				key := fmt.Sprint(w, "-", i)
				_, err := p.store.Put(p.Context(), ns, key, json.RawMessage(`{"t":"some words"}`), memory.Options{})
				if err == nil {
					_, err = p.store.Get(p.Context(), ns, key)
				}
				if err == nil {
					_, err = p.store.Search(p.Context(), memory.Query{Prefix: ns, Text: "words"})
				}
				if err == nil && i%3 == 0 {
					err = p.store.Delete(p.Context(), ns, key)
				}
				if err == nil {
					_, err = p.store.Namespaces(p.Context(), memory.NamespaceQuery{})
				}
				if err != nil {
					p.Error(errors.Join(errors.New("rule: a store may be used by many goroutines"), err))
					return
				}
			}
		})
	}
	wg.Wait()
	p.Same("no write is lost", len(p.search(memory.Query{Limit: 1000})), 8*10)
}
