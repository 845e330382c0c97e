package turn

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/message"
)

// Untyped is a gateway whose state is JSON, whatever its type is in Go: what a terminal, a server or a test needs
// of an agent that it did not declare. [Gateway.Untyped] makes one.
//
// watch is shown what happens in the run, in its order, and slows it while it does: the modes Updates, Tasks,
// Custom and Messages. nil watches nothing.
type Untyped interface {
	// Name is that of the graph.
	Name() string
	// Graph is the graph behind the gateway: where threads stand and stood, and how to go on with them.
	Graph() graph.Untyped
	// Say is Gateway.Say.
	Say(ctx context.Context, thread, text string, watch func(graph.Event)) (Reply[json.RawMessage], error)
	// GoOn is Gateway.GoOn.
	GoOn(ctx context.Context, thread string, watch func(graph.Event)) (Reply[json.RawMessage], error)
	// Look says where a thread stands, and returns its last so many messages. A thread that does not exist is
	// the zero Past.
	Look(ctx context.Context, thread string, last int) (Past, error)
	// Complete is Gateway.Complete.
	Complete(prefix string) []string
}

// Told is the payload of the first event that is watched where the user is told something before anything runs, such
// as which settings hold: see [Act]. [Reply] has it too, at the beginning of its text.
type Told string

// Past is what there is of a conversation.
type Past struct {
	Status    graph.Status // Done, Interrupted, Failed or Pending; "" where nothing was said yet
	Turn      int
	Messages  []message.Message // oldest first
	Questions []graph.Interrupt // that are open
}

// Untyped returns the gateway without the type of its state.
func (g *Gateway[S]) Untyped() Untyped { return untyped[S]{g} }

type untyped[S any] struct{ g *Gateway[S] }

func (p untyped[S]) Name() string { return p.g.Graph.Name() }

func (p untyped[S]) Graph() graph.Untyped { return p.g.Graph.Untyped() }

func (p untyped[S]) Complete(prefix string) []string { return p.g.Complete(prefix) }

func (p untyped[S]) Say(ctx context.Context, thread, text string, watch func(graph.Event)) (Reply[json.RawMessage], error) {
	a, err := p.g.Read(ctx, thread, text)
	if err != nil {
		return Reply[json.RawMessage]{}, err
	}
	if watch != nil && a.Kind != Rest && a.Text != "" {
		watch(graph.Event{Mode: graph.Custom, Payload: Told(a.Text)})
	}
	return p.reply(p.g.do(ctx, a, watch))
}

func (p untyped[S]) GoOn(ctx context.Context, thread string, watch func(graph.Event)) (Reply[json.RawMessage], error) {
	return p.reply(p.g.do(ctx, Act[S]{Kind: GoOn, Thread: thread}, watch))
}

func (p untyped[S]) reply(r Reply[S], err error) (Reply[json.RawMessage], error) {
	out := Reply[json.RawMessage]{Kind: r.Kind, Status: r.Status, Failure: r.Failure, Text: r.Text, Questions: r.Questions, UI: r.UI}
	if err != nil || r.Status == "" {
		return out, err
	}
	out.State, err = p.g.Graph.EncodeState(r.State)
	return out, err
}

func (p untyped[S]) Look(ctx context.Context, thread string, last int) (Past, error) {
	s, at, err := p.g.Graph.State(ctx, checkpoint.Key{Thread: thread}, 0)
	switch {
	case errors.Is(err, graph.ErrUnknownThread), errors.Is(err, graph.ErrNoStore):
		return Past{}, nil
	case err != nil:
		return Past{}, err
	}
	said := p.g.At(&s).Messages.Slice()
	return Past{at.Status, at.Turn, said[max(0, len(said)-max(0, last)):], at.Interrupts}, nil
}
