package studio

import (
	"fmt"
	"strings"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/internal/picture"
)

// view is the page of the thread. Each part has the same id at each checkpoint, so that a browser
// replaces what differs.
func (p *threadPage) view(r *request) view {
	path := r.threadPath(p.ID)
	var rest h.Part
	if r.left = r.first && p.At > 0; !r.left {
		rest = h.Parts{part("times", p.times(r), p.wideRows(r)), part("timeline", p.turn()), part("decisions", p.decided()), part("subgraphs", p.children(r)), part("commits", p.checkpoints(r))}
	}
	return view{"/threads", "Thread " + p.ID, h.Custom("weft-run", h.Data("events", path+"/events"), h.Data("position", fmt.Sprint(p.Activity.position)),
		part("summary", p.summary(r), h.If(p.Error != "", h.P(h.Class("error"), h.Text(p.Error))), h.If(p.Note != "", muted(p.Note))),
		part("steps", p.branches(r), p.steps(r)),
		part("acts", p.actions(r)),
		part("asked", p.open(r)),
		h.Div(h.Class("bench"),
			part("picture", p.run()),
			p.inspector(r),
		),
		rest,
	)}
}

func (p *threadPage) summary(r *request) h.Part {
	return h.P(statusMark(p.Status),
		h.If(p.GraphID != "", h.Text(" · graph "), link(r.graphPath(p.GraphID), p.GraphID)),
		h.If(p.At > 0, h.Text(fmt.Sprintf(" · turn %d, step %d, checkpoint %d of %d", p.Commit.Turn, p.Commit.Step, p.At, p.Newest))),
		h.If(!p.Updated.IsZero(), h.Text(" · updated "), moment(p.Updated)),
		h.If(p.At > 0, h.Text(" · "), link(r.threadPath(p.ID)+"/sizes", "sizes")),
		h.If(p.Messages != "", h.Text(" · "), link(r.chatPath(p.ID), "chat")),
	)
}

// swap is a link to another checkpoint, which takes the place of this one on the page.
func swap(address, rel, text string) h.Part {
	if address == "" {
		return h.Span(h.Class("muted"), h.Text(text))
	}
	return h.A(h.If(rel != "", h.Rel(rel)), h.Href(address), h.Data("swap", ""), h.Text(text))
}

// steps leads to the other checkpoints.
func (p *threadPage) steps(r *request) h.Part {
	if p.At == 0 {
		return nil
	}
	path := r.threadPath(p.ID)
	slider := h.Custom("weft-slider", h.Form(h.Method("get"), h.Action(path),
		h.Label(h.Text("Checkpoint "), h.Input(h.Type("range"), h.ID("at"), h.Name("at"), h.Min("1"), h.Max(fmt.Sprint(p.Newest)), h.Value(fmt.Sprint(p.At)))),
		h.Text(" "), h.Output(h.For("at"), h.Text(fmt.Sprint(p.At))), h.Text(" "), h.Button(h.Text("Go"))))
	return h.Parts{
		h.Nav(h.Class("steps"), h.Aria("label", "Checkpoints"),
			swap(p.Before, "prev", "← earlier"), h.Text("\n"), slider, h.Text("\n"), swap(p.After, "next", "later →"), h.Text("\n"),
			h.If(p.At < p.Newest, swap(path, "", "newest"))),
		copied(p.Command),
	}
}

// open lists what waits for a person, and what has failed.
func (p *threadPage) open(r *request) h.Part {
	if len(p.Questions) == 0 && len(p.Commit.Failures) == 0 {
		if p.Status != "interrupted" || p.At != p.Newest || len(p.Commit.Next) == 0 {
			return nil
		}
		return section("open", "Pause", h.P(h.Class("notice"), h.Text("The run pauses before "+strings.Join(p.Commit.Next, ", ")+". “Run again from here” lets it go on.")))
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
	return section("run", "Run", pictureBox("Picture of the run", p.Picture), picture.LiveLegend(p.Run), folded("As text", p.Text),
		h.If(len(p.Turn) == turnSteps, muted(fmt.Sprintf("The picture counts the newest %d steps of the turn.", turnSteps))))
}

// times is the chart of what ran when.
func (p *threadPage) times(r *request) h.Part {
	if p.Chart == nil {
		return nil
	}
	return section("chart", "Times", p.Times.links(r, p.ID),
		h.Custom("weft-times", h.Div(h.ID("chart-of-times"), h.Class("scroll"), h.Tabindex("0"), h.Role("region"), h.Aria("label", "Chart of the times"), p.Chart)), picture.ChartLegend(p.Times.Of(p.Activity.spans, p.Times.all.End)), p.retries())
}

func (p *threadPage) state(r *request) h.Part {
	if len(p.Fields) == 0 {
		return nil
	}
	return section("state", "State",
		h.Table(h.Class("state"), h.Tbody(h.Each(p.Fields, func(f field) h.Part {
			return h.Tr(h.ID(idOf("field-"+f.Name)), h.Th(h.Scope("row"), h.Text(f.Name), p.writer(r, f.Name)), h.Td(f.value(), p.blobs(r, f)))
		}))),
		h.If(p.StateLink != "", h.P(link(p.StateLink, "as a file of JSON"))))
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
		table = scroll("Table of changes", h.Table(h.Class("changes"), heads("Field", "Before", "After", "Written by"), h.Tbody(h.Each(p.Diff.Changes, change.row))))
	}
	return section("changes", fmt.Sprintf("Changes since checkpoint %d", p.Diff.From), table,
		h.If(len(p.Diff.Ways) > 0, h.Ul(h.Class("ways"), h.Each(p.Diff.Ways, way.item))))
}

func (p *threadPage) turn() h.Part {
	if p.Timeline == nil {
		return nil
	}
	return section("turn", "Steps of the turn", scroll("Chart of the steps", p.Timeline))
}

// decided lists what persons decided about the thread.
func (p *threadPage) decided() h.Part {
	if len(p.Decisions) == 0 {
		return nil
	}
	return section("decided", "Decisions", scroll("Table of decisions", h.Table(heads("Decision", "Value", "Node", "Question or fields", "By", "Time"),
		h.Tbody(h.Each(p.Decisions, func(d graph.DecisionRecord) h.Part {
			about := d.Prompt
			if d.Question == "" {
				about = strings.Join(d.Fields, ", ")
			}
			return h.Tr(h.Th(h.Scope("row"), h.Text(decisionWord(d.Type))), h.Td(h.Class("wide"), decidedValue(d)), h.Td(h.Text(d.Node)),
				h.Td(h.Class("wide"), h.Text(about), h.If(d.Message != "", h.Small(h.Class("hint"), h.Text(d.Message)))), h.Td(h.Text(byWhom(d))), h.Td(moment(d.Time)))
		})))))
}

// checkpoints is the history of the thread.
func (p *threadPage) checkpoints(r *request) h.Part {
	if len(p.Rows) == 0 {
		return nil
	}
	table := picture.Table(p.Rows, func(row picture.Row) (cell, attrs h.Part) {
		n := fmt.Sprint(row.Checkpoint)
		return swap(r.threadPath(p.ID)+"?at="+n, "", n), h.Parts{h.ID("checkpoint-" + n), h.If(row.Checkpoint == p.At, h.Aria("current", "true"))}
	})
	return section("history", "Checkpoints", scroll("Table of checkpoints", table),
		h.If(p.Older != "", h.P(neighbour(p.Older, "next", "older checkpoints"))))
}
