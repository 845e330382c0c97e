//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/programtest"
	"github.com/weftrun/weft/internal/servertest"
)

// TestCard_OnEachStore runs each turn in a process of its own, one of which is killed.
func TestCard_OnEachStore(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "card")
	if err := programtest.CopyUnraced(program); err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]func(t *testing.T) string{
		"sqlite": func(t *testing.T) string { return filepath.Join(t.TempDir(), "card.db") },
		"redis":  func(t *testing.T) string { return servertest.Redis(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := address(t)
			for _, c := range []struct {
				args []string
				want string // "" if the process is killed
			}{
				{args: strings.Fields("find the station and read 2013"), want: `this turn
  task: find the station and read 2013
  step: find, done: true
  step: read, done: true
the thread
  context: RAIN.read {"mm":828,"year":"2013"}
  context: STATION.find {"name":"Seattle"}
  messages: 2
`},
				{args: strings.Fields("-crash read read 2014")},
				{want: `this turn
  task: read 2014
  step: read, done: true
the thread
  context: RAIN.read {"mm":1232.8,"year":"2014"}
  context: STATION.find {"name":"Seattle"}
  messages: 4
`},
				{args: strings.Fields("draw it"), want: `this turn
  task: draw it
  step: draw, done: true
the thread
  context: CHART.draw {"text":"2014 ############"}
  context: RAIN.read {"mm":1232.8,"year":"2014"}
  context: STATION.find {"name":"Seattle"}
  messages: 6
`},
			} {
				line := strings.TrimSuffix("go run ./examples/card "+strings.Join(c.args, " "), " ") + "\n"
				if !strings.Contains(string(readme), line) {
					t.Errorf("README.md does not have the command: %s", line)
				}
				cmd := exec.Command(program, append([]string{"-store", where}, c.args...)...)
				cmd.Env = append(os.Environ(), programtest.Variable)
				out, err := cmd.CombinedOutput()
				if (err == nil) != (c.want != "") || string(out) != c.want {
					t.Fatalf("%q: %v\n%s\nwant\n%s", c.args, err, out, c.want)
				}
			}
		})
	}
}
