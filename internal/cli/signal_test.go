//go:build unix

package cli_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestASignalStopsTheRunAndLeavesTheThread(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]os.Signal{"int": os.Interrupt, "term": syscall.SIGTERM} {
		p := newPlace(t)
		p.write("w.yaml", one("    uses: go:wait\n    with: {ledger: \"${{ state.ledger }}\", name: x}"))
		path, began := p.pipe("pipe")
		cmd := p.command("run", "w.yaml", "--thread", "t", "--input", "ledger="+path)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		hear(t, began(), "began\n")
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the state tells
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("%s: exit code %d, want 130", name, code)
		}
		expect(t, name, withoutTimes(stderr.String()), `only: stopped after TIME
weft: stopped by a signal
next: finished work is kept; go on with `+program+" resume --thread t\n")
		if got := p.must(0, "threads").stdout; !strings.Contains(got, "pending") {
			t.Errorf("%s: the thread is not pending: %s", name, got)
		}
	}
}

func TestASecondSignalKills(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", one("    uses: go:cling\n    with: {ledger: \"${{ state.ledger }}\", name: x}"))
	path, open := p.pipe("pipe")
	cmd := p.command("run", "w.yaml", "--thread", "t", "--input", "ledger="+path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"began\n", "clings\n"} {
		hear(t, open(), line)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait() // the state tells
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("it ended as %v, want killed by SIGINT", cmd.ProcessState)
	}
}

// hear waits for a line from a pipe and closes it.
func hear(t *testing.T, f *os.File, want string) {
	t.Helper()
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil || string(got) != want {
		t.Fatalf("from the pipe: %q, %v, want %q", got, err, want)
	}
}

// pipe makes a named pipe, through which a node tells that it has come so far.
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
