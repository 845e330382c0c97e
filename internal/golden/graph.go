package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// State is the state of the graph at the root. It has a field of every kind that is stored.
type State struct {
	Mode   state.Value[string]                            `json:"mode"`
	Title  state.Value[string]                            `json:"title"`
	Steps  state.Value[int]                               `json:"steps"`
	Count  state.Sum[int]                                 `json:"count"`
	High   state.Max[int]                                 `json:"high"`
	Lines  state.List[string]                             `json:"lines"`
	Newest state.Stack[string]                            `json:"newest"`
	Index  state.Map[string, int]                         `json:"index"`
	Tags   state.Set[string]                              `json:"tags"`
	Tree   state.Reduced[map[string]any, state.DeepMerge] `json:"tree"`
	Facts  state.ContextData                              `json:"facts"`
	Talk   message.Log                                    `json:"talk"`
	Once   state.Once[string]                             `json:"once"`
	Answer state.Map[string, string]                      `json:"answer"`
	Draft  state.List[string]                             `json:"draft" weft:"turn"`
	Mail   state.Topic[string]                            `json:"mail"`
}

// Child is the state of the child graphs.
type Child struct {
	Tag  state.Value[string] `json:"tag"`
	Path state.List[string]  `json:"path"`
}

// writing is a value of the context of a run that writes a golden store. What is asked to fail
// then fails, and the graph stops where it is to stop.
type writing struct {
	drain *graph.Drain
	begun chan struct{} // receives one value from each sibling of the task that fails
}

type writingKey struct{}

func isWriting(ctx context.Context) (writing, bool) {
	w, ok := ctx.Value(writingKey{}).(writing)
	return w, ok
}

// graphs are the compiled graphs: that of the root and those of the children by node.
type graphs struct {
	root     *graph.Graph[State]
	inline   *graph.Graph[State]
	children map[string]*graph.Graph[Child]
}

// compile builds the graphs on a store. Those of the children are compiled with the store too,
// so that the state in their namespaces can be read.
func compile(cfg graph.Config) (g graphs, err error) {
	g.children = map[string]*graph.Graph[Child]{}
	for node, life := range map[string]graph.Lifetime{"call": graph.PerCall, "thread": graph.PerThread} {
		c := cfg
		c.Nested = life
		if g.children[node], err = childGraph("child "+node, c); err != nil {
			return g, err
		}
	}
	mid := graph.New[Child]("middle")
	mid.Node("m", graph.Subgraph(g.children["call"],
		func(s *Child) (Child, error) { return Child{Tag: s.Tag}, nil },
		func(s *Child, end *Child) error { s.Path.Append(end.Path.Slice()...); return nil }))
	mid.Edge(graph.Start, "m")
	mid.Edge("m", graph.End)
	if g.children["deep"], err = mid.Compile(cfg); err != nil {
		return g, err
	}
	in := graph.New[State]("inline")
	in.Node("i1", graph.Func(func(_ context.Context, s *State) error { s.Lines.Append("i1"); return nil }))
	in.Node("i2", graph.Func(func(ctx context.Context, s *State) error { return ask(ctx, s, "inline") }))
	in.Edge(graph.Start, "i1")
	in.Edge("i1", "i2")
	in.Edge("i2", graph.End)
	if g.inline, err = in.Compile(cfg); err != nil {
		return g, err
	}
	g.root, err = rootGraph(g, cfg)
	return g, err
}

func childGraph(name string, cfg graph.Config) (*graph.Graph[Child], error) {
	b := graph.New[Child](name)
	b.Node("c1", graph.Func(func(_ context.Context, s *Child) error { s.Path.Append("c1 " + s.Tag.Get()); return nil }))
	b.Node("c2", graph.Func(func(ctx context.Context, s *Child) error {
		if !strings.HasPrefix(s.Tag.Get(), "ask") {
			s.Path.Append("c2")
			return nil
		}
		answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "Child?"})
		if err == nil {
			s.Path.Append("c2 " + answer)
		}
		return err
	}))
	b.Node("c3", graph.Func(func(_ context.Context, s *Child) error { s.Path.Append("c3"); return nil }))
	b.Edge(graph.Start, "c1")
	b.Edge("c1", "c2")
	b.Edge("c2", "c3")
	b.Edge("c3", graph.End)
	return b.Compile(cfg)
}

// host returns a node that runs a child graph.
func host(c *graph.Graph[Child]) graph.Node[State] {
	return graph.Subgraph(c, func(s *State) (Child, error) {
		return Child{Tag: state.Of(s.Title.Get())}, nil
	}, func(s *State, end *Child) error {
		s.Lines.Append(end.Path.Slice()...)
		return nil
	})
}

// routes are the nodes with which a turn begins, by its mode.
var routes = map[string][]string{
	"fill": {"fill"}, "large": {"large"},
	"ask": {"ask", "side"}, "two": {"two"}, "lasting": {"lasting"},
	"call": {"call", "side"}, "thread": {"thread"}, "deep": {"deep"}, "inline": {"inline"},
	"sends": {"fan"}, "drained": {"fan"}, "failed": {"boom", "side", "other"},
	"joins": {"left", "right", "late"},
}

func rootGraph(g graphs, cfg graph.Config) (*graph.Graph[State], error) {
	b := graph.New[State]("golden")
	var targets []string
	for _, nodes := range routes {
		targets = append(targets, nodes...)
	}
	b.Node("route", graph.Router(func(_ context.Context, s *State) (graph.Command, error) {
		s.Draft.Append("routed")
		return graph.Goto(routes[s.Mode.Get()]...).WithReason("the mode is %s", s.Mode.Get()), nil
	}, unique(targets)...))
	b.Edge(graph.Start, "route")

	b.Node("fill", graph.Router(fill, "fill", graph.End))
	b.Node("large", graph.Func(large))
	b.Node("side", graph.Func(sibling("side")))
	b.Node("other", graph.Func(sibling("other")))
	b.Node("boom", graph.Func(boom))
	b.Node("ask", graph.Func(func(ctx context.Context, s *State) error { return ask(ctx, s, "ask") }))
	b.Node("two", graph.Func(two))
	b.Node("lasting", graph.Func(lasting))
	b.Node("call", host(g.children["call"]))
	b.Node("thread", host(g.children["thread"]))
	b.Node("deep", host(g.children["deep"]))
	b.Node("inline", graph.Inline(g.inline))
	b.Node("fan", graph.Router(fan, "work"))
	b.Node("work", graph.Worker(work))
	b.Node("left", graph.Func(sibling("left")))
	b.Node("right", graph.Func(sibling("right")))
	b.Node("right2", graph.Func(func(ctx context.Context, s *State) error { return ask(ctx, s, "right2") }))
	b.Node("both", graph.Func(sibling("both")))
	b.Node("late", graph.Func(sibling("late")))
	b.Node("end", graph.Func(func(_ context.Context, s *State) error {
		s.Lines.Append("end")
		s.Draft.Append(fmt.Sprint(s.Mail.Slice()))
		return nil
	}))
	b.Defer("late")
	b.Edge("right", "right2")
	b.Join("both", "left", "right2")
	for _, node := range []string{"large", "side", "other", "boom", "ask", "two", "lasting",
		"call", "thread", "deep", "inline", "work", "both", "late"} {
		b.Edge(node, "end")
	}
	b.Edge("end", graph.End)
	return b.Compile(cfg)
}

func unique(names []string) (list []string) {
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			list = append(list, n)
		}
	}
	return list
}

// moment is the time that all stored data has.
var moment = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

// fill writes to every field, once a step, until Steps are done.
func fill(_ context.Context, s *State) (graph.Command, error) {
	n := s.Count.Get() + 1
	s.Count.Add(1)
	s.High.Offer(n * n % 7)
	s.Lines.Append(fmt.Sprintf("line %d", n))
	s.Newest.Prepend(fmt.Sprintf("newest %d", n))
	s.Index.Put(fmt.Sprintf("key %d", n), n)
	s.Index.Delete(fmt.Sprintf("key %d", n-2))
	s.Tags.Add(fmt.Sprintf("tag %d", n))
	s.Tags.Remove(fmt.Sprintf("tag %d", n-3))
	s.Tree.Update(map[string]any{"branch": map[string]any{fmt.Sprintf("leaf %d", n): n}, "gone": nil})
	if n == 1 {
		s.Once.Set("first")
	}
	s.Mail.Publish(fmt.Sprintf("mail %d", n))
	err := errors.Join(
		s.Facts.Put("order", fmt.Sprint(n%3), state.ContextEntry{
			Fields: fmt.Sprintf(`{"amount":%d}`, n), Meta: state.ContextMeta{Capability: "fill", Time: moment},
		}),
		s.Talk.Add(talk(n)...),
	)
	if n < s.Steps.Get() {
		return graph.Goto("fill"), err
	}
	return graph.Goto(graph.End), err
}

// talk are the messages of one step: a question, a tool call, its result and an answer.
func talk(n int) []message.Message {
	id := func(what string) string { return fmt.Sprintf("%s-%d", what, n) }
	ms := []message.Message{
		message.User(fmt.Sprintf("Pay %d €?", n)),
		message.Assistant("", message.Call{ID: id("call"), Name: "pay", Arguments: json.RawMessage(fmt.Sprintf(`{"amount":%d}`, n))}),
		message.Tool(message.ResultOf(id("call"), "paid")),
		message.Assistant("Paid."),
	}
	for i, what := range []string{"user", "call", "tool", "answer"} {
		ms[i].ID, ms[i].Created = id(what+"-message"), moment
	}
	return ms
}

// large writes values that are worth compressing.
func large(_ context.Context, s *State) error {
	s.Title.Set(strings.Repeat("A long title, said again and again. ", 150))
	for n := range 50 {
		s.Lines.Append(fmt.Sprintf("line %d of %d", n, n*n))
	}
	return nil
}

// sibling returns a node that appends its name.
func sibling(name string) func(context.Context, *State) error {
	return func(ctx context.Context, s *State) error {
		s.Lines.Append(name)
		s.Count.Add(1)
		if w, ok := isWriting(ctx); ok && w.begun != nil {
			w.begun <- struct{}{}
		}
		return nil
	}
}

// boom keeps two results and then fails, but only while the golden store is written.
func boom(ctx context.Context, s *State) error {
	stored, err1 := graph.Once(ctx, "effect", func(context.Context) (string, error) { return made(ctx, "effect") })
	called, err2 := graph.Call(ctx, "step", func(context.Context) (string, error) { return made(ctx, "step") })
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	s.Lines.Append(stored, called)
	if w, ok := isWriting(ctx); ok {
		<-w.begun
		<-w.begun
		return errors.New("out of order")
	}
	return nil
}

// made distinguishes a result in the golden store from a new one.
func made(ctx context.Context, what string) (string, error) {
	if _, ok := isWriting(ctx); !ok {
		return what + " was made again", nil
	}
	return what + " was kept", nil
}

func ask(ctx context.Context, s *State, what string) error {
	answer, err := graph.Ask[string](ctx, graph.Question{
		Prompt: "Pay?", Detail: "30 € to Ada.", Data: map[string]any{"amount": 30}, Key: what,
	})
	if err == nil {
		s.Answer.Put(what, answer)
	}
	return err
}

// two asks two questions at once.
func two(ctx context.Context, s *State) error {
	return errors.Join(ask(ctx, s, "first"), ask(ctx, s, "second"))
}

// lasting asks a question that expires in a hundred years, and takes a refusal for an answer.
func lasting(ctx context.Context, s *State) error {
	answer, err := graph.Ask[string](ctx, graph.Question{Prompt: "Pay one day?", Timeout: 100 * 365 * 24 * time.Hour})
	if errors.Is(err, graph.ErrDeclined) {
		answer, err = "declined", nil
	}
	if err == nil {
		s.Answer.Put("lasting", answer)
	}
	return err
}

// parcel is the payload of a Send.
type parcel struct {
	Number int    `json:"number"`
	Weight string `json:"weight"`
}

func fan(ctx context.Context, s *State) (graph.Command, error) {
	if w, ok := isWriting(ctx); ok && w.drain != nil {
		w.drain.Request("golden")
	}
	cmd := graph.Command{}
	for n := range 3 {
		cmd = cmd.Send("work", parcel{n, "light"}).WithTimeout(time.Hour)
	}
	return cmd, nil
}

// work asks about one parcel.
func work(ctx context.Context, s *State, p parcel) error {
	if p.Number == 1 && s.Mode.Get() == "sends" {
		if err := ask(ctx, s, "parcel"); err != nil {
			return err
		}
	}
	s.Lines.Append(fmt.Sprintf("parcel %d, %s", p.Number, p.Weight))
	return nil
}

// Keys returns the keyring of the encrypted threads. It reads no value that is not encrypted.
func Keys() *checkpoint.Keys {
	return &checkpoint.Keys{Current: "golden", Ring: map[string][]byte{"golden": []byte("0123456789abcdef0123456789abcdef")}}
}
