//go:build unix

package verbs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/wake"
)

// overdue has a question that expires at once, and then leaves a line.
const overdue = `version: 1
name: overdue
state: {worklog: string, said: string}
input: [worklog]
output: [said]
nodes:
  ask:
    approval: {title: Sure, expires: {after: 1ms, then: reject}}
    output: {said: "${{ result.type }}"}
    next: work
  work: {uses: go:work, with: {worklog: "${{ state.worklog }}", name: work}, next: END}
`

// unready fails while its worklog is a folder, and then leaves a line.
const unready = `version: 1
name: unready
state: {worklog: string, said: string}
input: [worklog]
output: [said]
run_retry: {max: 3, initial: 0s}
nodes:
  say: {set: {said: reject}, next: work}
  work: {uses: go:work, with: {worklog: "${{ state.worklog }}", name: work}, next: END}
`

// A waker is killed before and after each of its writes, of checkpoints and of timers, while it
// closes a question. The next one does the rest.
func TestWake_KillAtEachWrite(t *testing.T) {
	killAtEachWrite(t, 3, func(p place, store, crash string) (killed bool) {
		p.write("overdue.yaml", overdue)
		p.must(4, "run", p.path("overdue.yaml"), "--thread", "t", "--store", store, "--input", "worklog="+p.path("worklog"))
		return p.wakeKilled("overdue.yaml", "t", store, "crash-all:"+crash)
	})
}

// A run is killed at each write while it asks and stores its timer. The question is then closed by
// a waker, or by the same run.
func TestWake_KillAtEachWriteOfAPause(t *testing.T) {
	killAtEachWrite(t, 3, func(p place, store, crash string) (killed bool) {
		p.write("overdue.yaml", overdue)
		run := []string{"run", p.path("overdue.yaml"), "--thread", "t", "--input", "worklog=" + p.path("worklog"), "--store"}
		killed = p.run(append(run, "crash-all:"+crash)...).code == -1
		if e := p.run("state", "t", "--store", store); killed && !strings.Contains(e.stdout, "Sure") {
			e = p.run(append(run, store, "--take-over")...)
			for end := time.Now().Add(time.Minute); e.code != 0 && e.code != 4; e = p.run(append(run, store, "--take-over")...) {
				if time.Now().After(end) {
					p.Fatalf("exit code %d\nstdout: %s\nstderr: %s", e.code, e.stdout, e.stderr)
				}
			}
		}
		p.wakeKilled("overdue.yaml", "t", store, store)
		return killed
	})
}

// A waker is killed at each write while it tries a failed run again.
func TestWake_KillAtEachWriteOfARetry(t *testing.T) {
	killAtEachWrite(t, 3, func(p place, store, crash string) (killed bool) {
		p.unready()
		p.must(1, "run", p.path("unready.yaml"), "--thread", "t", "--store", store, "--input", "worklog="+p.path("worklog"))
		p.ready()
		return p.wakeKilled("unready.yaml", "t", store, "crash-all:"+crash)
	})
}

// A run is killed at each write while it fails. If its failure was stored, a waker tries it again;
// else the thread is as after any crash.
func TestWake_KillAtEachWriteOfAFailure(t *testing.T) {
	killAtEachWrite(t, 2, func(p place, store, crash string) (killed bool) {
		p.unready()
		run := []string{"run", p.path("unready.yaml"), "--thread", "t", "--input", "worklog=" + p.path("worklog"), "--store"}
		killed = p.run(append(run, "crash-all:"+crash)...).code == -1
		if e := p.run("state", "t", "--store", store, "--json"); !strings.Contains(e.stdout, `"retry_at"`) {
			if !killed {
				p.Fatalf("the failure is not to be tried again: %s", e.stdout)
			}
			p.untilEnds(1, append(run, store, "--take-over")...)
		}
		p.ready()
		p.wakeKilled("unready.yaml", "t", store, store)
		return killed
	})
}

// scheduled leaves a line when it is begun.
const scheduled = `version: 1
name: scheduled
state: {worklog: string, said: string}
input: [worklog]
output: [said]
nodes:
  say: {set: {said: reject}, next: work}
  work: {uses: go:work, with: {worklog: "${{ state.worklog }}", name: work}, next: END}
`

// A waker is killed at each write while it begins the run of a schedule. The next one does the
// rest.
func TestWake_KillAtEachWriteOfASchedule(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	killAtEachWrite(t, 4, func(p place, store, crash string) (killed bool) {
		p.write("scheduled.yaml", scheduled)
		p.schedule(store, wake.Schedule{Name: "t", Graph: "scheduled", At: at, Input: fmt.Appendf(nil, `{"worklog":%q}`, p.path("worklog"))})
		return p.wakeKilled("scheduled.yaml", "t/2026-05-01T12:00:00Z", store, "crash-all:"+crash)
	})
}

// schedule stores a schedule.
func (p place) schedule(address string, s wake.Schedule) {
	p.Helper()
	store, err := openAny(p.Context(), address)
	if err != nil {
		p.Fatal(err)
	}
	defer store.Close()
	timers, err := wake.Open(store)
	if err == nil {
		err = timers.Schedule(p.Context(), s, s.At)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// unready writes the workflow, which fails until ready is called.
func (p place) unready() {
	p.Helper()
	p.write("unready.yaml", unready)
	if err := os.Mkdir(p.path("worklog"), 0o700); err != nil {
		p.Fatal(err)
	}
}

func (p place) ready() {
	p.Helper()
	if err := os.Remove(p.path("worklog")); err != nil {
		p.Fatal(err)
	}
}

// untilEnds runs a verb until it ends with a code: the thread may belong to a dead process for a
// while.
func (p place) untilEnds(code int, args ...string) {
	p.Helper()
	var e ended
	for end := time.Now().Add(time.Minute); e.code != code || e.stdout+e.stderr == ""; e = p.run(args...) {
		if time.Now().After(end) {
			p.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", e.code, code, e.stdout, e.stderr)
		}
	}
}

// wakeKilled wakes a thread in a process that is killed, and then in others. It reports whether the
// first was killed.
func (p place) wakeKilled(file, thread, store, crash string) (killed bool) {
	p.Helper()
	args := func(store string) []string {
		return []string{"wake", p.path(file), "--once", "--store", store}
	}
	switch e := p.run(args(crash)...); e.code {
	case -1:
		killed = true
	case 0:
	default:
		p.Fatalf("wake: exit code %d\nstdout: %s\nstderr: %s", e.code, e.stdout, e.stderr)
	}
	// The thread belongs to the dead waker for a while.
	state := ""
	for end := time.Now().Add(time.Minute); !strings.Contains(state, "done"); {
		if time.Now().After(end) {
			p.Fatalf("the thread has not gone on: %s", state)
		}
		p.must(0, args(store)...)
		state = p.must(0, "state", thread, "--store", store).stdout
	}
	if !strings.Contains(state, "said: reject") {
		p.Errorf("the question was not closed: %s", state)
	}
	data, err := os.ReadFile(p.path("worklog"))
	if err != nil {
		p.Fatal(err)
	}
	if n := strings.Count(string(data), "\n"); n < 1 || n > 2 || n > 1 && !killed {
		p.Errorf("the work was done %d times", n)
	}
	return killed
}
