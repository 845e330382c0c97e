package nodes_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

// contextFile runs two capabilities of one type and a plan at once. Each gets what was known
// before, and the result of the plan is merged last.
const contextFile = `
version: 1
state: {a: string, b: string, name: string, known: context}
input: [a, b, name]
nodes:
  begin: {set: {}, next: [left, right, then]}
  left:
    capability: {name: find, key: "${{ state.a }}", args: {name: "${{ state.name }}"}, contexts: "${{ state.known }}"}
    output: {known: "${{ result.contexts }}"}
    next: END
  right:
    capability: {name: find, key: "${{ state.b }}", args: {name: "${{ state.name }}"}, contexts: "${{ state.known }}"}
    output: {known: "${{ result.contexts }}"}
    next: END
  then:
    plan: {agent: weather, task: Find the rain, capabilities: [find], contexts: "${{ state.known }}"}
    output: {known: "${{ result.contexts }}"}
    next: END
`

func TestContextField_StaleCopyOverwritesNothing(t *testing.T) {
	w, g := program(t, contextFile, nodes.Program{Agents: desks(t)})
	for _, turn := range []struct{ a, b, name, want string }{
		{"north", "south", "1", `{"find":"precipitation ","north":"precipitation 1","south":"precipitation 1"}`},
		{"north", "east", "2", `{"east":"precipitation 2","find":"precipitation ","north":"precipitation 2","south":"precipitation 1"}`},
		{"west", "south", "3", `{"east":"precipitation 2","find":"precipitation ","north":"precipitation 2","south":"precipitation 3","west":"precipitation 3"}`},
	} {
		values := map[string]json.RawMessage{}
		for name, value := range map[string]string{"a": turn.a, "b": turn.b, "name": turn.name} {
			values[name], _ = json.Marshal(value)
		}
		in, err := w.Input(values)
		if err != nil {
			t.Fatal(err)
		}
		res, err := g.Invoke(t.Context(), in, graph.RunOptions{Thread: "t1"})
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(w.Output(&res.State))
		var out struct {
			Known map[string]map[string]rain `json:"known"`
		}
		if err == nil {
			err = json.Unmarshal(data, &out)
		}
		if err != nil {
			t.Fatal(err)
		}
		columns := map[string]string{}
		for key, r := range out.Known["RAIN"] {
			columns[key] = r.Column
		}
		if got, _ := json.Marshal(columns); string(got) != turn.want {
			t.Errorf("after the turn %+v: got %s", turn, got)
		}
	}
}

func TestContextField_NullDeletesOneEntry(t *testing.T) {
	w, g := program(t, `
version: 1
state: {known: {type: context, default: {RAIN: {a: {mm: 1}, b: {mm: 2}}}}, left: any, sum: number}
nodes:
  put: {set: {known: {RAIN: {c: {mm: 3}}, SNOW: {d: {cm: 4}}}}, next: remove}
  remove: {set: {known: {RAIN: {a: null}}}, next: read}
  read: {set: {left: "${{ keys(state.known.RAIN) }}", sum: "${{ state.known.RAIN.c.mm + state.known.SNOW.d.cm }}"}, next: END}
`, nodes.Program{})
	got, err := answer(t, w, g, nil)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := json.Marshal([]any{got["left"], got["sum"]})
	if string(data) != `[["b","c"],7]` {
		t.Errorf("got %s", data)
	}
}

func TestContextField_Mistakes(t *testing.T) {
	for text, want := range map[string]string{
		"state: {known: {type: context, reducer: merge}}\nnodes: {a: {set: {}, next: END}}": "WF406",
		"state: {known: {type: any, reducer: context}}\nnodes: {a: {set: {}, next: END}}":   "WF406",
		"state: {known: list<context>}\nnodes: {a: {set: {}, next: END}}":                   "WF4",
		"state: {known: context}\nnodes: {a: {set: {known: [1]}, next: END}}":               "WF410",
		"state: {known: {type: context, default: [1]}}\nnodes: {a: {set: {}, next: END}}":   "WF407",
		"state: {known: contxt}\nnodes: {a: {set: {}, next: END}}":                          `did you mean "context"`,
	} {
		_, err := workflow.Parse("in.yaml", []byte("version: 1\n"+text+"\n"), workflow.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestContextField_RefusesWhatIsNoObject(t *testing.T) {
	w, g := program(t, `
version: 1
state: {known: context}
nodes: {a: {set: {known: {RAIN: {a: 1}}}, next: END}}
`, nodes.Program{})
	_, err := answer(t, w, g, nil)
	if err == nil || !strings.Contains(err.Error(), "known") || !strings.Contains(err.Error(), "RAIN") {
		t.Errorf("got %v, want an error that names the field and the type", err)
	}
}
