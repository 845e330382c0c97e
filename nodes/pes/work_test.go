package pes_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/pes"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

func TestWork_RefinesThePlanOfTheThread(t *testing.T) {
	t.Parallel()
	var executed []string
	c := pes.Config{
		Review: true,
		Plan: func(_ context.Context, r pes.PlanRequest) (pes.Plan, error) {
			p := pes.Plan{Items: []pes.Item{{ID: "a", Task: "first"}}}
			if strings.Contains(r.Query, "more") {
				p.Items = append(p.Items, pes.Item{ID: "b", Task: "second", DependsOn: []string{"a"}})
			}
			return p, nil
		},
		Execute: func(_ context.Context, r pes.ExecuteRequest) (string, error) {
			executed = append(executed, r.Item.ID)
			return "did " + r.Item.Task, nil
		},
		Synthesize: func(_ context.Context, r pes.SynthesizeRequest) (string, error) {
			var all []string
			for _, item := range r.Todo {
				all = append(all, item.Result.Text)
			}
			return strings.Join(all, ", "), nil
		},
	}
	work, err := pes.Work(c)
	if err != nil {
		t.Fatal(err)
	}
	g, err := turn.Graph("list", turn.Config{Work: work}, graph.Config{Store: &checkpoint.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	a := turn.NewAgent(g, agent.StateManager{})
	for _, one := range [][2]string{{"begin", ""}, {"yes", "did first"}, {"more", ""}, {"yes", "did first, did second"}} {
		r, err := a.Say(t.Context(), "t1", one[0])
		if err != nil {
			t.Fatal(err)
		}
		if want := one[1]; want == "" && r.Status != graph.Interrupted || want != "" && r.Text != want {
			t.Errorf("%s: got %s: %s, want %s", one[0], r.Status, r.Text, want)
		}
	}
	if got := strings.Join(executed, " "); got != "a b" {
		t.Errorf("executed %s, want each item once", got)
	}
}
