package studio

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

// change is a field that differs between two checkpoints.
type change struct {
	Field, Type   string
	Before, After field
	Added         int // items at the end of a list, which After has alone; 0 if it is no such change
	Writers       []string
}

// diff is how a checkpoint differs from an earlier one.
type diff struct {
	From    uint64
	Changes []change
	Ways    []way
}

// way is where a node went, and how often it went there so.
type way struct {
	From, To, How, Why string
	Times              int
}

// diffOf compares the checkpoint that is shown with the one of ?from=, or the one that it goes on
// from. It returns nil for the first checkpoint of a thread.
func (p *threadPage) diffOf(r *request, stored graph.StoredThread[json.RawMessage]) (*diff, error) {
	from, err := r.number("from", anyNumber)
	if err != nil {
		return nil, err
	}
	asked := from != 0
	if !asked {
		from = parentOf(p.Commit)
	}
	if from == 0 {
		return nil, nil
	}
	found, err := stored.Diff(r.Context(), from, p.At)
	switch {
	case !errors.Is(err, graph.ErrUnknownThread) && err != nil:
		return nil, err
	case err != nil && asked:
		return nil, noCheckpoint(from)
	case err != nil:
		return nil, nil // the one before was pruned
	}
	d := &diff{From: from}
	for _, c := range found.Changes {
		d.Changes = append(d.Changes, changeOf(c))
	}
	for _, c := range found.Path {
		for _, t := range c.Ran {
			for _, w := range t.Ways {
				d.add(wayOf(t.Node, w))
			}
		}
	}
	return d, nil
}

// add adds a way, or counts one that is there.
func (d *diff) add(w way) {
	i := len(d.Ways) - 1 // equal ways come one after the other, but for few
	for i >= 0 && i > len(d.Ways)-10 && (d.Ways[i].From != w.From || d.Ways[i].To != w.To || d.Ways[i].How != w.How || d.Ways[i].Why != w.Why) {
		i--
	}
	if i >= 0 && i > len(d.Ways)-10 {
		d.Ways[i].Times++
		return
	}
	w.Times = 1
	d.Ways = append(d.Ways, w)
}

func wayOf(node string, w checkpoint.Way) way {
	shown := way{From: cmp.Or(node, "(edit)"), To: w.To, Why: w.Why}
	if w.Send {
		shown.How = "as a task of its own"
	} else if w.Branch == checkpoint.HandlerBranch {
		shown.How = "by its error handler"
	} else if w.Branch > 0 {
		shown.How = fmt.Sprintf("by branch %d", w.Branch)
	}
	return shown
}

func changeOf(c graph.Change) change {
	shown := change{Field: c.Field, Type: c.Type}
	after := c.After
	if added, n := addedTo(c.Before, c.After); n > 0 {
		after, shown.Added = added, n
	}
	shown.Before, shown.After = fieldOf("", orNothing(c.Before)), fieldOf("", orNothing(after))
	times := map[string]int{}
	for _, w := range c.Writers {
		name := "an edit by hand"
		switch {
		case w.Node != "":
			name = fmt.Sprintf("%s in step %d", w.Node, w.Step)
		case w.Source == checkpoint.Input:
			name = "the input"
		}
		if times[name]++; times[name] == 1 {
			shown.Writers = append(shown.Writers, name)
		}
	}
	for i, name := range shown.Writers {
		if n := times[name]; n > 1 {
			shown.Writers[i] += fmt.Sprintf(" × %d", n)
		}
	}
	return shown
}

func orNothing(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("nothing")
	}
	return value
}

// addedTo returns the items of the list after that come after those of the list before, as a list,
// and their number. It is 0 if one is no list, or the list has changed otherwise.
func addedTo(before, after json.RawMessage) (added json.RawMessage, n int) {
	if len(after) < 3 || after[0] != '[' {
		return nil, 0
	}
	items := after[1:]
	switch {
	case before == nil || string(before) == "[]":
	case before[0] != '[':
		return nil, 0
	default:
		rest, ok := bytes.CutPrefix(after, before[:len(before)-1]) // both are compact
		if !ok || len(rest) == 0 || rest[0] != ',' {
			return nil, 0
		}
		items = rest[1:]
	}
	added = append(json.RawMessage{'['}, items...)
	return added, members(added)
}

// row is the change in the table.
func (c change) row() h.Part {
	writers := "no node: a new turn reset it"
	if len(c.Writers) > 0 {
		writers = strings.Join(c.Writers, ", ")
	}
	return h.Tr(h.ID(idOf("change-"+c.Field)),
		h.Th(h.Scope("row"), h.Text(c.Field), h.Small(h.Class("hint"), h.Text(c.Type))), h.Td(h.Class("wide"), c.Before.value()),
		h.Td(h.Class("wide"), h.If(c.Added > 0, h.Text(fmt.Sprintf("%d added: ", c.Added))), c.After.value()),
		h.Td(h.Class("wide"), h.Text(writers)),
	)
}

// item is the way in a list.
func (w way) item() h.Part {
	text := ""
	if w.Times > 1 {
		text = fmt.Sprintf(" × %d", w.Times)
	}
	if w.How != "" {
		text += ", " + w.How
	}
	if w.Why != "" {
		text += ": " + w.Why
	}
	return h.Li(h.B(h.Text(w.From)), h.Text(" → "), h.B(h.Text(w.To)), h.Text(text))
}
