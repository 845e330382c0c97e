package graph

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/weftrun/weft/state"
)

// fold carries the writes of the step's tasks into the state, field by field and in
// canonical order. If that fails the state is as it was.
func (r *run) fold() error {
	if r.net.State != nil {
		if err := r.gather(); err != nil {
			return err
		}
	}
	if len(r.tasks) == 1 && r.safe {
		r.foldOne(r.tasks[0].view.Channels)
	} else if err := r.foldAll(); err != nil {
		return err
	}
	for _, i := range r.expire {
		if len(r.collect(i)) == 0 {
			r.state.Channels[i].(state.Expirer).Expire()
			r.changed[i] = true
		}
	}
	return nil
}

// foldOne is fold for the writes of one task to channels that cannot fail.
func (r *run) foldOne(own []state.Channel) {
	for i, c := range own {
		if c.Wrote() {
			_ = r.state.Channels[i].Fold(own[i : i+1])
			r.changed[i] = true
		}
	}
}

// foldAll is fold for many tasks, or for channels that run code of the user.
func (r *run) foldAll() (err error) {
	field := 0
	if r.before.State == nil {
		r.before = r.schema.Blank()
	}
	r.schema.Assign(r.before, r.state)
	defer func() {
		if v := recover(); v != nil {
			err = r.fail(fmt.Errorf("folding field %q: %w", r.schema.Fields()[field].Name, &PanicError{Value: v, Stack: debug.Stack()}))
		}
		if err != nil {
			r.schema.Assign(r.state, r.before) // r.changed may say too much; it never says too little
		}
	}()
	for field = range r.state.Channels {
		writes := r.collect(field)
		if len(writes) == 0 {
			continue
		}
		if err := r.state.Channels[field].Fold(writes); err != nil {
			return r.fail(r.conflict(field, err))
		}
		r.changed[field] = true
	}
	return nil
}

// collect returns the views of a field that were written in this step, in canonical
// order, and leaves the tasks that wrote them in r.writers.
func (r *run) collect(field int) []state.Channel {
	r.writes, r.writers = slices.Grow(r.writes[:0], len(r.tasks)), slices.Grow(r.writers[:0], len(r.tasks))
	for i, t := range r.tasks {
		if c := t.view.Channels[field]; c.Wrote() {
			r.writes, r.writers = append(r.writes, c), append(r.writers, i)
		}
	}
	return r.writes
}

// conflict names the field and the two nodes of a ConflictError.
func (r *run) conflict(field int, err error) error {
	name := r.schema.Fields()[field].Name
	var c *state.ConflictError
	if !errors.As(err, &c) || max(c.First, c.Second) >= len(r.writers) {
		return fmt.Errorf("folding field %q: %w", name, err)
	}
	a, b := r.tasks[r.writers[c.First]], r.tasks[r.writers[c.Second]]
	if c.First == c.Second {
		return fmt.Errorf("%w: field %q was written by node %q: %s", ErrConflict, name, a.node.name, c.Rule)
	}
	return fmt.Errorf("%w: field %q was written by node %q and by node %q: %s", ErrConflict, name, a.node.name, b.node.name, c.Rule)
}
