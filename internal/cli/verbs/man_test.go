package verbs_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestEveryVerbHasAPageThatManReads(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	files := strings.Fields(p.must(0, "man", "pages").stdout)
	help := p.must(0, "--help").stdout
	verbs := strings.Count(help[strings.Index(help, "Available Commands:"):strings.Index(help, "\nFlags:")], "\n  ")
	if len(files) != verbs { // help has none, and the program has one
		t.Errorf("there are %d pages of %d verbs", len(files), verbs)
	}
	for _, file := range files {
		text, err := os.ReadFile(p.path(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{".TH \"WEFT", "\n.SH NAME\nweft", "\n.SH SYNOPSIS\n.B weft", "\n.SH OPTIONS\n.nf\n "} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %q", file, part)
			}
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, ".") && !strings.HasPrefix(line, ".TH ") && !strings.HasPrefix(line, ".SH ") && !strings.HasPrefix(line, ".TP") &&
				!strings.HasPrefix(line, ".B ") && !strings.HasPrefix(line, ".PP") && !strings.HasPrefix(line, ".nf") && !strings.HasPrefix(line, ".fi") {
				t.Errorf("%s: %q is read as a request", file, line)
			}
		}
	}
}

func TestTheShellsReadTheirCompletions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		script := p.must(0, "completion", shell).stdout
		if !strings.Contains(script, "__complete") {
			t.Errorf("%s: the script never asks: %.200s", shell, script)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue // what is not installed cannot judge
		}
		if out, err := exec.Command(path, "-n", p.write(shell, script)).CombinedOutput(); err != nil {
			t.Errorf("%s does not read its script: %v\n%s", shell, err, out)
		}
	}
}
