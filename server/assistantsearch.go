package server

import (
	"strings"

	"github.com/weftrun/weft/server/wire"
)

// assistantSearch is the body of a search for assistants.
type assistantSearch struct {
	page
	GraphID   string      `json:"graph_id"`
	Name      string      `json:"name"`
	Metadata  wire.Object `json:"metadata"`
	SortBy    string      `json:"sort_by"`
	SortOrder string      `json:"sort_order"`
}

// assistantKeys are the keys by which assistants are sorted; nil is the order of creation.
var assistantKeys = map[string]func(a *assistant) string{
	"":             nil,
	"created_at":   nil,
	"updated_at":   func(a *assistant) string { return sortKey(a.UpdatedAt) },
	"assistant_id": func(a *assistant) string { return a.AssistantID },
	"graph_id":     func(a *assistant) string { return a.GraphID },
	"name":         func(a *assistant) string { return a.Name },
}

// match returns the condition of the search.
func (q assistantSearch) match(filter Filter) (func(a *assistant) bool, error) {
	want, err := wanted(q.Metadata)
	if err != nil {
		return nil, err
	}
	name := strings.ToLower(q.Name)
	return func(a *assistant) bool {
		if q.GraphID != "" && a.GraphID != q.GraphID || !strings.Contains(strings.ToLower(a.Name), name) {
			return false
		}
		return matchMetadata(a.Metadata, want, filter)
	}, nil
}

func searchAssistants(c *call) error {
	var q assistantSearch
	if err := c.decode(&q); err != nil {
		return err
	}
	filter, err := c.allow("assistants", "search", "")
	if err != nil {
		return err
	}
	match, err := q.match(filter)
	if err != nil {
		return err
	}
	return answerSearch(c, c.server.assistants.records, q.page, assistantFields, assistantKeys, q.SortBy, q.SortOrder, search[assistant]{match: match},
		func(a assistant) any { return a.Assistant })
}

func countAssistants(c *call) error {
	var q assistantSearch
	if err := c.decode(&q); err != nil {
		return err
	}
	filter, err := c.allow("assistants", "search", "")
	if err != nil {
		return err
	}
	match, err := q.match(filter)
	if err != nil {
		return err
	}
	_, total, err := c.server.assistants.find(c.Context(), search[assistant]{match: match})
	if err != nil {
		return err
	}
	return c.answer(total)
}
