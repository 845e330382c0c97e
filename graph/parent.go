package graph

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

// InParent returns a Command that ends the graph it is returned in. The graph around it then
// applies c, as if the node that runs the child had returned it. The writes of the child's last
// step are dropped, those of siblings too; earlier steps stay in its checkpoints. The targets of
// the node must include those of c.
//
// InParent of an InParent goes up two graphs. A graph without a parent fails with
// [ErrNoParent].
func (c Command) InParent() Command {
	return Command{}.add(more{kind: moreParent, up: parentCommandOf(c)})
}

// ToParent is cmd.InParent with writes to the parent's state: those that a state of the
// parent's type holds, as in an input.
//
//	return graph.ToParent(graph.Goto("human"), Parent{Why: state.Of("too hard")}), nil
//
// They count as writes of the node that runs the child, after its own.
func ToParent[P any](cmd Command, writes P) Command {
	up := parentCommandOf(cmd)
	if rec, ok := any(writes).(record.Record); ok {
		data, err := json.Marshal(rec)
		up.Fields, up.err = data, errors.Join(up.err, err)
		return Command{}.add(more{kind: moreParent, up: up})
	}
	schema, err := state.SchemaOf[P]()
	if err == nil {
		err = up.take(schema, schema.Over(&writes))
	}
	up.err = errors.Join(up.err, err)
	return Command{}.add(more{kind: moreParent, up: up})
}

func parentCommandOf(c Command) *parentCommand {
	a := &parentCommand{}
	if c.to != "" {
		a.Goto = append(a.Goto, c.to)
	}
	for _, m := range c.additions(nil) {
		switch m.kind {
		case moreParent:
			a.Up = m.up
		case moreSend:
			payload, err := encode(m.payload)
			if err != nil {
				a.err = fmt.Errorf("graph: the payload of a Send to %q: %w", m.text, err)
			}
			a.Sends = append(a.Sends, sendResult{m.text, payload, int64(m.within)})
		case moreReason:
			a.Why = m.text
		case moreTimeout:
			a.err = fmt.Errorf("graph: WithTimeout(%v) does not follow a Send", m.within)
		default:
			a.Goto = append(a.Goto, m.text)
		}
	}
	return a
}

// take takes the writes of a state.
func (a *parentCommand) take(schema *state.Schema, v state.View) error {
	for i, c := range v.Channels {
		if _, holds := c.Stored(); holds && !c.Wrote() {
			return fmt.Errorf("graph: field %q of the writes to a parent was taken from a run; give only what is new", schema.Fields()[i].Name)
		}
	}
	err := schema.CheckWrites(v)
	if err == nil {
		a.Writes, err = writesOf(schema, v)
	}
	return err
}

// check returns why a cannot be.
func (a *parentCommand) check() error {
	switch {
	case a.err != nil:
		return a.err
	case a.Up != nil && len(a.Goto)+len(a.Sends) > 0:
		return fmt.Errorf("%w: a Command that goes to the parent goes nowhere else", ErrTarget)
	case a.Up != nil:
		return a.Up.check()
	}
	return nil
}

// parentCommandError carries a Command through the code of the parent's node.
type parentCommandError struct{ *parentCommand }

func (e *parentCommandError) Error() string { return ErrToParent.Error() }

// Is makes errors.Is(err, ErrToParent) true.
func (e *parentCommandError) Is(target error) bool { return target == ErrToParent }

// parentCommandIn returns the Command to the parent that err carries, or nil.
func parentCommandIn(err error) *parentCommand {
	if err == nil {
		return nil
	}
	var e *parentCommandError
	if errors.As(err, &e) {
		return e.parentCommand
	}
	return nil
}

// writeTo adds the writes of a to a view of the parent's state.
func (a *parentCommand) writeTo(schema *state.Schema, v state.View) error {
	if a.Fields != nil {
		if err := schema.Decode(v, a.Fields); err != nil {
			return err
		}
	}
	if len(a.Writes) == 0 {
		return nil
	}
	next := schema.Blank()
	if err := restoreWrites(schema, next, a.Writes); err != nil {
		return err
	}
	return addWrites(schema, v, next)
}
