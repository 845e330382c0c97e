package wire_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
)

func TestClassic_EventsOfModels(t *testing.T) {
	log := record(t, streamGraph(t, &checkpoint.Memory{}), "done", graph.Sync)
	c := wire.NewClassic(wire.ClassicOptions{Run: "r1", Modes: []string{wire.ModeEvents}, After: -1})
	var models []string
	for _, e := range log {
		events, err := c.Project(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			var d struct {
				Event string
				Data  struct{ Output struct{ Content string } }
			}
			if err := json.Unmarshal(ev.Data, &d); err != nil {
				t.Fatal(err)
			}
			if e.Kind == wire.KindToken {
				models = append(models, d.Event+" "+d.Data.Output.Content)
			}
		}
	}
	compare(t, models, []string{"on_chat_model_start ", "on_chat_model_stream ", "on_chat_model_stream ", "on_chat_model_end Yes"})
}

// Each stream can be cut anywhere: what comes after an id is the rest.
func TestClassic_EveryRestIsTheSame(t *testing.T) {
	log := record(t, streamGraph(t, &checkpoint.Memory{}), "ask", graph.Sync)
	ids := func(o wire.ClassicOptions) (all []uint64) {
		o.Run = "r1"
		c := wire.NewClassic(o)
		for _, e := range log {
			events, err := c.Project(e)
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range events {
				all = append(all, ev.ID)
			}
		}
		return all
	}
	for _, modes := range [][]string{{"values"}, {"updates", "tasks"}, {"values", "messages", "debug"}, {"events", "messages-tuple"}} {
		all := ids(wire.ClassicOptions{Modes: modes, After: -1})
		for i, id := range all {
			if wide := len(modes) > 1 || modes[0] != "values"; !wide && id != uint64(i) || wide && id < wire.WideIDs {
				t.Errorf("modes %v: event %d has the id %d", modes, i, id)
			}
			if rest := ids(wire.ClassicOptions{Modes: modes, After: int64(id)}); !slices.Equal(rest, all[i+1:]) {
				t.Errorf("modes %v after %d: got %v, want %v", modes, id, rest, all[i+1:])
			}
		}
	}
}
