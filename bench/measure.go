package main

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

var errWrong = errors.New("wrong result")

// Sample is what one measurement of a runner gave, per unit of its workload, but for Peak.
type Sample struct {
	Nanos, Allocs, Bytes float64
	Stored, Commands     float64 // bytes and calls, where there is a store
	Peak                 float64 // bytes of memory, at most, above what there was before; 0 if that is not known
}

// Measured is what was seen of one runner.
type Measured struct {
	Runner  string
	Samples []Sample
	Note    string
	Foreign bool  // another process did it, whose allocations are not known
	Err     error // it failed, or its result is wrong
}

// Median returns the sample with the middle time.
func (m Measured) Median() Sample {
	s := slices.Clone(m.Samples)
	slices.SortFunc(s, func(a, b Sample) int { return cmp.Compare(a.Nanos, b.Nanos) })
	return s[len(s)/2]
}

// Fine reports whether there is a median.
func (m Measured) Fine() bool { return m.Err == nil && len(m.Samples) > 0 }

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

// Plan sets the duration of the measurements.
type Plan struct {
	Rounds int
	Each   time.Duration // about how long one sample takes
	Most   time.Duration // a runner that has taken so long gives no more samples
}

// measure lets the runners of a workload take turns.
func measure(ctx context.Context, w Workload, p Plan) []Measured {
	all, jobs := make([]Measured, len(w.Runners)), make([]Job, len(w.Runners))
	times, spent := make([]int, len(w.Runners)), make([]time.Duration, len(w.Runners))
	for i, r := range w.Runners {
		all[i].Runner = r.Name
		if jobs[i], all[i].Err = r.Make(ctx); jobs[i].Close != nil {
			defer jobs[i].Close()
		}
		if all[i].Err == nil {
			began := time.Now()
			all[i].Foreign = jobs[i].Process != 0
			times[i], all[i].Err = calibrate(ctx, jobs[i], p.Each, w.Long)
			if spent[i] = time.Since(began); all[i].Foreign && all[i].Err == nil && spent[i] > p.Most { // long enough to be a sample
				all[i].Samples = []Sample{{Nanos: float64(spent[i].Nanoseconds()) / float64(w.Units)}}
			}
		}
	}
	for round := range p.Rounds {
		for i := range all {
			if all[i].Err != nil || spent[i] > p.Most && (round > 0 || len(all[i].Samples) > 0) {
				continue
			}
			began := time.Now()
			s, err := sample(ctx, jobs[i], times[i], w.Units)
			spent[i] += time.Since(began)
			all[i].Samples, all[i].Err = append(all[i].Samples, s), err
		}
	}
	for i, j := range jobs {
		if j.Note != nil && all[i].Fine() {
			all[i].Note = j.Note()
		}
	}
	return all
}

// calibrate returns how many runs take about as long as a sample should. Its runs also warm up.
func calibrate(ctx context.Context, j Job, each time.Duration, long bool) (int, error) {
	if long {
		return 1, nil
	}
	took, err := j.times(ctx, 1)
	if err != nil || took > each {
		return 1, err
	}
	if took, err = j.times(ctx, 1); err != nil {
		return 1, err
	}
	return max(1, int(each/max(took, time.Microsecond))), nil
}

func sample(ctx context.Context, j Job, times, units int) (s Sample, err error) {
	if j.Process == 0 {
		debug.FreeOSMemory()
	}
	var before, after runtime.MemStats
	var first, last Counts
	if j.Counts != nil {
		if first, err = j.Counts(ctx); err != nil {
			return s, err
		}
	}
	memory := beginPeak(j.Process)
	runtime.ReadMemStats(&before)
	took, err := j.times(ctx, times)
	if err != nil {
		return s, err
	}
	runtime.ReadMemStats(&after)
	s.Peak = memory.end()
	if j.Counts != nil {
		if last, err = j.Counts(ctx); err != nil {
			return s, err
		}
	}
	n := float64(times * units)
	s.Nanos, s.Stored, s.Commands = float64(took.Nanoseconds())/n, float64(last.Bytes-first.Bytes)/n, float64(last.Commands-first.Commands)/n
	if j.Process == 0 {
		s.Allocs, s.Bytes = float64(after.Mallocs-before.Mallocs)/n, float64(after.TotalAlloc-before.TotalAlloc)/n
	}
	return s, nil
}
