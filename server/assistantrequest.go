package server

import (
	"maps"

	"github.com/weftrun/weft/server/wire"
)

// assistantRequest is the body of a request that creates or changes an assistant.
type assistantRequest struct {
	ID          *string      `json:"assistant_id"`
	GraphID     *string      `json:"graph_id"`
	Name        *string      `json:"name"`
	Description *string      `json:"description"`
	Config      *wire.Config `json:"config"`
	Context     wire.Object  `json:"context"`
	Metadata    wire.Object  `json:"metadata"`
	IfExists    string       `json:"if_exists"`
}

func (c *call) decodeAssistant() (q assistantRequest, err error) {
	if err := c.decode(&q); err != nil {
		return q, err
	}
	if err := c.checkMetadata(q.Metadata); err != nil {
		return q, err
	}
	if q.GraphID != nil && !c.server.serves(*q.GraphID) {
		return q, wire.Errorf(wire.CodeGraphNotFound, "Graph %.100q not found", *q.GraphID)
	}
	return q, nil
}

// metadataValues is how many values metadata may have, for each is in the index of the threads.
const metadataValues = 200

// checkMetadata returns the error of metadata that are too large.
func (c *call) checkMetadata(metadata wire.Object) error {
	size, most := 0, c.server.limits.Metadata
	for key, v := range metadata {
		size += len(key) + len(v) + len(`"":,`)
	}
	if size > most {
		return tooLarge("metadata must have at most %d bytes (got %d)", most, size)
	}
	if n := len(leaves(nil, nil, decoded(metadata))); n > metadataValues {
		return tooLarge("metadata must have at most %d values (got %d)", metadataValues, n)
	}
	return nil
}

// checkIfExists reads what a request wants of a resource that exists.
func checkIfExists(text string) (doNothing bool, err error) {
	switch text {
	case "", "raise":
		return false, nil
	case "do_nothing":
		return true, nil
	}
	return false, invalid("if_exists must be raise or do_nothing (got %.100q)", text)
}

func createAssistant(c *call) error {
	q, err := c.decodeAssistant()
	if err != nil {
		return err
	}
	doNothing, err := checkIfExists(q.IfExists)
	switch {
	case err != nil:
		return err
	case q.GraphID == nil:
		return invalid("graph_id must be set")
	}
	id := newID()
	if q.ID != nil {
		if id, err = checkID("assistant_id", *q.ID); err != nil {
			return err
		}
	}
	metadata, filter, err := c.allowWrite("assistants", "create", id, q.Metadata)
	if err != nil {
		return err
	}
	now := wire.At(c.server.now())
	a := wire.Assistant{
		AssistantID: id, GraphID: *q.GraphID, Name: untitled, Description: q.Description, Metadata: metadata, Version: 1,
		Context: q.Context, CreatedAt: now, UpdatedAt: now,
	}
	if q.Config != nil {
		a.Config = *q.Config
	}
	if q.Name != nil {
		a.Name = *q.Name
	}
	added, err := c.server.assistants.add(c.Context(), a)
	switch {
	case err != nil:
		return err
	case added:
		return c.answer(a)
	}
	old, err := c.server.visibleAssistant(c.Context(), id, filter)
	if err != nil || !doNothing {
		return wire.Errorf(wire.CodeAlreadyExists, "Assistant %s already exists", id)
	}
	return c.answer(old.Assistant)
}

func getAssistant(c *call) error {
	a, err := c.assistant("read")
	if err != nil {
		return err
	}
	return c.answer(a.Assistant)
}

func updateAssistant(c *call) error {
	old, err := c.assistant("update")
	if err != nil {
		return err
	}
	q, err := c.decodeAssistant()
	if err != nil {
		return err
	}
	metadata, filter, err := c.allowWrite("assistants", "update", old.AssistantID, q.Metadata)
	if err != nil {
		return err
	}
	a, found, err := c.server.assistants.addVersion(c.Context(), old.AssistantID, func(a *assistant) error {
		if !passes(a.Metadata, filter) {
			return noAssistant()
		}
		return q.apply(a, metadata, c)
	})
	if err == nil && !found {
		err = noAssistant()
	}
	if err != nil {
		return err
	}
	return c.answer(a.Assistant)
}

// apply changes an assistant as the request wants.
func (q assistantRequest) apply(a *assistant, metadata wire.Object, c *call) error {
	if q.GraphID != nil {
		a.GraphID = *q.GraphID
	}
	if q.Name != nil {
		a.Name = *q.Name
	}
	if q.Description != nil {
		a.Description = q.Description
	}
	if q.Config != nil {
		a.Config = *q.Config
	}
	if q.Context != nil {
		a.Context = q.Context
	}
	a.Metadata = merged(a.Metadata, metadata)
	a.UpdatedAt = wire.At(c.server.now())
	return c.checkMetadata(a.Metadata)
}

// merged returns an object with the members of another one added or replaced.
func merged(old, more wire.Object) wire.Object {
	all := make(wire.Object, len(old)+len(more))
	maps.Copy(all, old)
	maps.Copy(all, more)
	return all
}

func deleteAssistant(c *call) error {
	deleteThreads, err := c.flag("delete_threads")
	if err != nil {
		return err
	}
	a, err := c.assistant("delete")
	if err != nil {
		return err
	}
	if c.server.isSystem(a.AssistantID) {
		return wire.Errorf(wire.CodeForbidden, "The assistant of a graph must not be deleted")
	}
	if deleteThreads {
		if err := c.deleteThreadsOf(a.AssistantID); err != nil {
			return err
		}
	}
	if err := c.server.assistants.remove(c.Context(), a.AssistantID); err != nil {
		return err
	}
	return c.answer([]string{a.AssistantID})
}
