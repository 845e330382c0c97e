package exprs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/internal/exprs"
)

func TestReads_HoldsNamedMembers(t *testing.T) {
	for text, want := range map[string]exprs.Reads{
		"text":                                          {},
		"${{ 1 + 2 }}":                                  {},
		"${{ state.topic }}":                            {"state": {"topic"}},
		"${{ state['topic'] }}":                         {"state": {"topic"}},
		"${{ state?.topic ?? state.rounds }}":           {"state": {"rounds", "topic"}},
		"${{ state.topic }} ${{ state.rounds }}":        {"state": {"rounds", "topic"}},
		"${{ toJSON(state) + state.topic }}":            {"state": nil},
		"${{ let s = state; s.topic }}":                 {"state": nil},
		"${{ state[state.topic] }}":                     {"state": nil},
		"${{ state.names | filter(# != state.topic) }}": {"state": {"names", "topic"}},
		"${{ result.x }}":                               {"result": {"x"}},
	} {
		v, err := exprs.CompileValue(text, weather)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := v.Reads()
		delete(got, "toJSON") // Reads also has the names of functions
		delete(got, "s")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

func TestReadsAdd_WholeVariableIncludesMembers(t *testing.T) {
	for _, order := range [][]exprs.Reads{
		{{"a": {"x"}}, {"a": nil}, {"a": {"y"}}}, {{"a": nil}, {"a": {"x"}}}, {{"a": {"x"}}, {"a": nil}},
	} {
		all := exprs.Reads{}
		for _, r := range order {
			all.Add(r)
		}
		if diff := cmp.Diff(exprs.Reads{"a": nil}, all); diff != "" {
			t.Errorf("%v:\n%s", order, diff)
		}
	}
}
