package graph

import (
	"context"
	"encoding/json"
	"time"

	"github.com/weftrun/weft/internal/stream"
	"github.com/weftrun/weft/state"
)

// Phase is what a Tasks event tells.
type Phase string

const (
	Started  Phase = "started"
	Finished Phase = "finished"
	Failing  Phase = "failed"
	Retrying Phase = "retrying" // the attempt failed with Err; another follows
	Asking   Phase = "asking"   // it waits for answers to Interrupts
	Rescuing Phase = "rescuing" // it failed for good with Err; its handler follows
	Uncached Phase = "uncached" // the cache failed with Err; the node runs all the same, or its result is not kept
	Draining Phase = "draining" // a subgraph in it stopped for a Drain
)

// Event is one thing that happened in a run. Which fields are set depends on Mode. As
// JSON it has the names of the fields in lower case and leaves out what is empty.
type Event struct {
	// Seq counts the events of the run that somebody took, from 1; it is the same for
	// every reader. One that takes fewer modes than another sees gaps.
	Seq       uint64
	Mode      Mode      // exactly one mode
	Time      time.Time // when it was told
	Namespace string    // "" is the graph itself; subgraphs have their own
	Step      int
	Node      string // Updates, Tasks, Custom, Messages
	Task      string // the task's id: Updates, Tasks, Custom, Messages
	Label     string // Tasks of a Send: its payload as a [Labeler] says or as JSON, cut at 200 characters; of a Call or a Once: its name
	Within    string // Tasks of a Call or a Once: the id of the task that makes it
	Phase     Phase  // Tasks
	Attempt   int    // Tasks, from 1; 0 if it was not run
	Cached    bool   // Tasks, Updates: the result comes from the cache, and the node did not run

	Writes     json.RawMessage // Updates: an object by field name: the new value, or what was added
	State      any             // Values, Ended: a copy of the state, of type *S
	Payload    any             // Custom
	Token      Token           // Messages
	Checkpoint uint64          // Checkpoints, Ended: the commit's number
	Point      *CommitInfo     // Checkpoints: the commit, as History tells it later
	Err        error           // Tasks: why it failed
	Interrupts []Interrupt     // Tasks, Ended
	Decision   *Decision       // Decisions; a secret one has no value
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

// wants reports whether somebody takes the run's events of this mode.
func (r *run) wants(m Mode) bool {
	return r.session.watch != nil && r.session.watch.Wants(stream.Class(m), r.depth)
}

// emit sends ev to the readers. It waits for those that are slow while the run goes on;
// when it has been cancelled, what is left to tell waits in their buffers.
func (r *run) emit(ev Event) {
	ev.Namespace, ev.Step = r.ns, r.step
	r.session.watch.tell(r, ev)
}

func (r *run) emitTask(t *task, phase Phase, err error) {
	if !r.wants(Tasks) {
		return
	}
	r.emit(Event{Mode: Tasks, Node: t.node.name, Task: t.id(), Label: t.label(), Phase: phase,
		Attempt: t.number, Cached: t.cached, Err: err, Interrupts: withoutDrained(t.open)})
}

func (r *run) emitStart(t *task) { r.emitTask(t, Started, nil) }

func (r *run) emitRetry(t *task) { r.emitTask(t, Retrying, t.err) }

func (r *run) emitEnd(t *task) {
	switch {
	case t.err != nil:
		r.emitTask(t, Failing, t.err)
	case len(t.open) > 0 && len(withoutDrained(t.open)) == 0:
		r.emitTask(t, Draining, nil)
	case len(t.open) > 0:
		r.emitTask(t, Asking, nil)
	default:
		r.emitTask(t, Finished, nil)
	}
}

// longestLabel is enough for the name of a tool behind the id of its call.
const longestLabel = 200

// Labeler is implemented by payloads that have a short text for people. It is the Label of the events
// of their tasks, in place of the payload as JSON.
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

// Relabel replaces the Label of the events that the running task of a Send causes from now on, in this
// attempt: for a task that does something else than the Send asked for, as when a person has changed it.
// Outside of such a task it does nothing.
func Relabel(ctx context.Context, payload any) {
	t := taskOf(ctx)
	if t == nil {
		return
	}
	if label, err := labelOf(payload); err == nil {
		t.mu.Lock()
		t.relabel = label
		t.mu.Unlock()
	}
}

// emitStep tells what the tasks of the step wrote and what the state is now.
func (r *run) emitStep() {
	if r.wants(Updates) {
		for _, t := range r.tasks {
			r.emit(Event{Mode: Updates, Node: t.node.name, Task: t.id(), Cached: t.cached, Writes: written(r.schema, t.view)})
		}
	}
	r.emitValues()
}

func (r *run) emitValues() {
	if r.wants(Values) {
		r.emit(Event{Mode: Values, State: r.copyState(), schema: r.schema})
	}
}

func (r *run) emitCommit(seq uint64) {
	if r.wants(Checkpoints) {
		p := commitInfoOfRecord(r.opts.Thread, seq, r.journal.Chain.Record)
		r.session.watch.tell(r, Event{Mode: Checkpoints, Namespace: r.ns, Step: p.Step, Checkpoint: seq, Point: &p})
	}
}

// copyState returns a *S of its own.
func (r *run) copyState() any { return r.schema.Copy(r.state) }

// written returns what was written in a view, as a JSON object by field name.
func written(s *state.Schema, v state.View) json.RawMessage {
	all := map[string]any{}
	for i, c := range v.Channels {
		if !c.Wrote() {
			continue
		}
		name := s.Fields()[i].Name
		if all[name] = c; s.Merges(i) {
			all[name] = c.Writes().Value
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		data, _ = json.Marshal(map[string]string{"error": textOf(err)})
	}
	return data
}
