package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/graph"
)

var errBad = errors.New("bad luck")

var noWait = graph.Retry{Attempts: 3, Initial: graph.NoWait}

// steps are the scenarios of one run: its steps, its failures and its bounds.
var steps = map[string]func(s *scene){
	"chain": func(s *scene) {
		s.line("a", "b", "c")
		s.compile()
		res := s.invoke(graph.Done)
		s.logged(res, "a b c")
		s.commits("input", "step a", "step b", "step c")
		if res.Steps != 3 {
			s.Errorf("Steps = %d, want 3", res.Steps)
		}
		s.logged(s.invoke(graph.Done), "a b c a b c")
	},
	"fan-out": func(s *scene) {
		for _, name := range []string{"x", "y", "z"} {
			s.b.Node(name, s.logs(name))
			s.edges(graph.Start+" "+name, name+" end")
		}
		s.b.Node("end", s.logs("end"))
		s.edges("end " + graph.End)
		s.compile()
		s.logged(s.invoke(graph.Done), "x y z end")
		s.commits("input", "step x,y,z", "step end")
	},
	"join": func(s *scene) {
		for _, name := range []string{"a", "b", "long", "both"} {
			s.b.Node(name, s.logs(name))
		}
		s.edges(graph.Start+" a", graph.Start+" b", "b long", "both "+graph.End)
		s.b.Join("both", "a", "long")
		s.compile()
		s.logged(s.invoke(graph.Done), "a b long both")
		s.calls("both", 1)
	},
	"sends": func(s *scene) {
		s.b.Node("split", graph.Router(func(context.Context, *World) (graph.Command, error) {
			var c graph.Command
			for i := range 20 {
				c = c.Send("work", i)
			}
			return c, nil
		}, "work"))
		s.b.Node("work", graph.Worker(func(_ context.Context, w *World, n int) error {
			s.call("work")
			w.Log.Append(fmt.Sprint(n))
			return nil
		}).With(graph.Policy{Parallel: 3}))
		s.b.Node("end", s.logs("end"))
		s.edges(graph.Start+" split", "work end", "end "+graph.End)
		s.compile()
		s.logged(s.invoke(graph.Done), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 end")
		s.calls("work", 20)
	},
	"subgraph": func(s *scene) {
		inner := graph.New[World]("inner")
		inner.Node("in", s.asks("in"))
		inner.Edge(graph.Start, "in")
		inner.Edge("in", graph.End)
		child, err := inner.Compile(graph.Config{})
		if err != nil {
			s.Fatal(err)
		}
		s.b.Node("sub", graph.Subgraph(child, func(*World) (World, error) { return World{}, nil }, func(w *World, end *World) error {
			w.Log.Append(end.Log.Slice()...)
			return nil
		}))
		s.edges(graph.Start+" sub", "sub "+graph.End)
		s.compile()
		res := s.invoke(graph.Interrupted)
		s.logged(s.resume(graph.Answer(s.question(res, "in"), "yes"), graph.Done), "in=yes")
	},
	"failure": func(s *scene) {
		s.b.Node("a", s.logs("a"))
		s.b.Node("b", graph.Func(func(_ context.Context, w *World) error {
			if s.call("b") == 1 {
				return errBad
			}
			w.Log.Append("b")
			return nil
		}))
		s.edges(graph.Start+" a", "a b", "b "+graph.End)
		s.compile()
		res, err := s.runs.Invoke(s.Context(), json.RawMessage(`{}`), on())
		var at *graph.NodeError
		if !errors.As(err, &at) || at.Node != "b" || at.Kind() != graph.KindError || !strings.Contains(err.Error(), errBad.Error()) {
			s.Errorf("the error is %v, want a NodeError of b", err)
		}
		if res.Status != graph.Failed {
			s.Errorf("Status = %q, want failed", res.Status)
		}
		s.logged(s.resume(graph.Answers{}, graph.Done), "a b")
		s.calls("a", 1)
	},
	"handler": func(s *scene) {
		s.b.Node("a", graph.Func(func(context.Context, *World) error { s.call("a"); return errBad }).With(graph.Policy{Retry: noWait}))
		s.b.OnError("a", graph.Handler(func(_ context.Context, w *World, f *graph.NodeError) (graph.Command, error) {
			w.Log.Append("handled " + f.Node)
			return graph.Command{}, nil
		}))
		s.edges(graph.Start+" a", "a "+graph.End)
		s.compile()
		s.logged(s.invoke(graph.Done), "handled a")
		s.calls("a", 3)
	},
	"retry": func(s *scene) {
		s.b.Node("a", graph.Func(func(_ context.Context, w *World) error {
			if s.call("a") < 3 {
				return errBad
			}
			w.Log.Append("a")
			return nil
		}).With(graph.Policy{Retry: noWait}))
		s.edges(graph.Start+" a", "a "+graph.End)
		s.compile()
		s.logged(s.invoke(graph.Done), "a")
		s.calls("a", 3)
	},
	"panic": func(s *scene) {
		s.b.Node("a", graph.Func(func(context.Context, *World) error { panic("oh") }))
		s.edges(graph.Start+" a", "a "+graph.End)
		s.compile()
		_, err := s.runs.Invoke(s.Context(), json.RawMessage(`{}`), on())
		var at *graph.NodeError
		if !errors.As(err, &at) || at.Kind() != graph.KindPanic {
			s.Errorf("the error is %v, want the panic of a node", err)
		}
	},
	"cache": func(s *scene) {
		s.cfg.Cache = new(graph.MemoryCache)
		s.b.Node("a", graph.Cache(s.logs("a"), graph.Caching[World]{Key: func(*World) (string, error) { return "k", nil }}))
		s.edges(graph.Start+" a", "a "+graph.End)
		s.compile()
		s.invoke(graph.Done)
		s.logged(s.invoke(graph.Done), "a a")
		s.calls("a", 1)
	},
	"step limit": func(s *scene) {
		s.b.Node("a", s.logs("a"))
		s.b.Node("more", graph.Router(func(context.Context, *World) (graph.Command, error) { return graph.Goto("a"), nil }, "a", graph.End))
		s.edges(graph.Start+" a", "a more")
		s.compile()
		o := on()
		o.MaxSteps = 4
		if _, err := s.runs.Invoke(s.Context(), json.RawMessage(`{}`), o); !errors.Is(err, graph.ErrSteps) {
			s.Errorf("the error is %v, want ErrSteps", err)
		}
		s.calls("a", 2)
	},
	"static interrupts": func(s *scene) {
		s.cfg.InterruptBefore, s.cfg.InterruptAfter = []string{"b"}, []string{"b"}
		s.line("a", "b", "c")
		s.compile()
		s.logged(s.invoke(graph.Interrupted), "a")
		s.logged(s.resume(graph.Answers{}, graph.Interrupted), "a b")
		s.logged(s.resume(graph.Answers{}, graph.Done), "a b c")
	},
}
