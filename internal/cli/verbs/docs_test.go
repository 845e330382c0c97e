package verbs

import (
	"bytes"
	"context"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weftrun/weft/internal/cli/reports"
)

var update = flag.Bool("update", false, "write the texts of --help into docs/cli.md")

// synopsis returns the usage and the flags of a verb, and then those of each below it.
func synopsis(t *testing.T, cmd *cobra.Command, before ...string) string {
	t.Helper()
	path := append(slices.Clone(before), cmd.Name())
	text := usageOf(t, path)
	for _, sub := range cmd.Commands() {
		text += "\n" + synopsis(t, sub, path...)
	}
	return text
}

// usageOf returns the usage and the flags of one verb, as --help prints them.
func usageOf(t *testing.T, path []string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := Config{Args: append(slices.Clone(path), "--help"), Stdout: &stdout, Stderr: &stderr, Stores: map[string]Opener{"redis": nil}}
	if code := Main(context.Background(), c); code != reports.ExitDone {
		t.Fatalf("%v --help: exit code %d\n%s", path, code, stderr.String())
	}
	_, usage, _ := strings.Cut(stdout.String(), "Usage:\n")
	usage, _, _ = strings.Cut(usage, "\nGlobal Flags:")
	var b strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(usage, "  ")) {
		if !strings.Contains(line, "-h, --help ") && line != "\n" && line != "Flags:\n" {
			b.WriteString(line)
		}
	}
	return b.String()
}

// docs/cli.md has a section "## weft VERB" for each verb. A block in it contains the synopsis of
// the verb and of the verbs below it. With -update the test writes the blocks.
func TestPage_MatchesHelp(t *testing.T) {
	const path, head, open, shut = "../../../docs/cli.md", "\n## weft ", "```text\n", "```\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var verbs, there []string
	commands := newApp(Config{Args: []string{}}).verbs()
	for _, cmd := range commands {
		verbs = append(verbs, cmd.Name())
	}
	sections := strings.Split(string(page), head)
	for i, section := range sections[1:] {
		verb, _, _ := strings.Cut(section, "\n")
		before, rest, ok1 := strings.Cut(section, open)
		block, after, ok2 := strings.Cut(rest, shut)
		there = append(there, verb)
		if !ok1 || !ok2 || !slices.Contains(verbs, verb) {
			t.Errorf("docs/cli.md: section %q is of no verb, or has no block with its synopsis", verb)
			continue
		}
		want := synopsis(t, commands[slices.Index(verbs, verb)])
		if block != want && !*update {
			t.Errorf("docs/cli.md, weft %s: got\n%swant the text of --help (go test ./internal/cli/verbs -run Page -update writes it)\n%s", verb, block, want)
		}
		sections[i+1] = before + open + want + shut + after
	}
	if !slices.Equal(there, verbs) {
		t.Errorf("docs/cli.md has the verbs\n%v\nwant these, in this order\n%v", there, verbs)
	}
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(sections, head)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
