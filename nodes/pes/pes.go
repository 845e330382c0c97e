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

// Policy is what happens to the other items when one fails permanently.
type Policy string

// The policies.
const (
	// Stop waits for running items, starts no other, and answers with the results so far.
	Stop Policy = "stop"
	// Continue runs all items that do not depend on the failed one.
	Continue Policy = "continue"
	// Replan waits for running items and asks for another plan, up to Config.MaxPlans. After that
	// it is Stop.
	Replan Policy = "replan"
)

// Config configures an agent. Only Execute is required. Several runs may call a function at the
// same time, and one run calls Execute for several items.
type Config struct {
	// Name is the name of the graph; "" is "pes".
	Name string
	// Plan makes or refines a plan; nil makes each message an item.
	Plan func(context.Context, PlanRequest) (Plan, error)
	// Execute executes one item and returns its result. It may ask people: [graph.Ask].
	Execute func(context.Context, ExecuteRequest) (string, error)
	// Tools are the tools that Execute may use, such as those of the react.Config of
	// [AgentExecute]; nil is none. The planner gets those that are enabled. A plan that requires
	// other tools is not executed.
	Tools *tool.Set
	// Synthesize returns the answer for the user; nil lists the results of the turn's items.
	Synthesize func(context.Context, SynthesizeRequest) (string, error)

	// OnFailure is what happens to the other items when one fails; "" is Stop.
	OnFailure Policy
	// MaxPlans limits the plans of a turn, with those that are invalid, rejected, or made after a
	// failure; 0 is 3.
	MaxPlans int
	// MaxItems limits the items of a plan that are not completed; 0 is 50.
	MaxItems int
	// Review shows each plan to a person, who answers with a [graph.Decision]. After ReviewWithin
	// the plan is rejected; 0 is no limit.
	Review       bool
	ReviewWithin time.Duration
	// Policy is the policy of the three functions. The zero Policy tries temporary errors three
	// times, such as the temporary failures of models.
	Policy graph.Policy
	// Next is the node after the answer; "" is graph.End.
	Next string
}

// PlanRequest is the input of Config.Plan.
type PlanRequest struct {
	Query    string            // the user's last message
	Messages []message.Message // the conversation
	Todo     []Todo            // the current plan, to be refined; empty at first
	Tools    []model.Tool      // what items may require
	Problem  string            // why another plan is needed; "" for the first
}

// ExecuteRequest is the input of Config.Execute.
type ExecuteRequest struct {
	Item     Item
	Needs    []Todo // the items it depends on, with their results
	Goal     string // the goal of the plan
	Query    string
	Messages []message.Message
	// ID is the same in every attempt and after every crash: see [graph.TaskID].
	ID string
}

// SynthesizeRequest is the input of Config.Synthesize.
type SynthesizeRequest struct {
	ID       string // the ID of the message with the answer; "" outside a run
	Query    string
	Messages []message.Message
	Todo     []Todo // the whole plan
	Turn     int    // the number of this turn, which its results have
	Problem  string // why not all items are completed, or ""
}

// ErrConfig is returned for an invalid configuration.
var ErrConfig = errors.New("pes: invalid configuration")

// New returns an agent as a graph to be compiled, or an [ErrConfig].
func New(c Config) (*graph.Builder[State], error) {
	b := graph.New[State](cmp.Or(c.Name, "pes"))
	err := Add(b, func(s *State) *State { return s }, c)
	b.Edge(graph.Start, PlanNode)
	return b, err
}

// Add adds the nodes of an agent to a graph, and the edges between them. view returns the [State]
// in an S. The caller adds the edge to [PlanNode].
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
		errs = append(errs, fmt.Errorf("%w: Execute must not be nil", ErrConfig))
	}
	if !slices.Contains([]Policy{Stop, Continue, Replan}, a.OnFailure) {
		errs = append(errs, fmt.Errorf("%w: OnFailure must be stop, continue or replan (got %q)", ErrConfig, c.OnFailure))
	}
	if a.MaxPlans < 0 || a.MaxItems < 0 || a.ReviewWithin < 0 {
		errs = append(errs, fmt.Errorf("%w: MaxPlans, MaxItems and ReviewWithin must not be negative", ErrConfig))
	}
	return a, errors.Join(errs...)
}

// temporary reports whether another attempt may succeed.
func temporary(err error) bool {
	var e interface{ Temporary() bool }
	return errors.As(err, &e) && e.Temporary()
}
