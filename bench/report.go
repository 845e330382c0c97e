package main

import (
	"fmt"
	"io"
)

// report prints a table of one workload: medians, spreads, and ratios to the first runner and to Weft.
func report(w io.Writer, work Workload, all []Measured) {
	fmt.Fprintf(w, "### %s, per %s\n\n", work.Name, work.Unit)
	fmt.Fprintf(w, "| runner | time | spread | allocs | bytes | × %s | × Weft |\n|---|--:|--:|--:|--:|--:|--:|\n", all[0].Runner)
	base, own := all[0], all[0]
	for _, m := range all {
		if m.Runner == weft {
			own = m
		}
	}
	for _, m := range all {
		if m.Err != nil || len(m.Samples) == 0 {
			fmt.Fprintf(w, "| %s | %v |\n", m.Runner, m.Err)
			continue
		}
		s := m.Median()
		fmt.Fprintf(w, "| %s | %s | ±%.0f %% | %.1f | %.0f | %s | %s |\n", m.Runner, nanos(s.Nanos), 100*m.Spread(), s.Allocs, s.Bytes, ratio(m, base), ratio(m, own))
	}
	fmt.Fprintln(w)
}

func ratio(m, to Measured) string {
	if to.Err != nil || len(to.Samples) == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", m.Median().Nanos/to.Median().Nanos)
}

// nanos writes a time with three digits.
func nanos(n float64) string {
	for _, u := range []struct {
		unit string
		of   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if n >= u.of {
			return fmt.Sprintf("%.3g %s", n/u.of, u.unit)
		}
	}
	return fmt.Sprintf("%.3g ns", n)
}
