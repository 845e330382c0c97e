package main

import (
	"context"
	"fmt"
)

// A Workload is work that several runners can do.
type Workload struct {
	Name string
	Unit string // what Units counts: a step, a task, a run
	// Units is how many of them one run has: times, allocations and bytes are per unit.
	Units   int
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
	// Close lets go of what Make took; it may be nil.
	Close func()
}

// job is a Job that has nothing to close.
func job(run func(ctx context.Context) error) (Job, error) { return Job{Run: run}, nil }

// wrong is the error of a result that is not what it must be.
func wrong(got, want any) error { return fmt.Errorf("%w: got %v, want %v", errWrong, got, want) }

// is returns an error unless got is want.
func is[T comparable](got, want T) error {
	if got != want {
		return wrong(got, want)
	}
	return nil
}
