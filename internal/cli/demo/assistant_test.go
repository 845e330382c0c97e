package demo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/cli/demo"
)

func TestAssistant_LooksUpAsksAndCounts(t *testing.T) {
	g, err := demo.Assistant(&checkpoint.Memory{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	say := func(text string) (graph.Result[json.RawMessage], string) {
		t.Helper()
		in, err := json.Marshal(map[string]any{"messages": []any{map[string]string{"role": "user", "content": text}}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := g.Invoke(t.Context(), in, graph.RunOptions{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		return res, answerOf(t, res)
	}
	if _, got := say("why is the sky blue?"); !strings.Contains(got, "The archive has 3 entries") || !strings.Contains(got, "the press has nothing about it") {
		t.Errorf("got %s", got)
	}
	if _, got := say("count to 3"); got != "1 2 3 " {
		t.Errorf("got %q", got)
	}
	res, _ := say("send a letter")
	if res.Status != graph.Interrupted || len(res.Interrupts) != 1 {
		t.Fatalf("got %+v, want a question", res)
	}
	res, err = g.Resume(t.Context(), graph.Answer(res.Interrupts[0].ID, graph.Decision{Type: graph.DecisionApprove}), graph.RunOptions{Thread: "t"})
	if err != nil || res.Status != graph.Done || !strings.Contains(answerOf(t, res), "is on its way") {
		t.Errorf("got %+v, %v", res, err)
	}
}

func answerOf(t *testing.T, res graph.Result[json.RawMessage]) string {
	t.Helper()
	var s struct {
		Answer string `json:"agent_answer"`
	}
	if err := json.Unmarshal(res.State, &s); err != nil {
		t.Fatal(err)
	}
	return s.Answer
}
