package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/programtest"
)

func TestMain(m *testing.M) {
	programtest.Main(main)
	os.Exit(m.Run())
}

// The commands of the package doc, with a report for a build server.
func TestProgram_JudgesAChangeByRecordedThreads(t *testing.T) {
	dir := t.TempDir()
	program := func(code int, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), os.Args[0], append(args, "--store", "sqlite:"+filepath.Join(dir, "weft.db"))...)
		c.Env = append(os.Environ(), programtest.Variable)
		out, err := c.CombinedOutput()
		if got := c.ProcessState.ExitCode(); got != code {
			t.Fatalf("%q ends with %d, %v, want %d\n%s", args, got, err, code, out)
		}
		return string(out)
	}
	has := func(out string, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), line) {
				t.Errorf("got\n%s\nwant a line %q", out, line)
			}
		}
	}
	program(0, "run", "answer.yaml", "--thread", "fr", "--input", "question=The capital of France?")
	program(0, "run", "answer.yaml", "--thread", "au", "--input", "question=The capital of Australia?")
	has(program(0, "replay", "--all", "answer.yaml", "--yes"), "au ok", "fr ok", "0 failed")
	report := filepath.Join(dir, "report.xml")
	has(program(1, "test", "short.yaml", "--recorded", "--yes"), "au failed", `fr failed - reply was "The capital of France is Paris." and is "Paris"`)
	has(program(1, "test", "short.yaml", "--recorded", "--yes", "--judge", "judge.yaml", "--junit", report),
		"au failed 0 another city", "fr ok 1 -", "2 threads, 1 failed, 0 skipped")
	if xml, err := os.ReadFile(report); err != nil || !strings.Contains(string(xml), `tests="2"`) || !strings.Contains(string(xml), "another city") {
		t.Errorf("the report is %s, %v", xml, err)
	}
	has(program(0, "test", "judge.yaml"), "1 test, 0 failed")
}
