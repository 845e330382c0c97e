package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
)

// PVAddresses and Analysis are registered types of context.
type PVAddresses struct {
	PVs         []string  `json:"pvs"`
	Description string    `json:"description"`
	Timestamp   time.Time `json:"timestamp"`
}

func (PVAddresses) ContextType() string { return "PV_ADDRESSES" }

func (p PVAddresses) Summary(key string) any { return fmt.Sprintf("%d PVs under %s", len(p.PVs), key) }

func (PVAddresses) Access(key string) agent.Access {
	return agent.Access{Structure: "a list of names", Pattern: key + ".pvs"}
}

type Analysis struct {
	Text   string   `json:"analysis"`
	Source []string `json:"source_data"`
}

func (*Analysis) ContextType() string { return "ANALYSIS_RESULTS" }

// Stray is not registered.
type Stray struct{ N int }

func (Stray) ContextType() string { return "STRAY" }

// Impostor has the name of another type.
type Impostor struct{ N int }

func (Impostor) ContextType() string { return "PV_ADDRESSES" }

var noon = time.Date(2026, 5, 6, 12, 0, 0, 7, time.UTC)

func manager(t testing.TB) agent.StateManager {
	t.Helper()
	types, err := agent.NewTypes(agent.TypeOf[PVAddresses](), agent.TypeOf[*Analysis]())
	must(t, err)
	return agent.StateManager{Types: types, Clock: func() time.Time { return noon }, Run: "run-1"}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wants(t testing.TB, err, want error, contains ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
		return
	}
	for _, s := range contains {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("got %q, want %q in it", err, s)
		}
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

var schema = func() *state.Schema {
	s, err := state.SchemaOf[agent.State]()
	if err != nil {
		panic(err)
	}
	return s
}()

// after returns the state of a new thread to which s was written.
func after(t testing.TB, s agent.State) agent.State {
	t.Helper()
	return next(t, *schema.New().State.(*agent.State), func(w *agent.State) { *w = s })
}

// next returns base after a superstep of one node.
func next(t testing.TB, base agent.State, node func(*agent.State)) agent.State {
	t.Helper()
	v, w := schema.New(), schema.New()
	*v.State.(*agent.State), *w.State.(*agent.State) = base, base
	node(w.State.(*agent.State))
	for i, c := range v.Channels {
		if w.Channels[i].Wrote() {
			must(t, c.Fold(w.Channels[i:i+1]))
		}
	}
	return *v.State.(*agent.State)
}

func written(s *agent.State) (names []string) {
	w := schema.New()
	*w.State.(*agent.State) = *s
	for i, c := range w.Channels {
		if c.Wrote() {
			names = append(names, schema.Fields()[i].Name)
		}
	}
	return names
}

func encode(t testing.TB, s agent.State) string {
	t.Helper()
	v := schema.New()
	*v.State.(*agent.State) = s
	data, err := schema.Encode(v)
	must(t, err)
	return string(data)
}

// planned returns a state in which the step with these inputs is to be done.
func planned(t testing.TB, steps ...agent.Step) agent.State {
	t.Helper()
	var s agent.State
	s.Planning.ExecutionPlan.Set(agent.Plan{Steps: steps})
	return after(t, s)
}

func ref(typ, key string) state.ContextRef { return state.ContextRef{Type: typ, Key: key} }

// chain returns a graph of nodes that run one after the other.
func chain(t testing.TB, store checkpoint.Store, nodes ...func(context.Context, *agent.State) error) *graph.Graph[agent.State] {
	t.Helper()
	b := graph.New[agent.State]("turn")
	from := graph.Start
	for i, fn := range nodes {
		name := fmt.Sprint("n", i)
		b.Node(name, graph.Func(fn))
		b.Edge(from, name)
		from = name
	}
	b.Edge(from, graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	must(t, err)
	return g
}

func invoke(t testing.TB, g *graph.Graph[agent.State], in agent.State) agent.State {
	t.Helper()
	res, err := g.Invoke(t.Context(), in, graph.RunOptions{Thread: "t1"})
	must(t, err)
	return res.State
}

func nothing(context.Context, *agent.State) error { return nil }

func decode(t testing.TB, data string, into any) {
	t.Helper()
	must(t, json.Unmarshal([]byte(data), into))
}
