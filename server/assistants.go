package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/server/wire"
)

// assistant is a record: what clients read, and the greatest number of a version.
type assistant struct {
	wire.Assistant
	Newest int `json:"newest"`
}

var assistantFields = []string{
	"assistant_id", "graph_id", "config", "context", "metadata", "name", "description", "version", "created_at", "updated_at",
}

const untitled = "Untitled"

// systemCreator is in the metadata of the assistants of graphs.
var systemCreator = json.RawMessage(`"system"`)

// isSystem reports whether an assistant is that of a graph.
func (s *Server) isSystem(id string) bool {
	for graphID := range s.served.Load().ids {
		if id == wire.AssistantUUID(graphID) {
			return true
		}
	}
	return false
}

// assistants are the assistants of a server, and their versions.
type assistants struct {
	records[assistant]
	docs document.Store
}

const versionCollection = "weft.versions"

func newAssistants(docs document.Store) assistants {
	return assistants{newRecords[assistant](docs, "weft.assistants"), docs}
}

// versions are the versions of an assistant.
func (s assistants) versions(id string) records[wire.Assistant] {
	return records[wire.Assistant]{docs: s.docs, place: document.At(versionCollection, id)}
}

func versionID(n int) string { return fmt.Sprintf("%010d", n) }

// add stores a new assistant with its first version; added is false if the id exists.
func (s assistants) add(ctx context.Context, a wire.Assistant) (added bool, err error) {
	if added, err = s.create(ctx, a.AssistantID, assistant{a, a.Version}, a.CreatedAt.Time); err != nil || !added {
		return added, err
	}
	// A process that ends here leaves an assistant whose version 1 is only in its record.
	_, err = s.versions(a.AssistantID).create(ctx, versionID(a.Version), a, a.CreatedAt.Time)
	return true, err
}

// addVersion changes an assistant and stores the result as its newest version.
func (s assistants) addVersion(ctx context.Context, id string, change func(a *assistant) error) (assistant, bool, error) {
	for number := 0; ; {
		current, found, err := s.get(ctx, id)
		if err != nil || !found {
			return assistant{}, found, err
		}
		next := current.record
		number = max(number+1, next.Newest+1)
		if err := change(&next); err != nil {
			return assistant{}, true, err
		}
		next.Version, next.Newest = number, number
		// The document of the version decides which writer has the number.
		created, err := s.versions(id).create(ctx, versionID(number), next.Assistant, next.UpdatedAt.Time)
		if err != nil {
			return assistant{}, true, err
		}
		if !created {
			continue
		}
		same := false
		_, found, err = s.change(ctx, id, func(a *assistant) error {
			if same = a.Newest == current.record.Newest && a.Version == current.record.Version; same {
				*a = next
			}
			return nil
		})
		if err == nil && found && same {
			return next, true, nil
		}
		if errors.Is(err, checkpoint.ErrUnknownOutcome) { // it may be the newest version
			return assistant{}, true, err
		}
		if undo := s.versions(id).delete(ctx, versionID(number)); undo != nil {
			return assistant{}, true, undo
		}
		if err != nil || !found {
			return assistant{}, found, err
		}
	}
}

// remove removes an assistant with its versions.
func (s assistants) remove(ctx context.Context, id string) error {
	if err := s.docs.Clear(ctx, document.At(versionCollection, id)); err != nil {
		return err
	}
	return s.delete(ctx, id)
}

// addSystemAssistants stores the assistants of graphs that have none yet.
func (s *Server) addSystemAssistants(ctx context.Context, v *served) error {
	for id := range v.ids {
		settings := s.config.Defaults[id]
		now := wire.At(s.now())
		a := wire.Assistant{
			AssistantID: wire.AssistantUUID(id), GraphID: id, Name: id, Version: 1,
			Metadata: wire.Object{wire.MetadataCreatedBy: systemCreator},
			Config:   settings.Config, Context: settings.Context, CreatedAt: now, UpdatedAt: now,
		}
		if _, err := s.assistants.add(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// assistantID returns the id of an assistant, for which a client may give the id of a graph.
func (s *Server) assistantID(text string) (id string, ok bool) {
	if s.serves(text) {
		return wire.AssistantUUID(text), true
	}
	id, err := checkID("assistant_id", text)
	return id, err == nil
}

// assistant returns the assistant of the path, if the caller may do the action to it.
func (c *call) assistant(action string) (assistant, error) {
	id, ok := c.server.assistantID(c.PathValue("assistant_id"))
	if !ok {
		return assistant{}, invalid("assistant_id must be a UUID or the id of a graph (got %.100q)", c.PathValue("assistant_id"))
	}
	filter, err := c.allow("assistants", action, id)
	if err != nil {
		return assistant{}, err
	}
	return c.server.visibleAssistant(c.Context(), id, filter)
}

func (s *Server) visibleAssistant(ctx context.Context, id string, filter Filter) (assistant, error) {
	a, found, err := s.assistants.get(ctx, id)
	if err != nil {
		return assistant{}, err
	}
	if !found || !passes(a.record.Metadata, filter) {
		return assistant{}, noAssistant()
	}
	return a.record, nil
}

// runnable returns the assistant that a run names, by its id or the id of a graph. The assistants
// of graphs are for all.
func (c *call) runnable(text string) (wire.Assistant, error) {
	id, ok := c.server.assistantID(text)
	if ok {
		filter, err := c.allow("assistants", "read", id)
		if err != nil {
			return wire.Assistant{}, err
		}
		a, found, err := c.server.assistants.get(c.Context(), id)
		if err != nil {
			return wire.Assistant{}, err
		}
		if found && c.server.serves(a.record.GraphID) && (c.server.isSystem(id) || passes(a.record.Metadata, filter)) {
			return a.record.Assistant, nil
		}
	}
	return wire.Assistant{}, wire.Errorf(wire.CodeAssistantNotFound,
		"No assistant found for %q. Make sure the assistant ID is for a valid assistant or a valid graph ID.", text)
}

// passes reports whether the metadata of a record pass a filter.
func passes(metadata wire.Object, filter Filter) bool {
	return len(filter) == 0 || filter.accepts(decoded(metadata))
}
