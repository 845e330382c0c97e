package verbs_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestStore_UnusableIsNotReplaced runs a workflow with stores that cannot be opened: a folder, a
// file of other data, an unknown scheme, no scheme, and two servers that refuse connections. The
// flag and the environment name them in turn. The command must fail, and use no other store.
func TestStore_UnusableIsNotReplaced(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("noise.db", strings.Repeat("this is no database. ", 300))
	p.write("ran.yaml", one("    uses: go:work\n    with: {worklog: \"${{ state.worklog }}\", name: x}"))
	// The workflow leaves a worklog when it runs.
	p.must(0, "run", "ran.yaml", "--thread", "t", "--store", "memory:")
	if err := os.Remove(p.path("worklog")); err != nil {
		t.Fatal(err)
	}
	stores := []string{"sqlite:.", "sqlite:noise.db", "mongo://127.0.0.1/x", "weft.db", "redis://127.0.0.1:1", "postgres://127.0.0.1:1/x"}
	var cmds []*exec.Cmd
	for i, store := range stores {
		cmd := p.command("run", "ran.yaml", "--thread", "t")
		if i%2 == 0 {
			cmd.Args = append(cmd.Args, "--store", store)
		} else {
			cmd.Env = append(cmd.Env, "WEFT_STORE="+store)
		}
		cmds = append(cmds, cmd)
	}
	for i, e := range p.finishAll(cmds...) {
		if e.code != 1 && e.code != 2 || e.stdout != "" || !strings.Contains(e.stderr, "weft: ") {
			t.Errorf("%s: exit code %d, want 1 or 2, an error on stderr and nothing on stdout\nstdout: %s\nstderr: %s", stores[i], e.code, e.stdout, e.stderr)
		}
	}
	for _, name := range []string{"worklog", ".local", "weft.db"} {
		if _, err := os.Stat(p.path(name)); !os.IsNotExist(err) {
			t.Errorf("%s: Stat returns %v, want that it does not exist: the workflow ran, or another store was used", name, err)
		}
	}
}
