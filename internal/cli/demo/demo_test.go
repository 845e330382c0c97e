package demo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/demo"
)

func TestGraph_AsksAndEnds(t *testing.T) {
	g, err := demo.Graph(&checkpoint.Memory{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), json.RawMessage(`{"question":"why?"}`), graph.RunOptions{Thread: "t"})
	if err != nil || res.Status != graph.Interrupted || len(res.Interrupts) != 1 || res.Interrupts[0].Action.Name != "send" {
		t.Fatalf("got %+v, %v; want a question", res, err)
	}
	res, err = g.Resume(t.Context(), graph.Answer(res.Interrupts[0].ID, graph.Decision{Type: graph.DecisionReject, Message: "shorter"}), graph.RunOptions{Thread: "t"})
	if err != nil || res.Status != graph.Interrupted || !strings.Contains(res.Interrupts[0].Detail, "Changed as asked: shorter") {
		t.Fatalf("after a rejection got %+v, %v; want a question about a new draft", res, err)
	}
	res, err = g.Resume(t.Context(), graph.Answer(res.Interrupts[0].ID, graph.Decision{Type: graph.DecisionApprove}), graph.RunOptions{Thread: "t"})
	if err != nil || res.Status != graph.Done {
		t.Fatalf("got %+v, %v", res, err)
	}
	var s struct {
		Facts []demo.Fact
		Sent  demo.Letter
	}
	if err := json.Unmarshal(res.State, &s); err != nil || len(s.Facts) != 6 || !strings.Contains(s.Sent.Text, "library") {
		t.Errorf("got %+v, %v", s, err)
	}
}
