package checkpoint_test

import (
	"errors"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

func TestRestore_ChangedTypeIsNotDamage(t *testing.T) {
	type before struct {
		A state.Value[string] `json:"a"`
	}
	type after struct {
		A state.Value[int] `json:"a"`
	}
	was, err := state.SchemaOf[before]()
	if err != nil {
		t.Fatal(err)
	}
	is, err := state.SchemaOf[after]()
	if err != nil {
		t.Fatal(err)
	}
	var store checkpoint.Memory
	key := checkpoint.Key{Thread: "t"}
	c, err := checkpoint.Open(t.Context(), &store, key, was)
	if err != nil {
		t.Fatal(err)
	}
	v := was.Blank()
	v.State.(*before).A.Set("text")
	if err := c.Commit(t.Context(), "1", &checkpoint.Record{}, v, []bool{true}); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Open(t.Context(), &store, key, is); !errors.Is(err, checkpoint.ErrSchema) || errors.Is(err, checkpoint.ErrCorrupt) {
		t.Errorf("got %v, want %v and no damage", err, checkpoint.ErrSchema)
	}
	if c, err := checkpoint.Open(t.Context(), &store, key, was); err != nil || c.State.State.(*before).A.Get() != "text" {
		t.Errorf("got %v; the stored value must be as it was", err)
	}
}
