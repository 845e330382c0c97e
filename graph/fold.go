package graph

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/weftrun/weft/state"
)

// values is the state of a run, and what of it is not committed yet.
type values struct {
	state   state.View
	changed []bool // fields that differ from the last commit

	folding *folding // nil until a fold that may fail
	few     [16]bool // where changed begins: a small state needs no more
}

// folding is what a fold that may fail needs. The folds of a run use one.
type folding struct {
	before state.View      // what the state was before
	writes []state.Channel // of one field
}

// fold carries the writes of a step's tasks into the state, field by field and in canonical order.
// If that fails the state is as it was.
func (v *values) fold(p *program, tasks []*task) error {
	if len(tasks) == 1 && p.safe {
		v.foldOne(tasks[0].view.Channels)
	} else if err := v.foldAll(p, tasks); err != nil {
		return err
	}
	for _, i := range p.expire {
		if !slices.ContainsFunc(tasks, func(t *task) bool { return t.view.Channels[i].Wrote() }) {
			v.state.Channels[i].(state.Expirer).Expire()
			v.changed[i] = true
		}
	}
	return nil
}

// foldOne is fold for the writes of one task to channels that cannot fail.
func (v *values) foldOne(own []state.Channel) {
	for i, c := range own {
		if c.Wrote() {
			_ = v.state.Channels[i].Fold(own[i : i+1])
			v.changed[i] = true
		}
	}
}

// foldAll is fold for many tasks, or for channels that run code of the user. What lives for one
// step stays.
func (v *values) foldAll(p *program, tasks []*task) (err error) {
	field := 0
	before := v.room(p).before
	p.schema.Assign(before, v.state)
	defer func() {
		if val := recover(); val != nil {
			err = fmt.Errorf("folding field %q: %w", p.schema.Fields()[field].Name, &PanicError{Value: val, Stack: debug.Stack()})
		}
		if err != nil {
			p.schema.Assign(v.state, before) // v.changed may have too many fields, never too few
		}
	}()
	for field = range v.state.Channels {
		writes := v.folding.collect(tasks, field)
		if len(writes) == 0 {
			continue
		}
		if err := v.state.Channels[field].Fold(writes); err != nil {
			return conflict(p.schema.Fields()[field].Name, tasks, field, err)
		}
		v.changed[field] = true
	}
	return nil
}

// room returns v.folding. It makes it if there is none.
func (v *values) room(p *program) *folding {
	if v.folding == nil {
		v.folding = &folding{before: p.schema.Blank()}
	}
	return v.folding
}

// collect returns the views of a field that the tasks have written, in canonical order.
func (f *folding) collect(tasks []*task, field int) []state.Channel {
	f.writes = slices.Grow(f.writes[:0], len(tasks))
	for _, t := range tasks {
		if c := t.view.Channels[field]; c.Wrote() {
			f.writes = append(f.writes, c)
		}
	}
	return f.writes
}

// conflict adds a field, and the two nodes of a ConflictError, to the error of a fold.
func conflict(name string, tasks []*task, field int, err error) error {
	var c *state.ConflictError
	writers := slices.DeleteFunc(slices.Clone(tasks), func(t *task) bool { return !t.view.Channels[field].Wrote() })
	if !errors.As(err, &c) || max(c.First, c.Second) >= len(writers) {
		return fmt.Errorf("folding field %q: %w", name, err)
	}
	a, b := writers[c.First].node.name, writers[c.Second].node.name
	if c.First == c.Second {
		return fmt.Errorf("%w: field %q was written by node %q: %s", ErrConflict, name, a, c.Rule)
	}
	return fmt.Errorf("%w: field %q was written by node %q and by node %q: %s", ErrConflict, name, a, b, c.Rule)
}
