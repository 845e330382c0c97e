package verbs_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestStore_UnusableIsNotReplaced names stores that are no files, are no stores, are unknown and do
// not answer, by the flag and by the environment.
func TestStore_UnusableIsNotReplaced(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("noise.db", strings.Repeat("this is no database. ", 300))
	p.write("ran.yaml", one("    uses: go:work\n    with: {worklog: \"${{ state.worklog }}\", name: x}"))
	p.must(0, "run", "ran.yaml", "--thread", "t", "--store", "memory:")
	if err := os.Remove(p.path("worklog")); err != nil {
		t.Fatal(err)
	}
	stores := []string{"sqlite:.", "sqlite:noise.db", "mongo://127.0.0.1/x", "weft.db", "redis://127.0.0.1:1", "postgres://127.0.0.1:1/x"}
	var cmds []*exec.Cmd
	for i, store := range stores {
		cmd := p.command("run", "ran.yaml", "--thread", "t", "--store", store)
		if i%2 == 1 {
			cmd = p.command("run", "ran.yaml", "--thread", "t")
			cmd.Env = append(cmd.Env, "WEFT_STORE="+store)
		}
		cmds = append(cmds, cmd)
	}
	for i, e := range p.finishAll(cmds...) {
		if e.code != 1 && e.code != 2 || e.stdout != "" || !strings.Contains(e.stderr, "weft: ") {
			t.Errorf("%s: exit code %d\n%s%s", stores[i], e.code, e.stdout, e.stderr)
		}
	}
	for _, name := range []string{"worklog", ".local", "weft.db"} {
		if _, err := os.Stat(p.path(name)); !os.IsNotExist(err) {
			t.Errorf("%s exists (%v): the workflow ran, or another store was used", name, err)
		}
	}
}
