package studio

import (
	"fmt"

	h "github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/internal/picture"
)

// view is the page of the thread.
func (p *threadPage) view(r *request) view {
	return view{"Thread " + p.ID, h.Parts{
		p.summary(r), h.If(p.Error != "", h.P(h.Class("error"), h.Text(p.Error))),
		p.steps(r), h.If(p.Note != "", muted(p.Note)),
		p.open(r), h.Div(h.Class("columns"), p.run(), p.state()),
		p.changes(), p.turn(), p.checkpoints(r),
	}}
}

func (p *threadPage) summary(r *request) h.Part {
	return h.P(statusMark(p.Status),
		h.If(p.GraphID != "", h.Text(" · graph "), link(r.graphPath(p.GraphID), p.GraphID)),
		h.If(p.At > 0, h.Text(fmt.Sprintf(" · turn %d, step %d, checkpoint %d of %d", p.Commit.Turn, p.Commit.Step, p.At, p.Newest))),
		h.If(!p.Updated.IsZero(), h.Text(" · updated "+utc(p.Updated)+" UTC")),
	)
}

// steps leads to the checkpoints around the one that is shown.
func (p *threadPage) steps(r *request) h.Part {
	if p.At == 0 {
		return nil
	}
	step := func(address, rel, text string) h.Part {
		if address == "" {
			return h.Span(h.Class("muted"), h.Text(text))
		}
		return neighbour(address, rel, text)
	}
	return h.Nav(h.Class("steps"), h.Aria("label", "Checkpoints"),
		step(p.Before, "prev", "← earlier"), h.Text("\n"), step(p.After, "next", "later →"), h.Text("\n"),
		h.If(p.At < p.Newest, link(r.threadPath(p.ID), "newest"), h.Text("\n")),
		h.Code(h.Text(p.Command)),
	)
}

// open lists what waits for a person, and what has failed.
func (p *threadPage) open(r *request) h.Part {
	if len(p.Questions) == 0 && len(p.Commit.Failures) == 0 {
		return nil
	}
	var failures h.Parts
	for _, f := range p.Commit.Failures {
		failures = append(failures, h.P(h.Class("error"), h.B(h.Text(f.Node)), h.If(f.Attempt > 0, h.Text(fmt.Sprintf(", attempt %d", f.Attempt))), h.Text(": "+f.Message)))
	}
	return section("open", "Open questions and failures", h.Each(p.Questions, r.question), failures)
}

func (p *threadPage) run() h.Part {
	if p.Picture == nil {
		return nil
	}
	return section("run", "Run", scroll("Picture of the run", p.Picture), folded("As text", p.Text))
}

func (p *threadPage) state() h.Part {
	if len(p.Fields) == 0 {
		return nil
	}
	return section("state", "State", h.P(link(p.StateLink, "as a file of JSON")),
		h.Table(h.Class("state"), h.Tbody(h.Each(p.Fields, func(f field) h.Part {
			return h.Tr(h.Th(h.Scope("row"), h.Text(f.Name)), h.Td(f.value()))
		}))))
}

// value is the value of a field.
func (f field) value() h.Part {
	if f.Kind == "" {
		return h.Code(h.Text(f.Text))
	}
	text := f.Text
	if f.Cut {
		text += "\n… the file has the rest"
	}
	return folded(f.Kind, text)
}

func (p *threadPage) changes() h.Part {
	if p.Diff == nil {
		return nil
	}
	table := muted("No field differs.")
	if len(p.Diff.Changes) > 0 {
		table = scroll("Table of changes", h.Table(heads("Field", "Type", "Before", "After", "Written by"), h.Tbody(h.Each(p.Diff.Changes, change.row))))
	}
	return section("changes", fmt.Sprintf("Changes since checkpoint %d", p.Diff.From), table,
		h.If(len(p.Diff.Ways) > 0, h.Ul(h.Each(p.Diff.Ways, way.item))))
}

func (p *threadPage) turn() h.Part {
	if p.Timeline == nil {
		return nil
	}
	return section("turn", "Steps of the turn", scroll("Chart of the steps", p.Timeline))
}

// checkpoints is the history of the thread.
func (p *threadPage) checkpoints(r *request) h.Part {
	if len(p.Rows) == 0 {
		return nil
	}
	table := picture.Table(p.Rows, func(row picture.Row) (cell, attrs h.Part) {
		n := fmt.Sprint(row.Checkpoint)
		return link(r.threadPath(p.ID)+"?at="+n, n), h.If(row.Checkpoint == p.At, h.Aria("current", "true"))
	})
	return section("history", "Checkpoints", scroll("Table of checkpoints", table),
		h.If(p.Older != "", h.P(neighbour(p.Older, "next", "older checkpoints"))))
}
