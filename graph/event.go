package graph

import (
	"context"
	"encoding/json"
	"fmt"
)

// Mode selects the events that Stream yields. Modes are combined with |.
type Mode uint

const (
	// Updates are what each task wrote, after the commit of its step, in canonical
	// order.
	Updates Mode = 1 << iota
	// Values are copies of the whole state, after the input and after each step.
	Values
	// Tasks tell when tasks start, finish, fail, are retried or ask, as it happens.
	Tasks
	// Custom are what nodes send with Emit, as it happens.
	Custom
	// Checkpoints tell of each commit.
	Checkpoints

	// Ended is the last event of every run that did not fail. It is always yielded.
	Ended
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
)

// Event is one thing that happened in a run. Which fields are set depends on Mode.
type Event struct {
	Seq       uint64 // counts the events of this stream, from 1
	Mode      Mode   // exactly one mode
	Namespace string // "" is the graph itself; subgraphs have their own
	Step      int
	Node      string // Updates, Tasks, Custom
	Task      string // the task's id: Updates, Tasks, Custom
	Label     string // Tasks of a Send: its payload, shortened, as JSON; of a Call or a Once: its name
	Phase     Phase  // Tasks
	Attempt   int    // Tasks, from 1; 0 if it was not run
	Cached    bool   // Tasks, Updates: the result comes from the cache, and the node did not run

	Writes     json.RawMessage // Updates: an object by field name: the new value, or what was added
	State      any             // Values, Ended: a copy of the state, of type S
	Payload    any             // Custom
	Checkpoint uint64          // Checkpoints, Ended: the commit's number
	Err        error           // Tasks: why it failed
	Interrupts []Interrupt     // Tasks, Ended
	Status     Status          // Ended
	Starved    []string        // Ended: as in Result
	Steps      int             // Ended: as in Result
}

// Emit sends payload to the readers of Custom events. It waits while their buffer
// is full, and returns an error when ctx ends first. Without readers it does
// nothing: nor outside a run, so a node that emits can be tested alone.
func Emit(ctx context.Context, payload any) error {
	t := taskOf(ctx)
	if t == nil {
		return nil
	}
	if !t.run.watch.wants(Custom) {
		t.alive()
		return nil
	}
	if t.isFenced() {
		return ErrTimeout
	}
	t.hold(1) // while the reader is slow, the node is not idle
	defer t.hold(-1)
	t.mu.Lock()
	ev := Event{Mode: Custom, Namespace: t.run.ns, Step: t.step, Node: t.node.name, Task: t.id(), Payload: payload}
	t.mu.Unlock()
	select {
	case t.run.watch.events <- ev:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.run.watch.gone:
		return nil
	}
}

// watch carries the events of a run, and of the subgraphs in it, to their reader.
type watch struct {
	modes  Mode
	events chan Event
	gone   chan struct{} // closed when the reader has left
}

// buffer is how many events may wait for a reader. Beyond it the run waits.
const buffer = 64

func newWatch(modes Mode) *watch {
	if modes == 0 {
		modes = Updates
	}
	return &watch{modes: modes | Ended, events: make(chan Event, buffer), gone: make(chan struct{})}
}

// wants reports whether somebody reads events of this mode.
func (w *watch) wants(m Mode) bool { return w != nil && w.modes&m != 0 }

// emit sends ev to the reader, if there is one; it waits for room.
func (r *run) emit(ev Event) {
	ev.Namespace, ev.Step = r.ns, r.step
	select {
	case r.watch.events <- ev:
	case <-r.watch.gone:
	}
}

func (r *run) emitTask(t *task, phase Phase, err error) {
	if !r.watch.wants(Tasks) {
		return
	}
	r.emit(Event{Mode: Tasks, Node: t.node.name, Task: t.id(), Label: t.label(), Phase: phase,
		Attempt: t.attempt, Cached: t.cached, Err: err, Interrupts: t.open})
}

func (r *run) emitStart(t *task) { r.emitTask(t, Started, nil) }

func (r *run) emitRetry(t *task) { r.emitTask(t, Retrying, t.err) }

func (r *run) emitEnd(t *task) {
	switch {
	case t.err != nil:
		r.emitTask(t, Failing, t.err)
	case len(t.open) > 0:
		r.emitTask(t, Asking, nil)
	default:
		r.emitTask(t, Finished, nil)
	}
}

// label returns the payload of a Send as short JSON.
func (t *task) label() string {
	if t.index < 0 {
		return ""
	}
	data, err := json.Marshal(t.payload)
	if err != nil {
		return fmt.Sprint(t.index)
	}
	if s := []rune(string(data)); len(s) > 40 {
		return string(s[:39]) + "…"
	}
	return string(data)
}

// emitStep tells what the tasks of the step wrote and what the state is now.
func (r *run) emitStep() {
	if r.watch.wants(Updates) {
		for _, t := range r.tasks {
			r.emit(Event{Mode: Updates, Node: t.node.name, Task: t.id(), Cached: t.cached, Writes: t.update()})
		}
	}
	r.emitValues()
}

func (r *run) emitValues() {
	if r.watch.wants(Values) {
		r.emit(Event{Mode: Values, State: r.copyState()})
	}
}

func (r *run) emitCommit(seq uint64) {
	if r.watch.wants(Checkpoints) {
		r.emit(Event{Mode: Checkpoints, Checkpoint: seq})
	}
}

// copyState returns a *S of its own.
func (r *run) copyState() any {
	v := r.schema.Blank()
	r.schema.Assign(v, r.state)
	return v.State
}

// update returns what t wrote, as a JSON object by field name.
func (t *task) update() json.RawMessage {
	written := map[string]any{}
	for i, c := range t.view.Channels {
		if !c.Wrote() {
			continue
		}
		name := t.run.schema.Fields()[i].Name
		if written[name] = c; t.run.schema.Merges(i) {
			written[name] = c.Writes().Value
		}
	}
	data, err := json.Marshal(written)
	if err != nil {
		data, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	return data
}
