package pes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

// The names of the nodes.
const (
	PlanNode       = "plan"
	SelectNode     = "select"
	ExecuteNode    = "execute"
	SynthesizeNode = "synthesize"
)

// Policy says what an item that failed for good does to the others.
type Policy string

// The policies.
const (
	// Stop lets what is under way end, begins nothing else, and answers with what there is.
	Stop Policy = "stop"
	// Continue goes on with all items that do not depend on it.
	Continue Policy = "continue"
	// Replan lets what is under way end and asks for another plan, as often as Config.MaxPlans allows; then it is Stop.
	Replan Policy = "replan"
)

// Config says what an agent is made of. Only Execute is required. Its functions are called by several
// runs at once, and Execute by one run for several items.
type Config struct {
	// Name is that of the graph; "" is "pes".
	Name string
	// Plan makes a plan, or refines the one there is; nil makes each message an item, which needs no model.
	Plan func(context.Context, PlanRequest) (Plan, error)
	// Execute does one item and returns what it came to. It may ask people: [graph.Ask].
	Execute func(context.Context, ExecuteRequest) (string, error)
	// Tools are what Execute has: those of the react.Config that [Agent] is made of; nil is none. The planner is told
	// of those that are enabled, and a plan whose items require others is not carried out.
	Tools *tool.Set
	// Synthesize says what the user is told in the end; nil lists what the items of the turn came to.
	Synthesize func(context.Context, SynthesizeRequest) (string, error)

	// OnFailure says what a failed item does to the others; "" is Stop.
	OnFailure Policy
	// MaxPlans bounds the plans of a turn: those that cannot be carried out, those that a person rejects, and those
	// after a failure; 0 is 3.
	MaxPlans int
	// MaxItems bounds the items of a plan that are not completed; 0 is 50.
	MaxItems int
	// Review shows each plan to a person, who answers with a [Decision]. ReviewWithin is how long it is waited
	// for; after it nobody's decision is a no. 0 is for ever.
	Review       bool
	ReviewWithin time.Duration
	// Policy is that of the three functions; the zero Policy tries three times what says that it is Temporary, as
	// the failures of models do.
	Policy graph.Policy
	// Next is the node to which the graph goes with the answer; "" is graph.End.
	Next string
}

// PlanRequest is what a plan is made of.
type PlanRequest struct {
	Query    string            // what the user said last
	Messages []message.Message // the conversation
	Todo     []Todo            // the plan there is, which is to be refined; empty at first
	Tools    []model.Tool      // what items may require
	Problem  string            // why the last plan does not do; "" is none
}

// ExecuteRequest is an item to be done.
type ExecuteRequest struct {
	Item     Item
	Needs    []Todo // what it depends on, with the results
	Goal     string // of the plan
	Query    string
	Messages []message.Message
	// ID is the same in every attempt and after every crash: see [graph.TaskID].
	ID string
}

// SynthesizeRequest is what an answer is made of.
type SynthesizeRequest struct {
	ID       string // of the message that the answer will be; "" outside a run
	Query    string
	Messages []message.Message
	Todo     []Todo // the whole plan as it stands
	Turn     int    // this turn; the results of this one have it
	Problem  string // why the turn ends before all is done; "" where it does not
}

// ErrConfig is returned when an agent cannot be made.
var ErrConfig = errors.New("pes: bad configuration")

// New returns an agent as a graph, to be compiled, or an [ErrConfig].
func New(c Config) (*graph.Builder[State], error) {
	b := graph.New[State](cmp.Or(c.Name, "pes"))
	err := Add(b, func(s *State) *State { return s }, c)
	b.Edge(graph.Start, PlanNode)
	return b, err
}

// Add adds the nodes of an agent to a graph whose state has a [State] in it, and the edges between them.
// An edge to [PlanNode] is the caller's.
func Add[S any](b *graph.Builder[S], view func(*S) *State, c Config) error {
	a, err := newAgent(c)
	if err != nil {
		return err
	}
	b.Node(PlanNode, graph.Router(func(ctx context.Context, s *S) (graph.Command, error) { return a.plan(ctx, view(s)) },
		SelectNode, SynthesizeNode).With(a.Policy))
	b.Node(SelectNode, graph.Router(func(ctx context.Context, s *S) (graph.Command, error) { return a.next(view(s)) },
		PlanNode, ExecuteNode, SynthesizeNode).With(graph.Policy{}))
	b.Node(ExecuteNode, graph.Worker(func(ctx context.Context, s *S, id string) error { return a.execute(ctx, view(s), id) }).With(a.Policy))
	b.OnError(ExecuteNode, graph.Handler(func(_ context.Context, s *S, f *graph.NodeError) (graph.Command, error) {
		return graph.Command{}, failed(view(s), f)
	}).With(graph.Policy{}))
	b.Node(SynthesizeNode, graph.Func(func(ctx context.Context, s *S) error { return a.synthesize(ctx, view(s)) }).With(a.Policy))
	b.Edge(ExecuteNode, SelectNode)
	b.Edge(SynthesizeNode, a.Next)
	return nil
}

// agent is a configuration with its defaults.
type agent struct{ Config }

func newAgent(c Config) (*agent, error) {
	a := &agent{withRules(c)}
	a.OnFailure, a.Next = cmp.Or(c.OnFailure, Stop), cmp.Or(c.Next, graph.End)
	a.MaxPlans, a.MaxItems = cmp.Or(c.MaxPlans, 3), cmp.Or(c.MaxItems, 50)
	if zero := a.Policy; zero.Timeout == 0 && zero.Idle == 0 && zero.Limit == "" && zero.Retry.Attempts == 0 && zero.Retry.If == nil {
		a.Policy.Retry = graph.Retry{Attempts: 3, Initial: time.Second, If: temporary}
	}
	var errs []error
	if c.Execute == nil {
		errs = append(errs, fmt.Errorf("%w: there is no Execute", ErrConfig))
	}
	if !slices.Contains([]Policy{Stop, Continue, Replan}, a.OnFailure) {
		errs = append(errs, fmt.Errorf("%w: OnFailure is %q; it is stop, continue or replan", ErrConfig, c.OnFailure))
	}
	if a.MaxPlans < 0 || a.MaxItems < 0 || a.ReviewWithin < 0 {
		errs = append(errs, fmt.Errorf("%w: MaxPlans, MaxItems and ReviewWithin must not be negative", ErrConfig))
	}
	return a, errors.Join(errs...)
}

// temporary reports whether another attempt may help.
func temporary(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary()
}
