package turn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// Rain and Picture are contexts.
type Rain struct {
	Column string `json:"column"`
}

func (Rain) ContextType() string { return "RAIN" }

func (r Rain) Summary(string) any { return "rain in " + r.Column }

type Picture struct {
	Of []string `json:"of"`
}

func (Picture) ContextType() string { return "PICTURE" }

var noon = time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func sameList[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func contains(t testing.TB, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("got %q, want it to contain %q", text, w)
		}
	}
}

func manager(t testing.TB) agent.StateManager {
	t.Helper()
	types, err := agent.NewTypes(agent.TypeOf[Rain](), agent.TypeOf[Picture]())
	must(t, err)
	return agent.StateManager{Types: types, Clock: func() time.Time { return noon }}
}

func registry(t testing.TB, all ...capabilities.Capability) *capabilities.Registry {
	t.Helper()
	r, err := capabilities.NewRegistry(all...)
	must(t, err)
	return r
}

// find provides RAIN, and plot makes a PICTURE of all of it.
func find() capabilities.Capability {
	return capabilities.Func(capabilities.Info{Name: "find", Description: "finds rain", Provides: []string{"RAIN"}},
		func(_ context.Context, c *capabilities.Call) error {
			return c.Store(Rain{Column: "column " + c.Step.ContextKey})
		})
}

func plot() capabilities.Capability {
	return capabilities.Func(capabilities.Info{Name: "plot", Description: "draws rain", Requires: []string{"RAIN"}, Provides: []string{"PICTURE"}},
		func(_ context.Context, c *capabilities.Call) error {
			all, err := agent.Inputs[Rain](c.Contexts(), c.Step)
			if err != nil {
				return err
			}
			var p Picture
			for _, r := range all {
				p.Of = append(p.Of, r.Value.Column)
			}
			return c.Store(p)
		})
}

// config has both capabilities and no model.
func config(t testing.TB) turn.Config {
	return turn.Config{Manager: manager(t), Capabilities: registry(t, find(), plot())}
}

func compile(t testing.TB, c turn.Config, store checkpoint.Store) *graph.Graph[agent.State] {
	t.Helper()
	g, err := turn.Graph("agent", c, graph.Config{Store: store, Now: func() time.Time { return noon }})
	must(t, err)
	return g
}

// say runs a turn whose input is only a message.
func say(t testing.TB, g *graph.Graph[agent.State], thread, text string) graph.Result[agent.State] {
	t.Helper()
	res, err := g.Invoke(t.Context(), agent.State{Messages: message.LogOf(message.User(text))}, graph.RunOptions{Thread: thread})
	must(t, err)
	return res
}

// answer returns the last message of the assistant, and checks that the turn has only this one.
func answer(t testing.TB, s agent.State) string {
	t.Helper()
	said := ""
	n := 0
	for _, m := range s.Messages.All() {
		switch m.Role {
		case message.RoleUser:
			n = 0
		case message.RoleAssistant:
			said, n = m.Text(), n+1
		}
	}
	same(t, "messages of the assistant in the turn", n, 1)
	return said
}

// script returns a function that returns each of these in order, and then always the last.
func script[R, T any](t testing.TB, all ...func() (T, error)) func(context.Context, R) (T, error) {
	n := 0
	return func(context.Context, R) (T, error) {
		do := all[min(n, len(all)-1)]
		n++
		return do()
	}
}

func gives[T any](v T) func() (T, error) { return func() (T, error) { return v, nil } }

func fails[T any](severity agent.Severity, text string) func() (T, error) {
	return func() (v T, err error) { return v, agent.Failed(severity, errors.New(text)) }
}

func plans(steps ...agent.Step) agent.Plan { return agent.Plan{Steps: steps} }

// ran returns the nodes of the thread's last turn in order.
func ran(t testing.TB, store checkpoint.Store, thread string) (names []string) {
	t.Helper()
	var points []graph.CommitInfo
	for p, err := range graph.History(t.Context(), store, checkpoint.Key{Thread: thread}, checkpoint.Query{}) {
		must(t, err)
		points = append(points, p)
	}
	for _, p := range slices.Backward(points) {
		if p.Turn == points[0].Turn {
			names = append(names, fmt.Sprint(p.Nodes()))
		}
	}
	return names
}

func TestTurn_WithoutAModel(t *testing.T) {
	store := &checkpoint.Memory{}
	res := say(t, compile(t, config(t), store), "t1", "draw the rain")
	same(t, "status", res.Status, graph.Done)
	same(t, "answer", answer(t, res.State), "RAIN.find: rain in column find\n\nPICTURE.plot: {\"of\":[\"column find\"]}")
	sameList(t, "ran", ran(t, store, "t1"), strings.Split("[] [router] [task_extraction] [router] [classifier] [router] [orchestrator] [router] [find] [router] [plot] [router] [respond]", " "))
}
