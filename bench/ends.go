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

// End is what a step costs at one place of a long run: the median time, and the rest in the mean.
type End struct{ Nanos, Allocs, Bytes, Stored float64 }

// Ends are the two ends of a long run.
type Ends struct {
	Store       string
	Steps       int // of the long run
	First, Last int // the steps in the middle of what was looked at
	Early, Late End
	Mean        float64 // ns of a step of the whole run
	Err         error
}

// journey is a run that adds texts of 1 KiB to a log and records the durations of its steps. A step
// lasts from the return of a node to the start of the next one.
type journey struct {
	texts  []string
	store  *counting
	look   func(i int) // called by the node of step i; it may wait
	left   time.Time   // when the last node returned
	took   []float64   // by step, ns; that of the first is nothing
	thread string
	graph  *graph.Graph[log]
}

// depart makes a journey of n steps.
func depart(ctx context.Context, n int, g *ground, look func(i int)) (*journey, error) {
	j := &journey{texts: textsOf(n), store: &counting{}, look: look}
	cfg := graph.Config{MaxSteps: n + 1}
	var err error
	if g != nil {
		j.thread = "bench-" + unique()
		if j.store.backend, err = g.open(ctx); err != nil {
			return nil, err
		}
		cfg.Store = j.store
	}
	j.graph, err = stepsGraph(cfg, func(i int) (string, bool) {
		j.took = append(j.took, float64(time.Since(j.left)))
		j.look(i)
		j.left = time.Now()
		return j.texts[i], i+1 < n
	})
	return j, err
}

// travel makes the run, and returns the time of a step.
func (j *journey) travel(ctx context.Context) (mean float64, err error) {
	j.left = time.Now()
	began := j.left
	res, err := j.graph.Invoke(ctx, log{}, graph.RunOptions{Thread: j.thread})
	mean = float64(time.Since(began)) / float64(len(j.texts))
	if err == nil {
		err = hasTexts(&res.State, j.texts)
	}
	if j.thread != "" {
		err = errors.Join(err, j.store.Delete(context.WithoutCancel(ctx), j.thread), j.store.Close())
	}
	return mean, err
}

// median returns the median time of n steps from one on.
func (j *journey) median(from, n int) float64 {
	all := slices.Clone(j.took[from : from+n])
	slices.Sort(all)
	return all[n/2]
}

// mark is what had been used when a step began.
type mark struct {
	memory runtime.MemStats
	stored int64
}

func (j *journey) mark() (m mark) {
	runtime.ReadMemStats(&m.memory)
	m.stored = j.store.bytes.Load()
	return m
}

// since returns what the steps between two marks took on average.
func (m mark) since(before mark, steps int) End {
	n := float64(steps)
	return End{
		Allocs: float64(m.memory.Mallocs-before.memory.Mallocs) / n,
		Bytes:  float64(m.memory.TotalAlloc-before.memory.TotalAlloc) / n,
		Stored: float64(m.stored-before.stored) / n,
	}
}

// longRun measures the steps around the hundredth and the last steps of a run of n. Machines and
// servers may slow down during such a run. The last steps therefore alternate with the early steps
// of a second, short run.
func longRun(ctx context.Context, n int, g *ground) (e Ends) {
	e.Store = "no store"
	if g != nil {
		e.Store = g.name
	}
	around := min(100, n/3)
	early := around / 2 // the first step that is looked at
	counted, timed := n-2*around-1, n-around-1
	e.Steps, e.First, e.Last = n, early+around/2, timed+around/2

	turn, back := make(chan struct{}), make(chan struct{})
	young, err := depart(ctx, early+around+1, g, func(i int) {
		if i >= early {
			back <- struct{}{}
			<-turn
		}
	})
	if e.Err = err; err != nil {
		return e
	}
	met := make(chan error, 1)
	go func() {
		defer close(back)
		_, err := young.travel(ctx)
		met <- err
	}()
	marks := map[int]mark{}
	var old *journey
	old, err = depart(ctx, n, g, func(i int) {
		switch i {
		case early, early + around, counted, counted + around:
			marks[i] = old.mark()
		}
		if i >= timed {
			select {
			case turn <- struct{}{}:
				<-back
			case <-back: // it has ended before its time
			}
		}
	})
	if err == nil {
		<-back // the young run waits where its steps are looked at
		runtime.GC()
		e.Mean, err = old.travel(ctx)
	}
	close(turn)
	for range back { // it may not have waited for the last time
	}
	if e.Err = errors.Join(err, <-met); e.Err != nil {
		return e
	}
	e.Early = marks[early+around].since(marks[early], around)
	e.Late = marks[counted+around].since(marks[counted], around)
	e.Early.Nanos, e.Late.Nanos = young.median(early+1, around), old.median(timed+1, around)
	return e
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
	fmt.Fprintf(w, "### %d steps of 1 KiB: a step at both ends\n\n", all[0].Steps)
	fmt.Fprintf(w, "The median of the steps around step %d of a new thread and of the last ones of a long one, in turns; what is counted is of the long one at both ends. A base is rewritten now and then (docs/architecture.md), which the mean of the whole run has in it and the medians have not.\n\n", all[0].First)
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
