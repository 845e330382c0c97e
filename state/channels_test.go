package state_test

// The rows of LangGraph's tests that are about channels, in Weft's terms. The numbers are
// those of the specification that Weft was built to.

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/weftrun/weft/state"
)

// stepped folds the writes of tasks in one step. A step without writes calls no Fold.
func stepped[C any, P pointer[C]](t *testing.T, c P, tasks ...func(P)) {
	t.Helper()
	var writes []state.Channel
	for _, write := range tasks {
		view := *c
		write(&view)
		if w := P(&view).Channel(); w.Wrote() {
			writes = append(writes, w)
		}
	}
	if e, ok := c.Channel().(state.Expirer); ok && len(writes) == 0 {
		e.Expire()
	}
	if len(writes) == 0 {
		return
	}
	if err := c.Channel().Fold(writes); err != nil {
		t.Fatal(err)
	}
}

// restored returns c as it comes back from a store; nothing is stored of what has no
// stored form.
func restored[C any, P pointer[C]](t *testing.T, c P) P {
	t.Helper()
	back := P(new(C))
	stored, ok := c.Channel().Stored()
	if !ok {
		return back
	}
	data, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	if err := back.Channel().Restore(func(into any) error { return json.Unmarshal(data, into) }); err != nil {
		t.Fatal(err)
	}
	return back
}

// Lookup distinguishes an unset Value from a zero one. Get returns the zero value for both.
func TestValue_UnsetIsDistinctAndTwoWritesConflict(t *testing.T) {
	var v state.Value[int]
	if n, ok := v.Lookup(); n != 0 || ok || v.Get() != 0 {
		t.Errorf("an unset value is %d, %t", n, ok)
	}
	set := func(n int) func(*state.Value[int]) { return func(v *state.Value[int]) { v.Set(n) } }
	stepped(t, &v, set(0))
	if n, ok := v.Lookup(); n != 0 || !ok {
		t.Errorf("a zero that was set is %d, %t", n, ok)
	}
	stepped(t, &v, set(3))
	stepped(t, &v) // no writes
	if n, ok := v.Lookup(); n != 3 || !ok {
		t.Errorf("after a silent step the value is %d, %t; want 3", n, ok)
	}
	a, b := v, v
	a.Set(4)
	b.Set(4)
	var conflict *state.ConflictError
	if err := v.Channel().Fold([]state.Channel{a.Channel(), b.Channel()}); !errors.As(err, &conflict) || v.Get() != 3 {
		t.Errorf("two writes give %v and the value %d, want a conflict and 3", err, v.Get())
	}
}

// A Topic lives for the next step; what accumulates is a List. Both come back from a store.
func TestTopic_LastsOneStepAndAListAccumulates(t *testing.T) {
	var topic state.Topic[string]
	var list state.List[string]
	publish := func(words ...string) func(*state.Topic[string]) {
		return func(c *state.Topic[string]) { c.Publish(words...) }
	}
	add := func(words ...string) func(*state.List[string]) {
		return func(c *state.List[string]) { c.Append(words...) }
	}
	for i, c := range []struct {
		one, two []string // what two tasks write
		topic    []string
		list     []string
	}{
		{[]string{"a", "b"}, []string{"c"}, []string{"a", "b", "c"}, []string{"a", "b", "c"}},
		{nil, []string{"d"}, []string{"d"}, []string{"a", "b", "c", "d"}},
		{nil, nil, []string{}, []string{"a", "b", "c", "d"}}, // a silent step empties the topic
		{nil, nil, []string{}, []string{"a", "b", "c", "d"}},
	} {
		stepped(t, &topic, publish(c.one...), publish(c.two...))
		stepped(t, &list, add(c.one...), add(c.two...))
		for _, topic := range []*state.Topic[string]{&topic, restored(t, &topic)} {
			if got := topic.Slice(); !slices.Equal(got, c.topic) {
				t.Errorf("step %d: the topic holds %v, want %v", i+1, got, c.topic)
			}
		}
		for _, list := range []*state.List[string]{&list, restored(t, &list)} {
			if got := list.Slice(); !slices.Equal(got, c.list) {
				t.Errorf("step %d: the list holds %v, want %v", i+1, got, c.list)
			}
		}
	}
}

func TestSum_StartsAtZeroAndIsStored(t *testing.T) {
	var sum state.Sum[int]
	if sum.Get() != 0 {
		t.Errorf("an unwritten sum is %d", sum.Get())
	}
	add := func(n int) func(*state.Sum[int]) { return func(s *state.Sum[int]) { s.Add(n) } }
	stepped(t, &sum, add(1), add(2))
	stepped(t, &sum)
	stepped(t, &sum, add(4))
	if sum.Get() != 7 {
		t.Errorf("the sum is %d, want 7", sum.Get())
	}
	back := restored(t, &sum)
	if stepped(t, back, add(3)); back.Get() != 10 || sum.Get() != 7 {
		t.Errorf("the restored sum goes on to %d, want 10, and the first one stays %d, want 7", back.Get(), sum.Get())
	}
}

// An Untracked, unlike an Ephemeral, keeps its value over steps without writes.
func TestUntracked_IsNeverStored(t *testing.T) {
	var u state.Untracked[string]
	stepped(t, &u, func(u *state.Untracked[string]) { u.Set("here") })
	stepped(t, &u)
	if v, ok := u.Lookup(); v != "here" || !ok {
		t.Errorf("after a silent step it is %q, %t; want here", v, ok)
	}
	if v, ok := u.Channel().Stored(); ok {
		t.Errorf("it would be stored as %v", v)
	}
	if v, ok := restored(t, &u).Lookup(); v != "" || ok {
		t.Errorf("it comes back from a store as %q, %t; want nothing", v, ok)
	}
}

// An Overwrite is a method and a flag beside the stored write, so no value is ever taken
// for one: LangGraph's wire forms are data like any other.
func TestValue_ThatLooksLikeAnOverwriteIsData(t *testing.T) {
	forms := []string{`{"__overwrite__":["x"]}`, `{"value":["x"],"type":"__overwrite__"}`}
	var list state.List[json.RawMessage]
	for _, f := range append(forms, `{"__overwrite__":1,"more":2}`) {
		stepped(t, &list, func(l *state.List[json.RawMessage]) { l.Append(json.RawMessage(f)) })
		if err := new(state.List[string]).UnmarshalJSON([]byte(f)); err == nil {
			t.Errorf("an input of %s for a list of texts is taken", f)
		}
	}
	if list.Len() != 3 || string(list.At(0)) != forms[0] {
		t.Errorf("the list holds %s, want each value as it was appended", list.Slice())
	}
	over := list
	over.Overwrite([]json.RawMessage{json.RawMessage(`1`)})
	w := over.Channel().Writes()
	data, err := json.Marshal(w.Value)
	if err != nil || !w.Overwrite || string(data) != `[1]` {
		t.Errorf("an Overwrite is stored as %s with the flag %t, %v", data, w.Overwrite, err)
	}
	back := list
	if err := back.Channel().RestoreWrites(w.Overwrite, func(into any) error { return json.Unmarshal(data, into) }); err != nil {
		t.Fatal(err)
	}
	if err := list.Channel().Fold([]state.Channel{back.Channel()}); err != nil || list.Len() != 1 {
		t.Errorf("the stored Overwrite makes %s, %v; want [1]", list.Slice(), err)
	}
}
