package aisdk

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/weftrun/weft/server/chat"
)

// Header and Version mark the answers of a server.
const (
	Header  = "X-Vercel-AI-UI-Message-Stream"
	Version = "v1"
)

// Done is what ends a stream, after its last part.
const Done = "[DONE]"

// Projector makes the parts of a stream.
type Projector struct {
	Run string // the id

	step      bool   // is open
	text      string // the message whose text is open
	reasoning string
	waits     bool
}

type part map[string]any

// Begin returns the first parts.
func (p *Projector) Begin() []json.RawMessage {
	return encoded(part{"type": "start", "messageId": p.Run})
}

func encoded(list ...part) (out []json.RawMessage) {
	for _, e := range list {
		if data, err := json.Marshal(e); err == nil { // of strings and JSON
			out = append(out, data)
		}
	}
	return out
}

// Project returns the parts of an event.
func (p *Projector) Project(e chat.Event) []json.RawMessage {
	var list []part
	switch e.Kind {
	case chat.Start:
		list = append(p.endStep(), part{"type": "start-step"})
		p.step = true
	case chat.Reasoning:
		if p.reasoning != e.Message {
			list = append(p.endBlocks(), part{"type": "reasoning-start", "id": e.Message + "-reasoning"})
			p.reasoning = e.Message
		}
		list = append(list, part{"type": "reasoning-delta", "id": e.Message + "-reasoning", "delta": e.Delta})
	case chat.Text:
		if p.text != e.Message {
			list = append(p.endBlocks(), part{"type": "text-start", "id": e.Message})
			p.text = e.Message
		}
		list = append(list, part{"type": "text-delta", "id": e.Message, "delta": e.Delta})
	case chat.Call:
		list = append(p.endBlocks(), part{"type": "tool-input-start", "toolCallId": e.CallID, "toolName": e.Name, "dynamic": true})
	case chat.Arguments:
		list = append(list, part{"type": "tool-input-delta", "toolCallId": e.CallID, "inputTextDelta": e.Delta})
	case chat.CallEnd:
		if e.Data == nil {
			list = append(list, part{"type": "tool-input-error", "toolCallId": e.CallID, "toolName": e.Name, "input": nil, "dynamic": true,
				"errorText": "the arguments are not an object"})
			break
		}
		list = append(list, part{"type": "tool-input-available", "toolCallId": e.CallID, "toolName": e.Name, "input": e.Data, "dynamic": true})
	case chat.End:
		list = p.endBlocks()
	case chat.Result:
		if e.Failed {
			list = append(list, part{"type": "tool-output-error", "toolCallId": e.CallID, "errorText": e.Delta, "dynamic": true})
			break
		}
		list = append(list, part{"type": "tool-output-available", "toolCallId": e.CallID, "output": e.Delta, "dynamic": true})
	case chat.Custom:
		list = append(list, part{"type": "data-" + dataName(e.Name), "data": e.Data})
	case chat.Asked:
		p.waits = true
		for _, q := range e.Questions {
			data := map[string]any{"question_id": q.ID, "value": q.Value}
			if q.Weft != nil {
				data["prompt"], data["kind"] = q.Weft.Prompt, q.Weft.Kind
				if len(q.Weft.Schema) > 0 {
					data["schema"] = q.Weft.Schema
				}
			}
			list = append(list, part{"type": "data-question", "id": q.ID, "data": data})
		}
	case chat.Ended:
		list = append(p.endStep(), p.end(e)...)
	}
	return encoded(list...)
}

// dataName returns the name of a part with data.
func dataName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, name)
	if name == "" || name == "question" {
		return "custom"
	}
	return name
}

// endBlocks ends the text and the reasoning that are open.
func (p *Projector) endBlocks() (list []part) {
	if p.reasoning != "" {
		list = append(list, part{"type": "reasoning-end", "id": p.reasoning + "-reasoning"})
	}
	if p.text != "" {
		list = append(list, part{"type": "text-end", "id": p.text})
	}
	p.reasoning, p.text = "", ""
	return list
}

func (p *Projector) endStep() (list []part) {
	if list = p.endBlocks(); p.step {
		list, p.step = append(list, part{"type": "finish-step"}), false
	}
	return list
}

// end returns the last parts of a stream.
func (p *Projector) end(e chat.Event) []part {
	reason := "stop"
	switch {
	case e.Cancelled:
		return []part{{"type": "abort"}}
	case e.Error != nil:
		return []part{{"type": "error", "errorText": e.Error.Error + ": " + e.Error.Message}, {"type": "finish", "finishReason": "error"}}
	case p.waits:
		reason = "other"
	}
	return []part{{"type": "finish", "finishReason": reason}}
}
