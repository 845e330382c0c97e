package studio

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/internal/picture"
)

// sizesPage is how many checkpoints the page of sizes shows.
const sizesPage = 500

// sizes are the stored bytes of a thread's fields at some checkpoints.
type sizes struct {
	Thread      string      `json:"thread"`
	Namespace   string      `json:"namespace,omitempty"`
	Checkpoints []uint64    `json:"checkpoints"` // the oldest first
	Fields      []fieldSize `json:"fields"`      // the largest first
	Older       uint64      `json:"older,omitempty"`
}

// fieldSize are the bytes of one field at each checkpoint.
type fieldSize struct {
	Field string `json:"field"`
	Bytes []int  `json:"bytes"`
	// Grows is true if the field never shrinks and grows in most steps.
	Grows bool `json:"grows,omitempty"`
}

func (f fieldSize) last() int { return f.Bytes[len(f.Bytes)-1] }

// A field that grows is reported from so many checkpoints and bytes on.
const (
	growSteps = 5
	growBytes = 1 << 10
)

// sizesOf reads the sizes of a thread in the namespace ?ns= up to the checkpoint ?before=.
func (r *request) sizesOf(t Thread) (*sizes, error) {
	before, err := r.number("before", anyNumber)
	if err != nil {
		return nil, err
	}
	all := &sizes{Thread: t.ID, Namespace: r.URL.Query().Get("ns")}
	var steps []map[string]int
	for snap, err := range t.Store.History(r.Context(), checkpoint.Key{Thread: t.ID, Namespace: all.Namespace}, checkpoint.Query{Before: before, Limit: sizesPage + 1}) {
		if err != nil {
			return nil, err
		}
		if len(steps) == sizesPage {
			all.Older = all.Checkpoints[sizesPage-1]
			break
		}
		rec, err := checkpoint.ReadRecord(snap)
		if err != nil {
			return nil, err
		}
		step := map[string]int{}
		for _, f := range rec.Fields {
			step[f.Name] = f.BaseBytes + f.ChunkBytes
		}
		steps, all.Checkpoints = append(steps, step), append(all.Checkpoints, snap.Seq)
	}
	slices.Reverse(steps)
	slices.Reverse(all.Checkpoints)
	all.add(steps)
	return all, nil
}

// add arranges the sizes by field.
func (s *sizes) add(steps []map[string]int) {
	names := map[string]bool{}
	for _, step := range steps {
		for name := range step {
			names[name] = true
		}
	}
	for name := range names {
		f := fieldSize{Field: name, Bytes: make([]int, len(steps))}
		grown, shrank := 0, false
		for i, step := range steps {
			if f.Bytes[i] = step[name]; i > 0 {
				shrank = shrank || f.Bytes[i] < f.Bytes[i-1]
				if f.Bytes[i] > f.Bytes[i-1] {
					grown++
				}
			}
		}
		f.Grows = !shrank && len(steps) >= growSteps && 2*grown >= len(steps)-1 && f.last() >= growBytes
		s.Fields = append(s.Fields, f)
	}
	slices.SortFunc(s.Fields, func(a, b fieldSize) int {
		return cmp.Or(cmp.Compare(b.last(), a.last()), cmp.Compare(a.Field, b.Field))
	})
}

// showSizes is the page of the sizes of a thread.
func showSizes(r *request) (view, error) {
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	spaces, err := graph.Namespaces(r.Context(), t.Store, t.ID)
	if errors.Is(err, graph.ErrUnknownThread) {
		return view{"/threads", "Sizes of thread " + t.ID, h.Parts{h.P(link(r.threadPath(t.ID), "back to the thread")), muted("The thread has no checkpoint yet.")}}, nil
	}
	if err != nil {
		return view{}, err
	}
	s, err := r.sizesOf(t)
	if err != nil {
		return view{}, err
	}
	if len(s.Checkpoints) == 0 {
		return view{}, &requestError{http.StatusNotFound, "the thread has no such checkpoint or subgraph"}
	}
	path := escapedPath("threads", t.ID, "sizes")
	choice := func(ns, text string) h.Part {
		return h.A(h.Href(r.with(path, "ns", ns, "before", "")), h.If(ns == s.Namespace, h.Aria("current", "true")), h.Text(text))
	}
	return view{"/threads", "Sizes of thread " + t.ID, h.Parts{
		h.P(link(r.threadPath(t.ID), "back to the thread")),
		h.If(len(spaces) > 0, h.Nav(h.Class("tabs"), h.Aria("label", "Subgraphs"), choice("", "the thread itself"), h.Each(spaces, func(ns string) h.Part { return choice(ns, ns) }))),
		h.Each(s.Fields, fieldSize.warning),
		scroll("Chart of the sizes", h.SVG(picture.Areas(s.chart()))),
		s.table(),
		h.If(s.Older > 0, h.P(neighbour(r.with(path, "before", fmt.Sprint(s.Older)), "next", "older checkpoints"))),
		r.mention(http.MethodGet, escapedPath("threads", t.ID, "storage"), nil),
	}}, nil
}

// chart returns the sizes as a chart.
func (s *sizes) chart() picture.Chart {
	c := picture.Chart{Title: fmt.Sprintf("Stored bytes of %s at each checkpoint", plural(len(s.Fields), "field", "fields")), Unit: bytesText}
	for _, n := range s.Checkpoints {
		c.Columns = append(c.Columns, fmt.Sprint(n))
	}
	for _, f := range s.Fields {
		c.Areas = append(c.Areas, picture.Area{Name: f.Field, Values: f.Bytes})
	}
	return c
}

// warning describes what to do about a field that grows with every step.
func (f fieldSize) warning() h.Part {
	return h.If(f.Grows, h.P(h.Class("notice"), h.B(h.Text(f.Field)), h.Text(fmt.Sprintf(" grows with nearly every step, to %s. "+
		"Keep only what later nodes read: the newest items, or a summary. Put large values in the store and their keys in the state. `weft prune` removes old checkpoints.", bytesText(f.last())))))
}

func (s *sizes) table() h.Part {
	sum := 0
	for _, f := range s.Fields {
		sum += f.last()
	}
	return scroll("Table of sizes", h.Table(heads("Field", "Bytes", "Share", "At the first shown"), h.Tbody(h.Each(s.Fields, func(f fieldSize) h.Part {
		return h.Tr(h.Th(h.Scope("row"), h.Text(f.Field)), h.Td(h.Class("number"), h.Text(bytesText(f.last()))),
			h.Td(h.Class("number"), h.Text(fmt.Sprintf("%d %%", 100*f.last()/max(sum, 1)))), h.Td(h.Class("number"), h.Text(bytesText(f.Bytes[0]))))
	}))))
}

// bytesText returns a number of bytes for people.
func bytesText(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
