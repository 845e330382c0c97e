package nodes_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

// contextFile runs two capabilities of one type at once. Both know what was known before.
const contextFile = `
version: 1
state: {a: string, b: string, known: context}
input: [a, b]
nodes:
  begin: {set: {}, next: [left, right]}
  left:
    capability: {name: find, key: "${{ state.a }}", args: {name: "${{ state.a }}"}, contexts: "${{ state.known }}"}
    output: {known: "${{ result.contexts }}"}
    next: END
  right:
    capability: {name: find, key: "${{ state.b }}", args: {name: "${{ state.b }}"}, contexts: "${{ state.known }}"}
    output: {known: "${{ result.contexts }}"}
    next: END
`

func TestContextField_ParallelCapabilitiesOfOneType(t *testing.T) {
	w, g := program(t, contextFile, nodes.Program{Agents: desks(t)})
	turn := func(a, b string) map[string]string {
		t.Helper()
		in, err := w.Input(map[string]json.RawMessage{"a": []byte(`"` + a + `"`), "b": []byte(`"` + b + `"`)})
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
		return columns
	}
	expect := func(got map[string]string, want string) {
		t.Helper()
		if data, _ := json.Marshal(got); string(data) != want {
			t.Errorf("got %s, want %s", data, want)
		}
	}
	expect(turn("north", "south"), `{"north":"precipitation north","south":"precipitation south"}`)
	expect(turn("north", "east"), `{"east":"precipitation east","north":"precipitation north","south":"precipitation south"}`)
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
