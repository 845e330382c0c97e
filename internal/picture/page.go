package picture

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

// Page is a file of HTML with a picture. It needs nothing else: its policy forbids all requests and
// all scripts.
type Page struct {
	Title   string
	Drawing *graph.Drawing // the graph; nil if there is none
	Note    string         // why there is none
	Run     *Run           // what a run has done; nil for the graph alone
	Turn    []graph.CommitInfo
	Commits []Row // the history, the newest first
	// Decisions are what persons decided about the thread, the newest first.
	Decisions []string
	More      string // how to get older commits, if there are some
}

// Row is a commit in the table of a page.
type Row struct {
	graph.CommitInfo
	Took time.Duration // since the commit before it, of the same run; 0 if it is not known
	Then string        // what became of it: its status, or of an older commit that was pending how it went on
}

// What became of a commit that was pending and is not the newest.
const (
	wentOn = "went on"
	ended  = "branch ended" // the next commit goes on from an earlier one
)

// Rows returns commits, the newest first, with how long each took. newest is the newest commit of
// all; 0 if the commits have it. What became of a commit is empty if it depends on commits that are
// not among them.
func Rows(commits []graph.CommitInfo, newest uint64) []Row {
	times, goneOn := map[uint64]graph.CommitInfo{}, map[uint64]bool{}
	for _, c := range commits {
		times[c.Checkpoint] = c
		newest = max(newest, c.Checkpoint)
		if c.Parent != 0 {
			goneOn[c.Parent] = true
		}
	}
	oldest := uint64(0)
	if len(commits) > 0 {
		oldest = commits[len(commits)-1].Checkpoint
	}
	rows := make([]Row, len(commits))
	for i, c := range commits {
		rows[i].CommitInfo, rows[i].Then = c, string(c.Status)
		if c.Status == graph.Pending && c.Checkpoint < newest {
			next, known := times[c.Checkpoint+1]
			switch {
			case goneOn[c.Checkpoint] || known && next.Parent == 0:
				rows[i].Then = wentOn
			case uint64(len(commits)) == newest-oldest+1: // none is missing
				rows[i].Then = ended
			default:
				rows[i].Then = ""
			}
		}
		before := c.Parent
		if before == 0 {
			before = c.Checkpoint - 1
		}
		if b, ok := times[before]; ok && b.Run == c.Run {
			rows[i].Took = max(c.Time.Sub(b.Time), 0)
		}
	}
	return rows
}

// NodeList lists nodes; one with several tasks appears once, with their number.
func NodeList(names []string) string {
	count := map[string]int{}
	var once []string
	for _, n := range names {
		if count[n]++; count[n] == 1 {
			once = append(once, n)
		}
	}
	for i, n := range once {
		if count[n] > 1 {
			once[i] = fmt.Sprintf("%s ×%d", n, count[n])
		}
	}
	return strings.Join(once, ", ")
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	return h.Document(w, h.HTML(h.Lang("en"), p.head(), h.Body(h.Main(
		h.H1(h.Text(p.Title)),
		h.If(p.Note != "", h.P(h.Class("note"), h.Text(p.Note))),
		p.picture(), p.timeline(), p.commits(), p.decisions(), p.text(),
	))))
}

// policy is the Content-Security-Policy of the page.
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

func (p *Page) head() h.Part {
	return h.Head(
		h.Meta(h.Charset("utf-8")),
		h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
		h.Meta(h.HTTPEquiv("Content-Security-Policy"), h.Content(policy)),
		h.Meta(h.Name("color-scheme"), h.Content("light dark")),
		h.Title(h.Text(p.Title)),
		h.Style(h.CSS("\n"+CSS()+pageCSS)),
	)
}

// scroll is a region that scrolls, of which label is the name.
func scroll(label string, parts ...h.Part) h.Part {
	return h.Div(h.Class("scroll"), h.Tabindex("0"), h.Role("region"), h.Aria("label", label), h.Parts(parts))
}

// picture is the picture with its legend.
func (p *Page) picture() h.Part {
	if p.Drawing == nil {
		return nil
	}
	return h.Parts{
		scroll("Picture of the graph", h.SVG(New(*p.Drawing).SVG(Options{Run: p.Run, NoStyle: true, Focus: true}))),
		Legend(p.Run),
	}
}

// Legend explains the states that nodes of a run have; nothing if there are none.
func Legend(r *Run) h.Part {
	var items h.Parts
	for _, s := range states[1:] {
		if r != nil && r.has(s) {
			items = append(items, h.Li(h.SVG(icon(s)), h.Text(words[s])))
		}
	}
	return h.If(len(items) > 0, h.Ul(h.Class("legend"), items))
}

// LiveLegend explains all states of a run. Those that no node has are hidden; a script that gives a
// node the state S shows the item with the id "legend-S".
func LiveLegend(r *Run) h.Part {
	return h.Ul(h.Class("legend"), h.Each(states[1:], func(s State) h.Part {
		return h.Li(h.ID("legend-"+string(s)), h.If(r == nil || !r.has(s), h.Hidden(true)), h.SVG(icon(s)), h.Text(words[s]))
	}))
}

// ChartLegend explains the bars of a chart of spans; nothing without spans.
func ChartLegend(spans []Span) h.Part {
	var items h.Parts
	for _, s := range states[1:] {
		if slices.ContainsFunc(spans, func(at Span) bool { return at.State == s }) {
			bar := fmt.Sprintf(`<svg class="weft-picture weft-gantt" width="24" height="14" viewBox="0 0 24 14" aria-hidden="true"><g class="state-%s"><rect class="shape" x="1" y="1" width="22" height="12" rx="3"/></g></svg>`, s)
			items = append(items, h.Li(h.SVG(bar), h.Text(words[s])))
		}
	}
	return h.If(len(items) > 0, h.Ul(h.Class("legend"), items))
}

func (p *Page) timeline() h.Part {
	if len(p.Turn) == 0 {
		return nil
	}
	d := graph.Drawing{}
	if p.Drawing != nil {
		d = *p.Drawing
	}
	return h.Parts{h.H2(h.Text("Steps of the newest turn")), scroll("Chart of the steps", h.SVG(Timeline(p.Turn, p.Run, d)))}
}

func (p *Page) commits() h.Part {
	if len(p.Commits) == 0 {
		return nil
	}
	return h.Parts{
		h.H2(h.Text("Checkpoints")),
		scroll("Table of checkpoints", Table(p.Commits, func(r Row) (cell, row h.Part) { return h.Text(fmt.Sprint(r.Checkpoint)), nil })),
		h.If(p.More != "", h.P(h.Class("note"), h.Text(p.More))),
	}
}

// Table is the table of commits. link returns the first cell of a row, and attributes of the row.
func Table(rows []Row, link func(Row) (cell, row h.Part)) h.Part {
	heads := []string{"Checkpoint", "From", "Branch", "Turn", "Step", "Source", "Ran", "Next", "Status", "Took", "Time (UTC)"}
	return h.Table(
		h.Thead(h.Tr(h.Each(heads, func(name string) h.Part { return h.Th(h.Scope("col"), h.Text(name)) }))),
		h.Tbody(h.Each(rows, func(r Row) h.Part {
			first, attrs := link(r)
			number := func(n uint64) h.Part {
				return h.Td(h.Class("number"), h.If(n > 0, h.Text(fmt.Sprint(n))))
			}
			return h.Tr(attrs,
				h.Td(h.Class("number"), first), number(r.Parent), number(uint64(r.Branch)),
				h.Td(h.Class("number"), h.Text(fmt.Sprint(r.Turn))), h.Td(h.Class("number"), h.Text(fmt.Sprint(r.Step))),
				h.Td(h.Text(r.Source)), h.Td(h.Class("wide"), h.Text(NodeList(r.Nodes()))), h.Td(h.Class("wide"), h.Text(NodeList(r.Next))),
				h.Td(h.Text(r.Then)), h.Td(h.Class("number"), h.Text(Duration(r.Took))),
				h.Td(h.Text(r.Time.UTC().Format("2006-01-02 15:04:05.000"))),
			)
		})),
	)
}

func (p *Page) decisions() h.Part {
	if len(p.Decisions) == 0 {
		return nil
	}
	return h.Parts{h.H2(h.Text("Decisions")), h.Ul(h.Each(p.Decisions, func(d string) h.Part { return h.Li(h.Text(d)) }))}
}

func (p *Page) text() h.Part {
	if p.Drawing == nil {
		return nil
	}
	return h.Details(h.Summary(h.Text("The graph as text")), h.Pre(h.Text(p.Drawing.Text())))
}

// has reports whether a node is in a state.
func (r *Run) has(s State) bool {
	for _, m := range r.Marks {
		if m.State == s {
			return true
		}
	}
	return false
}

// pageCSS is the style sheet of the page around the picture.
const pageCSS = `body{margin:0;padding:1rem 1.5rem 3rem;background:var(--weft-ground);color:var(--weft-ink);font:14px/1.5 ui-sans-serif,system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
h1{font-size:1.4rem;margin:.2rem 0 .8rem;overflow-wrap:anywhere}
h2{font-size:1.05rem;margin:1.6rem 0 .5rem}
.scroll{overflow:auto;max-width:100%}
.scroll:focus-visible{outline:2px solid var(--weft-running)}
.scroll .weft-picture{max-width:none}
table{border-collapse:collapse;white-space:nowrap}
th,td{text-align:left;padding:.25rem .8rem .25rem 0;border-bottom:1px solid var(--weft-frame);vertical-align:top}
th{color:var(--weft-muted);font-weight:600}
td.number{text-align:right;font-variant-numeric:tabular-nums}
td.wide{white-space:normal;min-width:12rem;overflow-wrap:anywhere}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;padding:0;margin:.6rem 0;color:var(--weft-muted)}
.legend svg{vertical-align:-4px;margin-right:.35rem}
pre{overflow:auto;background:var(--weft-frame);padding:.8rem}
summary{cursor:pointer}
.note{color:var(--weft-muted)}
@media print{.scroll{overflow:visible}}
`
