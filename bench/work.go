package main

import (
	"context"
	"fmt"
	"time"
)

// A Workload is work that several runners can do.
type Workload struct {
	Name string
	Unit string // what Units counts: a step, a task, a run
	// Units is how many of them one run has: times, allocations and bytes are per unit.
	Units int
	// Long is work of which one run is sample enough.
	Long    bool
	Runners []Runner
}

// A Runner does a workload its own way.
type Runner struct {
	Name string
	// Make prepares a run; its time does not count.
	Make func(ctx context.Context) (Job, error)
}

// A Job can be run any number of times.
type Job struct {
	// Run does the work once, and returns an error if it failed or its result is wrong.
	Run func(ctx context.Context) error
	// Times, for a driver, repeats the work times times and returns the duration.
	Times func(ctx context.Context, times int) (time.Duration, error)
	// Process is the process that does it; 0 is this one.
	Process int
	// Counts, if not nil, returns the amounts that the job has stored and sent so far.
	Counts func(ctx context.Context) (Counts, error)
	// Note, if it is not nil, is what else is to be said when all is done.
	Note func() string
	// Close lets go of what Make took; it may be nil.
	Close func()
}

// Counts are what a store was given.
type Counts struct {
	Commands int64 // calls of the store: commits, loads, leases
	Bytes    int64 // headers, references and values
}

// job is a Job that has nothing to close.
func job(run func(ctx context.Context) error) (Job, error) { return Job{Run: run}, nil }

// times does the work of a job so many times.
func (j Job) times(ctx context.Context, times int) (time.Duration, error) {
	if j.Times != nil {
		return j.Times(ctx, times)
	}
	began := time.Now()
	for range times {
		if err := j.Run(ctx); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// wrong is the error of a result that is not what it must be.
func wrong(got, want any) error { return fmt.Errorf("%w: got %v, want %v", errWrong, got, want) }

// is returns an error unless got is want.
func is[T comparable](got, want T) error {
	if got != want {
		return wrong(got, want)
	}
	return nil
}
