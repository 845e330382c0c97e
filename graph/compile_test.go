package graph_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

func nop(context.Context, *world) error { return nil }

func toEnd(context.Context, *world) (graph.Command, error) { return graph.Goto(graph.End), nil }

func takesInt(context.Context, *world, int) error { return nil }

// mistakes compiles an invalid graph and returns its mistakes.
func mistakes[S any](t *testing.T, b *graph.Builder[S], cfg graph.Config) []graph.Mistake {
	t.Helper()
	_, err := b.Compile(cfg)
	return mistakesIn(t, err)
}

func mistakesIn(t *testing.T, err error) []graph.Mistake {
	t.Helper()
	var ce *graph.CompileError
	if !errors.As(err, &ce) {
		t.Fatalf("Compile returned %v, want a *CompileError", err)
	}
	return ce.Mistakes
}

// sound returns a valid graph, a → End with the Worker w, to which a test adds a mistake.
func sound() *graph.Builder[world] {
	b := graph.New[world]("sound")
	b.Node("alpha", graph.Router(toEnd, "w", graph.End))
	b.Node("w", graph.Worker(takesInt))
	b.Edge(graph.Start, "alpha")
	b.Edge("w", graph.End)
	return b
}

// Requirement: Unknown names are errors
func TestCompile_NamesEachMistakeAtItsLine(t *testing.T) {
	for _, c := range []struct {
		what  string
		spoil func(b *graph.Builder[world])
	}{
		{`an edge from "alpha" leads to "ahpla"`, func(b *graph.Builder[world]) { b.Edge("alpha", "ahpla") }},
		{`did you mean "alpha"?`, func(b *graph.Builder[world]) { b.Edge("w", "alpa") }},
		{`an edge leads from "alpah"`, func(b *graph.Builder[world]) { b.Edge("alpah", graph.End) }},
		{`an edge leads from End`, func(b *graph.Builder[world]) { b.Edge(graph.End, "alpha") }},
		{`leads to Start`, func(b *graph.Builder[world]) { b.Edge("alpha", graph.Start) }},
		{`from Start to End`, func(b *graph.Builder[world]) { b.Edge(graph.Start, graph.End) }},
		{`leads to "w", a Worker`, func(b *graph.Builder[world]) { b.Edge("alpha", "w") }},
		{`leads to "w", a Worker`, func(b *graph.Builder[world]) { b.Edge(graph.Start, "w") }},
		{`was already added at`, func(b *graph.Builder[world]) { b.Node("alpha", graph.Func(nop)) }},
		{`a node needs a name`, func(b *graph.Builder[world]) { b.Node("", graph.Func(nop)) }},
		{`the name is reserved`, func(b *graph.Builder[world]) { b.Node(graph.Start, graph.Func(nop)) }},
		{`the name is reserved`, func(b *graph.Builder[world]) { b.Node("*", graph.Func(nop)) }},
		{`may not contain`, func(b *graph.Builder[world]) { b.Node("a|b", graph.Func(nop)) }},
		{`may not contain`, func(b *graph.Builder[world]) { b.Node("a:b", graph.Func(nop)) }},
		{`has no function`, func(b *graph.Builder[world]) { b.Node("none", graph.Node[world]{}) }},
		{`is unreachable`, func(b *graph.Builder[world]) { b.Node("isle", graph.Router(toEnd, graph.End)) }},
		{`goes to "nowhere"`, func(b *graph.Builder[world]) { b.Node("r", graph.Router(toEnd, "nowhere")) }},
		{`goes to Start`, func(b *graph.Builder[world]) { b.Node("r", graph.Router(toEnd, graph.Start)) }},
		{`a branch from "alpha" declares no targets`, func(b *graph.Builder[world]) { b.Branch("alpha", toEnd) }},
		{`a branch from "alpha" goes to "beta"`, func(b *graph.Builder[world]) { b.Branch("alpha", toEnd, "beta") }},
		{`a branch leads from "beta"`, func(b *graph.Builder[world]) { b.Branch("beta", toEnd, graph.End) }},
		{`waits for nothing`, func(b *graph.Builder[world]) { b.Join("alpha") }},
		{`a join leads to "beta"`, func(b *graph.Builder[world]) { b.Join("beta", "alpha") }},
		{`a join leads to "w", a Worker`, func(b *graph.Builder[world]) { b.Join("w", "alpha") }},
		{`the join into "alpha" leads from "beta"`, func(b *graph.Builder[world]) { b.Join("alpha", "beta") }},
		{`"beta" is deferred, but is not a node`, func(b *graph.Builder[world]) { b.Defer("beta") }},
		{`timeout of -1s`, func(b *graph.Builder[world]) { b.Node("p", graph.Func(nop).With(graph.Policy{Timeout: -time.Second})) }},
		{`-1 attempts`, func(b *graph.Builder[world]) {
			b.Node("p", graph.Func(nop).With(graph.Policy{Retry: graph.Retry{Attempts: -1}}))
		}},
		{`a jitter of 2`, func(b *graph.Builder[world]) {
			b.Node("p", graph.Func(nop).With(graph.Policy{Retry: graph.Retry{Jitter: 2}}))
		}},
		{`a multiplier of 0.5`, func(b *graph.Builder[world]) {
			b.Node("p", graph.Func(nop).With(graph.Policy{Retry: graph.Retry{Multiplier: .5}}))
		}},
		{`wait between attempts is negative`, func(b *graph.Builder[world]) {
			b.Node("p", graph.Func(nop).With(graph.Policy{Retry: graph.Retry{Max: -1}}))
		}},
		{`an alternative of a Fallback has a Policy`, func(b *graph.Builder[world]) {
			b.Node("p", graph.Fallback(graph.Func(nop).With(graph.Policy{}), graph.Func(nop)))
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			b := sound()
			c.spoil(b)
			found := mistakes(t, b, graph.Config{})
			at := -1
			for i, m := range found {
				if strings.Contains(m.What, c.what) {
					at = i
				}
			}
			if at < 0 {
				t.Fatalf("the mistakes are %v, want one with %q", found, c.what)
			}
			file, _, ok := strings.Cut(filepath.Base(found[at].Pos), ":")
			if !ok || file != "compile_test.go" {
				t.Errorf("the mistake is placed at %s, want a line of this file", found[at].Pos)
			}
		})
	}
}

func TestCompile_ReportsAllMistakesInTheOrderOfLines(t *testing.T) {
	_, _, line, _ := runtime.Caller(0)
	b := graph.New[world]("") // line+1
	b.Node("a", graph.Func(nop))
	b.Node("a", graph.Func(nop).With(graph.Policy{Timeout: -1}))
	b.Node("lost", graph.Func(nop))
	b.Edge("a", "b")
	b.Join("a")
	b.Edge(graph.Start, "a")
	_, err := b.Compile(graph.Config{MaxSteps: -1, InterruptBefore: []string{"zed"}}) // line+8
	found := mistakesIn(t, err)
	want := []string{
		`1 the graph has no name`, `2 is a dead end`, `3 was already added`, `3 timeout`, `4 unreachable`, `4 dead end`,
		`5 leads to "b"`, `6 waits for nothing`, `8 limit is negative`, `8 "zed"`,
	}
	for _, w := range want {
		offset, what, _ := strings.Cut(w, " ")
		var n int
		fmt.Sscan(offset, &n)
		has := false
		for _, m := range found {
			has = has || strings.HasSuffix(m.Pos, fmt.Sprintf("compile_test.go:%d", line+n)) && strings.Contains(m.What, what)
		}
		if !has {
			t.Errorf("no mistake has %q at line %d", what, line+n)
		}
	}
	for i := range found[1:] {
		if found[i].Pos > found[i+1].Pos && len(found[i].Pos) >= len(found[i+1].Pos) {
			t.Errorf("%v comes before %v", found[i], found[i+1])
		}
	}
	if t.Failed() {
		t.Log(&graph.CompileError{Mistakes: found})
	}
}

func TestCompile_MistakesOfTheWholeGraph(t *testing.T) {
	empty := graph.New[world]("empty")
	if found := mistakes(t, empty, graph.Config{}); len(found) != 1 || !strings.Contains(found[0].What, "no entry") {
		t.Errorf("an empty graph gives %v, want only that it has no entry", found)
	}
	cycle := graph.New[world]("cycle")
	cycle.Node("a", graph.Func(nop))
	cycle.Node("b", graph.Func(nop))
	cycle.Edge(graph.Start, "a")
	cycle.Edge("a", "b")
	cycle.Edge("b", "a")
	if found := mistakes(t, cycle, graph.Config{}); len(found) != 2 || !strings.Contains(found[0].What, "no path from it leads to End") {
		t.Errorf("a cycle without an end gives %v, want a mistake for each node", found)
	}
}

func TestCompile_UnknownInterruptNodesAreMistakes(t *testing.T) {
	found := mistakes(t, sound(), graph.Config{InterruptBefore: []string{"alphaa"}, InterruptAfter: []string{"*", "x"}})
	if len(found) != 2 || !strings.Contains(found[0].What, `did you mean "alpha"?`) {
		t.Errorf("got %v, want two mistakes, the first with a hint", found)
	}
}

func TestCompile_StateThatCannotBeStoredIsRefused(t *testing.T) {
	type bad struct {
		Pipe state.Value[chan int] `json:"pipe"`
		Num  int                   `json:"num"`
		A    state.Sum[int]        `json:"in_same"`
		In   struct {
			B state.Sum[int] `json:"same"`
		} `json:"in"`
	}
	b := graph.New[bad]("bad")
	b.Node("a", graph.Func(func(context.Context, *bad) error { return nil }))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	found := mistakes(t, b, graph.Config{})
	text := fmt.Sprint(found)
	for _, w := range []string{"Pipe", "Num", "same"} {
		if !strings.Contains(text, w) {
			t.Errorf("no mistake names %s: %v", w, found)
		}
	}
}

func TestCompile_LaterChangesOfTheBuilderDoNotCount(t *testing.T) {
	b := graph.New[world]("fixed")
	line(b, "a")
	g := build(t, b, graph.Config{})
	drawn := g.Draw(0).Mermaid()
	b.Node("b", logs("b"))
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	logged(t, invoke(t, g, "", graph.Done), "a")
	if g.Draw(0).Mermaid() != drawn {
		t.Error("the drawing of a compiled graph changed with its builder")
	}
	logged(t, invoke(t, build(t, b, graph.Config{}), "", graph.Done), "a b")
}

func TestMistakes_AtThePositionsOfAFrontEnd(t *testing.T) {
	b := graph.New[world]("yaml")
	b.At("flow.yaml:12:3").Node("a", graph.Func(nop))
	b.At("flow.yaml:9:3").Edge(graph.Start, "b")
	var places []string // the mistake of the graph itself is at a place in Go
	for _, m := range mistakes(t, b, graph.Config{}) {
		if strings.HasPrefix(m.Pos, "flow.yaml") {
			places = append(places, m.Pos)
		}
	}
	if want := []string{"flow.yaml:9:3", "flow.yaml:12:3"}; !slices.Equal(places, want) {
		t.Errorf("got mistakes at %v, want %v", places, want)
	}
}

func TestCompile_OneMistakeHidesNoOther(t *testing.T) {
	b := graph.New[world]("mistakes")
	b.Node("a", graph.Func(nop))
	b.Node("lost", graph.Func(nop))
	b.Edge(graph.Start, "a")
	b.Join("typo", "a")
	b.OnError("nowhere", graph.ErrorHandler[world]{})
	b.OnError("neverland", graph.Handler(func(context.Context, *world, *graph.NodeError) (graph.Command, error) { return graph.Command{}, nil }, "astray"))
	b.Branch("gone", func(context.Context, *world) (graph.Command, error) { return graph.Command{}, nil }, graph.Parent)
	_, err := b.Compile(graph.Config{})
	var found []string
	for _, m := range mistakesIn(t, err) {
		found = append(found, m.What)
	}
	all := strings.Join(found, "\n")
	for _, want := range []string{`leads to "typo"`, `"lost"`, `the handler of "nowhere" has no function`, `"nowhere" has a handler, but is not a node`, `leads from "gone"`, `"neverland" has a handler, but is not a node`, `goes to "astray"`} {
		if !strings.Contains(all, want) {
			t.Errorf("no mistake has %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, graph.Parent) {
		t.Errorf("Parent is no mistake:\n%s", all)
	}
}
