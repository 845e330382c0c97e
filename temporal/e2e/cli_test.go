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

// program is the command line with the engine. It ends the process.
func program() {
	c := stock.Config()
	c.Engines = map[string]weftcli.EngineOpener{engine.Scheme: engine.Open}
	c.Chats = map[string]weftcli.Chat{"echo": openEcho}
	c.Graphs = map[string]weftcli.Graph{"count": openCounting}
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
	cmd.Env = append(append(os.Environ(), sh.env...), asProgram+"=1", "WEFT_STORE=sqlite:"+filepath.Join(sh.dir, "weft.db"))
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

func TestCommandLine_RunsOnTheEngine(t *testing.T) {
	sh := shell{T: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(sh.dir, "release.yaml"), []byte(release), 0o600); err != nil {
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
	w := sh.worker("--engine", on, "release.yaml", "echo")
	want("run", 4, "Release 1.2?", "--engine")(sh.call("run", "release.yaml", "--engine", on, "--thread", "r1", "--input", "version=1.2"))
	want("run of the waiting thread", 4, "Release 1.2?")(sh.call("run", "release.yaml", "--engine", on, "--thread", "r1", "--input", "version=1.2"))
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
