package graph_test

// The rows of LangGraph's tests that are about what nodes write, in Weft's terms. The
// numbers are those of the specification that Weft was built to.

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// board is the state of nodes that publish to each other.
type board struct {
	One state.Value[int] `json:"one"`
	All state.Topic[int] `json:"all"`
	Log state.List[int]  `json:"log"`
}

func TestWriters_TwoOfAStepConflictUnlessTheChannelTakesBoth(t *testing.T) {
	build2 := func(write func(s *board, n int)) *graph.Graph[board] {
		b := graph.New[board]("two in, two out")
		for i, name := range []string{"a", "b"} {
			b.Node(name, graph.Func(func(_ context.Context, s *board) error { write(s, i+1); return nil }))
			b.Edge(graph.Start, name)
			b.Edge(name, "end")
		}
		b.Node("end", graph.Func(func(_ context.Context, s *board) error { s.Log.Append(s.All.Slice()...); return nil }))
		b.Edge("end", graph.End)
		return build(t, b, graph.Config{})
	}
	_, err := build2(func(s *board, n int) { s.One.Set(n) }).Invoke(ctx, board{}, graph.RunOptions{})
	is(t, err, graph.ErrConflict, `"one"`, `"a"`, `"b"`)
	res, err := build2(func(s *board, n int) { s.All.Publish(n) }).Invoke(ctx, board{}, graph.RunOptions{})
	if got := fmt.Sprint(res.State.Log.Slice()); err != nil || got != "[1 2]" {
		t.Errorf("the topic delivers %s, %v; want [1 2]", got, err)
	}
}

func TestBranch_AfterTwoSendsLeadsToOneTask(t *testing.T) {
	b := graph.New[world]("sends")
	b.Node("start", goes("start", graph.Send("w", 1).Send("w", 2), "w"))
	b.Node("w", graph.Worker(func(_ context.Context, s *world, n int) error {
		s.Log.Append(fmt.Sprint("w", n))
		return nil
	}))
	b.Branch("w", func(context.Context, *world) (graph.Command, error) { return graph.Goto("after"), nil }, "after")
	b.Node("after", logs("after"))
	b.Edge(graph.Start, "start")
	b.Edge("after", graph.End)
	logged(t, invoke(t, build(t, b, graph.Config{}), "", graph.Done), "start w1 w2 after")
}

// What a node writes to one field in several calls is reduced in order. The event
// has all additions as one list, and the history records that the node wrote the field.
func TestNode_MayWriteAFieldSeveralTimes(t *testing.T) {
	cfg := stored()
	g := build(t, parallel(map[string]graph.Node[world]{"a": graph.Func(func(_ context.Context, s *world) error {
		s.Log.Append("1")
		s.Count.Add(2)
		s.Name.Set("draft")
		s.Log.Append("2", "3")
		s.Count.Add(40)
		s.Name.Set("final") // of its own writes a Value keeps the last
		return nil
	})}), cfg)
	var wrote []string
	for ev, err := range g.Stream(ctx, world{Log: state.ListOf("in")}, graph.RunOptions{Thread: "t1", Modes: graph.Updates}) {
		if is(t, err, nil); ev.Mode == graph.Updates {
			wrote = append(wrote, string(ev.Writes))
		}
	}
	if want := `{"count":42,"log":["1","2","3"],"name":"final"}`; strings.Join(wrote, " ") != want {
		t.Errorf("the events report %s, want %s", wrote, want)
	}
	if got := logAt(t, g, 2); got != "in 1 2 3" {
		t.Errorf("the log is %q", got)
	}
	p, err := graph.Inspect(ctx, cfg.Store, checkpoint.Key{Thread: "t1"})
	if err != nil || len(p.Ran) != 1 || fmt.Sprint(p.Ran[0].Wrote) != "[name log count]" {
		t.Errorf("the history reports %+v, %v", p.Ran, err)
	}
}

// Where LangGraph's nodes return a list of Commands, Weft's write one after the other and
// return one Command that is made of several.
func TestCommands_OfOneNodeAreJoinedInOrder(t *testing.T) {
	b := start(graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		var c graph.Command
		for _, next := range []string{"c", "a"} {
			s.Log.Append("to " + next)
			c = c.Goto(next)
		}
		return c, nil
	}, "a", "b", "c"))
	g := build(t, b, graph.Config{})
	sameLines(t, eventLines(t, g.Stream(ctx, world{}, graph.RunOptions{})), `
wrote r {"log":["to c","to a"]}
wrote a {"log":["a"]}
wrote c {"log":["c"]}
ended done [to c to a a c]`)
}

func TestNode_MayWriteGotoAndSendAtOnce(t *testing.T) {
	b := start(graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		s.Log.Append("before")
		c := graph.Goto("b").Send("w", 7)
		s.Log.Append("after")
		return c, nil
	}, "b", "w"))
	b.Node("w", graph.Worker(func(_ context.Context, s *world, n int) error {
		s.Log.Append(fmt.Sprint("w", n))
		return nil
	}))
	b.Edge("r", "a")
	b.Edge("r", "c")
	b.Edge("w", graph.End)
	logged(t, invoke(t, build(t, b, graph.Config{}), "", graph.Done), "before after a b c w7")
}

func TestOverwrite_ReplacesTheReducedValue(t *testing.T) {
	for name, cfg := range map[string]graph.Config{"stored": stored(), "not stored": {}} {
		t.Run(name, func(t *testing.T) {
			b := graph.New[world]("overwrite")
			line(b, "a", "b")
			b.Node("over", graph.Func(func(_ context.Context, s *world) error {
				s.Log.Append("lost")
				s.Log.Overwrite([]string{"only"})
				s.Count.Overwrite(5)
				s.Seen.Overwrite(map[string]int{"k": 1})
				return nil
			}))
			b.Node("last", graph.Func(func(_ context.Context, s *world) error {
				s.Log.Append("last")
				s.Count.Add(1)
				s.Seen.Put("l", 2)
				return nil
			}))
			b.Edge("b", "over")
			b.Edge("over", "last")
			b.Edge("last", graph.End)
			o := graph.RunOptions{}
			if cfg.Store != nil {
				o = t1
			}
			in := world{Count: state.SumOf(100), Seen: state.MapOf(map[string]int{"in": 9})}
			res, err := build(t, b, cfg).Invoke(ctx, in, o)
			logged(t, ended(t, graph.Done, res, err), "only last")
			if s := &res.State; s.Count.Get() != 6 || s.Seen.Len() != 2 || s.Seen.Has("in") {
				t.Errorf("the state is %v", res.State)
			}
		})
	}
}

// An input is folded onto the default, or onto what the thread holds, like any write.
func TestInput_UsesTheReducers(t *testing.T) {
	g := build(t, parallel(map[string]graph.Node[world]{"a": logs("a")}), stored())
	in := func() world {
		return world{Log: state.ListOf("in"), Count: state.SumOf(2), Tries: state.SumOf(1), Seen: state.MapOf(map[string]int{"k": 1})}
	}
	for turn, want := range []string{"in a", "in a in a"} {
		res, err := g.Invoke(ctx, in(), t1)
		logged(t, ended(t, graph.Done, res, err), want)
		if got := res.State.Count.Get(); got != 2*(turn+1) {
			t.Errorf("turn %d: the count is %d, want %d", turn+1, got, 2*(turn+1))
		}
		if got := res.State.Tries.Get(); got != 8 { // the default, and of this turn alone
			t.Errorf("turn %d: there are %d tries, want 7 and 1", turn+1, got)
		}
	}
}

func TestWrites_OnlyOfFieldsThatWereSet(t *testing.T) {
	b := graph.New[world]("set")
	b.Node("a", graph.Func(func(_ context.Context, s *world) error {
		s.Name.Set("") // a zero value that was set is a write
		s.Count.Add(0)
		return nil
	}))
	b.Node("b", graph.Func(func(_ context.Context, s *world) error {
		_ = s.Name.Get() // reading is no write, so there is no conflict with a
		s.Other.Set(s.Name.Get() + "!")
		return nil
	}))
	for _, n := range []string{"a", "b"} {
		b.Edge(graph.Start, n)
		b.Edge(n, graph.End)
	}
	g := build(t, b, graph.Config{})
	in := world{Name: state.Of("in"), Other: state.Of("in")}
	var wrote []string
	for ev, err := range g.Stream(ctx, in, graph.RunOptions{}) {
		if is(t, err, nil); ev.Mode == graph.Updates {
			wrote = append(wrote, ev.Node+string(ev.Writes))
			continue
		}
		s := ev.State.(*world)
		if v, ok := s.Name.Lookup(); v != "" || !ok || s.Other.Get() != "in!" {
			t.Errorf("the state is %v", s)
		}
	}
	if got, want := strings.Join(wrote, " "), `a{"count":0,"name":""} b{"other":"in!"}`; got != want {
		t.Errorf("the events report %s, want %s", got, want)
	}
}

// handle is a state with something that cannot be stored.
type handle struct {
	File  state.Untracked[string] `json:"file"`
	Lines state.List[string]      `json:"lines"`
}

// A payload is a value of its own: nothing in it is a field of the state, so all of it is stored.
// Data that must not be stored belongs into an untracked field.
func TestUntracked_ReachesTheWorkerAndNoStore(t *testing.T) {
	type item struct {
		File string `json:"file"`
		N    int    `json:"n"`
	}
	fail := true
	compiled := func(cfg graph.Config) *graph.Graph[handle] {
		b := graph.New[handle]("untracked")
		b.Node("open", graph.Router(func(_ context.Context, s *handle) (graph.Command, error) {
			s.File.Set("secret handle")
			return graph.Send("read", item{"nested", 1}), nil
		}, "read"))
		b.Node("read", graph.Worker(func(_ context.Context, s *handle, p item) error {
			if fail {
				return errBoom
			}
			s.Lines.Append(fmt.Sprintf("%d %s %d", len(s.File.Get()), p.File, p.N))
			return nil
		}))
		b.Edge(graph.Start, "open")
		b.Edge("read", graph.End)
		return build(t, b, cfg)
	}
	store := &faultStore{Store: new(checkpoint.Memory)}
	cfg := graph.Config{Store: store}
	_, err := compiled(cfg).Invoke(ctx, handle{}, t1)
	is(t, err, errBoom)
	held := dump(store, "t1", store.namespaces()...)
	fail = false
	res, err := compiled(cfg).Resume(ctx, graph.Answers{}, t1) // as in another process
	if got, want := fmt.Sprint(res.State.Lines.Slice()), "[0 nested 1]"; err != nil || got != want {
		t.Errorf("after a resume the worker sees %s, %v; want %s", got, err, want)
	}
	res, err = compiled(cfg).Invoke(ctx, handle{}, graph.RunOptions{Thread: "t2"})
	if got, want := fmt.Sprint(res.State.Lines.Slice()), "[13 nested 1]"; err != nil || got != want {
		t.Errorf("in one process the worker sees %s, %v; want %s", got, err, want)
	}
	held += dump(store, "t1", store.namespaces()...) + dump(store, "t2", store.namespaces()...)
	if !strings.Contains(held, "nested") || strings.Contains(held, "secret handle") {
		t.Errorf("the store must hold the payload and not the untracked value:\n%s", held)
	}
}
