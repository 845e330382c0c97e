//go:build unix

package nodes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

// execFile is a workflow with one node of the kind exec.
func execFile(t *testing.T, dir, params string, env map[string]string) *workflow.Workflow {
	t.Helper()
	write(t, dir, "exec.yaml", "version: 1\nsecrets: {key: \"${env:KEY}\"}\nstate: {n: {type: int, default: 4}, got: any, code: string}\n"+
		"nodes:\n  run:\n    exec: "+params+"\n    output: {got: \"${{ result.json }}\"}\n    next: END\n")
	w, err := workflow.Load(filepath.Join(dir, "exec.yaml"), workflow.Options{
		Kinds: nodes.Kinds(), AllowExec: true,
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestExec_Results(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "echo.sh", "#!/bin/sh\ncat\n")
	if err := os.Chmod(filepath.Join(dir, "echo.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, params, want, code, reason string
		stderr                           int // bytes of ExecError.Stderr, if it is not 0
	}{
		{name: "input and output", params: `{command: [cat], input: {n: "${{ state.n }}"}}`, want: `{"n":4}`},
		{name: "no input", params: `{command: [cat]}`, want: `null`},
		{name: "a program of the folder", params: `{command: [./echo.sh], input: [1, x]}`, want: `[1,"x"]`},
		{name: "a pipe that is not read", params: `{command: [echo, "true"], input: {long: "${{ state.n }}"}}`, want: `true`},
		{name: "the environment", params: `{command: [sh, -c, 'echo "\"$A $B $HOME\""'], env: [A]}`, want: `"of a  "`},
		{name: "an exit status", params: `{command: [sh, -c, "echo no $KEY >&2; exit 3"], env: [KEY]}`, code: "exec:3", reason: "sh: exit status 3: no [secret key]"},
		{name: "a signal", params: `{command: [sh, -c, "kill -9 $$"]}`, code: "exec:signal", reason: "sh: signal: killed"},
		{name: "a timeout", params: `{command: [sh, -c, "echo slow >&2; sleep 100"], timeout: 100ms}`, code: "exec_timeout", reason: "sh: it did not end within 100ms"},
		{name: "no JSON", params: `{command: [echo, hello]}`, code: "exec_output", reason: `echo: the output is not JSON: `},
		{name: "nothing", params: `{command: ["true"]}`, code: "exec_output", reason: `true: the output is not JSON: `},
		{name: "two values", params: `{command: [echo, 1 2]}`, code: "exec_output", reason: `echo: the output is not JSON: `},
		{name: "too large", params: `{command: [sh, -c, "yes 1"]}`, code: "exec_too_large", reason: "sh: the output is too large: it is larger than 16777216 bytes"},
		{name: "an unknown program", params: `{command: [weft-test-nothing]}`, code: "exec_refused", reason: "executable file not found"},
		{name: "a long standard error", params: `{command: [sh, -c, "head -c 300000 /dev/zero | tr '\\0' x >&2; exit 1"]}`, code: "exec:1", reason: "sh: exit status 1: …" + strings.Repeat("x", 2<<10), stderr: 64 << 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			own := t.TempDir()
			write(t, own, "echo.sh", "#!/bin/sh\ncat\n")
			_ = os.Chmod(filepath.Join(own, "echo.sh"), 0o700)
			w := execFile(t, own, test.params, map[string]string{"A": "of a", "KEY": "opensesame"})
			if err := w.CheckEnv(); err != nil && test.code == "" {
				t.Fatal(err)
			}
			out, err := outputOf(t, w)
			var failed *nodes.ExecError
			switch {
			case test.code == "":
				got, _ := out.Get("got")
				if data, _ := json.Marshal(got); err != nil || string(data) != test.want {
					t.Errorf("got %s, %v, want %s", data, err, test.want)
				}
			case !strings.Contains(fmt.Sprint(err), test.reason) || len(err.Error()) > len(test.reason)+1000:
				t.Errorf("error %.300v, want %.100q", err, test.reason)
			case errors.As(err, &failed) && failed.Code() != test.code:
				t.Errorf("code %s, want %s", failed.Code(), test.code)
			case strings.Contains(err.Error(), "opensesame"):
				t.Errorf("the error contains the secret: %v", err)
			case test.stderr != 0 && (failed == nil || len(failed.Stderr) != test.stderr):
				t.Errorf("the error is %T, want an ExecError with %d bytes of the standard error", err, test.stderr)
			}
		})
	}
}

func TestExec_LimitsTheInput(t *testing.T) {
	t.Parallel()
	env := workflow.Env{Root: t.TempDir(), AllowExec: true}
	for _, persistent := range []bool{false, true} {
		e := &nodes.Exec{Command: []string{"cat"}, Input: strings.Repeat("x", 16<<20-1), Persistent: persistent} // and two quotes
		_, err := e.Run(t.Context(), env)
		var failed *nodes.ExecError
		if !errors.As(err, &failed) || failed.Code() != "exec_too_large" || !strings.Contains(err.Error(), "the input has 16777217 bytes") {
			t.Errorf("persistent %t: error %v, want exec_too_large", persistent, err)
		}
	}
}

func TestExec_NeedsPermission(t *testing.T) {
	t.Parallel()
	src := "version: 1\nnodes:\n  run: {exec: {command: [touch, made], env: [NONE]}, next: END}\n"
	dir := t.TempDir()
	o := workflow.Options{Kinds: nodes.Kinds(), Root: dir, LookupEnv: func(string) (string, bool) { return "", false }}
	for _, allowed := range []bool{false, true} {
		o.AllowExec = allowed
		w, err := workflow.Parse(filepath.Join(dir, "in.yaml"), []byte(src), o)
		if err != nil {
			t.Fatal(err)
		}
		want := "allow it with --allow-exec, or with AllowExec in Go"
		if allowed {
			want = "the environment variable NONE is not set"
		}
		_, runErr := outputOf(t, w)
		for _, err := range []error{w.CheckEnv(), runErr} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("allowed %t: error %v, want %q", allowed, err, want)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("the program has run")
	}
}

func TestExec_Mistakes(t *testing.T) {
	t.Parallel()
	src := `version: 1
state: {x: string}
nodes:
  a: {exec: {command: []}, next: b}
  b: {exec: {command: ["${{ state.x }}"]}, next: c}
  c: {exec: {command: [cat], env: ["A=B"]}, next: d}
  d: {exec: {input: 1}, next: END}
`
	_, err := workflow.Parse("in.yaml", []byte(src), workflow.Options{Kinds: nodes.Kinds()})
	wantProblems(t, err, []string{
		`in.yaml:4:13: error[WF504]: exec: command must name a program`,
		`in.yaml:5:13: error[WF504]: exec: command must be constant in the file, and not empty or zero`,
		`in.yaml:6:13: error[WF504]: exec: env must have names of variables, not "A=B"`,
		`in.yaml:7:13: error[WF502]: exec needs command`,
	})
}

// worker replies with its process id and the number of the call. It dies at the input "die", sleeps
// at "sleep", gives a wrong id at "wrong" and an error at "fail".
const worker = `#!/bin/sh
n=0
while read -r line; do
  n=$((n+1))
  id=$(printf %s "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
  case $line in
    *'"die"'*) echo bye >&2; exit 7 ;;
    *'"sleep"'*) sleep 100 ;;
    *'"wrong"'*) echo '{"id":"x","result":1}' ;;
    *'"fail"'*) echo "{\"id\":\"$id\",\"error\":\"it does not score\"}" ;;
    *) echo "{\"id\":\"$id\",\"result\":\"$$ $n\"}" ;;
  esac
done
`

func TestExec_Persistent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "worker.sh", worker)
	var pid string
	for i, step := range []struct {
		input, code, reason string
		calls               int // of the worker, 1 for a new one
	}{
		{input: "a", calls: 1},
		{input: "b", calls: 2},
		{input: "die", code: "exec:7", reason: "bye"},
		{input: "c", calls: 1},
		{input: "wrong", code: "exec_output", reason: "the line is no reply"},
		{input: "d", calls: 1},
		{input: "sleep", code: "exec_timeout", reason: "did not end within 2s"},
		{input: "e", calls: 1},
		{input: "fail", code: "exec_error", reason: "it does not score"},
		{input: "f", calls: 3}, // an error of the program does not end it
	} {
		w := execFile(t, dir, fmt.Sprintf(`{command: [sh, worker.sh], persistent: true, input: %s, timeout: 2s}`, step.input), nil)
		out, err := outputOf(t, w)
		if step.code != "" {
			var failed *nodes.ExecError
			if !errors.As(err, &failed) || failed.Code() != step.code || !strings.Contains(err.Error(), step.reason) {
				t.Errorf("%d: error %v, want %s with %q", i, err, step.code, step.reason)
			}
			continue
		}
		got, _ := out.Get("got")
		text, _ := got.(string)
		id, calls, _ := strings.Cut(text, " ")
		if err != nil || calls != fmt.Sprint(step.calls) || step.calls > 1 && id != pid {
			t.Errorf("%d: got %q, %v, want call %d of process %s", i, text, err, step.calls, pid)
		}
		pid = id
	}
}

// TestExec_EndsTheProcessesOfTheProgram starts a program that leaves a process behind.
func TestExec_EndsTheProcessesOfTheProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := execFile(t, dir, `{command: [sh, -c, "sleep 1000 & echo $! > pid; echo 1"]}`, nil)
	if _, err := outputOf(t, w); err != nil {
		t.Fatal(err)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	stat := "/proc/" + strings.TrimSpace(string(pid)) + "/stat"
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		text, err := os.ReadFile(stat)
		if err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("process %s is still there", pid)
}
