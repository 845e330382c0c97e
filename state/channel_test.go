package state_test

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/state"
)

// check runs a law on every channel.
func check(t *testing.T, law func(*rapid.T, subject)) {
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { law(t, s) })
		})
	}
}

func pick(t *rapid.T, all []version) version { return rapid.SampledFrom(all).Draw(t, "version") }

func TestWrite_SilenceIsNone(t *testing.T) {
	check(t, func(t *rapid.T, s subject) {
		for _, v := range s.history(t) {
			if s.copy(v.Channel).Wrote() {
				t.Fatalf("Wrote of a copy of a committed %s is true", s.name)
			}
		}
	})
}

func TestMerge_ChangesNothingThatAnotherTaskHolds(t *testing.T) {
	check(t, func(t *rapid.T, s subject) {
		for i, v := range s.history(t) {
			if got := encode(t, v.Channel); got != v.bytes {
				t.Fatalf("version %d changed under its holder: got %s, want %s", i, got, v.bytes)
			}
		}
	})
}

// sameStep is what a ContextData notes of writes that met in one step.
var sameStep = regexp.MustCompile(`,"replaced":\[[^]]*\]|"_meta":\{"replaced":\[[^]]*\]\},?`)

func TestWrites_AreAppliedInTheOrderGiven(t *testing.T) {
	check(t, func(t *rapid.T, s subject) {
		c := pick(t, s.history(t))
		together, apart := s.copy(c.Channel), s.copy(c.Channel)
		writes := s.views(t, c.Channel)
		if len(writes) == 0 || s.latest && len(writes) > 1 || overwrites(writes) > 0 {
			return
		}
		mustFold(t, together, writes...)
		for _, w := range writes {
			mustFold(t, apart, w)
		}
		if got, want := sameStep.ReplaceAllString(encode(t, together), ""), sameStep.ReplaceAllString(encode(t, apart), ""); got != want {
			t.Fatalf("one Fold of all writes: got %s, want %s as from one Fold each", got, want)
		}
	})
}

func TestOverwrite_WinsItsStep(t *testing.T) {
	check(t, func(t *rapid.T, s subject) {
		if s.over == nil {
			return
		}
		c := pick(t, s.history(t))
		writes := s.views(t, c.Channel)
		got := s.copy(c.Channel)
		if overwrites(writes) > 1 {
			var conflict *state.ConflictError
			if err := got.Fold(writes); !errors.As(err, &conflict) || !twoOverwrites(writes, conflict) {
				t.Fatalf("Fold of two Overwrites: got %v, want a *ConflictError that names them", err)
			}
			return
		}
		for _, w := range writes {
			if w.Writes().Overwrite {
				mustFold(t, got, writes...)
				if got, want := encode(t, got), encode(t, w); got != want {
					t.Fatalf("after the step: got %s, want what the overwriting task saw: %s", got, want)
				}
			}
		}
	})
}

func overwrites(writes []state.Channel) (n int) {
	for _, w := range writes {
		if w.Writes().Overwrite {
			n++
		}
	}
	return n
}

func twoOverwrites(writes []state.Channel, e *state.ConflictError) bool {
	return e.First < e.Second && writes[e.First].Writes().Overwrite && writes[e.Second].Writes().Overwrite
}

func mustFold(t *rapid.T, c state.Channel, writes ...state.Channel) {
	if err := c.Fold(writes); err != nil {
		t.Fatalf("Fold: %v", err)
	}
}

func TestValue_TwoWritesOfAStepConflict(t *testing.T) {
	check(t, func(t *rapid.T, s subject) {
		a, b := s.fresh(), s.fresh()
		s.write(t, a)
		s.write(t, b)
		err := s.fresh().Fold([]state.Channel{a, b})
		var conflict *state.ConflictError
		if errors.As(err, &conflict) != s.single {
			t.Fatalf("two writes in one step: got error %v, want a conflict: %t", err, s.single)
		}
	})
}

func TestTask_ReadsItsOwnWrites(t *testing.T) {
	check(t, func(t *rapid.T, s subject) {
		c := pick(t, s.history(t))
		w := s.copy(c.Channel)
		s.op(t, w)
		if !w.Wrote() {
			return
		}
		seen := encode(t, w)
		got := s.copy(c.Channel)
		mustFold(t, got, w)
		want := encode(t, got)
		if strings.HasSuffix(strings.ToLower(s.name), "topic") { // what was delivered stays in view
			want = strings.Replace(strings.TrimSuffix(c.bytes, "]")+","+want[1:], "[,", "[", 1)
		}
		if seen != want {
			t.Fatalf("the task saw %s, and its write made %s", seen, want)
		}
	})
}

func TestValue_StoredRoundTrip(t *testing.T) {
	check(t, func(t *rapid.T, s subject) {
		c := pick(t, s.history(t))
		back := s.fresh()
		stored, ok := c.Stored()
		if ok && !s.secret {
			if err := back.Restore(decoder(encode(t, stored))); err != nil {
				t.Fatal(err)
			}
		}
		want := c.bytes
		if s.secret {
			want = "null"
		}
		if got := encode(t, back); got != want || back.Wrote() {
			t.Fatalf("restored %s (wrote: %t), want %s", got, back.Wrote(), want)
		}
	})
}

func TestWrites_StoredRoundTrip(t *testing.T) {
	check(t, func(t *rapid.T, s subject) {
		c := pick(t, s.history(t))
		writes := s.views(t, c.Channel)
		if len(writes) == 0 || s.secret {
			return
		}
		w := writes[0]
		back := s.copy(c.Channel)
		if rapid.Bool().Draw(t, "dirty") { // what was there is replaced
			s.op(t, back)
		}
		stored := w.Writes()
		if err := back.RestoreWrites(stored.Overwrite, decoder(encode(t, stored.Value))); err != nil {
			t.Fatal(err)
		}
		if got, want := encode(t, back), encode(t, w); got != want || !back.Wrote() {
			t.Fatalf("the holder of restored writes sees %s (wrote: %t), want %s", got, back.Wrote(), want)
		}
		one, two := s.fresh(), s.fresh()
		mustFold(t, one, w)
		mustFold(t, two, back)
		if got, want := encode(t, two), encode(t, one); got != want {
			t.Fatalf("restored writes made %s, want %s", got, want)
		}
	})
}

func TestDifference_LeadsFromOneVersionToAnother(t *testing.T) {
	check(t, func(t *rapid.T, s subject) {
		all := s.history(t)
		then, now := pick(t, all), pick(t, all)
		d, ok := unwrapped(now.Channel).(state.Delta)
		if !ok {
			return
		}
		diff, ok := d.Since(unwrapped(then.Channel))
		if !ok {
			return
		}
		back := unwrapped(s.fresh()).(state.Delta)
		if stored, ok := then.Stored(); ok {
			if err := back.Restore(decoder(encode(t, stored))); err != nil {
				t.Fatal(err)
			}
		}
		if err := back.Apply(decoder(encode(t, diff))); err != nil {
			t.Fatal(err)
		}
		if got := encode(t, back); got != now.bytes {
			t.Fatalf("%s and the difference %s gave %s, want %s", then.bytes, encode(t, diff), got, now.bytes)
		}
	})
}

// TestForks_AreIndependent lets two runs grow one past at the same time; it is
// meant for the race detector.
func TestForks_AreIndependent(t *testing.T) {
	check(t, func(t *rapid.T, s subject) {
		past := pick(t, s.history(t))
		writes := s.views(t, past.Channel)
		if len(writes) == 0 || overwrites(writes) > 1 {
			return
		}
		var wg sync.WaitGroup
		got := make([]string, 2)
		for i := range got {
			run := s.copy(past.Channel)
			wg.Go(func() {
				for range 3 {
					_ = run.Fold(writes)
				}
				data, _ := run.MarshalJSON()
				got[i] = string(data)
			})
		}
		wg.Wait()
		if got[0] != got[1] || encode(t, past.Channel) != past.bytes {
			t.Fatalf("the forks of %s came to %s and %s; the past is now %s",
				past.bytes, got[0], got[1], encode(t, past.Channel))
		}
	})
}
