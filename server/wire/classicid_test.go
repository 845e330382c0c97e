package wire_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/wire"
)

func TestClassic_TokensAreEventsOfAModel(t *testing.T) {
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

// A reader may go on after any id: it gets exactly the later events.
func TestClassic_AfterAnIDComeTheLaterEvents(t *testing.T) {
	log := record(t, streamGraph(t, &checkpoint.Memory{}), "ask", graph.Sync)
	read := func(o wire.ClassicOptions) (all []wire.ServerEvent) {
		o.Run = "r1"
		c := wire.NewClassic(o)
		for _, e := range log {
			events, err := c.Project(e)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, events...)
		}
		return all
	}
	for _, modes := range [][]string{{wire.ModeValues}, {wire.ModeUpdates, wire.ModeTasks}, {wire.ModeValues, wire.ModeMessages, wire.ModeDebug}, {wire.ModeEvents, wire.ModeMessagesTuple}} {
		all := read(wire.ClassicOptions{Modes: modes, After: -1})
		for i, ev := range all {
			switch only := len(modes) == 1 && modes[0] == wire.ModeValues; {
			case only && ev.ID != uint64(i):
				t.Errorf("modes %v: event %d has the id %d, want %[2]d", modes, i, ev.ID)
			case !only && ev.ID < wire.WideIDs:
				t.Errorf("modes %v: event %d has the id %d, want at least %d", modes, i, ev.ID, uint64(wire.WideIDs))
			}
			if rest := read(wire.ClassicOptions{Modes: modes, After: int64(ev.ID)}); !reflect.DeepEqual(rest, append([]wire.ServerEvent(nil), all[i+1:]...)) {
				t.Errorf("modes %v after %d: got %v, want %v", modes, ev.ID, rest, all[i+1:])
			}
		}
	}
}
