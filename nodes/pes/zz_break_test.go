package pes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/nodes/pes"
)

// A planner that numbers its items anew in each turn: the work of the second turn was dropped without a word.
func TestBreakAnItemWithTheIDOfACompletedOneIsNotDropped(t *testing.T) {
	var did []string
	var problems []string
	plan := func(_ context.Context, r pes.PlanRequest) (pes.Plan, error) {
		problems = append(problems, r.Problem)
		id := "1"
		if r.Problem != "" {
			id = "2"
		}
		return pes.Plan{Items: []pes.Item{{ID: id, Task: r.Query}}}, nil
	}
	execute := func(_ context.Context, r pes.ExecuteRequest) (string, error) {
		did = append(did, r.Item.Task)
		return "ok", nil
	}
	g := compile(t, pes.Config{Plan: plan, Execute: execute}, &checkpoint.Memory{})
	say(t, g, "book a flight")
	s := say(t, g, "book a hotel")
	if got := strings.Join(did, ", "); got != "book a flight, book a hotel" {
		t.Errorf("done: %s; the user is told %q; the planner %q", got, s.Answer.Get(), problems)
	}
}

// A plan of a model that is far larger than it may be kept the processor busy for minutes, whatever the context.
func TestBreakALargePlanIsRefusedAtOnce(t *testing.T) {
	var p pes.Plan
	for i := range 4000 {
		p.Items = append(p.Items, pes.Item{ID: fmt.Sprint(i), Task: "x", DependsOn: []string{fmt.Sprint(i + 1)}})
	}
	p.Items[len(p.Items)-1].DependsOn = nil
	done := make(chan []string, 1)
	go func() { done <- p.Check(50) }()
	select {
	case got := <-done:
		if len(got) == 0 {
			t.Error("it is accepted")
		}
	case <-time.After(3 * time.Second):
		t.Error("after 3 s it is still being checked")
	}
}
