package verbs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The test creates each template and runs the next commands that it prints, for two turns of one
// thread and without a network. It builds and runs templates in Go as separate modules. With
// -short, it runs only one of these, because each is linked for seconds, and vets the others.
func TestTemplates_AreValidFormattedAndRun(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string][]struct {
		code int
		args string
		want string // at the end of stdout
	}{
		"minimal": {
			{0, "run workflow.yaml --thread demo --input name=Ada", "greeting: Hello, Ada!\n"},
			{0, "run workflow.yaml --thread demo --input name=Bob", "greeting: Hello, Bob!\n"},
		},
		"approval": {
			{4, "run workflow.yaml --thread demo --input topic=tea", "weft inbox approve --thread demo\n"},
			{4, "resume --thread demo --answer false", "weft inbox approve --thread demo\n"},
			{0, "resume --thread demo --answer true", "draft: Version 2: tea is worth a look.\npublished: true\n"},
			{4, "run workflow.yaml --thread demo --input topic=ink", "weft inbox approve --thread demo\n"},
			{4, "resume --thread demo --answer false", "weft inbox approve --thread demo\n"},
			{4, "resume --thread demo --answer false", "weft inbox approve --thread demo\n"},
			{0, "resume --thread demo --answer false", "draft: Version 3: ink is worth a look.\npublished: false\n"},
		},
		"agent": {
			{4, "run workflow.yaml --thread demo --input question=A-17?", "next"},
			{0, "inbox approve --thread demo", "answer: Support: paid back A-17\n"},
			{4, "run workflow.yaml --thread demo --input question=again?", "next"},
			{0, "inbox approve --thread demo", "answer: Support: paid back A-17\n"},
		},
		"capability": {
			{4, "run workflow.yaml --thread demo --input city=Oslo", "next"},
			{0, "inbox approve --thread demo", "mean: 14\n"},
			{4, "run workflow.yaml --thread demo --input city=Rome", "next"},
			{0, "inbox approve --thread demo", "mean: 14\n"},
		},
		"go-nodes": {
			{0, "run workflow.yaml --thread demo --input text=one,two", "words: 1\n"},
			{0, "run workflow.yaml --thread demo --input 'text=one two three'", "words: 3\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.must(0, "new", "made", "-t", name)
			weft, in := program, p.path("made")
			if sources, _ := filepath.Glob(p.path("made/*.go")); len(sources) > 0 {
				if testing.Short() && name != "go-nodes" {
					p.inWorkspace(in)
					p.goes(in, "vet", ".")
					return
				}
				weft = p.path("program")
				p.inWorkspace(in)
				p.goes(in, "build", "-ldflags=-w", "-o", weft, ".")
				if name == "go-nodes" && !testing.Short() { // the same for each template
					if out := p.goes(in, "run", "-ldflags=-w", ".", "validate", "workflow.yaml"); out != "workflow.yaml: ok\n" {
						t.Errorf("go run . validate workflow.yaml: %s", out)
					}
				}
			}
			run := func(args ...string) ended {
				cmd := p.command(args...)
				cmd.Path, cmd.Dir = weft, in
				return p.finish(cmd)
			}
			if e := run("validate", "workflow.yaml"); e.code != 0 {
				t.Errorf("validate: %s%s", e.stdout, e.stderr)
			}
			if e := run("fmt", "--check", "workflow.yaml"); e.code != 0 {
				t.Errorf("fmt: %s%s", e.stdout, e.stderr)
			}
			if e := run("test", "workflow.yaml"); e.code != 0 || strings.Contains(e.stdout, "\n0 tests") {
				t.Errorf("test: %s%s", e.stdout, e.stderr)
			}
			for _, r := range runs {
				if e := run(words(r.args)...); e.code != r.code || !strings.HasSuffix(e.stdout, r.want) && r.want != "next" {
					t.Errorf("%s: exit code %d, want %d\n%s%s\nwant at the end\n%s", r.args, e.code, r.code, e.stdout, e.stderr, r.want)
				}
			}
		})
	}
}

// inWorkspace makes a workspace of the module in dir and this module.
func (p place) inWorkspace(dir string) {
	p.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		p.Fatal(err)
	}
	p.write("go.work", "go 1.26.0\n\nuse (\n\t"+strconv.Quote(dir)+"\n\t"+strconv.Quote(root)+"\n)\n")
}

// goes calls the go command in a folder of the workspace, and returns what it prints.
func (p place) goes(dir string, args ...string) string {
	p.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	flags := "GOFLAGS="
	info, _ := debug.ReadBuildInfo()
	if info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-trimpath", Value: "true"}) {
		flags += "-trimpath" // so that the packages of this test need not be compiled again
	}
	cmd.Env = append(os.Environ(), "GOWORK="+p.path("go.work"), flags, "XDG_STATE_HOME="+p.dir, "WEFT_STORE=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		p.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

func TestTemplates_ListMatchesTheBinary(t *testing.T) {
	t.Parallel()
	folders, err := os.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	list := newPlace(t).must(0, "new").stdout
	if strings.Count(list, "\n") != len(folders)+1 {
		t.Errorf("the list is\n%s\nthere are %v", list, folders)
	}
	for _, f := range folders {
		if !strings.Contains(list, "\n"+f.Name()+" ") {
			t.Errorf("%s is not in the list\n%s", f.Name(), list)
		}
	}
}
