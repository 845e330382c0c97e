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
)

// release asks a person with the kind approval, and continues with the answer.
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

// program puts the command into dir and returns its path.
func program(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "weft")
	if err := programtest.Copy(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// call runs a program in the root of the module, with the state directory dir/state.
func call(t *testing.T, dir string, name string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return callWith(t, dir, nil, name, args...)
}

// callWith is call with more variables in the environment.
func callWith(t *testing.T, dir string, env []string, name string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), programtest.Variable, "XDG_STATE_HOME="+filepath.Join(dir, "state"), "WEFT_STORE=")
	cmd.Env = append(cmd.Env, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestRun_AsksAndResumes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	weft, file := program(t, dir), filepath.Join(dir, "release.yaml")
	if err := os.WriteFile(file, []byte(release), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := call(t, dir, weft, "run", file, "--thread", "demo", "--input", "version=1.0")
	want := "Release 1.0\n\nRelease 1.0?\n(asked by the node \"ask\"; approve, reject)\nAnswer with:\n  " +
		weft + " inbox approve --thread demo\n"
	if code != 4 || stdout != want {
		t.Fatalf("run: exit code %d, want 4\n%s\nwant\n%s\nstderr: %s", code, stdout, want, stderr)
	}
	code, stdout, stderr = call(t, dir, weft, "inbox", "approve", "--thread", "demo")
	if want := "approved: true\nnotes: Release 1.0\n"; code != 0 || stdout != want {
		t.Errorf("inbox approve: exit code %d, want 0\n%s\nwant\n%s\nstderr: %s", code, stdout, want, stderr)
	}
}

func TestRun_NextCommandNamesGoRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "release.yaml")
	if err := os.WriteFile(file, []byte(release), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stdout, stderr := call(t, dir, "go", "run", "-ldflags=-w", "./cmd/weft", "run", file, "--thread", "demo", "--input", "version=1.0")
	if !strings.Contains(stdout, "\n  go run ./cmd/weft inbox approve --thread demo\n") || !strings.HasSuffix(stderr, "exit status 4\n") {
		t.Errorf("stdout: %s\nstderr: %s", stdout, stderr)
	}
}
