package verbs_test

import (
	"strings"
	"testing"
)

// Requirement: Subgraphs
func TestFork_AtACheckpointOfASubgraph(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("child.yaml", `version: 1
name: child
state: {n: {type: int, default: 0}, text: string}
output: [text]
nodes:
  one: {set: {n: "${{ state.n + 1 }}"}, next: two}
  two: {set: {text: "${{ 'n is ' + string(state.n) }}"}, next: END}
`)
	p.write("w.yaml", `version: 1
name: w
state: {text: string}
output: [text]
nodes:
  a: {workflow: ./child.yaml, output: {text: "${{ result.text }}"}, next: END}
`)
	p.must(0, "run", "w.yaml", "--thread", "t", "--durability", "sync")
	e := p.must(2, "history", "t", "--namespace", "none")
	_, ns, ok := strings.Cut(e.stderr, "its subgraphs are ")
	if ns = strings.TrimSpace(ns); !ok || !strings.HasPrefix(ns, "a:") {
		t.Fatalf("an unknown namespace: %s", e.stderr)
	}
	if got := p.must(0, "history", "t", "--namespace", ns).stdout; strings.Count(got, "\n") != 4 || !strings.Contains(got, "one") {
		t.Errorf("the history of the subgraph is\n%s\nwant its three checkpoints", got)
	}
	e = p.must(0, "fork", "t", "--at", "2", "--namespace", ns)
	expect(t, "the new head", e.stdout, "3\n")
	if !strings.Contains(e.stderr, "goes on from its checkpoint 2") || !strings.Contains(e.stderr, "is pending") {
		t.Errorf("the note is %s", e.stderr)
	}
	expect(t, "the result", p.must(0, "resume", "t").stdout, "text: n is 1\n")
	if got := p.must(0, "history", "t", "--namespace", ns).stdout; strings.Count(got, " one  two ") != 1 {
		t.Errorf("the history of the subgraph is now\n%s\nwant that one has not run again", got)
	}
	if e := p.must(2, "fork", "t", "--at", "99", "--namespace", ns); !strings.Contains(e.stderr, "no commit 99") {
		t.Errorf("an unknown checkpoint: %s", e.stderr)
	}
}
