package state_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/state"
)

// A write after a write, folded as one, comes to what the two come to one after the other.
func TestThen_IsOneWriteAfterTheOther(t *testing.T) {
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				base := s.fresh()
				fold(t, base, written(t, s, base))
				step := s.copy(base)
				first := written(t, s, base)
				fold(t, step, first)
				second := written(t, s, step)
				together, before := s.copy(first), text(t, second)
				if second.Wrote() {
					unwrapped(together).(state.Sequel).Then(unwrapped(second))
				}
				if after := text(t, second); after != before {
					t.Fatalf("Then changed what it was given from %s to %s", before, after)
				}
				want := s.copy(step)
				fold(t, want, second)
				if strings.HasSuffix(strings.ToLower(s.name), "topic") { // of two steps only the last one's items stay
					items := append(array(t, first), array(t, second)[len(array(t, step)):]...)
					if got := array(t, together); !slices.Equal(got, items) {
						t.Fatalf("two writes as one come to %s, want %s", got, items)
					}
					return
				}
				fold(t, base, together)
				if got, want := text(t, base), text(t, want); got != want && !near(got, want) {
					t.Fatalf("two writes as one come to %s, one after the other to %s", got, want)
				}
			})
		})
	}
}

// written returns a copy of c with some writes of a holder.
func written(t *rapid.T, s subject, c state.Channel) state.Channel {
	w := s.copy(c)
	for range rapid.IntRange(0, 3).Draw(t, "writes") {
		if s.over != nil && rapid.IntRange(0, 3).Draw(t, "overwrites") == 0 {
			s.over(t, w)
		} else {
			s.write(t, w)
		}
	}
	return w
}

func fold(t *rapid.T, c, w state.Channel) {
	if w.Wrote() {
		if err := c.Fold([]state.Channel{w}); err != nil {
			t.Fatal(err)
		}
	}
}

func text(t *rapid.T, c state.Channel) string {
	data, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// array returns the elements of a channel that holds many.
func array(t *rapid.T, c state.Channel) (all []string) {
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(text(t, c)), &items); err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		all = append(all, string(item))
	}
	return all
}

// near reports whether two numbers differ by rounding alone.
func near(a, b string) bool {
	var x, y float64
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && math.Abs(x-y) < 1e-9
}
