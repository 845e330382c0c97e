package agui

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/weftrun/weft/server/chat"
	"github.com/weftrun/weft/server/wire"
)

// Projector makes events of the protocol.
type Projector struct {
	Thread, Run string // as the client names them
	// Messages are the fields of the state that are lists of messages. They are not in snapshots.
	Messages []string

	texts     map[string]bool // messages whose text is open
	reasoning string          // the message whose reasoning is open
	steps     map[string]int  // tasks of a node that run
	snapshot  json.RawMessage
	asked     []wire.Interrupt
	paused    bool
}

// event is an event of the protocol. Its members are written by name.
type event map[string]any

// Begin returns the first event of a run.
func (p *Projector) Begin(at time.Time) []json.RawMessage {
	return p.events(at, event{"type": "RUN_STARTED", "threadId": p.Thread, "runId": p.Run})
}

func (p *Projector) events(at time.Time, list ...event) (out []json.RawMessage) {
	for _, e := range list {
		e["timestamp"] = at.UnixMilli()
		if data, err := json.Marshal(e); err == nil { // of strings and JSON
			out = append(out, data)
		}
	}
	return out
}

// Project returns the events of an event.
func (p *Projector) Project(e chat.Event, at time.Time) []json.RawMessage {
	var list []event
	switch e.Kind {
	case chat.StepStart:
		if p.steps == nil {
			p.steps = map[string]int{}
		}
		if p.steps[e.Name]++; p.steps[e.Name] == 1 {
			list = append(list, event{"type": "STEP_STARTED", "stepName": e.Name})
		}
	case chat.StepEnd:
		if p.steps[e.Name] == 0 {
			break // it was not run again
		}
		if p.steps[e.Name]--; p.steps[e.Name] == 0 {
			list = append(list, event{"type": "STEP_FINISHED", "stepName": e.Name})
		}
	case chat.Reasoning:
		id := e.Message + "-reasoning"
		if p.reasoning != e.Message {
			list = append(p.endReasoning(), event{"type": "REASONING_START", "messageId": id},
				event{"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"})
			p.reasoning = e.Message
		}
		list = append(list, event{"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": e.Delta})
	case chat.Text:
		list = p.endReasoning()
		if p.texts == nil {
			p.texts = map[string]bool{}
		}
		if !p.texts[e.Message] {
			p.texts[e.Message] = true
			list = append(list, event{"type": "TEXT_MESSAGE_START", "messageId": e.Message, "role": "assistant"})
		}
		list = append(list, event{"type": "TEXT_MESSAGE_CONTENT", "messageId": e.Message, "delta": e.Delta})
	case chat.Call:
		list = append(p.endReasoning(), event{"type": "TOOL_CALL_START", "toolCallId": e.CallID, "toolCallName": e.Name, "parentMessageId": e.Message})
	case chat.Arguments:
		list = append(list, event{"type": "TOOL_CALL_ARGS", "toolCallId": e.CallID, "delta": e.Delta})
	case chat.CallEnd:
		list = append(list, event{"type": "TOOL_CALL_END", "toolCallId": e.CallID})
	case chat.End:
		list = p.endReasoning()
		if p.texts[e.Message] {
			delete(p.texts, e.Message)
			list = append(list, event{"type": "TEXT_MESSAGE_END", "messageId": e.Message})
		}
	case chat.Result:
		list = append(list, event{"type": "TOOL_CALL_RESULT", "messageId": e.Message, "toolCallId": e.CallID, "content": e.Delta, "role": "tool"})
	case chat.State:
		if s := Without(e.Data, p.Messages); !bytes.Equal(s, p.snapshot) {
			p.snapshot = s
			list = append(list, event{"type": "STATE_SNAPSHOT", "snapshot": s})
		}
	case chat.Custom:
		name := e.Name
		if name == "" {
			name = "custom"
		}
		list = append(list, event{"type": "CUSTOM", "name": name, "value": e.Data})
	case chat.Asked:
		p.asked, p.paused = e.Questions, true
	case chat.Ended:
		list = p.end(e)
	}
	return p.events(at, list...)
}

func (p *Projector) endReasoning() (list []event) {
	if p.reasoning != "" {
		id := p.reasoning + "-reasoning"
		list = append(list, event{"type": "REASONING_MESSAGE_END", "messageId": id}, event{"type": "REASONING_END", "messageId": id})
		p.reasoning = ""
	}
	return list
}

// end returns the last events of a run.
func (p *Projector) end(e chat.Event) (list []event) {
	if e.Error != nil {
		return []event{{"type": "RUN_ERROR", "message": e.Error.Message, "code": e.Error.Error}}
	}
	for _, name := range slices.Sorted(maps.Keys(p.steps)) {
		if p.steps[name] > 0 {
			list = append(list, event{"type": "STEP_FINISHED", "stepName": name})
		}
	}
	outcome := map[string]any{"type": "success"}
	switch {
	case e.Cancelled:
		outcome["type"] = "cancelled"
	case len(p.asked) > 0:
		outcome = map[string]any{"type": "interrupt", "interrupts": interrupts(p.asked)}
	case p.paused:
		list = append(list, event{"type": "CUSTOM", "name": "breakpoint", "value": true})
	}
	return append(list, event{"type": "RUN_FINISHED", "threadId": p.Thread, "runId": p.Run, "outcome": outcome})
}

// interrupts returns questions in the form of the protocol.
func interrupts(list []wire.Interrupt) (out []map[string]any) {
	for _, in := range list {
		one := map[string]any{"id": in.ID, "reason": "question", "metadata": map[string]any{"value": in.Value}}
		if q := in.Weft; q != nil {
			one["reason"], one["message"] = q.Kind, q.Prompt
			if isObject(q.Schema) {
				one["responseSchema"] = q.Schema
			}
			if !q.ExpiresAt.IsZero() {
				one["expiresAt"] = q.ExpiresAt.Format(time.RFC3339)
			}
		}
		out = append(out, one)
	}
	return out
}

func isObject(data json.RawMessage) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal(data, &o) == nil && o != nil
}

// Without returns a state without some of its fields.
func Without(values json.RawMessage, fields []string) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(values, &all) != nil || all == nil {
		return json.RawMessage("{}")
	}
	for _, name := range fields {
		delete(all, name)
	}
	out, _ := json.Marshal(all) // of JSON
	return out
}

// Changed returns the fields of a client's state that are not as in the state of the thread. It
// leaves out some fields.
func Changed(client map[string]json.RawMessage, values json.RawMessage, without []string) map[string]json.RawMessage {
	var now map[string]json.RawMessage
	_ = json.Unmarshal(values, &now) // a thread that never ran has none
	changed := map[string]json.RawMessage{}
	for name, v := range client {
		if !slices.Contains(without, name) && !equal(v, now[name]) {
			changed[name] = v
		}
	}
	return changed
}

// equal reports whether two values are the same JSON.
func equal(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	x1, _ := json.Marshal(x)
	y1, _ := json.Marshal(y)
	return bytes.Equal(x1, y1)
}
