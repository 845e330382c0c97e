package verbs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// play is a command of a script, with what it printed.
type play struct {
	words  []string
	stdout string
	failed bool // its exit code is not 0
}

var exitCode = regexp.MustCompile(`^\[\d+\]\n?$`)

// plays reads the commands of all scripts.
func plays(t *testing.T) (all []play) {
	t.Helper()
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut("\n"+string(text), "\n-- ")
		for _, part := range strings.Split(script, "\n$ weft")[1:] {
			command, printed, _ := strings.Cut(part, "\n")
			p := play{words: strings.Fields(command)}
			for line := range strings.Lines(printed) {
				switch {
				case exitCode.MatchString(line):
					p.failed = true
				case strings.HasPrefix(line, "! "), strings.HasPrefix(line, "#: "), strings.HasPrefix(line, "% "):
				default:
					p.stdout += line
				}
			}
			all = append(all, p)
		}
	}
	return all
}

// paths returns every verb and subverb, as the words that call it.
func paths(cmds []*cobra.Command, before ...string) (all [][]string) {
	for _, cmd := range cmds {
		path := append(slices.Clone(before), cmd.Name())
		all = append(append(all, path), paths(cmd.Commands(), path...)...)
	}
	return all
}

// everyVerb returns paths of all verbs, with those that are arguments of inbox.
func everyVerb() [][]string {
	all := paths(newApp(Config{Args: []string{}}).verbs())
	for _, word := range append([]string{"show"}, decisionWords...) {
		all = append(all, []string{"inbox", word})
	}
	return all
}

func (p play) calls(path []string) bool {
	return len(p.words) >= len(path) && slices.Equal(p.words[:len(path)], path)
}

// daemons are the verbs that run until a signal; see TestServe_JSON and TestMCP_RunsAndAnswers.
var daemons = []string{"serve", "dev", "worker", "mcp"}

// TestScripts_CoverEveryVerb wants of each verb, and each verb below one, a command that succeeds,
// one that fails, and one that prints JSON, in testdata/scripts. A script cannot stop a daemon, so
// those have only the failures there.
func TestScripts_CoverEveryVerb(t *testing.T) {
	all := plays(t)
	for _, path := range everyVerb() {
		daemon := slices.Contains(daemons, path[0])
		done, failed, asJSON := daemon, false, daemon
		for _, p := range all {
			if !p.calls(path) {
				continue
			}
			done, failed = done || !p.failed, failed || p.failed
			if slices.Contains(p.words, "--json") && !p.failed {
				asJSON = true
				p.mustBeJSON(t)
			}
		}
		if name := strings.Join(path, " "); !done || !failed || !asJSON {
			t.Errorf("rule: scripts have each verb with its outputs and exit codes\nweft %s: succeeds %t, fails %t, with --json %t; write it into testdata/scripts", name, done, failed, asJSON)
		}
	}
}

// settledJSON makes what a script has in place of numbers and times JSON again.
var settledJSON = strings.NewReplacer(":VERSION", ":0")

func (p play) mustBeJSON(t *testing.T) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(settledJSON.Replace(p.stdout)))
	for dec.More() {
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Errorf("weft %s: stdout is not JSON: %v\n%s", strings.Join(p.words, " "), err, p.stdout)
			return
		}
	}
}
