package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// threads are the scenarios of several calls on a thread: questions, edits, inputs and requests to
// stop.
var threads = map[string]func(s *scene){
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
	"options": func(s *scene) {
		marks := func(name string) graph.Node[World] {
			return graph.Func(func(ctx context.Context, w *World) error {
				settings, _ := graph.Settings(ctx).(map[string]any)
				w.Log.Append(fmt.Sprint(name, settings["mark"]))
				return nil
			})
		}
		inner := graph.New[World]("inner")
		inner.Node("d", marks("d"))
		inner.Edge(graph.Start, "d")
		inner.Edge("d", graph.End)
		s.b.Node("a", marks("a"))
		s.b.Node("b", marks("b"))
		s.b.Node("c", marks("c").With(graph.Policy{TaskQueue: "weft"}))
		s.b.Node("child", graph.Inline(s.built(inner)).With(graph.Policy{Child: true}))
		s.b.Node("e", graph.Router(func(ctx context.Context, w *World) (graph.Command, error) {
			settings, _ := graph.Settings(ctx).(map[string]any)
			w.Log.Append(fmt.Sprint("e", settings["mark"]))
			return graph.Goto(graph.End), nil
		}, graph.End))
		s.edges(graph.Start+" a", "a b", "b c", "c child", "child e")
		s.compile()
		run := func(n int, before, after []string) graph.RunOptions {
			o := on()
			o.InterruptBefore, o.InterruptAfter = before, after
			o.Settings, o.Metadata = map[string]any{"mark": n}, map[string]string{"run": fmt.Sprint(n)}
			return o
		}
		at := func(res graph.Result[json.RawMessage], want string) {
			s.Helper()
			var all []string
			for _, in := range res.Interrupts {
				all = append(all, in.Kind+" "+in.Node)
			}
			if got := strings.Join(all, ", "); got != want {
				s.Errorf("the run waits at %q, want %q", got, want)
			}
		}
		at(s.ended(graph.Interrupted)(s.runs.Invoke(s.Context(), json.RawMessage(`{}`), run(1, []string{"b"}, nil))), "before b")
		at(s.ended(graph.Interrupted)(s.runs.Resume(s.Context(), graph.Answers{}, run(2, nil, []string{"b"}))), "after b")
		at(s.ended(graph.Interrupted)(s.runs.Resume(s.Context(), graph.Answers{}, run(3, []string{"child"}, nil))), "before child")
		s.logged(s.ended(graph.Done)(s.runs.Resume(s.Context(), graph.Answers{}, run(4, nil, nil))), "a1 b2 c3 d4 e4")
		var labels []string
		for c, err := range graph.History(s.Context(), s.cfg.Store, checkpoint.Key{Thread: thread}, checkpoint.Query{}) {
			if err != nil {
				s.Fatal(err)
			}
			labels = append(labels, c.Metadata["run"])
		}
		if got := strings.Join(labels, " "); got != "4 4 3 2 1 1" {
			s.Errorf("the commits have the metadata of the runs %q, want %q", got, "4 4 3 2 1 1")
		}
		if _, err := s.runs.Invoke(s.Context(), json.RawMessage(`{}`), run(5, []string{"unknown"}, nil)); err == nil || !strings.Contains(err.Error(), "unknown") {
			s.Errorf("an interrupt before an unknown node: %v, want an error that names it", err)
		}
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
	"child": func(s *scene) {
		inner := func(name string, nodes ...graph.Node[World]) *graph.Graph[World] {
			b := graph.New[World](name)
			from := graph.Start
			for i, n := range nodes {
				b.Node(fmt.Sprint(name, i), n)
				b.Edge(from, fmt.Sprint(name, i))
				from = fmt.Sprint(name, i)
			}
			b.Edge(from, graph.End)
			return s.built(b)
		}
		child := func(g *graph.Graph[World]) graph.Node[World] {
			return graph.Inline(g).With(graph.Policy{Child: true})
		}
		s.b.Node("before", s.logs("before"))
		s.b.Node("quick", child(inner("quick", s.logs("q1"), s.logs("q2"))))
		s.b.Node("asks", child(inner("asks", s.logs("a1"), s.asks("which"), s.logs("a2"))))
		s.b.Node("after", s.logs("after"))
		s.edges(graph.Start+" before", "before quick", "before asks", "after "+graph.End)
		s.b.Join("after", "quick", "asks")
		s.compile()
		id := s.question(s.invoke(graph.Interrupted), "which")
		s.logged(s.resume(graph.Answer(id, "this"), graph.Done), "before a1 which=this a2 q1 q2 after")
		s.calls("q1", 1)
		s.calls("a1", 1)
		s.calls("a2", 1)
	},
	"fork and edit in a child": func(s *scene) {
		b := graph.New[World]("inner")
		b.Node("in1", s.logs("in1"))
		b.Node("q", s.asks("q"))
		b.Node("in2", s.logs("in2"))
		for from, to := range map[string]string{graph.Start: "in1", "in1": "q", "q": "in2", "in2": graph.End} {
			b.Edge(from, to)
		}
		inner, err := b.Compile(graph.Config{Store: s.cfg.Store})
		if err != nil {
			s.Fatal(err)
		}
		s.b.Node("before", s.logs("before"))
		s.b.Node("child", graph.Subgraph(inner, func(*World) (World, error) { return World{}, nil }, func(w, end *World) error {
			w.Log.Append(end.Log.Slice()...)
			return nil
		}).With(graph.Policy{Child: true}))
		s.b.Node("after", s.logs("after"))
		s.edges(graph.Start+" before", "before child", "child after", "after "+graph.End)
		s.compile()
		res := s.invoke(graph.Interrupted)
		inside := on()
		inside.Namespace = res.Interrupts[0].Namespace
		if _, err := inner.Untyped().Patch(s.Context(), json.RawMessage(`{"log":["hand"]}`), inside); err != nil {
			s.Fatal(err)
		}
		s.logged(s.resume(graph.Answer(s.question(res, "q"), "1"), graph.Done), "before in1 hand q=1 in2 after")
		for c, err := range graph.History(s.Context(), s.cfg.Store, checkpoint.Key{Thread: thread, Namespace: inside.Namespace}, checkpoint.Query{}) {
			if err != nil {
				s.Fatal(err)
			}
			if strings.Join(c.Nodes(), "") == "in1" {
				inside.At = c.Checkpoint
			}
		}
		res = s.ended(graph.Interrupted)(s.runs.Resume(s.Context(), graph.Answers{}, inside))
		s.logged(s.resume(graph.Answer(s.question(res, "q"), "2"), graph.Done), "before in1 q=2 in2 after")
		s.calls("before", 1)
		s.calls("in1", 1)
		s.calls("in2", 2)
		s.calls("after", 2)

		back := on()
		back.At = 1
		res = s.ended(graph.Interrupted)(s.runs.Resume(s.Context(), graph.Answers{}, back))
		s.logged(s.resume(graph.Answer(s.question(res, "q"), "3"), graph.Done), "before in1 q=3 in2 after")
		s.calls("in1", 2)
	},
	"cancel of a child": func(s *scene) {
		running := make(chan struct{})
		b := graph.New[World]("inner")
		b.Node("waits", graph.Func(func(ctx context.Context, w *World) error {
			if s.call("waits") == 1 {
				close(running)
				<-ctx.Done()
				return context.Cause(ctx)
			}
			w.Log.Append("waited")
			return nil
		}))
		b.Edge(graph.Start, "waits")
		b.Edge("waits", graph.End)
		s.b.Node("child", graph.Inline(s.built(b)).With(graph.Policy{Child: true}))
		s.edges(graph.Start+" child", "child "+graph.End)
		s.compile()
		ctx, cancel := context.WithCancel(s.Context())
		go func() {
			<-running
			cancel()
		}()
		if res, err := s.runs.Invoke(ctx, json.RawMessage(`{}`), on()); err == nil {
			s.Fatalf("the run ended %q, want that it was cancelled", res.Status)
		}
		s.logged(s.resume(graph.Answers{}, graph.Done), "waited")
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
