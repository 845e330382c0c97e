package refmodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// Engine runs a Spec with package graph.
type Engine struct {
	Graph  *graph.Graph[State]
	Thread string
	// Retry reports whether a call that ended with this error is repeated; nil means never.
	// It simulates a process that died, so it may also replace Graph.
	Retry func(error) bool
	// Durability is that of all runs. It must not change the trace.
	Durability graph.Durability
	// Err is the error of the last call.
	Err error

	ctx   context.Context
	store checkpoint.Store
	last  []graph.Interrupt // the questions among those of the last call that was not refused
}

// NewEngine returns an Engine for a graph that was made by [Workshop.Compile] with this
// store, or nil.
func NewEngine(ctx context.Context, g *graph.Graph[State], store checkpoint.Store) *Engine {
	e := &Engine{Graph: g, ctx: ctx, store: store}
	if store != nil {
		e.Thread = "refmodel"
	}
	return e
}

// Invoke begins a turn, and runs it.
func (e *Engine) Invoke(input []Op, discard bool) Outcome {
	var s State
	if _, err := run(input, &visit{State: &s}, "", 0); err != nil {
		panic(err)
	}
	turn := e.turn()
	o := graph.RunOptions{Thread: e.Thread, Durability: e.Durability}
	if discard {
		o.OnOpenQuestions = graph.Discard
	}
	res, err := e.Graph.Invoke(e.ctx, s, o)
	for e.Retry != nil && err != nil && e.Retry(err) {
		if e.turn() == turn {
			res, err = e.Graph.Invoke(e.ctx, s, o)
		} else {
			res, err = e.Graph.Resume(e.ctx, graph.Answers{}, o)
		}
	}
	return e.outcome(res, err)
}

// turn returns how many turns the thread has begun.
func (e *Engine) turn() int {
	if e.store == nil {
		return 0
	}
	p, err := graph.Inspect(e.ctx, e.store, checkpoint.Key{Thread: e.Thread})
	if err != nil && !errors.Is(err, graph.ErrUnknownThread) {
		panic(err)
	}
	return p.Turn
}

// Resume goes on where the thread stopped.
func (e *Engine) Resume(given []Answer) Outcome {
	a := answers(given, e.last)
	o := graph.RunOptions{Thread: e.Thread, Durability: e.Durability}
	res, err := e.Graph.Resume(e.ctx, a, o)
	for e.Retry != nil && err != nil && e.Retry(err) {
		res, err = e.Graph.Resume(e.ctx, a, o)
	}
	return e.outcome(res, err)
}

// answers returns answers to some of the questions that are open.
func answers(given []Answer, open []graph.Interrupt) (a graph.Answers) {
	for _, one := range given {
		switch one.Place {
		case Only:
			a = a.Answer("", one.Value)
		case Unasked:
			a = a.Answer("unasked", one.Value)
		default:
			a = a.Answer(open[one.Place].ID, one.Value)
		}
	}
	return a
}

// opened returns the reasons of a pause, and its questions.
func opened(all []graph.Interrupt) (open []string, questions []graph.Interrupt) {
	for _, in := range all {
		text := in.Kind + " " + in.Node
		if in.Kind == "question" {
			text += ": " + in.Prompt
			questions = append(questions, in)
		}
		open = append(open, text)
	}
	return open, questions
}

// outcome returns how a call ended.
func (e *Engine) outcome(res graph.Result[State], err error) Outcome {
	e.Err = err
	state, encErr := e.Graph.EncodeState(res.State)
	if encErr != nil {
		panic(encErr)
	}
	o := Outcome{Status: status(res.Status, err), State: canonical(state), Starved: res.Starved}
	if err != nil {
		return o
	}
	o.Open, e.last = opened(res.Interrupts)
	o.Steps = res.Steps
	return o
}

// status names the end of a call as Outcome does.
func status(s graph.Status, err error) string {
	inNode := errors.As(err, new(*graph.NodeError))
	kinds := []struct {
		err  error
		name string
	}{
		{graph.ErrSteps, "steps"}, {graph.ErrFanOut, "fanout"}, {graph.ErrConflict, "conflict"}, {graph.ErrTarget, "broken"},
		{graph.ErrWaiting, "waiting"}, {graph.ErrUnknownQuestion, "unknown"}, {graph.ErrAmbiguous, "ambiguous"}, {errFail, "failed"},
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			if inNode && k.name != "failed" {
				return "broken"
			}
			return k.name
		}
	}
	if err != nil {
		return err.Error()
	}
	return string(s)
}

// History returns the commits of the thread, oldest first, with their states.
func (e *Engine) History() (lines []string) {
	for p, err := range graph.History(e.ctx, e.store, checkpoint.Key{Thread: e.Thread}, checkpoint.Query{}) {
		if err != nil {
			return append(lines, err.Error())
		}
		s, _, err := e.Graph.Thread(e.Thread).State(e.ctx, p.Checkpoint)
		if err != nil {
			return append(lines, err.Error())
		}
		state, err := e.Graph.EncodeState(s)
		if err != nil {
			return append(lines, err.Error())
		}
		lines = append(lines, fmt.Sprintf("turn %d step %d ran %v next %v %s", p.Turn, p.Step, p.Nodes(), p.Next, canonical(state)))
	}
	slices.Reverse(lines)
	return lines
}

// canonical returns a JSON object with its members in order of their names.
func canonical(data []byte) string {
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		panic(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// Workshop makes the graphs of one Spec: several, where one process follows another. What
// it counts outlives them, as the outside world does.
type Workshop struct {
	Spec *Spec
	// Parallel is the Policy.Parallel of all nodes. It must not show.
	Parallel int
	// Enter is called when a task begins to run; an error fails it. nil means nothing.
	Enter func(ctx context.Context, task, node string) error

	mu       sync.Mutex
	failed   map[string]int
	finished map[string]bool
	again    []string
	runs     map[string]int
}

// Runs returns how often each node was run, attempts included.
func (w *Workshop) Runs() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.runs)
}

// Again returns the nodes of the tasks that were run again after they had finished.
func (w *Workshop) Again() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.again
}

// begins notes that a task runs.
func (w *Workshop) begins(task, node string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = map[string]int{}
	}
	w.runs[node]++
	if w.finished[task] {
		w.again = append(w.again, node)
	}
}

// ends notes that a task has finished.
func (w *Workshop) ends(task string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.finished == nil {
		w.finished = map[string]bool{}
	}
	w.finished[task] = true
}

// Compile makes a graph of the Spec.
func (w *Workshop) Compile(cfg graph.Config) (*graph.Graph[State], error) {
	return w.compile(w.Spec, "refmodel", cfg)
}

func (w *Workshop) compile(sp *Spec, name string, cfg graph.Config) (*graph.Graph[State], error) {
	b := graph.New[State](name)
	cfg.MaxSteps, cfg.MaxTasks, cfg.InterruptBefore, cfg.InterruptAfter = sp.MaxSteps, sp.MaxTasks, sp.Before, sp.After
	for i := range sp.Nodes {
		if err := w.add(b, &sp.Nodes[i], cfg); err != nil {
			return nil, err
		}
	}
	for _, e := range sp.Edges {
		b.Edge(e[0], e[1])
	}
	for _, j := range sp.Joins {
		b.Join(j.To, j.From...)
	}
	return b.Compile(cfg)
}

func (w *Workshop) add(b *graph.Builder[State], n *Node, cfg graph.Config) error {
	policy := graph.Policy{Parallel: w.Parallel, Retry: graph.Retry{Attempts: n.Attempts, Initial: 1}}
	switch {
	case n.Sub != nil:
		child, err := w.compile(n.Sub, "sub", cfg)
		if err != nil {
			return err
		}
		b.Node(n.Name, w.host(n, child).With(policy))
	case n.Worker:
		b.Node(n.Name, graph.Worker(func(ctx context.Context, s *State, payload int) error {
			_, err := w.visit(ctx, s, n, payload)
			return err
		}).With(policy))
	case len(n.Targets) > 0:
		b.Node(n.Name, graph.Router(func(ctx context.Context, s *State) (graph.Command, error) {
			return w.visit(ctx, s, n, 0)
		}, n.Targets...).With(policy))
	default:
		b.Node(n.Name, graph.Func(func(ctx context.Context, s *State) error {
			_, err := w.visit(ctx, s, n, 0)
			return err
		}).With(policy))
	}
	for _, br := range n.Branches {
		b.Branch(n.Name, func(ctx context.Context, s *State) (graph.Command, error) {
			to, err := run(br.Script, &visit{State: s, ctx: ctx, w: w}, n.Name, 0)
			return command(to), err
		}, br.Targets...)
	}
	if n.Deferred {
		b.Defer(n.Name)
	}
	return nil
}

// host makes a node of a subgraph.
func (w *Workshop) host(n *Node, child *graph.Graph[State]) graph.Node[State] {
	return graph.Subgraph(child, func(s *State) (input State, err error) {
		_, err = run(n.Script, bridge{&visit{State: s}, &visit{State: &input}}, n.Name, 0)
		return input, err
	}, func(s, end *State) error {
		_, err := run(n.Out, bridge{&visit{State: end}, &visit{State: s}}, n.Name, 0)
		return err
	})
}

// visit runs the script of a node.
func (w *Workshop) visit(ctx context.Context, s *State, n *Node, payload int) (graph.Command, error) {
	if w.Enter != nil {
		if err := w.Enter(ctx, graph.TaskID(ctx), n.Name); err != nil {
			return graph.Command{}, err
		}
	}
	v := &visit{State: s, ctx: ctx, w: w}
	w.begins(graph.TaskID(ctx), n.Name)
	to, err := run(n.Script, v, n.Name, payload)
	if err == nil && !v.waits && len(n.Branches) == 0 {
		w.ends(graph.TaskID(ctx))
	}
	if errors.Is(err, errAsk) {
		err = graph.ErrInterrupted
	}
	return command(to), err
}

func command(to []Target) (c graph.Command) {
	for _, t := range to {
		if t.Send {
			c = c.Send(t.To, t.Payload)
		} else {
			c = c.Goto(t.To)
		}
	}
	return c
}

// visit is a Task of the engine. ctx and w are nil where a script only reads and writes.
type visit struct {
	*State
	ctx   context.Context
	w     *Workshop
	waits bool // a question of it is open
}

// Ask implements [Task].
func (v *visit) Ask(key, prompt string) (int, bool) {
	n, err := graph.Ask[int](v.ctx, graph.Question{Prompt: prompt, Key: key})
	v.waits = v.waits || err != nil
	return n, err == nil
}

// Fails implements [Task].
func (v *visit) Fails(key, limit int) bool {
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	if v.w.failed == nil {
		v.w.failed = map[string]int{}
	}
	id := fmt.Sprint(graph.TaskID(v.ctx), "!", key)
	v.w.failed[id]++
	return v.w.failed[id] <= limit
}
