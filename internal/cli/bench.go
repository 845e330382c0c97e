package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// benchFlags are the flags of bench.
type benchFlags struct{ steps, threads int }

func (a *app) benchVerb() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast the store takes steps",
		Long: `Bench runs a small loop on threads of its own, each step stored before the next, and
tells the steps a second, how long a commit takes, and what that means. It removes
its threads afterwards.`,
		Args: a.arguments("", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.steps < 1 || f.steps > 1_000_000 || f.threads < 1 || f.threads > 1000 {
				return usage("give 1 to 1000000 steps and 1 to 1000 threads", "%d steps on %d threads cannot be measured", f.steps, f.threads)
			}
			return withStore(cmd.Context(), a.open, func(store checkpoint.Store) error {
				m, err := measure(cmd.Context(), store, f)
				if err != nil {
					return err
				}
				return a.printMeasures(m)
			})
		},
	}
	cmd.Flags().IntVar(&f.steps, "steps", 500, "steps of each thread")
	cmd.Flags().IntVar(&f.threads, "threads", 1, "threads that run at once, at most 1000")
	return cmd
}

// benchFlow is what bench runs: a step of little work and a small state.
const benchFlow = `version: 1
name: bench
state: {n: {type: int, reducer: add}, last: string}
limits: {steps: 1000001}
nodes:
  step:
    set: {n: 1, last: "step ${{ state.n }}"}
    next: [{if: state.n < %d, to: step}, {else: END}]
`

// measures are what bench finds.
type measures struct {
	Threads int     `json:"threads"`
	Steps   int     `json:"steps"` // of all threads
	Seconds float64 `json:"seconds"`
	PerSec  float64 `json:"steps_per_second"`
	Commits int     `json:"commits"`
	P50     float64 `json:"commit_p50_ms"`
	P99     float64 `json:"commit_p99_ms"`
	Max     float64 `json:"commit_max_ms"`
	Verdict string  `json:"verdict"`
}

func measure(ctx context.Context, store checkpoint.Store, f benchFlags) (measures, error) {
	timed := &timedStore{Store: store}
	flow, err := workflow.Parse("bench.yaml", fmt.Appendf(nil, benchFlow, f.steps), workflow.Options{})
	if err != nil {
		return measures{}, err
	}
	g, err := flow.Compile(graph.Config{Store: timed})
	if err != nil {
		return measures{}, err
	}
	threads := make([]string, f.threads)
	errs := make([]error, f.threads)
	begun := time.Now()
	var wg sync.WaitGroup
	for i := range threads {
		threads[i] = "weft-bench-" + uuid.NewString()
		wg.Go(func() { _, errs[i] = g.Invoke(ctx, flow.NewState(), graph.RunOptions{Thread: threads[i]}) })
	}
	wg.Wait()
	took := time.Since(begun)
	for _, thread := range threads {
		errs = append(errs, store.Delete(context.WithoutCancel(ctx), thread))
	}
	return summed(f, took, timed.took), errors.Join(errs...)
}

// timedStore notes how long each commit takes.
type timedStore struct {
	checkpoint.Store
	mu   sync.Mutex
	took []time.Duration
}

func (s *timedStore) Commit(ctx context.Context, c checkpoint.Commit) error {
	begun := time.Now()
	err := s.Store.Commit(ctx, c)
	took := time.Since(begun)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, took)
	return err
}

func summed(f benchFlags, took time.Duration, commits []time.Duration) measures {
	m := measures{Threads: f.threads, Steps: f.threads * f.steps, Seconds: took.Seconds(), Commits: len(commits)}
	m.PerSec = float64(m.Steps) / max(m.Seconds, 1e-9)
	slices.Sort(commits)
	at := func(share float64) time.Duration {
		if len(commits) == 0 {
			return 0
		}
		return commits[min(int(share*float64(len(commits))), len(commits)-1)]
	}
	m.P50, m.P99, m.Max = millis(at(0.5)), millis(at(0.99)), millis(at(1))
	m.Verdict = judged(at(0.5), at(0.99))
	return m
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// judged says what the times of commits mean for a workflow.
func judged(p50, p99 time.Duration) string {
	switch {
	case p50 >= 50*time.Millisecond:
		return "slow: each step waits long for the store; use one that is nearer, or --durability async"
	case p50 >= 10*time.Millisecond:
		return "fair: it is felt in loops of many short steps, and not beside calls of models or servers"
	case p99 >= 20*p50 && p99 >= 50*time.Millisecond:
		return "uneven: most commits are fast and some are very slow; weft doctor may tell why"
	}
	return "good: steps cost little beside the work of most nodes"
}

func (a *app) printMeasures(m measures) error {
	if a.json {
		return a.printJSON(m)
	}
	_, err := fmt.Fprintf(a.Stdout, "%s on %s in %.2fs: %.0f steps/s\ncommits: %d, p50 %.2fms, p99 %.2fms, max %.2fms\nverdict: %s\n",
		counted(m.Steps, "step"), counted(m.Threads, "thread"), m.Seconds, m.PerSec, m.Commits, m.P50, m.P99, m.Max, m.Verdict)
	return err
}
