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

// floor returns what plain Go does of a workload.
func (r results) floor(workload string) (Sample, bool) {
	if s, ok := r.of(workload, floor); ok {
		return s, ok
	}
	return r.of(workload, copyingFloor)
}

// line is one line of the budget: an upper bound of a value, or a lower one. Where a program in
// plain Go, the floor, does the same work in the same run, the ratio to it has a bound too. That
// bound holds on a slow machine as well.
type line struct {
	what, unit string
	got, bound float64
	atLeast    bool
	measured   bool

	ratio, mostRatio float64 // to the floor; 0 without one
}

func (l line) met() bool {
	if l.atLeast {
		return l.got >= l.bound
	}
	return l.got <= l.bound
}

// verdict is the entry of the table for a line that is met or not.
func verdict(met bool) string {
	if met {
		return "met"
	}
	return "**not met**"
}

// budget prints each line with its measured value. An exceeded line does not fail the run, because
// the machine may be slow. docs/scale.md gives the reasons of other exceeded lines.
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
	fmt.Fprint(w, "### The budget\n\n| what | budget | measured | | ÷ plain Go, budget | measured | |\n|---|--:|--:|---|--:|--:|---|\n")
	for _, l := range lines {
		sign := "≤"
		if l.atLeast {
			sign = "≥"
		}
		fmt.Fprintf(w, "| %s | %s %s%s | %s%s | %s |", l.what, sign, number(l.bound), l.unit, number(l.got), l.unit, verdict(l.met()))
		if l.ratio > 0 {
			fmt.Fprintf(w, " ≤ %s | %s | %s |\n", number(l.mostRatio), number(l.ratio), verdict(l.ratio <= l.mostRatio))
		} else {
			fmt.Fprint(w, " | | |\n")
		}
	}
	fmt.Fprintln(w)
}

func (r results) lines() (all []line) {
	for _, w := range []struct {
		workload, runner, what string
		bound, floor           float64 // the floor as it was when the bound was set; 0 without one
	}{
		{"chain of 10", weft, "a superstep of a chain of 10, no store", 250, 8.2},
		{"chain of 1000", weft, "a superstep of a chain of 1,000, no store", 100, 0},
		{"loop of two nodes, 1000 turns", weft, "a superstep of a loop, no store", 100, 0},
		{"loop of two nodes in YAML, 1000 turns", weft + ", YAML", "a superstep of a loop in YAML", 400, 0},
		{wide30Name, weft, "a superstep with a state of 30 fields", 400, 0},
		{"100 fields written, 10 steps", weft, "a superstep that writes 100 fields, of 10", 3500, 2300},
		{"100 fields written, 100 steps", weft, "a superstep that writes 100 fields, of 100", 3000, 2000},
		{"100 fields written, 10 steps", weftRecord, "the same on a record, of 10", 8000, 2300},
		{"25 lists that grow to 300", weft, "a superstep that appends to 25 lists", 4000, 2700},
		{"25 lists that grow to 300", weftRecord, "the same on a record", 15_000, 2700},
		{"fan-out of 10 and join", weft, "a task of a fan-out of 10", 600, 0},
		{"fan-out of 100 and join", weft, "a task of a fan-out of 100", 600, 0},
		{"fan-out of 1000 and join", weft, "a task of a fan-out of 1,000", 600, 0},
		{"10 Sends and a join", weft, "a task of 10 Sends", 600, 174},
		{"100 Sends and a join", weft, "a task of 100 Sends", 600, 202},
		{"1000 Sends and a join", weft, "a task of 1,000 Sends", 600, 244},
		{"10 Sends and a join", weft + ", YAML", "a task of 10 Sends in YAML", 1500, 0},
		{"100 Sends and a join", weft + ", YAML", "a task of 100 Sends in YAML", 1500, 0},
		{"1000 Sends and a join", weft + ", YAML", "a task of 1,000 Sends in YAML", 1500, 0},
		{"a subgraph in a fan-out of 100", weft, "a subgraph in a fan-out of 100", 700, 384},
		{"Invoke of one node", weft, "Invoke of one node", 1000, 0},
		{"Invoke of one node", weft + ", memory", "Invoke of one node, memory store", 10_000, 0},
		{"100 messages added by id, no store", weft, "a message added by id, no store", 600, 185},
		{"200 steps of 1 KiB, memory", weft, "a step of 1 KiB, memory store", 4000, 140},
		{"1000 threads at once, 100 steps each, memory", weft, "a step of 1,000 threads at once, memory store", 6000, 250},
		{compileName(10), weft, "compile, a node of 10", 5000, 0},
		{compileName(10_000), weft, "compile, a node of 10,000", 5000, 0},
	} {
		s, ok := r.of(w.workload, w.runner)
		l := line{what: w.what, unit: " ns", got: s.Nanos, bound: w.bound, measured: ok}
		if least, there := r.floor(w.workload); there && w.floor > 0 {
			l.ratio, l.mostRatio = s.Nanos/least.Nanos, w.bound/w.floor
		}
		all = append(all, l)
	}
	for _, store := range []string{"memory", "SQLite", "Redis", "PostgreSQL"} {
		few, ok1 := r.of(logStepsName(100, store), weft)
		many, ok2 := r.of(logStepsName(20_000, store), weft)
		all = append(all, line{what: "a message added to 20,000 ÷ to 100, " + store, got: many.Nanos / few.Nanos, bound: 1.2, measured: ok1 && ok2})
		s, ok := r.of("load of 10000 texts of 1 KiB, "+store, weft)
		all = append(all, line{what: "load of 10,000 texts of 1 KiB, " + store, unit: " ms", got: s.Nanos / 1e6, bound: 25, measured: ok})
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
	if own, ok := r.of("chain of 10", weftInline); ok {
		peer, there := r.of("chain of 10", eino)
		all = append(all, line{what: "chain of 10, no cancellation: eino ÷ Weft", got: peer.Nanos / own.Nanos, bound: 10, atLeast: true, measured: there})
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
	insert, ok0 := r.of("200 steps of 1 KiB, SQLite", "a plain INSERT")
	sqlite, ok4 := r.of("200 steps of 1 KiB, SQLite", weft)
	all = append(all, line{what: "a step of 1 KiB to SQLite ÷ a plain INSERT of the same bytes", got: sqlite.Nanos / insert.Nanos, bound: 1.3, measured: ok0 && ok4})
	set, ok1 := r.of("200 steps of 1 KiB, Redis", "a plain SET")
	commit, ok3 := r.of("200 steps of 1 KiB, Redis", commitAlone)
	step, ok2 := r.of("200 steps of 1 KiB, Redis", weft)
	all = append(all,
		line{what: "a commit to Redis ÷ a plain SET of the same bytes", got: commit.Nanos / set.Nanos, bound: 1.7, measured: ok1 && ok3},
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
