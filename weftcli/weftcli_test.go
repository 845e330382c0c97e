package weftcli

import (
	"context"
	"errors"
	"testing"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

func TestConfig_AddsToTheReadyKinds(t *testing.T) {
	kind := workflow.Kind{New: func() workflow.Runner { return nil }, Final: true}
	c := Config{
		Name:     "mine",
		Nodes:    map[string]workflow.Kind{"shout": kind},
		Kinds:    map[string]workflow.Kind{"approval": kind, "own": kind},
		Types:    map[string]record.Type{"Decision": workflow.TypeOf[struct{ OK bool }]()},
		Reducers: map[string]workflow.Reducer{"deep": workflow.ReducerOf[map[string]any, state.DeepMerge]()},
		Stores: map[string]Opener{
			"test": func(context.Context, string) (checkpoint.Store, error) { return new(checkpoint.Memory), nil },
		},
	}
	c.Server = func(c *server.Config) { c.Version = "mine" }
	all, err := c.commandLine()
	if err != nil {
		t.Fatal(err)
	}
	var served server.Config
	if all.Server(&served); served.Version != "mine" {
		t.Errorf("the settings of the server are %+v, want those of the program", served)
	}
	got := all.Options
	if want := len(nodes.Kinds()) + 2; len(got.Kinds) != want {
		t.Errorf("%d kinds, want %d", len(got.Kinds), want)
	}
	for _, name := range []string{"go:shout", "approval", "own"} {
		if !got.Kinds[name].Final {
			t.Errorf("kind %q must be the program's", name)
		}
	}
	if _, ok := got.Reducers["go:deep"]; !ok || got.Types["go:Decision"].String() != "object{OK: bool}" {
		t.Errorf("the reducers are %v, the types %v", got.Reducers, got.Types)
	}
	if one := programOf(t, Config{Name: "mine", Capabilities: []capabilities.Capability{able}}); len(one.Agents) != 1 || one.Agents["mine"].Capabilities == nil {
		t.Errorf("the agents of a program with capabilities: %v", one.Agents)
	}
	if all.Name != "mine" || all.Stores["test"] == nil {
		t.Errorf("name %q, %d stores", all.Name, len(all.Stores))
	}
}

var able = capabilities.Func(capabilities.Info{Name: "able", Description: "does it"}, func(context.Context, *capabilities.Call) error { return nil })

func programOf(t *testing.T, c Config) nodes.Program {
	p, err := c.program()
	if err != nil {
		t.Error(err)
	}
	return p
}

func TestConfig_RefusesInvalidCapabilities(t *testing.T) {
	for what, c := range map[string]Config{
		"twice one name":                 {Capabilities: []capabilities.Capability{able, able}},
		"no name":                        {Capabilities: []capabilities.Capability{capabilities.Func(capabilities.Info{}, nil)}},
		"an agent of the program's name": {Name: "mine", Capabilities: []capabilities.Capability{able}, Agents: map[string]turn.Config{"mine": {}}},
	} {
		if _, err := c.program(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestBuilt_CompilesOverTheStore(t *testing.T) {
	b := graph.New[struct{ N state.Sum[int] }]("count")
	b.Node("one", graph.Func(func(_ context.Context, s *struct{ N state.Sum[int] }) error { s.N.Add(1); return nil }))
	b.Edge(graph.Start, "one")
	b.Edge("one", graph.End)
	store := new(checkpoint.Memory)
	g, err := Built(b)(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Invoke(t.Context(), []byte("{}"), graph.RunOptions{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	if p, err := graph.Inspect(t.Context(), store, checkpoint.Key{Thread: "t"}); err != nil || p.Graph != "count" || p.Status != graph.Done {
		t.Errorf("the thread: %+v, %v", p, err)
	}
	b.Edge("one", "nowhere")
	if g, err := Built(b)(t.Context(), store); err == nil || g != nil {
		t.Errorf("a graph that does not compile: %v, %v", g, err)
	}
}

func TestConfig_RefusesToolsOfOneName(t *testing.T) {
	one := tool.Func(tool.Info{Name: "one"}, func(context.Context, struct{}) (string, error) { return "", nil })
	if _, err := (Config{Tools: []tool.Tool{one, one}}).program(); !errors.Is(err, tool.ErrTool) {
		t.Errorf("got %v, want an ErrTool", err)
	}
}
