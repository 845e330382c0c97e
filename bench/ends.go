package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/weftrun/weft/graph"
)

// End is what a step costs at one place of a long run: the median of around steps.
type End struct{ Nanos, Allocs, Bytes, Stored float64 }

// Ends are the two ends of a long run.
type Ends struct {
	Store       string
	First, Last int // the steps in the middle of what was looked at
	Early, Late End
	Mean        float64 // ns of a step of the whole run
	Err         error
}

// longRun adds texts of 1 KiB to a log, and looks at the steps around the hundredth and before the last.
func longRun(ctx context.Context, n int, g *ground) (e Ends) {
	e.Store = "no store"
	around := 100
	e.First, e.Last = 100, n-around/2
	if n < 400 {
		e.First, around = 20, 20
		e.Last = n - around/2
	}
	cfg, run := graph.Config{MaxSteps: n + 1}, graph.Run{}
	store := &counting{}
	if g != nil {
		e.Store, run.Thread = g.name, "bench-"+unique()
		if store.backend, e.Err = g.open(ctx); e.Err != nil {
			return e
		}
		cfg.Store = store
		defer func() {
			e.Err = errors.Join(e.Err, store.Delete(context.WithoutCancel(ctx), run.Thread), store.Close())
		}()
	}
	edges := []int{e.First - around/2, e.First + around/2, e.Last - around/2, e.Last + around/2 - 1}
	at, texts := make([]time.Time, n), textsOf(n)
	var memory [4]runtime.MemStats
	var stored [4]int64
	gr, err := stepsGraph(cfg, func(i int) (string, bool) {
		if edge := slices.Index(edges, i); edge >= 0 {
			runtime.ReadMemStats(&memory[edge])
			stored[edge] = store.bytes.Load()
		}
		at[i] = time.Now()
		return texts[i], i+1 < n
	})
	if e.Err = err; err != nil {
		return e
	}
	runtime.GC()
	began := time.Now()
	res, err := gr.Invoke(ctx, log{}, run)
	e.Mean = float64(time.Since(began)) / float64(n)
	if e.Err = err; err == nil {
		e.Err = hasTexts(&res.State, texts)
	}
	end := func(from int) End {
		steps := float64(edges[from+1] - edges[from])
		return End{
			Nanos:  medianStep(at[edges[from] : edges[from+1]+1]),
			Allocs: float64(memory[from+1].Mallocs-memory[from].Mallocs) / steps,
			Bytes:  float64(memory[from+1].TotalAlloc-memory[from].TotalAlloc) / steps,
			Stored: float64(stored[from+1]-stored[from]) / steps,
		}
	}
	e.Early, e.Late = end(0), end(2)
	return e
}

// soon is how long the run is in which the early steps are measured again, after the long one: the
// machine may have become faster or slower meanwhile, and a new thread would have too.
const soon = 400

// medianStep returns the median distance between moments.
func medianStep(at []time.Time) float64 {
	var all []float64
	for i := 1; i < len(at); i++ {
		all = append(all, float64(at[i].Sub(at[i-1])))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// ends runs long runs on all stores, and of each keeps the one with the middle ratio.
func (p *place) ends(ctx context.Context, rounds int) (all []Ends) {
	n := 10_000
	if p.short {
		n, rounds = 60, 1
	}
	grounds := []*ground{nil}
	for _, g := range p.stores {
		grounds = append(grounds, &g)
	}
	for _, g := range grounds {
		var runs []Ends
		for round := range rounds {
			if round > 0 && time.Duration(runs[0].Mean)*time.Duration(n) > 5*time.Second {
				break
			}
			e := longRun(ctx, n, g)
			if e.Err == nil && n > soon {
				after := longRun(ctx, soon, g)
				e.Early.Nanos, e.Err = (e.Early.Nanos+after.Early.Nanos)/2, after.Err
			}
			if runs = append(runs, e); e.Err != nil {
				runs = runs[round:]
				break
			}
		}
		slices.SortFunc(runs, func(a, b Ends) int { return int(1000 * (a.growth() - b.growth())) })
		all = append(all, runs[len(runs)/2])
	}
	return all
}

// growth is by how much a late step takes longer than an early one.
func (e Ends) growth() float64 { return e.Late.Nanos / max(e.Early.Nanos, 1) }

// reportEnds prints the table of both ends.
func reportEnds(w io.Writer, all []Ends) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "### %d steps of 1 KiB: a step at both ends\n\n", all[0].Last+50)
	fmt.Fprintf(w, "The median of the steps around step %d, on a thread before the long run's end and on a new one after it, in the mean, and of the last ones. A base is rewritten now and then (docs/architecture.md), which the mean of the whole run has in it and the medians have not.\n\n", all[0].First)
	fmt.Fprint(w, "| store | time, early | late | late ÷ early | mean | allocs, early | late | bytes, early | late | stored, early | late |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, e := range all {
		if e.Err != nil {
			fmt.Fprintf(w, "| %s | %v |\n", e.Store, e.Err)
			continue
		}
		fmt.Fprintf(w, "| %s | %s | %s | %.2f | %s | %.1f | %.1f | %.0f | %.0f | %.0f | %.0f |\n", e.Store, nanos(e.Early.Nanos), nanos(e.Late.Nanos), e.growth(), nanos(e.Mean),
			e.Early.Allocs, e.Late.Allocs, e.Early.Bytes, e.Late.Bytes, e.Early.Stored, e.Late.Stored)
	}
	fmt.Fprintln(w)
}
