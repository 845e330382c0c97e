package studio

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
	"github.com/weftrun/weft/internal/picture"
)

// tabs are the tabs of the inspector, by the value of ?tab=. The first shows the state and the
// changes together.
var tabs = []struct{ name, title string }{{"", "Overview"}, {"state", "State"}, {"diff", "Changes"}, {"task", "Tasks"}, {"messages", "Messages"}, {"raw", "Raw"}}

// inspector shows a checkpoint in the tab ?tab=.
func (p *threadPage) inspector(r *request) h.Part {
	tab := r.URL.Query().Get("tab")
	if !slices.ContainsFunc(tabs, func(t struct{ name, title string }) bool { return t.name == tab }) {
		tab = ""
	}
	show := func(names ...string) bool { return slices.Contains(names, tab) }
	var choices h.Parts
	for _, t := range tabs {
		if t.name == "messages" && len(p.conversation()) == 0 {
			continue
		}
		choices = append(choices, h.A(h.Href(r.with(escapedPath("threads", p.ID), "tab", t.name)), h.Data("swap", ""), h.If(t.name == tab, h.Aria("current", "true")), h.Text(t.title)))
	}
	return h.Div(h.Class("inspector"),
		part("tabs", h.If(p.At > 0, h.Nav(h.Class("tabs"), h.Aria("label", "Inspector"), choices))),
		part("fields", h.If(show("", "state"), p.state(r))),
		part("differences", h.If(show("", "diff"), p.changes())),
		part("tasks", h.If(show("task"), p.tasks(r))),
		part("messages", h.If(show("messages"), p.messages())),
		part("raw", h.If(show("raw"), p.raw(r))),
	)
}

// tasks shows what the tasks of the step did: those of the node ?node=, if it is set.
func (p *threadPage) tasks(r *request) h.Part {
	node := r.URL.Query().Get("node")
	heading := fmt.Sprintf("Tasks of step %d", p.Commit.Step)
	var all h.Parts
	done := map[string]bool{}
	for _, ran := range p.Commit.Ran {
		if node == "" || ran.Node == node {
			all = append(all, p.task(r, ran, !done[ran.Node]))
			done[ran.Node] = true
		}
	}
	if len(all) == 0 {
		all = append(all, muted("No such task ran in the step of this checkpoint."))
	}
	if node != "" {
		heading += ": " + node
		var places h.Parts
		for _, c := range slices.Backward(newestOf(p.Turn, maxColumns)) {
			if slices.ContainsFunc(c.Ran, func(r checkpoint.Ran) bool { return r.Node == node }) {
				places = append(places, h.Text(" "), swap(r.with(escapedPath("threads", p.ID), "at", fmt.Sprint(c.Checkpoint)), "", fmt.Sprintf("step %d", c.Step)))
			}
		}
		all = append(all, h.P(h.Text("In this turn "+node+" ran in: "), places, h.If(len(places) == 0, h.Text("no step yet"))),
			h.P(swap(r.with(escapedPath("threads", p.ID), "node", ""), "", "all tasks of the step")))
	}
	return section("task", heading, all)
}

// task shows a task. The attempts of all tasks of a node are shown with the first.
func (p *threadPage) task(r *request, ran checkpoint.Ran, first bool) h.Part {
	name := cmp.Or(ran.Node, "(edit)")
	var wrote h.Parts
	for _, f := range ran.Wrote {
		i := slices.IndexFunc(p.Fields, func(g field) bool { return g.Name == f })
		if i >= 0 {
			wrote = append(wrote, fact(f, p.Fields[i].value()))
		}
	}
	var went h.Parts
	for _, w := range ran.Ways {
		went = append(went, wayOf(ran.Node, w).item(), p.inputsOf(ran.Node, w))
	}
	var attempts h.Part
	if first {
		attempts = p.attempts(ran.Node)
	}
	return h.Div(h.Class("task"), h.H3(link(r.with(escapedPath("threads", p.ID), "tab", "task", "node", ran.Node), name)),
		h.If(len(wrote) > 0, h.P(h.Text("After the step the fields that it wrote are:")), factsTable(wrote)), h.If(len(wrote) == 0, muted("It wrote nothing.")),
		h.If(len(went) > 0, h.P(h.Text("It chose where to go:")), h.Ul(h.Class("ways"), went)), attempts)
}

// inputsOf shows the fields that the condition of a choice names, as they are after the step.
func (p *threadPage) inputsOf(node string, w checkpoint.Way) h.Part {
	condition := w.Why
	if to, from := p.nodeID(w.To), p.nodeID(node); to != "" {
		for _, e := range p.Drawn.Edges {
			if e.From == from && e.To == to && e.Label != "" {
				condition += " " + e.Label
			}
		}
	}
	words := strings.FieldsFunc(condition, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	var found h.Parts
	for _, f := range p.Fields {
		if slices.Contains(words, f.Name) {
			found = append(found, fact(f.Name, f.value()))
		}
	}
	return h.If(len(found) > 0, h.Li(h.Text("where"), factsTable(found)))
}

// nodeID returns the id of a node in the drawing.
func (p *threadPage) nodeID(name string) string {
	for _, n := range p.Drawn.Nodes {
		if n.Name == name {
			return n.ID
		}
	}
	return ""
}

// during returns the spans of the step that ended with the checkpoint.
func (p *threadPage) during() (spans []picture.Span) {
	var since time.Time
	if len(p.Turn) > 1 {
		since = p.Turn[1].Time
	}
	for _, s := range p.Activity.spans {
		if !s.Start.Before(since) && !s.Start.After(p.Commit.Time) {
			spans = append(spans, s)
		}
	}
	return spans
}

// attempts is the table of what a node's tasks did in the step.
func (p *threadPage) attempts(node string) h.Part {
	var rows h.Parts
	for _, s := range p.during() {
		if s.Node != node || s.Namespace != "" {
			continue
		}
		took := "goes on"
		if !s.End.IsZero() {
			took = picture.Duration(max(s.End.Sub(s.Start), time.Microsecond))
		}
		rows = append(rows, h.Tr(h.Td(h.Class("number"), h.Text(fmt.Sprint(max(s.Attempt, 1)))), h.Td(h.Text(picture.Word(s.State))), h.Td(h.Class("number"), h.Text(took)), h.Td(h.Class("wide"), h.Text(s.Note))))
	}
	return h.If(len(rows) > 0, scroll("Table of attempts of "+node, h.Table(heads("Attempt", "What", "Took", "Why"), h.Tbody(rows))))
}

// costly is an attempt that failed, and what it cost.
type costly struct {
	picture.Span
	took, waited time.Duration
}

// maxCostly is how many failed attempts a page lists.
const maxCostly = 5

// retries lists the failed attempts of the turn that cost the most time, with the waits after them.
func (p *threadPage) retries() h.Part {
	waits := map[string]time.Duration{}
	key := func(s picture.Span, attempt int) string {
		return fmt.Sprintf("%s\x00%s\x00%d", s.Namespace, s.Task, attempt)
	}
	for _, s := range p.Activity.spans {
		if s.State == picture.Retrying && !s.End.IsZero() {
			waits[key(s, s.Attempt)] += s.End.Sub(s.Start)
		}
	}
	var all []costly
	for _, s := range p.Activity.spans {
		if s.State == picture.Failed && !s.End.IsZero() {
			all = append(all, costly{s, s.End.Sub(s.Start), waits[key(s, s.Attempt)]})
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b costly) int { return cmp.Compare(b.took+b.waited, a.took+a.waited) })
	return h.Parts{h.H3(h.Text("Attempts that failed, the costliest first")), scroll("Table of failed attempts", h.Table(heads("Node", "Attempt", "Why", "Took", "Waited after"),
		h.Tbody(h.Each(all[:min(len(all), maxCostly)], func(c costly) h.Part {
			return h.Tr(h.Th(h.Scope("row"), h.Text(c.Node)), h.Td(h.Class("number"), h.Text(fmt.Sprint(c.Attempt))), h.Td(h.Class("wide"), h.Text(c.Note)),
				h.Td(h.Class("number"), h.Text(picture.Duration(c.took))), h.Td(h.Class("number"), h.Text(picture.Duration(c.waited))))
		})))), h.If(len(all) > maxCostly, muted(fmt.Sprintf("%d more failed.", len(all)-maxCostly)))}
}

// writer names the step of the turn that wrote a field last, with a link to it.
func (p *threadPage) writer(r *request, name string) h.Part {
	for _, c := range p.Turn {
		for _, ran := range slices.Backward(c.Ran) {
			if slices.Contains(ran.Wrote, name) {
				text := cmp.Or(ran.Node, "an edit by hand")
				if c.Source == checkpoint.Input {
					text = "the input"
				}
				return h.Small(h.Class("hint"), h.Text("by "), swap(r.with(escapedPath("threads", p.ID), "at", fmt.Sprint(c.Checkpoint), "from", "", "tab", "task", "node", ran.Node), "", fmt.Sprintf("%s in step %d", text, c.Step)))
			}
		}
	}
	return nil
}

// said is a message of a conversation.
type said struct{ who, text string }

// conversation returns the messages of the state: of each field that is a list of them.
func (p *threadPage) conversation() (all []said) {
	for _, f := range p.Fields {
		var list []struct {
			Role    string          `json:"role"`
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
		}
		if !strings.HasPrefix(strings.TrimSpace(f.Text), "[") || json.Unmarshal([]byte(f.Text), &list) != nil {
			continue
		}
		for _, m := range list {
			who := cmp.Or(m.Role, m.Type)
			if who == "" || len(m.Content) == 0 {
				continue
			}
			text := string(m.Content)
			if json.Unmarshal(m.Content, &text) != nil {
				text = pretty(m.Content)
			}
			all = append(all, said{who, text})
		}
	}
	return all
}

func (p *threadPage) messages() h.Part {
	return section("conversation", "Messages", h.Ul(h.Class("said"), h.Each(p.conversation(), func(m said) h.Part {
		return h.Li(h.B(h.Text(m.who)), h.Pre(h.Tabindex("0"), h.Text(m.text)))
	})))
}

// raw shows the commit as JSON.
func (p *threadPage) raw(r *request) h.Part {
	data, err := json.MarshalIndent(struct {
		graph.CommitInfo
		Due []graph.DueTask `json:"due,omitempty"`
	}{p.Commit, p.Commit.Due}, "", "  ")
	if err != nil {
		return muted("The commit has no JSON: " + err.Error())
	}
	api := r.base + "/api" + escapedPath("threads", p.ID, "commits", fmt.Sprint(p.At))
	return section("commit", "The commit as JSON", h.Pre(h.Tabindex("0"), h.Text(string(readable(data)))), h.P(link(p.StateLink, "the state as a file"), h.Text(" · "), link(api, "both as JSON")), r.mention("GET", api, nil))
}
