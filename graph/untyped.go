package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weftrun/weft/state"
)

// Untyped is a compiled graph whose state is JSON, whatever its type is in Go: what a command
// line, a server or a test needs of a graph that it did not declare. [Graph.Untyped] makes one
// of any graph. Each method does what that of Graph does; inputs are as for
// [Graph.DecodeInput], and states as [Graph.EncodeState] returns them.
type Untyped interface {
	Name() string
	// Program returns a hash of nodes, edges and the fields of the state: the Program of the
	// commits that the graph makes.
	Program() string
	Invoke(ctx context.Context, input json.RawMessage, o RunOptions) (Result[json.RawMessage], error)
	Resume(ctx context.Context, a Answers, o RunOptions) (Result[json.RawMessage], error)
	Start(ctx context.Context, input json.RawMessage, o RunOptions) *Handle[json.RawMessage]
	StartResume(ctx context.Context, a Answers, o RunOptions) *Handle[json.RawMessage]
	InputHash(input json.RawMessage) (string, error)

	// Patch writes fields, by their names on the wire.
	Patch(ctx context.Context, fields json.RawMessage, o RunOptions) (Result[json.RawMessage], error)
	Edit(ctx context.Context, steps [][]UntypedEdit, o RunOptions) (Result[json.RawMessage], error)
	UpdateAndResume(ctx context.Context, e UntypedEdit, a Answers, o RunOptions) (Result[json.RawMessage], error)
	StartUpdateAndResume(ctx context.Context, e UntypedEdit, a Answers, o RunOptions) *Handle[json.RawMessage]

	Thread(thread string) StoredThread[json.RawMessage]
	// Check finds out whether the graph can go on with a thread that another version has begun.
	Check(ctx context.Context, thread string) (Checked, error)

	// Plan, RunTask and Commit drive a run from outside, a call at a time, each from any process
	// with the graph and its store: Plan returns the step that is due, RunTask runs one of its
	// tasks, and Commit commits the step and returns the next. Any number of RunTasks of a step
	// may run at once. Durability is Sync, and everything else holds as for Invoke and Resume.
	//
	// Each call may be made again, after a lost reply or a crash: it finds what it has done and
	// returns the same answer. The run owns the thread by a lease, which Plan acquires, RunTask
	// and Commit renew, and Release releases. A run whose lease was taken over writes nothing
	// more, and its calls return a [checkpoint.ErrFenced]. The lease runs out if no call renews
	// it for PlanRequest.Lease.TTL; the run can go on all the same unless another has come in
	// between.
	//
	// The Plan beside an error has the ID by which to release the lease. ErrStale asks for a new
	// Plan, ErrProgram for the program that planned the step, or a new Plan; errors of the store
	// for the same call again.
	Plan(ctx context.Context, q PlanRequest) (Plan, error)
	// RunTask runs a task by the Policy of its node and stores how it ended, unless that is
	// stored. Of several calls for one task the first to store wins, and all return what is
	// stored. A failure is an end of the task; an error means that the task has not ended.
	RunTask(ctx context.Context, q TaskRequest) (TaskResult, error)
	// Commit folds what is stored of the tasks, in canonical order, and commits it. Where tasks
	// have asked and all others have finished, the Plan is Interrupted. Where tasks have not
	// ended it returns an [*UnfinishedError], and where one has failed a [*NodeError], as Invoke
	// does.
	Commit(ctx context.Context, q CommitRequest) (Plan, error)
	// Release releases the lease of the step's run, after which no call of the run writes anything.
	Release(ctx context.Context, id StepID) error

	// Initial returns the state of a thread before its first input, which has the defaults.
	Initial() (json.RawMessage, error)
	// Schemas returns the JSON Schemas of the graph: those of Config.Schemas, and for the others
	// one that is made of the channels of the state. Each property of it has the keyword
	// "x-weft-kind" with the [state.Kind] of its channel, if the channel has one. Part of a value
	// whose form Go does not show, as that of a type with a MarshalJSON method, may be anything.
	Schemas() Schemas
	// Children returns the graphs that nodes run as subgraphs, by the name of the node: those of
	// [Subgraph], [SubgraphWorker], [Inline] and [Calls]. Each has the store of this graph, so its
	// Thread and Edit work on the namespaces of its runs; see [Namespaces].
	Children() map[string]Untyped

	Draw(depth int) Drawing
}

// UntypedEdit is an [Edit] as JSON.
type UntypedEdit struct {
	As     string          `json:"as,omitempty"`     // see Edit.As
	Writes json.RawMessage `json:"writes,omitempty"` // an object by the names of fields; null is none
	Goto   []string        `json:"goto,omitempty"`
	Sends  []UntypedSend   `json:"sends,omitempty"`
}

// UntypedSend is a [Send] as JSON.
type UntypedSend struct {
	Node    string          `json:"node"`
	Payload json.RawMessage `json:"payload"`
}

// untyped implements Untyped for the graph of a program.
type untyped struct{ p *program }

func (g untyped) Name() string           { return g.p.graphName() }
func (g untyped) Program() string        { return g.p.programHash() }
func (g untyped) Draw(depth int) Drawing { return g.p.draw(depth, "") }

func (g untyped) Check(ctx context.Context, thread string) (Checked, error) {
	return g.p.check(ctx, thread)
}

func (g untyped) Invoke(ctx context.Context, input json.RawMessage, o RunOptions) (Result[json.RawMessage], error) {
	out, err := g.p.drive(ctx, o, invokesJSON(input))
	return resultOf[json.RawMessage](out), err
}

func (g untyped) Resume(ctx context.Context, a Answers, o RunOptions) (Result[json.RawMessage], error) {
	out, err := g.p.drive(ctx, o, request{op: opResume, answers: a, asJSON: true})
	return resultOf[json.RawMessage](out), err
}

func (g untyped) Start(ctx context.Context, input json.RawMessage, o RunOptions) *Handle[json.RawMessage] {
	return &Handle[json.RawMessage]{f: g.p.live(ctx, o, invokesJSON(input))}
}

func (g untyped) StartResume(ctx context.Context, a Answers, o RunOptions) *Handle[json.RawMessage] {
	return &Handle[json.RawMessage]{f: g.p.live(ctx, o, request{op: opResume, answers: a, asJSON: true})}
}

func (g untyped) InputHash(input json.RawMessage) (string, error) {
	v, err := g.p.decodeInput(input)
	if err != nil {
		return "", fmt.Errorf("graph %q: the input: %w", g.Name(), err)
	}
	return g.p.hashInput(v)
}

func (g untyped) Patch(ctx context.Context, fields json.RawMessage, o RunOptions) (Result[json.RawMessage], error) {
	return g.Edit(ctx, [][]UntypedEdit{{{Writes: fields}}}, o)
}

func (g untyped) Edit(ctx context.Context, steps [][]UntypedEdit, o RunOptions) (Result[json.RawMessage], error) {
	out, err := g.p.drive(ctx, o, request{op: opEdit, edits: g.edits(steps), asJSON: true})
	return resultOf[json.RawMessage](out), err
}

func (g untyped) UpdateAndResume(ctx context.Context, e UntypedEdit, a Answers, o RunOptions) (Result[json.RawMessage], error) {
	out, err := g.p.drive(ctx, o, g.updates(e, a))
	return resultOf[json.RawMessage](out), err
}

func (g untyped) StartUpdateAndResume(ctx context.Context, e UntypedEdit, a Answers, o RunOptions) *Handle[json.RawMessage] {
	return &Handle[json.RawMessage]{f: g.p.live(ctx, o, g.updates(e, a))}
}

// updates returns the request that applies an edit and answers, and goes on.
func (g untyped) updates(e UntypedEdit, a Answers) request {
	return request{op: opUpdateAndResume, edits: g.edits([][]UntypedEdit{{e}}), answers: a, asJSON: true}
}

// edits returns edits that read their JSON when they are applied.
func (g untyped) edits(steps [][]UntypedEdit) [][]edit {
	all := make([][]edit, len(steps))
	for i, edits := range steps {
		for _, e := range edits {
			all[i] = append(all[i], edit{e.As, func(_ context.Context, s, _ any) (Command, error) {
				if err := g.write(s, e.Writes); err != nil {
					return Command{}, err
				}
				return e.command(g.p)
			}})
		}
	}
	return all
}

// command returns where the edit goes.
func (e *UntypedEdit) command(p *program) (Command, error) {
	c := Goto(e.Goto...)
	for _, s := range e.Sends {
		n, ok := p.find(s.Node)
		if !ok || p.nodes[n].payload == nil {
			return c, fmt.Errorf("%w: a Send goes to a Worker, and %q is none", ErrEdit, s.Node)
		}
		payload, err := p.nodes[n].payload.decode(s.Payload)
		if err != nil {
			return c, fmt.Errorf("%w: the payload for %q: %w", ErrEdit, s.Node, err)
		}
		c = c.Send(s.Node, payload)
	}
	return c, nil
}

func (g untyped) Initial() (json.RawMessage, error) {
	if err := g.p.compiled(); err != nil {
		return nil, err
	}
	data, err := g.p.schema.Encode(g.p.schema.New())
	if err != nil {
		return nil, fmt.Errorf("graph %q: the initial state: %w", g.p.name, err)
	}
	return data, nil
}

// Channels returns the empty channels of the state by the names of their fields. It is no part of
// Untyped: callers that need the types of fields assert it.
func (g untyped) Channels() map[string]state.Channel {
	all := map[string]state.Channel{}
	blank := g.p.schema.Blank()
	for i, f := range g.p.schema.Fields() {
		all[f.Name] = blank.Channels[i]
	}
	return all
}

// Configure completes an input as Config.Configure does. It is no part of Untyped: servers assert
// it.
func (g untyped) Configure(input json.RawMessage, context, configurable map[string]json.RawMessage) (json.RawMessage, error) {
	if g.p == nil || g.p.cfg.Configure == nil {
		return input, nil
	}
	return g.p.cfg.Configure(input, context, configurable)
}

func (g untyped) Thread(thread string) StoredThread[json.RawMessage] {
	return StoredThread[json.RawMessage]{g.p.thread(thread), func(v state.View) (json.RawMessage, error) {
		return g.p.schema.Encode(v)
	}}
}

// write writes fields given as JSON to the state that s points to.
func (g untyped) write(s any, fields json.RawMessage) error {
	if trimmed := bytes.TrimSpace(fields); len(trimmed) == 0 || string(trimmed) == "null" {
		return nil
	}
	v := g.p.schema.Blank()
	g.p.schema.Assign(v, state.View{State: s})
	if err := g.p.schema.Decode(v, fields); err != nil {
		return err
	}
	g.p.schema.Assign(state.View{State: s}, v) // a record keeps its channels, which the run reads
	return nil
}

// invokesJSON is invokes for an input as JSON.
func invokesJSON(input json.RawMessage) request {
	return request{op: opInvoke, json: bytes.Clone(input), asJSON: true}
}

// Observed returns the graph with another Observer than that of its Config, for programs that do
// not compile the graph themselves. A graph that [Graph.Untyped] has not made is returned as it is:
// it runs elsewhere.
func Observed(g Untyped, o Observer) Untyped {
	own, ok := g.(interface{ observed(Observer) Untyped })
	if !ok {
		return g
	}
	return own.observed(o)
}

func (g untyped) observed(o Observer) Untyped {
	p := *g.p
	p.nodes, p.cfg.Observer = slices.Clone(p.nodes), o
	for i := range p.nodes {
		p.nodes[i].quick = p.nodes[i].quick && o == nil
	}
	return untyped{&p}
}
