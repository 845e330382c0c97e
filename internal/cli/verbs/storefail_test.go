package verbs_test

import (
	"os"
	"strings"
	"testing"
)

// TestAStoreThatCannotBeUsedIsNotMadeGoodByAnother asks for stores that are no files, are no
// stores, are unknown and do not answer, by the flag and by the environment.
func TestAStoreThatCannotBeUsedIsNotMadeGoodByAnother(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("noise.db", strings.Repeat("this is no database. ", 300))
	p.write("ran.yaml", one("    uses: go:work\n    with: {ledger: \"${{ state.ledger }}\", name: x}"))
	p.must(0, "run", "ran.yaml", "--thread", "t", "--store", "memory:") // on demand it is in memory
	if err := os.Remove(p.path("ledger")); err != nil {
		t.Fatal(err)
	}
	t.Run("stores", func(t *testing.T) { // all at once: some wait a while for a server
		for i, store := range []string{"sqlite:.", "sqlite:noise.db", "mongo://127.0.0.1/x", "weft.db", "redis://127.0.0.1:1", "postgres://127.0.0.1:1/x"} {
			cmd := p.command("run", "ran.yaml", "--thread", "t", "--store", store)
			if i%2 == 1 {
				cmd = p.command("run", "ran.yaml", "--thread", "t")
				cmd.Env = append(cmd.Env, "WEFT_STORE="+store)
			}
			t.Run(store, func(t *testing.T) {
				t.Parallel()
				e := place{t, p.dir}.finish(cmd)
				if e.code != 1 && e.code != 2 || e.stdout != "" || !strings.Contains(e.stderr, "weft: ") {
					t.Errorf("%s: exit code %d\n%s%s", store, e.code, e.stdout, e.stderr)
				}
			})
		}
	})
	for _, name := range []string{"ledger", ".local", "weft.db"} {
		if _, err := os.Stat(p.path(name)); !os.IsNotExist(err) {
			t.Errorf("%s is there (%v): something ran, or was kept elsewhere", name, err)
		}
	}
}
