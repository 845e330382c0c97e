package verbs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/programtest"
)

// program is the path of the command line with the nodes of testProgram.
var program string

func TestMain(m *testing.M) {
	programtest.Main(testProgram)
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "weft-cli")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "weft")
	if err := programtest.CopyUnraced(program); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// place is a folder for one test, with a store and workflows in it.
type place struct {
	*testing.T
	dir string
}

func newPlace(t *testing.T) place {
	t.Helper()
	return place{t, t.TempDir()}
}

func (p place) path(name string) string { return filepath.Join(p.dir, name) }

// write makes a file and returns its path.
func (p place) write(name, text string) string {
	p.Helper()
	if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
	return p.path(name)
}

// ended is how a process ended.
type ended struct {
	code           int // -1 if a signal killed it
	stdout, stderr string
}

// command returns a call of the program in the test's folder, with nothing of the
// user's environment that could change what it does.
func (p place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = p.dir
	cmd.Env = []string{"HOME=" + p.dir, "PATH=" + os.Getenv("PATH"), "TZ=UTC", programtest.Variable}
	return cmd
}

func (p place) run(args ...string) ended { p.Helper(); return p.finish(p.command(args...)) }

func (p place) finish(cmd *exec.Cmd) ended { p.Helper(); return p.finishAll(cmd)[0] }

// finishAll runs commands at the same time and returns how each of them ended.
func (p place) finishAll(cmds ...*exec.Cmd) []ended {
	p.Helper()
	stdout, stderr := make([]bytes.Buffer, len(cmds)), make([]bytes.Buffer, len(cmds))
	errs := make([]error, len(cmds))
	for i, cmd := range cmds {
		cmd.Stdout, cmd.Stderr = &stdout[i], &stderr[i]
		errs[i] = cmd.Start()
	}
	all := make([]ended, len(cmds))
	for i, cmd := range cmds {
		if errs[i] == nil {
			errs[i] = cmd.Wait()
		}
		all[i] = ended{cmd.ProcessState.ExitCode(), stdout[i].String(), stderr[i].String()}
	}
	for _, err := range errs {
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			p.Fatal(err)
		}
	}
	return all
}

// must runs a command that has to end with this code.
func (p place) must(code int, args ...string) ended {
	p.Helper()
	e := p.run(args...)
	if e.code != code {
		p.Fatalf("%s: exit code %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), e.code, code, e.stdout, e.stderr)
	}
	return e
}

// worklogFile is the workflow of the crash tests: a fan-out, a join, an approval.
func worklogFile(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/worklog.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// one returns a workflow of one node, with a field for text and one for the worklog.
func one(node string) string {
	return `version: 1
name: one
state:
  worklog: {type: string, default: worklog}
  topic: {type: string, default: go}
  count: int
  result: any
input: [worklog, topic, count]
output: [result]
nodes:
  only:
` + node + `
    output: {result: "${{ result }}"}
    next: END
`
}

// asking is a workflow that asks for a text.
var asking = one("    uses: go:ask\n    with: {worklog: x, name: \"${{ state.topic }}\"}")
