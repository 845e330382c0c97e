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

	before  state.View      // what the state was before a fold that may fail
	writes  []state.Channel // of one field, while it is folded
	writers []int           // the tasks that wrote them
	few     [16]bool        // where changed begins: a small state needs no more
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
		if len(v.collect(tasks, i)) == 0 {
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
	if v.before.State == nil {
		v.before = p.schema.Blank()
	}
	p.schema.Assign(v.before, v.state)
	defer func() {
		if val := recover(); val != nil {
			err = fmt.Errorf("folding field %q: %w", p.schema.Fields()[field].Name, &PanicError{Value: val, Stack: debug.Stack()})
		}
		if err != nil {
			p.schema.Assign(v.state, v.before) // v.changed may have too many fields, never too few
		}
	}()
	for field = range v.state.Channels {
		writes := v.collect(tasks, field)
		if len(writes) == 0 {
			continue
		}
		if err := v.state.Channels[field].Fold(writes); err != nil {
			return v.conflict(p.schema.Fields()[field].Name, tasks, err)
		}
		v.changed[field] = true
	}
	return nil
}

// collect returns the views of a field that the tasks have written, in canonical order, and leaves
// the places of those tasks in v.writers.
func (v *values) collect(tasks []*task, field int) []state.Channel {
	v.writes, v.writers = slices.Grow(v.writes[:0], len(tasks)), slices.Grow(v.writers[:0], len(tasks))
	for i, t := range tasks {
		if c := t.view.Channels[field]; c.Wrote() {
			v.writes, v.writers = append(v.writes, c), append(v.writers, i)
		}
	}
	return v.writes
}

// conflict adds the field, and the two nodes of a ConflictError, to the error of a fold.
func (v *values) conflict(field string, tasks []*task, err error) error {
	var c *state.ConflictError
	if !errors.As(err, &c) || max(c.First, c.Second) >= len(v.writers) {
		return fmt.Errorf("folding field %q: %w", field, err)
	}
	a, b := tasks[v.writers[c.First]], tasks[v.writers[c.Second]]
	if c.First == c.Second {
		return fmt.Errorf("%w: field %q was written by node %q: %s", ErrConflict, field, a.node.name, c.Rule)
	}
	return fmt.Errorf("%w: field %q was written by node %q and by node %q: %s", ErrConflict, field, a.node.name, b.node.name, c.Rule)
}
