package main

import (
	"fmt"
	"io"
	"strings"
)

// results are what was measured, by the name of the workload.
type results struct {
	by   map[string][]Measured
	ends []Ends
}

// of returns what a runner did of a workload; false if it was not measured, or failed.
func (r results) of(workload, runner string) (Sample, bool) {
	for _, m := range r.by[workload] {
		if m.Runner == runner && m.Fine() {
			return m.Median(), true
		}
	}
	return Sample{}, false
}

// line is one line of the budget: the most that something may be, or the least.
type line struct {
	what, unit string
	got, bound float64
	atLeast    bool
	measured   bool
}

func (l line) met() bool {
	if l.atLeast {
		return l.got >= l.bound
	}
	return l.got <= l.bound
}

// budget prints each line with what was measured in this run. A line that is not met fails nothing: this machine
// may be slow, and docs/scale.md says why where it is not.
func budget(w io.Writer, r results) {
	var lines []line
	for _, l := range r.lines() {
		if l.measured {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprint(w, "### The budget\n\n| what | budget | measured | |\n|---|--:|--:|---|\n")
	for _, l := range lines {
		sign, verdict := "≤", "met"
		if l.atLeast {
			sign = "≥"
		}
		if !l.met() {
			verdict = "**not met**"
		}
		fmt.Fprintf(w, "| %s | %s %s%s | %s%s | %s |\n", l.what, sign, number(l.bound), l.unit, number(l.got), l.unit, verdict)
	}
	fmt.Fprintln(w)
}

func (r results) lines() (all []line) {
	for _, w := range []struct {
		workload, what string
		bound          float64
	}{
		{"chain of 1000", "a superstep of a chain of 1,000, no store", 100},
		{"loop of two nodes, 1000 turns", "a superstep of a loop, no store", 100},
		{wide30Name, "a superstep with a state of 30 fields", 400},
		{"fan-out of 10 and join", "a task of a fan-out of 10", 1000},
		{"fan-out of 100 and join", "a task of a fan-out of 100", 1000},
		{"fan-out of 1000 and join", "a task of a fan-out of 1,000", 1000},
	} {
		s, ok := r.of(w.workload, weft)
		all = append(all, line{what: w.what, unit: " ns", got: s.Nanos, bound: w.bound, measured: ok})
	}
	if s, ok := r.of("loop of two nodes, 1000 turns", weft); ok {
		all = append(all, line{what: "allocations of a superstep of a loop, those of the run included", got: s.Allocs, bound: 0.05, measured: true})
	}
	all = append(all, r.peers()...)
	all = append(all, r.stores()...)
	return append(all, r.flat()...)
}

// peers are the ratios to other runtimes in this run.
func (r results) peers() (all []line) {
	for _, work := range []struct {
		name string
		eino float64
		js   float64
	}{
		{"chain of 10", 10, 1000}, {"chain of 100", 10, 1000}, {"chain of 1000", 10, 1000}, {"chain of 3000", 10, 1000},
		{"loop of two nodes, 1000 turns", 10, 0},
		{"fan-out of 10 and join", 2.5, 0}, {"fan-out of 100 and join", 2.5, 0}, {"fan-out of 1000 and join", 2.5, 0},
	} {
		own, ok := r.of(work.name, weft)
		for _, peer := range []struct {
			name  string
			bound float64
		}{{eino, work.eino}, {langgraphJS, work.js}} {
			s, there := r.of(work.name, peer.name)
			all = append(all, line{what: work.name + ": " + peer.name + " ÷ Weft", got: s.Nanos / own.Nanos, bound: peer.bound, atLeast: true, measured: ok && there && peer.bound > 0})
		}
	}
	if own, ok := r.of("chain of 10", weftAfoot); ok {
		peer, there := r.of("chain of 10", eino)
		all = append(all, line{what: "chain of 10, a call that nobody can end: eino ÷ Weft", got: peer.Nanos / own.Nanos, bound: 10, atLeast: true, measured: there})
	}
	own, ok1 := r.further(weft)
	peer, ok2 := r.further(eino)
	return append(all, line{what: "a superstep more, between chains of 10 and of 100: eino ÷ Weft", got: peer / own, bound: 10, atLeast: true, measured: ok1 && ok2})
}

// further is what a superstep more costs a runner, between a chain of 10 and one of 100: there the
// cost of a run, which a chain of 10 shows, is left out.
func (r results) further(runner string) (nanos float64, ok bool) {
	short, ok1 := r.of("chain of 10", runner)
	long, ok2 := r.of("chain of 100", runner)
	return (100*long.Nanos - 10*short.Nanos) / 90, ok1 && ok2
}

// stores are what a store costs.
func (r results) stores() (all []line) {
	set, ok1 := r.of("200 steps of 1 KiB, Redis", "a bare SET")
	commit, ok3 := r.of("200 steps of 1 KiB, Redis", commitAlone)
	step, ok2 := r.of("200 steps of 1 KiB, Redis", weft)
	all = append(all,
		line{what: "a commit to Redis ÷ a bare SET of the same bytes", got: commit.Nanos / set.Nanos, bound: 1.7, measured: ok1 && ok3},
		line{what: "calls of Redis a step, of 200 steps with the load, the input and the lease", got: step.Commands, bound: 1.02, measured: ok2},
		line{what: "bytes that a step of 1 KiB stores on Redis", got: step.Stored, bound: 2 * 1024, measured: ok2})
	short, ok1 := r.of("resume of a thread of 10 steps, Redis", weft)
	long, ok2 := r.of("resume of a thread of 1000 steps, Redis", weft)
	return append(all, line{what: "calls of Redis for a resume of a thread of 1,000 steps, less those for one of 10", got: long.Commands - short.Commands, bound: 0, measured: ok1 && ok2})
}

// flat are the long runs: what a late step costs, as a part of an early one.
func (r results) flat() (all []line) {
	for _, e := range r.ends {
		if e.Err == nil && e.Last > 1000 {
			all = append(all, line{what: fmt.Sprintf("time of step %d ÷ of step %d, %s", e.Last, e.First, e.Store), got: e.growth(), bound: 1.25, measured: true})
			if e.Early.Stored > 0 {
				all = append(all, line{what: fmt.Sprintf("bytes stored by step %d ÷ by step %d, %s", e.Last, e.First, e.Store), got: e.Late.Stored / e.Early.Stored, bound: 1.05, measured: true})
			}
		}
	}
	return all
}

// notes prints what the workloads have to say beside their numbers.
func (r results) notes(w io.Writer, order []string) {
	for _, name := range order {
		for _, m := range r.by[name] {
			if m.Note != "" {
				fmt.Fprintf(w, "- %s: %s\n", name, strings.TrimSpace(m.Note))
			}
		}
	}
	fmt.Fprintln(w)
}
