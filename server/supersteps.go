package server

import (
	"context"

	"github.com/weftrun/weft/graph"
)

// superstep is a step that a new thread begins with.
type superstep struct {
	Updates []stepUpdate `json:"updates"`
}

// stepUpdate is what one node wrote in a superstep.
type stepUpdate struct {
	stateRequest
	Command *runCommand `json:"command"`
}

// edit returns the edit of the update.
func (u stepUpdate) edit(fields *fieldReader) (graph.UntypedEdit, error) {
	if u.Command != nil && absent(u.Values) {
		u.Values = u.Command.Update
	}
	e, err := u.stateRequest.edit(fields)
	if err == nil && u.Command != nil {
		err = readGoto(&e, u.Command.Goto)
	}
	return e, err
}

const (
	inputNode = "__input__"
	startNode = "__start__"
)

// edits returns supersteps as edits. A step of __input__ and one of __start__ after it are one
// turn, with what the second one wrote.
func edits(steps []superstep, fields *fieldReader) (all [][]graph.UntypedEdit, err error) {
	node := func(i int) string {
		if i < len(steps) && len(steps[i].Updates) == 1 && steps[i].Updates[0].AsNode != nil {
			return *steps[i].Updates[0].AsNode
		}
		return ""
	}
	for i, s := range steps {
		if node(i) == inputNode && node(i+1) == startNode {
			continue
		}
		var step []graph.UntypedEdit
		for _, u := range s.Updates {
			if u.AsNode != nil && *u.AsNode == inputNode {
				*u.AsNode = startNode
			}
			e, err := u.edit(fields)
			if err != nil {
				return nil, err
			}
			step = append(step, e)
		}
		all = append(all, step)
	}
	return all, nil
}

// answerCreated commits the supersteps of a new thread, and answers with the thread. If they are
// refused there is no thread.
func (c *call) answerCreated(t thread, steps []superstep) error {
	if len(steps) == 0 {
		return c.answer(t.Thread)
	}
	id := t.ThreadID
	shown, err := c.shownOf(t, useUpdate)
	var all [][]graph.UntypedEdit
	if err == nil {
		all, err = edits(steps, shown.graph.reader())
	}
	if err == nil {
		_, err = c.edit(shown, all, graph.RunOptions{})
	}
	if err == nil {
		t, err = c.server.visibleThread(c.Context(), id, nil)
	}
	if err != nil {
		if undo := c.server.removeThread(context.WithoutCancel(c.Context()), id); undo != nil {
			return undo
		}
		return err
	}
	if t.Values, err = c.valuesOf(t); err != nil {
		return err
	}
	return c.answer(t.Thread)
}
