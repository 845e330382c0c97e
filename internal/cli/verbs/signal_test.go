//go:build unix

package verbs_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// finishing is what the first signal lets the command say.
const finishing = "weft: finishing the step; one more signal stops at once"

// TestSignal_SecondStopsAtOnceAndLeavesTheThread has a node that does not end.
func TestSignal_SecondStopsAtOnceAndLeavesTheThread(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]os.Signal{"int": os.Interrupt, "term": syscall.SIGTERM} {
		p := newPlace(t)
		p.write("w.yaml", one("    uses: go:wait\n    with: {worklog: \"${{ state.worklog }}\", name: x}"))
		path, began := p.pipe("pipe")
		cmd := p.command("run", "w.yaml", "--thread", "t", "--input", "worklog="+path)
		said := p.listen(cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		receive(t, began(), "began\n")
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		said.await(finishing)
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // its exit code is checked below
		stderr := said.rest()
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("%s: exit code %d, want 130", name, code)
		}
		expect(t, name, withoutTimes(stderr), finishing+"\n"+`only: stopped after TIME
weft: stopped by a signal
next: finished work is stored; go on with `+program+" resume --thread t\n")
		if got := p.must(0, "threads").stdout; !strings.Contains(got, "pending") {
			t.Errorf("%s: the thread is not pending: %s", name, got)
		}
	}
}

func TestSignal_ThirdKills(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", one("    uses: go:cling\n    with: {worklog: \"${{ state.worklog }}\", name: x}"))
	path, open := p.pipe("pipe")
	cmd := p.command("run", "w.yaml", "--thread", "t", "--input", "worklog="+path)
	said := p.listen(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	receive(t, open(), "began\n")
	for range 2 {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		said.await(finishing)
	}
	receive(t, open(), "clings\n")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its exit code is checked below
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("it ended as %v, want killed by SIGINT", cmd.ProcessState)
	}
}

// TestSignal_FirstFinishesTheStep stops a run between two nodes, and goes on.
func TestSignal_FirstFinishesTheStep(t *testing.T) {
	t.Parallel()
	for _, form := range [][]string{nil, {"--durability", "async"}, {"--durability", "exit"}} {
		p := newPlace(t)
		p.write("w.yaml", handover)
		path, began := p.pipe("pipe")
		_, release := p.pipe("gate")
		args := append([]string{"run", "w.yaml", "--thread", "t", "--input", "worklog=" + path, "--input", "gate=" + p.path("gate")}, form...)
		cmd := p.command(args...)
		said := p.listen(cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		receive(t, began(), "began\n")
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		said.await(finishing)
		release().Close()
		_ = cmd.Wait() // its exit code is checked below
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("%v: exit code %d, want 130", form, code)
		}
		if rest := said.rest(); !strings.Contains(rest, "stopped by a signal, at the end of a step") || !strings.Contains(rest, "go on with "+program+" resume --thread t") {
			t.Errorf("%v: it does not say how to go on: %s", form, rest)
		}
		if got := p.must(0, "history", "--thread", "t").stdout; !strings.Contains(got, "first") {
			t.Errorf("%v: the step was not stored: %s", form, got)
		}
		expect(t, "the result", p.must(0, "resume", "--thread", "t").stdout, "second: done\n")
	}
}

// handover has a node that waits until a pipe is opened, and one after it.
const handover = `version: 1
name: handover
state: {worklog: string, gate: string, second: string}
input: [worklog, gate]
output: [second]
nodes:
  first: {uses: go:pass, with: {worklog: "${{ state.worklog }}", name: "${{ state.gate }}"}, next: last}
  last: {set: {second: "${{ 'done' }}"}, next: END}
`

// receive waits for a line from a pipe and closes it.
func receive(t *testing.T, f *os.File, want string) {
	t.Helper()
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil || string(got) != want {
		t.Fatalf("from the pipe: %q, %v, want %q", got, err, want)
	}
}

// listener reads the stderr of a command while it runs.
type listener struct {
	*testing.T
	write *os.File
	read  *bufio.Reader
	heard strings.Builder
}

// listen is called before the command starts.
func (p place) listen(cmd *exec.Cmd) *listener {
	p.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { r.Close() })
	cmd.Stderr = w
	return &listener{T: p.T, write: w, read: bufio.NewReader(r)}
}

// await returns when the line was said.
func (l *listener) await(want string) {
	l.Helper()
	l.write.Close() // only the command has it now, so its end is heard
	for !strings.Contains(l.heard.String(), want+"\n") {
		line, err := l.read.ReadString('\n')
		l.heard.WriteString(line)
		if err != nil {
			l.Fatalf("the command ended without saying %q; it said:\n%s", want, l.heard.String())
		}
	}
}

// rest returns all that was said until the command's end.
func (l *listener) rest() string {
	l.Helper()
	l.write.Close()
	rest, err := io.ReadAll(l.read)
	if err != nil {
		l.Fatal(err)
	}
	return l.heard.String() + string(rest)
}

// pipe makes a named pipe, by which a node reports its progress.
func (p place) pipe(name string) (path string, open func() *os.File) {
	p.Helper()
	if err := syscall.Mkfifo(p.path(name), 0o600); err != nil {
		p.Fatal(err)
	}
	return p.path(name), func() *os.File {
		p.Helper()
		f, err := os.Open(p.path(name)) // waits for the writer
		if err != nil {
			p.Fatal(err)
		}
		return f
	}
}

// TestSignal_EndsTheWaitForInput has commands that read stdin, which does not end.
func TestSignal_EndsTheWaitForInput(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", topical)
	for _, args := range [][]string{{"run", "w.yaml", "--input", "-"}, {"fmt", "-"}} {
		cmd := p.command(args...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		said := p.listen(cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(make([]byte, 1<<20)); err != nil { // more than a pipe holds, so it was read
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if stderr := said.rest(); !strings.Contains(stderr, "weft: stopped by a signal\n") {
			t.Errorf("%s: got %s", args[0], stderr)
		}
		_ = cmd.Wait() // its exit code is checked below
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("%s: exit code %d, want 130", args[0], code)
		}
	}
}
