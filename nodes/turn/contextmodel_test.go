package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/internal/storetest"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// write is what one step does to the contexts.
type write struct {
	Type, Key string // what it stores
	Delete    string // the key of its type that it removes before; "" for none
	Busy      int    // how many attempts fail
	Breaks    bool   // it fails for good
}

// knowledge is the model of the contexts: values by "TYPE key".
type knowledge map[string]string

// value is what a step stores in a turn.
func (w write) value(turn int) string { return fmt.Sprintf("%s of turn %d", w.Key, turn) }

// after returns the contexts after a turn. The steps of a wave run at once, and those that were
// busy run again, until all are done; then the next wave runs. A step that breaks ends the turn
// after those that run with it.
func (k knowledge) after(turn int, waves [][]write) {
	for _, wave := range waves {
		for attempt := 1; attempt <= 3; attempt++ {
			broken := false
			for _, w := range wave {
				switch {
				case w.Busy+1 != attempt:
				case w.Breaks:
					broken = true
				default:
					delete(k, w.Type+" "+w.Delete)
					k[w.Type+" "+w.Key] = w.value(turn)
				}
			}
			if broken {
				return
			}
		}
	}
}

func drawWaves(t *rapid.T) (waves [][]write) {
	types, keys := []string{"RAIN", "PICTURE"}, []string{"a", "b", "c", "d", "e", "f"}
	free := rapid.Permutation(keys).Draw(t, "keys")
	for _, most := range []int{1, 3, 2}[:rapid.IntRange(2, 3).Draw(t, "waves")] { // a plan whose steps wait for none is a list
		var wave []write
		for range rapid.IntRange(1, most).Draw(t, "steps") {
			w := write{Type: rapid.SampledFrom(types).Draw(t, "type"), Key: free[0], Busy: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "busy")}
			free = free[1:]
			if rapid.IntRange(0, 2).Draw(t, "deletes") == 0 {
				w.Delete = rapid.SampledFrom(keys).Draw(t, "deleted key")
			}
			w.Breaks = rapid.IntRange(0, 9).Draw(t, "breaks") == 0
			wave = append(wave, w)
		}
		waves = append(waves, wave)
	}
	return waves
}

// run stores a context, and may remove another one of its type.
func (w write) run(c *capabilities.Call, turn int) error {
	if c.Attempt <= w.Busy {
		return agent.Failed(agent.Retriable, errors.New("busy"))
	}
	if w.Breaks {
		return errors.New("broken")
	}
	if w.Delete != "" {
		c.State.Context.Delete(w.Type, w.Delete)
	}
	if w.Type == "RAIN" {
		return c.Store(Rain{Column: w.value(turn)})
	}
	return c.Store(Picture{Of: []string{w.value(turn)}})
}

// writer returns an agent that does the writes of a turn.
func writer(store checkpoint.Store, types *agent.Types, n int, waves [][]write) (*turn.Agent[agent.State], error) {
	byKey := map[string]write{}
	var plan agent.Plan
	var before []string
	for _, wave := range waves {
		var names []string
		for _, w := range wave {
			byKey[w.Key] = w
			names = append(names, w.Key)
			plan.Steps = append(plan.Steps, agent.Step{Capability: w.Type, ContextKey: w.Key, Objective: "write", ExpectedOutput: w.Type, DependsOn: before})
		}
		before = names
	}
	plan.Steps = append(plan.Steps, agent.Step{Capability: agent.ToRespond, Objective: "end"})
	var all []capabilities.Capability
	for _, typ := range []string{"RAIN", "PICTURE"} {
		all = append(all, capabilities.Func(capabilities.Info{
			Name: typ, Description: "writes", Provides: []string{typ}, Retry: graph.Retry{Attempts: 3, Initial: graph.NoWait},
		}, func(_ context.Context, c *capabilities.Call) error { return byKey[c.Step.ContextKey].run(c, n) }))
	}
	reg, err := capabilities.NewRegistry(all...)
	if err != nil {
		return nil, err
	}
	c := turn.Config{Manager: agent.StateManager{Types: types}, Capabilities: reg}
	c.Plan = func(context.Context, turn.PlanRequest) (agent.Plan, error) { return plan, nil }
	g, err := turn.Graph("writer", c, graph.Config{Store: store})
	if err != nil {
		return nil, err
	}
	return turn.NewAgent(g, c.Manager), nil
}

// known returns the contexts of a state in the form of the model.
func known(s agent.State) (knowledge, error) {
	k := knowledge{}
	for ref, e := range s.Context.All() {
		var v struct {
			Column string   `json:"column"`
			Of     []string `json:"of"`
		}
		if err := json.Unmarshal([]byte(e.Fields), &v); err != nil {
			return nil, err
		}
		if len(v.Of) == 1 {
			k[ref.Type+" "+ref.Key] = v.Of[0]
		} else {
			k[ref.Type+" "+ref.Key] = v.Column
		}
	}
	return k, nil
}

// Any sequence of turns, with parallel capabilities, failures and crashes, leaves the contexts of
// the model. After a crash another agent continues, as another process would.
func TestContexts_EqualASimpleModel(t *testing.T) {
	t.Parallel()
	types, err := agent.NewTypes(agent.TypeOf[Rain](), agent.TypeOf[Picture]())
	must(t, err)
	for name, open := range map[string]func(t *testing.T) (checkpoint.Store, error){
		"memory": func(*testing.T) (checkpoint.Store, error) { return new(checkpoint.Memory), nil },
		"sqlite": func(t *testing.T) (checkpoint.Store, error) {
			return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "c.db"))
		},
		"redis": func(t *testing.T) (checkpoint.Store, error) {
			return redis.OpenURL(t.Context(), servertest.Redis(t))
		},
		"postgres": func(t *testing.T) (checkpoint.Store, error) {
			return postgres.Open(t.Context(), servertest.Postgres(t), postgres.Config{RetryFor: time.Minute})
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := open(t)
			must(t, err)
			if c, ok := store.(io.Closer); ok {
				defer c.Close()
			}
			threads := 0
			rapid.Check(t, func(t *rapid.T) {
				threads++
				checkContexts(t, store, types, fmt.Sprint("t", threads))
			})
		})
	}
}

// checkContexts plays some turns on a thread, and compares its contexts with the model after each.
func checkContexts(t *rapid.T, store checkpoint.Store, types *agent.Types, thread string) {
	flaky := &storetest.FailingStore{Store: store, At: rapid.MapOfN(rapid.IntRange(1, 40), rapid.Bool(), 0, 6).Draw(t, "faults")}
	want := knowledge{}
	for n, waves := range rapid.SliceOfN(rapid.Custom(drawWaves), 1, 4).Draw(t, "turns") {
		want.after(n+1, waves)
		got, err := finish(flaky, types, thread, n+1, waves)
		if err != nil {
			t.Fatalf("%s, turn %d: %v", thread, n+1, err)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%s, turn %d after %d faults: got %v, want %v", thread, n+1, flaky.Faults, sorted(got), sorted(want))
		}
	}
}

// finish runs a turn to its end, through all crashes.
func finish(store checkpoint.Store, types *agent.Types, thread string, n int, waves [][]write) (knowledge, error) {
	for range 20 {
		a, err := writer(store, types, n, waves)
		if err != nil {
			return nil, err
		}
		h, err := a.Untyped().History(context.Background(), thread, 1)
		if err != nil {
			return nil, err
		}
		var r turn.Reply[agent.State]
		if h.Turn < n {
			r, err = a.Say(context.Background(), thread, "write")
		} else {
			r, err = a.Continue(context.Background(), thread)
		}
		if err == nil {
			return known(r.State)
		}
		if !errors.Is(err, storetest.ErrDisk) {
			return nil, err
		}
	}
	return nil, errors.New("the turn does not end")
}

func sorted(k knowledge) (all []string) {
	for _, ref := range slices.Sorted(maps.Keys(k)) {
		all = append(all, ref+"="+k[ref])
	}
	return all
}
