package verbs_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestMan_PageOfEachCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	files := strings.Fields(p.must(0, "man", "pages").stdout)
	help := p.must(0, "--help").stdout
	_, list, _ := strings.Cut(help, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		if name := strings.Fields(line)[0]; name != "help" && !slices.Contains(files, "pages/weft-"+name+".1") {
			t.Errorf("%s has no page", name)
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(p.path(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"\n.TH \"WEFT", "\n.SH NAME\nweft", "\n.SH SYNOPSIS\n\\fBweft", "\n.SH OPTIONS"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %q", file, part)
			}
		}
		for _, other := range regexp.MustCompile(`weft[a-z-]*\(1\)`).FindAllString(string(text), -1) {
			if page := "pages/" + strings.TrimSuffix(other, "(1)") + ".1"; !slices.Contains(files, page) {
				t.Errorf("%s names %s, which has no page", file, other)
			}
		}
	}
}

func TestCompletion_ShellsReadTheirScripts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		script := p.must(0, "completion", shell).stdout
		if !strings.Contains(script, "__complete") {
			t.Errorf("%s: the script does not call __complete: %.200s", shell, script)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			continue // not installed
		}
		if out, err := exec.Command(path, "-n", p.write(shell, script)).CombinedOutput(); err != nil {
			t.Errorf("%s does not read its script: %v\n%s", shell, err, out)
		}
	}
}
