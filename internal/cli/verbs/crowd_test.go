//go:build unix

package verbs_test

import (
	"cmp"
	"fmt"
	"os/exec"
	"testing"

	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/servertest"
)

// Four processes start at once to run a thread, and then four to resume it. A process that comes
// too late is refused, and each task writes one line to the worklog.
//
// Requirement: many processes may use it at once
// Requirement: two processes want one thread
func TestThread_OneOfManyProcessesRunsEachTask(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) string{
		"sqlite":   func(*testing.T) string { return "" },
		"redis":    func(t *testing.T) string { return servertest.Redis(t) },
		"postgres": func(t *testing.T) string { return servertest.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crowd(newPlace(t), start(t))
		})
	}
}

func crowd(p place, address string) {
	p.Helper()
	rounds := racescale.Soak(3, 100)
	want, _ := undisturbed(p)
	n, refused := new(tally), 0
	for round := range rounds {
		thread := fmt.Sprint("crowd", round)
		h := newHistoryIn(p, thread, cmp.Or(address, "sqlite:"+p.path(thread+".db")), n)
		refused += h.atOnce(4, 4, h.runArgs(h.store))
		refused += h.atOnce(4, 0, h.resumeArgs(h.store))
		h.check(want)
	}
	if refused == 0 {
		p.Error("no process was refused, so the test has tested nothing")
	}
	p.Logf("%d threads, %d of %d processes refused, double applies %d", n.threads, refused, 8*rounds, n.doubles)
}

// atOnce runs a command in n processes and returns how many were refused. The others must end with
// code.
func (h *history) atOnce(n, code int, args []string) (refused int) {
	h.Helper()
	cmds := make([]*exec.Cmd, n)
	for i := range cmds {
		cmds[i] = h.command(args...)
		if err := cmds[i].Start(); err != nil {
			h.Fatal(err)
		}
	}
	ended := 0
	for _, cmd := range cmds {
		_ = cmd.Wait() // its exit code is checked below
		switch got := cmd.ProcessState.ExitCode(); got {
		case code:
			ended++
		case 5:
			refused++
		default:
			h.Errorf("thread %s: %v: exit code %d, want %d, or 5 for a thread that another process has", h.thread, args, got, code)
		}
	}
	if ended == 0 {
		h.Errorf("thread %s: %v: no process got the thread", h.thread, args)
	}
	return refused
}
