package recording

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftrun/weft/graph"
)

// difference compares c with the recorded call of its node that is most like it.
func (r *Recorder) difference(c *call) *Difference {
	var best *call
	likeness, of := -1, 0
	for _, old := range r.old {
		if old.node != c.node {
			continue
		}
		of = max(of, old.number)
		like := 0
		if old.kind == c.kind && old.name == c.name {
			like += 2
		}
		if old.index == c.index {
			like++
		}
		if !old.used && like > likeness {
			best, likeness = old, like
		}
	}
	d := &Difference{Path: r.path, Node: c.node, Number: of + 1, Call: c.String()}
	if best == nil {
		for _, f := range r.differ {
			if f.Node == c.node && f.Field == "" {
				d.Number++
			}
		}
		return d
	}
	d.Line, d.Number = best.line, best.number
	if c.String() != best.String() {
		d.Field, d.Got, d.Recorded = "the call", quoteJSON(c.String()), quoteJSON(best.String())
		return d
	}
	path, got, recorded := differ(c.request, best.request, "")
	if d.Field = "request"; path != "." && path[0] != '[' {
		path = "." + path
	}
	d.Field += strings.TrimSuffix(path, ".")
	d.Got, d.Recorded = around(got, recorded)
	return d
}

// around returns two values as JSON, shortened to what is near their first difference.
func around(a, b *value) (string, string) {
	x, y := shown(a), shown(b)
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	const before, after = 40, 80
	cut := func(s []rune) string {
		from, to := 0, len(s)
		if n > before+1 {
			from = n - before
		}
		if to > n+after+1 {
			to = n + after
		}
		text := string(s[from:to])
		if from > 0 {
			text = "…" + text
		}
		if to < len(s) {
			text += "…"
		}
		return text
	}
	return cut(x), cut(y)
}

func shown(v *value) []rune {
	if v == nil {
		return []rune("missing")
	}
	return []rune(string(v.json(nil)))
}

// byPlace orders places by their steps, nodes and indexes.
func byPlace(a, b []graph.Place) int {
	return slices.CompareFunc(a, b, func(a, b graph.Place) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Index, b.Index))
	})
}

// compared returns the first difference, or nil.
func (r *Recorder) compared() error {
	slices.SortStableFunc(r.differ, func(a, b *found) int { return cmp.Or(byPlace(a.places, b.places), cmp.Compare(a.order, b.order)) })
	if len(r.differ) > 0 {
		d := *r.differ[0].Difference
		d.More = len(r.differ) - 1
		return &d
	}
	var first *Difference
	for _, old := range r.old {
		switch {
		case old.used || old.optional || old.kind == kindTools || old.cancelled():
		case first == nil:
			first = &Difference{Path: r.path, Line: old.line, Node: old.node, Number: old.number, Call: old.String(), Left: true}
		default:
			first.More++
		}
	}
	if first == nil {
		return nil
	}
	return first
}
