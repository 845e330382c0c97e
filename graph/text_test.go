package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
	"github.com/weftrun/weft/state/record"
)

// notText is no UTF-8.
const notText = "caf\xe9"

// title is a channel of a program, around one of package state.
type title struct{ state.Value[string] }

func (c *title) Channel() state.Channel { return titleChannel{c.Value.Channel()} }

type titleChannel struct{ state.Channel }

func (c titleChannel) Fold(writes []state.Channel) error {
	return c.Channel.Fold([]state.Channel{writes[len(writes)-1].(titleChannel).Channel})
}

// cut is a reducer that cuts text in the middle of a character.
type cut struct{}

func (cut) Reduce(acc, update string) string { return (acc + update)[:1] }

type person struct {
	Name string            `json:"name"`
	Tags map[string]string `json:"tags"`
}

// cleaned writes JSON of its own where it can be pointed to, as in a list.
type cleaned struct{ Name string }

func (c *cleaned) MarshalJSON() ([]byte, error) { return []byte(`"clean"`), nil }

// code is a string that writes another text, but not as a key.
type code string

func (c code) MarshalText() ([]byte, error) { return []byte("clean"), nil }

// texts is a state with text in every channel.
type texts struct {
	Value   state.Value[string]                            `json:"value"`
	Person  state.Value[person]                            `json:"person"`
	Any     state.Value[any]                               `json:"any"`
	Latest  state.Latest[string]                           `json:"latest"`
	Once    state.Once[string]                             `json:"once"`
	Spark   state.Ephemeral[string]                        `json:"spark"`
	Stack   state.Stack[string]                            `json:"stack"`
	List    state.List[person]                             `json:"list"`
	Topic   state.Topic[string]                            `json:"topic"`
	Max     state.Max[string]                              `json:"max"`
	Map     state.Map[string, person]                      `json:"map"`
	Set     state.Set[string]                              `json:"set"`
	Merged  state.Reduced[map[string]any, state.DeepMerge] `json:"merged"`
	Cut     state.Reduced[string, cut]                     `json:"cut"`
	Context state.ContextData                              `json:"context"`
	Log     message.Log                                    `json:"log"`
	Cleaned state.Value[cleaned]                           `json:"cleaned"`
	Codes   state.Map[code, int]                           `json:"codes"`
	Numbers state.Map[json.Number, int]                    `json:"numbers"`
	Title   title                                          `json:"title"`
	Handle  state.Untracked[string]                        `json:"handle"`
}

// on returns a Run on t1 where there is a store to keep it, else one without a thread.
func on(cfg graph.Config) graph.RunOptions {
	if cfg.Store == nil {
		return graph.RunOptions{}
	}
	return t1
}

// refusesText fails the test unless err is of a TextError at this place.
func refusesText(t testing.TB, err error, field, path string) {
	t.Helper()
	var text *state.TextError
	if !errors.As(err, &text) || text.Field != field || text.Path != path {
		t.Errorf("rule: text that is not UTF-8 is refused, with its place\n got: %v\nwant: field %q, path %s", err, field, path)
	}
	if err != nil && strings.Contains(err.Error(), notText) {
		t.Errorf("rule: an error is text\n got: %q", err)
	}
}

// writesOfText are what a node may write that JSON would change.
var writesOfText = map[string]struct {
	write       func(s *texts)
	field, path string
}{
	"Value":             {func(s *texts) { s.Value.Set(notText) }, "value", ""},
	"member":            {func(s *texts) { s.Person.Set(person{Name: notText}) }, "person", ".name"},
	"key of a member":   {func(s *texts) { s.Person.Set(person{Tags: map[string]string{notText: ""}}) }, "person", `.tags["caf\xe9"]`},
	"any":               {func(s *texts) { s.Any.Set(map[string]any{"a": []any{notText}}) }, "any", `["a"][0]`},
	"Latest":            {func(s *texts) { s.Latest.Set(notText) }, "latest", ""},
	"Once":              {func(s *texts) { s.Once.Set(notText) }, "once", ""},
	"Ephemeral":         {func(s *texts) { s.Spark.Set(notText) }, "spark", ""},
	"Stack":             {func(s *texts) { s.Stack.Prepend(notText) }, "stack", "[0]"},
	"List":              {func(s *texts) { s.List.Append(person{}, person{Tags: map[string]string{"k": notText}}) }, "list", `[1].tags["k"]`},
	"Overwrite":         {func(s *texts) { s.List.Overwrite([]person{{Name: notText}}) }, "list", `[0].name`},
	"Topic":             {func(s *texts) { s.Topic.Publish("fine", notText) }, "topic", "[1]"},
	"Max":               {func(s *texts) { s.Max.Offer(notText) }, "max", ""},
	"Map":               {func(s *texts) { s.Map.Put("k", person{Name: notText}) }, "map", `["k"].name`},
	"key of a Map":      {func(s *texts) { s.Map.Put(notText, person{}) }, "map", `["caf\xe9"]`},
	"deletion of a key": {func(s *texts) { s.Map.Delete(notText) }, "map", `["caf\xe9"]`},
	"Set":               {func(s *texts) { s.Set.Add(notText) }, "set", `["caf\xe9"]`},
	"DeepMerge":         {func(s *texts) { s.Merged.Update(map[string]any{"a": map[string]any{"b": notText}}) }, "merged", `[0]["a"]["b"]`},
	"Reducer":           {func(s *texts) { s.Cut.Update("é") }, "cut", ""},
	"no pointer to ask": {func(s *texts) { s.Cleaned.Set(cleaned{notText}) }, "cleaned", ".Name"},
	"key with a method": {func(s *texts) { s.Codes.Put(code(notText), 1) }, "codes", `["caf\xe9"]`},
	"key json.Number":   {func(s *texts) { s.Numbers.Put(notText, 1) }, "numbers", `["caf\xe9"]`},
	"channel of a user": {func(s *texts) { s.Title.Set(notText) }, "title", ".v"},
}

// Requirement: Text is UTF-8
func TestText_NotUTF8IsRefusedWithItsPlace(t *testing.T) {
	for name, c := range writesOfText {
		for _, store := range []checkpoint.Store{nil, new(checkpoint.Memory)} {
			for _, d := range durabilities {
				b := graph.New[texts]("flow")
				b.Node("first", graph.Func(func(_ context.Context, s *texts) error { s.Value.Set("whole"); return nil }))
				b.Node("bad", graph.Func(func(_ context.Context, s *texts) error { c.write(s); return nil }))
				b.Edge(graph.Start, "first")
				b.Edge("first", "bad")
				b.Edge("bad", graph.End)
				run := graph.RunOptions{Durability: d}
				if store != nil {
					run.Thread = fmt.Sprint("t", d)
				}
				res, err := build(t, b, graph.Config{Store: store}).Invoke(ctx, texts{}, run)
				refusesText(t, err, c.field, c.path)
				var n *graph.NodeError
				if !errors.As(err, &n) || n.Node != "bad" || res.Status == graph.Done || res.State.Value.Get() != "whole" {
					t.Errorf("%s, %v, store %t: got %v, status %s, value %q; want an error of the node bad, and what was before", name, d, store != nil, err, res.Status, res.State.Value.Get())
				}
			}
		}
	}
}

// Requirement: Text is UTF-8
func TestText_InputNotUTF8(t *testing.T) {
	for name, c := range writesOfText {
		for _, store := range []checkpoint.Store{nil, new(checkpoint.Memory)} {
			b := graph.New[texts]("flow")
			b.Node("never", graph.Func(func(context.Context, *texts) error { t.Error("the node has run"); return nil }))
			b.Edge(graph.Start, "never")
			b.Edge("never", graph.End)
			g := build(t, b, graph.Config{Store: store})
			run := graph.RunOptions{}
			if store != nil {
				run.Thread = "t1"
			}
			var input texts
			c.write(&input)
			_, err := g.Invoke(ctx, input, run)
			refusesText(t, err, c.field, c.path)
			if store == nil {
				continue
			}
			if _, _, err := g.Thread(run.Thread).State(ctx, 0); !errors.Is(err, graph.ErrUnknownThread) {
				t.Errorf("%s: got %v, want no thread", name, err)
			}
			_, err = g.Edit(ctx, [][]graph.Edit[texts]{{{As: graph.Start, Do: func(s *texts) (graph.Command, error) { c.write(s); return graph.Command{}, nil }}}}, run)
			refusesText(t, err, c.field, c.path)
		}
	}
}

// TestText_WhatIsWrittenAtOnceIsRefusedAtOnce is about channels that return the error to the node.
//
// Requirement: Text is UTF-8
func TestText_WhatIsWrittenAtOnceIsRefusedAtOnce(t *testing.T) {
	var s texts
	if err := s.Context.Put("type", notText, state.ContextEntry{Fields: "{}"}); !errors.Is(err, state.ErrContextName) {
		t.Errorf("got %v, want %v", err, state.ErrContextName)
	}
	for _, fields := range []string{`{"a":"` + notText + `"}`, `{"` + notText + `":1}`} {
		if err := s.Context.Put("type", "key", state.ContextEntry{Fields: fields}); !errors.Is(err, state.ErrContextFields) {
			t.Errorf("got %v, want %v", err, state.ErrContextFields)
		}
	}
	err := s.Log.Add(message.User(notText))
	var wrong *message.InvalidError
	if !errors.As(err, &wrong) || wrong.Problems[0].Rule != message.RuleText || s.Log.Len() != 0 {
		t.Errorf("got %v and %d messages, want a %s problem and none", err, s.Log.Len(), message.RuleText)
	}
	input := texts{Log: message.LogOf(message.User(notText))}
	b := graph.New[texts]("flow")
	b.Node("node", graph.Func(func(context.Context, *texts) error { return nil }))
	b.Edge(graph.Start, "node")
	b.Edge("node", graph.End)
	if _, err := build(t, b, graph.Config{}).Invoke(ctx, input, graph.RunOptions{}); !errors.As(err, &wrong) {
		t.Errorf("got %v, want the error of LogOf", err)
	}
}

// TestText_WrittenByABranch lets a branch write, which is not what it is for.
func TestText_WrittenByABranch(t *testing.T) {
	for _, cfg := range []graph.Config{{}, stored()} {
		b := graph.New[texts]("flow")
		b.Node("a", graph.Func(func(context.Context, *texts) error { return nil }))
		b.Node("b", graph.Func(func(context.Context, *texts) error { return nil }))
		b.Branch("a", func(_ context.Context, s *texts) (graph.Command, error) {
			s.Value.Set(notText)
			return graph.Goto("b"), nil
		}, "b")
		b.Edge(graph.Start, "a")
		b.Edge("b", graph.End)
		_, err := build(t, b, cfg).Invoke(ctx, texts{}, on(cfg))
		refusesText(t, err, "value", "")
	}
}

// firstTwo is a reducer that keeps two bytes.
type firstTwo struct{}

func (firstTwo) Reduce(acc, update string) string { return (acc + update + "  ")[:2] }

// TestText_MadeByAReducerOfAnInput folds text onto what a thread has, which cuts it.
func TestText_MadeByAReducerOfAnInput(t *testing.T) {
	type cuts struct {
		Cut state.Reduced[string, firstTwo] `json:"cut"`
	}
	b := graph.New[cuts]("flow")
	b.Node("node", graph.Func(func(context.Context, *cuts) error { return nil }))
	b.Edge(graph.Start, "node")
	b.Edge("node", graph.End)
	g := build(t, b, stored())
	if _, err := g.Invoke(ctx, cuts{Cut: state.ReducedOf[string, firstTwo]("é")}, t1); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Invoke(ctx, cuts{Cut: state.ReducedOf[string, firstTwo]("x")}, t1); err != nil {
		t.Fatal(err)
	}
	two := graph.RunOptions{Thread: "t2"}
	if _, err := g.Edit(ctx, [][]graph.Edit[cuts]{{{As: graph.Start, Do: func(s *cuts) (graph.Command, error) { s.Cut.Overwrite("a"); return graph.Command{}, nil }}}}, two); err != nil {
		t.Fatal(err)
	}
	_, err := g.Invoke(ctx, cuts{Cut: state.ReducedOf[string, firstTwo]("é")}, two)
	var text *state.TextError
	if !errors.As(err, &text) {
		t.Errorf("got %v, want a TextError", err)
	}
}

// TestText_UntrackedIsNotLookedAt sets a handle, which is never encoded.
func TestText_UntrackedIsNotLookedAt(t *testing.T) {
	b := graph.New[texts]("flow")
	b.Node("node", graph.Func(func(_ context.Context, s *texts) error { s.Handle.Set(notText); return nil }))
	b.Edge(graph.Start, "node")
	b.Edge("node", graph.End)
	if _, err := build(t, b, stored()).Invoke(ctx, texts{}, t1); err != nil {
		t.Error(err)
	}
}

// TestText_WhatElseANodeGives is about values that belong to no field.
//
// Requirement: Text is UTF-8
func TestText_WhatElseANodeGives(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(ctx context.Context, s *world) (graph.Command, error)
		path string
	}{
		"payload of a Send": {func(context.Context, *world) (graph.Command, error) {
			return graph.Send("work", person{Tags: map[string]string{"k": notText}}), nil
		}, `.tags["k"]`},
		"reason": {func(context.Context, *world) (graph.Command, error) {
			return graph.Goto("next").WithReason(notText), nil
		}, ""},
		"Once": {func(ctx context.Context, _ *world) (graph.Command, error) {
			_, err := graph.Once(ctx, "x", func(context.Context) ([]string, error) { return []string{notText}, nil })
			return graph.Goto("next"), err
		}, "[0]"},
		"Call": {func(ctx context.Context, _ *world) (graph.Command, error) {
			_, err := graph.Call(ctx, "x", func(context.Context) (person, error) { return person{Name: notText}, nil })
			return graph.Goto("next"), err
		}, ".name"},
		"prompt": {func(ctx context.Context, _ *world) (graph.Command, error) {
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: notText})
			return graph.Goto("next"), err
		}, ""},
		"schema of a question": {func(ctx context.Context, _ *world) (graph.Command, error) {
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "?", Schema: []byte(`{"title":"` + notText + `"}`)})
			return graph.Goto("next"), err
		}, ""},
		"data of a question": {func(ctx context.Context, _ *world) (graph.Command, error) {
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "?", Data: map[string]any{notText: 1}})
			return graph.Goto("next"), err
		}, `["caf\xe9"]`},
	} {
		for _, cfg := range []graph.Config{{}, stored()} {
			b := graph.New[world]("flow")
			b.Node("bad", graph.Router(c.do, "next", "work"))
			b.Node("next", logs("next"))
			b.Node("work", graph.Worker(func(context.Context, *world, person) error { return nil }))
			b.Edge(graph.Start, "bad")
			b.Edge("work", graph.End)
			b.Edge("next", graph.End)
			_, err := build(t, b, cfg).Invoke(ctx, world{}, on(cfg))
			var n *graph.NodeError
			if refusesText(t, err, "", c.path); !errors.As(err, &n) || n.Node != "bad" {
				t.Errorf("%s: got %v, want an error of the node bad", name, err)
			}
		}
	}
}

// Requirement: Text is UTF-8
func TestText_OfAChildForItsParent(t *testing.T) {
	for _, cfg := range []graph.Config{{}, stored()} {
		b := graph.New[memo]("child")
		b.Node("leave", graph.Router(func(context.Context, *memo) (graph.Command, error) {
			return graph.ToParent(graph.Goto("next"), world{Name: state.Of(notText)}), nil
		}, graph.Parent))
		b.Edge(graph.Start, "leave")
		child := build(t, b, graph.Config{})
		p := graph.New[world]("parent")
		p.Node("sub", graph.Subgraph(child, func(*world) (memo, error) { return memo{}, nil }, func(*world, *memo) error { return nil }, "next"))
		p.Node("next", logs("next"))
		p.Edge(graph.Start, "sub")
		p.Edge("next", graph.End)
		_, err := build(t, p, cfg).Invoke(ctx, world{}, on(cfg))
		refusesText(t, err, "name", "")
	}
}

// Requirement: Text is UTF-8
func TestText_OfAnAnswer(t *testing.T) {
	b := graph.New[world]("flow")
	b.Node("ask", graph.Func(func(ctx context.Context, s *world) error {
		name, err := graph.Ask[string](ctx, graph.Question{Prompt: "name"})
		s.Name.Set(name)
		return err
	}))
	b.Edge(graph.Start, "ask")
	b.Edge("ask", graph.End)
	g := build(t, b, stored())
	invoke(t, g, "t1", graph.Interrupted)
	for _, a := range []graph.Answers{graph.Reply(notText), graph.Reply(map[string]any{"x": notText}), graph.Decline("", notText)} {
		res, err := g.Resume(ctx, a, t1)
		if !errors.Is(err, graph.ErrAnswer) || len(res.Interrupts) != 1 {
			t.Errorf("got %v and %d open questions, want %v and one", err, len(res.Interrupts), graph.ErrAnswer)
		}
	}
	if res := resume(t, g, graph.Reply("café"), graph.Done); res.State.Name.Get() != "café" {
		t.Errorf("got %q", res.State.Name.Get())
	}
}

// Requirement: Text is UTF-8
func TestText_OfARecord(t *testing.T) {
	typed := func(s string) record.Type {
		typ, err := record.ParseType(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		return typ
	}
	shape, err := record.NewShape(
		record.Field{Name: "any", Kind: state.KindValue, Type: typed("any")},
		record.Field{Name: "text", Kind: state.KindValue, Type: typed("string")},
		record.Field{Name: "list", Kind: state.KindList, Type: typed("list<string>")},
		record.Field{Name: "map", Kind: state.KindMap, Type: typed("map<any>")},
		record.Field{Name: "set", Kind: state.KindSet, Type: typed("list<string>")},
		record.Field{Name: "merged", Kind: state.KindDeepMerge, Type: typed("map<any>")},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		field string
		v     any
		path  string
	}{
		{"any", notText, ""},
		{"any", map[string]any{"a": []any{1, notText}}, "a[1]"},
		{"any", map[string]any{"a": []any{map[string]any{notText: 1}}}, `a[0]["caf\xe9"]`},
		{"any", person{Name: notText}, "name"},
		{"text", notText, ""},
		{"list", []any{"a", notText}, "[1]"},
		{"list", notText, ""},
		{"map", map[string]any{"k": notText}, "k"},
		{"map", map[string]any{notText: 1}, `["caf\xe9"]`},
		{"map", map[string]any{notText: nil}, `["caf\xe9"]`},
		{"set", []any{notText}, "[0]"},
		{"merged", map[string]any{"a": map[string]any{notText: 1}}, `a["caf\xe9"]`},
		{"merged", map[string]any{"a": notText}, "a"},
	} {
		r := shape.New()
		refusesText(t, r.Write(c.field, c.v), c.field, c.path)
		if data, err := r.MarshalJSON(); err != nil || strings.Contains(string(data), "caf") {
			t.Errorf("rule: nothing is written that does not fit\n got: %s, %v", data, err)
		}
	}
	r := shape.New()
	refusesText(t, r.UnmarshalJSON([]byte(`{"text":"`+notText+`"}`)), "text", "")
}
