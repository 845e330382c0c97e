package racescale_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/racescale"
	"pgregory.net/rapid"
)

func TestOf_IsFewWithShortAndRace(t *testing.T) {
	want := 30
	if racescale.Raced || testing.Short() {
		want = 3
	}
	if got := racescale.Of(30, 3); got != want {
		t.Errorf("got %d tries, want %d", got, want)
	}
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	t.Cleanup(func() { checks.Value.Set(before) })
	racescale.Tries(30, 3)
	tried := 0
	rapid.Check(t, func(*rapid.T) { tried++ })
	if tried != want {
		t.Errorf("rapid tried %d times, want %d", tried, want)
	}
}

func TestParallel_SetsTheFlagUnlessGiven(t *testing.T) {
	parallel := flag.Lookup("test.parallel")
	before, given := parallel.Value.String(), false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == parallel.Name })
	racescale.Parallel(77)
	if got := parallel.Value.String(); !given && got != "77" || given && got != before {
		t.Errorf("got %s, given on the command line: %v; it was %s", got, given, before)
	}
	parallel.Value.Set(before)
	if err := flag.Set(parallel.Name, before); err != nil { // as on the command line
		t.Fatal(err)
	}
	if racescale.Parallel(77); parallel.Value.String() != before {
		t.Errorf("got %s, want %s as given", parallel.Value, before)
	}
}

func TestSoak_HasAShortForm(t *testing.T) {
	t.Setenv("WEFT_SOAK", "")
	if got := racescale.Soak(3, 100); got != 3 {
		t.Errorf("Soak(3, 100) = %d, want 3", got)
	}
	t.Setenv("WEFT_SOAK", "1")
	if got := racescale.Soak(3, 100); got != 100 {
		t.Errorf("with WEFT_SOAK, Soak(3, 100) = %d, want 100", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("Soak(0, 1) did not panic: a test may do nothing where its long form is not asked for")
		}
	}()
	racescale.Soak(0, 1)
}

func TestEnviron_ChildrenGetIt(t *testing.T) {
	t.Setenv("WEFT_PACE_TEST", "1")
	t.Setenv("GORACE", "halt_on_error=1")
	got := racescale.Environ()
	if !slices.Contains(got, "WEFT_PACE_TEST=1") {
		t.Error("a child does not have the variables of its parent")
	}
	last := ""
	for _, v := range got {
		if strings.HasPrefix(v, "GORACE=") {
			last = v
		}
	}
	if !strings.Contains(last, "halt_on_error=1") || strings.Contains(last, "atexit_sleep_ms=0") != racescale.Raced {
		t.Errorf("got %q, want what was set, and no sleep under the race detector", last)
	}
}
