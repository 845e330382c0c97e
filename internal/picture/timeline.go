package picture

import (
	"maps"
	"slices"
	"time"

	"github.com/weftrun/weft/graph"
)

// Sizes of the timeline in pixels.
const (
	timeNames  = 190 // the greatest width of the column with the names
	timeRow    = 24
	timeHead   = 22 // above the rows, for the numbers of the steps
	timeFoot   = 46 // below the rows, for the bars of the durations
	timeColumn = 28
	timeText   = 12 // the size of the names
)

// maxColumns is the most steps that a timeline shows. It leaves out older ones.
const maxColumns = 300

// column is one step of a timeline.
type column struct {
	commit uint64
	step   int
	ran    map[string]int // tasks by node
	took   time.Duration  // 0 if it is not known
	waited time.Duration  // before the step, between two runs
}

// Timeline returns a picture of the steps of a turn: a row for each node, a column for each step,
// and below each step how long it took. The commits are those of the turn, the newest first. The
// first step of a later run has a line at its left with the time between the runs. If a step is
// due, it is the last column, with the states that run has for the nodes of d.
func Timeline(turn []graph.CommitInfo, run *Run, d graph.Drawing) string {
	columns := columnsOf(turn)
	if len(columns) == 0 {
		return ""
	}
	names := rowsOf(columns, turn[0])
	w := &svgWriter{ids: map[string]bool{}}
	left := textWidth("longest: 88 min 88 s", subSize) + 12 // where the columns of the steps begin
	for _, name := range names {
		left = max(left, textWidth(cut(clean(name), timeText, timeNames-12), timeText)+12)
	}
	width := left + timeColumn*(len(columns)+1) + 8
	height := timeHead + timeRow*len(names) + timeFoot
	w.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="weft-picture weft-timeline" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="weft-time">`+"\n", width, height)
	w.printf("<title id=\"weft-time\">Steps of a turn (%d), each with the nodes that ran in it and how long it took</title>\n", len(columns))
	for i, name := range names {
		y := timeHead + timeRow*i
		w.printf(`<text class="time-node" x="%d" y="%d">%s</text>`, left-10, y+16, escape(cut(clean(name), timeText, timeNames-12)))
		w.printf(`<path class="grid" d="M%d %dH%d"/>`+"\n", left, y+timeRow, width)
	}
	longest := time.Duration(1)
	for _, c := range columns {
		longest = max(longest, c.took)
	}
	if longest > 1 {
		w.printf(`<text class="time-sum" x="%d" y="%d">longest: %s</text>`+"\n", left-10, height-10, escape(Duration(longest)))
	}
	for i, c := range columns {
		w.column(c, left+timeColumn*i, names, longest)
	}
	if len(turn[0].Next) > 0 {
		w.due(turn[0], left+timeColumn*len(columns), names, run, d)
	}
	w.printf("</svg>\n")
	return w.String()
}

// columnsOf returns the steps of a turn, the oldest first.
func columnsOf(turn []graph.CommitInfo) (columns []column) {
	for i, c := range slices.Backward(turn) {
		if len(c.Nodes()) == 0 {
			continue
		}
		at := column{commit: c.Checkpoint, step: c.Step, ran: map[string]int{}}
		for _, n := range c.Nodes() {
			at.ran[n]++
		}
		if i+1 < len(turn) {
			took := max(c.Time.Sub(turn[i+1].Time), 0)
			if turn[i+1].Run == c.Run {
				at.took = took
			} else {
				at.waited = took
			}
		}
		columns = append(columns, at)
	}
	return columns[max(0, len(columns)-maxColumns):]
}

// rowsOf returns the nodes of the steps in the order in which they first ran, by name within a
// step. Nodes that are due and have not run come last.
func rowsOf(columns []column, head graph.CommitInfo) (names []string) {
	for _, c := range columns {
		var step []string
		for name := range c.ran {
			if !slices.Contains(names, name) {
				step = append(step, name)
			}
		}
		slices.Sort(step)
		names = append(names, step...)
	}
	for _, name := range head.Next {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// column writes one step.
func (w *svgWriter) column(c column, x int, names []string, longest time.Duration) {
	took := "an unknown time"
	if c.took > 0 {
		took = escape(Duration(c.took))
	}
	w.printf("<g><title>step %d, checkpoint %d, %s: ", c.step, c.commit, took)
	for i, name := range slices.Sorted(maps.Keys(c.ran)) {
		if i > 0 {
			w.printf(", ")
		}
		w.printf("%s", escape(name))
		if n := c.ran[name]; n > 1 {
			w.printf(" ×%d", n)
		}
	}
	w.printf("</title>")
	w.printf(`<text class="time-step" x="%d" y="14">%d</text>`, x+timeColumn/2, c.step)
	if c.waited > 0 {
		w.printf(`<path class="time-wait" d="M%d %dV%d"><title>%s between two runs</title></path>`, x, timeHead, timeHead+timeRow*len(names), escape(Duration(c.waited)))
	}
	for i, name := range names {
		if n := c.ran[name]; n > 0 {
			w.bar(Done, x, timeHead+timeRow*i)
			if n > 1 {
				w.printf(`<text class="time-count" x="%d" y="%d">%d</text>`, x+timeColumn/2, timeHead+timeRow*i+16, n)
			}
		}
	}
	base := timeHead + timeRow*len(names) + timeFoot - 6
	if c.took > 0 {
		height := max(1, int(int64(timeFoot-16)*int64(c.took)/int64(longest)))
		w.printf(`<rect class="time-took" x="%d" y="%d" width="%d" height="%d"/>`, x+5, base-height, timeColumn-10, height)
	}
	w.printf("</g>\n")
}

// due writes the step that is not committed.
func (w *svgWriter) due(head graph.CommitInfo, x int, names []string, run *Run, d graph.Drawing) {
	w.printf("<g>")
	for i, name := range names {
		if !slices.Contains(head.Next, name) {
			continue
		}
		state := Queued
		for _, n := range d.Nodes {
			if m := run.mark(n.ID); n.Name == name && m.State != Idle {
				state = m.State
			}
		}
		w.printf("<g><title>%s, %s</title>", escape(name), words[state])
		w.bar(state, x, timeHead+timeRow*i)
		w.printf("</g>")
	}
	w.printf("</g>\n")
}

// bar writes the cell of a node in a step.
func (w *svgWriter) bar(s State, x, y int) {
	w.printf(`<g class="state-%s"><rect class="shape" x="%d" y="%d" width="%d" height="%d" rx="4"/></g>`, s, x+2, y+4, timeColumn-4, timeRow-8)
}
