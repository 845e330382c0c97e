package work

import (
	"strings"
	"testing"

	"github.com/weftrun/weft/graph"
)

func TestWritesOf_AreWhatATaskAdded(t *testing.T) {
	for _, c := range []struct{ kind, before, after, want string }{
		{"value", `1`, `2`, `2`},
		{"value", `[1]`, `[1,2]`, `[1,2]`},
		{"latest", `["a"]`, `["a","b"]`, `["a","b"]`},
		{"sum", `3`, `5`, `2`},
		{"sum", ``, `5`, `5`},
		{"sum", `0.5`, `0.75`, `0.25`},
		{"sum", `9007199254740993`, `9007199254740995`, `2`},
		{"list", `[1]`, `[1,2,3]`, `[2,3]`},
		{"list", ``, `[1]`, `[1]`},
		{"list", `[1,2]`, `[]`, `[]`},
		{"set", `[1,3]`, `[1,2,3]`, `[2]`},
		{"", `[{"id":"a"},{"id":"b"}]`, `[{"id":"a"},{"id":"b","x":1},{"id":"c"}]`, `[{"id":"b","x":1},{"id":"c"}]`},
		{"map", `{"a":1,"b":2}`, `{"a":1,"b":3,"c":4}`, `{"b":3,"c":4}`},
		{"", `{"a":1}`, `{"a":1,"b":2}`, `{"a":1,"b":2}`},
		{"max", `3`, `5`, `5`},
	} {
		if got := string(written(c.kind, []byte(c.before), []byte(c.after))); got != c.want {
			t.Errorf("a field of kind %q that was %s and is %s: got %s, want %s", c.kind, c.before, c.after, got, c.want)
		}
	}
}

func TestWritesOf_GivesASharedFieldToTheLastTask(t *testing.T) {
	task := func(name string, wrote ...string) ranTask {
		return ranTask{DueTask: graph.DueTask{Node: name}, wrote: wrote}
	}
	tasks := []ranTask{task("a", "log", "own"), task("b", "log"), task("c", "gone")}
	var got []string
	for _, w := range writesOf(map[string]string{"log": "list"}, []byte(`{"log":["x"]}`), []byte(`{"log":["x","a","b"],"own":7}`), tasks) {
		got = append(got, string(w))
	}
	if want := `{"own":7} {"log":["a","b"]} {}`; strings.Join(got, " ") != want {
		t.Errorf("the writes are %v, want %s", got, want)
	}
}
