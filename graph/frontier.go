package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/step"
)

// recordFrontier writes the frontier into rec.
func (r *run) recordFrontier(rec *checkpoint.Record) error {
	for _, n := range r.front.Due {
		name := r.nodes[n].name
		rec.Next = append(rec.Next, checkpoint.Task{ID: r.taskID(r.done+1, name, -1), Node: name})
	}
	for i, s := range r.front.Sends {
		name := r.nodes[s.Node].name
		payload, err := json.Marshal(s.Payload)
		if err != nil {
			return r.fail(fmt.Errorf("the payload of a Send to %q cannot be stored: %w", name, err))
		}
		rec.Next = append(rec.Next, checkpoint.Task{ID: r.taskID(r.done+1, name, i), Node: name, Send: true, Payload: payload, Timeout: time.Duration(s.Within)})
	}
	for _, n := range r.front.Waiting {
		rec.Waiting = append(rec.Waiting, r.nodes[n].name)
	}
	for j, arrived := range r.front.Arrived {
		if slices.Contains(arrived, true) {
			rec.Joins = append(rec.Joins, r.joinRecord(j, arrived))
		}
	}
	return nil
}

func (r *run) joinRecord(j int, arrived []bool) checkpoint.Join {
	join := r.shape.Joins[j]
	rec := checkpoint.Join{Target: r.nodes[join.Target].name}
	for i, s := range join.Sources {
		rec.Sources = append(rec.Sources, r.nodes[s].name)
		if arrived[i] {
			rec.Arrived = append(rec.Arrived, r.nodes[s].name)
		}
	}
	return rec
}

// unrecord restores the frontier from rec. What is no longer in the program is an
// ErrProgram that names it all.
func (r *run) unrecord(rec *checkpoint.Record) error {
	r.front = step.Frontier{}
	var missing []string
	find := func(name string) int {
		n, ok := r.find(name)
		if !ok {
			missing = append(missing, "node "+quote(name))
			return -1
		}
		return n
	}
	for _, t := range rec.Next {
		n := find(t.Node)
		switch {
		case n < 0:
		case !t.Send && r.nodes[n].payload != nil:
			missing = append(missing, "node "+quote(t.Node)+", now a Worker")
		case !t.Send:
			r.front.Due = insert(r.front.Due, n)
		case r.nodes[n].payload == nil:
			missing = append(missing, "Worker "+quote(t.Node))
		default:
			p, err := r.nodes[n].payload.decode(t.Payload)
			if err != nil {
				return r.fail(fmt.Errorf("%w: the payload of node %q: %w", ErrProgram, t.Node, err))
			}
			r.front.Sends = append(r.front.Sends, step.Send{Node: n, Payload: p, Within: int64(t.Timeout)})
		}
	}
	for _, name := range rec.Waiting {
		r.front.Waiting = insert(r.front.Waiting, find(name))
	}
	r.front.Arrived = make([][]bool, len(r.shape.Joins))
	for j, join := range r.shape.Joins {
		r.front.Arrived[j] = make([]bool, len(join.Sources))
	}
	for _, saved := range rec.Joins {
		if !r.unrecordJoin(saved) {
			missing = append(missing, fmt.Sprintf("the join of %s into %q", strings.Join(saved.Sources, ", "), saved.Target))
		}
	}
	if len(missing) > 0 {
		return r.fail(fmt.Errorf("%w: it waits for %s", ErrProgram, strings.Join(missing, ", ")))
	}
	return nil
}

func (r *run) unrecordJoin(saved checkpoint.Join) bool {
	for j := range r.shape.Joins {
		now := r.joinRecord(j, r.front.Arrived[j])
		if now.Target == saved.Target && slices.Equal(now.Sources, saved.Sources) {
			for i, name := range saved.Sources {
				r.front.Arrived[j][i] = slices.Contains(saved.Arrived, name)
			}
			return true
		}
	}
	return false
}
