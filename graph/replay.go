package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

// Replayed is what came of a Replay.
type Replayed struct {
	Steps int `json:"steps"` // how many commits came out as they were recorded
	// Skipped are the commits that nothing leads to which could be run again: they hold the
	// input of their turn too, as with [Exit], or where the store had lost it.
	Skipped []uint64 `json:"skipped,omitempty"`
	// Divergence is the first step that did not; nil if all did.
	Divergence *Divergence `json:"divergence,omitempty"`
}

// Divergence is a step that comes out otherwise than it was recorded.
type Divergence struct {
	Checkpoint uint64   `json:"checkpoint"` // the commit that recorded the step
	Turn       int      `json:"turn"`
	Step       int      `json:"step"`
	Nodes      []string `json:"nodes"` // that were due in it
	// Changes are the fields that differ: Before is as recorded, After as it came out.
	Changes []Change `json:"changes,omitempty"`
	// Next and NextNow name the nodes that were due after it, as recorded and now, if
	// these differ.
	Next    []string `json:"next,omitempty"`
	NextNow []string `json:"nextNow,omitempty"`
	// Asked are the questions that are open now, to which no answer was recorded.
	Asked []Interrupt `json:"asked,omitempty"`
	// Err is why the step could not be run at all.
	Err error `json:"-"`
	// Failure is Err as text.
	Failure string `json:"failure,omitempty"`
}

func (d *Divergence) String() string {
	lines := []string{fmt.Sprintf("commit %d: turn %d, step %d (%s) comes out otherwise", d.Checkpoint, d.Turn, d.Step, strings.Join(d.Nodes, ", "))}
	if d.Failure != "" {
		lines = append(lines, "it fails: "+d.Failure)
	}
	for _, in := range d.Asked {
		lines = append(lines, fmt.Sprintf("%s asks %q, to which no answer was recorded", in.Node, in.Prompt))
	}
	for _, c := range d.Changes {
		lines = append(lines, fmt.Sprintf("%s was %s and is %s", c.Field, orNothing(c.Before), orNothing(c.After)))
	}
	if d.Next != nil || d.NextNow != nil {
		lines = append(lines, fmt.Sprintf("due after it were %v and are %v", d.Next, d.NextNow))
	}
	return strings.Join(lines, "\n\t")
}

// orNothing returns the text of a value, "nothing" where a field has none.
func orNothing(value json.RawMessage) string {
	if len(value) == 0 {
		return "nothing"
	}
	return string(value)
}

// Replay runs the recorded steps of the thread again with this graph, each from the state
// in which it began, and returns the first one that comes out otherwise: the way to see
// what new code would have made of old threads. Nothing is written; the thread is
// copied to memory first.
//
// Answers and results are taken from the record: it is there if the graph that made it was
// compiled with Config.Trace. A result (Once, Call) that was not recorded is an [ErrReplay],
// and so is what it keeps now and did not then: its function is never called. The results of
// subgraphs are taken as they are recorded. All else that nodes do, they do again: so keep effects
// in Once and Call, or replay with stubs.
//
// from and to bound the commits, both included; 0 means all.
func (t StoredThread[S]) Replay(ctx context.Context, from, to uint64) (Replayed, error) {
	return t.stored.replay(ctx, from, to)
}

func (t programThread) replay(ctx context.Context, from, to uint64) (Replayed, error) {
	var done Replayed
	thread := t.key.Thread
	store, err := t.p.requireStore()
	if err != nil {
		return done, err
	}
	points, err := recordedSteps(ctx, store, thread, from, to)
	if err != nil {
		return done, err
	}
	scratch := new(checkpoint.Memory)
	if err := checkpoint.Copy(ctx, store, thread, scratch, thread); err != nil {
		return done, err
	}
	rec, err := readTrace(ctx, scratch, thread)
	if err != nil {
		return done, err
	}
	p := *t.p
	p.cfg.Store, p.cfg.Cache, p.breaks = scratch, nil, false
	for _, point := range points {
		follows, err := followsTurn(ctx, scratch, point)
		if err != nil {
			return done, err
		}
		if !follows {
			done.Skipped = append(done.Skipped, point.Checkpoint)
			continue
		}
		d, err := replayCommit(ctx, &p, point, rec.of(point.Checkpoint))
		if err != nil {
			return done, err
		}
		done.Divergence = d
		if d != nil {
			return done, nil
		}
		done.Steps++
	}
	return done, nil
}

// recordedSteps returns the recorded steps of a thread, oldest first.
func recordedSteps(ctx context.Context, store checkpoint.Store, thread string, from, to uint64) (points []CommitInfo, err error) {
	var q checkpoint.Query
	if to != 0 {
		q.Before = to + 1
	}
	for p, err := range History(ctx, store, checkpoint.Key{Thread: thread}, q) {
		switch {
		case err != nil:
			return nil, err
		case p.Source == checkpoint.Step && p.Checkpoint >= from:
			points = append(points, p)
		}
	}
	slices.Reverse(points)
	return points, nil
}

// trace is what a thread has recorded of answers and results.
type trace struct {
	answers answers
	results map[string][]byte             // by task and slot
	root    map[uint64][]checkpoint.Entry // what each commit of the root has
}

// add adds what a commit has.
func (t *trace) add(entries []checkpoint.Entry) {
	maps.Copy(t.answers, sortPending(entries).given)
	for _, e := range entries {
		t.results[e.Task+e.Slot] = e.Data
	}
}

// of returns the trace for the step of a commit of the root. Two branches may have
// different answers to one question, and different results of one call: the step has those of its
// own branch.
func (t *trace) of(seq uint64) *trace {
	own := t.root[seq]
	if !slices.ContainsFunc(own, func(e checkpoint.Entry) bool { return !bytes.Equal(t.results[e.Task+e.Slot], e.Data) }) {
		return t
	}
	c := &trace{answers: maps.Clone(t.answers), results: maps.Clone(t.results)}
	c.add(own)
	return c
}

// readTrace collects the traces of all namespaces: ids distinguish them.
func readTrace(ctx context.Context, store checkpoint.Store, thread string) (*trace, error) {
	spaces, err := store.Namespaces(ctx, thread)
	if err != nil {
		return nil, err
	}
	t := &trace{answers{}, map[string][]byte{}, map[uint64][]checkpoint.Entry{}}
	for _, ns := range spaces {
		for snap, err := range store.History(ctx, checkpoint.Key{Thread: thread, Namespace: ns}, checkpoint.Query{}) {
			if err != nil {
				return nil, err
			}
			rec, err := checkpoint.ReadRecord(snap)
			if err != nil {
				return nil, err
			}
			t.add(rec.Trace)
			if ns == "" {
				t.root[snap.Seq] = rec.Trace
			}
		}
	}
	return t, nil
}

// followsTurn reports whether the commit before the commit was belongs to the same turn.
func followsTurn(ctx context.Context, store checkpoint.Store, was CommitInfo) (bool, error) {
	from := was.parent()
	if from == 0 {
		return false, nil
	}
	snap, err := store.Load(ctx, checkpoint.Key{Thread: was.Thread}, from)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return true, nil // it was pruned, which the replay reports
	}
	if err != nil {
		return false, err
	}
	rec, err := checkpoint.ReadRecord(snap)
	return err == nil && rec.Turn == was.Turn, err
}

// replayCommit runs what a commit has recorded, mostly one step, and compares.
func replayCommit(ctx context.Context, p *program, was CommitInfo, rec *trace) (*Divergence, error) {
	d := &Divergence{Checkpoint: was.Checkpoint, Turn: was.Turn, Step: was.Step, Nodes: was.Nodes()}
	o := RunOptions{Thread: was.Thread, At: was.parent(), Lease: checkpoint.HoldOptions{Policy: checkpoint.NoLease}}
	f := p.launch(ctx, o, request{op: opResume, replay: &replayStep{rec, was.Step}})
	out, err := f.runInline()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		d.Err, d.Failure = err, textOf(err)
		return d, nil
	case out.status == Interrupted:
		d.Asked = out.interrupts
		return d, nil
	}
	same, err := d.compare(ctx, &f.root)
	if err != nil || same {
		return nil, err
	}
	return d, nil
}

// compare notes how the state and the frontier of r differ from what was recorded.
func (d *Divergence) compare(ctx context.Context, r *run) (same bool, err error) {
	snap, err := r.cfg.Store.Load(ctx, checkpoint.Key{Thread: r.opts.Thread}, d.Checkpoint)
	if err != nil {
		return false, err
	}
	was, v, err := checkpoint.Restore(snap, r.schema)
	if err != nil {
		return false, err
	}
	if d.Changes, err = changesOf(r.program, v, r.state); err != nil {
		return false, err
	}
	now := &checkpoint.Record{}
	if err := r.recordFrontier(now); err != nil {
		return false, err
	}
	a, _ := json.Marshal([]any{was.Next, was.Waiting, was.Joins})
	b, _ := json.Marshal([]any{now.Next, now.Waiting, now.Joins})
	if !bytes.Equal(a, b) {
		d.Next, d.NextNow = nextOf(was), nextOf(now)
	}
	return len(d.Changes) == 0 && bytes.Equal(a, b), nil
}

func nextOf(rec *checkpoint.Record) []string {
	names := []string{}
	for _, t := range rec.Next {
		name := t.Node
		if t.Send {
			name += string(t.Payload)
		}
		names = append(names, name)
	}
	for _, w := range rec.Waiting {
		names = append(names, w+" (deferred)")
	}
	for _, j := range rec.Joins {
		names = append(names, fmt.Sprintf("%s (joined by %s)", j.Target, strings.Join(j.Arrived, ", ")))
	}
	return names
}
