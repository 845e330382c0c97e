package react_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

// informed is the state of an agent that knows documents.
type informed struct {
	react.State
	Documents state.List[string]  `json:"documents" weft:"turn"`
	Level     state.Value[string] `json:"level"`
}

func informedAgent(t *testing.T, m model.Model, set *tool.Set, of react.Of[informed]) *graph.Graph[informed] {
	t.Helper()
	b := graph.New[informed]("informed")
	err := react.AddOf(b, func(s *informed) *react.State { return &s.State }, react.Config{Model: m, Tools: set, System: "static"}, of)
	if err != nil {
		t.Fatal(err)
	}
	b.Edge(graph.Start, react.ModelNode)
	g, err := b.Compile(graph.Config{Store: new(checkpoint.Memory)})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func ask(text, level string, documents ...string) informed {
	return informed{State: react.Input(text), Documents: state.ListOf(documents...), Level: state.Of(level)}
}

func TestAddOf_FollowsTheState(t *testing.T) {
	t.Parallel()
	var did ran
	set, err := tool.NewSet(did.find(tool.Info{Name: "find"}), did.find(tool.Info{Name: "wipe"}))
	if err != nil {
		t.Fatal(err)
	}
	m := model.Script(
		model.Ask(message.Call{ID: "1", Name: "wipe", Arguments: []byte(`{"q":"x"}`)}), model.Say("one"),
		model.Ask(message.Call{ID: "2", Name: "wipe", Arguments: []byte(`{"q":"y"}`)}), model.Say("two"),
	)
	g := informedAgent(t, m, set, react.Of[informed]{
		System: func(s *informed) (string, error) { return "Known: " + strings.Join(s.Documents.Slice(), ", "), nil },
		Tools: func(s *informed) ([]string, error) {
			if s.Level.Get() == "admin" {
				return []string{"find", "wipe"}, nil
			}
			return []string{"find"}, nil
		},
	})
	for _, in := range []informed{ask("a", "user", "d1", "d2"), ask("b", "admin", "d3")} {
		if _, err := g.Invoke(t.Context(), in, run); err != nil {
			t.Fatal(err)
		}
	}
	var systems []string
	var tools []int
	for _, r := range m.Requests() {
		systems, tools = append(systems, r.Messages[0].Text()), append(tools, len(r.Tools))
	}
	if got := strings.Join(systems, "; "); got != "Known: d1, d2; Known: d1, d2; Known: d3; Known: d3" {
		t.Errorf("the system messages were %s", got)
	}
	if len(tools) != 4 || tools[0] != 1 || tools[2] != 2 {
		t.Errorf("the requests offered %v tools, want 1, 1, 2, 2", tools)
	}
	if did.count("wipe") != 1 {
		t.Errorf("wipe ran %d times, want 1: it is not offered to a user", did.count("wipe"))
	}
}

func TestAddOf_FailsTheNode(t *testing.T) {
	t.Parallel()
	bad := errors.New("no documents")
	for name, of := range map[string]react.Of[informed]{
		"System": {System: func(*informed) (string, error) { return "", bad }},
		"Tools":  {Tools: func(*informed) ([]string, error) { return nil, bad }},
	} {
		set, err := tool.NewSet(new(ran).find(tool.Info{Name: "find"}))
		if err != nil {
			t.Fatal(err)
		}
		g := informedAgent(t, model.Script(model.Say("x")), set, of)
		if _, err := g.Invoke(t.Context(), ask("a", "user"), run); !errors.Is(err, bad) {
			t.Errorf("%s: error %v, want %v", name, err, bad)
		}
	}
}
