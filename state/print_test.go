package state_test

import (
	"fmt"
	"testing"

	"github.com/weftrun/weft/state"
)

func TestState_PrintsItsValues(t *testing.T) {
	s := struct {
		A state.Value[string]
		B state.List[int]
		C state.Sum[int]
		D state.Max[int]
		E state.Map[string, int]
		F state.Set[string]
		G state.Topic[int]
		H state.Untracked[chan int]
	}{
		A: state.Of("x"), B: state.ListOf(1, 2), C: state.SumOf(3), D: state.MaxOf(4),
		E: state.MapOf(map[string]int{"k": 5}), F: state.SetOf("b", "a"), G: state.TopicOf(6),
		H: state.UntrackedOf(make(chan int)),
	}
	if got, want := fmt.Sprint(s), `{"x" [1,2] 3 4 {"k":5} ["a","b"] [6] null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
