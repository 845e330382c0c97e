package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/state/message"
)

// MessageError is returned for a message that a client sent and that cannot be read.
type MessageError struct {
	Index int // in the list; 0 for a single message
	Err   error
}

func (e *MessageError) Error() string { return fmt.Sprintf("wire: message %d: %v", e.Index, e.Err) }

func (e *MessageError) Unwrap() error { return e.Err }

// ReadMessages reads what a client writes to a list of messages, and returns it in the form that
// message.Log reads. newID gives the ids of messages that have none. It reads a list or one of:
//
//   - a string, which is a message of a person
//   - ["role", "text"], inside of a list
//   - an object with a type: human, ai, system, tool or remove
//   - an object with a role: user, human, assistant, ai, system, developer or tool
//   - the form in which LangChain stores its objects, with "lc": 1
//   - what message.Log reads besides
//
// Members that are null are dropped, and so are unknown ones that Weft has under the same name for
// something else. Adjacent results ID, ID#1 and so on become one message. Otherwise reading what
// [Messages] returned gives the same messages.
func ReadMessages(data json.RawMessage, newID func() string) (json.RawMessage, error) {
	data = bytes.TrimSpace(data)
	if isNull(data) {
		return json.RawMessage("null"), nil
	}
	var items []json.RawMessage
	if data[0] != '[' {
		items = append(items, data)
	} else if err := json.Unmarshal(data, &items); err != nil {
		return nil, &MessageError{0, err}
	}
	var out []json.RawMessage
	for i := 0; i < len(items); {
		group := items[i : i+groupLength(items[i:])]
		written, err := readItem(group, newID)
		if err != nil {
			return nil, &MessageError{i, err}
		}
		out = append(out, written)
		i += len(group)
	}
	if out == nil {
		return json.RawMessage("[]"), nil
	}
	return json.Marshal(out)
}

// groupLength returns how many of the first messages are results of one tool message.
func groupLength(items []json.RawMessage) int {
	first := members(items[0])
	id := text(first["id"])
	if text(first["type"]) != typeTool || id == "" {
		return 1
	}
	n := 1
	for n < len(items) {
		m := members(items[n])
		if text(m["type"]) != typeTool || text(m["id"]) != resultID(id, n) {
			break
		}
		n++
	}
	return n
}

// readItem reads one message, or the results of one.
func readItem(group []json.RawMessage, newID func() string) (json.RawMessage, error) {
	if id, ok := removed(group[0]); ok {
		if id == RemoveAll {
			return json.RawMessage(`{"remove_all":true}`), nil
		}
		return json.Marshal(map[string]string{"remove": id})
	}
	if m := members(group[0]); m != nil && m["type"] == nil && m["role"] == nil && m["lc"] == nil {
		for _, name := range []string{"remove", "remove_all", "replace", "replace_call", "append"} {
			if m[name] != nil {
				return group[0], nil
			}
		}
	}
	m, err := readGroup(group)
	if err != nil {
		return nil, err
	}
	if m.ID == "" {
		m.ID = newID()
	}
	for i := range m.Calls {
		if m.Calls[i].ID == "" {
			m.Calls[i].ID = newID()
		}
	}
	return json.Marshal(m)
}

// removed returns the id of a message of type remove.
func removed(item json.RawMessage) (id string, ok bool) {
	m := normal(item)
	if text(m["type"]) != typeRemove {
		return "", false
	}
	return text(m["id"]), true
}

// readGroup reads the message that several results belong to, or one message.
func readGroup(group []json.RawMessage) (m message.Message, err error) {
	for i, item := range group {
		one, own, err := readOne(item)
		if err != nil {
			return m, err
		}
		if own != nil && i == 0 {
			if whole, ok := readOwn(own, group); ok {
				return whole, nil
			}
		}
		if i == 0 {
			m = one
		} else {
			m.Results = append(m.Results, one.Results...)
		}
	}
	return m, nil
}

// readOwn reads a message in Weft's form, which came beside the others. It counts only if nothing
// was changed since.
func readOwn(own json.RawMessage, group []json.RawMessage) (m message.Message, ok bool) {
	if json.Unmarshal(own, &m) != nil {
		return m, false
	}
	if own, _ = json.Marshal(m); own == nil {
		return m, false
	}
	written, err := writePlain(&m, own)
	if err != nil || len(written) != len(group) {
		return m, false
	}
	return m, slices.EqualFunc(written, group, sameJSON)
}

// sameJSON reports whether two values are equal, whatever the order of their members.
func sameJSON(a, b json.RawMessage) bool {
	canonical := func(data json.RawMessage) []byte {
		var v any
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if dec.Decode(&v) != nil {
			return nil
		}
		out, _ := json.Marshal(v)
		return out
	}
	x := canonical(a)
	return x != nil && bytes.Equal(x, canonical(b))
}

// normal returns the members of a message in the form with a type; nil if it is none.
func normal(item json.RawMessage) map[string]json.RawMessage {
	item = bytes.TrimSpace(item)
	var said string
	var pair []json.RawMessage
	quote := func(s string) json.RawMessage { data, _ := json.Marshal(s); return data }
	switch {
	case json.Unmarshal(item, &said) == nil && len(item) > 0 && item[0] == '"':
		return map[string]json.RawMessage{"type": quote(typeHuman), "content": item}
	case json.Unmarshal(item, &pair) == nil && len(pair) == 2:
		return map[string]json.RawMessage{"type": pair[0], "content": pair[1]}
	}
	m := members(item)
	if text(m["type"]) == "constructor" && m["lc"] != nil {
		var class []string
		_ = json.Unmarshal(m["id"], &class)
		kwargs := members(m["kwargs"])
		if kwargs == nil {
			kwargs = map[string]json.RawMessage{}
		}
		if len(class) > 0 {
			kwargs["type"] = quote(classType(class[len(class)-1]))
		}
		return kwargs
	}
	if m != nil && (m["type"] == nil || m["role"] != nil && typeOf(text(m["type"])) == "") {
		m["type"] = m["role"]
	}
	return m
}

// classType returns the type of messages of a class of LangChain.
func classType(class string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(class, "Chunk"), "Message")
	return strings.ToLower(name)
}

// typeOf returns the type of a message that a client calls so, or "".
func typeOf(s string) string {
	switch strings.ToLower(s) {
	case "human", "user", "humanmessagechunk":
		return typeHuman
	case "ai", "assistant", "aimessagechunk":
		return typeAI
	case "system", "developer", "systemmessagechunk":
		return typeSystem
	case "tool", "toolmessagechunk":
		return typeTool
	case typeRemove:
		return typeRemove
	}
	return ""
}

var typeRoles = map[string]message.Role{
	typeHuman: message.RoleUser, typeSystem: message.RoleSystem, typeAI: message.RoleAssistant, typeTool: message.RoleTool,
}

// reserved are members of a message on the wire that are never Extra of a message in Weft: they are
// read themselves, or mean something else there.
var reserved = slices.Concat(wireKeys, []string{
	"tool_results", "metadata", "usage", "created", "timestamp", "messageId", "tool_call_chunks", "lc_kwargs",
})

// readOne reads one message; own is its form in Weft, if it came with one.
func readOne(item json.RawMessage) (m message.Message, own json.RawMessage, err error) {
	f := normal(item)
	if f == nil {
		return m, nil, errors.New("it must be a string, or an object with a type or a role")
	}
	kind := typeOf(text(f["type"]))
	if m.Role = typeRoles[kind]; m.Role == "" {
		return m, nil, fmt.Errorf("the type must be human, ai, system, tool or remove (got %.40s)", f["type"])
	}
	m.ID, m.Name = text(f["id"]), text(f["name"])
	content, err := readContent(f["content"])
	if err != nil {
		return m, nil, err
	}
	switch m.Role {
	case message.RoleTool:
		r := message.Result{CallID: text(f["tool_call_id"]), Content: content, IsError: text(f["status"]) == "error"}
		if r.CallID == "" {
			return m, nil, errors.New("a tool message must have a tool_call_id")
		}
		if a := f["artifact"]; !isNull(a) {
			r.Extra = map[string]json.RawMessage{"artifact": a}
		}
		delete(f, "artifact")
		m.Results = []message.Result{r}
	case message.RoleAssistant:
		if m.Calls, err = readCalls(f); err != nil {
			return m, nil, err
		}
		m.Usage = readUsage(f["usage_metadata"])
		m.Content = content
	default:
		m.Content = content
	}
	own = readSides(&m, f)
	for name, v := range f {
		if !isNull(v) && !slices.Contains(reserved, name) && !(name == "example" && string(v) == "false") {
			setExtra(&m, name, v)
		}
	}
	return m, own, nil
}

func setExtra(m *message.Message, name string, v json.RawMessage) {
	if m.Extra == nil {
		m.Extra = map[string]json.RawMessage{}
	}
	m.Extra[name] = v
}

// readSides reads additional_kwargs and response_metadata.
func readSides(m *message.Message, f map[string]json.RawMessage) (own json.RawMessage) {
	kwargs, response := members(f["additional_kwargs"]), members(f["response_metadata"])
	if meta := members(kwargs[keyMetadata]); meta != nil {
		m.Metadata = meta
		delete(kwargs, keyMetadata)
	}
	own = kwargs[keyMessage]
	delete(kwargs, keyMessage)
	if at, err := time.Parse(time.RFC3339Nano, text(response[keyCreated])); err == nil && !at.IsZero() {
		m.Created = at
		delete(response, keyCreated)
	}
	for name, side := range map[string]map[string]json.RawMessage{"additional_kwargs": kwargs, "response_metadata": response} {
		if len(side) > 0 {
			data, _ := json.Marshal(side) // of JSON
			setExtra(m, name, data)
		}
	}
	return own
}

func readUsage(data json.RawMessage) *message.Usage {
	var u struct {
		Input  *int `json:"input_tokens"`
		Output *int `json:"output_tokens"`
	}
	if json.Unmarshal(data, &u) != nil || u.Input == nil || u.Output == nil {
		return nil
	}
	return &message.Usage{Input: *u.Input, Output: *u.Output}
}

// readCalls reads tool_calls and invalid_tool_calls.
func readCalls(f map[string]json.RawMessage) (calls []message.Call, err error) {
	for _, name := range []string{"tool_calls", "invalid_tool_calls"} {
		if isNull(f[name]) {
			continue
		}
		var all []map[string]json.RawMessage
		if err := json.Unmarshal(f[name], &all); err != nil {
			return nil, fmt.Errorf("%s must be a list of objects", name)
		}
		for i, c := range all {
			call, err := readCall(c)
			if err != nil {
				return nil, fmt.Errorf("%s: call %d: %w", name, i, err)
			}
			calls = append(calls, call)
		}
	}
	return calls, nil
}

// readCall reads a call in the form of LangChain or of OpenAI.
func readCall(c map[string]json.RawMessage) (call message.Call, err error) {
	call.ID, call.Name, call.Arguments = text(c["id"]), text(c["name"]), c["args"]
	if fn := members(c["function"]); fn != nil {
		call.Name, call.Arguments = text(fn["name"]), fn["arguments"]
	}
	var written string
	if json.Unmarshal(call.Arguments, &written) == nil && !isNull(call.Arguments) {
		call.Arguments = json.RawMessage(written) // arguments that may not be JSON
	}
	if isNull(call.Arguments) {
		call.Arguments = nil
	}
	if call.Name == "" {
		return call, errors.New("it must have a name")
	}
	for name, v := range c {
		switch name {
		case "id", "name", "args", "type", "error", "function", "arguments", "arguments_text", "index":
		default:
			if !isNull(v) {
				if call.Extra == nil {
					call.Extra = map[string]json.RawMessage{}
				}
				call.Extra[name] = v
			}
		}
	}
	return call, nil
}
