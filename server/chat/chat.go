package chat

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrun/weft/server/wire"
)

// Reader reads the records of one run, in their order.
type Reader struct {
	run     string
	begun   bool
	before  bool                // the messages before the run are known
	open    map[string]*message // by the id in the log
	streams map[string]int      // how often a message of this id has begun
	results map[string]bool     // the calls whose results were read
}

// message is one that is streamed.
type message struct {
	id    string
	calls map[int]*call
	order []int
}

type call struct {
	id, name, args string
	begun          bool
}

// NewReader returns a reader of a run.
func NewReader(run string) *Reader {
	return &Reader{run: run, open: map[string]*message{}, streams: map[string]int{}, results: map[string]bool{}}
}

// Read returns the events of a record. It ignores those of other runs.
func (r *Reader) Read(e wire.Event) (out []Event, err error) {
	if e.Run != r.run {
		return nil, nil
	}
	root := e.NS == ""
	switch e.Kind {
	case wire.KindRun:
		if r.begun { // another attempt
			return r.closeAll(), nil
		}
		r.begun = true
		return []Event{{Kind: Begin}}, nil
	case wire.KindTask:
		if root {
			return []Event{{Kind: StepStart, Name: e.Node}}, nil
		}
	case wire.KindToken:
		var t wire.Token
		if err := json.Unmarshal(e.Data, &t); err != nil {
			return nil, err
		}
		return r.token(t), nil
	case wire.KindResult:
		if root {
			return r.result(e)
		}
	case wire.KindState:
		var s wire.StateAt
		if err := json.Unmarshal(e.Data, &s); err != nil {
			return nil, err
		}
		if !root || s.Phase == 0 { // phase 0 is before the input
			return nil, nil
		}
		r.known(s.Values, s.Messages)
		if !s.Quiet {
			return []Event{{Kind: State, Data: s.Values}}, nil
		}
	case wire.KindValues:
		var v wire.Values
		if err := json.Unmarshal(e.Data, &v); err != nil {
			return nil, err
		}
		if root {
			r.known(v.Values, v.Messages)
			return []Event{{Kind: State, Data: v.Values}}, nil
		}
	case wire.KindCustom:
		if root {
			var named struct {
				Name string `json:"name"`
			}
			_ = json.Unmarshal(e.Data, &named) // anything may be emitted
			return []Event{{Kind: Custom, Name: named.Name, Data: e.Data}}, nil
		}
	case wire.KindPause:
		var p wire.Pause
		if err := json.Unmarshal(e.Data, &p); err != nil {
			return nil, err
		}
		return append(r.closeAll(), Event{Kind: Asked, Questions: p.Interrupts}), nil
	case wire.KindEnd:
		var end wire.RunEnd
		if err := json.Unmarshal(e.Data, &end); err != nil {
			return nil, err
		}
		if end.Handed {
			return r.closeAll(), nil
		}
		return append(r.closeAll(), EndOf(end)), nil
	}
	return nil, nil
}

// EndOf returns the event of a run's end.
func EndOf(end wire.RunEnd) Event {
	e := Event{Kind: Ended, Cancelled: end.Status == wire.RunInterrupted}
	if !e.Cancelled {
		e.Error = end.Error
	}
	return e
}

// known reads the messages of the state with which the run begins. They are not those of the run.
func (r *Reader) known(values json.RawMessage, messages []string) {
	if r.before {
		return
	}
	r.before = true
	var fields map[string]json.RawMessage
	if json.Unmarshal(values, &fields) != nil {
		return
	}
	for _, name := range messages {
		for _, m := range ReadMessages(fields[name]) {
			r.streams[m.ID] = max(r.streams[m.ID], 1)
			if m.ToolCallID != "" {
				r.results[m.ToolCallID] = true
			}
		}
	}
}

// closeAll ends the messages that are open: what streamed them has stopped.
func (r *Reader) closeAll() (out []Event) {
	for _, id := range slices.Sorted(maps.Keys(r.open)) {
		out = append(out, r.end(id, nil)...)
	}
	return out
}

// token returns the events of a piece of a message.
func (r *Reader) token(t wire.Token) (out []Event) {
	if t.Role != "" && t.Role != "ai" {
		return nil
	}
	m := r.open[t.ID]
	if m != nil && t.Index == 0 { // the node is tried again
		out = r.end(t.ID, nil)
		m = nil
	}
	if m == nil {
		if t.Final && t.Index > 0 {
			return nil // it was closed
		}
		m = &message{id: t.ID, calls: map[int]*call{}}
		if r.streams[t.ID]++; r.streams[t.ID] > 1 {
			m.id += "#" + strconv.Itoa(r.streams[t.ID])
		}
		r.open[t.ID] = m
		out = append(out, Event{Kind: Start, Message: m.id})
	}
	if t.Reasoning != "" {
		out = append(out, Event{Kind: Reasoning, Message: m.id, Delta: t.Reasoning})
	}
	if text := t.Text + t.Whole; text != "" {
		out = append(out, Event{Kind: Text, Message: m.id, Delta: text})
	}
	if t.Call != nil {
		out = append(out, m.grow(*t.Call)...)
	}
	if t.Final {
		out = append(out, r.end(t.ID, t.Usage)...)
	}
	return out
}

// grow returns the events of a piece of a call. A call begins when its id and its name are known.
func (m *message) grow(p wire.CallPiece) (out []Event) {
	c := m.calls[p.Index]
	if c == nil {
		c = &call{}
		m.calls[p.Index] = c
		m.order = append(m.order, p.Index)
	}
	if c.id == "" {
		c.id = p.ID
	}
	if c.name == "" {
		c.name = p.Name
	}
	c.args += p.Args
	add := p.Args
	if !c.begun && c.id != "" && c.name != "" {
		c.begun, add = true, c.args
		out = append(out, Event{Kind: Call, Message: m.id, CallID: c.id, Name: c.name})
	}
	if c.begun && add != "" {
		out = append(out, Event{Kind: Arguments, Message: m.id, CallID: c.id, Name: c.name, Delta: add})
	}
	return out
}

// end returns the events of the end of a message.
func (r *Reader) end(id string, usage *wire.Usage) (out []Event) {
	m := r.open[id]
	if m == nil {
		return nil
	}
	delete(r.open, id)
	for _, i := range m.order {
		if c := m.calls[i]; c.begun {
			out = append(out, Event{Kind: CallEnd, Message: m.id, CallID: c.id, Name: c.name, Data: object(c.args)})
		}
	}
	return append(out, Event{Kind: End, Message: m.id, Usage: usage})
}

// object returns a text that is a JSON object, or nil.
func object(text string) json.RawMessage {
	if text = strings.TrimSpace(text); strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return nil
}

// result returns the events of a task that has ended: its messages that were not streamed.
func (r *Reader) result(e wire.Event) (out []Event, err error) {
	var d wire.TaskResult
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if len(d.Result) > 0 && d.Error == nil && !d.Cached {
		if err := json.Unmarshal(d.Result, &fields); err != nil {
			return nil, err
		}
	}
	for _, name := range d.Messages {
		for _, m := range ReadMessages(fields[name]) {
			out = append(out, r.whole(m)...)
		}
	}
	return append(out, Event{Kind: StepEnd, Name: e.Node}), nil
}

// whole returns the events of a message that a node has added.
func (r *Reader) whole(m Message) (out []Event) {
	switch {
	case m.Type == "tool" && !r.results[m.ToolCallID]:
		r.results[m.ToolCallID] = true
		return []Event{{Kind: Result, Message: m.ID, CallID: m.ToolCallID, Name: m.Name, Delta: m.Text, Failed: m.Status == "error"}}
	case m.Type != "ai" || r.streams[m.ID] > 0:
		return nil
	}
	r.streams[m.ID]++
	out = []Event{{Kind: Start, Message: m.ID}}
	if m.Text != "" {
		out = append(out, Event{Kind: Text, Message: m.ID, Delta: m.Text})
	}
	for _, c := range m.Calls {
		out = append(out, Event{Kind: Call, Message: m.ID, CallID: c.ID, Name: c.Name},
			Event{Kind: Arguments, Message: m.ID, CallID: c.ID, Name: c.Name, Delta: string(c.Args)},
			Event{Kind: CallEnd, Message: m.ID, CallID: c.ID, Name: c.Name, Data: object(string(c.Args))})
	}
	return append(out, Event{Kind: End, Message: m.ID, Usage: m.Usage})
}
