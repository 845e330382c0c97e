package turn

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

// Untyped is an agent with its state as JSON, for a terminal, a server or a test. [Agent.Untyped]
// returns one.
//
// watch is called with the events of a run, in order: the modes Updates, Tasks, Custom and
// Messages. The run waits while watch runs. watch may be nil.
type Untyped interface {
	// Name returns the name of the graph.
	Name() string
	// Graph returns the graph of the agent, with its threads.
	Graph() graph.Untyped
	// Say is [Agent.Say].
	Say(ctx context.Context, thread, text string, watch func(graph.Event)) (Reply[json.RawMessage], error)
	// Continue is [Agent.Continue].
	Continue(ctx context.Context, thread string, watch func(graph.Event)) (Reply[json.RawMessage], error)
	// History returns the status of a thread and its most recent messages, at most last of them.
	// The History of a thread that does not exist is zero.
	History(ctx context.Context, thread string, last int) (History, error)
	// Complete is [Agent.Complete].
	Complete(prefix string) []string
	// On returns the agent with the runs of its turns on an engine: see [Agent.Runs].
	On(runs graph.Untyped) Untyped
}

// Notice is the payload of the first event of a run. It is the text of the [Request], such as which
// settings apply. The text of the [Reply] begins with it.
type Notice string

// History is the status of a conversation and its most recent messages.
type History struct {
	Status    graph.Status // Done, Interrupted, Failed or Pending; "" if there is no message yet
	Turn      int
	Messages  []message.Message // oldest first
	Questions []graph.Interrupt // the open ones
}

// Untyped returns the agent without the type of its state.
func (g *Agent[S]) Untyped() Untyped { return untyped[S]{g} }

type untyped[S any] struct{ g *Agent[S] }

func (p untyped[S]) Name() string { return p.g.Graph.Name() }

func (p untyped[S]) Graph() graph.Untyped {
	if p.g.Runs != nil {
		return p.g.Runs
	}
	return p.g.Graph.Untyped()
}

func (p untyped[S]) On(runs graph.Untyped) Untyped {
	g := *p.g
	g.Runs = runs
	return untyped[S]{&g}
}

func (p untyped[S]) Complete(prefix string) []string { return p.g.Complete(prefix) }

func (p untyped[S]) Say(ctx context.Context, thread, text string, watch func(graph.Event)) (Reply[json.RawMessage], error) {
	a, err := p.g.Read(ctx, thread, text)
	if err != nil {
		return Reply[json.RawMessage]{}, err
	}
	if watch != nil && a.Kind != NoRun && a.Text != "" {
		watch(graph.Event{Mode: graph.Custom, Payload: Notice(a.Text)})
	}
	return p.reply(p.g.apply(ctx, a, watch))
}

func (p untyped[S]) Continue(ctx context.Context, thread string, watch func(graph.Event)) (Reply[json.RawMessage], error) {
	return p.reply(p.g.apply(ctx, Request[S]{Kind: Continue, Thread: thread}, watch))
}

func (p untyped[S]) reply(r Reply[S], err error) (Reply[json.RawMessage], error) {
	out := Reply[json.RawMessage]{Kind: r.Kind, Status: r.Status, Failure: r.Failure, Text: r.Text, Questions: r.Questions, UI: r.UI}
	if err != nil || r.Status == "" {
		return out, err
	}
	out.State, err = p.g.Graph.EncodeState(r.State)
	return out, err
}

func (p untyped[S]) History(ctx context.Context, thread string, last int) (History, error) {
	s, at, err := p.g.Graph.Thread(thread).State(ctx, 0)
	switch {
	case errors.Is(err, graph.ErrUnknownThread), errors.Is(err, graph.ErrNoStore):
		return History{}, nil
	case err != nil:
		return History{}, err
	}
	said := p.g.At(&s).Messages.Slice()
	return History{at.Status, at.Turn, said[max(0, len(said)-max(0, last)):], at.Interrupts}, nil
}
