package memory_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/weftrun/weft/capabilities/memory"
	longterm "github.com/weftrun/weft/checkpoint/memory"
)

// An item without sources is an error and no panic.
func TestRecall_ForeignItemIsAnError(t *testing.T) {
	store := &longterm.Map{}
	e, err := memory.New(memory.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Batch(t.Context(), e.Namespace("ann"), []longterm.Op{{Key: "f/x", Value: json.RawMessage(`{"kind":"fact","text":"she likes tea"}`)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Bootstrap(t.Context(), "ann"); !errors.Is(err, memory.ErrForeign) {
		t.Errorf("got %v", err)
	}
}

// A user whose name is the hash of another name has a namespace of its own.
func TestNamespace_IsUniquePerUser(t *testing.T) {
	e, err := memory.New(memory.Config{Store: &longterm.Map{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, victim := range []string{"", "a\x00b", "ann*", "ann/lee", "ann lee"} {
		ns := e.Namespace(victim)
		if attacker := ns[len(ns)-1]; attacker != victim && slices.Equal(e.Namespace(attacker), ns) {
			t.Errorf("user %q has the namespace of %q", attacker, victim)
		}
	}
}
