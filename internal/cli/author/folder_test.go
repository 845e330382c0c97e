package author_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/cli/author"
	"github.com/weftrun/weft/server/studio"
)

const good = `version: 1
name: hello
state: {greeting: string}
input: []
nodes:
  greet: {set: {greeting: Hello}, next: END}
tests:
  - {name: greets, expect: {output: {greeting: Hello}}}
  - {name: shouts, expect: {output: {greeting: HELLO}}}
`

// folder returns a folder with a workflow in it, beside a file that is not in it.
func folder(t *testing.T) *author.Folder {
	t.Helper()
	outside := t.TempDir()
	dir := filepath.Join(outside, "flows")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"flows/hello.yaml": good, "secret.yaml": "secret", "flows/notes.txt": "no"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "secret.yaml"), filepath.Join(dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	return &author.Folder{
		Path: dir, Options: func(string) (workflow.Options, error) { return workflow.Options{}, nil },
		List: func() ([]string, error) {
			return []string{filepath.Join(dir, "hello.yaml"), filepath.Join(outside, "secret.yaml")}, nil
		},
	}
}

func TestFolder_ReadsAndWritesWorkflows(t *testing.T) {
	f := folder(t)
	if names, err := f.Files(); err != nil || len(names) != 1 || names[0] != "hello.yaml" {
		t.Errorf("got the files %q, %v", names, err)
	}
	file, err := f.Read("hello.yaml")
	if err != nil || file.Text != good || file.Tag == "" {
		t.Fatalf("got %+v, %v", file, err)
	}
	old := file
	file.Text = strings.Replace(good, "set: {greeting: Hello}", "set: {greeting: Hi}", 1)
	tag, err := f.Write(file)
	if err != nil || tag == file.Tag {
		t.Fatalf("got the tag %q, %v", tag, err)
	}
	if now, err := f.Read("hello.yaml"); err != nil || now.Tag != tag || now.Text != file.Text {
		t.Errorf("got %+v, %v", now, err)
	}
	if info, err := os.Stat(filepath.Join(f.Path, "hello.yaml")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v", info.Mode(), err)
	}
	var conflict *studio.ConflictError
	if _, err := f.Write(old); !errors.As(err, &conflict) || conflict.Now.Text != file.Text {
		t.Errorf("an old tag is %v, want a conflict", err)
	}
	if _, err := f.Write(studio.File{Path: "some/where/new.yaml", Text: good}); err != nil {
		t.Errorf("a file in a new folder is refused: %v", err)
	}
	if _, err := f.Write(studio.File{Path: "new.yaml", Text: good}); err != nil {
		t.Error(err)
	}
	if _, err := f.Write(studio.File{Path: "new.yaml", Text: good}); !errors.As(err, &conflict) {
		t.Errorf("a file that exists is %v, want a conflict", err)
	}
	if left, err := filepath.Glob(filepath.Join(f.Path, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}

func TestFolder_RefusesOtherPaths(t *testing.T) {
	f := folder(t)
	for _, name := range []string{"", "../secret.yaml", "/etc/hosts.yaml", "notes.txt", "link.yaml", ".hidden.yaml", "a/.b/c.yaml", "a\\..\\b.yaml", "./hello.yaml", "none.yaml"} {
		var wrong *studio.PathError
		if file, err := f.Read(name); !errors.As(err, &wrong) {
			t.Errorf("read %q: got %+v, %v", name, file, err)
		}
		if name == "none.yaml" {
			continue
		}
		if _, err := f.Write(studio.File{Path: name, Text: "x"}); !errors.As(err, &wrong) {
			t.Errorf("write %q: got %v", name, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(f.Path, "..", "secret.yaml")); err != nil || string(text) != "secret" {
		t.Errorf("the file outside has %q, %v", text, err)
	}
}

func TestFolder_Checks(t *testing.T) {
	for _, f := range []*author.Folder{folder(t), {Options: func(string) (workflow.Options, error) { return workflow.Options{}, nil }}} {
		c, err := f.Check(t.Context(), "hello.yaml", good)
		if err != nil || c.Name != "hello" || c.Drawing == nil || len(c.Mistakes) > 0 || len(c.Tests) != 2 {
			t.Errorf("got %+v, %v", c, err)
		}
		c, err = f.Check(t.Context(), "hello.yaml", strings.Replace(good, "{greeting: Hello}, next", "{greting: Hello}, next", 1))
		if err != nil || c.Drawing != nil || len(c.Mistakes) == 0 || c.Mistakes[0].Line != 6 || c.Mistakes[0].File != "" || c.Mistakes[0].Code == "" {
			t.Errorf("got %+v, %v", c, err)
		}
		all, err := f.Test(t.Context(), "hello.yaml", good)
		if err != nil || len(all) != 2 || len(all[0].Mistakes) != 0 || len(all[1].Mistakes) != 1 || all[1].Mistakes[0].Line != 9 {
			t.Errorf("got %+v, %v", all, err)
		}
		if got := f.Format("hello.yaml", "version:   1\nname: x   \n"); !strings.HasSuffix(got, "name: x\n") {
			t.Errorf("got %q", got)
		}
	}
}

func TestFolder_WithoutAPathSeesNoFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "inner.yaml"), []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &author.Folder{Options: func(string) (workflow.Options, error) { return workflow.Options{}, nil }}
	for _, name := range []string{"./inner.yaml", filepath.Join(dir, "inner.yaml"), "../../../../../../" + dir + "/inner.yaml"} {
		c, err := f.Check(t.Context(), "", "version: 1\nname: x\nnodes:\n  a: {workflow: "+name+", next: END}\n")
		if err != nil || c.Drawing != nil {
			t.Errorf("%s: got %+v, %v", name, c, err)
		}
	}
}

func TestFolder_FileOfAGraph(t *testing.T) {
	f := folder(t)
	inside, outside := filepath.Join(f.Path, "hello.yaml"), filepath.Join(filepath.Dir(f.Path), "hello.yaml")
	f.Named = func(graph string) string {
		return map[string]string{"hello": inside, "other": outside}[graph]
	}
	for graph, want := range map[string][2]string{"hello": {inside, "hello.yaml"}, "other": {outside, ""}, "none": {}} {
		if command, name := f.FileOf(graph); command != want[0] || name != want[1] {
			t.Errorf("FileOf(%q) = %q, %q, want %q", graph, command, name, want)
		}
	}
}
