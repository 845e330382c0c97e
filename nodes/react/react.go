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

// Config configures an agent. Only Model is required.
type Config struct {
	// Name is the name of the graph; "" is "agent".
	Name  string
	Model model.Model
	// Tools are the tools that the model may call; nil is none.
	Tools *tool.Set
	// System is the system message before the conversation. It is not part of the log.
	System string
	// Request has the other fields of each request: the name of the model, temperature, options.
	Request model.Request
	// Output is the form of the final answer, an object; nil is text. [OutputOf] returns that of a
	// type.
	Output *model.Schema
	// MaxTurns limits the answers of the model in one turn of the user; 0 is 25.
	MaxTurns int
	// Budget limits the cost of a turn of the user. Prices are required for its money.
	Budget model.Budget
	Prices model.Prices
	// Window limits the part of the conversation that is sent.
	Window message.Window
	// Limits limit each call of a tool. The graph limits how many run at once.
	Limits tool.Limits
	// Policy is the policy of the node that calls the model. The zero Policy tries three times if
	// another attempt may succeed. A wait that the provider asks for is observed, up to
	// Retry.MaxAfter.
	Policy graph.Policy
	// Next is the node after the final answer; "" is graph.End.
	Next string

	// Before is called with each request and may change it. After is called with each answer before
	// it is stored. A request that Before refuses changes neither the conversation nor the budget.
	Before func(ctx context.Context, r *model.Request) error
	After  func(ctx context.Context, r *model.Response) error
	// Around is called instead of each call of a tool, with the call as next. Its error becomes the
	// result.
	Around func(ctx context.Context, c message.Call, next Run) (message.Result, error)
}

// Run is a function that runs a call of a tool.
type Run func(ctx context.Context, c message.Call) (message.Result, error)

// ErrConfig is returned for an invalid configuration.
var ErrConfig = errors.New("react: invalid configuration")

// TurnsError is returned when the model has not answered within Config.MaxTurns.
type TurnsError struct{ Turns int }

func (e *TurnsError) Error() string {
	return fmt.Sprintf("react: the model has not answered in %d turns", e.Turns)
}

// Code returns the error code, which is stored with the failure.
func (e *TurnsError) Code() string { return "agent_turns" }

// OutputOf returns the Config.Output of a T, which must be a struct.
func OutputOf[T any]() (*model.Schema, error) {
	f, err := model.FormOf[T]()
	if err != nil {
		return nil, err
	}
	return &f.Schema, nil
}

// New returns an agent as a graph to be compiled, or an [ErrConfig].
func New(c Config) (*graph.Builder[State], error) {
	b := graph.New[State](cmp.Or(c.Name, "agent"))
	err := Add(b, func(s *State) *State { return s }, c)
	b.Edge(graph.Start, ModelNode)
	return b, err
}

// Of are the parts of a Config that depend on the state of the graph. A nil function leaves that of
// the Config.
type Of[S any] struct {
	// System returns the system message, such as instructions with the documents of this turn.
	System func(s *S) (string, error)
	// Tools returns the names of those of Config.Tools that the model may call now.
	Tools func(s *S) ([]string, error)
	// Model returns the name of the model, if Config.Request has none.
	Model func(s *S) (string, error)
}

// Add adds the nodes of an agent to a graph, and the edges between them. view returns the [State]
// in an S. The caller adds the edge to [ModelNode].
func Add[S any](b *graph.Builder[S], view func(*S) *State, c Config) error {
	return AddOf(b, view, c, Of[S]{})
}

// AddOf is Add for an agent whose instructions and tools depend on the state of the graph.
func AddOf[S any](b *graph.Builder[S], view func(*S) *State, c Config, of Of[S]) error {
	a, err := newAgent(c)
	if err != nil {
		return err
	}
	think := func(ctx context.Context, s *S) (graph.Command, error) {
		own, err := ofState(a, of, s)
		if err != nil {
			return graph.Command{}, err
		}
		return own.think(ctx, view(s))
	}
	act := func(ctx context.Context, s *S, c message.Call) error {
		own, err := ofState(a, of, s)
		if err != nil {
			return err
		}
		return own.act(ctx, view(s), c)
	}
	b.Node(ModelNode, graph.Router(think, a.targets()...).With(a.Policy))
	if a.Tools == nil {
		return nil
	}
	b.Node(ToolNode, graph.Worker(act).With(graph.Policy{}))
	b.Edge(ToolNode, ModelNode)
	return nil
}

// ofState returns the agent for a state.
func ofState[S any](a *agent, of Of[S], s *S) (*agent, error) {
	if of.System == nil && of.Tools == nil && of.Model == nil {
		return a, nil
	}
	own := *a
	var err error
	if of.System != nil {
		if own.System, err = of.System(s); err != nil {
			return nil, err
		}
	}
	if of.Tools != nil && a.Tools != nil {
		names, err := of.Tools(s)
		if err != nil {
			return nil, err
		}
		own.Tools = a.Tools.Only(names...)
	}
	if of.Model != nil && a.Request.Model == "" {
		if own.Request.Model, err = of.Model(s); err != nil {
			return nil, err
		}
	}
	return &own, nil
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
		a.Policy.Retry = graph.Retry{Attempts: 3, Initial: time.Second, If: retriable}
	}
	var errs []error
	if c.Model == nil {
		errs = append(errs, fmt.Errorf("%w: Model must not be nil", ErrConfig))
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
