//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/programtest"
	"github.com/weftrun/weft/internal/servertest"
)

// place is a folder with a program, and the environment that it gets.
type place struct {
	t       *testing.T
	program string
	dir     string
	env     []string
}

func (p place) command(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(p.program, args...)
	cmd.Dir = p.dir
	cmd.Env = append(append(os.Environ(), programtest.Variable, "OPENAI_API_KEY=", "OPENAI_BASE_URL="), append(p.env, env...)...)
	return cmd
}

// must runs a command that ends with an exit code, and returns its output.
func (p place) must(code int, env []string, args ...string) string {
	p.t.Helper()
	cmd := p.command(env, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("%q: exit code %d, want %d\n%s%s", args, got, code, &stdout, &stderr)
	}
	return stdout.String()
}

// reply returns the reply on a thread.
func (p place) reply(thread string) string {
	p.t.Helper()
	return strings.TrimSpace(p.must(0, nil, "state", thread, "--path", "reply"))
}

func (p place) expect(what, got, want string) {
	p.t.Helper()
	if got != want {
		p.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// TestTriage_OnEachStore takes a refund through an edit, a kill and a second turn.
func TestTriage_OnEachStore(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "triage")
	if err := programtest.CopyUnraced(program); err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]func(t *testing.T) string{
		"sqlite": func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "triage.db") },
		"redis":  func(t *testing.T) string { return servertest.Redis(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			payments := filepath.Join(dir, "payments")
			p := place{t, program, dir, []string{"WEFT_STORE=" + address(t), "TRIAGE_PAYMENTS=" + payments}}
			out := p.must(4, nil, "run", "triage", "--thread", "ada", "--input", "message=my kettle A-17 arrived broken")
			if !strings.Contains(out, `"amount": 39.9`) || !strings.Contains(out, "approve, edit, reject") {
				t.Errorf("the question is\n%s", out)
			}
			// The process dies after the payment and before its result is stored.
			p.must(-1, []string{"TRIAGE_CRASH=1"}, "inbox", "edit", "--thread", "ada", "--args", `{"order":"A-17","amount":20}`)
			p.must(0, nil, "resume", "--thread", "ada")
			p.expect("after the edit", p.reply("ada"), "I have refunded 20.00 for A-17.")
			paid, err := os.ReadFile(payments)
			if lines := strings.Fields(string(paid)); err != nil || len(lines) != 3 || lines[1] != "A-17" || lines[2] != "20.00" {
				t.Errorf("the file has %q, %v, want one payment of 20.00", paid, err)
			}
			p.must(0, nil, "run", "triage", "--thread", "ada", "--input", "message=what did you refund?")
			p.expect("in the next turn", p.reply("ada"), "Earlier: I have refunded 20.00 for A-17.")
			p.expect("what is remembered", p.must(0, nil, "state", "ada", "--path", "customer"), `["asked about broken","asked about other"]`+"\n")
			p.expect("documents of the last turn", p.must(0, nil, "state", "ada", "--path", "documents"), "[]\n")

			p.must(4, nil, "run", "triage", "--thread", "bob", "--input", "message=cup A-18 arrived broken")
			p.must(0, nil, "inbox", "reject", "--thread", "bob", "--message", "too late")
			if got := p.reply("bob"); !strings.Contains(got, "I could not refund it") || !strings.Contains(got, "too late") {
				t.Errorf("after the rejection: %s", got)
			}
			p.must(0, []string{"TRIAGE_DOWN=orders"}, "run", "triage", "--thread", "eve", "--input", "message=where is my delivery?")
			p.expect("without a source", p.reply("eve"), "I know this: one source cannot be reached now\nParcels arrive within three days.")
			p.must(4, []string{"TRIAGE_DOWN=model"}, "run", "triage", "--thread", "dan", "--input", "message=it arrived broken, A-19")
			p.expect("the topic without a model", p.must(0, nil, "state", "dan", "--path", "topic"), "broken\n")
		})
	}
}

// TestMain_IsShort counts the lines of the agent.
func TestMain_IsShort(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("main.go")
	if n := bytes.Count(text, []byte("\n")); err != nil || n >= 200 {
		t.Errorf("main.go has %d lines, %v, want under 200", n, err)
	}
}
