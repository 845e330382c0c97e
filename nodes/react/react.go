package react

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

// The names of the nodes.
const (
	ModelNode = "model"
	ToolNode  = "tools"
)

// Config says what an agent is made of. Only Model is required.
type Config struct {
	// Name is that of the graph; "" is "agent".
	Name  string
	Model model.Model
	// Tools are what the model may ask for; nil is none.
	Tools *tool.Set
	// System is said to the model before the conversation. It is not part of the log.
	System string
	// Request is what each request has besides: the name of the model, temperature, options.
	Request model.Request
	// Output is the form of the final answer, an object; nil is text. [OutputOf] makes one of a type.
	Output *model.Schema
	// MaxTurns bounds the answers of the model in a turn of the user; 0 is 25.
	MaxTurns int
	// Budget bounds what a turn of the user costs; Prices are for its money.
	Budget model.Budget
	Prices model.Prices
	// Window bounds the conversation as it is sent.
	Window message.Window
	// Limits bound the calls of tools; how many run at once is the graph's to say.
	Limits tool.Limits
	// Policy is that of the node that asks the model; the zero Policy tries three times, where that may help.
	// The wait that a provider asks for is kept, as far as Retry.MaxAfter allows.
	Policy graph.Policy
	// Next is the node to which the graph goes with the answer; "" is graph.End.
	Next string

	// Before sees, and may change, each request; After each answer, before it is noted; neither the conversation
	// nor the budget knows of a request that Before refuses.
	Before func(ctx context.Context, r *model.Request) error
	After  func(ctx context.Context, r *model.Response) error
	// Around runs in the place of each call of a tool; next is the call. Its error is a result.
	Around func(ctx context.Context, c message.Call, next Run) (message.Result, error)
}

// Run runs a call of a tool.
type Run func(ctx context.Context, c message.Call) (message.Result, error)

// ErrConfig is returned when an agent cannot be made.
var ErrConfig = errors.New("react: bad configuration")

// TurnsError is returned when the model has not come to an answer within Config.MaxTurns.
type TurnsError struct{ Turns int }

func (e *TurnsError) Error() string {
	return fmt.Sprintf("react: the model has not come to an answer in %d turns", e.Turns)
}

// Code names the failure for programs, also after a crash.
func (e *TurnsError) Code() string { return "agent_turns" }

// OutputOf is the [Config] Output of a T, a struct.
func OutputOf[T any]() (*model.Schema, error) {
	f, err := model.FormOf[T]()
	if err != nil {
		return nil, err
	}
	return &f.Schema, nil
}

// New returns an agent as a graph, to be compiled, or an [ErrConfig].
func New(c Config) (*graph.Builder[State], error) {
	b := graph.New[State](cmp.Or(c.Name, "agent"))
	err := Add(b, func(s *State) *State { return s }, c)
	b.Edge(graph.Start, ModelNode)
	return b, err
}

// Add adds the nodes of an agent to a graph whose state has a [State] in it, and the edges between them.
// An edge to [ModelNode] is the caller's.
func Add[S any](b *graph.Builder[S], view func(*S) *State, c Config) error {
	a, err := newAgent(c)
	if err != nil {
		return err
	}
	think := func(ctx context.Context, s *S) (graph.Command, error) { return a.think(ctx, view(s)) }
	act := func(ctx context.Context, s *S, c message.Call) error { return a.act(ctx, view(s), c) }
	b.Node(ModelNode, graph.Router(think, a.targets()...).With(a.Policy))
	if a.Tools == nil {
		return nil
	}
	b.Node(ToolNode, graph.Worker(act).With(graph.Policy{}))
	b.Edge(ToolNode, ModelNode)
	return nil
}

func (a *agent) targets() []string {
	if a.Tools == nil {
		return []string{a.Next}
	}
	return []string{ToolNode, a.Next}
}

// agent is a configuration with its defaults.
type agent struct {
	Config
	form *model.Form // nil for text
}

func newAgent(c Config) (*agent, error) {
	a := &agent{Config: c}
	a.Next = cmp.Or(a.Next, graph.End)
	if a.MaxTurns == 0 {
		a.MaxTurns = 25
	}
	if zero := a.Policy; zero.Timeout == 0 && zero.Idle == 0 && zero.Limit == "" && zero.Retry.Attempts == 0 && zero.Retry.If == nil {
		a.Policy.Retry = graph.Retry{Attempts: 3, Initial: time.Second, If: again}
	}
	var errs []error
	if c.Model == nil {
		errs = append(errs, fmt.Errorf("%w: there is no Model", ErrConfig))
	}
	if a.MaxTurns < 0 {
		errs = append(errs, fmt.Errorf("%w: MaxTurns must not be negative", ErrConfig))
	}
	if c.Output != nil {
		f, err := model.NewForm(*c.Output)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: Output: %w", ErrConfig, err))
		}
		a.form = f
	}
	return a, errors.Join(errs...)
}
