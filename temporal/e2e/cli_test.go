package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/programtest"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/temporal"
	"github.com/weftrun/weft/temporal/engine"
	"github.com/weftrun/weft/weftcli"
	"github.com/weftrun/weft/weftcli/stock"
)

// program is the command line with the engine. It ends the process.
func program() {
	c := stock.Config()
	c.Engines = map[string]weftcli.EngineOpener{engine.Scheme: engine.Open}
	c.Chats = map[string]weftcli.Chat{"echo": openEcho}
	c.Graphs = map[string]weftcli.Graph{"count": openCounting, "stuck": openStuck}
	weftcli.Main(c)
}

// openEcho returns an agent that answers with its task and the id of the process.
func openEcho(_ context.Context, store checkpoint.Store) (turn.Untyped, error) {
	answer := func(_ context.Context, r turn.AnswerRequest) (string, error) {
		return fmt.Sprintf("%s from process %d", r.Task, os.Getpid()), nil
	}
	g, err := turn.Graph("echo", turn.Config{Answer: answer}, graph.Config{Store: store})
	if err != nil {
		return nil, err
	}
	return turn.NewAgent(g, agent.StateManager{}).Untyped(), nil
}

// stuckWorker is the environment variable of a worker whose steps of the graph stuck do not end,
// or, if it is untilCancelled, end when they are cancelled.
const (
	stuckWorker    = "WEFT_TEST_STUCK"
	untilCancelled = "until cancelled"
)

// openStuck returns a graph with a step that the environment lets hang: see stuckWorker.
func openStuck(_ context.Context, store checkpoint.Store) (graph.Untyped, error) {
	type none struct {
		Version state.Value[string] `json:"version"`
	}
	b := graph.New[none]("stuck")
	b.Node("hang", graph.Func(func(ctx context.Context, _ *none) error {
		how := os.Getenv(stuckWorker)
		if how == "" {
			return nil
		}
		fmt.Fprintln(os.Stderr, "stuck:", graph.Thread(ctx))
		if how == untilCancelled {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		select {}
	}))
	b.Edge(graph.Start, "hang")
	b.Edge("hang", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		return nil, err
	}
	return g.Untyped(), nil
}

const release = `version: 1
name: release
state:
  version: {type: string, required: true}
  notes: string
  approved: bool
input: [version]
output: [approved, notes]
nodes:
  write:
    set: {notes: "${{ 'Release ' + state.version }}"}
    next: ask
  ask:
    approval: {title: "Release ${{ state.version }}?", show: "${{ state.notes }}"}
    output: {approved: "${{ result.approved }}"}
    next: END
`

// shell runs commands of the program in a folder.
type shell struct {
	*testing.T
	dir string
	env []string
}

// command returns a command of the program.
func (sh shell) command(args ...string) *exec.Cmd {
	sh.Helper()
	exe, err := os.Executable()
	if err != nil {
		sh.Fatal(err)
	}
	cmd := exec.CommandContext(sh.Context(), exe, args...)
	cmd.Dir = sh.dir
	cmd.Env = append(append(os.Environ(), sh.env...), programtest.Variable, "WEFT_STORE=sqlite:"+filepath.Join(sh.dir, "weft.db"))
	return cmd
}

// call runs a command and returns its exit code and what it printed.
func (sh shell) call(args ...string) (code int, printed string) {
	sh.Helper()
	cmd := sh.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if bad := (*exec.ExitError)(nil); err != nil && !errors.As(err, &bad) {
		sh.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// worker starts a worker, and returns when it works.
func (sh shell) worker(args ...string) *exec.Cmd {
	sh.Helper()
	cmd := sh.command(append([]string{"worker"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		sh.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		sh.Fatal(err)
	}
	sh.Cleanup(func() { kill(cmd) })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "working for ") {
		sh.Fatalf("the worker printed %q (%v), want that it works", line, err)
	}
	return cmd
}

// lines is a process of the command with its stderr.
type lines struct {
	*exec.Cmd
	*bufio.Scanner
	t *testing.T
}

// start starts a command.
func (sh shell) start(args ...string) lines {
	sh.Helper()
	cmd := sh.command(args...)
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		sh.Fatal(err)
	}
	sh.Cleanup(func() { kill(cmd) })
	return lines{cmd, bufio.NewScanner(out), sh.T}
}

// await reads stderr up to a line with text.
func (l lines) await(text string) {
	l.t.Helper()
	var read []string
	for l.Scan() {
		if read = append(read, l.Text()); strings.Contains(l.Text(), text) {
			return
		}
	}
	l.t.Fatalf("%v printed %q, want a line with %q", l.Args, read, text)
}

// code waits for the end of the process, and returns its exit code.
func (l lines) code() int {
	for l.Scan() { // Wait closes the pipe
	}
	_ = l.Wait() // the exit code is what counts
	return l.ProcessState.ExitCode()
}

// The steps do not end, and the worker and the caller would wait for them for an hour.
func TestSecondSignal_EndsWorkersAndClientsAtOnce(t *testing.T) {
	on := "temporal://" + shared.Address + "/default?queue=signals"
	sh := shell{T: t, dir: t.TempDir()}
	stuck := sh
	stuck.env = []string{stuckWorker + "=for ever"}
	twice := func(p lines, first string) {
		t.Helper()
		for _, text := range []string{first, ""} {
			if err := p.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if text != "" {
				p.await(text)
			}
		}
		if code := p.code(); code != 130 {
			t.Errorf("%v ended with the exit code %d after the second signal, want 130", p.Args, code)
		}
	}
	w := stuck.start("worker", "--engine", on, "stuck", "--drain", "1h", "--grace", "1h")
	stays := sh.start("run", "stuck", "--engine", on, "--thread", "stays")
	w.await("stuck: stays")
	leaves := sh.start("run", "stuck", "--engine", on, "--thread", "leaves")
	w.await("stuck: leaves")
	twice(leaves, "finishing the step")
	twice(w, "draining")
	sh.worker("--engine", on, "stuck")
	if code := stays.code(); code != 0 {
		t.Errorf("the run of the worker that was stopped ended with the exit code %d, want that another worker ends it", code)
	}
}

func TestTakeOver_FirstClientIsBusy(t *testing.T) {
	on := "temporal://" + shared.Address + "/default?queue=over"
	sh := shell{T: t, dir: t.TempDir(), env: []string{stuckWorker + "=" + untilCancelled}}
	w := sh.start("worker", "--engine", on, "stuck")
	first := sh.start("run", "stuck", "--engine", on, "--thread", "t")
	w.await("stuck: t")
	sh.start("run", "stuck", "--engine", on, "--thread", "t", "--new-turn", "--take-over")
	if code := first.code(); code != 5 {
		t.Errorf("the client whose run was taken over ended with the exit code %d, want 5", code)
	}
}

// A worker signs the answers that come as updates of the workflow.
func TestWorker_SignsDecisions(t *testing.T) {
	sh := shell{T: t, dir: t.TempDir()}
	pub, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	name := "sign-" + strings.ToLower(rand.Text())
	for file, text := range map[string]string{
		"release.yaml": strings.Replace(release, "name: release", "name: "+name, 1),
		"key":          string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	} {
		if err := os.WriteFile(filepath.Join(sh.dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	on := engineOf(name)
	sh.worker(append(on, "release.yaml", "--sign", "key")...)
	if code, printed := sh.call(append(on, "run", "release.yaml", "--thread", "r", "--input", "version=1")...); code != 4 {
		t.Fatalf("run: exit code %d, want 4\n%s", code, printed)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(sh.dir, "weft.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	at, err := graph.Inspect(t.Context(), store, checkpoint.Key{Thread: "r"})
	if err != nil || len(at.Interrupts) != 1 {
		t.Fatalf("the thread has %d questions (%v), want one", len(at.Interrupts), err)
	}
	answer := temporal.AnswerRequest{ID: at.Interrupts[0].ID, Value: json.RawMessage(`{"type":"approve"}`), By: "ann"}
	h, err := dial(t).UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{WorkflowID: name + "/r", UpdateName: temporal.AnswerUpdate,
		WaitForStage: client.WorkflowUpdateStageCompleted, Args: []any{answer}})
	if err == nil {
		err = h.Get(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	v, err := graph.VerifyThread(t.Context(), store, "r", pub)
	if err != nil || v.Signed != 1 || v.Unsigned != 0 {
		t.Errorf("the thread has %+v, %v; want one decision that the key of the worker has signed", v, err)
	}
}

func TestCommandLine_RunsOnTheEngine(t *testing.T) {
	sh := shell{T: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(sh.dir, "release.yaml"), []byte(release), 0o600); err != nil {
		t.Fatal(err)
	}
	queue := "cli-" + filepath.Base(filepath.Dir(sh.dir)) // no run of the test before has polled it
	on := "temporal://" + shared.Address + "/default?queue=" + queue
	want := func(what string, wantCode int, parts ...string) func(int, string) {
		return func(code int, printed string) {
			t.Helper()
			if code != wantCode {
				t.Errorf("%s: exit code %d, want %d\n%s", what, code, wantCode, printed)
			}
			for _, part := range parts {
				if !strings.Contains(printed, part) {
					t.Errorf("%s: got\n%s\nwant %q in it", what, printed, part)
				}
			}
		}
	}
	want("doctor without workers", 1, "runs Temporal", "no worker polls it", "do: start one with the verb worker", "namespace: default")(sh.call("doctor", "--engine", on))
	alone := sh.start("run", "release.yaml", "--engine", on, "--thread", "alone", "--input", "version=1.1")
	alone.await(`no worker polls task queue "` + queue + `" of namespace "default", and the run waits for one; start it with`)
	w := sh.worker("--engine", on, "release.yaml", "echo")
	if code := alone.code(); code != 4 {
		t.Errorf("the run that waited for a worker ended with the exit code %d, want 4", code)
	}
	want("doctor", 0, "workers that poll it: 1", "WeftGraph")(sh.call("doctor", "--engine", on+"&heartbeat=3s"))
	want("an unknown namespace", 2, `there is no namespace "x"`, "temporal operator namespace create")(sh.call("run", "release.yaml", "--engine", "temporal://"+shared.Address+"/x", "--input", "version=1"))
	want("doctor of an unknown namespace", 1, "danger", `there is no namespace "x"`)(sh.call("doctor", "--engine", "temporal://"+shared.Address+"/x"))
	want("an unknown mode", 2, `mode must be "segment" or "node"`, "mode is segment or node")(sh.call("run", "release.yaml", "--engine", on+"&mode=fast", "--input", "version=1"))
	want("run", 4, "Release 1.2?", "--engine")(sh.call("run", "release.yaml", "--engine", on, "--thread", "r1", "--input", "version=1.2"))
	want("run of the waiting thread", 4, "Release 1.2?")(sh.call("run", "release.yaml", "--engine", on, "--thread", "r1", "--input", "version=1.2"))
	elsewhere := sh
	elsewhere.dir = t.TempDir()
	want("another store", 1, "another store than the client")(elsewhere.call("run", filepath.Join(sh.dir, "release.yaml"), "--engine", on, "--thread", "other", "--input", "version=1.2"))
	want("inbox", 0, "Release 1.2?")(sh.call("inbox"))
	want("inbox approve", 0, "Release 1.2")(sh.call("inbox", "approve", "r1", "--engine", on))
	want("run", 4, "Release 1.3?")(sh.call("run", "release.yaml", "--engine", on, "--thread", "b", "--input", "version=1.3"))
	want("resume", 0, "Release 1.3")(sh.call("resume", "b", "--engine", on, "--answer", "yes"))
	want("history", 0, "ask")(sh.call("history", "b"))
	want("chat", 0, fmt.Sprintf("hello from process %d", w.Process.Pid))(sh.call("chat", "echo", "--engine", on, "--thread", "c", "--say", "hello"))
	want("an engine that is not there", 2, "cannot be used")(sh.call("run", "release.yaml", "--engine", "temporal://127.0.0.1:1/x", "--input", "version=1"))
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); err != nil {
		t.Errorf("the worker ended with %v after a signal", err)
	}
}
