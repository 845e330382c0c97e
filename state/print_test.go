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

// A channel prints what its field prints: of an Untracked, nothing.
func TestChannels_PrintTheirValues(t *testing.T) {
	value, latest, list, sum := state.Of("a"), state.LatestOf("b"), state.ListOf(1, 2), state.SumOf(3)
	most, once, topic, set := state.MaxOf(4), state.OnceOf("c"), state.TopicOf(6), state.SetOf("e", "d")
	entries, stack, secret := state.MapOf(map[string]int{"k": 5}), state.StackOf(7, 8), state.UntrackedOf("secret")
	merged := state.ReducedOf[map[string]any, state.DeepMerge](map[string]any{"m": 1})
	for want, c := range map[string]state.Channeler{
		`"a"`: &value, `"b"`: &latest, "[1,2]": &list, "3": &sum, "4": &most, `"c"`: &once, "[6]": &topic,
		`["d","e"]`: &set, `{"k":5}`: &entries, "[7,8]": &stack, "null": &secret, `{"m":1}`: &merged,
	} {
		if got := fmt.Sprint(c.Channel()); got != want {
			t.Errorf("%T prints %s, want %s", c, got, want)
		}
	}
}
