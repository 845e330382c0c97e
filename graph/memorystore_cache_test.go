package graph_test

import (
	"fmt"
	"path/filepath"
	"testing"

	longterm "github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
)

var _ graph.CacheStore = longterm.Cache{}

// TestCache_SharedByProcessesThroughLongTermMemory has two stores of one file, as two
// processes have, and a graph on each.
func TestCache_SharedByProcessesThroughLongTermMemory(t *testing.T) {
	var ran counter
	path := filepath.Join(t.TempDir(), "memory.db")
	process := func() *graph.Graph[world] {
		file, err := sqlite.Open(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		store, err := file.Memory(ctx)
		if err != nil {
			t.Fatal(err)
		}
		cfg := stored()
		cfg.Cache = longterm.Cache{Store: store, Namespace: []string{"graphs"}}
		b := graph.New[world]("cached/in 100%")
		b.Node("a", graph.Cache(costly(&ran, graph.End), byName))
		b.Edge(graph.Start, "a")
		return build(t, b, cfg)
	}
	one, other := process(), process()
	first := named(t, one, "t", "ada")
	second := named(t, other, "u", "ada")
	same := func(rule string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("rule: %s\n got: %v\nwant: %v", rule, got, want)
		}
	}
	same("what one process has run another need not", ran.of("costly ada"), 1)
	same("and has the same result", second.State.Count.Get(), first.State.Count.Get())
	named(t, other, "v", "bob")
	same("another input runs", ran.of("costly bob"), 1)
	if err := other.ClearCache(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	named(t, one, "w", "ada")
	same("what one clears is clear for the other", ran.of("costly ada"), 2)
}
