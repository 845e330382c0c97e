//go:build unix

package verbs_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// held is a thread on which a process works until its gate is opened.
type held struct {
	place
	cmd  *exec.Cmd
	said *listener
	open func()
}

func (p place) hold() held {
	p.Helper()
	p.write("w.yaml", handover)
	path, began := p.pipe("pipe")
	_, gate := p.pipe("gate")
	cmd := p.command("run", "w.yaml", "--thread", "t", "--input", "worklog="+path, "--input", "gate="+p.path("gate"))
	said := p.listen(cmd)
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	receive(p.T, began(), "began\n")
	return held{p, cmd, said, func() { gate().Close() }}
}

// end opens the gate and returns the exit code of the process, and what it said.
func (h held) end() (code int, said string) {
	h.open()
	_ = h.cmd.Wait() // its exit code is checked below
	return h.cmd.ProcessState.ExitCode(), h.said.rest()
}

// Requirement: two processes want one thread
func TestThread_BusyIsRefusedWithItsOwner(t *testing.T) {
	t.Parallel()
	h := newPlace(t).hold()
	want := regexp.MustCompile(`weft: weft, process \d+ on \S+, works on thread "t", and holds it for another \S+ unless it goes on
next: wait for it with --wait, or take the thread over with --take-over
`)
	for _, args := range [][]string{
		{"resume", "--thread", "t"},
		{"run", "w.yaml", "--thread", "t", "--input", "worklog=" + h.path("pipe"), "--input", "gate=" + h.path("gate")},
		{"prune", "t", "--keep-last", "1"}, {"delete", "t", "--yes"}, {"fork", "t", "--at", "1"},
	} {
		if e := h.must(5, args...); !want.MatchString(e.stderr) || e.stdout != "" {
			t.Errorf("%v:\n%s%s", args, e.stdout, e.stderr)
		}
	}
	h.must(2, "resume", "--thread", "t", "--wait", "--take-over")
	if code, said := h.end(); code != 0 {
		t.Errorf("the owner was disturbed: exit code %d\n%s", code, said)
	}
}

func TestWait_GetsTheThreadWhenItIsFree(t *testing.T) {
	t.Parallel()
	h := newPlace(t).hold()
	second := h.command("resume", "--thread", "t", "--wait")
	var out strings.Builder
	second.Stdout = &out
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	if code, said := h.end(); code != 0 {
		t.Errorf("the owner was disturbed: exit code %d\n%s", code, said)
	}
	if err := second.Wait(); err != nil {
		t.Error(err)
	}
	expect(t, "the result of the one that waited", out.String(), "second: done\n")
}

func TestThread_TakenOverIsLostToItsOwner(t *testing.T) {
	t.Parallel()
	h := newPlace(t).hold()
	h.must(0, "delete", "t", "--yes", "--take-over")
	if code, said := h.end(); code != 5 || !strings.Contains(said, "nothing was written") {
		t.Errorf("the former owner: exit code %d, want 5\n%s", code, said)
	}
	if got := h.must(0, "threads", "--json").stdout; got != "" {
		t.Errorf("the deleted thread is back: %s", got)
	}
}

func TestQueuedInput_RunsAfterTheAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", asking)
	p.must(4, "run", "w.yaml", "--thread", "t")
	if e := p.must(2, "run", "w.yaml", "--thread", "t", "--input", "topic=rust"); !strings.Contains(e.stderr, "--queue") {
		t.Errorf("an input over a question: %s", e.stderr)
	}
	e := p.must(0, "run", "w.yaml", "--thread", "t", "--input", "topic=rust", "--queue", "--json")
	expect(t, "a queued input", e.stdout, `{"thread":"t","workflow":"one","status":"queued"}`+"\n")
	e = p.must(4, "resume", "--thread", "t", "--answer", "x")
	if !strings.HasPrefix(e.stdout, "rust?\n") {
		t.Errorf("the turn of the queued input: %s", e.stdout)
	}
	p.must(0, "resume", "--thread", "t", "--answer", "y")
	p.must(4, "run", "w.yaml", "--thread", "t", "--input", "topic=zig", "--queue") // nothing is open: it begins at once
	p.must(2, "run", "w.yaml", "--thread", "t", "--queue", "--new-turn")
	p.must(2, "run", "w.yaml", "--thread", "t", "--queue", "--take-over")
	p.must(2, "run", "w.yaml", "--thread", "t", "--durability", "never")
}
