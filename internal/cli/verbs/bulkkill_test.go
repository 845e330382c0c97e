//go:build unix

package verbs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// steps has three steps.
const steps = `version: 1
name: steps
state: {said: string}
output: [said]
nodes:
  one: {set: {said: one}, next: two}
  two: {set: {said: two}, next: three}
  three: {set: {said: three}, next: END}
`

// began runs three threads of the workflow steps.
func (p place) began(store string) {
	p.Helper()
	p.write("steps.yaml", steps)
	for _, name := range []string{"a", "b", "c"} {
		p.must(0, "run", p.path("steps.yaml"), "--thread", name, "--store", store)
	}
}

// killedThenWhole runs a verb on all threads in a process that is killed, and then in others until
// it is whole. It reports whether the first was killed.
func (p place) killedThenWhole(store, crash string, args ...string) (killed bool) {
	p.Helper()
	on := func(store string) []string {
		return append(slices.Clone(args), "--where", "graph=steps", "--store", store)
	}
	killed = p.run(on(crash)...).code == -1
	p.untilFree(on(store)...)
	return killed
}

// TestBulk_KillAtEachWriteOfPins kills pin, prune and unpin for many threads at each of their
// writes. The same command then does the rest.
func TestBulk_KillAtEachWriteOfPins(t *testing.T) {
	killAtEachWrite(t, 3, func(p place, store, crash string) (killed bool) {
		p.began(store)
		pinned := func() int {
			return strings.Count(p.must(0, "threads", "--where", "pin!=", "--json", "--store", store).stdout, `"thread":`)
		}
		killed = p.killedThenWhole(store, "crash:"+crash, "pin")
		if n := pinned(); n != 3 {
			p.Errorf("%d threads are pinned, want 3", n)
		}
		killed = p.killedThenWhole(store, "crash:"+crash, "prune", "--keep-last", "1") || killed
		for _, name := range []string{"a", "b", "c"} {
			if got := p.must(0, "history", name, "--json", "--store", store).stdout; strings.Count(got, `"checkpoint":`) != 1 {
				p.Errorf("thread %s has more than its newest checkpoint: %s", name, got)
			}
			if got := p.must(0, "state", name, "--store", store).stdout; !strings.Contains(got, "said: three") {
				p.Errorf("thread %s cannot be read: %s", name, got)
			}
		}
		killed = p.killedThenWhole(store, "crash:"+crash, "unpin") || killed
		if n := pinned(); n != 0 {
			p.Errorf("%d threads are pinned, want none", n)
		}
		return killed
	})
}

// TestBulk_KillAtEachReadOfExport kills export for many threads at each commit that it reads. No
// part of a file has the name of a whole one, and the same command does the rest.
func TestBulk_KillAtEachReadOfExport(t *testing.T) {
	killAtEachWrite(t, 6, func(p place, store, crash string) (killed bool) {
		p.began(store)
		export := []string{"export", "--to", p.path("backup"), "--where", "graph=steps", "--store"}
		killed = p.run(append(export, "crash-reads:"+crash)...).code == -1
		whole := func() int {
			files, err := filepath.Glob(p.path("backup/*.jsonl"))
			if err != nil {
				p.Fatal(err)
			}
			for _, file := range files {
				name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
				p.must(0, "import", file, "--thread", name, "--store", "sqlite:"+p.path(name+".db"))
				p.must(0, "delete", name, "--yes", "--store", "sqlite:"+p.path(name+".db"))
			}
			return len(files)
		}
		if n := whole(); killed && n > 2 {
			p.Errorf("the process was killed after %d files", n)
		}
		p.untilFree(append(export, store)...)
		if n := whole(); n != 3 {
			p.Errorf("there are %d files, want 3", n)
		}
		return killed
	})
}
