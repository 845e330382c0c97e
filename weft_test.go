package weft

import (
	"context"
	"errors"
	"testing"

	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
	"github.com/weftrun/weft/state"
)

func TestWhatAProgramAddsStandsBesideWhatIsReady(t *testing.T) {
	kind := workflow.Kind{New: func() workflow.Runner { return nil }, Final: true}
	c := Config{
		Name:     "mine",
		Nodes:    map[string]workflow.Kind{"shout": kind},
		Kinds:    map[string]workflow.Kind{"approval": kind, "own": kind},
		Types:    map[string]state.Type{"Decision": workflow.TypeOf[struct{ OK bool }]()},
		Reducers: map[string]workflow.Reducer{"deep": workflow.ReducerOf[map[string]any, state.DeepMerge]()},
		Stores: map[string]Opener{
			"test": func(context.Context, string) (checkpoint.Store, error) { return new(checkpoint.Memory), nil },
		},
	}.commandLine()
	if want := len(nodes.Kinds()) + 2; len(c.Kinds) != want {
		t.Errorf("%d kinds, want %d", len(c.Kinds), want)
	}
	for _, name := range []string{"go:shout", "approval", "own"} {
		if !c.Kinds[name].Final {
			t.Errorf("kind %q is not the program's", name)
		}
	}
	if _, ok := c.Reducers["go:deep"]; !ok || c.Types["go:Decision"].String() != "object{OK: bool}" {
		t.Errorf("the reducers are %v, the types %v", c.Reducers, c.Types)
	}
	if c.Name != "mine" || c.Stores["test"] == nil {
		t.Errorf("name %q, %d stores", c.Name, len(c.Stores))
	}
}

func TestToolsThatCannotBeASetAreAnError(t *testing.T) {
	one := tool.Func(tool.Info{Name: "one"}, func(context.Context, struct{}) (string, error) { return "", nil })
	if _, err := (Config{Tools: []tool.Tool{one, one}}).program(); !errors.Is(err, tool.ErrTool) {
		t.Errorf("got %v, want an ErrTool", err)
	}
}
