package main

import (
	"fmt"
	"io"
)

// header begins the table of all workloads.
func header(w io.Writer) {
	fmt.Fprint(w, "| workload | runner | time | spread | allocs | bytes | stored | commands | peak | × first | × Weft |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
}

// report adds a workload to the table: medians, spreads, and ratios to the first runner and Weft.
func report(w io.Writer, work Workload, all []Measured) {
	own := all[0]
	for _, m := range all {
		if m.Runner == weft {
			own = m
		}
	}
	name := work.Name + ", per " + work.Unit
	for _, m := range all {
		row(w, name, m, all[0], own)
		name = ""
	}
}

func row(w io.Writer, name string, m, base, own Measured) {
	if !m.Fine() {
		fmt.Fprintf(w, "| %s | %s | **%s** |\n", name, m.Runner, firstLine(fmt.Sprint(m.Err)))
		return
	}
	s, n := m.Median(), len(m.Samples)
	allocs, bytes, stored, commands, spread := "", "", "", "", "one sample"
	if !m.Foreign {
		allocs, bytes = fmt.Sprintf("%.1f", s.Allocs), fmt.Sprintf("%.0f", s.Bytes)
	}
	if s.Commands > 0 {
		stored, commands = fmt.Sprintf("%.0f", s.Stored), fmt.Sprintf("%.2f", s.Commands)
	}
	if n > 1 {
		spread = fmt.Sprintf("±%.0f %% of %d", 100*m.Spread(), n)
	}
	fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, m.Runner, nanos(s.Nanos), spread, allocs, bytes, stored, commands,
		mebi(s.Peak), ratio(m, base), ratio(m, own))
}

// mebi writes a number of bytes in MiB.
func mebi(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f MiB", n/(1<<20))
}

func ratio(m, to Measured) string {
	if !to.Fine() {
		return ""
	}
	return number(m.Median().Nanos / to.Median().Nanos)
}

// number writes a ratio with three digits, or all that it has before the point.
func number(x float64) string {
	if x >= 100 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// nanos writes a time with three digits.
func nanos(n float64) string {
	for _, u := range []struct {
		unit string
		of   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if n >= u.of*0.9995 {
			return number(n/u.of) + " " + u.unit
		}
	}
	return number(n) + " ns"
}
