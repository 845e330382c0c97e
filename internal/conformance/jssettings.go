package main

import (
	"context"
	"encoding/json"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/state"
)

// objectOf returns an object with one text.
func objectOf(name, value string) wire.Object { return wire.Object{name: encoded(value)} }

// configOf returns a configuration with one text.
func configOf(name, value string) wire.Config {
	return wire.Config{Configurable: objectOf(name, value)}
}

// lines is a list of texts. A write may also be one text.
type lines struct{ state.List[string] }

// Channel returns what the runtime does with the channel.
func (l *lines) Channel() state.Channel { return linesChannel{l.List.Channel()} }

// UnmarshalJSON reads a list, or one text.
func (l *lines) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		l.Append(one)
		return nil
	}
	return l.List.UnmarshalJSON(data)
}

type linesChannel struct{ state.Channel }

func (c linesChannel) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		data = encoded([]string{one})
	}
	return c.Channel.UnmarshalJSON(data)
}

func (c linesChannel) Fold(writes []state.Channel) error {
	inner := make([]state.Channel, len(writes))
	for i, w := range writes {
		inner[i] = w.(linesChannel).Channel
	}
	return c.Channel.Fold(inner)
}

type dynamic struct {
	Node     state.Value[string] `json:"node"`
	Messages lines               `json:"messages"`
}

type modelState struct {
	Message state.Value[string] `json:"message"`
	Model   state.Value[string] `json:"model"`
}

// addSettings adds the graphs that depend on settings.
func addSettings(b *builder) {
	b.config.Factories["dynamic"] = func(_ context.Context, u server.Use) (graph.Untyped, error) {
		name := "default"
		if raw := u.Settings.Configurable["nodeName"]; raw != nil {
			if err := json.Unmarshal(raw, &name); err != nil {
				return nil, err
			}
		}
		g := graph.New[dynamic]("dynamic")
		g.Node(name, graph.Func(func(_ context.Context, s *dynamic) error {
			s.Node.Set(name)
			s.Messages.Append(name)
			return nil
		}))
		chain(g, name)
		c, err := g.Compile(graph.Config{Store: b.config.Store})
		if err != nil {
			return nil, err
		}
		return c.Untyped(), nil
	}
	g := graph.New[modelState]("simple_runtime")
	g.Node("use_context", graph.Func(func(ctx context.Context, s *modelState) error {
		var model string
		if raw := settings(ctx).Context["model"]; raw != nil {
			if err := json.Unmarshal(raw, &model); err != nil {
				return err
			}
		}
		s.Model.Set(model)
		return nil
	}))
	chain(g, "use_context")
	add(b, "simple_runtime", g, graph.Config{Schemas: graph.Schemas{Settings: encoded(object{
		"$schema": draft7, "type": "object", "properties": object{"model": object{"type": "string", "enum": []string{"anthropic", "openai", "unknown"}}},
	})}})
}
