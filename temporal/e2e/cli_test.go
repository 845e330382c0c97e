package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/temporal/engine"
	"github.com/weftrun/weft/weftcli"
	"github.com/weftrun/weft/weftcli/stock"
)

// asProgram is the environment variable that makes the test binary the command weft.
const asProgram = "WEFT_TEST_AS_PROGRAM"

// beProgram makes this process the command line with the engine, if its environment says so.
func beProgram() {
	if os.Getenv(asProgram) == "" {
		return
	}
	c := stock.Config()
	c.Engines = map[string]weftcli.EngineOpener{engine.Scheme: engine.Open}
	c.Chats = map[string]weftcli.Chat{"echo": openEcho}
	c.Graphs = map[string]weftcli.Graph{"count": openCounting}
	weftcli.Main(c) // does not return
}

// openEcho returns an agent that repeats what is said, and the process that says it.
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

// desk is a folder in which commands are given.
type desk struct {
	*testing.T
	dir string
	env []string
}

// command returns a command of the program.
func (d desk) command(args ...string) *exec.Cmd {
	d.Helper()
	exe, err := os.Executable()
	if err != nil {
		d.Fatal(err)
	}
	cmd := exec.CommandContext(d.Context(), exe, args...)
	cmd.Dir = d.dir
	cmd.Env = append(append(os.Environ(), d.env...), asProgram+"=1", "WEFT_STORE=sqlite:"+filepath.Join(d.dir, "weft.db"))
	return cmd
}

// call gives a command and returns its exit code and what it printed.
func (d desk) call(args ...string) (code int, printed string) {
	d.Helper()
	cmd := d.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if bad := (*exec.ExitError)(nil); err != nil && !errors.As(err, &bad) {
		d.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// worker starts a worker, and returns when it works.
func (d desk) worker(args ...string) *exec.Cmd {
	d.Helper()
	cmd := d.command(append([]string{"worker"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		d.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { kill(cmd) })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "working for ") {
		d.Fatalf("the worker printed %q (%v), want that it works", line, err)
	}
	return cmd
}

func TestCommandLine_RunsOnTheEngine(t *testing.T) {
	d := desk{T: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(d.dir, "release.yaml"), []byte(release), 0o600); err != nil {
		t.Fatal(err)
	}
	on := "temporal://" + shared.Address + "/default?queue=cli"
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
	w := d.worker("--engine", on, "release.yaml", "echo")
	want("run", 4, "Release 1.2?", "--engine")(d.call("run", "release.yaml", "--engine", on, "--thread", "r1", "--input", "version=1.2"))
	want("run of the waiting thread", 4, "Release 1.2?")(d.call("run", "release.yaml", "--engine", on, "--thread", "r1", "--input", "version=1.2"))
	want("inbox", 0, "Release 1.2?")(d.call("inbox"))
	want("inbox approve", 0, "Release 1.2")(d.call("inbox", "approve", "r1", "--engine", on))
	want("run", 4, "Release 1.3?")(d.call("run", "release.yaml", "--engine", on, "--thread", "b", "--input", "version=1.3"))
	want("resume", 0, "Release 1.3")(d.call("resume", "b", "--engine", on, "--answer", "yes"))
	want("history", 0, "ask")(d.call("history", "b"))
	want("chat", 0, fmt.Sprintf("hello from process %d", w.Process.Pid))(d.call("chat", "echo", "--engine", on, "--thread", "c", "--say", "hello"))
	want("an engine that is not there", 2, "cannot be used")(d.call("run", "release.yaml", "--engine", "temporal://127.0.0.1:1/x", "--input", "version=1"))
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); err != nil {
		t.Errorf("the worker ended with %v after a signal", err)
	}
}
