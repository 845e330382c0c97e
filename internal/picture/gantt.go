package picture

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// WideRow is how many tasks of a node at one time have tracks of their own. More are one strip.
const WideRow = 8

// Sizes of the chart of spans in pixels.
const (
	ganttWidth  = 760 // of the times
	ganttTrack  = 16
	ganttBar    = 3 // at least
	ganttTracks = WideRow
	ganttPause  = 28 // a time in which nothing ran
	ganttFooter = 20
)

// Window is the part of the time that a chart shows. The zero Window is all.
type Window struct{ Start, End time.Time }

// cuts returns the part of an interval that is in the window; ok is false if there is none.
func (w Window) cuts(in interval) (part interval, ok bool) {
	if w == (Window{}) {
		return in, true
	}
	if in.start.Before(w.Start) {
		in.start = w.Start
	}
	if in.end.After(w.End) {
		in.end = w.End
	}
	return in, !in.end.Before(in.start)
}

// Of returns the spans of which the window has a part. now is the end of what lasts.
func (w Window) Of(spans []Span, now time.Time) (shown []Span) {
	for _, s := range spans {
		if _, ok := w.cuts(interval{s.Start, s.until(now)}); ok {
			shown = append(shown, s)
		}
	}
	return shown
}

// Gantt returns a chart of spans: a row for each node and a bar for each span, over the time of a
// window. Times in which nothing ran are shortened. now is the end of what lasts. The attribute
// data-times of the chart has pixels and their times, in ms since 1970: "60:1767225600000 …".
// Between two of them the time is linear.
func Gantt(spans []Span, now time.Time, shown Window) string {
	spans = shown.Of(spans, now)
	if len(spans) == 0 {
		return ""
	}
	g := newScale(spans, now, shown)
	w := &svgWriter{ids: map[string]bool{}}
	names := nodesOf(spans)
	left := 60
	for _, name := range names {
		left = max(left, textWidth(cut(clean(name), timeText, timeNames-12), timeText)+14)
	}
	rows, height := make([]ganttRow, len(names)), 4
	for i, name := range names {
		rows[i] = rowOf(name, spans, now)
		rows[i].y = height
		height += ganttTrack*rows[i].shown() + 8
	}
	height += ganttFooter
	w.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="weft-picture weft-gantt" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" data-times="%s" role="img" aria-labelledby="weft-gantt">`+"\n", left+ganttWidth+8, height, g.marks(left))
	w.printf("<title id=\"weft-gantt\">Times of the tasks of a turn, a row for each of %d nodes</title>\n", len(names))
	for _, p := range g.pauses {
		w.printf(`<g><title>%s in which nothing ran</title><rect class="time-pause" x="%d" y="0" width="%d" height="%d"/></g>`+"\n",
			escape(Duration(p.end.Sub(p.start))), left+g.x(p.start), g.x(p.end)-g.x(p.start), height-ganttFooter)
	}
	for i, r := range rows {
		w.printf(`<text class="time-node" x="%d" y="%d">%s</text>`, left-10, r.y+13, escape(cut(clean(names[i]), timeText, timeNames-12)))
		bottom := r.y + ganttTrack*r.shown() + 4
		w.printf(`<path class="grid" d="M%d %dH%d"/>`+"\n", left, bottom, left+ganttWidth)
		if len(r.tracks) > ganttTracks {
			w.strip(r, left, g, now)
			continue
		}
		for track, all := range r.tracks {
			for len(all) > 0 {
				n := g.alike(all, now)
				w.spans(all[:n], left, r.y+ganttTrack*track, g, now)
				all = all[n:]
			}
		}
	}
	w.printf(`<text class="time-sum" x="%d" y="%d">%s</text>`+"\n", left+ganttWidth, height-5, escape(Duration(max(g.active, time.Millisecond))+" of work"))
	w.printf("</svg>\n")
	return w.String()
}

// Middle returns the middle half of the chart of a window. If nothing ran in it, that is the window
// itself.
func Middle(spans []Span, now time.Time, shown Window) Window {
	spans = shown.Of(spans, now)
	if len(spans) == 0 {
		return shown
	}
	g := newScale(spans, now, shown)
	return Window{g.at(ganttWidth / 4), g.at(ganttWidth * 3 / 4)}
}

// ganttRow is the row of a node. Spans of different tracks may overlap.
type ganttRow struct {
	y      int
	tracks [][]Span
}

// shown is how many tracks are drawn. A row with more than ganttTracks has one strip.
func (r ganttRow) shown() int {
	if len(r.tracks) > ganttTracks {
		return 1
	}
	return len(r.tracks)
}

// rowOf puts the spans of a node into as few tracks as possible. The spans of a task stay together.
func rowOf(name string, spans []Span, now time.Time) (r ganttRow) {
	var ends []time.Time
	track := map[string]int{} // by task
	for _, s := range spans {
		if s.Row() != name {
			continue
		}
		i, ok := track[s.Task]
		if !ok || ends[i].After(s.Start) {
			if i = slices.IndexFunc(ends, func(end time.Time) bool { return !end.After(s.Start) }); i < 0 {
				i = len(ends)
				ends, r.tracks = append(ends, time.Time{}), append(r.tracks, nil)
			}
			track[s.Task] = i
		}
		r.tracks[i] = append(r.tracks[i], s)
		ends[i] = s.until(now)
	}
	return r
}

// until returns the end of a span; now if it lasts.
func (s Span) until(now time.Time) time.Time {
	if s.End.IsZero() {
		return now
	}
	return s.End
}

// alike returns how many of the first spans are one bar: those in one state on the same pixels.
func (g *scale) alike(spans []Span, now time.Time) int {
	first := spans[0]
	end := max(g.x(first.Start)+ganttBar, g.x(first.until(now)))
	for i, s := range spans[1:] {
		if s.State != first.State || s.Attempt != first.Attempt || s.Note != first.Note || g.x(s.Start) >= end || g.x(s.until(now)) > end {
			return i + 1
		}
	}
	return len(spans)
}

// spans writes a bar for spans in the same state.
func (w *svgWriter) spans(all []Span, left, y int, g *scale, now time.Time) {
	s, last := all[0], all[len(all)-1]
	x := left + g.x(s.Start)
	width := max(ganttBar, left+g.x(last.until(now))-x)
	var took time.Duration
	for _, s := range all {
		took += max(s.until(now).Sub(s.Start), time.Microsecond)
	}
	text := s.Row() + ", " + words[s.State]
	if len(all) > 1 {
		text += fmt.Sprintf(" %d times", len(all))
	}
	text += ", " + Duration(took)
	if s.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", s.Attempt)
	}
	if s.Note != "" {
		text += ": " + s.Note
	}
	w.printf(`<g class="state-%s"><title>%s</title><rect class="shape" x="%d" y="%d" width="%d" height="%d" rx="3"/></g>`+"\n",
		s.State, escape(text), x, y+2, width, ganttTrack-4)
}

// strip writes how many of many tasks ran at each time and, above, how many waited for a limit.
func (w *svgWriter) strip(r ganttRow, left int, g *scale, now time.Time) {
	ran, waited := make([]int, ganttWidth/4), make([]int, ganttWidth/4)
	tasks, waits := map[string]bool{}, map[string]bool{}
	for _, track := range r.tracks {
		for _, s := range track {
			tasks[s.Task] = true
			counts := ran
			if s.State == Waiting {
				counts, waits[s.Task] = waited, true
			}
			for i := g.x(s.Start) / 4; i <= g.x(s.until(now))/4 && i < len(counts); i++ {
				counts[i]++
			}
		}
	}
	title := fmt.Sprintf("%d tasks, at most %d at once", len(tasks), max(1, slices.Max(ran)))
	if len(waits) > 0 {
		title += fmt.Sprintf("; %d waited for a limit", len(waits))
	}
	w.printf(`<g class="state-%s"><title>%s</title>`, Done, title)
	most := 1
	for i := range ran {
		most = max(most, ran[i]+waited[i])
	}
	for i := range ran {
		bottom := r.y + 2 + ganttTrack - 4
		for _, part := range []struct {
			class string
			n     int
		}{{"heat", ran[i]}, {"heat-waiting", waited[i]}} {
			if part.n > 0 {
				height := max(1, (ganttTrack-4)*part.n/most)
				bottom -= height
				w.printf(`<rect class="%s" x="%d" y="%d" width="4" height="%d"/>`, part.class, left+4*i, bottom, height)
			}
		}
	}
	w.printf("</g>\n")
}

// scale maps times to pixels. Pauses have a width of their own.
type scale struct {
	start, end time.Time
	pauses     []interval
	active     time.Duration // without the pauses
}

type interval struct{ start, end time.Time }

// newScale finds the times of a window in which nothing ran. Each span has a part in it.
func newScale(spans []Span, now time.Time, shown Window) *scale {
	var busy []interval
	for _, s := range spans {
		part, _ := shown.cuts(interval{s.Start, s.until(now)})
		busy = append(busy, part)
	}
	slices.SortFunc(busy, func(a, b interval) int { return a.start.Compare(b.start) })
	g := &scale{start: busy[0].start, end: busy[0].end}
	var gaps []interval
	for _, b := range busy {
		if b.start.After(g.end) {
			gaps = append(gaps, interval{g.end, b.start})
		}
		if b.end.After(g.end) {
			g.end = b.end
		}
	}
	g.active = g.end.Sub(g.start)
	for _, p := range gaps {
		g.active -= p.end.Sub(p.start)
	}
	least := max(g.active/8, time.Second)
	for _, p := range gaps {
		if length := p.end.Sub(p.start); length > least && len(g.pauses) < 8 {
			g.pauses = append(g.pauses, p)
		} else {
			g.active += length
		}
	}
	return g
}

// at returns the time of a pixel.
func (g *scale) at(x int) time.Time {
	times := g.bends()
	i := 1
	for i < len(times)-1 && g.x(times[i]) < x {
		i++
	}
	from, to := times[i-1], times[i]
	width := g.x(to) - g.x(from)
	if width <= 0 {
		return from
	}
	return from.Add(time.Duration(int64(to.Sub(from)) / int64(width) * int64(x-g.x(from))))
}

// bends are the times between which the scale is linear.
func (g *scale) bends() []time.Time {
	times := []time.Time{g.start}
	for _, p := range g.pauses {
		times = append(times, p.start, p.end)
	}
	return append(times, g.end)
}

// marks are the pixels of the times between which the scale is linear.
func (g *scale) marks(left int) string {
	var marks []string
	for _, t := range g.bends() {
		marks = append(marks, fmt.Sprintf("%d:%.3f", left+g.x(t), float64(t.UnixMicro())/1000))
	}
	return strings.Join(marks, " ")
}

// x returns the pixel of a time, from 0 to ganttWidth.
func (g *scale) x(t time.Time) int {
	room := ganttWidth - ganttPause*len(g.pauses)
	at, pixels := t.Sub(g.start), 0
	for _, p := range g.pauses {
		switch length := p.end.Sub(p.start); {
		case !t.Before(p.end):
			at -= length
			pixels += ganttPause
		case t.After(p.start):
			pixels += int(int64(ganttPause) * int64(t.Sub(p.start)) / int64(length))
			at -= t.Sub(p.start)
		}
	}
	if g.active > 0 {
		pixels += int(float64(room) * float64(at) / float64(g.active))
	}
	return max(0, min(pixels, ganttWidth))
}
