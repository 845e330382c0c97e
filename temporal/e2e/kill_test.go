package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/temporal"
)

var kills = flag.Int("kills", 3, "how often processes are killed in each test that kills some")

// rounds is how often processes are killed.
func rounds() int {
	if testing.Short() {
		return min(*kills, 2)
	}
	return *kills
}

// field is where processes are killed: a store with the graph of writing, a client and workers.
type field struct {
	*testing.T
	address, queue, path, file string
	store                      checkpoint.Store
	graph                      *graph.Graph[journal]
	runs                       *temporal.Client
	workers                    []*exec.Cmd
}

// newField returns a field without workers. address is that of the server, and path of the store;
// "" is a file of SQLite.
func newField(t *testing.T, address, path string, cfg temporal.ClientConfig) *field {
	t.Helper()
	dir := t.TempDir()
	f := &field{T: t, address: address, queue: fmt.Sprint("field", queues.Add(1)), path: path, file: filepath.Join(dir, "lines")}
	if path == "" {
		f.path = filepath.Join(dir, "store")
	}
	store, closes, err := openStore(t.Context(), f.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closes() })
	f.store = store
	if f.graph, err = writing(store, f.file, f.queue); err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(client.Options{HostPort: address, Namespace: "default", Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cfg.Store, cfg.Queue = store, f.queue
	if f.runs, err = temporal.NewClient(c, f.graph.Untyped(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, w := range f.workers {
			kill(w)
		}
	})
	return f
}

// startWorker starts a worker process.
func (f *field) startWorker() *exec.Cmd {
	f.Helper()
	cmd := process(f.T, workerAddress+"="+f.address, workerQueue+"="+f.queue, workerStore+"="+f.path, workerFile+"="+f.file)
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	f.workers = append(f.workers, cmd)
	return cmd
}

// kill kills workers, and starts others in their place.
func (f *field) kill(dead ...*exec.Cmd) {
	f.Helper()
	for _, w := range dead {
		kill(w)
		f.workers = slices.DeleteFunc(f.workers, func(o *exec.Cmd) bool { return o == w })
	}
	for range dead {
		f.startWorker()
	}
}

// start starts a run, and returns when it has some steps.
func (f *field) start(thread string) *graph.Handle[json.RawMessage] {
	f.Helper()
	h := f.runs.Start(f.Context(), json.RawMessage(`{}`), graph.RunOptions{Thread: thread})
	go func() { _, _ = h.Wait() }()
	f.waitFor(thread, func(p graph.CommitInfo) bool { return p.Checkpoint >= uint64(2+rand.N(steps/2)) })
	return h
}

// ended waits for the end of a run, and checks that all its steps are there.
func (f *field) ended(thread string, h *graph.Handle[json.RawMessage]) {
	f.Helper()
	if res, err := h.Wait(); err != nil || res.Status != graph.Done {
		f.Fatalf("%s: the run ended %q with %v, want done", thread, res.Status, err)
	}
	s, _, err := f.graph.Thread(thread).State(f.Context(), 0)
	if err != nil || s.Steps.Len() != steps {
		f.Errorf("%s: %d steps are in the state, %v; want %d", thread, s.Steps.Len(), err, steps)
	}
}

// line is what a step has written.
type line struct {
	task, process string
}

// lines returns what the steps have written.
func (f *field) lines() (all []line) {
	f.Helper()
	data, err := os.ReadFile(f.file)
	if err != nil {
		f.Fatal(err)
	}
	for text := range strings.Lines(string(data)) {
		task, process, _ := strings.Cut(strings.TrimSpace(text), " ")
		all = append(all, line{task, process})
	}
	return all
}

// calledOnce checks that the steps of so many runs ran, at most again of them more than once.
func (f *field) calledOnce(runs, again int) {
	f.Helper()
	tasks, more := map[string]bool{}, 0
	for _, l := range f.lines() {
		if tasks[l.task] {
			more++
		}
		tasks[l.task] = true
	}
	if want := runs * steps; len(tasks) != want || more > again {
		f.Errorf("%d tasks ran, and %d calls were made again; want %d, and at most %d again", len(tasks), more, want, again)
	}
	f.Logf("%d runs: %d tasks, %d calls made again", runs, len(tasks), more)
}

// waitFor waits until the newest commit of a thread is one of those.
func (f *field) waitFor(thread string, is func(graph.CommitInfo) bool) {
	f.Helper()
	f.wait("the commit of "+thread, func() bool {
		p, err := graph.Inspect(f.Context(), f.store, checkpoint.Key{Thread: thread})
		return err == nil && is(p)
	})
}

// wait waits until something holds.
func (f *field) wait(what string, holds func() bool) {
	f.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-f.Context().Done():
			f.Fatalf("%s does not come", what)
		}
	}
}

// A run goes on in the other process when the worker that has it is killed.
func TestKill_TheOtherWorkerGoesOn(t *testing.T) {
	for _, mode := range []temporal.Mode{temporal.Segments, temporal.Nodes} {
		t.Run(string(mode), func(t *testing.T) {
			f := newField(t, shared.Address, "", temporal.ClientConfig{Mode: mode})
			f.startWorker()
			f.startWorker()
			var tasks, commits []time.Duration
			for round := range rounds() {
				thread := fmt.Sprint("t", round)
				h := f.start(thread)
				before := f.lines()
				by := before[len(before)-1].process
				i := slices.IndexFunc(f.workers, func(w *exec.Cmd) bool { return fmt.Sprint(w.Process.Pid) == by })
				kill(f.workers[i])
				killed, calls := time.Now(), len(f.lines())
				at, err := graph.Inspect(t.Context(), f.store, checkpoint.Key{Thread: thread})
				if err != nil {
					t.Fatal(err)
				}
				if at.Status == graph.Pending {
					f.wait("the next task", func() bool { return len(f.lines()) > calls })
					tasks = append(tasks, time.Since(killed))
					f.waitFor(thread, func(p graph.CommitInfo) bool { return p.Checkpoint > at.Checkpoint })
					commits = append(commits, time.Since(killed))
				}
				f.ended(thread, h)
				f.kill(f.workers[i])
			}
			f.calledOnce(rounds(), rounds())
			t.Logf("the next task began after %s", spread(tasks))
			t.Logf("the next step was committed after %s", spread(commits))
		})
	}
}

// spread describes times.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "no time: every run had ended"
	}
	slices.Sort(all)
	at := func(q float64) time.Duration { return all[int(q*float64(len(all)-1))].Round(time.Millisecond) }
	return fmt.Sprintf("p50 %v, p90 %v, p99 %v, at most %v (%d)", at(0.5), at(0.9), at(0.99), at(1), len(all))
}

// A run goes on when all workers are killed and others start. Every committed step is there once,
// and a task runs at most once more for each kill.
func TestKill_NewWorkersGoOn(t *testing.T) {
	for _, mode := range []temporal.Mode{temporal.Segments, temporal.Nodes} {
		t.Run(string(mode), func(t *testing.T) {
			f := newField(t, shared.Address, "", temporal.ClientConfig{Mode: mode})
			f.startWorker()
			f.startWorker()
			for round := range rounds() {
				thread := fmt.Sprint("t", round)
				h := f.start(thread)
				f.kill(slices.Clone(f.workers)...)
				f.ended(thread, h)
			}
			f.calledOnce(rounds(), rounds())
		})
	}
}

// A run goes on when the server and the worker that has the run are killed, and its caller gets the
// result. Nothing that was committed is lost, and no committed task runs again: at most that of the
// kill, and one more if the worker that goes on is given up by the server that starts.
func TestKill_ServerAndWorkerGoOn(t *testing.T) {
	ports, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	address, db := net.JoinHostPort(host, fmt.Sprint(ports[0])), filepath.Join(t.TempDir(), "temporal.db")
	server := startServer(t, address, db)
	defer func() { kill(server) }()
	f := newField(t, address, "", temporal.ClientConfig{})
	worker := f.startWorker()
	for round := range rounds() {
		thread := fmt.Sprint("t", round)
		h := f.start(thread)
		kill(worker)
		kill(server)
		server = startServer(t, address, db)
		killed := time.Now()
		f.kill(worker)
		worker = f.workers[0]
		f.ended(thread, h)
		t.Logf("round %d: done after %v", round, time.Since(killed).Round(time.Millisecond))
	}
	f.calledOnce(rounds(), 2*rounds())
}
