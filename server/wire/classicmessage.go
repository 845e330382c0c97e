package wire

import "encoding/json"

type chunkPiece struct {
	ID    *string `json:"id"`
	Name  *string `json:"name"`
	Args  string  `json:"args"`
	Index int     `json:"index"`
	Type  string  `json:"type"`
}

func pieceOf(c CallPiece) chunkPiece {
	p := chunkPiece{Args: c.Args, Index: c.Index, Type: "tool_call_chunk"}
	if c.ID != "" {
		p.ID = &c.ID
	}
	if c.Name != "" {
		p.Name = &c.Name
	}
	return p
}

// chunk returns a message that is streamed, or a piece of one.
func chunk(kind, id, content, reasoning string, calls []CallPiece, usage *Usage) json.RawMessage {
	var o object
	o.field("type", kind)
	o.field("content", content)
	kwargs := Object{}
	if reasoning != "" {
		kwargs.set("reasoning_content", reasoning)
	}
	o.field("additional_kwargs", kwargs)
	o.field("response_metadata", Object{})
	o.field("id", id)
	if kind == typeAI {
		pieces := []chunkPiece{}
		whole := []json.RawMessage{}
		for _, c := range calls {
			pieces = append(pieces, pieceOf(c))
			if isObject(json.RawMessage(c.Args)) && c.Name != "" {
				var call object
				call.field("id", c.ID)
				call.field("name", c.Name)
				call.field("args", json.RawMessage(c.Args))
				call.field("type", "tool_call")
				data, _ := call.end() // of JSON
				whole = append(whole, data)
			}
		}
		o.field("tool_calls", whole)
		o.field("invalid_tool_calls", []any{})
		o.field("tool_call_chunks", pieces)
	}
	if usage != nil {
		o.field("usage_metadata", usage)
	}
	data, _ := o.end() // of strings and JSON
	return data
}

func (s *sender) token(d *Token) {
	p := s.c.streamed[d.ID]
	first := p == nil || d.Index == 0
	if first {
		p = &partial{}
		s.c.streamed[d.ID] = p
	}
	add := d.Text
	if d.Final {
		add += d.Whole
	}
	p.text += add
	p.reasoning += d.Reasoning
	var calls []CallPiece
	if d.Call != nil {
		calls = []CallPiece{*d.Call}
		p.grow(*d.Call)
	}
	if d.Usage != nil {
		p.usage = d.Usage
	}
	meta := s.metadata(d.Task, d.Step, false)
	for name, v := range d.Metadata {
		meta.set(name, v)
	}
	if first {
		s.model(0, "on_chat_model_start", meta, map[string]any{})
	}
	if d.Final {
		defer func() {
			s.model(5, "on_chat_model_end", meta, map[string]any{"output": chunk(d.Role, d.ID, p.text, p.reasoning, p.calls, p.usage)})
		}()
	}
	empty := add == "" && d.Reasoning == "" && d.Call == nil && d.Usage == nil
	if empty && d.Final && d.Index > 0 {
		return
	}
	piece := chunk(d.Role, d.ID, add, d.Reasoning, calls, d.Usage)
	if s.visible(ModeMessagesTuple) {
		s.send(1, s.name(ModeMessages), []any{piece, meta})
	}
	if s.visible(ModeMessages) {
		if first {
			s.send(2, "messages/metadata", map[string]any{d.ID: map[string]any{"metadata": meta}})
		}
		s.send(3, "messages/partial", []json.RawMessage{chunk(d.Role, d.ID, p.text, p.reasoning, p.calls, p.usage)})
	}
	s.model(4, "on_chat_model_stream", meta, map[string]any{"chunk": piece})
}

// model sends an event of a model in the mode events.
func (s *sender) model(slot int, event string, meta Object, data map[string]any) {
	if s.visible(ModeEvents) {
		s.send(slot, ModeEvents, map[string]any{"event": event, "name": s.e.Node, "run_id": s.e.Run, "tags": s.tags(), "metadata": meta, "data": data})
	}
}

// grow adds a piece to the calls of a message.
func (p *partial) grow(c CallPiece) {
	for i := range p.calls {
		if p.calls[i].Index == c.Index {
			p.calls[i].Args += c.Args
			if p.calls[i].ID == "" {
				p.calls[i].ID = c.ID
			}
			if p.calls[i].Name == "" {
				p.calls[i].Name = c.Name
			}
			return
		}
	}
	p.calls = append(p.calls, c)
}
