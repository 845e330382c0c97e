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
	// ModeNone shows the begin and the end of runs alone.
	ModeNone = "none"
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
	// ID counts from 0 the events of the run, in a stream whose modes the run was created with. In
	// one with other modes ids begin with WideIDs and have gaps. In a stream of a thread it is the
	// number of the record, which several events may have.
	ID   uint64
	Name string
	Data json.RawMessage // one line
}

// ClassicOptions select what a classic stream shows.
type ClassicOptions struct {
	// Run is the id of the run; "" means the runs of all records, for a stream of a thread.
	Run string
	// Modes are the stream modes; none means values. RunModes adds those that each run was created
	// with.
	Modes    []string
	RunModes bool
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
	set      []string // the modes that do not depend on a run
	start    RunStart
	run      string
	own      *Classic                   // counts the events of a stream with the modes of the run; nil before its start
	wide     bool                       // the stream has modes that the run was not created with
	counts   bool                       // the stream is only counted
	last     []int                      // the slots of the last record that was counted
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
	if len(o.Modes) == 0 && !o.RunModes {
		o.Modes = []string{ModeValues}
	}
	return &Classic{o: o, set: o.Modes, values: map[string]json.RawMessage{}, streamed: map[string]*partial{}, complete: map[string]bool{}}
}

// sender collects the events of one record.
type sender struct {
	c     *Classic
	e     Event
	own   []int // the slots of the events of the run's own stream
	slots []int
	out   []ServerEvent
}

// Project returns the events of a record, in their order.
func (c *Classic) Project(e Event) ([]ServerEvent, error) {
	if c.o.Run != "" && e.Run != c.o.Run {
		return nil, nil
	}
	s := &sender{c: c, e: e}
	if e.Kind == KindRun {
		if err := project(s, (*sender).begin); err != nil {
			return nil, err
		}
	}
	if c.own != nil {
		if err := c.own.project(e); err != nil {
			return nil, err
		}
		s.own = c.own.last
	}
	err := s.all()
	return s.out, err
}

// all projects the record.
func (s *sender) all() (err error) {
	e := s.e
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
	return err
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
		clear(s.c.values) // a stream of a thread may stay open for many runs
		clear(s.c.streamed)
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
