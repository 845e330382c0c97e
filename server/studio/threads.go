package studio

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	h "github.com/weftrun/weft/internal/markup"
)

// listThreads is a page of the list of threads.
func listThreads(r *request) (view, error) {
	l, err := r.threads()
	if err != nil {
		return view{}, err
	}
	graphs, err := r.source.Graphs(r.Context())
	if err != nil {
		return view{}, err
	}
	q, threads := l.query, l.threads
	var body h.Parts
	if len(threads) > 0 {
		body = append(body, r.bulkForm(r.threadTable(threads, l.extents)))
	}
	switch {
	case l.state != nil:
		body = append(body, r.scanned(q, len(threads), l.looked, l.total))
	case len(threads) > 0:
		body = append(body, r.pages(q, l.looked, l.total))
	case l.total > 0:
		body = append(body, h.P(h.Text("There are no threads from here on. "), link(r.base+"/threads", "All threads")))
	default:
		body = append(body, h.P(h.Text("No thread matches. A client creates threads with "), h.Code(h.Text("POST /threads")), h.Text(".")))
	}
	return view{"/threads", "Threads", h.Parts{r.filters(q, graphs), r.lists(body)}}, nil
}

// threadQuery reads which threads to list.
func (r *request) threadQuery() (q Query, err error) {
	offset, err := r.number("offset", 1<<31)
	if err != nil {
		return q, err
	}
	get := r.URL.Query().Get
	q = Query{Status: get("status"), Graph: get("graph"), Text: strings.TrimSpace(get("text")), Prefix: strings.TrimSpace(get("prefix")), Sort: get("sort"), Offset: int(offset), Limit: threadsPage}
	for _, c := range []struct {
		name, value string
		known       []string
	}{{"status", q.Status, Statuses}, {"sort", q.Sort, Sorts}} {
		if c.value != "" && !slices.Contains(c.known, c.value) {
			return q, &requestError{http.StatusBadRequest, fmt.Sprintf("%s must be one of %s (got %.100q)", c.name, strings.Join(c.known, ", "), c.value)}
		}
	}
	for _, pair := range r.URL.Query()["metadata"] {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return q, &requestError{http.StatusBadRequest, fmt.Sprintf("metadata must be NAME=VALUE (got %.100q)", pair)}
		}
		if q.Metadata == nil {
			q.Metadata = map[string]json.RawMessage{}
		}
		q.Metadata[name] = scalar(value)
	}
	return q, nil
}

// scalar returns the JSON of a value: a number, true, false, null or a quoted text as it is,
// anything else as a text.
func scalar(value string) json.RawMessage {
	if json.Valid([]byte(value)) && !strings.ContainsAny(value[:1], "[{") {
		return json.RawMessage(value)
	}
	text, _ := json.Marshal(value) // a text never fails
	return text
}

// filters is the form that selects threads.
func (r *request) filters(q Query, graphs []Graph) h.Part {
	choice := func(label, name, chosen string, values []string) h.Part {
		return h.Label(h.Text(label+" "), h.Select(h.Name(name), h.Option(h.Value(""), h.Text("all")), h.Each(values, func(v string) h.Part {
			return h.Option(h.Value(v), h.Selected(v == chosen), h.Text(v))
		})))
	}
	var ids []string
	for _, g := range graphs {
		ids = append(ids, g.ID)
	}
	text := func(label, name, value, example string) h.Part {
		return h.Label(h.Text(label+" "), h.Input(h.Name(name), h.Value(value), h.Placeholder(example)))
	}
	var metadata []string
	for _, pair := range r.URL.Query()["metadata"] {
		if pair != "" {
			metadata = append(metadata, pair)
		}
	}
	metadata = append(metadata, "") // for one more
	return h.Form(h.Class("filters"), h.Method("get"), h.Action(r.base+"/threads"),
		choice("Graph", "graph", q.Graph, ids), choice("Status", "status", q.Status, Statuses), text("Text", "text", q.Text, "id, error, metadata"),
		text("Id begins with", "prefix", q.Prefix, ""), text("State", "state", r.URL.Query().Get("state"), "PATH=VALUE"),
		h.Each(metadata, func(pair string) h.Part { return text("Metadata", "metadata", pair, "NAME=VALUE") }),
		h.Label(h.Text("Sort by "), h.Select(h.Name("sort"), h.Each(Sorts, func(s string) h.Part {
			return h.Option(h.Value(s), h.Selected(s == q.Sort), h.Text(s))
		}))), h.Button(h.Text("Show")))
}

// shortened is an id whose middle a narrow window does not show. It is whole when it is copied.
func shortened(id string) h.Part {
	const first, last = 8, 4
	runes := []rune(id)
	if len(runes) < 2*(first+last) {
		return h.Text(id)
	}
	end := len(runes) - last
	return h.Parts{h.Text(string(runes[:first])), h.Span(h.Class("middle"), h.Text(string(runes[first:end]))), h.Text(string(runes[end:]))}
}

// extentCells are the cells of an extent; empty without a checkpoint.
func extentCells(e *extent) h.Part {
	texts := []string{"", "", ""}
	if e != nil {
		texts = []string{fmt.Sprint(e.Turns), fmt.Sprint(e.Steps), bytesText(e.Bytes)}
	}
	return h.Each(texts, func(text string) h.Part { return h.Td(h.Class("number"), h.Text(text)) })
}

func (r *request) threadTable(threads []Thread, extents []*extent) h.Part {
	var rows h.Parts
	for i, t := range threads {
		rows = append(rows, h.Tr(h.If(r.write, h.Td(picked(t.ID))),
			h.Td(statusMark(t.Status)), h.Td(h.Class("id"), h.A(h.Href(r.threadPath(t.ID)), h.Tooltip(t.ID), shortened(t.ID))),
			h.Td(h.If(t.GraphID != "", link(r.graphPath(t.GraphID), t.GraphID))),
			extentCells(extents[i]), h.Td(moment(t.Updated)), h.Td(moment(t.Created)), h.Td(h.Class("wide"), h.Text(t.Error)),
		))
	}
	return scroll("Table of threads", h.Table(
		h.Thead(h.Tr(h.If(r.write, h.Th(h.Scope("col"), pickAll())), headCells("Status", "Thread", "Graph", "Turns", "Steps", "Bytes", "Updated", "Created", "Error"))),
		h.Tbody(rows),
	))
}

// scanned reports which threads a filter of states has looked at, and leads to the next ones.
func (r *request) scanned(q Query, found, looked, total int) h.Part {
	after, first := "", ""
	if q.Offset+looked < total {
		after = r.with("/threads", "offset", fmt.Sprint(q.Offset+looked))
	}
	if q.Offset > 0 {
		first = r.with("/threads", "offset", "")
	}
	return h.P(
		h.Text(fmt.Sprintf("%d of the threads %d to %d of %d have that state", found, min(q.Offset+1, q.Offset+looked), q.Offset+looked, total)),
		h.If(first != "", h.Text(" · "), link(first, "from the first")),
		h.If(after != "", h.Text(" · "), neighbour(after, "next", "the next ones")),
	)
}

// pages leads to the pages around this one.
func (r *request) pages(q Query, shown, total int) h.Part {
	before, after := "", ""
	if q.Offset > 0 {
		before = r.with("/threads", "offset", fmt.Sprint(max(0, q.Offset-threadsPage)))
	}
	if q.Offset+shown < total {
		after = r.with("/threads", "offset", fmt.Sprint(q.Offset+threadsPage))
	}
	return h.P(
		h.Text(fmt.Sprintf("%d to %d of %d", q.Offset+1, q.Offset+shown, total)),
		h.If(before != "", h.Text(" · "), neighbour(before, "prev", "newer")),
		h.If(after != "", h.Text(" · "), neighbour(after, "next", "older")),
	)
}
