package temporal

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/temporal/internal/scenarios"
)

// The options of a run are in the documents while it lasts, and not in what travels.
func TestOptions_LeaveNothingBehind(t *testing.T) {
	for _, mode := range []Mode{Segments, Nodes} {
		t.Run(string(mode), func(t *testing.T) {
			store, docs := new(checkpoint.Memory), new(document.Map)
			seen := false
			w := WorkerConfig{Store: store, Documents: docs, Settings: func(data json.RawMessage) (any, error) {
				n, err := docs.Count(t.Context(), document.Query{Place: optionsOf("t1")})
				seen = n == 1 && err == nil
				return scenarios.Settings(data)
			}}
			runs, _ := onEnvironment(t, counting(t, store, 3, 0).Untyped(), w, ClientConfig{Documents: docs, Mode: mode})
			o := graph.RunOptions{Thread: "t1", Settings: map[string]any{"key": strings.Repeat("k", 10_000)}}
			if res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), o); err != nil || res.Status != graph.Done {
				t.Fatalf("the run ended %q with %v, want done", res.Status, err)
			}
			if n, err := docs.Count(t.Context(), document.Query{Place: optionsOf("t1")}); !seen || n != 0 || err != nil {
				t.Errorf("during the run there was an options document: %t, after it there are %d (%v); want one, and none", seen, n, err)
			}
		})
	}
}

// configured is a graph that completes the inputs of servers and schedules.
type configured struct{ graph.Untyped }

func (configured) Configure(_ json.RawMessage, context, _ map[string]json.RawMessage) (json.RawMessage, error) {
	return context["n"], nil
}

// What asks a graph to complete an input may ask its client.
func TestClient_CompletesInputs(t *testing.T) {
	store := new(checkpoint.Memory)
	plain := counting(t, store, 1, 0).Untyped()
	for want, g := range map[string]graph.Untyped{`{"n":5}`: configured{plain}, `{}`: struct{ graph.Untyped }{plain}} {
		c, err := newClient(g, ClientConfig{Store: store}, newSlowPort())
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Configure(json.RawMessage(`{}`), map[string]json.RawMessage{"n": json.RawMessage(`{"n":5}`)}, nil)
		if err != nil || string(got) != want {
			t.Errorf("the input is %s (%v), want %s", got, err, want)
		}
	}
}

// Options that cannot reach the workers are refused by name.
func TestOptions_AreRefused(t *testing.T) {
	docs := new(document.Map)
	settings, before := graph.RunOptions{Thread: "t1", Settings: 1}, graph.RunOptions{Thread: "t1", InterruptBefore: []string{"add"}}
	for name, c := range map[string]struct {
		o      graph.RunOptions
		client ClientConfig
		worker WorkerConfig
		want   string
	}{
		"settings without documents":   {settings, ClientConfig{}, WorkerConfig{}, "ClientConfig.Documents"},
		"interrupts without documents": {before, ClientConfig{}, WorkerConfig{}, "ClientConfig.Documents"},
		"a worker without documents":   {settings, ClientConfig{Documents: docs}, WorkerConfig{}, "WorkerConfig.Documents"},
		"a worker without a decoder":   {settings, ClientConfig{Documents: docs}, WorkerConfig{Documents: docs}, "WorkerConfig.Settings"},
		"settings that are not JSON":   {graph.RunOptions{Thread: "t1", Settings: func() {}}, ClientConfig{Documents: docs}, WorkerConfig{}, "RunOptions.Settings"},
		"deleted options": {settings, ClientConfig{Documents: docs}, WorkerConfig{Documents: new(document.Map), Settings: scenarios.Settings},
			"were deleted"},
	} {
		for _, mode := range []Mode{Segments, Nodes} {
			t.Run(name+", "+string(mode), func(t *testing.T) {
				store := new(checkpoint.Memory)
				w, client := c.worker, c.client
				w.Store, client.Mode = store, mode
				runs, _ := onEnvironment(t, counting(t, store, 3, 0).Untyped(), w, client)
				res, err := runs.Invoke(t.Context(), json.RawMessage(`{}`), c.o)
				if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), c.want) || res.Status != graph.Failed {
					t.Errorf("the run ended %q with %v, want an ErrOptions that names %s", res.Status, err, c.want)
				}
			})
		}
	}
}
