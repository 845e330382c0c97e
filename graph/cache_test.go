package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// costly is a node whose result depends on the name alone. It goes to next if that is given.
func costly(ran *counter, next ...string) graph.Node[world] {
	return graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		ran.add("costly " + s.Name.Get())
		s.Log.Append("costly " + s.Name.Get())
		s.Count.Add(2)
		return graph.Goto(next...), nil
	}, next...)
}

// byName caches by the name.
var byName = graph.Caching[world]{Key: func(s *world) (string, error) { return s.Name.Get(), nil }}

// named runs g with this name on a thread.
func named(t *testing.T, g *graph.Graph[world], thread, name string) graph.Result[world] {
	t.Helper()
	res, err := g.Invoke(ctx, world{Name: state.Of(name)}, graph.RunOptions{Thread: thread})
	return ended(t, graph.Done, res, err)
}

func TestCache_NodeRunsOnceForEachInput(t *testing.T) {
	for name, c := range map[string]graph.Caching[world]{"by a key": byName, "by the whole state": {}} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			cfg := stored()
			cfg.Cache = new(graph.MemoryCache)
			b := graph.New[world]("cached")
			b.Node("a", graph.Cache(costly(&ran, "b"), c))
			b.Node("b", logs("b"))
			b.Edge(graph.Start, "a")
			b.Edge("b", graph.End)
			g := build(t, b, cfg)
			for i := range 3 {
				res := named(t, g, fmt.Sprint("t", i), "x")
				if logged(t, res, "costly x b"); res.State.Count.Get() != 2 {
					t.Errorf("run %d: the count is %d, want 2", i, res.State.Count.Get())
				}
			}
			named(t, g, "other", "y")
			ran.want(t, "costly x", 1)
			ran.want(t, "costly y", 1)
		})
	}
}

func TestCache_WorkersDifferByPayload(t *testing.T) {
	var ran counter
	b := graph.New[world]("workers")
	b.Node("r", goes("r", graph.Send("w", 1).Send("w", 2).Send("w", 1), "w"))
	b.Node("w", graph.Cache(graph.Worker(func(_ context.Context, s *world, n int) error {
		ran.add(fmt.Sprint(n))
		s.Log.Append(fmt.Sprint("w", n))
		return nil
	}), byName))
	b.Edge(graph.Start, "r")
	b.Edge("w", graph.End)
	g := build(t, b, graph.Config{Concurrency: 1, Cache: new(graph.MemoryCache)})
	logged(t, named(t, g, "", "x"), "r w1 w2 w1")
	ran.want(t, "1", 1)
	ran.want(t, "2", 1)
}

func TestCache_VersionAndTimeEndItsEntries(t *testing.T) {
	now := time.Unix(1000, 0)
	cache := &graph.MemoryCache{Now: func() time.Time { return now }}
	var ran counter
	run := func(c graph.Caching[world]) {
		t.Helper()
		named(t, single(t, graph.Cache(costly(&ran), c), graph.Policy{}, graph.Config{Cache: cache}), "", "x")
	}
	one := graph.Caching[world]{TTL: time.Minute, Version: "1"}
	two := graph.Caching[world]{Version: "2"}
	run(one)
	run(two)
	ran.want(t, "costly x", 2)
	now = now.Add(time.Minute - 1)
	run(one)
	ran.want(t, "costly x", 2)
	now = now.Add(1)
	run(one)
	ran.want(t, "costly x", 3)
	now = now.Add(time.Hour)
	run(two)
	ran.want(t, "costly x", 3)
}

func TestClearCache_OfNodesOrOfAll(t *testing.T) {
	var ran counter
	cfg := graph.Config{Cache: new(graph.MemoryCache)}
	b := graph.New[world]("clear")
	for _, name := range []string{"a", "aa"} {
		b.Node(name, graph.Cache(graph.Func(func(context.Context, *world) error { ran.add(name); return nil }), byName))
		b.Edge(graph.Start, name)
		b.Edge(name, graph.End)
	}
	g := build(t, b, cfg)
	expect := func(a, aa int) {
		t.Helper()
		named(t, g, "", "x")
		ran.want(t, "a", a)
		ran.want(t, "aa", aa)
	}
	clear := func(nodes ...string) {
		t.Helper()
		if err := g.ClearCache(ctx, nodes...); err != nil {
			t.Fatal(err)
		}
	}
	expect(1, 1)
	expect(1, 1)
	clear("a")
	expect(2, 1)
	clear()
	expect(3, 2)
	if err := g.ClearCache(ctx, "zed"); err == nil || !strings.Contains(err.Error(), "zed") {
		t.Errorf("clearing an unknown node: %v", err)
	}
	is(t, build(t, sound(), graph.Config{}).ClearCache(ctx), graph.ErrNoCache)
}

// Failures, the work of handlers and what depends on an answer are not cached.
//
// Requirement: policy: cache
func TestCache_ForbiddenResultsAreNotCached(t *testing.T) {
	var ran counter
	sub := func() graph.Node[world] {
		return hosts(child(t, &ran, graph.Config{}, func(ctx context.Context, s *inner) error {
			_, err := graph.Ask[string](ctx, graph.Question{Prompt: "inside"})
			return err
		}), "", func(*world) error { ran.add("sub"); return nil })
	}
	for name, c := range map[string]struct {
		node graph.Node[world]
		want int // how often it runs in two threads
	}{
		"a failure":        {fails("a failure", &ran, errBoom), 2},
		"an answer":        {asks("an answer", &ran, "x"), 4},
		"an answer inside": {sub(), 2},
		"a success":        {fails("a success", &ran, nil), 1},
	} {
		t.Run(name, func(t *testing.T) {
			cache := new(graph.MemoryCache)
			for _, thread := range []string{"t1", "t2"} {
				b := graph.New[world]("not cached")
				b.Node("a", graph.Cache(c.node, graph.Caching[world]{}))
				b.Edge(graph.Start, "a")
				b.Edge("a", graph.End)
				b.OnError("a", mends(&ran, graph.Command{}))
				g := build(t, b, graph.Config{Store: new(checkpoint.Memory), Cache: cache})
				res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: thread})
				if err == nil && res.Status == graph.Interrupted {
					res, err = g.Resume(ctx, graph.Reply("yes"), graph.RunOptions{Thread: thread})
				}
				ended(t, graph.Done, res, err)
			}
			if name == "an answer inside" {
				name = "sub"
			}
			ran.want(t, name, c.want)
		})
	}
}

// brokenCache is a cache whose calls fail as its fields state.
type brokenCache struct {
	graph.MemoryCache
	get, put error
	data     []byte
	panics   bool
}

func (c *brokenCache) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if c.panics {
		panic("in Get")
	}
	return c.data, c.data != nil, c.get
}

func (c *brokenCache) Put(ctx context.Context, key string, data []byte, ttl time.Duration) error {
	if c.put != nil {
		return c.put
	}
	return c.MemoryCache.Put(ctx, key, data, ttl)
}

// Requirement: policy: cache
func TestCache_FailureDoesNotFailTheRun(t *testing.T) {
	for name, cache := range map[string]*brokenCache{
		"get fails":  {get: errBoom},
		"put fails":  {put: errBoom},
		"get panics": {panics: true},
		"no JSON":    {data: []byte("boom")},
		"half of it": {data: []byte(`{"writes":[{"field":"count","value":5},{"field":"gone","value":"boom"}]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			g := single(t, graph.Cache(costly(&ran), byName), graph.Policy{}, graph.Config{Cache: cache})
			var cacheErr error
			var last graph.Event
			for ev, err := range g.Stream(ctx, world{Name: state.Of("x")}, graph.RunOptions{Modes: graph.Tasks}) {
				if err != nil {
					t.Fatal(err)
				}
				if last = ev; ev.Phase == graph.Uncached {
					cacheErr = ev.Err
				}
				if ev.Cached {
					t.Errorf("%s: the event names the cache as the source", ev.Phase)
				}
			}
			if cacheErr == nil || !strings.Contains(cacheErr.Error(), "cache") {
				t.Errorf("the event of the cache's failure has the error %v", cacheErr)
			}
			if s, ok := last.State.(*world); !ok || s.Count.Get() != 2 {
				t.Errorf("the run ended with %+v, want what the node wrote and nothing else", last)
			}
			ran.want(t, "costly x", 1)
		})
	}
}

func TestCache_KeyThatFailsFailsTheNode(t *testing.T) {
	for name, key := range map[string]func(*world) (string, error){
		"an error": func(*world) (string, error) { return "", errBoom },
		"a panic":  func(*world) (string, error) { panic(errBoom) },
	} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			n := graph.Cache(costly(&ran), graph.Caching[world]{Key: key})
			_, err := single(t, n, graph.Policy{}, graph.Config{Cache: new(graph.MemoryCache)}).Invoke(ctx, world{}, graph.RunOptions{})
			is(t, err, errBoom, `node "a"`, "cache key")
			ran.want(t, "costly ", 0)
		})
	}
}

func TestCache_ResultBesideAFailureIsStored(t *testing.T) {
	var ran counter
	cfg := stored()
	cfg.Cache = new(graph.MemoryCache)
	fail := false
	b := parallel(map[string]graph.Node[world]{
		"a": graph.Cache(costly(&ran), byName),
		"z": graph.Func(func(context.Context, *world) error {
			if fail {
				return errBoom
			}
			return nil
		}),
	})
	g := build(t, b, cfg)
	named(t, g, "warm", "x")
	fail = true
	_, err := g.Invoke(ctx, world{Name: state.Of("x")}, t1)
	is(t, err, errBoom)
	if err := g.ClearCache(ctx); err != nil {
		t.Fatal(err)
	}
	fail = false
	logged(t, resume(t, g, graph.Answers{}, graph.Done), "costly x")
	ran.want(t, "costly x", 1)
}

func TestMemoryCache_IsBoundedAndDropsTheLeastUsed(t *testing.T) {
	c := &graph.MemoryCache{Entries: 2}
	has := func(key string) bool {
		_, ok, err := c.Get(ctx, key)
		return ok && err == nil
	}
	for _, key := range []string{"a", "b", "a", "c"} {
		if !has(key) {
			_ = c.Put(ctx, key, []byte(key), 0)
		}
	}
	if !has("a") || has("b") || !has("c") {
		t.Errorf("the cache holds a: %v, b: %v, c: %v; want the two that were used last", has("a"), has("b"), has("c"))
	}
}

func TestMemoryCache_ConcurrentUse(t *testing.T) {
	c := &graph.MemoryCache{Entries: 8}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 200 {
				key := fmt.Sprint((i + j) % 16)
				data, ok, err := c.Get(ctx, key)
				if err = errors.Join(err, c.Put(ctx, key, []byte(key), 0)); err != nil || ok && string(data) != key {
					t.Errorf("got %q, %v under %s", data, err, key)
				}
				if j%50 == 0 {
					_ = c.Clear(ctx, "1")
				}
			}
		})
	}
	all.Wait()
}

func TestCache_ResultThatIsNeverStoredIsNotCached(t *testing.T) {
	type loose struct {
		Open state.Untracked[string] `json:"open"`
	}
	var ran counter
	b := graph.New[loose]("loose")
	b.Node("a", graph.Cache(graph.Func(func(_ context.Context, s *loose) error {
		ran.add("a")
		s.Open.Set("x")
		return nil
	}), graph.Caching[loose]{}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g := build(t, b, graph.Config{Cache: new(graph.MemoryCache)})
	for range 2 {
		var cacheErr error
		for ev, err := range g.Stream(ctx, loose{}, graph.RunOptions{Modes: graph.Tasks}) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Phase == graph.Uncached {
				cacheErr = ev.Err
			}
		}
		if cacheErr == nil || !strings.Contains(cacheErr.Error(), `"open"`) {
			t.Errorf("the error is %v, want one that names the field that is never stored", cacheErr)
		}
	}
	ran.want(t, "a", 2)
}
