package server

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/work"
)

// served are the graphs of a server, and which of their fields are lists of messages. It does not
// change.
type served struct {
	graphs    map[string]graph.Untyped
	factories map[string]Factory
	messages  map[string][]string // by graph; those of a factory are here only if they were set
}

// servedOf checks graphs, and finds the fields with messages of those that are not in messages.
func servedOf(graphs map[string]graph.Untyped, factories map[string]Factory, messages map[string][]string) (*served, error) {
	if len(graphs)+len(factories) == 0 {
		return nil, fmt.Errorf("%w: Graphs must have a graph", ErrConfig)
	}
	v := &served{maps.Clone(graphs), factories, map[string][]string{}}
	maps.Copy(v.messages, messages)
	for id, g := range graphs {
		if id == "" || g == nil || factories[id] != nil {
			return nil, fmt.Errorf("%w: Graphs must have ids of their own, and graphs (got id %q)", ErrConfig, id)
		}
		if _, set := messages[id]; !set {
			v.messages[id] = messageFields(g)
		}
	}
	for id, f := range factories {
		if id == "" || f == nil {
			return nil, fmt.Errorf("%w: Factories must have ids and functions (got id %q)", ErrConfig, id)
		}
	}
	return v, nil
}

// has reports whether there is a graph with the id.
func (v *served) has(id string) bool { return v.graphs[id] != nil || v.factories[id] != nil }

// onEngine reports whether an engine carries out runs, of one graph at least.
func (v *served) onEngine() bool {
	for _, g := range v.graphs {
		if _, ok := g.(work.Engine); ok {
			return true
		}
	}
	return false
}

// ids yields the ids of all graphs.
func (v *served) ids(yield func(id string) bool) {
	for id := range v.graphs {
		if !yield(id) {
			return
		}
	}
	for id := range v.factories {
		if !yield(id) {
			return
		}
	}
}

// SetGraphs replaces the Graphs that the server serves, and stores the system assistants of new
// ones. A run that is running ends with the graph that it began with. If SetGraphs fails, the
// server serves what it served before.
func (s *Server) SetGraphs(ctx context.Context, graphs map[string]graph.Untyped) error {
	v, err := servedOf(graphs, s.config.Factories, s.config.Messages)
	if err != nil {
		return err
	}
	if err := s.addSystemAssistants(ctx, v); err != nil {
		return fmt.Errorf("server: store the assistants: %w", err)
	}
	s.served.Store(v)
	return nil
}

// serves reports whether the server has a graph.
func (s *Server) serves(id string) bool { return s.served.Load().has(id) }

// GraphIDs returns the ids of the graphs that the server serves, in order.
func (s *Server) GraphIDs() []string { return slices.Sorted(s.served.Load().ids) }
