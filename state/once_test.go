package state_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/state"
)

func TestOnce_RefusesASecondWriteInAnyStep(t *testing.T) {
	var c state.Once[string]
	first := c
	first.Set("a")
	if err := c.Channel().Fold([]state.Channel{first.Channel()}); err != nil || c.Get() != "a" {
		t.Fatal(c, err)
	}
	again, late := c, c
	again.Set("a")
	var conflict *state.ConflictError
	if err := c.Channel().Fold([]state.Channel{again.Channel()}); !errors.As(err, &conflict) || conflict.First != conflict.Second {
		t.Errorf("got %v, want a *ConflictError of one write", err)
	}
	late.Overwrite("b")
	if err := c.Channel().Fold([]state.Channel{late.Channel()}); err != nil || c.Get() != "b" {
		t.Errorf("got %v (%v), want b: an Overwrite replaces it", c, err)
	}
	var twice state.Once[string]
	view := twice
	view.Set("x")
	view.Set("y")
	if err := twice.Channel().Fold([]state.Channel{view.Channel()}); !errors.As(err, &conflict) {
		t.Errorf("one task that writes twice: got %v", err)
	}
}

func TestOnce_TakesNoDefault(t *testing.T) {
	type S struct {
		Name state.Once[string] `json:"name" weft:"default=\"x\""`
	}
	if _, err := state.SchemaOf[S](); err == nil || !strings.Contains(err.Error(), "its first write would be the second") {
		t.Errorf("got %v", err)
	}
}

func TestStack_LastWriteComesFirst(t *testing.T) {
	s := state.Stack[int]{}
	fold := func(items ...[]int) {
		t.Helper()
		views := make([]state.Stack[int], len(items))
		writes := make([]state.Channel, len(items))
		for i := range items {
			views[i] = s
			views[i].Prepend(items[i]...)
			writes[i] = views[i].Channel()
		}
		if err := s.Channel().Fold(writes); err != nil {
			t.Fatal(err)
		}
	}
	fold([]int{3})
	before := s
	fold([]int{1, 2}, []int{-1, 0})
	if got, _ := json.Marshal(s); string(got) != "[-1,0,1,2,3]" || s.At(0) != -1 || s.Len() != 5 {
		t.Errorf("got %s", got)
	}
	added, ok := s.Channel().(state.Delta).Since(before.Channel())
	if data, _ := json.Marshal(added); !ok || string(data) != "[2,1,0,-1]" {
		t.Errorf("the difference is %s, want what was put in front alone, oldest first", data)
	}
	for i, v := range s.All() {
		if v != i-1 {
			t.Errorf("element %d is %d", i, v)
		}
	}
}

func TestDeepMerge_IsAMergePatch(t *testing.T) {
	for _, c := range []struct{ target, patch, want string }{ // the examples of RFC 7396 that are objects
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		var target, patch map[string]any
		if err := errors.Join(json.Unmarshal([]byte(c.target), &target), json.Unmarshal([]byte(c.patch), &patch)); err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(state.DeepMerge{}.Reduce(target, patch))
		unchanged, _ := json.Marshal(target)
		if string(got) != c.want || string(unchanged) != c.target {
			t.Errorf("%s with %s: got %s, want %s; the target is now %s", c.target, c.patch, got, c.want, unchanged)
		}
	}
}

// A task's writes wait in the store while another of its step asks: what is wrong with them
// stays wrong.
func TestOnce_SecondWriteIsDetectedAfterAStore(t *testing.T) {
	var c state.Once[string]
	view := c
	view.Set("x")
	view.Set("y")
	data, err := json.Marshal(view.Channel().Writes().Value)
	if err != nil {
		t.Fatal(err)
	}
	restored := c
	if err := restored.Channel().RestoreWrites(false, func(into any) error { return json.Unmarshal(data, into) }); err != nil {
		t.Fatal(err)
	}
	var conflict *state.ConflictError
	if err := c.Channel().Fold([]state.Channel{restored.Channel()}); !errors.As(err, &conflict) {
		t.Errorf("got %v with the value %q, want a *ConflictError", err, c.Get())
	}
}

// A patch that contains itself would use up the stack, which nothing can recover from.
func TestDeepMerge_PatchThatContainsItselfPanicsInItsNode(t *testing.T) {
	patch := map[string]any{}
	patch["self"] = patch
	defer func() {
		if v := recover(); v == nil || !strings.Contains(v.(string), "deeper than 10000 levels") {
			t.Errorf("got %v, want a panic that names the depth", v)
		}
	}()
	var c state.Reduced[map[string]any, state.DeepMerge]
	c.Update(patch)
}
