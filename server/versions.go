package server

import "github.com/weftrun/weft/server/wire"

func listVersions(c *call) error {
	a, err := c.assistant("read")
	if err != nil {
		return err
	}
	filter, err := c.allow("assistants", "read", a.AssistantID)
	if err != nil {
		return err
	}
	var q assistantSearch
	if err := c.decode(&q); err != nil {
		return err
	}
	want, err := wanted(q.Metadata)
	if err != nil {
		return err
	}
	match := func(a *wire.Assistant) bool { return matchMetadata(a.Metadata, want, filter) }
	byNumber := map[string]func(*wire.Assistant) string{"": func(a *wire.Assistant) string { return versionID(a.Version) }}
	return answerSearch(c, c.server.assistants.versions(a.AssistantID), q.page, assistantFields, byNumber, "", "", search[wire.Assistant]{match: match},
		func(a wire.Assistant) any { return a })
}

func setLatestVersion(c *call) error {
	a, err := c.assistant("update")
	if err != nil {
		return err
	}
	filter, err := c.allow("assistants", "update", a.AssistantID)
	if err != nil {
		return err
	}
	var q struct {
		Version *int `json:"version"`
	}
	if err := c.decode(&q); err != nil {
		return err
	}
	if q.Version == nil {
		n, err := c.number("version", 0)
		if err != nil {
			return err
		}
		q.Version = &n
	}
	v, found, err := c.server.assistants.versions(a.AssistantID).get(c.Context(), versionID(*q.Version))
	if err != nil {
		return err
	}
	if !found || !passes(v.record.Metadata, filter) {
		return wire.Errorf(wire.CodeVersionNotFound, "Version %d of the assistant not found", *q.Version)
	}
	a, found, err = c.server.assistants.change(c.Context(), a.AssistantID, func(a *assistant) error {
		created := a.CreatedAt
		a.Assistant = v.record
		a.CreatedAt, a.UpdatedAt = created, wire.At(c.server.now())
		return nil
	})
	if err == nil && !found {
		err = noAssistant()
	}
	if err != nil {
		return err
	}
	return c.answer(a.Assistant)
}
