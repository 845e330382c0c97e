package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Modes of the classic streams.
const (
	ModeValues        = "values"
	ModeUpdates       = "updates"
	ModeMessagesTuple = "messages-tuple"
	ModeMessages      = "messages"
	ModeCustom        = "custom"
	ModeTasks         = "tasks"
	ModeCheckpoints   = "checkpoints"
	ModeDebug         = "debug"
	ModeEvents        = "events"
	ModeTools         = "tools"
)

var classicModes = []string{
	ModeValues, ModeUpdates, ModeMessagesTuple, ModeMessages, ModeCustom, ModeTasks, ModeCheckpoints, ModeDebug, ModeEvents, ModeTools,
}

// CheckModes returns an *Error unless all modes of a classic stream are known.
func CheckModes(modes []string) error {
	for _, m := range modes {
		if !slices.Contains(classicModes, m) {
			return Errorf(CodeInvalidRequest, "The stream mode must be one of %s (got %.40q)", strings.Join(classicModes, ", "), m)
		}
	}
	return nil
}

// ServerEvent is an event of a classic stream.
type ServerEvent struct {
	// ID counts, with gaps, the events of the run. In a stream of a thread it is the number of the
	// record, which several events may have.
	ID   uint64
	Name string
	Data json.RawMessage // one line
}

// ClassicOptions select what a classic stream shows.
type ClassicOptions struct {
	// Run is the id of the run; "" means the runs of all records, for a stream of a thread.
	Run string
	// Modes are the stream modes; none means values.
	Modes []string
	// Subgraphs shows all events of subgraphs, with their namespace in the name of the event.
	Subgraphs bool
	Dialect   Dialect
	// After leaves out the events with this id or a lower one; -1 leaves out none.
	After int64
}

// Classic projects the records of a run to the events of a classic stream. It must get the records
// in order, from the first that the log has, also if After leaves out their events.
type Classic struct {
	o        ClassicOptions
	start    RunStart
	run      string
	values   map[string]json.RawMessage // the newest state by namespace
	streamed map[string]*partial        // messages by id
	complete map[string]bool            // messages that were shown whole
}

// partial is a message that is streamed.
type partial struct {
	text, reasoning string
	calls           []CallPiece
	usage           *Usage
}

// NewClassic returns a projection.
func NewClassic(o ClassicOptions) *Classic {
	if len(o.Modes) == 0 {
		o.Modes = []string{ModeValues}
	}
	return &Classic{o: o, values: map[string]json.RawMessage{}, streamed: map[string]*partial{}, complete: map[string]bool{}}
}

// sender collects the events of one record.
type sender struct {
	c   *Classic
	e   Event
	out []ServerEvent
}

// Project returns the events of a record, in their order.
func (c *Classic) Project(e Event) ([]ServerEvent, error) {
	if c.o.Run != "" && e.Run != c.o.Run {
		return nil, nil
	}
	s := &sender{c: c, e: e}
	var err error
	switch e.Kind {
	case KindRun:
		err = project(s, (*sender).run)
	case KindEnd:
		err = project(s, (*sender).end)
	case KindTask:
		err = project(s, (*sender).task)
	case KindResult:
		err = project(s, (*sender).result)
	case KindAsked:
		err = project(s, (*sender).asked)
	case KindState:
		err = project(s, (*sender).state)
	case KindValues:
		err = project(s, (*sender).shown)
	case KindPause:
		err = project(s, (*sender).pause)
	case KindToken:
		err = project(s, (*sender).token)
	case KindTool:
		err = project(s, (*sender).tool)
	case KindCustom:
		if s.visible(ModeCustom) {
			s.send(0, s.name(ModeCustom), e.Data)
		}
	}
	return s.out, err
}

// project decodes the Data of a record and projects it.
func project[T any](s *sender, f func(*sender, *T)) error {
	var data T
	if err := json.Unmarshal(s.e.Data, &data); err != nil {
		return fmt.Errorf("wire: record %d of run %s: %w", s.e.N, s.e.Run, err)
	}
	f(s, &data)
	return nil
}

// send adds the event with the id in this slot of the record's ids.
func (s *sender) send(slot int, name string, data any) {
	id := s.e.N + uint64(slot)
	if s.c.o.Run == "" {
		id = s.e.Seq
	}
	if s.c.o.After >= 0 && id <= uint64(s.c.o.After) {
		return
	}
	raw, err := json.Marshal(data)
	if err != nil { // a part is not JSON, which no record of a Recorder has
		raw, name = []byte(`{"error":"Error","message":"the event cannot be shown"}`), "error"
	}
	s.out = append(s.out, ServerEvent{ID: id, Name: name, Data: raw})
}

// has reports whether the stream has a mode.
func (s *sender) has(mode string) bool { return slices.Contains(s.c.o.Modes, mode) }

// visible reports whether an event of the mode is shown for the namespace of the record. Those of
// subgraphs need Subgraphs, but for what nodes emit and models write.
func (s *sender) visible(mode string) bool {
	always := mode == ModeCustom || mode == ModeMessages || mode == ModeMessagesTuple || mode == ModeTools || mode == ModeEvents
	return s.has(mode) && (s.e.NS == "" || s.c.o.Subgraphs || always)
}

// name returns the name of an event of the record: with Subgraphs it has the namespace.
func (s *sender) name(mode string) string {
	if s.c.o.Subgraphs && s.e.NS != "" {
		return mode + "|" + s.e.NS
	}
	return mode
}

func (s *sender) run(d *RunStart) {
	s.c.start, s.c.run = *d, s.e.Run
	s.send(0, "metadata", struct {
		RunID   string `json:"run_id"`
		Attempt int    `json:"attempt"`
	}{s.e.Run, d.Attempt})
	if s.has(ModeEvents) {
		s.send(1, ModeEvents, s.chain("on_chain_start", d.Graph, nil))
	}
}

func (s *sender) end(d *RunEnd) {
	if s.has(ModeEvents) && d.Error == nil && !d.Handed {
		s.send(0, ModeEvents, s.chain("on_chain_end", s.c.start.Graph, map[string]json.RawMessage{"output": orNull(s.c.values[""])}))
	}
	if d.Error != nil {
		s.send(1, "error", d.Error)
	}
	if s.c.o.Run == "" && !d.Handed {
		s.send(2, "metadata", struct {
			Status string `json:"status"`
			RunID  string `json:"run_id"`
		}{"run_done", s.e.Run})
	}
}

// orNull returns data, or null if there is none.
func orNull(data json.RawMessage) json.RawMessage {
	if data == nil {
		return json.RawMessage("null")
	}
	return data
}

// taskNS returns the namespace of a task.
func (s *sender) taskNS(id string) string {
	own := s.e.Node + ":" + id
	if s.e.NS == "" {
		return own
	}
	return s.e.NS + "|" + own
}

// metadata returns the metadata of a task's messages and events.
func (s *sender) metadata(id string, step int, send bool) Object {
	m := Object{}
	for name, v := range s.c.start.Metadata {
		m[name] = v
	}
	path := PullPath(s.e.Node)
	if send {
		path = PushPath(0)
	}
	m.set("langgraph_node", s.e.Node)
	m.set("langgraph_step", step)
	m.set("langgraph_triggers", triggers(s.e.Node, send))
	m.set("langgraph_path", path)
	m.set("langgraph_checkpoint_ns", s.taskNS(id))
	m.set("checkpoint_ns", s.taskNS(id))
	m.set("thread_id", s.c.start.Thread)
	m.set("run_id", s.e.Run)
	m.set(MetadataGraph, s.c.start.Graph)
	m.set(MetadataAssistant, s.c.start.Assistant)
	tags := s.c.start.Tags
	if tags == nil {
		tags = []string{}
	}
	m.set("tags", tags)
	return m
}

func triggers(node string, send bool) []string {
	if send {
		return []string{"__pregel_push"}
	}
	return []string{"branch:to:" + node}
}

type taskPayload struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Input      json.RawMessage `json:"input"`
	Triggers   []string        `json:"triggers"`
	Interrupts []Interrupt     `json:"interrupts"`
	Metadata   Object          `json:"metadata,omitempty"`
}

type resultPayload struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Result     json.RawMessage `json:"result"`
	Error      string          `json:"error,omitempty"`
	Interrupts []Interrupt     `json:"interrupts"`
}

type debugPayload struct {
	Step      int    `json:"step"`
	Timestamp string `json:"timestamp"`
	Type      string `json:"type"`
	Payload   any    `json:"payload"`
}

func (s *sender) debug(slot, step int, kind string, payload any) {
	if s.visible(ModeDebug) {
		s.send(slot, s.name(ModeDebug), debugPayload{step, At(s.e.Time()).String(), kind, payload})
	}
}

func (s *sender) task(d *TaskStart) {
	input := d.Input
	if !d.Send {
		input = s.c.values[s.e.NS]
	}
	p := taskPayload{d.ID, s.e.Node, orNull(input), triggers(s.e.Node, d.Send), []Interrupt{}, s.metadata(d.ID, d.Step, d.Send)}
	if s.visible(ModeTasks) {
		s.send(0, s.name(ModeTasks), p)
	}
	s.debug(1, d.Step, "task", p)
	if s.visible(ModeEvents) {
		s.send(2, ModeEvents, s.chain("on_chain_start", s.e.Node, map[string]json.RawMessage{"input": orNull(input)}))
	}
}

func (s *sender) result(d *TaskResult) {
	result := d.Result
	if result == nil {
		result = json.RawMessage("{}")
	}
	failed, asked := d.Error != nil, len(d.Interrupts) > 0
	finished := !failed && d.Result != nil
	if s.visible(ModeUpdates) && finished {
		var o object
		o.field(s.e.Node, result)
		if d.Cached {
			o.field("__metadata__", map[string]bool{"cached": true})
		}
		update, _ := o.end() // of JSON
		s.send(0, s.name(ModeUpdates), update)
	}
	p := resultPayload{d.ID, s.e.Node, result, "", shortened(d.Interrupts)}
	if failed {
		p.Error = d.Error.Message
	}
	if finished || failed || asked {
		if s.visible(ModeTasks) {
			s.send(1, s.name(ModeTasks), p)
		}
		s.debug(2, d.Step, "task_result", p)
	}
	all := members(d.Result)
	n := 8
	for _, name := range d.Messages {
		var list []json.RawMessage
		_ = json.Unmarshal(all[name], &list)
		for _, m := range list {
			s.whole(n, m, d)
			n++
		}
	}
	if s.visible(ModeEvents) && finished {
		s.send(5, ModeEvents, s.chain("on_chain_end", s.e.Node, map[string]json.RawMessage{"output": result}))
	}
}

// whole shows a message that a node added and that was not streamed.
func (s *sender) whole(slot int, m json.RawMessage, d *TaskResult) {
	f := members(m)
	id := text(f["id"])
	if s.c.complete["tuple "+id] || text(f["type"]) == typeRemove {
		return
	}
	s.c.complete["tuple "+id] = true
	if s.c.streamed[id] == nil && s.visible(ModeMessagesTuple) {
		s.send(slot, s.name(ModeMessages), []any{m, s.metadata(d.ID, d.Step, false)})
	}
}

// shortened returns questions as streams show them: with id and value.
func shortened(list []Interrupt) []Interrupt {
	out := make([]Interrupt, len(list))
	for i, in := range list {
		out[i] = Interrupt{ID: in.ID, Value: in.Value}
	}
	return out
}

func (s *sender) asked(d *Asked) {
	if !s.has(ModeUpdates) {
		return
	}
	list := []Interrupt{}
	if d.Interrupt != nil {
		list = shortened([]Interrupt{*d.Interrupt})
	}
	data := map[string][]Interrupt{"__interrupt__": list}
	if s.c.o.Subgraphs && d.NS != "" {
		s.send(0, ModeUpdates+"|"+d.NS, data)
	}
	s.send(1, ModeUpdates, data)
}

type debugConfig struct {
	Configurable Checkpoint `json:"configurable"`
}

type checkpointPayload struct {
	Config           debugConfig     `json:"config"`
	ParentConfig     *debugConfig    `json:"parent_config"`
	Values           json.RawMessage `json:"values"`
	Metadata         Object          `json:"metadata"`
	Next             []string        `json:"next"`
	Tasks            []ThreadTask    `json:"tasks"`
	Checkpoint       *Checkpoint     `json:"checkpoint"`
	ParentCheckpoint *Checkpoint     `json:"parent_checkpoint"`
}

// Envelope is a checkpoint without its state.
type Envelope struct {
	ID       string  `json:"id"`
	ParentID *string `json:"parent_id"`
	Step     int     `json:"step"`
	Source   string  `json:"source"`
}

func (d *StateAt) envelope() Envelope {
	e := Envelope{ID: d.Checkpoint, Step: d.Step, Source: d.Source}
	if d.Parent != "" {
		e.ParentID = &d.Parent
	}
	return e
}

func (s *sender) state(d *StateAt) {
	if !d.Quiet {
		s.c.values[s.e.NS] = d.Values
	}
	at := Checkpoint{ThreadID: s.c.start.Thread, CheckpointNS: s.e.NS, CheckpointID: &d.Checkpoint}
	p := checkpointPayload{Config: debugConfig{at}, Values: d.Values, Metadata: d.Metadata, Next: d.Next, Tasks: d.Tasks, Checkpoint: &at}
	if d.Parent != "" {
		parent := at
		parent.CheckpointID = &d.Parent
		p.ParentCheckpoint, p.ParentConfig = &parent, &debugConfig{parent}
	}
	if s.visible(ModeCheckpoints) {
		s.send(0, s.name(ModeCheckpoints), struct {
			Values   json.RawMessage `json:"values"`
			Metadata Object          `json:"metadata"`
			Next     []string        `json:"next"`
			Tasks    []ThreadTask    `json:"tasks"`
			Config   debugConfig     `json:"config"`
		}{p.Values, p.Metadata, p.Next, p.Tasks, p.Config})
	}
	s.debug(1, d.Step, "checkpoint", p)
	if d.Quiet || d.Phase == 0 {
		return
	}
	if s.c.o.Subgraphs && s.has(ModeValues) && !s.has(ModeCheckpoints) {
		s.send(2, s.name(ModeCheckpoints), d.envelope())
	}
	s.values(3, 4, d.Values, d.Messages)
}

func (s *sender) shown(d *Values) {
	s.c.values[s.e.NS] = d.Values
	s.values(0, 1, d.Values, d.Messages)
}

// values shows a state, and the messages in it that were not shown.
func (s *sender) values(slot, messages int, values json.RawMessage, fields []string) {
	if s.visible(ModeValues) {
		s.send(slot, s.name(ModeValues), values)
	}
	if !s.has(ModeMessages) || s.e.NS != "" && !s.c.o.Subgraphs {
		return
	}
	all := members(values)
	var fresh []json.RawMessage
	for _, name := range fields {
		var list []json.RawMessage
		_ = json.Unmarshal(all[name], &list)
		for _, m := range list {
			if id := text(members(m)["id"]); !s.c.complete[id] {
				s.c.complete[id] = true
				fresh = append(fresh, m)
			}
		}
	}
	if len(fresh) > 0 {
		s.send(messages, "messages/complete", fresh)
	}
}

func (s *sender) pause(d *Pause) {
	if !s.has(ModeValues) {
		return
	}
	values := d.Values
	if s.c.o.Dialect == JavaScript {
		values = json.RawMessage("{}")
	}
	data, err := withInterrupts(values, d.Interrupts)
	if err == nil {
		s.send(0, ModeValues, data)
	}
}

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
	empty := add == "" && d.Reasoning == "" && d.Call == nil && d.Usage == nil
	if empty && d.Final && d.Index > 0 {
		return
	}
	meta := s.metadata(d.Task, d.Step, false)
	for name, v := range d.Metadata {
		meta.set(name, v)
	}
	piece := chunk(d.Role, d.ID, add, d.Reasoning, calls, d.Usage)
	if s.visible(ModeMessagesTuple) {
		s.send(0, s.name(ModeMessages), []any{piece, meta})
	}
	if s.visible(ModeMessages) {
		if first {
			s.send(1, "messages/metadata", map[string]any{d.ID: map[string]any{"metadata": meta}})
		}
		s.send(2, "messages/partial", []json.RawMessage{chunk(d.Role, d.ID, p.text, p.reasoning, p.calls, p.usage)})
	}
	if s.visible(ModeEvents) {
		s.send(3, ModeEvents, map[string]any{"event": "on_chat_model_stream", "name": s.e.Node, "run_id": s.e.Run, "tags": s.tags(), "metadata": meta,
			"data": map[string]any{"chunk": piece}})
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

func (s *sender) tags() []string {
	if s.c.start.Tags == nil {
		return []string{}
	}
	return s.c.start.Tags
}

// chain returns an event of the mode events.
func (s *sender) chain(event, name string, data map[string]json.RawMessage) map[string]any {
	if data == nil {
		data = map[string]json.RawMessage{}
	}
	return map[string]any{"event": event, "name": name, "run_id": s.e.Run, "tags": s.tags(), "metadata": Object{}, "data": data}
}

func (s *sender) tool(d *ToolEvent) {
	if s.visible(ModeTools) {
		s.send(0, s.name(ModeTools), toolData(d))
	}
	if s.visible(ModeEvents) {
		switch d.Phase {
		case ToolStarted:
			s.send(1, ModeEvents, s.chain("on_tool_start", d.Name, map[string]json.RawMessage{"input": orNull(d.Input)}))
		case ToolFinished:
			s.send(1, ModeEvents, s.chain("on_tool_end", d.Name, map[string]json.RawMessage{"output": orNull(d.Output)}))
		}
	}
}

// toolData returns an event of the channel tools.
func toolData(d *ToolEvent) any {
	switch d.Phase {
	case ToolStarted:
		return struct {
			Event  string          `json:"event"`
			CallID string          `json:"tool_call_id"`
			Name   string          `json:"tool_name"`
			Input  json.RawMessage `json:"input"`
		}{"tool-started", d.CallID, d.Name, orNull(d.Input)}
	case ToolDelta:
		return struct {
			Event  string `json:"event"`
			CallID string `json:"tool_call_id"`
			Delta  string `json:"delta"`
		}{"tool-output-delta", d.CallID, d.Delta}
	case ToolFinished:
		return struct {
			Event  string          `json:"event"`
			CallID string          `json:"tool_call_id"`
			Output json.RawMessage `json:"output"`
		}{"tool-finished", d.CallID, orNull(d.Output)}
	}
	return struct {
		Event   string `json:"event"`
		CallID  string `json:"tool_call_id"`
		Message string `json:"message"`
	}{"tool-error", d.CallID, d.Error}
}

// ParseEventID reads the header Last-Event-ID of a classic stream: -1, or the id of an event.
func ParseEventID(s string) (after int64, err error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < -1 {
		return 0, Errorf(CodeInvalidRequest, "Last-Event-ID must be -1 or the id of an event (got %.40q)", s)
	}
	return n, nil
}
