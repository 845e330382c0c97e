// Package scenarios is a table of tests of graphs that run unmodified on every driver: in this
// process, in Temporal's test environment, and on a server.
package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// Driver returns a graph that runs g on an engine. The store is that of g.
type Driver func(t *testing.T, g graph.Untyped, store checkpoint.Store) graph.Untyped

// World is the state of the graphs.
type World struct {
	Name  state.Value[string]    `json:"name"`
	Log   state.List[string]     `json:"log"`
	Seen  state.Map[string, int] `json:"seen"`
	Draft state.List[string]     `json:"draft" weft:"turn"`
}

// scene is what a scenario plays with.
type scene struct {
	*testing.T
	b      *graph.Builder[World]
	cfg    graph.Config
	driver Driver
	runs   graph.Untyped
	local  *graph.Graph[World]

	mu  sync.Mutex
	ran map[string]int // how often a node was called
}

// Run plays all scenarios on a driver, except those that it cannot play.
func Run(t *testing.T, driver Driver, except ...string) {
	for name, play := range table {
		if slices.Contains(except, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := &scene{T: t, b: graph.New[World]("scenes"), cfg: graph.Config{Store: new(checkpoint.Memory)}, driver: driver, ran: map[string]int{}}
			play(s)
		})
	}
}

// call counts a call of a node, and returns how many there were.
func (s *scene) call(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran[name]++
	return s.ran[name]
}

func (s *scene) calls(name string, want int) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ran[name] != want {
		s.Errorf("node %q was called %d times, want %d", name, s.ran[name], want)
	}
}

// logs is a node that logs its name.
func (s *scene) logs(name string) graph.Node[World] {
	return graph.Func(func(_ context.Context, w *World) error {
		s.call(name)
		w.Log.Append(name)
		return nil
	})
}

// asks is a node that asks and logs the answer.
func (s *scene) asks(name string) graph.Node[World] {
	return graph.Func(func(ctx context.Context, w *World) error {
		s.call(name)
		answer, err := graph.Ask[string](ctx, graph.Question{Prompt: name})
		if err == nil {
			w.Log.Append(name + "=" + answer)
		}
		return err
	})
}

// line adds nodes that log, one after the other.
func (s *scene) line(names ...string) {
	from := graph.Start
	for _, name := range names {
		s.b.Node(name, s.logs(name))
		s.b.Edge(from, name)
		from = name
	}
	s.b.Edge(from, graph.End)
}

// edges adds edges, as in "a b".
func (s *scene) edges(pairs ...string) {
	for _, p := range pairs {
		from, to, _ := strings.Cut(p, " ")
		s.b.Edge(from, to)
	}
}

func (s *scene) compile() {
	s.Helper()
	g, err := s.b.Compile(s.cfg)
	if err != nil {
		s.Fatal(err)
	}
	s.local, s.runs = g, s.driver(s.T, g.Untyped(), s.cfg.Store)
}

const thread = "t1"

func on() graph.RunOptions { return graph.RunOptions{Thread: thread} }

// invoke begins a turn that is to end with a status.
func (s *scene) invoke(want graph.Status) graph.Result[json.RawMessage] {
	s.Helper()
	return s.ended(want)(s.runs.Invoke(s.Context(), json.RawMessage(`{}`), on()))
}

func (s *scene) resume(a graph.Answers, want graph.Status) graph.Result[json.RawMessage] {
	s.Helper()
	return s.ended(want)(s.runs.Resume(s.Context(), a, on()))
}

func (s *scene) ended(want graph.Status) func(graph.Result[json.RawMessage], error) graph.Result[json.RawMessage] {
	return func(res graph.Result[json.RawMessage], err error) graph.Result[json.RawMessage] {
		s.Helper()
		if err != nil || res.Status != want {
			s.Fatalf("the run ended %q with %v, state %s; want %q", res.Status, err, res.State, want)
		}
		return res
	}
}

// logged checks the log of a result.
func (s *scene) logged(res graph.Result[json.RawMessage], want string) {
	s.Helper()
	var w struct {
		Log []string `json:"log"`
	}
	if err := json.Unmarshal(res.State, &w); err != nil {
		s.Fatal(err)
	}
	if got := strings.Join(w.Log, " "); got != want {
		s.Errorf("log = %q, want %q", got, want)
	}
}

// question returns the id of the open question with a prompt.
func (s *scene) question(res graph.Result[json.RawMessage], prompt string) string {
	s.Helper()
	for _, in := range res.Interrupts {
		if in.Prompt == prompt {
			return in.ID
		}
	}
	s.Fatalf("the question %q is not open; open are %+v", prompt, res.Interrupts)
	return ""
}

// history returns the sources and nodes of the commits, the oldest first.
func (s *scene) history() (all []string) {
	s.Helper()
	for c, err := range graph.History(s.Context(), s.cfg.Store, checkpoint.Key{Thread: thread}, checkpoint.Query{}) {
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, strings.TrimSpace(fmt.Sprint(c.Source, " ", strings.Join(c.Nodes(), ","))))
	}
	slices.Reverse(all)
	return all
}

func (s *scene) commits(want ...string) {
	s.Helper()
	if got := s.history(); !slices.Equal(got, want) {
		s.Errorf("history = %q, want %q", got, want)
	}
}

// errBad is the error of a node.
var errBad = errors.New("bad luck")

var noWait = graph.Retry{Attempts: 3, Initial: graph.NoWait}

var table = map[string]func(s *scene){
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
	"questions in any order": func(s *scene) {
		for _, name := range []string{"p", "q"} {
			s.b.Node(name, s.asks(name))
			s.edges(graph.Start+" "+name, name+" end")
		}
		s.b.Node("beside", s.logs("beside"))
		s.b.Node("end", s.logs("end"))
		s.edges(graph.Start+" beside", "beside end", "end "+graph.End)
		s.compile()
		res := s.invoke(graph.Interrupted)
		p, q := s.question(res, "p"), s.question(res, "q")
		res = s.resume(graph.Answer(q, "2"), graph.Interrupted)
		s.question(res, "p")
		if _, err := s.runs.Resume(s.Context(), graph.Answer("unknown", "1"), on()); !errors.Is(err, graph.ErrUnknownQuestion) {
			s.Errorf("an answer to an unknown question: %v, want ErrUnknownQuestion", err)
		}
		if _, err := s.runs.Resume(s.Context(), graph.Answer(p, 5), on()); !errors.Is(err, graph.ErrAnswer) {
			s.Errorf("a number for a text: %v, want ErrAnswer", err)
		}
		if _, err := s.runs.Invoke(s.Context(), json.RawMessage(`{}`), on()); !errors.Is(err, graph.ErrWaiting) {
			s.Errorf("an input while a question is open: %v, want ErrWaiting", err)
		}
		s.logged(s.resume(graph.Answer(p, "1"), graph.Done), "beside p=1 q=2 end")
		s.calls("p", 2)
		s.calls("q", 2)
		s.calls("beside", 1)
	},
	"questions one after the other": func(s *scene) {
		s.b.Node("p", s.asks("p"))
		s.b.Node("q", s.asks("q"))
		s.edges(graph.Start+" p", "p q", "q "+graph.End)
		s.compile()
		res := s.invoke(graph.Interrupted)
		res = s.resume(graph.Answer(s.question(res, "p"), "1"), graph.Interrupted)
		_, err := s.runs.Resume(s.Context(), graph.Decline(s.question(res, "q"), "no time"), on())
		var at *graph.NodeError
		if !errors.As(err, &at) || at.Code() != graph.CodeDeclined {
			s.Errorf("the error is %v, want that of a declined question", err)
		}
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
	"fork": func(s *scene) {
		s.line("a", "b", "c")
		s.compile()
		s.invoke(graph.Done)
		o := on()
		o.At = 2
		s.logged(s.ended(graph.Done)(s.runs.Resume(s.Context(), graph.Answers{}, o)), "a b c")
		s.calls("a", 1)
		s.calls("b", 2)
	},
	"edit": func(s *scene) {
		s.b.Node("a", s.logs("a"))
		s.b.Node("q", s.asks("q"))
		s.edges(graph.Start+" a", "a q", "q "+graph.End)
		s.compile()
		res := s.invoke(graph.Interrupted)
		s.ended(graph.Interrupted)(s.runs.Patch(s.Context(), json.RawMessage(`{"log":["by hand"]}`), on()))
		s.logged(s.resume(graph.Answer(s.question(res, "q"), "1"), graph.Done), "a by hand q=1")
	},
	"queued inputs": func(s *scene) {
		s.b.Node("a", graph.Func(func(ctx context.Context, w *World) error {
			if s.call("a") > 2 {
				w.Log.Append(w.Name.Get())
				return nil
			}
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "ok?"})
			if err == nil {
				w.Log.Append(w.Name.Get())
			}
			return err
		}))
		s.edges(graph.Start+" a", "a "+graph.End)
		s.compile()
		o := on()
		o.OnOpenQuestions = graph.Queue
		res := s.ended(graph.Interrupted)(s.runs.Invoke(s.Context(), json.RawMessage(`{"name":"first"}`), o))
		s.ended(graph.Queued)(s.runs.Invoke(s.Context(), json.RawMessage(`{"name":"second"}`), o))
		s.logged(s.resume(graph.Answer(s.question(res, "ok?"), true), graph.Done), "first second")
	},
	"discarded questions": func(s *scene) {
		s.b.Node("q", s.asks("q"))
		s.edges(graph.Start+" q", "q "+graph.End)
		s.compile()
		s.invoke(graph.Interrupted)
		o := on()
		o.OnOpenQuestions = graph.Discard
		res := s.ended(graph.Interrupted)(s.runs.Invoke(s.Context(), json.RawMessage(`{}`), o))
		s.logged(s.resume(graph.Answer(s.question(res, "q"), "1"), graph.Done), "q=1")
	},
	"once": func(s *scene) {
		s.b.Node("a", graph.Func(func(ctx context.Context, w *World) error {
			n, err := graph.Once(ctx, "charge", func(context.Context) (int, error) { return s.call("charge"), nil })
			if err != nil {
				return err
			}
			answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "a"})
			if err == nil {
				w.Log.Append(fmt.Sprint(n, answer))
			}
			return err
		}))
		s.edges(graph.Start+" a", "a "+graph.End)
		s.compile()
		res := s.invoke(graph.Interrupted)
		s.logged(s.resume(graph.Answer(s.question(res, "a"), "!"), graph.Done), "1!")
		s.calls("charge", 1)
	},
	"task queue": func(s *scene) {
		s.b.Node("a", s.logs("a"))
		for _, name := range []string{"g1", "g2"} {
			s.b.Node(name, s.logs(name).With(graph.Policy{TaskQueue: "weft"}))
			s.edges("a "+name, name+" b")
		}
		s.b.Node("b", s.logs("b"))
		s.b.Node("c", s.logs("c"))
		s.edges(graph.Start+" a", "b c", "c "+graph.End)
		s.compile()
		res := s.invoke(graph.Done)
		s.logged(res, "a g1 g2 b c")
		s.commits("input", "step a", "step g1,g2", "step b", "step c")
		if res.Steps != 4 {
			s.Errorf("Steps = %d, want 4", res.Steps)
		}
	},
	"cancel": func(s *scene) {
		began := make(chan struct{}, 2)
		s.b.Node("a", s.logs("a"))
		s.b.Node("b", graph.Func(func(ctx context.Context, w *World) error {
			if s.call("b") == 1 {
				began <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			}
			w.Log.Append("b")
			return nil
		}))
		s.edges(graph.Start+" a", "a b", "b "+graph.End)
		s.compile()
		h := s.runs.Start(s.Context(), json.RawMessage(`{}`), on())
		<-began
		h.Cancel(errBad)
		res, err := h.Wait()
		if err == nil || !strings.Contains(err.Error(), errBad.Error()) || res.Status != graph.Failed {
			s.Errorf("the run ended %q with %v, want its cancellation", res.Status, err)
		}
		s.logged(s.resume(graph.Answers{}, graph.Done), "a b")
	},
	"drain": func(s *scene) {
		began := make(chan struct{}, 1)
		var ends atomic.Bool
		s.b.Node("a", graph.Router(func(ctx context.Context, _ *World) (graph.Command, error) {
			if s.call("a") == 1 {
				close(began)
			}
			if ends.Load() {
				return graph.Goto(graph.End), nil
			}
			select { // at full speed the history would be long before an engine delivers the request
			case <-time.After(5 * time.Millisecond):
				return graph.Goto("a"), nil
			case <-ctx.Done():
				return graph.Command{}, ctx.Err()
			}
		}, "a", graph.End))
		s.edges(graph.Start + " a")
		s.compile()
		h := s.runs.Start(s.Context(), json.RawMessage(`{}`), on())
		<-began
		h.Drain("a deployment")
		res, err := h.Wait()
		if err != nil || res.Status != graph.Pending || res.Drained != "a deployment" {
			s.Errorf("the run ended %q, drained %q, with %v; want pending for a deployment", res.Status, res.Drained, err)
		}
		ends.Store(true)
		s.resume(graph.Answers{}, graph.Done)
	},
}
