package studio

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	h "github.com/weftrun/weft/internal/markup"
)

// listThreads is a page of the list of threads.
func listThreads(r *request) (view, error) {
	offset, err := r.number("offset", 1<<31)
	if err != nil {
		return view{}, err
	}
	q := Query{Status: r.URL.Query().Get("status"), Graph: r.URL.Query().Get("graph"), Offset: int(offset), Limit: threadsPage}
	if q.Status != "" && !slices.Contains(Statuses, q.Status) {
		return view{}, &requestError{http.StatusBadRequest, fmt.Sprintf("status must be one of %s (got %.100q)", strings.Join(Statuses, ", "), q.Status)}
	}
	threads, total, err := r.source.Threads(r.Context(), q)
	if err != nil {
		return view{}, err
	}
	graphs, err := r.source.Graphs(r.Context())
	if err != nil {
		return view{}, err
	}
	var body h.Parts
	switch {
	case len(threads) > 0:
		body = append(body, r.bulkForm(r.threadTable(threads)), r.pages(q, len(threads), total))
	case total > 0:
		body = append(body, h.P(h.Text("There are no threads from here on. "), link(r.base+"/threads", "All threads")))
	default:
		body = append(body, h.P(h.Text("No thread matches. A client creates threads with "), h.Code(h.Text("POST /threads")), h.Text(".")))
	}
	return view{"/threads", "Threads", h.Parts{r.filters(q, graphs), r.lists(body)}}, nil
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
	return h.Form(h.Class("filters"), h.Method("get"), h.Action(r.base+"/threads"),
		choice("Graph", "graph", q.Graph, ids), choice("Status", "status", q.Status, Statuses), h.Button(h.Text("Show")))
}

func (r *request) threadTable(threads []Thread) h.Part {
	return scroll("Table of threads", h.Table(
		h.Thead(h.Tr(h.If(r.write, h.Th(h.Scope("col"), pickAll())), headCells("Status", "Thread", "Graph", "Updated", "Created", "Error"))),
		h.Tbody(h.Each(threads, func(t Thread) h.Part {
			return h.Tr(h.If(r.write, h.Td(picked(t.ID))),
				h.Td(statusMark(t.Status)), h.Td(link(r.threadPath(t.ID), t.ID)),
				h.Td(h.If(t.GraphID != "", link(r.graphPath(t.GraphID), t.GraphID))),
				h.Td(moment(t.Updated)), h.Td(moment(t.Created)), h.Td(h.Class("wide"), h.Text(t.Error)),
			)
		})),
	))
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
