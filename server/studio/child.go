package studio

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

// in returns the thread in the namespace of a subgraph; "" is the thread itself.
func (t Thread) in(namespace string) (graph.StoredThread[json.RawMessage], error) {
	g := t.Graph
	if namespace == "" {
		return g.Thread(t.ID), nil
	}
	for part := range strings.SplitSeq(namespace, "|") {
		name := part
		if end := strings.IndexAny(part, ":/"); end >= 0 {
			name = part[:end]
		}
		if g = g.Children()[name]; g == nil {
			return graph.StoredThread[json.RawMessage]{}, &requestError{http.StatusNotFound, fmt.Sprintf("the graph has no subgraph for %.200q", namespace)}
		}
	}
	return g.Thread(t.ID).In(namespace), nil
}

// childPage is what a subgraph did on a thread.
type childPage struct {
	threadPage
	namespace string
	list      []graph.CommitInfo
}

// showChild is the page of a subgraph's run, in the namespace ?ns=.
func showChild(r *request, t Thread) (view, error) {
	p := &childPage{threadPage: threadPage{Thread: t}, namespace: r.URL.Query().Get("ns")}
	if t.Graph == nil {
		return view{}, &requestError{http.StatusNotFound, "the server does not serve the graph of this thread"}
	}
	stored, err := t.in(p.namespace)
	if err != nil {
		return view{}, err
	}
	at, err := r.number("at", anyNumber)
	if err != nil {
		return view{}, err
	}
	before, err := r.number("before", anyNumber)
	if err != nil {
		return view{}, err
	}
	state, info, err := stored.State(r.Context(), at)
	if errors.Is(err, graph.ErrUnknownThread) {
		return view{}, &requestError{http.StatusNotFound, fmt.Sprintf("the subgraph %.200q has no such checkpoint", p.namespace)}
	}
	if err != nil {
		return view{}, err
	}
	p.Commit, p.At = info, info.Checkpoint
	if p.Fields, err = fieldsOf(state); err != nil {
		return view{}, err
	}
	if p.Diff, err = p.diffOf(r, stored); err != nil {
		return view{}, err
	}
	key := checkpoint.Key{Thread: t.ID, Namespace: p.namespace}
	for c, err := range graph.History(r.Context(), t.Store, key, checkpoint.Query{Before: before, Limit: commitsPage + 1}) {
		if err != nil {
			return view{}, err
		}
		p.list = append(p.list, c)
	}
	return p.view(r), nil
}

func (p *childPage) view(r *request) view {
	path := escapedPath("threads", p.ID)
	older := ""
	if len(p.list) > commitsPage {
		p.list = p.list[:commitsPage]
		older = r.with(path, "before", fmt.Sprint(p.list[commitsPage-1].Checkpoint))
	}
	rows := h.Each(p.list, func(c graph.CommitInfo) h.Part {
		return h.Tr(h.If(c.Checkpoint == p.At, h.Aria("current", "true")), h.Td(h.Class("number"), link(r.with(path, "at", fmt.Sprint(c.Checkpoint)), fmt.Sprint(c.Checkpoint))),
			h.Td(h.Class("number"), h.Text(fmt.Sprint(c.Turn))), h.Td(h.Class("number"), h.Text(fmt.Sprint(c.Step))), h.Td(h.Text(strings.Join(c.Nodes(), ", "))),
			h.Td(h.Text(strings.Join(c.Next, ", "))), h.Td(moment(c.Time)))
	})
	return view{"/threads", "Subgraph " + p.namespace, h.Parts{
		h.P(h.Text("Of thread "), link(r.threadPath(p.ID), p.ID), h.Text(fmt.Sprintf(" · graph %s · turn %d, step %d, checkpoint %d", p.Commit.Graph, p.Commit.Turn, p.Commit.Step, p.At))),
		copied(fmt.Sprintf("weft state %s --namespace %s --at %d", quoted(p.ID), quoted(p.namespace), p.At)),
		h.Div(h.Class("bench"), part("fields", p.state(r)), part("differences", p.changes())),
		section("history", "Checkpoints", scroll("Table of checkpoints", h.Table(heads("Checkpoint", "Turn", "Step", "Ran", "Due", "Time"), h.Tbody(rows))),
			h.If(older != "", h.P(neighbour(older, "next", "older checkpoints")))),
	}}
}

// maxChildren is how many subgraphs a thread's page lists.
const maxChildren = 50

// children leads to the subgraphs that have run on the thread.
func (p *threadPage) children(r *request) h.Part {
	if len(p.Spaces) == 0 {
		return nil
	}
	shown := p.Spaces[:min(len(p.Spaces), maxChildren)]
	return section("children", "Subgraphs", h.Ul(h.Each(shown, func(ns string) h.Part {
		return h.Li(link(r.with(escapedPath("threads", p.ID), "ns", ns, "at", "", "from", "", "before", "", "tab", "", "node", ""), ns))
	})), h.If(len(p.Spaces) > len(shown), muted(fmt.Sprintf("%d more are not listed.", len(p.Spaces)-len(shown)))))
}
