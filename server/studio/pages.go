package studio

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/picture"
)

// Sizes of pages.
const (
	threadsPage = 50
	commitsPage = 100
	maxDepth    = 8
)

// number reads an integer of the query from 0 to limit.
func (r *request) number(name string, limit uint64) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > limit {
		return 0, &requestError{http.StatusBadRequest, fmt.Sprintf("%s must be a number from 0 to %d (got %.100q)", name, limit, text)}
	}
	return n, nil
}

const anyNumber = 1 << 62

// graphCard is a graph in the list.
type graphCard struct {
	ID, Name string
	Nodes    int
	Counts   []count
	All      int
}

// count is how many threads have a status.
type count struct {
	Status string
	Count  int
}

func listGraphs(r *request) (view, error) {
	graphs, err := r.source.Graphs(r.Context())
	if err != nil {
		return view{}, err
	}
	counts, err := r.source.Count(r.Context())
	if err != nil {
		return view{}, err
	}
	cards := make([]graphCard, len(graphs))
	for i, g := range graphs {
		cards[i] = graphCard{ID: g.ID, Name: g.Graph.Name(), Nodes: len(g.Graph.Draw(0).Nodes) - 2}
		for _, s := range Statuses {
			if n := counts[g.ID][s]; n > 0 {
				cards[i].Counts = append(cards[i].Counts, count{s, n})
				cards[i].All += n
			}
		}
	}
	return view{"graphs.html", "Graphs", cards}, nil
}

// graphPage is a page with one graph.
type graphPage struct {
	ID, Name           string
	Depth              uint64
	Deeper             bool // a subgraph is closed
	Picture            template.HTML
	Text, Mermaid, DOT string
}

func showGraph(r *request) (view, error) {
	depth, err := r.number("depth", maxDepth)
	if err != nil {
		return view{}, err
	}
	graphs, err := r.source.Graphs(r.Context())
	if err != nil {
		return view{}, err
	}
	i := slices.IndexFunc(graphs, func(g Graph) bool { return g.ID == r.PathValue("id") })
	if i < 0 {
		return view{}, &requestError{http.StatusNotFound, fmt.Sprintf("there is no graph %.100q", r.PathValue("id"))}
	}
	d := graphs[i].Graph.Draw(int(depth))
	return view{"graph.html", "Graph " + graphs[i].ID, graphPage{
		graphs[i].ID, d.Graph, depth, depth < maxDepth && hasClosed(&d), r.draw(d, nil), d.Text(), d.Mermaid(), d.DOT(),
	}}, nil
}

// draw returns the picture of a drawing.
func (r *request) draw(d graph.Drawing, run *picture.Run) template.HTML {
	return template.HTML(r.cache.Layout(d).SVG(picture.Options{Run: run, NoStyle: true, Focus: true}))
}

// hasClosed reports whether a drawing has a subgraph that is not open.
func hasClosed(d *graph.Drawing) bool {
	return slices.ContainsFunc(d.Nodes, func(n graph.DrawnNode) bool {
		return n.Inside == nil && n.Kind == "graph" || n.Inside != nil && hasClosed(n.Inside)
	})
}

// threadsView is a page of the list of threads.
type threadsView struct {
	Threads       []Thread
	Total         int
	First, Last   int
	Query         Query
	Graphs        []string
	Statuses      []string
	Before, After string // links to the pages around it, or ""
}

func listThreads(r *request) (view, error) {
	offset, err := r.number("offset", 1<<31)
	if err != nil {
		return view{}, err
	}
	q := Query{Status: r.URL.Query().Get("status"), Graph: r.URL.Query().Get("graph"), Offset: int(offset), Limit: threadsPage}
	if q.Status != "" && !slices.Contains(Statuses, q.Status) {
		return view{}, &requestError{http.StatusBadRequest, fmt.Sprintf("status must be one of %s (got %.100q)", strings.Join(Statuses, ", "), q.Status)}
	}
	v := threadsView{Query: q, Statuses: Statuses}
	if v.Threads, v.Total, err = r.source.Threads(r.Context(), q); err != nil {
		return view{}, err
	}
	graphs, err := r.source.Graphs(r.Context())
	if err != nil {
		return view{}, err
	}
	for _, g := range graphs {
		v.Graphs = append(v.Graphs, g.ID)
	}
	v.First, v.Last = min(q.Offset+1, v.Total), min(q.Offset+len(v.Threads), v.Total)
	if q.Offset > 0 {
		v.Before = r.link("/threads", "offset", fmt.Sprint(max(0, q.Offset-threadsPage)))
	}
	if v.Last < v.Total && len(v.Threads) > 0 {
		v.After = r.link("/threads", "offset", fmt.Sprint(q.Offset+threadsPage))
	}
	return view{"threads.html", "Threads", v}, nil
}

// link returns the address of a page with the query of the request, in which pairs are set. A pair
// with "" is removed.
func (r *request) link(path string, pairs ...string) string {
	q := url.Values{}
	for key, values := range r.URL.Query() {
		q[key] = values
	}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	if len(q) == 0 {
		return r.base + path
	}
	return r.base + path + "?" + q.Encode()
}

// threadPage is a page with one thread.
type threadPage struct {
	Thread
	At, Newest        uint64 // checkpoints; 0 if there is none
	Commit            graph.CommitInfo
	Before, After     string // links to the steps around it, or ""
	Picture, Timeline template.HTML
	Text              string
	Note              string // why there is no picture or state
	Fields            []field
	Diff              *diff // nil if there is nothing to compare with
	StateLink         string
	Rows              []picture.Row
	Older             string // a link, or ""
	Questions         []question
	Command           string // of the command line
}

func showThread(r *request) (view, error) {
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	p := &threadPage{Thread: t}
	v := view{"thread.html", "Thread " + t.ID, p}
	at, err := r.number("at", anyNumber)
	if err != nil {
		return view{}, err
	}
	turn, err := picture.Turn(r.Context(), t.Store, t.ID, at)
	if errors.Is(err, graph.ErrUnknownThread) || err == nil && len(turn) == 0 {
		if at != 0 {
			return view{}, noCheckpoint(at)
		}
		p.Note = "The thread has no checkpoint yet."
		return v, nil
	}
	if err != nil {
		return view{}, err
	}
	p.Commit, p.At = turn[0], turn[0].Checkpoint
	if at != 0 && p.At != at {
		return view{}, noCheckpoint(at)
	}
	if err := p.history(r); err != nil {
		return view{}, err
	}
	for _, in := range p.Commit.Interrupts {
		p.Questions = append(p.Questions, questionOf(t, in, r.write && p.At == p.Newest))
	}
	p.Command = fmt.Sprintf("weft state %s --at %d", quoted(t.ID), p.At)
	return v, p.show(r, turn)
}

// plain matches words that a shell takes as they are.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@-]+$`)

// quoted returns a word for a shell.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func noCheckpoint(at uint64) error {
	return &requestError{http.StatusNotFound, fmt.Sprintf("the thread has no checkpoint %d", at)}
}

// history reads the list of checkpoints, and the links to those around the one that is shown.
func (p *threadPage) history(r *request) error {
	before, err := r.number("before", anyNumber)
	if err != nil {
		return err
	}
	head, err := graph.Inspect(r.Context(), p.Store, checkpoint.Key{Thread: p.ID})
	if err != nil {
		return err
	}
	p.Newest = head.Checkpoint
	var list []graph.CommitInfo
	for c, err := range graph.History(r.Context(), p.Store, checkpoint.Key{Thread: p.ID}, checkpoint.Query{Before: before, Limit: commitsPage + 1}) {
		if err != nil {
			return err
		}
		list = append(list, c)
	}
	p.Rows = picture.Rows(list)
	path := "/threads/" + url.PathEscape(p.ID)
	if len(p.Rows) > commitsPage {
		p.Rows = p.Rows[:commitsPage]
		p.Older = r.link(path, "before", fmt.Sprint(p.Rows[commitsPage-1].Checkpoint))
	}
	if earlier := parentOf(p.Commit); earlier > 0 {
		p.Before = r.link(path, "at", fmt.Sprint(earlier))
	}
	if p.At < p.Newest {
		p.After = r.link(path, "at", fmt.Sprint(p.At+1))
	}
	p.StateLink = r.link(path+"/state.json", "at", fmt.Sprint(p.At), "before", "")
	return nil
}

// parentOf returns the commit from which another one goes on.
func parentOf(c graph.CommitInfo) uint64 {
	if c.Parent != 0 {
		return c.Parent
	}
	return c.Checkpoint - 1
}

// show reads the state and draws the pictures.
func (p *threadPage) show(r *request, turn []graph.CommitInfo) error {
	if p.Graph == nil {
		p.Timeline = template.HTML(picture.Timeline(turn, nil, graph.Drawing{}))
		p.Note = fmt.Sprintf("The server does not serve the graph %q of this thread, so there is no picture and no state.", p.Commit.Graph)
		return nil
	}
	d, err := p.Graph.Thread(p.ID).Draw(r.Context(), p.At, 1)
	if err != nil {
		return err
	}
	run := picture.NewRun(d, turn)
	p.Picture, p.Text = r.draw(d, run), d.Text()
	p.Timeline = template.HTML(picture.Timeline(turn, run, d))
	state, _, err := p.Graph.Thread(p.ID).State(r.Context(), p.At)
	if err != nil {
		return err
	}
	if p.Fields, err = fieldsOf(state); err != nil {
		return err
	}
	p.Diff, err = p.diffOf(r)
	return err
}

// functions are those of the templates.
func (h *Handler) functions() template.FuncMap {
	return template.FuncMap{
		"base":  func() string { return h.config.Base },
		"style": func() string { return h.config.Base + "/web/" + h.hash + "/studio.css" },
		"page":  url.PathEscape,
		"query": url.QueryEscape,
		"utc": func(t time.Time) string {
			if t.IsZero() {
				return ""
			}
			return t.UTC().Format("2006-01-02 15:04:05")
		},
		"deeper":   func(depth uint64) uint64 { return depth + 1 },
		"nodes":    picture.NodeList,
		"duration": picture.Duration,
	}
}
