//go:build unix

package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/internal/programtest"
	"github.com/weftrun/weft/internal/servertest"
)

var update = flag.Bool("update", false, "rewrite the transcript")

// build makes the program that the tests run, once.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "weft-assistant")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "assistant")
	return path, programtest.CopyUnraced(path)
})

func built(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMain checks that no test leaves a goroutine.
func TestMain(m *testing.M) {
	programtest.Main(main)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if path, err := build(); err == nil {
			_ = os.RemoveAll(filepath.Dir(path)) // a leftover in the temporary folder is harmless
		}
		os.Exit(code)
	}))
}

// place is a folder in which the program runs, each time in a new process.
type place struct {
	*testing.T
	program, dir string
	env          []string
}

// chat runs a process that sends these messages. It returns the command, its stdout, its stderr
// with "! " before each line, and its exit code if that is not 0.
func (p place) chat(messages ...string) string {
	p.Helper()
	args := []string{"chat", "--thread", "demo"}
	line := "$ assistant chat --thread demo"
	for _, s := range messages {
		args = append(args, "--say", s)
		line += fmt.Sprintf(" --say '%s'", s)
	}
	cmd := exec.Command(p.program, args...)
	cmd.Dir, cmd.Env = p.dir, append([]string{programtest.Variable, "HOME=" + p.dir}, p.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintln(&b, line)
	for l := range strings.Lines(stderr.String()) {
		b.WriteString("! " + l)
	}
	b.WriteString(strings.ReplaceAll(stdout.String(), p.program, "assistant"))
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		fmt.Fprintf(&b, "[%d]\n", code)
	}
	return b.String()
}

// file returns a file of the output, with its name above it.
func (p place) file(name string) string {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "out", name))
	if err != nil {
		p.Fatal(err)
	}
	return fmt.Sprintf("-- out/%s --\n%s", name, text)
}

// TestChat_MatchesTheTranscript runs a conversation on SQLite and on Redis, each turn and the
// approval in a new process. With -update it rewrites the golden file.
func TestChat_MatchesTheTranscript(t *testing.T) {
	program := built(t)
	for name, store := range map[string]func(*testing.T) string{
		"sqlite": func(*testing.T) string { return "sqlite:assistant.db" },
		"redis":  func(t *testing.T) string { return servertest.Redis(t) },
	} {
		t.Run(name, func(t *testing.T) {
			p := place{t, program, t.TempDir(), []string{"WEFT_STORE=" + store(t)}}
			var b strings.Builder
			for _, message := range []string{
				"which measurements of rain do we have?", "monthly totals of those for 2013", "plot it", "export it", "perhaps", "yes",
			} {
				b.WriteString(p.chat(message) + "\n")
			}
			b.WriteString(p.file("monthly-precipitation-and-rain_days-2013.csv"))
			b.WriteString(p.file("monthly-precipitation-and-rain_days-2013.svg"))
			compare(t, b.String())
		})
	}
}

func compare(t *testing.T, got string) {
	t.Helper()
	const golden = "testdata/transcript.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestChat_RejectsEditsAndClarifies(t *testing.T) {
	p := place{t, built(t), t.TempDir(), []string{"WEFT_STORE=sqlite:assistant.db"}}
	for _, c := range []struct {
		message string
		want    string // the end of the output
	}{
		{"plot it", "1. Of what? Ask for totals first, such as “monthly totals of rain for 2013”.\n\n"},
		{"monthly totals of rain", "1. Which time do you mean? There are data from 2012 to 2015.\n\n"},
		{"monthly totals of rain for 2031", "there are data from 2012 to 2015, not of 2031\n"},
		{"hello", "1. I know about Seattle's weather: ask which measurements there are.\n\n"},
		{"yearly wind for 2012", "| 2012 | 3.4 |\n\n"},
		{"export it", "[4]\n"},
		{"no, not yet", "Not done, as decided: write “Yearly wind, 2012” (export) was rejected: not yet\n\n"},
		{"export it", "[4]\n"},
		{`/edit {"name":"wind.csv"}`, "the question does not accept the JSON, and stays open: "},
		{`/edit {"file":"../wind.csv"}`, `That decision cannot be applied: "../wind.csv" is no name for a file`},
		{`/edit {"file":"wind.csv"}`, "1 rows are exported to out/wind.csv.\n\n"},
		{"plot rain", "The chart “Monthly precipitation and rain_days, 2012” is in out/monthly-precipitation-and-rain_days-2012.svg.\n\n"},
	} {
		got := p.chat(c.message)
		if strings.HasSuffix(c.want, "\n\n") || c.want == "[4]\n" {
			if !strings.HasSuffix(got, c.want) {
				t.Errorf("%s: got\n%s\nwant at its end %q", c.message, got, c.want)
			}
		} else if !strings.Contains(got, c.want) {
			t.Errorf("%s: got\n%s\nwant in it %q", c.message, got, c.want)
		}
	}
	if got := p.file("wind.csv"); got != "-- out/wind.csv --\nperiod,wind (m/s)\n2012,3.4\n" {
		t.Errorf("the file: %s", got)
	}
	files, err := filepath.Glob(filepath.Join(p.dir, "*.csv"))
	if err != nil || len(files) != 0 {
		t.Errorf("outside of the folder: %v, %v", files, err)
	}
}
