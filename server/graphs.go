package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/state/message"
)

// Factory builds a graph that depends on settings. It is called for each use, at once by several
// goroutines, and must return the same graph for the same settings.
type Factory func(ctx context.Context, u Use) (graph.Untyped, error)

// Use is what a graph is built for.
type Use struct {
	// Access is what needs the graph: threads.create_run for a run, threads.read and threads.update
	// for a state, assistants.read for a drawing or schemas.
	Access string
	// Settings are those of the run, or of the last run of the thread. For an assistant they have
	// its configuration and context.
	Settings Settings
}

// The accesses of a Use.
const (
	useRun       = "threads.create_run"
	useRead      = "threads.read"
	useUpdate    = "threads.update"
	useAssistant = "assistants.read"
)

// servedGraph is a graph, with the fields of its state that are lists of messages.
type servedGraph struct {
	graph.Untyped
	messages []string
}

// graph returns a graph for a use.
func (s *Server) graph(ctx context.Context, id string, u Use) (g servedGraph, err error) {
	v := s.served.Load()
	g.Untyped = v.graphs[id]
	if f := v.factories[id]; f != nil {
		if g.Untyped, err = f(ctx, u); err != nil {
			return g, fmt.Errorf("server: build the graph %.100q: %w", id, err)
		}
	}
	if g.Untyped == nil {
		return g, wire.Errorf(wire.CodeGraphNotFound, "Graph %.100q not found", id)
	}
	if names, set := v.messages[id]; set {
		g.messages = names
	} else {
		g.messages = messageFields(g.Untyped)
	}
	return g, nil
}

// configure returns an input with what the graph stores of the settings of a run.
func (g servedGraph) configure(input json.RawMessage, s Settings) (json.RawMessage, error) {
	takes, ok := g.Untyped.(interface {
		Configure(input json.RawMessage, context, configurable map[string]json.RawMessage) (json.RawMessage, error)
	})
	if !ok {
		return input, nil
	}
	out, err := takes.Configure(input, s.Context, s.Configurable)
	if err != nil {
		return nil, invalid("%v", err)
	}
	return out, nil
}

// in returns the graph that runs in a namespace of the graph's threads; ok is false if no node
// names it.
func (g servedGraph) in(namespace string) (inner servedGraph, ok bool) {
	inner = g
	if namespace == "" {
		return inner, true
	}
	for part := range strings.SplitSeq(namespace, "|") {
		node, _, _ := strings.Cut(part, ":")
		node, _, _ = strings.Cut(node, "/")
		if inner.Untyped = inner.Children()[node]; inner.Untyped == nil {
			return servedGraph{}, false
		}
	}
	inner.messages = messageFields(inner.Untyped)
	return inner, true
}

// messageFields returns the fields of a graph's state that are lists of messages: those that are a
// message.Log, or a List of messages.
func messageFields(g graph.Untyped) (names []string) {
	offers, ok := g.(channels)
	if !ok {
		return nil
	}
	for name, channel := range offers.Channels() {
		if _, ok := channel.(interface {
			Last() (message.Message, bool)
		}); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// namespacesOf returns the namespaces of a thread that have commits.
func (s *Server) namespacesOf(ctx context.Context, thread string) ([]string, error) {
	all, err := graph.Namespaces(ctx, s.config.Store, thread)
	return all, ignoreUnknown(err)
}

// rootOf returns the newest commit of a thread.
func (s *Server) rootOf(ctx context.Context, thread string) (graph.CommitInfo, error) {
	return graph.Inspect(ctx, s.config.Store, checkpoint.Key{Thread: thread})
}
