package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/graph"
)

// RecorderOptions describe the run whose events are recorded.
type RecorderOptions struct {
	Run   string // the id
	Start RunStart
	// D is the D of the first record: 0, or for a later attempt the NextDense of the last record.
	// Cut is true if the log does not have all records of the run before.
	D   uint64
	Cut bool
	// Step is the step, as clients see it, of the checkpoint that the run goes on from; -2 if there
	// is none.
	Step int
	// Steps are those of the newest checkpoints of subgraphs, by namespace: the Steps of an attempt
	// before.
	Steps map[string]int
	// Head is the number of the commit that a run without an input goes on from; 0 for other runs.
	// It is recorded first, with the state that the run begins with.
	Head uint64
	// View returns how the graph of a namespace in Weft is shown. It must not be nil.
	View func(namespace string) *View
}

// Recorder turns the events of a run into records of the log, in the order that clients expect: a
// commit is recorded after what its tasks wrote. It is not safe for concurrent use.
type Recorder struct {
	o      RecorderOptions
	n, d   uint64
	own    *Classic                  // counts the events of a stream with the modes of the run
	graphs map[string]*recordedGraph // by namespace
	tools  map[string]ToolEvent      // the tool calls that run, by the id of their task
}

// recordedGraph is what a Recorder knows of the graph of a namespace.
type recordedGraph struct {
	view *View
	open bool              // it has started and not ended
	last Snapshot          // the newest commit with its state
	step int               // of the newest checkpoint
	held *graph.CommitInfo // a commit whose state has not come yet
	head uint64            // the commit whose state a run without an input begins with; 0 if there is none
	// before is the commit that was loaded last, until the next one is recorded. Recording a state
	// needs its parent several times.
	before Snapshot
	// early is a state that came before its commit, and earlyStep its step in Weft.
	early     json.RawMessage
	earlyStep int
}

// NewRecorder returns a Recorder of one attempt of a run.
func NewRecorder(o RecorderOptions) *Recorder {
	return &Recorder{o: o, d: o.D, own: newCounter(o.Start), graphs: map[string]*recordedGraph{}, tools: map[string]ToolEvent{}}
}

// D returns the D of the next record.
func (r *Recorder) D() uint64 { return r.d }

// Steps returns the steps of the newest checkpoints, by namespace, for an attempt that follows.
func (r *Recorder) Steps() map[string]int {
	steps := map[string]int{}
	for ns, g := range r.graphs {
		steps[ns] = g.step
	}
	return steps
}

// Begin returns the first record of the attempt.
func (r *Recorder) Begin(at time.Time) []Event {
	var out []Event
	r.add(&out, at, "", "", KindRun, 0, r.o.Start)
	return out
}

// End returns the last records of the attempt.
func (r *Recorder) End(at time.Time, end RunEnd) []Event {
	out := r.flush(at)
	phase, why := GraphCompleted, ""
	switch {
	case end.Error != nil:
		phase, why = GraphFailed, end.Error.Message
	case end.Waiting:
		phase = GraphInterrupted
	}
	r.closeGraphs(&out, at, "", func(string) bool { return true }, phase, why)
	end.Graph = r.o.Start.Graph
	r.add(&out, at, "", "", KindEnd, 0, end)
	return out
}

// add appends a record. more is how many ids it takes beyond those of its kind.
func (r *Recorder) add(out *[]Event, at time.Time, ns, node string, kind Kind, more int, data any) {
	raw, isRaw := data.(json.RawMessage)
	if !isRaw {
		raw, _ = json.Marshal(data) // of types of this package, whose parts are JSON
	}
	e := Event{Run: r.o.Run, N: r.n, More: uint64(more), At: at.UnixMilli(), NS: NamespaceToWire(ns), Node: node, Kind: kind, Data: raw}
	if e.Cut = r.o.Cut; !e.Cut {
		e.D, e.M = r.d, uint64(len(r.own.count(e, data)))
	}
	r.n, r.d = e.Next(), e.NextDense()
	*out = append(*out, e)
}

// graphOf returns what is known of the graph of a namespace, and records that it started.
func (r *Recorder) graphOf(out *[]Event, at time.Time, ns string) *recordedGraph {
	g := r.graphs[ns]
	if g == nil {
		g = &recordedGraph{view: r.o.View(ns), step: -2}
		if step, known := r.o.Steps[ns]; known {
			g.step = step
		}
		if ns == "" {
			g.step, g.head = r.o.Step, r.o.Head
		}
		around := *g.view
		g.view = &around
		commit := around.Commit
		g.view.Commit = func(number uint64) (Snapshot, bool) {
			if g.last.Info.Checkpoint == number && number != 0 {
				return g.last, true
			}
			if g.before.Info.Checkpoint == number && number != 0 {
				return g.before, true
			}
			if commit == nil {
				return Snapshot{}, false
			}
			s, ok := commit(number)
			if ok {
				g.before = s
			}
			return s, ok
		}
		r.graphs[ns] = g
	}
	if !g.open && ns != "" {
		if i := strings.LastIndex(ns, "|"); i >= 0 {
			r.graphOf(out, at, ns[:i])
		}
		r.add(out, at, ns, "", KindGraph, 0, GraphStatus{Phase: GraphStarted, Name: g.view.name()})
	}
	g.open = true
	return g
}

// closeGraphs records that subgraphs inside of a graph have ended, the innermost first.
func (r *Recorder) closeGraphs(out *[]Event, at time.Time, ns string, ofTask func(inner string) bool, phase GraphPhase, why string) {
	var inner []string
	for name, g := range r.graphs {
		inside := name != "" && (ns == "" || strings.HasPrefix(name, ns+"|"))
		if inside && g.open && ofTask(name) {
			inner = append(inner, name)
		}
	}
	slices.SortFunc(inner, func(a, b string) int {
		if d := strings.Count(b, "|") - strings.Count(a, "|"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for _, name := range inner {
		r.graphs[name].open = false
		r.add(out, at, name, "", KindGraph, 0, GraphStatus{Phase: phase, Name: r.graphs[name].view.name(), Error: why})
	}
}

// childrenOf reports which namespaces belong to subgraphs of a task.
func childrenOf(ns, node, task string) func(string) bool {
	return func(inner string) bool {
		if id := childTask(inner, ns); id != "" {
			return id == task
		}
		return childNode(inner, ns) == node
	}
}

// Record returns the records of an event of the run. They are to be appended in their order.
func (r *Recorder) Record(ev graph.Event) ([]Event, error) {
	var out []Event
	if ev.Mode == graph.Missed {
		return nil, nil
	}
	g := r.graphOf(&out, ev.Time, ev.Namespace)
	var err error
	switch ev.Mode {
	case graph.Tasks:
		r.task(&out, g, ev)
	case graph.Updates:
		err = r.updates(&out, g, ev)
	case graph.Checkpoints:
		err = r.commit(&out, g, ev)
	case graph.Values:
		err = r.values(&out, g, ev)
	case graph.Custom:
		err = r.custom(&out, ev)
	case graph.Messages:
		r.token(&out, g, ev)
	case graph.Decisions:
		if ev.Decision != nil && ev.Decision.Question != "" {
			r.add(&out, ev.Time, ev.Namespace, ev.Node, KindAnswered, 0, Answered{ev.Decision.Question})
		}
	case graph.Ended:
		err = r.ended(&out, g, ev)
	}
	return out, err
}

// task records the start of a task, and an end of it that is no result.
func (r *Recorder) task(out *[]Event, g *recordedGraph, ev graph.Event) {
	if ev.ParentTask != "" { // a step inside of a node
		return
	}
	id, step := TaskUUID(ev.Task), g.step+1
	switch ev.Phase {
	case graph.Started:
		start := TaskStart{ID: id, Step: step}
		if ev.Sends > 0 {
			start.Send, start.Input = true, ev.Input
			if call, ok := toolCall(start.Input); ok {
				r.tools[ev.Task] = call
				r.add(out, ev.Time, ev.Namespace, ev.Node, KindTask, 0, start)
				r.add(out, ev.Time, ev.Namespace, ev.Node, KindTool, 0, call)
				return
			}
		}
		r.add(out, ev.Time, ev.Namespace, ev.Node, KindTask, 0, start)
	case graph.Failing:
		failure := RunErrorOf(ev.Err, 0)
		if at := (*graph.NodeError)(nil); errors.As(ev.Err, &at) && at.Cancelled {
			failure.Error = NameCancelled
		}
		failure.Weft = nil
		r.toolEnded(out, ev, nil, failure.Message)
		r.closeGraphs(out, ev.Time, ev.Namespace, childrenOf(ev.Namespace, ev.Node, ev.Task), GraphFailed, failure.Message)
		r.add(out, ev.Time, ev.Namespace, ev.Node, KindResult, 0, TaskResult{ID: id, Step: step, Error: failure})
	case graph.Asking:
		r.closeGraphs(out, ev.Time, ev.Namespace, childrenOf(ev.Namespace, ev.Node, ev.Task), GraphInterrupted, "")
		r.add(out, ev.Time, ev.Namespace, ev.Node, KindResult, 0, TaskResult{ID: id, Step: step, Interrupts: InterruptsOf(ev.Interrupts)})
	}
}

// toolCall reads the payload of a worker that runs a tool: a call of a message.
func toolCall(input json.RawMessage) (e ToolEvent, ok bool) {
	m := members(input)
	e = ToolEvent{Phase: ToolStarted, CallID: text(m["id"]), Name: text(m["name"]), Input: m["arguments"]}
	for name := range m {
		switch name {
		case "id", "name", "arguments", "arguments_text", "edited":
		default:
			return e, false
		}
	}
	if e.Input == nil {
		e.Input = json.RawMessage("{}")
		if s := m["arguments_text"]; s != nil {
			e.Input = s
		}
	}
	return e, e.CallID != "" && e.Name != ""
}

// toolEnded records the end of the tool that a task ran, if it ran one.
func (r *Recorder) toolEnded(out *[]Event, ev graph.Event, messages []json.RawMessage, failure string) {
	call, ok := r.tools[ev.Task]
	if !ok {
		return
	}
	delete(r.tools, ev.Task)
	end := ToolEvent{Phase: ToolFailed, CallID: call.CallID, Name: call.Name, Error: failure}
	if failure == "" {
		end.Phase = ToolFinished
		for _, m := range messages {
			if text(members(m)["tool_call_id"]) == call.CallID {
				end.Output = m
			}
		}
	}
	r.add(out, ev.Time, ev.Namespace, ev.Node, KindTool, 0, end)
}

// updates records what a task wrote.
func (r *Recorder) updates(out *[]Event, g *recordedGraph, ev graph.Event) error {
	delta, err := convert(ev.Writes, g.view.Messages)
	if err != nil {
		return err
	}
	result := TaskResult{ID: TaskUUID(ev.Task), Step: g.step + 1, Result: delta, Cached: ev.Cached}
	var messages []json.RawMessage
	all := members(delta)
	for _, name := range g.view.Messages {
		if all[name] == nil {
			continue
		}
		var list []json.RawMessage
		if err := json.Unmarshal(all[name], &list); err != nil {
			return err
		}
		result.Messages = append(result.Messages, name)
		messages = append(messages, list...)
	}
	r.toolEnded(out, ev, messages, "")
	r.closeGraphs(out, ev.Time, ev.Namespace, childrenOf(ev.Namespace, ev.Node, ev.Task), GraphCompleted, "")
	r.add(out, ev.Time, ev.Namespace, ev.Node, KindResult, len(messages), result)
	return nil
}

// custom records what a node emitted.
func (r *Recorder) custom(out *[]Event, ev graph.Event) error {
	data, err := json.Marshal(ev.Payload)
	if err != nil {
		return err
	}
	if tool, ok := toolEvent(data); ok {
		r.add(out, ev.Time, ev.Namespace, ev.Node, KindTool, 0, tool)
		return nil
	}
	r.add(out, ev.Time, ev.Namespace, ev.Node, KindCustom, 0, json.RawMessage(data))
	return nil
}

// toolEvent reads a ToolEvent that was emitted.
func toolEvent(data json.RawMessage) (e ToolEvent, ok bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	known := []ToolPhase{ToolStarted, ToolDelta, ToolFinished, ToolFailed}
	return e, d.Decode(&e) == nil && e.CallID != "" && slices.Contains(known, e.Phase)
}

// token records a piece of the output of a model.
func (r *Recorder) token(out *[]Event, g *recordedGraph, ev graph.Event) {
	t := ev.Token
	token := Token{ID: t.ID, Role: typeOf(t.Role), Task: TaskUUID(ev.Task), Step: g.step + 1, Index: t.Index, Text: t.Delta, Reasoning: t.Reasoning,
		Final: t.Final, Metadata: t.Metadata}
	if token.Role == "" {
		token.Role = typeAI
	}
	if t.Final && !t.Streamed && t.Index == 0 {
		token.Whole = t.Text
	}
	if c := t.Call; c != nil {
		token.Call = &CallPiece{Index: c.Index, ID: c.ID, Name: c.Name, Args: c.Arguments}
	}
	if u := t.Usage; u != nil {
		token.Usage = &Usage{u.Input, u.Output, u.Input + u.Output}
	}
	r.add(out, ev.Time, ev.Namespace, ev.Node, KindToken, 0, token)
}

// ended records the end of a run that did not fail: its open questions, if it pauses.
func (r *Recorder) ended(out *[]Event, g *recordedGraph, ev graph.Event) error {
	*out = append(*out, r.flush(ev.Time)...)
	if ev.Status != graph.Interrupted {
		return nil
	}
	for _, in := range ev.Interrupts {
		asked := Asked{Task: TaskUUID(taskAt(in, "")), NS: NamespaceToWire(in.Namespace)}
		if shown, ok := InterruptOf(in); ok {
			asked.Interrupt = &shown
		}
		r.add(out, ev.Time, "", in.Node, KindAsked, 0, asked)
	}
	state, err := stateJSON(ev)
	if err != nil {
		return err
	}
	shown, err := g.view.Values(state)
	if err != nil {
		return err
	}
	r.add(out, ev.Time, "", "", KindPause, 0, Pause{Values: shown, Interrupts: InterruptsOf(ev.Interrupts)})
	return nil
}
