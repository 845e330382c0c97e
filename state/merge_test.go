package state_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/weftrun/weft/state"
)

// TestTasks_TwoOfOneStep checks the result of two writes in one step for each channel.
func TestTasks_TwoOfOneStep(t *testing.T) {
	t.Run("Latest", func(t *testing.T) {
		twoTasks(t, state.LatestOf("old"), func(c *state.Latest[string]) { c.Set("a") },
			func(c *state.Latest[string]) { c.Set("b") }, `"b"`)
	})
	t.Run("List", func(t *testing.T) {
		twoTasks(t, state.ListOf(1), func(c *state.List[int]) { c.Append(3, 2) },
			func(c *state.List[int]) { c.Append(1) }, `[1,3,2,1]`)
	})
	t.Run("List overwritten", func(t *testing.T) {
		twoTasks(t, state.ListOf(1), func(c *state.List[int]) { c.Append(9); c.Overwrite([]int{5}); c.Append(6) },
			func(c *state.List[int]) { c.Append(7) }, `[5,6]`)
	})
	t.Run("Sum", func(t *testing.T) {
		twoTasks(t, state.SumOf(1), func(c *state.Sum[int]) { c.Add(10); c.Add(10) },
			func(c *state.Sum[int]) { c.Add(-5) }, `16`)
	})
	t.Run("Sum overwritten", func(t *testing.T) {
		twoTasks(t, state.SumOf(1), func(c *state.Sum[int]) { c.Add(10) },
			func(c *state.Sum[int]) { c.Overwrite(100); c.Add(1) }, `101`)
	})
	t.Run("Max", func(t *testing.T) {
		twoTasks(t, state.MaxOf(3), func(c *state.Max[int]) { c.Offer(9); c.Offer(4) },
			func(c *state.Max[int]) { c.Offer(5) }, `9`)
	})
	t.Run("Max overwritten", func(t *testing.T) {
		twoTasks(t, state.MaxOf(3), func(c *state.Max[int]) { c.Overwrite(-2); c.Offer(-1) },
			func(c *state.Max[int]) { c.Offer(5) }, `-1`)
	})
	t.Run("Min", func(t *testing.T) {
		twoTasks(t, state.MinOf("m"), func(c *state.Min[string]) { c.Offer("z") },
			func(c *state.Min[string]) { c.Offer("b") }, `"b"`)
	})
	t.Run("Map", func(t *testing.T) {
		twoTasks(t, state.MapOf(map[string]int{"a": 1, "b": 1}),
			func(c *state.Map[string, int]) { c.Put("a", 2); c.Put("new", 2) },
			func(c *state.Map[string, int]) { c.Put("a", 3); c.Delete("b") }, `{"a":3,"new":2}`)
	})
	t.Run("Map deletion of a sibling's key", func(t *testing.T) {
		twoTasks(t, state.MapOf(map[string]int{}), func(c *state.Map[string, int]) { c.Put("a", 2) },
			func(c *state.Map[string, int]) { c.Delete("a") }, `{}`)
	})
	t.Run("Set", func(t *testing.T) {
		twoTasks(t, state.SetOf("a", "b"), func(c *state.Set[string]) { c.Remove("a"); c.Add("z", "c") },
			func(c *state.Set[string]) { c.Remove("z"); c.Add("a") }, `["a","b","c"]`)
	})
	t.Run("Reduced", func(t *testing.T) {
		twoTasks(t, state.ReducedOf[[]int, digits]([]int{0}),
			func(c *state.Reduced[[]int, digits]) { c.Update([]int{2}); c.Update([]int{1}) },
			func(c *state.Reduced[[]int, digits]) { c.Update([]int{3}) }, `[0,2,1,3]`)
	})
	t.Run("Topic", func(t *testing.T) {
		twoTasks(t, state.TopicOf(1), func(c *state.Topic[int]) { c.Publish(3, 2) },
			func(c *state.Topic[int]) { c.Publish(1) }, `[3,2,1]`)
	})
}

// twoTasks folds the input, then the writes of two tasks in one step.
func twoTasks[C any, P pointer[C]](t *testing.T, input C, one, two func(P), want string) {
	t.Helper()
	var run C
	if err := P(&run).Channel().Fold([]state.Channel{P(&input).Channel()}); P(&input).Channel().Wrote() && err != nil {
		t.Fatal(err)
	}
	a, b := run, run
	one(&a)
	two(&b)
	if err := P(&run).Channel().Fold([]state.Channel{P(&a).Channel(), P(&b).Channel()}); err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(P(&run)); string(got) != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestConflict_NamesTheWrites(t *testing.T) {
	a, b := state.Of(1), state.Of(2)
	var run state.Value[int]
	var conflict *state.ConflictError
	err := run.Channel().Fold([]state.Channel{a.Channel(), b.Channel()})
	if !errors.As(err, &conflict) || conflict.First != 0 || conflict.Second != 1 {
		t.Errorf("got %v, want a conflict of writes 0 and 1", err)
	}
	var x, y, z, sum state.Sum[int]
	x.Add(1)
	y.Overwrite(2)
	z.Overwrite(3)
	err = sum.Channel().Fold([]state.Channel{y.Channel(), x.Channel(), z.Channel()})
	if !errors.As(err, &conflict) || conflict.First != 0 || conflict.Second != 2 || sum.Get() != 0 {
		t.Errorf("got %v and %d, want a conflict of writes 0 and 2, and nothing merged", err, sum.Get())
	}
}

func TestValue_ExpiredIsGone(t *testing.T) {
	var word state.Ephemeral[string]
	var topic state.Topic[string]
	oneWord, oneMessage := state.EphemeralOf("x"), state.TopicOf("x")
	for c, write := range map[state.Expirer]state.Channel{
		word.Channel().(state.Expirer): oneWord.Channel(), topic.Channel().(state.Expirer): oneMessage.Channel(),
	} {
		if err := c.Fold([]state.Channel{write}); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Stored(); !ok {
			t.Errorf("%T: a write must last until the next step", c)
		}
		c.Expire()
		if _, ok := c.Stored(); ok || c.Wrote() {
			t.Errorf("%T: something is left after Expire", c)
		}
	}
	if _, ok := word.Lookup(); ok || topic.Len() != 0 {
		t.Error("an expired value is still read")
	}
}

// TestCollections_WriteWhileReading: an iteration shows what was there when it began, so a
// task may write to what it ranges over.
func TestCollections_WriteWhileReading(t *testing.T) {
	list, topic := state.ListOf(1, 2), state.TopicOf(1, 2)
	m, set := state.MapOf(map[int]int{1: 1, 2: 2}), state.SetOf(1, 2)
	for _, v := range list.All() {
		list.Append(v + 10)
	}
	for _, v := range topic.All() {
		topic.Publish(v + 10)
	}
	for k, v := range m.All() {
		m.Put(k+10, v)
	}
	for v := range set.All() {
		set.Add(v + 10)
	}
	if list.Len() != 4 || topic.Len() != 4 || m.Len() != 4 || set.Len() != 4 {
		t.Errorf("got %d, %d, %d and %d elements, want 4 each", list.Len(), topic.Len(), m.Len(), set.Len())
	}
}

func TestCollections_Reads(t *testing.T) {
	m := state.MapOf(map[string]int{"b": 2, "a": 1})
	m.Delete("none")
	if v, ok := m.Lookup("none"); v != 0 || ok || m.Get("a") != 1 || !m.Has("b") || m.Len() != 2 {
		t.Errorf("map: got %d, %t for an absent key; %d; %t; %d", v, ok, m.Get("a"), m.Has("b"), m.Len())
	}
	keys := ""
	for k := range m.Keys() {
		keys += k
	}
	list := state.ListOf(1, 2, 3)
	if last, ok := list.Last(); keys != "ab" || last != 3 || !ok || list.At(1) != 2 {
		t.Errorf("got keys %q, last %d, at(1) %d", keys, last, list.At(1))
	}
	set := state.SetOf(3, 1, 3)
	if s := set.Slice(); len(s) != 2 || s[0] != 1 || !set.Has(3) {
		t.Errorf("set: got %v", s)
	}
}

func TestJSON_IsAWrite(t *testing.T) {
	for _, tt := range []struct {
		field          state.Channeler
		in, want, typo string
	}{
		{new(state.Value[string]), `"x"`, `"x"`, `1`},
		{new(state.List[int]), `[2,1]`, `[2,1]`, `["x"]`},
		{new(state.Sum[int]), `4`, `4`, `"x"`},
		{new(state.Max[int]), `4`, `4`, `"x"`},
		{new(state.Min[string]), `"b"`, `"b"`, `1`},
		{new(state.Map[int, string]), `{"10":"a","9":"b"}`, `{"10":"a","9":"b"}`, `{"x":"a"}`},
		{new(state.Set[int]), `[3,1,3]`, `[1,3]`, `[null,"x"]`},
		{new(state.Topic[int]), `[3,1]`, `[3,1]`, `{}`},
		{new(state.Reduced[[]int, digits]), `[1]`, `[1]`, `"x"`},
		{new(state.Untracked[int]), `1`, `null`, `"x"`},
	} {
		c := tt.field.Channel()
		if err := c.UnmarshalJSON([]byte(tt.typo)); err == nil || c.Wrote() {
			t.Errorf("%T from %s: got error %v, wrote %t", tt.field, tt.typo, err, c.Wrote())
		}
		err := c.UnmarshalJSON([]byte(tt.in))
		got, _ := c.MarshalJSON()
		if err != nil || string(got) != tt.want || !c.Wrote() {
			t.Errorf("%T from %s: got %s, %v, wrote %t, want %s", tt.field, tt.in, got, err, c.Wrote(), tt.want)
		}
	}
}

func TestMaxAndMin_KeepTheirBase(t *testing.T) {
	run, in := state.Max[int]{}, state.MaxOf(5)
	if _, ok := run.Lookup(); ok || run.Get() != 0 {
		t.Error("a Max that was never offered anything is unset")
	}
	if err := run.Channel().Fold([]state.Channel{in.Channel()}); err != nil {
		t.Fatal(err)
	}
	view := run
	view.Offer(3)
	if view.Get() != 5 {
		t.Errorf("got %d, want 5: the committed value is still the better one", view.Get())
	}
}
