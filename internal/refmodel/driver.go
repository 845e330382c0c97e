package refmodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// Driver runs a Spec with package graph like a driver in another process: by Plan, RunTask and
// Commit, one call at a time. It makes each call twice, each time on a new graph.
type Driver struct {
	// Open returns a new graph over the store: a process.
	Open func() (*graph.Graph[State], error)
	// Order returns the order in which so many tasks are run; nil means that in which they are due.
	Order func(n int) []int

	ctx    context.Context
	engine *Engine // reads what is stored
	runs   int
	last   []graph.Interrupt
	faults []string // what differed when a call was made again
}

var _ Runner = (*Driver)(nil)

// NewDriver returns a Driver of a thread in a store.
func NewDriver(ctx context.Context, open func() (*graph.Graph[State], error), store checkpoint.Store) (*Driver, error) {
	g, err := open()
	if err != nil {
		return nil, err
	}
	return &Driver{Open: open, ctx: ctx, engine: NewEngine(ctx, g, store)}, nil
}

// Faults returns what differed when a call was made again.
func (d *Driver) Faults() []string { return d.faults }

// Invoke implements [Runner].
func (d *Driver) Invoke(input []Op, discard bool) Outcome {
	w := jsonInput{}
	if _, err := run(input, w, "", 0); err != nil {
		panic(err)
	}
	data, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	q := graph.PlanRequest{Input: data}
	if discard {
		q.OnOpenQuestions = graph.Discard
	}
	return d.drive(q)
}

// jsonInput is a Task that gathers an input as JSON.
type jsonInput map[string]any

// PlainInputs returns sp with what JSON can say of its inputs: the first write to each field.
func PlainInputs(sp *Spec) *Spec {
	plain := *sp
	plain.Turns = nil
	for _, input := range sp.Turns {
		seen := map[string]bool{"fold": true} // what it holds is not what is written to it
		keep := []Op{}
		for _, op := range input {
			if op.Do == "write" && !seen[op.Field] {
				seen[op.Field] = true
				keep = append(keep, op)
			}
		}
		plain.Turns = append(plain.Turns, keep)
	}
	return &plain
}

// Write implements [Task].
func (w jsonInput) Write(field, how string, key, n int) {
	if how != "write" {
		panic("refmodel: an input as JSON cannot " + how)
	}
	switch field {
	case "list", "draft", "topic":
		w[field] = []int{n}
	case "set":
		w[field] = []int{n % 8}
	case "map", "laps":
		w[field] = map[int]int{key: n}
	default:
		w[field] = n
	}
}

// Read, Lap, Ask and Fails implement [Task] for what sees no state.
func (jsonInput) Read(string) int                { return 0 }
func (jsonInput) Lap(int) int                    { return 0 }
func (jsonInput) Ask(string, string) (int, bool) { panic("refmodel: an input asks") }
func (jsonInput) Fails(int, int) bool            { panic("refmodel: an input fails") }

// Resume implements [Runner].
func (d *Driver) Resume(given []Answer) Outcome {
	return d.drive(graph.PlanRequest{Answers: answers(given, d.last)})
}

// drive runs to the end of a run.
func (d *Driver) drive(q graph.PlanRequest) Outcome {
	d.runs++
	q.Thread, q.Run = d.engine.Thread, fmt.Sprintf("run-%d", d.runs)
	plan, err := twice(d, q, func(g graph.Untyped, q graph.PlanRequest) (graph.Plan, error) { return g.Plan(d.ctx, q) })
	for err == nil && plan.Status == graph.Pending {
		due := plan.Due()
		order := make([]int, len(due))
		for i := range order {
			order[i] = i
		}
		if d.Order != nil {
			order = d.Order(len(due))
		}
		for _, i := range order {
			_, err = twice(d, graph.TaskRequest{Step: plan.ID, Task: due[i].ID},
				func(g graph.Untyped, q graph.TaskRequest) (graph.TaskResult, error) { return g.RunTask(d.ctx, q) })
			if err != nil {
				panic(fmt.Sprint("refmodel: RunTask: ", err))
			}
		}
		plan, err = twice(d, graph.CommitRequest{Step: plan.ID},
			func(g graph.Untyped, q graph.CommitRequest) (graph.Plan, error) { return g.Commit(d.ctx, q) })
	}
	if err := d.open().Release(d.ctx, plan.ID); err != nil {
		panic(err)
	}
	return d.outcome(plan, err)
}

// open returns a graph as another process has it.
func (d *Driver) open() graph.Untyped {
	g, err := d.Open()
	if err != nil {
		panic(err)
	}
	return g.Untyped()
}

// twice makes a call in two processes, one after the other, and returns what the second got. The
// request and the answer travel as JSON.
func twice[Q, A any](d *Driver, q Q, call func(graph.Untyped, Q) (A, error)) (answer A, err error) {
	var first string
	for n := range 2 {
		answer, err = call(d.open(), sent(q))
		answer = sent(answer)
		data, _ := json.Marshal(answer) // it has just been made of JSON
		if res, ok := any(answer).(graph.TaskResult); ok && (len(data) >= 1024 || res.End == "") && err == nil {
			d.faults = append(d.faults, fmt.Sprintf("a result of %d bytes that ended %q", len(data), res.End))
		}
		text := fmt.Sprintf("%s, error %v", data, err)
		if n == 0 {
			first = text
		} else if text != first {
			d.faults = append(d.faults, fmt.Sprintf("%T made again\n got: %s\nwant: %s", q, text, first))
		}
	}
	return answer, err
}

// sent returns v as it arrives elsewhere.
func sent[T any](v T) (arrived T) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &arrived)
	}
	if err != nil {
		panic(err)
	}
	return arrived
}

// outcome returns how a run ended.
func (d *Driver) outcome(plan graph.Plan, err error) Outcome {
	s, _, readErr := d.engine.Graph.Thread(d.engine.Thread).State(d.ctx, 0)
	if readErr != nil {
		panic(fmt.Sprint("refmodel: ", err, "; ", readErr))
	}
	data, encErr := d.engine.Graph.EncodeState(s)
	if encErr != nil {
		panic(encErr)
	}
	o := Outcome{Status: drivenStatus(plan.Status, err), State: canonical(data), Starved: plan.Starved}
	if err != nil {
		return o
	}
	o.Open, d.last = opened(plan.Interrupts)
	o.Steps = plan.Steps
	return o
}

// drivenStatus is status for errors that were stored: of those of nodes only the text is left.
func drivenStatus(s graph.Status, err error) string {
	var stored *graph.StoredError
	switch {
	case !errors.As(err, &stored):
		return status(s, err)
	case strings.Contains(stored.Failure.Message, errFail.Error()):
		return "failed"
	}
	return "broken"
}

// History returns the commits of the thread, as Engine.History does.
func (d *Driver) History() []string { return d.engine.History() }
