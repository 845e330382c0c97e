//go:build unix

package verbs_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/servertest"
)

// kills is the number of processes to kill, in place of the default.
var kills = flag.Int("kills", 0, "how many processes TestKill_AtRandomMoments kills with each store; 0 means as many as suit a run of all tests")

// history is what happened to one thread whose processes are killed.
type history struct {
	place
	thread  string
	store   string // its address
	kills   []moment
	flights map[string]int    // how many kills hit a task between its start and its result
	seen    map[uint64]string // ids of the commits that were there after a kill
	*tally
}

// moment is what was known when a process had been killed.
type moment struct {
	lines  int             // of the worklog
	stored map[string]bool // tasks whose result the store had
}

// tally counts over many threads.
type tally struct {
	threads, kills, commits int
	torn                    int // threads of which something cannot be read after a kill
	forks                   int // commits that are not there any more, or are others
	doubles                 int // tasks that ran though their result was stored
}

func newHistory(p place, thread string) *history {
	return newHistoryIn(p, thread, "sqlite:"+p.path(thread+".db"), new(tally))
}

func newHistoryIn(p place, thread, store string, n *tally) *history {
	n.threads++
	return &history{place: p, thread: thread, store: store, flights: map[string]int{}, seen: map[uint64]string{}, tally: n}
}

func (h *history) worklog() string { return h.path(h.thread + ".worklog") }
func (h *history) file() string    { return strings.TrimPrefix(h.store, "sqlite:") }

func (h *history) runArgs(store string) []string {
	return []string{"run", worklogFile(h.T), "--thread", h.thread, "--store", store, "--input", "worklog=" + h.worklog()}
}

func (h *history) resumeArgs(store string) []string {
	return []string{"resume", "--thread", h.thread, "--store", store, "--answer", "true"}
}

// lines returns the worklog: "task node item" by line.
func (h *history) lines() []string {
	h.Helper()
	data, err := os.ReadFile(h.worklog())
	if err != nil && !os.IsNotExist(err) {
		h.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// killed reads worklog and store after a kill.
func (h *history) killed() {
	h.Helper()
	h.tally.kills++
	m := moment{stored: map[string]bool{}}
	if data, err := os.ReadFile(h.worklog()); err == nil {
		m.lines = strings.Count(string(data), "\n")
	}
	h.kills = append(h.kills, m)
	if _, err := os.Stat(h.file()); strings.HasPrefix(h.store, "sqlite:") && err != nil {
		return // it died before it had a store
	}
	store, err := openAny(h.Context(), h.store)
	if err != nil {
		h.Fatalf("the store after a kill: %v", err)
	}
	defer store.Close()
	if err := checkpoint.Export(h.Context(), store, h.thread, io.Discard); err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		h.torn++
		h.Errorf("thread %s: after a kill it is not whole: %v", h.thread, err)
	}
	h.walk(store, m.stored)
}

// walk reads the chain of commits. It compares them with the commits seen before, and collects the
// tasks whose results are stored.
func (h *history) walk(store checkpoint.Store, stored map[string]bool) {
	h.Helper()
	now := map[uint64]string{}
	for snap, err := range store.History(h.Context(), checkpoint.Key{Thread: h.thread}, checkpoint.Query{}) {
		if err != nil {
			h.Fatalf("the history after a kill: %v", err)
		}
		rec, err := checkpoint.ReadRecord(snap)
		if err != nil {
			h.Fatalf("a record after a kill: %v", err)
		}
		now[snap.Seq] = snap.ID
		for _, task := range rec.Next { // due after this commit, in a walk from the newest on
			switch {
			case snap.Seq < snap.Head: // the next commit holds what they did
				stored[task.ID] = true
			case hasResult(snap, task.ID):
				stored[task.ID] = true
			default:
				h.flights[task.ID]++
			}
		}
	}
	for seq, id := range h.seen {
		if now[seq] != id {
			h.forks++
			h.Errorf("thread %s: commit %d was %q and is %q", h.thread, seq, id, now[seq])
		}
	}
	h.seen = now
}

// openAny opens the store that an address names.
func openAny(ctx context.Context, address string) (checkpoint.Store, error) {
	scheme, rest, _ := strings.Cut(address, ":")
	switch scheme {
	case "redis":
		return openRedis(ctx, address)
	case "postgres":
		return openPostgres(ctx, address)
	}
	return sqlite.Open(ctx, rest)
}

func hasResult(snap checkpoint.Snapshot, task string) bool {
	for _, e := range snap.Pending {
		if e.Task == task && e.Slot == "result" {
			return true
		}
	}
	return false
}

// check compares the worklog of a finished thread with the guarantees.
func (h *history) check(want string) {
	h.Helper()
	lines := h.lines()
	for i, m := range h.kills {
		for _, line := range lines[m.lines:] {
			if id, _, _ := strings.Cut(line, " "); m.stored[id] {
				h.doubles++
				h.Errorf("thread %s: %q ran after kill %d, though its result was stored", h.thread, line, i+1)
			}
		}
	}
	runs, kinds := map[string]int{}, map[string]bool{}
	for _, line := range lines {
		id, what, _ := strings.Cut(line, " ")
		runs[id]++
		kinds[what] = true
	}
	for id, n := range runs {
		if n > 1+h.flights[id] {
			h.doubles++
			h.Errorf("thread %s: task %s ran %d times; it was in flight at %d kills", h.thread, id, n, h.flights[id])
		}
	}
	for _, what := range []string{"plan -", "side -", "fetch a", "fetch b", "fetch c", "fetch d", "fetch e", "fetch f",
		"merge -", "approve -", "publish -", "last -"} {
		if !kinds[what] {
			h.Errorf("thread %s: %q is not in the worklog", h.thread, what)
		}
	}
	if got := h.must(0, h.runArgs(h.store)...).stdout; got != want {
		h.Errorf("thread %s: the result differs from that of an undisturbed run\ngot:  %s\nwant: %s", h.thread, got, want)
	}
	h.commits += len(h.seen)
}

// undisturbed runs the workflow without a kill and returns its output and how long the
// two commands took.
func undisturbed(p place) (output string, took [2]time.Duration) {
	p.Helper()
	h := newHistory(p, "calm")
	began := time.Now()
	p.must(4, h.runArgs(h.store)...)
	took[0], began = time.Since(began), time.Now()
	output = p.must(0, h.resumeArgs(h.store)...).stdout
	took[1] = time.Since(began)
	h.check(output)
	return output, took
}

// TestKill_AtRandomMoments kills the processes that work on a thread, one after another, until one
// finishes. Then it starts the next thread. -kills 200 asks for 200 kills with each store,
// WEFT_SOAK for 2,200, and -short for a third of the default.
//
// Requirement: An answer to an old question
// Requirement: a commit is atomic and moves the head by compare-and-set
// Requirement: a killed process's thread is free at once
// Requirement: a worker is killed
// Requirement: kill -9 at any moment, then the same command again
func TestKill_AtRandomMoments(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]struct {
		kills int
		start func(*testing.T) string
	}{
		"sqlite":   {50, func(*testing.T) string { return "" }},
		"redis":    {12, func(t *testing.T) string { return servertest.Redis(t) }},
		"postgres": {12, func(t *testing.T) string { return servertest.Postgres(t) }},
	} {
		if testing.Short() {
			server.kills /= 3
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storm(newPlace(t), server.start(t), cmp.Or(*kills, racescale.Soak(server.kills, 2200)))
		})
	}
}

// storm kills processes until it has killed the given number. An empty address means a file for
// each thread.
func storm(p place, address string, kills int) {
	p.Helper()
	want, took := undisturbed(p)
	seed := uint64(time.Now().UnixNano())
	p.Logf("seed %d, an undisturbed run takes %v and %v", seed, took[0], took[1])
	r := rand.New(rand.NewPCG(seed, 0))
	n := new(tally)
	for n.kills < kills {
		thread := fmt.Sprintf("storm%d", n.threads+1)
		h := newHistoryIn(p, thread, cmp.Or(address, "sqlite:"+p.path(thread+".db")), n)
		for stage := 0; stage < 2; {
			args := [][]string{h.runArgs(h.store), h.resumeArgs(h.store)}[stage]
			delay := time.Duration(-1)
			if n.kills < kills && r.IntN(5) > 0 {
				delay = time.Duration(r.Int64N(int64(took[stage] + took[stage]/4)))
			}
			began := time.Now()
			switch code := p.finishOrKill(p.command(args...), delay); {
			case code == -1:
				h.killed()
			case code == [2]int{4, 0}[stage]:
				took[stage] = (took[stage] + time.Since(began)) / 2 // the machine may be busier now, or less
				stage++
			default:
				p.Fatalf("%v: exit code %d after %d kills", args, code, len(h.kills))
			}
		}
		h.check(want)
	}
	p.Logf("%d kills over %d threads, %d commits seen by them; torn %d, forks %d, double applies %d", n.kills, n.threads, n.commits, n.torn, n.forks, n.doubles)
}

// finishOrKill runs a command and kills it after a time, unless that is negative. It
// returns the exit code, -1 after a kill.
func (p place) finishOrKill(cmd *exec.Cmd, after time.Duration) int {
	p.Helper()
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	if after >= 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		defer timer.Stop()
	}
	_ = cmd.Wait() // its exit code is checked below
	return cmd.ProcessState.ExitCode()
}

// Requirement: a worker is killed
// Requirement: kill -9 at any moment, then the same command again
func TestKill_AtEachWrite(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	want, _ := undisturbed(p)
	for stage, verb := range []string{"run", "resume"} {
		for _, side := range []string{"before", "after"} {
			t.Run(verb+" "+side, func(t *testing.T) {
				t.Parallel()
				killAtEach(place{t, t.TempDir()}, stage, side, want)
			})
		}
	}
}

// killAtEach kills the first or the second command at its first write, then at its second, until it
// survives. With -short, it leaves out every other write.
func killAtEach(p place, stage int, side, want string) {
	p.Helper()
	first, stride := 1, 1
	if testing.Short() {
		stride = 2
		if side == "after" {
			first = 2
		}
	}
	for n := first; ; n += stride {
		h := newHistory(p, fmt.Sprintf("write%d", n))
		crash := fmt.Sprintf("crash:%d:%s:%s", n, side, h.file())
		if stage == 1 {
			p.must(4, h.runArgs(h.store)...)
		}
		args := [][]string{h.runArgs(crash), h.resumeArgs(crash)}[stage]
		code := p.run(args...).code
		if code == -1 {
			h.killed()
		}
		if stage == 0 {
			p.must(4, h.runArgs(h.store)...)
		}
		p.must(0, h.resumeArgs(h.store)...)
		h.check(want)
		if code != -1 {
			if n < 4 {
				p.Errorf("there were only %d writes to die at", n-1)
			}
			return
		}
	}
}
