package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"
)

var errWrong = errors.New("wrong result")

// Sample is what one measurement of a runner gave, per unit of its workload.
type Sample struct{ Nanos, Allocs, Bytes float64 }

// Measured is what was seen of one runner.
type Measured struct {
	Runner  string
	Samples []Sample
	Err     error // it failed, or its result is wrong
}

// Median returns the sample with the middle time.
func (m Measured) Median() Sample {
	s := slices.Clone(m.Samples)
	slices.SortFunc(s, func(a, b Sample) int { return cmpFloat(a.Nanos, b.Nanos) })
	return s[len(s)/2]
}

// Spread returns half of the distance between the quarters, as a part of the median.
func (m Measured) Spread() float64 {
	var times []float64
	for _, s := range m.Samples {
		times = append(times, s.Nanos)
	}
	slices.Sort(times)
	n := len(times)
	return (times[n-1-n/4] - times[n/4]) / 2 / times[n/2]
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Plan says how long to measure.
type Plan struct {
	Rounds int
	Each   time.Duration // about how long one sample takes
}

// measure lets the runners of a workload take turns.
func measure(ctx context.Context, w Workload, p Plan) []Measured {
	all := make([]Measured, len(w.Runners))
	jobs := make([]Job, len(w.Runners))
	times := make([]int, len(w.Runners))
	for i, r := range w.Runners {
		all[i].Runner = r.Name
		jobs[i], all[i].Err = r.Make(ctx)
		if all[i].Err == nil {
			times[i], all[i].Err = calibrate(ctx, jobs[i], p.Each)
		}
		if jobs[i].Close != nil {
			defer jobs[i].Close()
		}
	}
	for range p.Rounds {
		for i := range all {
			if all[i].Err != nil {
				continue
			}
			s, err := sample(ctx, jobs[i], times[i], w.Units)
			all[i].Samples = append(all[i].Samples, s)
			all[i].Err = err
		}
	}
	return all
}

// calibrate returns how many runs take about as long as a sample should.
func calibrate(ctx context.Context, j Job, each time.Duration) (int, error) {
	if err := j.Run(ctx); err != nil { // the first one warms up
		return 0, err
	}
	began := time.Now()
	if err := j.Run(ctx); err != nil {
		return 0, err
	}
	one := max(time.Since(began), time.Microsecond)
	return max(1, int(each/one)), nil
}

func sample(ctx context.Context, j Job, times, units int) (Sample, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	for range times {
		if err := j.Run(ctx); err != nil {
			return Sample{}, err
		}
	}
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	n := float64(times * units)
	return Sample{
		Nanos:  float64(took.Nanoseconds()) / n,
		Allocs: float64(after.Mallocs-before.Mallocs) / n,
		Bytes:  float64(after.TotalAlloc-before.TotalAlloc) / n,
	}, nil
}
