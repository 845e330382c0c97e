package checkpointtest

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/testreport"
)

func TestMain(m *testing.M) {
	Worker(openSpoilt)
	goleak.VerifyTestMain(m)
}

func TestSuite_PassesASoundStore(t *testing.T) {
	for _, r := range allRules() {
		if said := complaintsOf(t, r, openSound, true); said != "" {
			t.Errorf("rule: a sound store passes\n got: %s complains: %s\nwant: silence", r.name, said)
		}
	}
}

// TestSuite_CatchesBrokenStores breaks one rule at a time.
func TestSuite_CatchesBrokenStores(t *testing.T) {
	quietRapid(t)
	for _, b := range slices.Concat(brokenStores, brokenFull) {
		t.Run(strings.ReplaceAll(b.what, " ", "-"), func(t *testing.T) {
			for _, name := range b.caughtBy {
				said := complaintsOf(t, ruleNamed(name), b.open, false)
				if said == "" {
					t.Errorf("rule: a store that %s is caught by %s\n got: no complaint from it\nwant: one", b.what, name)
				} else if !strings.Contains(said, "rule: ") {
					t.Errorf("rule: a complaint names the rule that was broken\n got: %s: %s", name, said)
				}
			}
		})
	}
}

// openSpoilt opens "WHAT:PATH", a file of SQLite's under a store that is broken.
func openSpoilt(ctx context.Context, address string) (checkpoint.Store, error) {
	what, path, _ := strings.Cut(address, ":")
	s, err := sqlite.Open(ctx, path)
	if err != nil || what == "" {
		return s, err
	}
	return brokenStores[slices.IndexFunc(brokenStores, func(b broken) bool { return b.what == what })].store(s), nil
}

// TestRunProcesses_CatchesBrokenStores races processes on stores that are broken.
func TestRunProcesses_CatchesBrokenStores(t *testing.T) {
	for what, caught := range map[string]bool{"": false, "has no compare-and-set": true, "has no duplicate detection": true, "applies commits by half": true} {
		for _, r := range processRules {
			said := testreport.Of(t, func(tb testing.TB) {
				address := what + ":" + filepath.Join(t.TempDir(), "threads.db")
				store, err := openSpoilt(t.Context(), address)
				if err != nil {
					tb.Fatal(err)
				}
				defer store.Close()
				r.check(&probe{TB: tb, store: store}, address)
			})
			if (said != "") != caught {
				t.Errorf("rule: %s catches a store that %q, and no sound one\n got: %q", r.name, what, said)
			}
		}
	}
}

func ruleNamed(name string) rule {
	rules := allRules()
	return rules[slices.IndexFunc(rules, func(r rule) bool { return r.name == name })]
}

// sound is a store that offers everything, with a clock that the suite moves.
type sound struct {
	*checkpoint.Memory
	*watch
}

func newSound() sound {
	w := &watch{now: time.Now()}
	return sound{&checkpoint.Memory{Now: w.time}, w}
}

func openSound(testing.TB) checkpoint.Store { return newSound() }

func (b broken) open(testing.TB) checkpoint.Store { return b.store(newSound()) }

// watch is a clock that only Advance moves.
type watch struct {
	mu  sync.Mutex
	now time.Time
}

func (w *watch) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *watch) Advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// TestSuite_LongFormPasses runs the rules that have a long form.
func TestSuite_LongFormPasses(t *testing.T) {
	t.Setenv(Long, "1")
	if said := complaintsOf(t, ruleNamed("LongHistory"), openSound, true); said != "" {
		t.Error(said)
	}
}

// TestModel_CatchesBrokenStores runs the random test alone, since others are faster.
func TestModel_CatchesBrokenStores(t *testing.T) {
	quietRapid(t)
	for _, what := range []string{
		"has no compare-and-set", "forgets namespaces", "ignores Keep", "keeps pending entries after a commit",
		"lists history oldest first", "ignores limits", "applies commits by half", "ignores fences in Commit",
		"ignores fences in Drop", "keeps the lease of a thread that was deleted",
		"ignores the time to live of commits", "takes never for now", "ignores labels", "finds all of a history", "ignores numbers",
		"keeps old entries beside a commit",
	} {
		all := slices.Concat(brokenStores, brokenFull)
		b := all[slices.IndexFunc(all, func(b broken) bool { return b.what == what })]
		if !caught(t, b) {
			t.Errorf("rule: the model catches a store that %s\n got: no complaint\nwant: one", what)
		}
	}
}

// caught reports whether the model complains of a broken store. Under the race detector it tries
// few histories at a time, so it tries more seeds. The seeds are the same in each run.
func caught(t *testing.T, b broken) bool {
	t.Helper()
	defer flag.Set("rapid.seed", flag.Lookup("rapid.seed").Value.String())
	for seed := range 20 {
		flag.Set("rapid.seed", fmt.Sprint(seed+1))
		if complaintsOf(t, ruleNamed("Model"), b.open, false) != "" {
			return true
		}
	}
	return false
}

// quietRapid keeps rapid from writing files and from searching for short examples.
func quietRapid(t *testing.T) {
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "0s"} {
		old := flag.Lookup(name).Value.String()
		flag.Set(name, value)
		t.Cleanup(func() { flag.Set(name, old) })
	}
}

// complaintsOf runs a rule as the testing package would, with a TB that records.
func complaintsOf(t *testing.T, r rule, open func(t testing.TB) checkpoint.Store, full bool) string {
	t.Helper()
	return testreport.Of(t, func(tb testing.TB) { r.judge(tb, open, full) })
}
