//go:build unix

package verbs_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// What an editor leaves beside the workflows, and what is no file, does not disable their folder.
func TestFolder_LeavesOutWhatIsNoWorkflow(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := os.MkdirAll(p.path("flows/dir.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write("flows/a.yaml", "version: 1\nnodes: {a: {set: {}, next: END}}\ntests: [{name: one}]\n")
	p.write("flows/.b.yaml", "version: 1\nnodes: {a: {set: {}, next: nowhere}}\n")
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, p.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	link("ann@host.123:456", "flows/.#a.yaml") // as Emacs locks a file
	link("dir.yaml", "flows/folder.yaml")
	if err := syscall.Mkfifo(p.path("flows/p.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if e := p.must(0, "validate", "flows"); e.stdout != "flows/a.yaml: ok\n" || e.stderr != "" {
		t.Errorf("validate:\n%s%s", e.stdout, e.stderr)
	}
	if e := p.must(0, "test", "flows"); !strings.Contains(e.stdout, "ok    flows/a.yaml: one\n") {
		t.Errorf("test:\n%s%s", e.stdout, e.stderr)
	}
	d := p.start(serving("flows")...)
	if !strings.HasSuffix(d.first, " with a\n") {
		t.Errorf("serve: %q", d.first)
	}

	link("gone.yaml", "flows/z.yaml")
	want := "flows/z.yaml is a link to gone.yaml, which does not exist\nnext: remove the link, or create what it leads to\n"
	if e := p.must(2, "validate", "flows"); e.stdout != "flows/a.yaml: ok\n" || e.stderr != "weft: "+want {
		t.Errorf("validate with a broken link:\n%s%s", e.stdout, e.stderr)
	}
	if e := p.must(2, "test", "flows"); !strings.Contains(e.stdout, "ok    flows/a.yaml: one\n") || !strings.Contains(e.stderr, want) {
		t.Errorf("test with a broken link:\n%s%s", e.stdout, e.stderr)
	}
	if e := p.must(2, serving("flows")...); !strings.Contains(e.stderr, want) {
		t.Errorf("serve with a broken link:\n%s", e.stderr)
	}
}
