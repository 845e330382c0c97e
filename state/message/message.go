package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/internal/compact"
)

// Message is one entry of a conversation. Treat it as immutable when it is in a [Log], because
// other tasks read its slices and maps. [Message.Clone] returns a copy to modify.
//
// The JSON form is one object with the names below, in this order, fields without a
// value left out, and unknown fields after them by name:
//
//	id, role, name, content, tool_calls, tool_results, metadata, usage, created
//
// content is a string where it is one plain text, and an array of parts otherwise.
// created is RFC 3339 with nanoseconds. The same message gives the same bytes.
type Message struct {
	// ID identifies the message in its log. The log assigns one if it is "".
	ID   string
	Role Role
	// Name is the speaker's own name, where a role has several speakers.
	Name string
	// Content holds the parts of a system, user or assistant message, in order.
	Content []Part
	// Calls are the tool calls of an assistant message.
	Calls []Call
	// Results are the results of a tool message, of one or several calls.
	Results []Result
	// Metadata is for the application; see With and Meta.
	Metadata map[string]json.RawMessage
	// Usage is the usage that the model reported; nil if it reported none.
	Usage *Usage
	// Created is the time of creation by the caller's clock; zero means unknown.
	Created time.Time
	// Extra holds unknown JSON fields. They are preserved.
	Extra map[string]json.RawMessage
}

// System returns a system message.
func System(text string) Message { return say(RoleSystem, Text(text)) }

// User returns a user message of one text.
func User(text string) Message { return say(RoleUser, Text(text)) }

// UserParts returns a user message of several parts.
func UserParts(parts ...Part) Message { return say(RoleUser, parts...) }

// Assistant returns an assistant message with the calls, and with text unless it is "".
func Assistant(text string, calls ...Call) Message {
	m := Message{Role: RoleAssistant, Calls: calls}
	if text != "" {
		m.Content = []Part{Text(text)}
	}
	return m
}

// Tool returns a tool message with the results.
func Tool(results ...Result) Message { return Message{Role: RoleTool, Results: results} }

func say(r Role, parts ...Part) Message { return Message{Role: r, Content: parts} }

// Text returns the message's texts, one after the other: those of its content, or of
// a tool message its results.
func (m Message) Text() string {
	var b strings.Builder
	for _, p := range m.Content {
		b.WriteString(p.Text)
	}
	for _, r := range m.Results {
		b.WriteString(r.Text())
	}
	return b.String()
}

// With returns a copy of m with v, as JSON, under key in its metadata.
func (m Message) With(key string, v any) (Message, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return m, fmt.Errorf("message: metadata %q: %w", key, err)
	}
	m.Metadata = maps.Clone(m.Metadata)
	if m.Metadata == nil {
		m.Metadata = map[string]json.RawMessage{}
	}
	m.Metadata[key] = data
	return m, nil
}

// Meta decodes the metadata under key; ok is false when there is none.
func (m Message) Meta(key string, into any) (ok bool, err error) {
	data, ok := m.Metadata[key]
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return true, fmt.Errorf("message %q: metadata %q: %w", m.ID, key, err)
	}
	return true, nil
}

// Clone returns a copy that shares nothing with m.
func (m Message) Clone() Message {
	m.Content = cloneParts(m.Content)
	m.Calls = slices.Clone(m.Calls)
	for i := range m.Calls {
		m.Calls[i].Arguments = bytes.Clone(m.Calls[i].Arguments)
		m.Calls[i].Extra = cloneRaw(m.Calls[i].Extra)
		if e := m.Calls[i].Edited; e != nil {
			m.Calls[i].Edited = &Edit{e.By, bytes.Clone(e.Arguments)}
		}
	}
	m.Results = slices.Clone(m.Results)
	for i := range m.Results {
		m.Results[i].Content = cloneParts(m.Results[i].Content)
		m.Results[i].Extra = cloneRaw(m.Results[i].Extra)
	}
	m.Metadata, m.Extra = cloneRaw(m.Metadata), cloneRaw(m.Extra)
	if m.Usage != nil {
		u := *m.Usage
		u.Extra = cloneRaw(u.Extra)
		m.Usage = &u
	}
	return m
}

func cloneParts(parts []Part) []Part {
	parts = slices.Clone(parts)
	for i, p := range parts {
		parts[i].Data, parts[i].Bytes, parts[i].Extra = bytes.Clone(p.Data), bytes.Clone(p.Bytes), cloneRaw(p.Extra)
	}
	return parts
}

func cloneRaw(m map[string]json.RawMessage) map[string]json.RawMessage {
	m = maps.Clone(m)
	for k, v := range m {
		m[k] = bytes.Clone(v)
	}
	return m
}

// MarshalJSON returns the message as one object.
func (m Message) MarshalJSON() ([]byte, error) { return encoded(m) }

// AppendJSON appends what MarshalJSON returns to b.
func (m Message) AppendJSON(b compact.JSON) (compact.JSON, error) { return appended(b, m) }

func (m Message) encode(o *object) {
	o.text("id", m.ID)
	o.must("role", string(m.Role))
	o.text("name", m.Name)
	o.content(m.Content)
	fieldOf(o, "tool_calls", m.Calls)
	fieldOf(o, "tool_results", m.Results)
	if len(m.Metadata) > 0 {
		o.field("metadata", m.Metadata)
	}
	if m.Usage != nil {
		o.inner("usage", *m.Usage)
	}
	if !m.Created.IsZero() {
		o.field("created", m.Created)
	}
	o.close(m.Extra)
}

// UnmarshalJSON reads the form that MarshalJSON writes. Names are taken exactly as they are; fields
// that are not known go to Extra. Where a field is missing its name in other systems is read:
// timestamp for created, as RFC 3339 or in milliseconds since 1970; messageId for id; of a call
// args for arguments; of a result result for content.
func (m *Message) UnmarshalJSON(data []byte) error {
	f, err := fieldsOf(data)
	if err != nil {
		return err
	}
	var n Message
	f.take("id", &n.ID)
	f.must("role", &n.Role)
	f.take("name", &n.Name)
	n.Content = f.content()
	f.take("tool_calls", &n.Calls)
	f.take("tool_results", &n.Results)
	f.take("metadata", &n.Metadata)
	f.take("usage", &n.Usage)
	f.take("created", &n.Created)
	n.foreignNames(f)
	n.Extra, err = f.rest()
	if err == nil {
		*m = n
	}
	return err
}

// foreignNames reads fields by their names in other systems. What cannot be read stays, and is
// refused when the message is added to a log.
func (m *Message) foreignNames(f *fields) {
	if data, ok := f.left["timestamp"]; ok && m.Created.IsZero() {
		if at, ok := timestamp(data); ok {
			m.Created = at
			delete(f.left, "timestamp")
		}
	}
	if data, ok := f.left["messageId"]; ok {
		var id string
		if json.Unmarshal(data, &id) == nil && id != "" && (m.ID == "" || m.ID == id) {
			m.ID = id
			delete(f.left, "messageId")
		}
	}
}

// timestamp reads a time as RFC 3339 or in milliseconds since 1970.
func timestamp(data json.RawMessage) (at time.Time, ok bool) {
	var ms int64
	if json.Unmarshal(data, &ms) == nil && string(data) != "null" {
		return time.UnixMilli(ms).UTC(), true
	}
	return at, json.Unmarshal(data, &at) == nil && !at.IsZero()
}
