package server

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// served are the graphs of a server, and which of their fields are lists of messages. It does not
// change.
type served struct {
	graphs   map[string]graph.Untyped
	messages map[string][]string
}

// servedOf checks graphs, and finds the fields with messages of those that are not in messages.
func servedOf(graphs map[string]graph.Untyped, messages map[string][]string) (*served, error) {
	if len(graphs) == 0 {
		return nil, fmt.Errorf("%w: Graphs must have a graph", ErrConfig)
	}
	v := &served{maps.Clone(graphs), map[string][]string{}}
	maps.Copy(v.messages, messages)
	for id, g := range graphs {
		if id == "" || g == nil {
			return nil, fmt.Errorf("%w: Graphs must have ids and graphs (got id %q)", ErrConfig, id)
		}
		if _, set := messages[id]; !set {
			v.messages[id] = messageFields(g)
		}
	}
	return v, nil
}

// messageFields returns the fields of a graph that are a message.Log.
func messageFields(g graph.Untyped) (names []string) {
	offers, ok := g.(interface {
		Channels() map[string]state.Channel
	})
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

// SetGraphs replaces the graphs that the server serves, and stores the system assistants of new
// ones. A run that is running ends with the graph that it began with. If SetGraphs fails, the
// server serves what it served before.
func (s *Server) SetGraphs(ctx context.Context, graphs map[string]graph.Untyped) error {
	v, err := servedOf(graphs, s.config.Messages)
	if err != nil {
		return err
	}
	if err := s.addSystemAssistants(ctx, v); err != nil {
		return fmt.Errorf("server: store the assistants: %w", err)
	}
	s.served.Store(v)
	return nil
}

// graphs returns the graphs by id, which must not be changed.
func (s *Server) graphs() map[string]graph.Untyped { return s.served.Load().graphs }

// messages returns the fields that are lists of messages by the id of the graph.
func (s *Server) messages() map[string][]string { return s.served.Load().messages }

// GraphIDs returns the ids of the graphs that the server serves, in order.
func (s *Server) GraphIDs() []string { return slices.Sorted(maps.Keys(s.graphs())) }
