package pes_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/pes"
	"github.com/weftrun/weft/state/message"
)

// A planner may renumber its items in each turn: no item is dropped or executed twice.
func TestRefine_RenumbersItems(t *testing.T) {
	item := func(id, task string, on ...string) pes.Item { return pes.Item{ID: id, Task: task, DependsOn: on} }
	p := &planner{plans: []pes.Plan{
		{Items: []pes.Item{item("1", "find offers"), item("2", "compare them", "1")}},
		{Items: []pes.Item{item("1", "write a letter"), item("2", "Compare  them."), item("3", "send it", "1", "2")}},
		{Items: []pes.Item{item("1", "write a letter"), item("2", ""), item("4", "wait", "1", "3")}},
		{Items: []pes.Item{item("1", "begin anew", "1")}},
	}}
	var d doer
	g := compile(t, pes.Config{Plan: p.plan, Execute: d.do}, &checkpoint.Memory{})
	say(t, g, "one")
	s := say(t, g, "two")
	same(t, "list", statusText(s), "1=completed 2=completed 1-2=completed 3=completed")
	same(t, "answer", s.Answer.Get(), "write a letter: 1-2()\nsend it: 3(2(1()) 1-2())")
	s = say(t, g, "three")
	same(t, "answer", s.Answer.Get(), "wait: 4(1-2() 3(2(1()) 1-2()))")
	s = say(t, g, "four")
	same(t, "answer", s.Answer.Get(), "begin anew: 1-3(1())")
	same(t, "done", d.times, map[string]int{"1": 1, "2": 1, "1-2": 1, "3": 1, "4": 1, "1-3": 1})
}

// A plan that cannot continue, because the state was edited by hand, fails with the reason.
func TestPlan_StuckNamesWhy(t *testing.T) {
	var d doer
	p := &planner{plans: []pes.Plan{items("a", "b<a", "c<b")}}
	b, err := pes.New(pes.Config{Plan: p.plan, Execute: d.do})
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Compile(graph.Config{Store: &checkpoint.Memory{}, InterruptAfter: []string{pes.PlanNode}})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := g.Invoke(t.Context(), pes.Input("go"), run); err != nil || res.Status != graph.Interrupted {
		t.Fatalf("%s, %v", res.Status, err)
	}
	_, err = g.Patch(t.Context(), func(s *pes.State) error {
		s.Plan.Set(items("b<a", "c<b"))
		return nil
	}, run)
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Resume(t.Context(), graph.Answers{}, run)
	var stuck *pes.PlanError
	if !errors.As(err, &stuck) || !stuck.Stuck {
		t.Fatalf("got %v, want a *PlanError", err)
	}
	same(t, "why", stuck.Problems, []string{`"b" waits for "a", which does not exist`, `"c" waits for "b", which is pending`})
	if !strings.Contains(err.Error(), "the plan cannot continue") {
		t.Errorf("got %v", err)
	}
}

func TestMessages_HaveTheTimeOfTheGraphsClock(t *testing.T) {
	now := time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)
	var d doer
	b, err := pes.New(pes.Config{Execute: d.do})
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Compile(graph.Config{Store: &checkpoint.Memory{}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	say(t, g, "one")
	now = now.Add(time.Hour)
	var got []string
	for _, m := range say(t, g, "two").Messages.All() {
		got = append(got, string(m.Role)+" "+m.Created.Format("15:04"))
	}
	same(t, "times", got, []string{string(message.RoleUser) + " 12:00", "assistant 12:00", "user 13:00", "assistant 13:00"})
}
