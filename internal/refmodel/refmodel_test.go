package refmodel

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/racescale"
)

// TestMain checks that no test leaves a goroutine, whatever became of its runs.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	seed  = flag.Uint64("seed", 1, "the first seed of the tests with random graphs")
	seeds = flag.Int("seeds", 0, "how many seeds they try; 0 means as many as suit a run of all tests")
)

// atRandom calls check with seeds, and fails the test at the first error. The failure names the
// seed with the command that repeats it, and the smallest Spec that still fails.
func atRandom(t *testing.T, many int, check func(t *testing.T, sp *Spec, seed uint64) error) {
	t.Helper()
	switch {
	case *seeds > 0:
		many = *seeds
	default:
		many = racescale.Of(many, max(many/40, 4))
	}
	t.Logf("%d seeds from %d on", many, *seed)
	const parts = 4
	var tried atomic.Int64
	for part := range parts {
		t.Run(fmt.Sprint("part", part), func(t *testing.T) {
			t.Parallel()
			for i := part; i < many && !t.Failed(); i += parts {
				s := *seed + uint64(i)
				sp := Generate(Source(s))
				if err := check(t, sp, s); err != nil {
					report(t, sp, s, err, check)
				}
				if n := tried.Add(1); n%10_000 == 0 {
					t.Logf("%d seeds tried", n)
				}
			}
		})
	}
}

func report(t *testing.T, sp *Spec, seed uint64, err error, check func(*testing.T, *Spec, uint64) error) {
	small, tries := sp, 2000
	for less := true; less; {
		less = false
		for _, c := range Smaller(small) {
			if tries--; tries > 0 && fails(t, c, seed, check) {
				small, less = c, true
				break
			}
		}
	}
	name, _, _ := strings.Cut(t.Name(), "/")
	t.Fatalf("seed %d: %v\n\nagain: go test ./internal/refmodel -run %s -seed %d -seeds 1\n\nsmallest: %v\n%v",
		seed, err, name, seed, small, check(t, small, seed))
}

// fails reports whether a Spec that compiles fails the check. One that panics is none.
func fails(t *testing.T, sp *Spec, seed uint64, check func(*testing.T, *Spec, uint64) error) (failed bool) {
	defer func() {
		if recover() != nil {
			failed = false
		}
	}()
	if _, err := (&Workshop{Spec: sp}).Compile(graph.Config{}); err != nil || len(sp.Turns) == 0 {
		return false
	}
	return check(t, sp, seed) != nil
}

// differ returns an error with the place where two traces differ.
func differ(what, got, want string) error {
	if got == want {
		return nil
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	at := 0
	for at < min(len(g), len(w)) && g[at] == w[at] {
		at++
	}
	before := strings.Join(g[max(0, at-6):at], "\n")
	return fmt.Errorf("%s: the traces differ after\n%s\nengine:\n%s\ninterpreter:\n%s", what, before,
		strings.Join(g[at:min(at+6, len(g))], "\n"), strings.Join(w[at:min(at+6, len(w))], "\n"))
}

// Requirement: One order
func TestEngine_ReportsTheTraceOfTheInterpreter(t *testing.T) {
	atRandom(t, 10_000, func(_ *testing.T, sp *Spec, seed uint64) error {
		in := NewInterpreter(sp)
		want := Trace(Play(sp, in, seed, false))
		plain := NewInterpreter(sp)
		plain.Stored = false
		first := plain.Invoke(sp.Turns[0], false)
		cfg := graph.Config{Concurrency: []int{1, 2, 64}[seed%3]}
		if err := sameWithoutStore(sp, first, cfg); err != nil {
			return err
		}
		cfg.Store = new(checkpoint.Memory)
		shop := &Workshop{Spec: sp, Parallel: int(seed / 9 % 4)}
		g, err := shop.Compile(cfg)
		if err != nil {
			return err
		}
		e := NewEngine(context.Background(), g, cfg.Store)
		e.Durability = []graph.Durability{graph.Sync, graph.Async, graph.Exit}[seed/3%3]
		err = differ(fmt.Sprintf("concurrency %d, %v", cfg.Concurrency, e.Durability), Trace(Play(sp, e, seed, false)), want)
		if err == nil && e.Durability != graph.Exit { // which stores no subgraph that is done
			err = sameWork(sp, shop, in, want)
		}
		if err != nil || seed%8 != 0 || e.Durability == graph.Exit {
			return err
		}
		return differ("history", strings.Join(e.History(), "\n"), strings.Join(in.History(), "\n"))
	})
}

// The engine goes back to random commits of subgraphs, and comes to what the interpreter does.
//
// Requirement: Subgraphs
func TestEngine_RewindsInSubgraphs(t *testing.T) {
	var backs atomic.Int64
	t.Run("graphs", func(t *testing.T) {
		atRandom(t, 4_000, func(_ *testing.T, sp *Spec, seed uint64) error {
			in := NewInterpreter(sp)
			seen, n := PlayBack(sp, in, seed)
			if n == 0 {
				return nil
			}
			backs.Add(int64(n))
			cfg := graph.Config{Concurrency: []int{1, 2, 64}[seed%3], Store: new(checkpoint.Memory)}
			g, err := (&Workshop{Spec: sp, Parallel: int(seed / 9 % 4)}).Compile(cfg)
			if err != nil {
				return err
			}
			e := NewEngine(context.Background(), g, cfg.Store)
			e.Durability = []graph.Durability{graph.Sync, graph.Async}[seed/3%2]
			got, _ := PlayBack(sp, e, seed)
			if err := differ(fmt.Sprintf("concurrency %d, %v", cfg.Concurrency, e.Durability), Trace(got), Trace(seen)); err != nil {
				return err
			}
			return differ("history", strings.Join(e.History(), "\n"), strings.Join(in.History(), "\n"))
		})
	})
	t.Logf("went back %d times", backs.Load())
	if *seeds == 0 && backs.Load() < 50 {
		t.Errorf("went back %d times, want at least 50", backs.Load())
	}
}

// sameWork compares what was run. Failures and what they stop come as they come, but what
// has finished is never run again.
func sameWork(sp *Spec, shop *Workshop, in *Interpreter, trace string) error {
	if strings.Contains(trace, "broken after") {
		return nil // of a subgraph that cannot finish, nothing counts
	}
	if again := shop.Again(); len(again) > 0 && !strings.Contains(trace, "conflict after") {
		return fmt.Errorf("nodes %v had finished, and ran again", again)
	}
	if strings.Contains(sp.String(), `"Do":"fail"`) || strings.Contains(sp.String(), `"Do":"panic"`) {
		return nil
	}
	return differ("how often each node ran", fmt.Sprint(shop.Runs()), fmt.Sprint(in.Runs()))
}

// sameWithoutStore compares the first call of a thread, which is the only one then.
func sameWithoutStore(sp *Spec, want Outcome, cfg graph.Config) error {
	g, err := (&Workshop{Spec: sp}).Compile(cfg)
	if err != nil {
		return err
	}
	got := NewEngine(context.Background(), g, nil).Invoke(sp.Turns[0], false)
	if (want.Status == "failed" || want.Status == "broken") && (got.Status == "failed" || got.Status == "broken") {
		got.Status = want.Status // of two tasks, either may fail first
	}
	return differ("without a store", Trace([]Outcome{got}), Trace([]Outcome{want}))
}

// A call that cannot be cancelled runs inline, on the goroutine of the caller. A call that can be
// cancelled runs on another goroutine. With one task at a time both must be equal: how the call
// ends, its error, and the order of the nodes.
func TestEngine_InlineCallHasTheSameTrace(t *testing.T) {
	atRandom(t, 4_000, func(_ *testing.T, sp *Spec, seed uint64) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		there, err := called(ctx, sp, int(seed%3))
		if err != nil {
			return err
		}
		here, err := called(context.Background(), sp, int(seed%3))
		if err != nil {
			return err
		}
		return differ("inline", here, there)
	})
}

// called returns a description of one call without a store.
func called(ctx context.Context, sp *Spec, parallel int) (string, error) {
	var ran []string
	shop := &Workshop{Spec: sp, Parallel: parallel, Enter: func(_ context.Context, task, node string) error {
		ran = append(ran, node+" "+task)
		return nil
	}}
	g, err := shop.Compile(graph.Config{Concurrency: 1, NewID: func() string { return "run" }})
	if err != nil {
		return "", err
	}
	e := NewEngine(ctx, g, nil)
	out := e.Invoke(sp.Turns[0], false)
	return fmt.Sprintf("%s%v\n%v\n%s", Trace([]Outcome{out}), e.Err, out.Steps, strings.Join(ran, "\n")), nil
}

// The generator must not lose its teeth: this is what a hundred graphs are known to meet.
func TestGenerator_GraphsHaveEveryFeature(t *testing.T) {
	met := map[string]int{}
	for s := range uint64(1000) {
		sp := Generate(Source(s))
		in := NewInterpreter(sp)
		for _, o := range Play(sp, in, s, false) {
			met[o.Status]++
			met["starved"] += len(o.Starved)
			for _, q := range o.Open {
				kind, _, _ := strings.Cut(q, " ")
				met[kind]++
			}
		}
		met["steps taken"] += len(in.History())
	}
	t.Log(met)
	for _, kind := range []string{
		"done", "interrupted", "failed", "steps", "broken", "conflict", "fanout", "waiting", "unknown", "ambiguous",
		"starved", "question", "before", "after",
	} {
		if met[kind] < 10 {
			t.Errorf("1000 random graphs met %q %d times", kind, met[kind])
		}
	}
	if met["steps taken"] < 5000 {
		t.Errorf("1000 random graphs took %d steps", met["steps taken"])
	}
}
