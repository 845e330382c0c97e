package graph

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/step"
)

// recordFrontier writes the frontier into rec.
func (c *committer) recordFrontier(rec *checkpoint.Record) error {
	r := c.run
	for i := range r.front.Len() {
		t := r.front.Task(i)
		name := r.nodes[t.Node].name
		due := checkpoint.Task{ID: r.taskID(r.turn, r.done+1, name, t.Index), Node: name}
		if t.Index >= 0 {
			payload, err := json.Marshal(t.Payload)
			if err != nil {
				return r.fail(fmt.Errorf("the payload of a Send to %q cannot be stored: %w", name, err))
			}
			due.Send, due.Payload, due.Timeout = true, payload, time.Duration(t.Timeout)
		}
		rec.Next = append(rec.Next, due)
	}
	w := r.shape.Waiting(&r.front)
	rec.Waiting = w.Deferred
	for _, join := range w.Joins {
		rec.Joins = append(rec.Joins, checkpoint.Join(join))
	}
	return nil
}

// restoreFrontier restores the frontier from rec. What is no longer in the program is an ErrProgram
// that names it all.
func (c *committer) restoreFrontier(rec *checkpoint.Record) error {
	r := c.run
	missing, err := r.frontierOf(rec, &r.front)
	switch {
	case err != nil:
		return r.fail(err)
	case len(missing) > 0:
		return r.fail(fmt.Errorf("%w: it waits for %s", ErrProgram, strings.Join(missing, ", ")))
	}
	return nil
}

// frontierOf restores a frontier from rec. It returns what is no longer in the program.
func (p *program) frontierOf(rec *checkpoint.Record, front *step.Frontier) (missing []string, err error) {
	var tasks []step.Task
	for _, t := range rec.Next {
		n, ok := p.find(t.Node)
		switch {
		case !ok:
			missing = append(missing, "node "+quote(t.Node))
		case !t.Send && p.nodes[n].payload != nil:
			missing = append(missing, "node "+quote(t.Node)+", now a Worker")
		case !t.Send:
			tasks = append(tasks, step.Task{Node: n, Index: -1})
		case p.nodes[n].payload == nil:
			missing = append(missing, "Worker "+quote(t.Node))
		default:
			payload, err := p.nodes[n].payload.decode(t.Payload)
			if err != nil {
				return nil, fmt.Errorf("%w: the payload of node %q: %w", ErrProgram, t.Node, err)
			}
			tasks = append(tasks, step.Task{Node: n, Payload: payload, Timeout: int64(t.Timeout)})
		}
	}
	w := step.Waiting{Deferred: rec.Waiting}
	for _, join := range rec.Joins {
		w.Joins = append(w.Joins, step.WaitingJoin(join))
	}
	lost := p.shape.Restore(front, tasks, w)
	for _, name := range lost.Deferred {
		missing = append(missing, "node "+quote(name))
	}
	for _, join := range lost.Joins {
		missing = append(missing, fmt.Sprintf("the join of %s into %q", strings.Join(join.Sources, ", "), join.Target))
	}
	return missing, nil
}
