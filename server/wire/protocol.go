package wire

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// protocolWidth is how many events of the protocol a record can give. The number of such an event
// is that of its record times the width, and its place.
const protocolWidth = 16

// ProtocolSeq returns the number of the last event that a record can give: a subscriber that has
// seen all of them asks for what follows with it.
func ProtocolSeq(seq uint64) uint64 { return seq*protocolWidth + protocolWidth - 1 }

// RecordSeq returns the number of the record that gave an event.
func RecordSeq(seq uint64) uint64 { return seq / protocolWidth }

var protocolChannels = []string{
	"lifecycle", "values", "updates", "messages", "tools", "input", "checkpoints", "tasks", "custom",
}

// Subscription selects events of the protocol.
type Subscription struct {
	// Channels are names of channels, or "custom:" and the name of what a node emits. None means
	// all.
	Channels []string `json:"channels"`
	// Namespaces are prefixes of namespaces; a segment without the id of a task matches its node
	// with any. None means all.
	Namespaces [][]string `json:"namespaces,omitempty"`
	// Depth is how many segments a namespace may have beyond its prefix; nil means any number.
	Depth *int `json:"depth,omitempty"`
	// Since is the number of the last event that the subscriber has.
	Since uint64 `json:"since,omitempty"`
}

// Check returns an *Error unless all channels are known.
func (s Subscription) Check() error {
	for _, c := range s.Channels {
		if !slices.Contains(protocolChannels, c) && !strings.HasPrefix(c, "custom:") {
			return Errorf(CodeInvalidRequest, "The channel must be one of %s, or custom:NAME (got %.40q)", strings.Join(protocolChannels, ", "), c)
		}
	}
	if s.Depth != nil && *s.Depth < 0 {
		return Errorf(CodeInvalidRequest, "The depth must not be negative (got %d)", *s.Depth)
	}
	return nil
}

// channel reports whether a subscription has a channel. name is that of a custom event.
func (s Subscription) channel(channel, name string) bool {
	return len(s.Channels) == 0 || slices.Contains(s.Channels, channel) || channel == "custom" && name != "" && slices.Contains(s.Channels, "custom:"+name)
}

// namespace reports whether a subscription has a namespace.
func (s Subscription) namespace(path []string) bool {
	if len(s.Namespaces) == 0 {
		return s.Depth == nil || len(path) <= *s.Depth
	}
	return slices.ContainsFunc(s.Namespaces, func(prefix []string) bool {
		if len(prefix) > len(path) || s.Depth != nil && len(path)-len(prefix) > *s.Depth {
			return false
		}
		for i, want := range prefix {
			node, _, _ := strings.Cut(path[i], ":")
			if want != path[i] && want != node {
				return false
			}
		}
		return true
	})
}

// ProtocolEvent is an event of the protocol.
type ProtocolEvent struct {
	Seq    uint64
	Method string
	Data   json.RawMessage // the whole event, one line
}

type protocolFrame struct {
	Type    string         `json:"type"`
	EventID string         `json:"event_id"`
	Seq     uint64         `json:"seq"`
	Method  string         `json:"method"`
	Params  protocolParams `json:"params"`
}

type protocolParams struct {
	Namespace []string        `json:"namespace"`
	Timestamp int64           `json:"timestamp"`
	Node      string          `json:"node,omitempty"`
	Data      json.RawMessage `json:"data"`
}

// Protocol projects the records of a thread to the events of the protocol. It must get the records
// in order, from the first that the log has, also if Since leaves out their events.
type Protocol struct {
	sub      Subscription
	graph    string // of the run, for a RunEnd that does not have it
	messages map[string]*blocks
}

// blocks are the content blocks of a message that is streamed.
type blocks struct {
	index int    // of the open block; -1 before the first
	kind  string // of the open block; "" if none is open
	call  int    // of the open block
	text  string // of the open block so far
	id    string // of the call of the open block
	name  string
}

// NewProtocol returns a projection.
func NewProtocol(s Subscription) *Protocol {
	return &Protocol{sub: s, messages: map[string]*blocks{}}
}

// protocolSender collects the events of one record.
type protocolSender struct {
	p    *Protocol
	e    Event
	path []string
	slot uint64
	out  []ProtocolEvent
}

// Project returns the events of a record, in their order.
func (p *Protocol) Project(e Event) ([]ProtocolEvent, error) {
	s := &protocolSender{p: p, e: e, path: []string{}}
	if e.NS != "" {
		s.path = strings.Split(e.NS, "|")
	}
	var err error
	switch e.Kind {
	case KindRun:
		err = decode(e, func(d *RunStart) {
			p.graph = d.Graph
			s.send("lifecycle", "", "", lifecycle{Event: "running", Graph: d.Graph})
		})
	case KindEnd:
		err = decode(e, s.end)
	case KindGraph:
		err = decode(e, func(d *GraphStatus) {
			s.send("lifecycle", "", "", lifecycle{Event: string(d.Phase), Graph: d.Name, Error: d.Error})
		})
	case KindTask:
		err = decode(e, func(d *TaskStart) {
			s.send("tasks", "", "", taskPayload{d.ID, e.Node, orNull(d.Input), triggers(e.Node, d.Send), []Interrupt{}, nil})
		})
	case KindResult:
		err = decode(e, s.result)
	case KindAsked:
		err = decode(e, s.asked)
	case KindAnswered:
		err = decode(e, func(d *Answered) {
			s.send("input", "input.answered", "", map[string]string{"interrupt_id": d.ID})
		})
	case KindState:
		err = decode(e, s.state)
	case KindValues:
		err = decode(e, func(d *Values) { s.send("values", "", "", d.Values) })
	case KindToken:
		err = decode(e, s.token)
	case KindTool:
		err = decode(e, func(d *ToolEvent) { s.send("tools", "", e.Node, toolData(d)) })
	case KindCustom:
		s.custom()
	}
	return s.out, err
}

func decode[T any](e Event, f func(*T)) error {
	var data T
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return err
	}
	f(&data)
	return nil
}

// send adds an event, if it is selected. Its number does not depend on what is selected.
func (s *protocolSender) send(channel, method, node string, data any) {
	s.sendNamed(channel, method, node, "", data)
}

func (s *protocolSender) sendNamed(channel, method, node, name string, data any) {
	seq := s.e.Seq*protocolWidth + s.slot
	s.slot++
	if method == "" {
		method = channel
	}
	if seq <= s.p.sub.Since || !s.p.sub.channel(channel, name) || !s.p.sub.namespace(s.path) {
		return
	}
	raw, err := json.Marshal(data)
	if err != nil { // no record of a Recorder has parts that are not JSON
		return
	}
	id := strconv.FormatUint(seq, 10)
	if channel == "lifecycle" {
		id = runEventID(s.e.Run, id)
	}
	frame, _ := json.Marshal(protocolFrame{"event", id, seq, method, protocolParams{s.path, s.e.At, node, raw}})
	s.out = append(s.out, ProtocolEvent{seq, method, frame})
}

// runEventID returns the id of an event of the lifecycle. Such an event has no other field for its
// run, and a client that has started one must not take the end of the run before for its own.
func runEventID(run, seq string) string { return "synth:" + run + ":" + seq }

// EventSeq reads an event_id, and returns the number of the event.
func EventSeq(id string) (uint64, error) {
	if rest, ok := strings.CutPrefix(id, "synth:"); ok {
		if id = ""; strings.Contains(rest, ":") {
			id = rest[strings.LastIndexByte(rest, ':')+1:] // an id of a run may have colons
		}
	}
	return strconv.ParseUint(id, 10, 64)
}

type lifecycle struct {
	Event     string `json:"event"`
	Graph     string `json:"graph_name"`
	Error     string `json:"error,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`
}

func (s *protocolSender) end(d *RunEnd) {
	clear(s.p.messages) // no more of them comes
	if d.Handed {
		return
	}
	l := lifecycle{Event: "completed", Graph: cmp.Or(d.Graph, s.p.graph)}
	switch {
	case d.Error != nil && d.Status != RunInterrupted:
		l.Event, l.Error = "failed", d.Error.Message
	case d.Status == RunInterrupted:
		l.Cancelled = true
	case d.Waiting:
		l.Event = "interrupted"
	}
	s.send("lifecycle", "", "", l)
}

func (s *protocolSender) result(d *TaskResult) {
	p := resultPayload{d.ID, s.e.Node, d.Result, "", shortened(d.Interrupts)}
	if p.Result == nil {
		p.Result = json.RawMessage("{}")
	}
	if d.Error != nil {
		p.Error = d.Error.Message
	}
	if d.Result != nil && d.Error == nil {
		s.send("updates", "", s.e.Node, d.Result)
	} else {
		s.slot++
	}
	s.send("tasks", "", "", p)
}

func (s *protocolSender) asked(d *Asked) {
	if d.Interrupt == nil {
		return
	}
	if d.NS != "" {
		s.path = strings.Split(d.NS, "|")
	}
	s.send("input", "input.requested", s.e.Node, struct {
		ID      string          `json:"interrupt_id"`
		Payload json.RawMessage `json:"payload"`
		Value   json.RawMessage `json:"value"`
	}{d.Interrupt.ID, orNull(d.Interrupt.Value), orNull(d.Interrupt.Value)})
}

func (s *protocolSender) state(d *StateAt) {
	if d.Phase == 0 {
		return
	}
	s.send("checkpoints", "", "", d.envelope())
	if !d.Quiet {
		s.send("values", "", "", d.Values)
	}
}

// custom sends what a node emitted: an object as it is, and as its payload.
func (s *protocolSender) custom() {
	m := members(s.e.Data)
	if m == nil {
		s.send("custom", "", s.e.Node, map[string]json.RawMessage{"payload": s.e.Data})
		return
	}
	m["payload"] = s.e.Data
	s.sendNamed("custom", "", s.e.Node, text(m["name"]), m)
}

// messageEvent sends an event of the channel messages. Its members come in order: name, value, …
func (s *protocolSender) messageEvent(event string, members ...any) {
	var o object
	o.field("event", event)
	for i := 0; i < len(members); i += 2 {
		o.field(members[i].(string), members[i+1])
	}
	data, err := o.end()
	if err == nil {
		s.send("messages", "", s.e.Node, data)
	}
}

// content returns the open block as content.
func (b *blocks) content(start bool) map[string]any {
	text := b.text
	if start {
		text = ""
	}
	switch b.kind {
	case "reasoning":
		return map[string]any{"type": "reasoning", "reasoning": text}
	case "call":
		if !start && isObject(json.RawMessage(text)) {
			return map[string]any{"type": "tool_call", "id": b.id, "name": b.name, "args": json.RawMessage(text)}
		}
		return map[string]any{"type": "tool_call_chunk", "id": b.id, "name": b.name, "args": text}
	}
	return map[string]any{"type": "text", "text": text}
}

func (s *protocolSender) token(d *Token) {
	b := s.p.messages[d.ID]
	if b == nil || d.Index == 0 {
		b = &blocks{index: -1}
		s.p.messages[d.ID] = b
		meta := map[string]string{"langgraph_node": s.e.Node}
		for name, v := range d.Metadata {
			meta[name] = v
		}
		s.messageEvent("message-start", "id", d.ID, "role", d.Role, "metadata", meta)
	}
	if d.Reasoning != "" {
		s.block(b, "reasoning", 0)
		b.text += d.Reasoning
		s.messageEvent("content-block-delta", "index", b.index, "delta", map[string]string{"type": "reasoning-delta", "reasoning": d.Reasoning})
	}
	if t := d.Text + d.Whole; t != "" {
		s.block(b, "text", 0)
		b.text += t
		s.messageEvent("content-block-delta", "index", b.index, "delta", map[string]string{"type": "text-delta", "text": t})
	}
	if c := d.Call; c != nil {
		if b.kind != "call" || b.call != c.Index {
			s.finish(b)
			b.id, b.name = c.ID, c.Name
		}
		s.block(b, "call", c.Index)
		b.text += c.Args
		fields := map[string]any{"type": "tool_call_chunk", "id": b.id, "name": b.name, "args": b.text}
		s.messageEvent("content-block-delta", "index", b.index, "delta", map[string]any{"type": "block-delta", "fields": fields})
	}
	if d.Final {
		calls := b.kind == "call"
		s.finish(b)
		reason := "stop"
		if calls {
			reason = "tool_use"
		}
		if d.Usage != nil {
			s.messageEvent("message-finish", "reason", reason, "usage", d.Usage)
		} else {
			s.messageEvent("message-finish", "reason", reason)
		}
		delete(s.p.messages, d.ID)
	}
}

// block makes the open block one of a kind: blocks never interleave.
func (s *protocolSender) block(b *blocks, kind string, call int) {
	if b.kind == kind && b.call == call {
		return
	}
	s.finish(b)
	b.index++
	b.kind, b.call, b.text = kind, call, ""
	s.messageEvent("content-block-start", "index", b.index, "content", b.content(true))
}

// finish closes the open block.
func (s *protocolSender) finish(b *blocks) {
	if b.kind != "" {
		s.messageEvent("content-block-finish", "index", b.index, "content", b.content(false))
		b.kind = ""
	}
}
