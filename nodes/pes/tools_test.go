package pes_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/pes"
)

// toolbox returns a tool for each name; those in off are not enabled.
func toolbox(t testing.TB, off *[]string, names ...string) *tool.Set {
	t.Helper()
	var all []tool.Tool
	for _, name := range names {
		all = append(all, tool.Func(tool.Info{Name: name, Description: "does\n" + name}, func(context.Context, struct{}) (string, error) { return "", nil }))
	}
	set, err := tool.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	return set.Enable(func(_ context.Context, name string) (bool, error) { return !slices.Contains(*off, name), nil })
}

// with returns an item that requires tools.
func with(id string, tools ...string) pes.Item {
	return pes.Item{ID: id, Task: "do " + id, RequiredTools: tools}
}

func TestPlan_UnknownToolsAreReportedTogether(t *testing.T) {
	p := &planner{plans: []pes.Plan{
		{Items: []pes.Item{with("a", "fly", "search"), with("b", "swim"), {ID: "c", Task: "do c", DependsOn: []string{"z"}}}},
		{Items: []pes.Item{with("a", "search"), with("b")}},
		{Items: []pes.Item{with("d", "search")}}, {Items: []pes.Item{with("d", "read")}},
	}}
	var d doer
	var off []string
	g := compile(t, pes.Config{Plan: p.plan, Execute: d.do, Tools: toolbox(t, &off, "search", "read")}, &checkpoint.Memory{})
	s := say(t, g, "one")
	same(t, "list", statusText(s), "a=completed b=completed")
	same(t, "problems", p.asked[1].Problem, `The plan is not valid: item "c" depends on "z", which does not exist; `+
		`item "a" requires the tool "fly", which does not exist; there are: search, read; `+
		`item "b" requires the tool "swim", which does not exist; there are: search, read`)
	same(t, "tools the planner saw", len(p.asked[0].Tools), 2)

	off = []string{"search"} // the completed item that used it stays
	s = say(t, g, "two")
	same(t, "list", statusText(s), "a=completed b=completed d=completed")
	same(t, "problems", p.asked[3].Problem, `The plan is not valid: item "d" requires the tool "search", which does not exist; there are: read`)
	same(t, "done", d.times, map[string]int{"a": 1, "b": 1, "d": 1})
}

func TestPlan_ToolsWithoutConfigToolsAreUnknown(t *testing.T) {
	p := &planner{plans: slices.Repeat([]pes.Plan{{Items: []pes.Item{with("a", "search")}}}, 3)}
	var d doer
	g := compile(t, pes.Config{Plan: p.plan, Execute: d.do}, &checkpoint.Memory{})
	_, err := g.Invoke(t.Context(), pes.Input("go"), run)
	var none *pes.PlanError
	if !errors.As(err, &none) || none.Plans != 3 {
		t.Fatalf("got %v, want a *PlanError after three plans", err)
	}
	same(t, "problems", none.Problems, []string{`item "a" requires the tool "search", which does not exist; there are none`})
	same(t, "done", len(d.times), 0)
}

func TestReview_EditedPlanNeedsKnownTools(t *testing.T) {
	p := &planner{plans: []pes.Plan{{Items: []pes.Item{with("a", "search")}}}}
	var d doer
	var off []string
	g := compile(t, pes.Config{Plan: p.plan, Execute: d.do, Tools: toolbox(t, &off, "search"), Review: true}, &checkpoint.Memory{})
	res, err := g.Invoke(t.Context(), pes.Input("go"), run)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "shown", res.Interrupts[0].Detail, "1. a: do a (with search)")
	edit := graph.EditTo(pes.Plan{Items: []pes.Item{with("a", "fly")}})
	if res, err = g.Resume(t.Context(), graph.Answer(res.Interrupts[0].ID, edit), run); err != nil || len(res.Interrupts) != 1 {
		t.Fatalf("got %s, %v, want the question again", res.Status, err)
	}
	if want := `item "a" requires the tool "fly", which does not exist`; !strings.Contains(res.Interrupts[0].Detail, want) {
		t.Errorf("got %q, want %q", res.Interrupts[0].Detail, want)
	}
}

func TestModelPlan_GetsTheTools(t *testing.T) {
	var off []string
	m := roles(t, map[string][]model.Answer{
		"You plan":        {model.Say(`{"items":[{"id":"a","description":"x","required_tools":["search"]}]}`)},
		"You do one item": {model.Say("done")}, "You answer": {model.Say("There.")},
	})
	g := compile(t, pes.WithModel(pes.Config{Tools: toolbox(t, &off, "search")}, m), &checkpoint.Memory{})
	same(t, "answer", say(t, g, "go").Answer.Get(), "There.")
	for i, want := range []string{"# Tools that items may require\n\nsearch: does search", "# Tools it requires\n\nsearch"} {
		r := m.Requests()[i]
		if got := r.Messages[len(r.Messages)-1].Text(); !strings.Contains(got, want) {
			t.Errorf("request %d is %q, want %q", i+1, got, want)
		}
	}
}
