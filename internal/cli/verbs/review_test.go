package verbs_test

import (
	"context"
	"errors"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// paper is the state of review.
type paper struct {
	Topic    state.Value[string] `json:"topic" weft:"turn"`
	Facts    state.List[string]  `json:"facts" weft:"turn"`
	Approved state.Value[bool]   `json:"approved" weft:"turn"`
}

// review is a graph in Go: it looks for a fact about its topic and asks whether to print it.
// Two topics are special: "fail" fails in the node search, and "send" asks for a decision.
func review() *graph.Builder[paper] {
	b := graph.New[paper]("review")
	b.Node("search", graph.Func(search))
	b.Node("ask", graph.Func(askReview))
	b.Edge(graph.Start, "search")
	b.Edge("search", "ask")
	b.Edge("ask", graph.End)
	return b
}

func search(_ context.Context, s *paper) error {
	if s.Topic.Get() == "fail" {
		return errors.New("the library is shut")
	}
	s.Facts.Append("a fact about " + s.Topic.Get())
	return nil
}

func askReview(ctx context.Context, s *paper) error {
	if s.Topic.Get() != "send" {
		ok, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Print it?"})
		s.Approved.Set(ok)
		return err
	}
	args, d, err := graph.Approve(ctx, graph.Approval[map[string]string]{Question: graph.Question{Prompt: "Send it?"}, Action: "send", Args: map[string]string{}})
	s.Approved.Set(d.Approved())
	s.Facts.Append(string(d.Type) + " " + d.Message)
	if to, ok := args["to"]; ok {
		s.Facts.Append("to " + to)
	}
	return err
}

// openMute is a graph that does not come.
func openMute(context.Context, checkpoint.Store) (graph.Untyped, error) {
	return nil, errors.New("it has no library card")
}
