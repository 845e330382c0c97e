package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/weftrun/weft/state/message"
)

// Types of messages on the wire.
const (
	typeHuman  = "human"
	typeSystem = "system"
	typeAI     = "ai"
	typeTool   = "tool"
	typeRemove = "remove"
)

// RemoveAll is the id of a message of type remove that removes all messages.
const RemoveAll = "__remove_all__"

// Members of additional_kwargs and response_metadata that hold what a message on the wire has no
// place for.
const (
	keyMetadata = "weft_metadata"
	keyMessage  = "weft_message"
	keyCreated  = "created"
)

var roleTypes = map[message.Role]string{
	message.RoleUser: typeHuman, message.RoleSystem: typeSystem, message.RoleAssistant: typeAI, message.RoleTool: typeTool,
}

// Messages returns messages as a list on the wire. A tool message with several results is several
// messages there, with the ids ID, ID#1 and so on.
func Messages(ms []message.Message) (json.RawMessage, error) {
	all := []json.RawMessage{}
	for i := range ms {
		written, err := writeMessage(&ms[i])
		if err != nil {
			return nil, fmt.Errorf("wire: message %d: %w", i, err)
		}
		all = append(all, written...)
	}
	return json.Marshal(all)
}

// MessagesField returns a field that is a message.Log, as JSON of Weft, as a list on the wire. It
// takes the messages of a state and the writes of a task. A write that replaces a call of a message
// is left out.
func MessagesField(data json.RawMessage) (json.RawMessage, error) {
	if isNull(data) {
		return json.RawMessage("[]"), nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return nil, fmt.Errorf("wire: messages: %w", err)
	}
	all := []json.RawMessage{}
	for i, item := range items {
		written, err := writeItem(item)
		if err != nil {
			return nil, fmt.Errorf("wire: message %d: %w", i, err)
		}
		all = append(all, written...)
	}
	return json.Marshal(all)
}

// writeItem writes a message, or a write to a message.Log.
func writeItem(item json.RawMessage) ([]json.RawMessage, error) {
	var op struct {
		Append, With json.RawMessage
		Replace      string
		Remove       string
		RemoveAll    bool            `json:"remove_all"`
		ReplaceCall  json.RawMessage `json:"replace_call"`
	}
	if m := members(item); m["role"] == nil {
		if err := json.Unmarshal(item, &op); err != nil {
			return nil, err
		}
	}
	switch {
	case op.ReplaceCall != nil:
		return nil, nil
	case op.RemoveAll:
		return removal(RemoveAll)
	case op.Remove != "":
		return removal(op.Remove)
	case op.Append != nil:
		item = op.Append
	case op.Replace != "":
		item = op.With
	}
	var m message.Message
	if err := json.Unmarshal(item, &m); err != nil {
		return nil, err
	}
	if m.ID == "" {
		m.ID = op.Replace
	}
	return writeMessage(&m)
}

func removal(id string) ([]json.RawMessage, error) {
	var o object
	o.field("type", typeRemove)
	o.field("content", "")
	o.field("additional_kwargs", Object{})
	o.field("response_metadata", Object{})
	o.field("id", id)
	data, err := o.end()
	return []json.RawMessage{data}, err
}

// writeMessage writes a message. What the wire has no place for is added in the form of Weft.
func writeMessage(m *message.Message) ([]json.RawMessage, error) {
	written, err := writePlain(m, nil)
	if err != nil || isPlain(m) {
		return written, err
	}
	own, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if back, err := readGroup(written); err == nil {
		if again, err := json.Marshal(back); err == nil && bytes.Equal(own, again) {
			return written, nil
		}
	}
	return writePlain(m, own)
}

// isPlain reports whether a message is on the wire without loss, as nearly all are.
func isPlain(m *message.Message) bool {
	if len(m.Extra) > 0 || m.Usage != nil || len(m.Results) > 1 || len(m.Metadata) > 0 || !m.Created.IsZero() {
		return false
	}
	plain := func(p message.Part) bool { return p.Type == message.TypeText && len(p.Extra) == 0 }
	for _, c := range m.Calls {
		if len(c.Extra) > 0 || c.Edited != nil || !isObject(c.Arguments) {
			return false
		}
	}
	for _, r := range m.Results {
		if len(r.Extra) > 0 || slices.ContainsFunc(r.Content, func(p message.Part) bool { return !plain(p) }) {
			return false
		}
	}
	return !slices.ContainsFunc(m.Content, func(p message.Part) bool { return !plain(p) })
}

// writePlain writes a message, with own as its form in Weft, if it is not nil.
func writePlain(m *message.Message, own json.RawMessage) (all []json.RawMessage, err error) {
	if m.Role != message.RoleTool {
		data, err := writeOne(m, nil, 0, own)
		return []json.RawMessage{data}, err
	}
	for i := range m.Results {
		data, err := writeOne(m, &m.Results[i], i, own)
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

// wireKeys are the members of a message that writeOne writes itself.
var wireKeys = []string{
	"type", "content", "tool_call_id", "name", "status", "additional_kwargs", "response_metadata", "id", "tool_calls",
	"invalid_tool_calls", "usage_metadata", "role",
}

// writeOne writes a message, or result number i of a tool message. Only the first has what belongs
// to the message.
func writeOne(m *message.Message, r *message.Result, i int, own json.RawMessage) (json.RawMessage, error) {
	var o object
	o.field("type", roleTypes[m.Role])
	if r == nil {
		o.field("content", contentOf(m.Content))
	} else {
		o.field("content", contentOf(r.Content))
		o.field("tool_call_id", r.CallID)
	}
	if m.Name != "" {
		o.field("name", m.Name)
	}
	if r != nil {
		o.field("status", map[bool]string{false: "success", true: "error"}[r.IsError])
	}
	kwargs, response := Object{}, Object{}
	if i == 0 {
		kwargs, response = sidesOf(m, own)
	}
	o.field("additional_kwargs", kwargs)
	o.field("response_metadata", response)
	o.field("id", resultID(m.ID, i))
	if m.Role == message.RoleAssistant {
		writeCalls(&o, m.Calls)
	}
	if m.Usage != nil && i == 0 {
		o.field("usage_metadata", usageOf(m.Usage))
	}
	extra := map[string]json.RawMessage{}
	if r != nil {
		maps.Copy(extra, r.Extra)
	}
	if i == 0 {
		maps.Copy(extra, m.Extra)
	}
	for _, name := range wireKeys {
		delete(extra, name)
	}
	o.fields(extra)
	return o.end()
}

// sidesOf returns additional_kwargs and response_metadata.
func sidesOf(m *message.Message, own json.RawMessage) (kwargs, response Object) {
	kwargs, response = Object{}, Object{}
	maps.Copy(kwargs, members(m.Extra["additional_kwargs"]))
	maps.Copy(response, members(m.Extra["response_metadata"]))
	if len(m.Metadata) > 0 {
		kwargs[keyMetadata], _ = json.Marshal(m.Metadata) // of JSON
	}
	if own != nil {
		kwargs[keyMessage] = own
	}
	if !m.Created.IsZero() {
		response[keyCreated], _ = json.Marshal(m.Created.Format(time.RFC3339Nano))
	}
	return kwargs, response
}

// resultID returns the id of result i of a tool message.
func resultID(id string, i int) string {
	if i == 0 {
		return id
	}
	return id + "#" + strconv.Itoa(i)
}

// writeCalls writes the calls of an assistant. Those whose arguments are no object are invalid.
func writeCalls(o *object, calls []message.Call) {
	valid, invalid := []json.RawMessage{}, []json.RawMessage{}
	for _, c := range calls {
		args := c.Arguments
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		var call object
		call.field("id", c.ID)
		call.field("name", c.Name)
		if isObject(args) {
			call.field("args", args)
			call.field("type", "tool_call")
		} else {
			call.field("args", string(args))
			call.field("error", "the arguments must be a JSON object")
			call.field("type", "invalid_tool_call")
		}
		extra := maps.Clone(c.Extra)
		for _, name := range []string{"id", "name", "args", "type", "error", "function"} {
			delete(extra, name)
		}
		call.fields(extra)
		data, err := call.end()
		if err != nil && o.err == nil {
			o.err = err
		}
		if isObject(args) {
			valid = append(valid, data)
		} else {
			invalid = append(invalid, data)
		}
	}
	o.field("tool_calls", valid)
	o.field("invalid_tool_calls", invalid)
}

func usageOf(u *message.Usage) Usage {
	return Usage{InputTokens: u.Input, OutputTokens: u.Output, TotalTokens: u.Input + u.Output}
}

// contentOf returns content on the wire: a string where it is one text, else a list of blocks.
func contentOf(parts []message.Part) any {
	if len(parts) == 0 {
		return ""
	}
	if p := parts[0]; len(parts) == 1 && p.Type == message.TypeText && len(p.Extra) == 0 {
		return p.Text
	}
	blocks := make([]any, len(parts))
	for i, p := range parts {
		blocks[i] = p
		if p.Type == message.TypeImage {
			blocks[i] = imageBlock(p)
		}
	}
	return blocks
}

// imageBlock returns an image on the wire. What is known of an image_url beside its address is in
// Extra under that name.
func imageBlock(p message.Part) map[string]any {
	block := map[string]any{}
	for name, v := range p.Extra {
		block[name] = v
	}
	if p.URL == "" {
		block["type"], block["source_type"] = "image", "base64"
		block["mime_type"], block["data"] = p.MIME, base64.StdEncoding.EncodeToString(p.Bytes)
		return block
	}
	at := map[string]any{}
	for name, v := range members(p.Extra["image_url"]) {
		at[name] = v
	}
	at["url"] = p.URL
	block["type"], block["image_url"] = "image_url", at
	if p.MIME != "" {
		block["mime_type"] = p.MIME
	}
	return block
}
