package verbs_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// bars returns the names of the bars of tasks in a trace.
func (p place) bars(name string) (bars []string) {
	p.Helper()
	data, err := os.ReadFile(p.path(name))
	if err != nil {
		p.Fatal(err)
	}
	var events []struct{ Name, Cat, Ph string }
	if err := json.Unmarshal(data, &events); err != nil {
		p.Fatalf("%v: %s", err, data)
	}
	for _, e := range events {
		if e.Ph == "X" && e.Cat == "task" {
			bars = append(bars, e.Name)
		}
	}
	return bars
}

func TestTrace_OfRunAndResume(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("trace.yaml", `version: 1
state: {n: {type: int, reducer: add}, ok: bool}
nodes:
  one: {set: {n: 1}, next: ask}
  ask: {approval: {title: "Go?"}, output: {ok: "${{ result.approved }}"}, next: last}
  last: {set: {n: 1}, next: END}
`)
	p.must(4, "run", "trace.yaml", "--thread", "t", "--trace", "first.json")
	if got := strings.Join(p.bars("first.json"), " "); got != "one ask" {
		t.Errorf("the tasks of the run are %s, want one and ask", got)
	}
	if err := os.WriteFile(p.path("second.json"), []byte(strings.Repeat("x", 1<<16)), 0o600); err != nil {
		t.Fatal(err)
	}
	p.must(0, "resume", "--thread", "t", "--answer", "yes", "--trace", "second.json")
	if got := strings.Join(p.bars("second.json"), " "); got != "ask last" {
		t.Errorf("the tasks of the second run are %s, want ask and last", got)
	}
	if e := p.must(2, "run", "trace.yaml", "--thread", "u", "--trace", "nothing/there.json"); !strings.Contains(e.stderr, "--trace: open ") {
		t.Errorf("got %s", e.stderr)
	}
	if e := p.must(2, "resume", "--thread", "u"); !strings.Contains(e.stderr, "u") {
		t.Errorf("the thread exists although nothing could run: %s", e.stderr)
	}
}
