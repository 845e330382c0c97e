package graph_test

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
	"github.com/weftrun/weft/state/record"
)

type place struct {
	City string    `json:"city"`
	Seen time.Time `json:"seen,omitzero"`
	Raw  hidden    `json:"raw,omitempty"`
}

// hidden has a JSON form that its type does not show.
type hidden struct{ N int }

func (h hidden) MarshalJSON() ([]byte, error)     { return json.Marshal([]int{h.N}) }
func (h *hidden) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &[]*int{&h.N}) }

type cyclic struct {
	Inside []*cyclic `json:"inside"`
}

type described struct {
	Name  state.Value[string]                            `json:"name" weft:"default=\"x\""`
	Count state.Sum[int]                                 `json:"count"`
	Peak  state.Max[float64]                             `json:"peak"`
	Log   state.List[place]                              `json:"log"`
	Tags  state.Set[string]                              `json:"tags"`
	By    state.Map[int, bool]                           `json:"by"`
	Raw   state.Value[json.RawMessage]                   `json:"raw"`
	Bytes state.Latest[[]byte]                           `json:"bytes"`
	Tree  state.Value[cyclic]                            `json:"tree"`
	Data  state.ContextData                              `json:"data"`
	Talk  message.Log                                    `json:"talk"`
	Deep  state.Reduced[map[string]any, state.DeepMerge] `json:"deep"`
}

func ofState[S any](t *testing.T, name string, cfg graph.Config) *graph.Graph[S] {
	b := graph.New[S](name)
	b.Node("n", graph.Func(func(context.Context, *S) error { return nil }))
	b.Edge(graph.Start, "n")
	b.Edge("n", graph.End)
	return build(t, b, cfg)
}

// same fails the test unless two texts are the same JSON.
func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%s: %v in %s", what, err, got)
	}
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s is\n%s, want\n%s", what, got, want)
	}
}

func TestSchemas_AreMadeOfTheChannels(t *testing.T) {
	s := ofState[described](t, "described", graph.Config{}).Untyped().Schemas()
	same(t, "the schema", s.State, []byte(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{
		"name":{"type":"string","default":"x","x-weft-kind":"value"},
		"count":{"type":"integer","x-weft-kind":"sum"},
		"peak":{"type":"number","x-weft-kind":"max"},
		"log":{"type":"array","x-weft-kind":"list","items":{"type":"object","required":["city"],"additionalProperties":false,
			"properties":{"city":{"type":"string"},"seen":{"type":"string"},"raw":true}}},
		"tags":{"type":"array","items":{"type":"string"},"x-weft-kind":"set"},
		"by":{"type":"object","additionalProperties":{"type":"boolean"},"x-weft-kind":"map"},
		"raw":{"x-weft-kind":"value"},
		"bytes":{"type":"string","x-weft-kind":"latest"},
		"tree":{"x-weft-kind":"value"},
		"data":{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"object","additionalProperties":true}}},
		"talk":{"type":"array","items":true},
		"deep":{"type":"object","additionalProperties":true}}}`))
	if !reflect.DeepEqual(s.Input, s.State) || !reflect.DeepEqual(s.Output, s.State) || s.Settings != nil {
		t.Error("input and output must have the schema of the state, and settings none")
	}
}

func TestSchemas_OfARecord(t *testing.T) {
	member, err := record.ParseType("object{a: string, b?: int}", nil)
	if err != nil {
		t.Fatal(err)
	}
	shape, err := record.NewShape(
		record.Field{Name: "items", Kind: state.KindList, Type: record.ListType(member)},
		record.Field{Name: "any"},
		record.Field{Name: "by", Kind: state.KindMap, Type: record.MapType(record.Type{})},
		record.Field{Name: "talk", Channel: record.ForeignOf[message.Log]()},
	)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewRecord("recorded", shape)
	b.Node("n", graph.Func(func(context.Context, *record.Record) error { return nil }))
	b.Edge(graph.Start, "n")
	b.Edge("n", graph.End)
	same(t, "the schema", build(t, b, graph.Config{}).Untyped().Schemas().State, []byte(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{
		"items":{"type":"array","x-weft-kind":"list","items":{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"integer"}}}},
		"any":{"x-weft-kind":"value"},
		"by":{"type":"object","additionalProperties":true,"x-weft-kind":"map"},
		"talk":{"type":"array","items":true}}}`))
}

func TestSchemas_OfTheConfigReplaceThem(t *testing.T) {
	own := json.RawMessage(`{"type":"object"}`)
	s := ofState[world](t, "own", graph.Config{Schemas: graph.Schemas{Input: own, Settings: own}}).Untyped().Schemas()
	if string(s.Input) != string(own) || string(s.Settings) != string(own) || string(s.State) == string(own) || s.State == nil {
		t.Errorf("got %s", s)
	}
	if zero := new(graph.Graph[world]).Untyped().Schemas(); !reflect.DeepEqual(zero, graph.Schemas{}) {
		t.Errorf("the zero Graph has schemas: %v", zero)
	}
}

func TestChildren_ReadAndChangeTheirStates(t *testing.T) {
	inner := graph.New[world]("inner")
	inner.Node("deep", graph.Func(func(_ context.Context, s *world) error { s.Log.Append("deep"); return nil }))
	inner.Edge(graph.Start, "deep")
	inner.Edge("deep", graph.End)
	through := func(*world) (world, error) { return world{}, nil }
	out := func(s, end *world) error { s.Log.Append(end.Log.Slice()...); return nil }
	mid := graph.New[world]("mid")
	mid.Node("call", graph.Subgraph(build(t, inner, graph.Config{InterruptBefore: []string{"deep"}}), through, out))
	mid.Edge(graph.Start, "call")
	mid.Edge("call", graph.End)
	b := graph.New[world]("outer")
	b.Node("sub", graph.Subgraph(build(t, mid, graph.Config{}), through, out))
	b.Node("plain", graph.Func(func(context.Context, *world) error { return nil }))
	b.Edge(graph.Start, "sub")
	b.Edge("sub", "plain")
	b.Edge("plain", graph.End)
	var store checkpoint.Memory
	g := build(t, b, graph.Config{Store: &store}).Untyped()

	children := g.Children()
	if got := slices.Sorted(maps.Keys(children)); !slices.Equal(got, []string{"sub"}) || children["sub"].Name() != "mid" {
		t.Fatalf("the children are those of %v", got)
	}
	deep := children["sub"].Children()["call"]
	if deep == nil || deep.Name() != "inner" || len(deep.Children()) != 0 {
		t.Fatalf("the child of the child is %v", deep)
	}
	if _, err := g.Invoke(ctx, json.RawMessage(`{}`), t1); err != nil {
		t.Fatal(err)
	}
	all, err := graph.Namespaces(ctx, &store, "t1")
	if err != nil {
		t.Fatal(err)
	}
	ns := slices.MaxFunc(all, func(a, b string) int { return len(a) - len(b) })
	if _, err := deep.Edit(ctx, [][]graph.UntypedEdit{{{Writes: json.RawMessage(`{"log":["edited"]}`)}}}, graph.RunOptions{Thread: "t1", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	data, info, err := deep.Thread("t1").In(ns).State(ctx, 0)
	if err != nil || !slices.Equal(logOf(t, data), []string{"edited"}) || len(info.Due) != 1 || info.Due[0].Node != "deep" {
		t.Fatalf("the state is %s with %v due: %v", data, info.Due, err)
	}
	res, err := g.Resume(ctx, graph.Answers{}, t1)
	if err != nil || !slices.Equal(logOf(t, res.State), []string{"edited", "deep"}) {
		t.Errorf("the run ended with %s: %v", res.State, err)
	}
}
