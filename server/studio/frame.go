package studio

import (
	"fmt"
	"net/url"
	"time"

	h "github.com/weftrun/weft/internal/markup"
)

// sections are the entries of the menu.
var sections = []struct{ path, name string }{{"/graphs", "Graphs"}, {"/threads", "Threads"}, {"/inbox", "Inbox"}, {"/editor", "Editor"},
	{"/store", "Store"}, {"/assistants", "Assistants"}, {"/crons", "Crons"}, {"/system", "System"}}

// modules are what main.js imports on every page, so that a browser loads them at once.
var modules = []string{"copy.js", "palette.js", "picture.js", "refresh.js", "run.js", "slider.js", "stream.js"}

// frame returns a page with what all pages have around their content. n is the number in its menu.
func (s *Handler) frame(v view, n waiting) *h.Element {
	var menu h.Parts
	for _, at := range sections {
		if at.path == "/editor" && s.config.Editor == nil {
			continue
		}
		menu = append(menu, h.A(h.Href(s.config.Base+at.path), h.Data("name", at.name), h.If(v.section == at.path, h.Aria("current", "page")), h.Text(at.name), h.If(at.path == "/inbox", n.mark())), h.Text("\n"))
	}
	return h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.Meta(h.Name("weft-build"), h.Content(s.build)),
			h.Title(h.Text(v.title+" · Weft")),
			h.Link(h.Rel("stylesheet"), h.Href(s.asset("studio.css"))),
			h.Link(h.Rel("icon"), h.Href(s.asset("icon.svg"))),
			h.Each(modules, func(name string) h.Part { return h.Link(h.Rel("modulepreload"), h.Href(s.asset(name))) }),
			h.Module(s.asset("main.js")),
		),
		h.Body(
			h.A(h.Class("skip"), h.Href("#main"), h.Text("Skip to the content")),
			h.Header(h.Class("side"),
				h.Span(h.Class("mark"), h.Text("Weft")),
				h.Nav(h.Class("menu"), h.Aria("label", "Pages"), h.If(n != unknown, h.Data("changes", s.config.Base+"/changes")), menu),
				h.Button(h.Type("button"), h.Class("quiet"), h.Data("theme-switch", ""), h.Hidden(true), h.Text("Dark or light")),
			),
			h.Main(h.ID("main"), h.H1(h.Text(v.title)), h.P(h.ID("lost"), h.Class("lost"), h.Role("alert"), h.Hidden(true)), v.body),
			h.P(h.ID("said"), h.Class("unseen"), h.Role("status")),
			h.Custom("weft-palette", h.Data("base", s.config.Base), h.Dialog(h.Aria("label", "Go to"),
				h.Label(h.Text("Go to "), h.Input(h.Type("search"), h.Autocomplete("off"))), h.Ul(),
				h.P(h.Class("muted"), h.Kbd(h.Text("g")), h.Text(" then "), h.Kbd(h.Text("t")), h.Text(" threads, "), h.Kbd(h.Text("i")), h.Text(" inbox, "),
					h.Kbd(h.Text("[")), h.Text(" "), h.Kbd(h.Text("]")), h.Text(" steps, "), h.Kbd(h.Text("+")), h.Text(" "), h.Kbd(h.Text("-")), h.Text(" zoom")),
			)),
		),
	)
}

// part is a part of a page that is replaced when it has changed.
func part(id string, parts ...h.Part) h.Part {
	return h.Div(h.ID(id), h.Class("part"), h.Data("part", ""), h.Parts(parts))
}

// asset returns the address of a file of the pages.
func (s *Handler) asset(name string) string {
	return s.config.Base + "/web/" + s.assets.hash + "/" + name
}

// threadPath returns the address of a thread's page.
func (r *request) threadPath(id string) string { return r.base + "/threads/" + url.PathEscape(id) }

// graphPath returns the address of a graph's page.
func (r *request) graphPath(id string) string { return r.base + "/graphs/" + url.PathEscape(id) }

// threadsPath returns the address of the threads of a graph; status is "" for all.
func (r *request) threadsPath(graph, status string) string {
	q := url.Values{"graph": {graph}}
	if status != "" {
		q.Set("status", status)
	}
	return r.base + "/threads?" + q.Encode()
}

// link is a link with text.
func link(address, text string) h.Part { return h.A(h.Href(address), h.Text(text)) }

// neighbour is a link to the page before or after this one; nothing without an address.
func neighbour(address, rel, text string) h.Part {
	return h.If(address != "", h.A(h.Rel(rel), h.Href(address), h.Text(text)))
}

// folded is text below a summary, which opens it.
func folded(summary, text string) h.Part {
	return h.Details(h.Summary(h.Text(summary)), h.Pre(h.Tabindex("0"), h.Text(text)))
}

// scroll is a region that scrolls, of which label is the name.
func scroll(label string, parts ...h.Part) h.Part {
	return h.Div(h.Class("scroll"), h.Tabindex("0"), h.Role("region"), h.Aria("label", label), h.Parts(parts))
}

// section is a section with a heading, whose id is that of its address in the page.
func section(id, heading string, parts ...h.Part) h.Part {
	return h.Section(h.Aria("labelledby", id), h.H2(h.ID(id), h.Text(heading)), h.Parts(parts))
}

// statusMark is the status of a thread.
func statusMark(status string) h.Part {
	return h.Span(h.Class("status", "status-"+status), h.Text(status))
}

// muted is a paragraph of less weight.
func muted(text string) h.Part { return h.P(h.Class("muted"), h.Text(text)) }

// moment is a time, which the browser shows in the zone of the reader.
func moment(t time.Time) h.Part {
	return h.If(!t.IsZero(), h.Time(h.Datetime(t.UTC().Format(time.RFC3339Nano)), h.Text(utc(t))))
}

// lists are the parts of a page with lists that follow the threads.
func (r *request) lists(parts ...h.Part) h.Part {
	return h.Parts{h.Custom("weft-lists", h.Data("changes", r.base+"/changes"), h.Hidden(true)), part("list", parts...)}
}

// utc returns a time as text; "" for the zero time.
func utc(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// plural returns a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// heads is the row of the names of columns.
func heads(names ...string) h.Part { return h.Thead(h.Tr(headCells(names...))) }

func headCells(names ...string) h.Part {
	return h.Each(names, func(name string) h.Part { return h.Th(h.Scope("col"), h.Text(name)) })
}
