package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/memory"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state/message"
)

// stream sends the pieces of a message as tokens, with a pause after each, and returns the message.
func stream(ctx context.Context, pieces []string, pause time.Duration) (message.Message, error) {
	m := message.Message{ID: uuid.NewString(), Role: message.RoleAssistant}
	whole := ""
	for _, p := range pieces {
		if err := graph.EmitMessage(ctx, graph.Token{ID: m.ID, Role: "assistant", Delta: p}); err != nil {
			return m, err
		}
		whole += p
		if err := sleep(ctx, pause); err != nil {
			return m, err
		}
	}
	m.Content = []message.Part{message.Text(whole)}
	return m, graph.EmitMessage(ctx, graph.Token{ID: m.ID, Role: "assistant", Final: true, Text: whole})
}

// characters returns the runes of a text.
func characters(s string) (all []string) {
	for _, r := range s {
		all = append(all, string(r))
	}
	return all
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// said returns a message of an assistant with an id.
func said(id, text string, calls ...message.Call) message.Message {
	m := message.Assistant(text, calls...)
	m.ID = id
	return m
}

// namedError is an error with a name for clients in other languages.
type namedError struct{ name, text string }

func (e *namedError) Error() string     { return e.text }
func (e *namedError) ErrorName() string { return e.name }

// builder makes the config of a server that serves a suite.
type builder struct {
	config server.Config
	errs   []error
}

func newBuilder(store checkpoint.Store, items memory.Store) *builder {
	return &builder{config: server.Config{
		Store: store, Memory: items, Graphs: map[string]graph.Untyped{}, Factories: map[string]server.Factory{},
		AllowTruncate: true, CORS: server.CORS{Origins: []string{"*"}},
	}}
}

// add compiles a graph and adds it under an id.
func add[S any](b *builder, id string, g *graph.Builder[S], cfg graph.Config) {
	if c := child(b, g, cfg); c != nil {
		b.config.Graphs[id] = c.Untyped()
	}
}

// child compiles a graph that is used in another.
func child[S any](b *builder, g *graph.Builder[S], cfg graph.Config) *graph.Graph[S] {
	cfg.Store = b.config.Store
	c, err := g.Compile(cfg)
	if err != nil {
		b.errs = append(b.errs, err)
		return nil
	}
	return c
}

// chain adds edges from the start over the nodes to the end.
func chain[S any](g *graph.Builder[S], nodes ...string) {
	last := graph.Start
	for _, n := range nodes {
		g.Edge(last, n)
		last = n
	}
	g.Edge(last, graph.End)
}

// object is a JSON object with members of any type.
type object = map[string]any

func encoded(v any) json.RawMessage {
	data, _ := json.Marshal(v) // of plain values
	return data
}
