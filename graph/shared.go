package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// Inline makes a node of a whole graph over the parent's own state. The child begins with
// a copy of the state as its task sees it, with every field, those of a turn included;
// what it wrote, in all its steps together, counts as the writes of its task and is
// folded through the reducers. So children that run side by side merge like any nodes:
// two that append to a List both do, two that set one Value are an [ErrConflict].
//
// All else is as with [Subgraph].
func Inline[S any](child *Graph[S], targets ...string) Node[S] {
	if child == nil || child.p == nil {
		return Node[S]{targets: targets, pos: caller(1), faults: []string{"an Inline needs a graph"}}
	}
	return Node[S]{targets: targets, pos: caller(1), child: child.p, faults: child.p.unshared(), call: func(ctx context.Context, s, _ any) (Command, error) {
		v, err := child.p.visit(ctx)
		if err != nil {
			return Command{}, err
		}
		t := v.up.task
		if !sameFields(child.p.schema, t.run.schema) {
			return Command{}, fmt.Errorf("graph: the state of %q has other fields than that of %q; use Subgraph", child.p.name, t.run.name)
		}
		v.shares = true
		r, _, err := v.wait(ctx, s)
		if err != nil {
			return Command{}, err
		}
		return Command{}, addWrites(t.run.schema, t.view, r.net)
	}}
}

// unshared returns what is wrong with sharing the state of p.
func (p *program) unshared() (faults []string) {
	for i, c := range p.schema.Blank().Channels {
		if _, ok := c.(state.Sequel); !ok {
			f := p.schema.Fields()[i]
			faults = append(faults, fmt.Sprintf("field %q cannot be shared with a child: its type %s is no state.Sequel", f.Name, f.Type))
		}
	}
	return faults
}

func sameFields(a, b *state.Schema) bool {
	return slices.EqualFunc(a.Fields(), b.Fields(), func(f, g state.Field) bool { return f.Name == g.Name && f.Type == g.Type })
}

// addWrites makes what the holder of next wrote writes of v's holder, after those it has.
func addWrites(schema *state.Schema, v, next state.View) error {
	for i, c := range next.Channels {
		if !c.Wrote() {
			continue
		}
		own := v.Channels[i]
		if s, ok := own.(state.Sequel); ok {
			s.Then(c)
			continue
		}
		w := c.Writes()
		data, err := json.Marshal(w.Value)
		if own.Wrote() {
			err = errors.New("its type is no state.Sequel, and the node has written it already")
		}
		if err == nil {
			err = own.RestoreWrites(w.Overwrite, func(into any) error { return json.Unmarshal(data, into) })
		}
		if err != nil {
			return fmt.Errorf("graph: field %q: %w", schema.Fields()[i].Name, err)
		}
	}
	return nil
}

// share makes the state of a run that begins a copy of its parent's.
func (r *run) share(input state.View) {
	r.schema.Assign(r.state, input)
	for i := range r.changed {
		r.changed[i] = true
		if r.journal != nil {
			r.journal.Chain.Rebase(i)
		}
	}
}

// gather adds what the tasks of the step wrote to what the run has written in all.
func (r *run) gather() error {
	if err := r.note(); err != nil {
		return err
	}
	for i := range r.net.Channels {
		r.gatherField(i, r.collect(r.tasks, i))
	}
	return nil
}

// note lets the next commit say what the tasks of the step wrote.
func (r *run) note() error {
	var tasks [][]fieldWrite
	for _, t := range r.tasks {
		all, err := writesOf(r.schema, t.view)
		if err != nil {
			return r.fail(err)
		}
		tasks = append(tasks, all)
	}
	r.wrote = append(r.wrote, tasks)
	return nil
}

// gatherField adds the writes of one step to a field. One that replaces the value wins
// over the others; a field that lives for one step has the last step's alone.
func (r *run) gatherField(i int, writes []state.Channel) {
	if at := slices.IndexFunc(writes, func(w state.Channel) bool { return w.Writes().Overwrite }); at >= 0 {
		writes = writes[at : at+1]
	}
	if slices.Contains(r.expire, i) {
		r.schema.AssignField(r.net, r.schema.Blank(), i)
	}
	for _, w := range writes {
		r.net.Channels[i].(state.Sequel).Then(w)
	}
}

// recall finds out what a run that goes on from commit at has written so far: its commits hold
// it, step by step.
func (r *run) recall(at uint64) error {
	var commits []json.RawMessage
	for c, err := range r.thread().commits(r.ns, checkpoint.Query{Before: at + 1}) {
		if err != nil {
			return r.fail(err)
		}
		if c.Seq > at { // on another branch
			continue
		}
		rec := c.rec
		at = cmp.Or(rec.Parent, c.Seq-1)
		mine := rec.Within != nil && rec.Within.Call == r.place.Call
		if rec.Within == nil || rec.Within.Task != r.place.Task || mine && rec.Source == checkpoint.Input {
			break
		}
		if mine && rec.Within.Wrote != nil {
			commits = append(commits, rec.Within.Wrote)
		}
		if mine && rec.Healed { // it holds all that came before
			break
		}
	}
	slices.Reverse(commits)
	for _, data := range commits {
		var steps [][][]fieldWrite
		if err := json.Unmarshal(data, &steps); err != nil {
			return r.fail(err)
		}
		for _, tasks := range steps {
			if err := r.recallStep(tasks); err != nil {
				return r.fail(err)
			}
		}
	}
	return nil
}

// recallStep adds what the tasks of one step wrote.
func (r *run) recallStep(tasks [][]fieldWrite) error {
	writes := make([][]state.Channel, len(r.net.Channels))
	for _, all := range tasks {
		v := r.schema.Blank()
		if err := restoreWrites(r.schema, v, all); err != nil {
			return err
		}
		for i, c := range v.Channels {
			if c.Wrote() {
				writes[i] = append(writes[i], c)
			}
		}
	}
	for i := range writes {
		r.gatherField(i, writes[i])
	}
	return nil
}
