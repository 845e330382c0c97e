package main

import (
	"context"
	"fmt"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// jsSuite has the graphs of the API tests of the JavaScript server, and its routes.
func jsSuite(b *builder) {
	addAgents(b)
	addSettings(b)
	addRoutes(b)
	addNested(b)
	addWeather(b)
	addError(b)
	addDelay(b)
	addSchemas(b)
}

type nested struct {
	Messages state.List[string]  `json:"messages"`
	Parent   state.Value[string] `json:"parent"`
	Child    state.Value[string] `json:"child"`
}

// enter returns a node that adds a line and chooses values.
func enter(name string, set func(*nested)) graph.Node[nested] {
	return graph.Func(func(_ context.Context, s *nested) error {
		s.Messages.Append("Entered " + name + " node")
		if set != nil {
			set(s)
		}
		return nil
	})
}

// inside returns a node that runs a graph on the messages.
func inside(g *graph.Graph[nested]) graph.Node[nested] {
	in := func(s *nested) (c nested, err error) { c.Messages.Append(s.Messages.Slice()...); return c, nil }
	return graph.Subgraph(g, in, func(s *nested, end *nested) error {
		s.Messages.Append(end.Messages.Slice()[s.Messages.Len():]...)
		return nil
	})
}

// schemaOf returns a config with the schema of messages and of a field with some values.
func schemaOf(field string, values ...string) graph.Config {
	return graph.Config{Schemas: graph.Schemas{State: encoded(object{"$schema": draft7, "type": "object", "properties": object{
		"messages": object{"type": "array", "items": object{"type": "string"}}, field: object{"type": "string", "enum": values},
	}})}}
}

const draft7 = "http://json-schema.org/draft-07/schema#"

func addNested(b *builder) {
	c := graph.New[nested]("child")
	c.Node("c_one", enter("c_one", func(s *nested) { s.Child.Set("child_one") }))
	c.Node("c_two", enter("c_two", func(s *nested) { s.Child.Set("child_two") }))
	chain(c, "c_one", "c_two")
	p := graph.New[nested]("parent")
	p.Node("p_one", enter("p_one", func(s *nested) { s.Parent.Set("parent_one") }))
	p.Node("p_two", inside(child(b, c, schemaOf("child", "child_one", "child_two"))))
	chain(p, "p_one", "p_two")
	g := graph.New[nested]("nested")
	g.Node("gp_one", enter("gp_one", nil))
	g.Node("gp_two", inside(child(b, p, schemaOf("parent", "parent_one", "parent_two"))))
	chain(g, "gp_one", "gp_two")
	add(b, "nested", g, graph.Config{})
}

type weather struct {
	Messages message.Log         `json:"messages"`
	Route    state.Value[string] `json:"route"`
}

type city struct {
	Messages message.Log         `json:"messages"`
	City     state.Value[string] `json:"city"`
}

func addWeather(b *builder) {
	c := graph.New[city]("weather_graph")
	c.Node("model_node", graph.Func(func(_ context.Context, s *city) error { s.City.Set("San Francisco"); return nil }))
	c.Node("weather_node", graph.Func(func(_ context.Context, s *city) error {
		return s.Messages.Add(message.Assistant(fmt.Sprintf("It's sunny in %s!", s.City.Get())))
	}))
	chain(c, "model_node", "weather_node")
	sub := child(b, c, graph.Config{InterruptBefore: []string{"weather_node"}})
	g := graph.New[weather]("weather")
	g.Node("router_node", graph.Func(func(_ context.Context, s *weather) error { s.Route.Set("weather"); return nil }))
	g.Node("normal_llm_node", graph.Func(func(_ context.Context, s *weather) error { return s.Messages.Add(message.Assistant("Hello")) }))
	g.Node("weather_graph", graph.Subgraph(sub, func(s *weather) (city, error) {
		return city{Messages: message.LogOf(s.Messages.Slice()...)}, nil
	}, func(s *weather, end *city) error { return s.Messages.Add(end.Messages.Slice()...) }))
	g.Edge(graph.Start, "router_node")
	g.Branch("router_node", func(_ context.Context, s *weather) (graph.Command, error) {
		if s.Route.Get() == "weather" {
			return graph.Goto("weather_graph"), nil
		}
		return graph.Goto("normal_llm_node"), nil
	}, "weather_graph", "normal_llm_node")
	g.Edge("weather_graph", graph.End)
	g.Edge("normal_llm_node", graph.End)
	add(b, "weather", g, graph.Config{})
}

func addError(b *builder) {
	g := graph.New[chat]("error")
	g.Node("error_node", graph.Func(func(ctx context.Context, _ *chat) error {
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
		return &namedError{"CustomError", "Boo!"}
	}))
	chain(g, "error_node")
	add(b, "error", g, graph.Config{})
}

type delayed struct {
	Messages message.Log          `json:"messages"`
	Delay    state.Value[float64] `json:"delay"`
}

func addDelay(b *builder) {
	g := graph.New[delayed]("delay")
	g.Node("long_running", graph.Func(func(ctx context.Context, s *delayed) error {
		ms := s.Delay.Get()
		if err := sleep(ctx, time.Duration(ms*float64(time.Millisecond))); err != nil {
			return err
		}
		return s.Messages.Add(message.User(fmt.Sprintf("finished after %gms", ms)))
	}))
	chain(g, "long_running")
	add(b, "delay", g, graph.Config{})
}

type counted struct {
	Messages message.Log      `json:"messages"`
	Count    state.Value[int] `json:"count"`
}

type registered struct {
	Messages state.List[string]  `json:"messages"`
	Count    state.Value[int]    `json:"count"`
	Status   state.Value[string] `json:"status" weft:"default=\"idle\""`
}

type plainItems struct {
	Items   state.Value[[]string] `json:"items"`
	Counter state.Value[int]      `json:"counter"`
	Label   state.Value[string]   `json:"label"`
}

func addSchemas(b *builder) {
	one := graph.New[counted]("state_schema_graph")
	one.Node("process", graph.Func(func(_ context.Context, s *counted) error {
		s.Count.Set(s.Count.Get() + 1)
		return s.Messages.Add(message.Assistant(fmt.Sprintf("Response %d", s.Count.Get())))
	}))
	chain(one, "process")
	add(b, "state_schema_graph", one, graph.Config{})

	two := graph.New[registered]("zod_registry_graph")
	two.Node("process", graph.Func(func(_ context.Context, s *registered) error {
		s.Count.Set(s.Count.Get() + 1)
		s.Messages.Append(fmt.Sprintf("Message %d", s.Count.Get()))
		s.Status.Set("processing")
		return nil
	}))
	chain(two, "process")
	add(b, "zod_registry_graph", two, graph.Config{Schemas: graph.Schemas{State: encoded(object{"$schema": draft7, "type": "object", "properties": object{
		"messages": object{"type": "array", "items": object{"type": "string"}, "langgraph_type": "messages"},
		"count":    object{"type": "number"}, "status": object{"type": "string", "enum": []string{"idle", "processing", "done"}},
	}})}})

	three := graph.New[plainItems]("plain_zod_graph")
	three.Node("process", graph.Func(func(_ context.Context, s *plainItems) error {
		n := s.Counter.Get() + 1
		s.Items.Set(append(append([]string(nil), s.Items.Get()...), fmt.Sprintf("Item %d", n)))
		s.Counter.Set(n)
		s.Label.Set("processed")
		return nil
	}))
	chain(three, "process")
	add(b, "plain_zod_graph", three, graph.Config{})
}
