package studio

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	h "github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/internal/picture"
)

// tasksPage is how many tasks of a row are listed at once.
const tasksPage = 100

// rowTask is a task of a row of the chart, with its spans in their order.
type rowTask struct {
	label string
	spans []picture.Span
}

// tasksOf returns the tasks of each row, the rows in the order of the chart.
func tasksOf(spans []picture.Span) (rows []string, tasks map[string][]*rowTask) {
	tasks = map[string][]*rowTask{}
	known := map[string]*rowTask{}
	for _, s := range spans {
		row := s.Row()
		if tasks[row] == nil {
			rows = append(rows, row)
		}
		key := s.Namespace + "\x00" + s.Task
		t := known[key]
		if t == nil {
			t = &rowTask{}
			known[key], tasks[row] = t, append(tasks[row], t)
		}
		if s.Label != "" {
			t.label = s.Label
		}
		t.spans = append(t.spans, s)
	}
	return rows, tasks
}

// wideRows leads to the tasks of the rows that have more than the chart shows one by one, and lists
// those of ?tasks=, from ?first=.
func (p *threadPage) wideRows(r *request) h.Part {
	if p.Chart == nil {
		return nil
	}
	rows, tasks := tasksOf(p.Activity.spans)
	rows = slices.DeleteFunc(rows, func(row string) bool { return len(tasks[row]) <= picture.WideRow })
	if len(rows) == 0 {
		return nil
	}
	open, path := r.URL.Query().Get("tasks"), "/threads/"+url.PathEscape(p.ID)
	links := h.P(h.Each(rows, func(row string) h.Part {
		text := plural(len(tasks[row]), "task", "tasks") + " of " + row
		if row == open {
			return h.Parts{h.A(h.Href(r.with(path, "tasks", "", "first", "")), h.Data("swap", ""), h.Aria("expanded", "true"), h.Text("hide the "+text)), h.Text(" ")}
		}
		return h.Parts{h.A(h.Href(r.with(path, "tasks", row, "first", "")), h.Data("swap", ""), h.Aria("expanded", "false"), h.Text(text)), h.Text(" ")}
	}))
	list := tasks[open]
	if len(list) == 0 || !slices.Contains(rows, open) {
		return links
	}
	first, err := r.number("first", 1<<31)
	if err != nil || int(first) >= len(list) {
		first = 0
	}
	shown := list[first:min(int(first)+tasksPage, len(list))]
	step := func(to int, rel, text string) h.Part {
		if to < 0 || to >= len(list) {
			return nil
		}
		return h.Parts{h.Text(" · "), swap(r.with(path, "first", fmt.Sprint(to)), rel, text)}
	}
	start := p.Activity.spans[0].Start
	return h.Parts{links, h.P(h.Text(fmt.Sprintf("%d to %d of %d", first+1, int(first)+len(shown), len(list))),
		step(int(first)-tasksPage, "", "earlier tasks"), step(int(first)+tasksPage, "", "later tasks")),
		scroll("Table of tasks", h.Table(heads("Task", "State", "Attempts", "Begun after", "Took", "Note"), h.Tbody(h.Each(shown, func(t *rowTask) h.Part { return t.row(start) })))),
	}
}

// row is the task in a table. start is that of the first task of the turn.
func (t *rowTask) row(start time.Time) h.Part {
	first, last := t.spans[0], t.spans[len(t.spans)-1]
	attempts, note := 0, ""
	for _, s := range t.spans {
		attempts = max(attempts, s.Attempt)
		if s.Note != "" {
			note = s.Note
		}
	}
	took := "still"
	if !last.End.IsZero() {
		took = picture.Duration(max(last.End.Sub(first.Start), time.Microsecond))
	}
	label := t.label
	if label == "" {
		label = last.Task
	}
	return h.Tr(h.Th(h.Scope("row"), h.Class("wide"), h.Text(label)), h.Td(h.Text(string(last.State))), h.Td(h.Class("number"), h.Text(fmt.Sprint(max(attempts, 1)))),
		h.Td(h.Class("number"), h.Text(picture.Duration(max(first.Start.Sub(start), time.Microsecond)))), h.Td(h.Class("number"), h.Text(took)), h.Td(h.Class("wide"), h.Text(note)))
}
