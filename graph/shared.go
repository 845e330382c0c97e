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
		return Node[S]{targets: targets, faults: []string{"an Inline needs a graph"}}
	}
	return Node[S]{targets: targets, child: child.p, faults: unshared(child.p.schema), call: func(ctx context.Context, s, _ any) (Command, error) {
		v, err := newChildCall(ctx, child.p)
		if err != nil {
			return Command{}, err
		}
		t := v.up.task
		if !sameFields(child.p.schema, t.run.schema) {
			return Command{}, fmt.Errorf("graph: the state of %q has other fields than that of %q; use Subgraph", child.p.name, t.run.name)
		}
		shared := &sharedState{net: child.p.schema.Blank()}
		v.run.shared = shared
		if _, err := v.wait(ctx, s); err != nil {
			return Command{}, err
		}
		return Command{}, addWrites(t.run.schema, t.view, shared.net)
	}}
}

// unshared returns what is wrong with sharing a state.
func unshared(schema *state.Schema) (faults []string) {
	for i, c := range schema.Blank().Channels {
		if _, ok := c.(state.Sequel); !ok {
			f := schema.Fields()[i]
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

// sharedState is what a run has that shares the state of its parent: see [Inline]. It lives as
// long as the run. That of a run which has a state of its own is nil.
type sharedState struct {
	net   state.View       // what the run has written in all; without a State for an edit by hand
	wrote [][][]fieldWrite // what the tasks of the steps that are not committed wrote
}

// shares reports whether the run shares the state of its parent.
func (s *sharedState) shares() bool { return s != nil && s.net.State != nil }

// committed notes that what the steps wrote is committed, or dropped. s may be nil.
func (s *sharedState) committed() {
	if s != nil {
		s.wrote = nil
	}
}

// note lets the next commit say what the tasks of a step wrote.
func (s *sharedState) note(p *program, step []*task) error {
	var tasks [][]fieldWrite
	for _, t := range step {
		all, err := writesOf(p.schema, t.view)
		if err != nil {
			return err
		}
		tasks = append(tasks, all)
	}
	s.wrote = append(s.wrote, tasks)
	return nil
}

// noteAll lets the next commit say all that the run has written.
func (s *sharedState) noteAll(p *program) error {
	if !s.shares() {
		return nil
	}
	all, err := writesOf(p.schema, s.net)
	s.wrote = [][][]fieldWrite{{all}}
	return err
}

// addStep adds what the tasks of a step wrote to what the run has written in all, and notes it.
func (s *sharedState) addStep(p *program, v *values, step []*task) error {
	if !s.shares() {
		return nil
	}
	if err := s.note(p, step); err != nil {
		return err
	}
	for i := range s.net.Channels {
		s.addField(p, i, v.room(p).collect(step, i))
	}
	return nil
}

// addField adds the writes of one step to a field. One that replaces the value wins
// over the others; a field that lives for one step has the last step's alone.
func (s *sharedState) addField(p *program, i int, writes []state.Channel) {
	if at := slices.IndexFunc(writes, func(w state.Channel) bool { return w.Writes().Overwrite }); at >= 0 {
		writes = writes[at : at+1]
	}
	if slices.Contains(p.expire, i) {
		p.schema.AssignField(s.net, p.schema.Blank(), i)
	}
	for _, w := range writes {
		s.net.Channels[i].(state.Sequel).Then(w)
	}
}

// restore finds out what a run that is called at a place, and goes on from commit at of a
// namespace, has written so far: its commits hold it, step by step.
func (s *sharedState) restore(p *program, thread threadReader, namespace string, place *checkpoint.Within, at uint64) error {
	if !s.shares() {
		return nil
	}
	var commits []json.RawMessage
	for c, err := range thread.commits(namespace, checkpoint.Query{Before: at + 1}) {
		if err != nil {
			return err
		}
		if c.Seq > at { // on another branch
			continue
		}
		rec := c.rec
		at = cmp.Or(rec.Parent, c.Seq-1)
		mine := rec.Within != nil && rec.Within.Call == place.Call
		if rec.Within == nil || rec.Within.Task != place.Task || mine && rec.Source == checkpoint.Input {
			break
		}
		if mine && rec.Within.Wrote != nil {
			commits = append(commits, rec.Within.Wrote)
		}
		if mine && rec.Recovered { // it holds all that came before
			break
		}
	}
	for _, data := range slices.Backward(commits) {
		var steps [][][]fieldWrite
		if err := json.Unmarshal(data, &steps); err != nil {
			return err
		}
		for _, tasks := range steps {
			if err := s.restoreStep(p, tasks); err != nil {
				return err
			}
		}
	}
	return nil
}

// restoreStep adds what the tasks of one stored step wrote.
func (s *sharedState) restoreStep(p *program, tasks [][]fieldWrite) error {
	writes := make([][]state.Channel, len(s.net.Channels))
	for _, all := range tasks {
		v := p.schema.Blank()
		if err := restoreWrites(p.schema, v, all); err != nil {
			return err
		}
		for i, c := range v.Channels {
			if c.Wrote() {
				writes[i] = append(writes[i], c)
			}
		}
	}
	for i := range writes {
		s.addField(p, i, writes[i])
	}
	return nil
}
