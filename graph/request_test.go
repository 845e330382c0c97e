package graph

import "testing"

func TestRequest_IsPrintedWithoutItsValues(t *testing.T) {
	for want, q := range map[string]request{
		"invoke":                   {op: opInvoke, json: []byte(`{"secret":1}`)},
		"resume, 2 answers":        {op: opResume, answers: Answer("a", "secret").Answer("b", 1)},
		"edit, 1 commits of edits": {op: opEdit, edits: [][]edit{{{as: "a"}}}},
		"replay up to step 3":      {op: opResume, replay: &replayStep{until: 3}},
	} {
		if got := q.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
