package graph

import (
	"context"
	"encoding/json"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/stream"
	"github.com/weftrun/weft/state"
)

// Phase is what a Tasks event reports.
type Phase string

const (
	Waiting  Phase = "waiting" // it waits to begin an attempt: for its Limit, or without one for its Policy.Parallel
	Started  Phase = "started"
	Finished Phase = "finished"
	Failing  Phase = "failed"
	Retrying Phase = "retrying" // the attempt failed with Err; another follows
	Asking   Phase = "asking"   // it waits for answers to Interrupts
	Handling Phase = "rescuing" // it failed for good with Err; its handler follows
	Uncached Phase = "uncached" // the cache failed with Err; the node runs anyway, or its result is not cached
	Draining Phase = "draining" // a subgraph in it stopped for a Drain
)

// Event is one thing that happened in a run. Which fields are set depends on Mode. As
// JSON it has the names of the fields in lower case and leaves out what is empty.
type Event struct {
	// Seq counts the events of the run that a reader took, from 1; it is the same for
	// every reader. One that takes fewer modes than another sees gaps.
	Seq        uint64
	Mode       Mode      // exactly one mode
	Time       time.Time // when it was sent
	Namespace  string    // "" is the graph itself; subgraphs have their own
	Step       int
	Node       string // Updates, Tasks, Custom, Messages
	Task       string // the task's id: Updates, Tasks, Custom, Messages
	Label      string // Tasks of a Send: its payload, by [Labeler] or as JSON, cut at 200 characters; of a Call or a Once: its name
	Sends      int    // Tasks of a Send: how many Sends to its node its step has
	ParentTask string // Tasks of a Call or a Once: the id of the task that makes it
	Phase      Phase  // Tasks
	Attempt    int    // Tasks, from 1; 0 if it was not run
	Cached     bool   // Tasks, Updates: the result comes from the cache, and the node did not run
	Limit      string // Tasks that are Waiting: the name of the Limit; "" is its Policy.Parallel

	Writes     json.RawMessage // Updates: an object by field name: the new value, or what was added
	State      any             // Values, Ended: a copy of the state, of type *S
	Payload    any             // Custom
	Input      json.RawMessage // Tasks of a Send that Started: its payload; nil if it cannot be JSON
	Token      Token           // Messages
	Checkpoint uint64          // Checkpoints, Ended: the commit's number
	Commit     *CommitInfo     // Checkpoints: the commit, as History returns it later
	Err        error           // Tasks: why it failed
	Interrupts []Interrupt     // Tasks, Ended
	Decision   *DecisionRecord // Decisions; a secret one has no value
	Status     Status          // Ended
	Drained    string          // Ended: as in Result
	Starved    []string        // Ended: as in Result
	Steps      int             // Ended: as in Result
	Missed     uint64          // Missed: how many events were lost; Seq is that of the last

	schema *state.Schema // of State
}

// Emit sends payload to the readers of Custom events. It waits while the buffer of
// one that is not lossy is full, and returns an error when ctx ends first. Without
// readers it does nothing: nor outside a run, so a node that emits can be tested
// alone.
func Emit(ctx context.Context, payload any) error {
	t := taskOf(ctx)
	if t == nil {
		return nil
	}
	return t.emit(ctx, Event{Mode: Custom, Payload: payload})
}

// emitter sends the events of a session to its readers: those of its run, and of the subgraphs
// in it. It lives as long as the session. A session that can have no readers has a nil emitter,
// whose methods do nothing.
type emitter struct {
	*stream.Stream[Event]
	tokens tokenCounts
}

func newEmitter(now func() time.Time) *emitter {
	return &emitter{Stream: stream.New(stream.Config[Event]{
		Number: func(ev *Event, seq uint64) { ev.Seq, ev.Time = seq, now() },
		Gap: func(lost Event, n uint64) Event {
			return Event{Mode: Missed, Seq: lost.Seq, Time: lost.Time, Missed: n}
		},
	})}
}

// wants reports whether a reader takes events of this mode from a run.
func (e *emitter) wants(r *run, m Mode) bool {
	return e != nil && e.Wants(stream.Class(m), r.depth)
}

// send sends an event of a run. It waits for readers that are slow while the run goes on; when the
// run has been cancelled, what is left to send waits in their buffers.
func (e *emitter) send(r *run, ev Event) {
	e.SendAlways(r.ctx, stream.Class(ev.Mode), r.depth, ev)
}

// task sends an event of a task.
func (e *emitter) task(t *task, phase Phase, err error) {
	if !e.wants(t.run, Tasks) {
		return
	}
	var input json.RawMessage
	if phase == Started && t.index >= 0 {
		input = payloadJSON(t.payload)
	}
	limit := ""
	if phase == Waiting {
		limit = t.waitsFor
	}
	e.send(t.run, Event{Mode: Tasks, Limit: limit, Input: input, Namespace: t.run.ns(), Step: t.run.step, Node: t.node.name, Task: t.id(), Label: t.label(), Sends: t.run.sendsTo(t), Phase: phase,
		Attempt: t.number, Cached: t.cached, Err: err, Interrupts: withoutDrained(t.open)})
}

// waitFor sends that t waits for a Limit or, if that is "", for its Policy.Parallel.
func (t *task) waitFor(limit string) {
	if t.waits && t.waitsFor == limit {
		return
	}
	t.waits, t.waitsFor = true, limit
	t.run.session.events.task(t, Waiting, nil)
}

// taskEnded sends how an attempt of a task has ended that was its last.
func (e *emitter) taskEnded(t *task) {
	if e != nil {
		e.task(t, t.endPhase(), t.err)
	}
}

// endPhase returns how the last attempt of t has ended.
func (t *task) endPhase() Phase {
	switch {
	case t.err != nil:
		return Failing
	case len(t.open) > 0 && len(withoutDrained(t.open)) == 0:
		return Draining
	case len(t.open) > 0:
		return Asking
	}
	return Finished
}

// step sends what the tasks of a run's step wrote, and the state after it.
func (e *emitter) step(r *run) {
	if e.wants(r, Updates) {
		for _, t := range r.tasks {
			e.send(r, Event{Mode: Updates, Namespace: r.ns(), Step: r.step, Node: t.node.name, Task: t.id(), Cached: t.cached, Writes: written(r.schema, t.view)})
		}
	}
	e.values(r)
}

// values sends a copy of a run's state.
func (e *emitter) values(r *run) {
	if e.wants(r, Values) {
		e.send(r, Event{Mode: Values, Namespace: r.ns(), Step: r.step, State: r.schema.Copy(r.state), schema: r.schema})
	}
}

// commit sends the commit of a run that was stored last.
func (e *emitter) commit(r *run, seq uint64, rec *checkpoint.Record) {
	if e.wants(r, Checkpoints) {
		p := commitInfoOfRecord(r.opts.Thread, seq, rec)
		e.send(r, Event{Mode: Checkpoints, Namespace: r.ns(), Step: p.Step, Checkpoint: seq, Commit: &p})
	}
}

// decision sends what was decided, once it is stored.
func (e *emitter) decision(r *run, d DecisionRecord) {
	if !e.wants(r, Decisions) {
		return
	}
	if d.Secret {
		d.hide()
	}
	e.send(r, Event{Mode: Decisions, Namespace: d.Namespace, Step: r.step, Node: d.Node, Decision: &d})
}

// decisions sends what was decided by answers to open questions.
func (e *emitter) decisions(r *run, fresh answers, open []Interrupt) {
	if !e.wants(r, Decisions) {
		return
	}
	for _, in := range open {
		if d := fresh[in.ID].decision; d != nil {
			e.decision(r, *d)
		}
	}
}

// end sends the last event of a run at the root.
func (e *emitter) end(r *run, out *outcome) {
	if e == nil {
		return
	}
	e.SendLast(r.ctx, Event{Mode: Ended, Namespace: r.ns(), Step: r.step, Status: out.status, State: out.state, Interrupts: out.interrupts, Drained: out.drained,
		Starved: out.starved, Steps: out.steps, Checkpoint: out.checkpoint, schema: r.schema})
}

// longestLabel is enough for the name of a tool behind the id of its call.
const longestLabel = 200

// Labeler is implemented by payloads that have a short text for people. It is the Label of the
// events of their tasks, in place of the payload as JSON.
type Labeler interface{ Label() string }

// labelOf returns a short text of a payload, cut where it is long.
func labelOf(payload any) (label string, err error) {
	defer recovered(&err)
	if l, ok := payload.(Labeler); ok {
		label = l.Label()
	} else {
		var data []byte
		data, err = json.Marshal(payload)
		label = string(data)
	}
	if s := []rune(label); len(s) > longestLabel {
		label = string(s[:longestLabel-1]) + "…"
	}
	return label, err
}

// payloadJSON returns a payload as JSON, or nil if it cannot be JSON.
func payloadJSON(payload any) json.RawMessage {
	return guard(nil, func() json.RawMessage {
		data, err := json.Marshal(payload)
		if err != nil {
			return nil
		}
		return data
	})
}

// Relabel replaces the Label of the events that the running task of a Send causes from now on,
// in this attempt: for a task that does something else than the Send asked for, as when a person
// has changed it. Outside of such a task it does nothing.
func Relabel(ctx context.Context, payload any) {
	t := taskOf(ctx)
	if t == nil {
		return
	}
	if label, err := labelOf(payload); err == nil {
		s := t.scope()
		s.mu.Lock()
		s.relabel = label
		s.mu.Unlock()
	}
}

// written returns what was written in a view, as a JSON object by field name.
func written(s *state.Schema, v state.View) json.RawMessage {
	all := map[string]any{}
	for i, c := range v.Channels {
		if !c.Wrote() {
			continue
		}
		name := s.Fields()[i].Name
		all[name] = c
		if s.Merges(i) {
			all[name] = c.Writes().Value
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		data, _ = json.Marshal(map[string]string{"error": textOf(err)})
	}
	return data
}
