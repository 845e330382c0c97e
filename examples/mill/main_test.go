package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/programtest"
)

// TestMain_HasFewerThan15Lines counts the lines that are neither empty nor comments.
func TestMain_HasFewerThan15Lines(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	if n == 0 || n >= 15 {
		t.Errorf("main.go has %d lines, want under 15: nodes, capabilities, tools and graphs are registered in one call", n)
	}
	for _, what := range []string{"Nodes:", "Capabilities:", "Tools:", "Graphs:", "Name:"} {
		if !strings.Contains(string(text), what) {
			t.Errorf("main.go registers no %s", what)
		}
	}
}

// decided matches the interface and the time of a decision.
var decided = regexp.MustCompile(`\(cli, [^)]*\)`)

func TestMill_HasAllVerbs(t *testing.T) {
	dir := t.TempDir()
	mill := filepath.Join(dir, "mill")
	if err := programtest.CopyUnraced(mill); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"validate flour.yaml", "flour.yaml: ok\n", 0},
		{"run flour.yaml --thread monday --input grain=rye", "weight: 30\nkg: 40\ntext: RYE FLOUR\n", 0},
		{"run order --thread small --input sacks=9", "sacks: 9\ngranted: true\n", 0},
		{"run order --thread tuesday --input sacks=12", "Sell 12 sacks?\n(asked by the node \"grant\"; true or false)\nAnswer with:\n  " + mill + " resume --thread tuesday --answer true\n", 4},
		{"resume --thread tuesday --answer true --by ann", "sacks: 12\ngranted: true\n", 0},
		{"state --thread tuesday --path granted", "true\n", 0},
		{"diff tuesday 1 2", "thread tuesday, checkpoint 1 to 2\n\ngranted: nothing → true\n    by grant in step 1, checkpoint 2\n\nthe way there:\n  2  turn 1, step 1: grant\n\nthe decisions on the way:\n  1  approve grant: Sell 12 sacks?, by ann (cli, TIME)\n", 0},
		{"replay tuesday --yes", "1 step came out as recorded\n", 0},
	} {
		cmd := exec.Command(mill, strings.Fields(c.args)...)
		cmd.Env = append(os.Environ(), programtest.Variable, "XDG_STATE_HOME="+dir, "WEFT_STORE=")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		out = decided.ReplaceAll(out, []byte("(cli, TIME)"))
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != c.code || string(out) != c.want {
			t.Errorf("mill %s: exit code %d, want %d\n%s\nwant\n%s\nstderr: %s", c.args, code, c.code, out, c.want, stderr.String())
		}
	}
}
