//go:build unix

package verbs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/servertest"
)

// failing has a node that fails once for each thread, and one that leaves a line.
const failing = `version: 1
name: failing
state: {flag: string, worklog: string, name: string}
input: [flag, worklog, name]
output: [name]
nodes:
  first: {uses: go:flaky, with: {worklog: "${{ state.flag }}", name: x}, next: work}
  work: {uses: go:work, with: {worklog: "${{ state.worklog }}", name: "${{ state.name }}"}, next: END}
`

// failed runs threads of the workflow failing, which fail.
func (p place) failed(store string, threads ...string) {
	p.Helper()
	for _, name := range threads {
		p.must(1, "run", p.path("failing.yaml"), "--thread", name, "--store", store, "--input", "flag="+p.path(name+".flag"),
			"--input", "worklog="+p.path("worklog"), "--input", "name="+name)
	}
}

// TestBulk_KillAtEachWrite kills a verb for many threads before and after each of its writes. The
// same command then does the rest.
func TestBulk_KillAtEachWrite(t *testing.T) {
	killAtEachWrite(t, 6, func(p place, store, crash string) (killed bool) {
		p.write("failing.yaml", failing)
		p.failed(store, "a", "b", "c")
		return p.resumeKilled(store, "crash:"+crash)
	})
}

// killAtEachWrite calls try on each store for each write of a process: crash is the rest of the
// address of a store that kills the process before or after that write. The store is empty, but all
// tries of one side share a server. It ends when try reports that no process was killed, and wants
// at least so many writes before. With -short, it tries one of four writes in a file and one of
// eight on a server, from the first or the second on, and wants one kill. Redis then has only the
// side before, and PostgreSQL only the side after.
func killAtEachWrite(t *testing.T, least int, try func(p place, store, crash string) (killed bool)) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) string{
		"sqlite":   nil,
		"redis":    func(t *testing.T) string { return servertest.Redis(t) },
		"postgres": func(t *testing.T) string { return servertest.Postgres(t) },
	} {
		sides := []string{"before", "after"}
		if testing.Short() {
			sides = map[string][]string{"sqlite": sides, "redis": sides[:1], "postgres": sides[1:]}[name]
		}
		for _, side := range sides {
			t.Run(name+" "+side, func(t *testing.T) {
				t.Parallel()
				first, stride, address := 1, 1, ""
				if start != nil {
					address = start(t)
				}
				if testing.Short() {
					first, stride = sample(name, side)
				}
				for n := first; ; n += stride {
					p := newPlace(t)
					store, at := "sqlite:"+p.path("weft.db"), p.path("weft.db")
					if start != nil {
						servertest.Empty(t, address)
						store, at = address, address
					}
					if !try(p, store, fmt.Sprintf("%d:%s:%s", n, side, at)) {
						if n <= least || n == first {
							t.Errorf("no process died at write %d; want at least %d writes", n, least)
						}
						return
					}
				}
			})
		}
	}
}

// sample returns the first of the writes to die at with -short, and how many they are apart.
func sample(store, side string) (first, stride int) {
	first = map[string]int{"before": 1, "after": 2}[side]
	if store == "sqlite" {
		return first, 4
	}
	return first, 8
}

// resumeKilled resumes and forks three threads, in processes that crash kills, and then in others.
// It reports whether one was killed.
func (p place) resumeKilled(store, crash string) (killed bool) {
	p.Helper()
	resume := func(store string) []string {
		return []string{"resume", "--where", "graph=failing,status!=done", "--parallel", "2", "--take-over", "--store", store}
	}
	if e := p.run(resume(crash)...); e.code == -1 {
		killed = true
	}
	p.untilFree(resume(store)...)
	data, err := os.ReadFile(p.path("worklog"))
	if err != nil {
		p.Fatal(err)
	}
	tasks := map[string]int{}
	for line := range strings.Lines(string(data)) {
		tasks[strings.Fields(line)[1]]++
	}
	for _, name := range []string{"a", "b", "c"} {
		if n := tasks[name]; n < 1 || n > 2 || n > 1 && !killed {
			p.Errorf("the work of thread %s was done %d times", name, n)
		}
	}
	fork := func(store string) []string {
		return []string{"fork", "--where", "graph=failing", "--at", "1", "--take-over", "--store", store}
	}
	if e := p.run(fork(crash)...); e.code == -1 {
		killed = true
	}
	p.untilFree(fork(store)...)
	for _, name := range []string{"a", "b", "c"} {
		if got := p.must(0, "history", name, "--json", "--store", store).stdout; strings.Count(got, `"parent":1,`) != 1 {
			p.Errorf("thread %s has not one branch: %s", name, got)
		}
	}
	return killed
}

// untilFree runs a command until no thread is busy, and wants the exit code 0 then. A server may
// commit what a process has sent after the process was killed.
func (p place) untilFree(args ...string) {
	p.Helper()
	e := p.run(args...)
	for i := 0; i < 10 && e.code == 5; i++ {
		e = p.run(args...)
	}
	if e.code != 0 {
		p.Fatalf("%s: exit code %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), e.code, e.stdout, e.stderr)
	}
}

// TestBulk_SignalFinishesWhatRuns stops a verb for many threads while a node of the first runs.
func TestBulk_SignalFinishesWhatRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", handover)
	for _, thread := range []string{"t1", "t2"} {
		p.must(1, "run", "w.yaml", "--thread", thread, "--input", "worklog="+p.path("pipe"), "--input", "gate="+p.path("gate"))
	}
	_, began := p.pipe("pipe")
	_, release := p.pipe("gate")
	rest := []string{"resume", "--where", "graph=handover,status!=done"}
	cmd := p.command(rest...)
	said := p.listen(cmd)
	var stdout strings.Builder
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	receive(t, began(), "began\n")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	said.await("weft: finishing what runs; one more signal stops at once")
	release().Close()
	_ = cmd.Wait() // its exit code is checked below
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	expect(t, "the report", stdout.String(), `THREAD  OUTCOME  CODE  DETAIL
t1      stopped  130   at the end of a step
1 thread, 1 stopped
`)
	if got := said.rest(); !strings.Contains(got, "next: the same command does the rest") {
		t.Errorf("it does not say how to go on: %s", got)
	}

	again := p.command(rest...)
	stdout.Reset()
	again.Stdout = &stdout
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	receive(t, began(), "began\n")
	release().Close()
	if err := again.Wait(); err != nil {
		t.Error(err)
	}
	expect(t, "the rest", stdout.String(), `THREAD  OUTCOME  CODE  DETAIL
t1      done     0     at checkpoint 3
t2      done     0     at checkpoint 3
2 threads, 2 done
`)
}

// TestBulk_SecondSignalStopsAtOnce has nodes that end only with their contexts.
func TestBulk_SecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("w.yaml", one("    uses: go:wait\n    with: {worklog: \"${{ state.worklog }}\", name: x}"))
	p.must(1, "run", "w.yaml", "--thread", "t", "--input", "worklog="+p.path("pipe"))
	_, began := p.pipe("pipe")
	cmd := p.command("resume", "--where", "thread=t")
	said := p.listen(cmd)
	var stdout strings.Builder
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	receive(t, began(), "began\n")
	for range 2 {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		said.await("weft: finishing what runs; one more signal stops at once")
	}
	_ = cmd.Wait() // its exit code is checked below
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, said.rest())
	}
	expect(t, "the report", stdout.String(), `THREAD  OUTCOME  CODE  DETAIL
t       stopped  130   finished work is stored
1 thread, 1 stopped
`)
}

// TestBulk_ProgressOnATerminal shows the counts in one line, which is gone at the end.
func TestBulk_ProgressOnATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("failing.yaml", failing)
	p.failed("sqlite:"+p.path("weft.db"), "a", "b")
	raw, code := p.onTerminal(80, nil, "resume", "--where", "status=failed", "--store", "sqlite:"+p.path("weft.db"))
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, raw)
	}
	const line, gone = "\r\x1b[Kresume: 2 threads, 2 done", "\r\x1b[K"
	_, after, drawn := strings.Cut(raw, line)
	if rest, cleared := strings.CutPrefix(after, gone); !drawn || !cleared || !strings.Contains(rest, "2 threads, 2 done") {
		t.Errorf("rule: a line shows the counts and is gone before the report\n%q", raw)
	}
}
