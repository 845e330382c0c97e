package studio

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/picture"
)

// treePage is how many commits an answer of a tree has.
const treePage = 2000

// addAPI adds what scripts and programs read of the studio, as JSON.
func (s *Handler) addAPI() {
	at := func(method, path string) string { return method + " " + s.config.Base + "/api" + path }
	for path, read := range map[string]func(*request) (any, error){
		"/graphs": apiGraphs, "/graphs/{id}": apiGraph, "/threads": apiThreads, "/threads/{id}/tree": apiTree, "/threads/{id}/commits/{n}": apiCommit,
		"/threads/{id}/diff": apiDiff, "/threads/{id}/timeline": apiTimeline, "/threads/{id}/sizes": apiSizes, "/inbox": apiInbox, "/system": apiSystem,
	} {
		s.mux.HandleFunc(at(http.MethodGet, path), s.api(read))
	}
	s.mux.HandleFunc(at(http.MethodGet, "/graphs/{id}/picture"), s.apiPicture)
	for _, path := range []string{"/inbox/events", "/live"} {
		s.mux.HandleFunc(at(http.MethodGet, path), s.changes)
	}
	if s.config.Editor != nil { // these check texts and write nothing
		s.mux.HandleFunc(at(http.MethodGet, "/workflow.schema.json"), s.api(apiWorkflowSchema))
		s.mux.HandleFunc(at(http.MethodPost, "/workflows/check"), s.api(apiCheck))
		s.mux.HandleFunc(at(http.MethodPost, "/complete"), s.api(apiComplete))
		s.mux.HandleFunc(at(http.MethodGet, "/workflows/{path...}"), s.api(apiReadWorkflow))
	}
	if s.config.ReadOnly {
		return
	}
	for path, write := range map[string]func(*request) (any, error){
		"/threads/{id}/fork": apiFork, "/threads/{id}/edit": apiEdit, "/threads/{id}/replay": apiReplay, "/threads/{id}/rerun": apiRerun, "/inbox/{id}/{question}": apiAnswer,
	} {
		s.mux.HandleFunc(at(http.MethodPost, path), s.api(write))
	}
	if s.config.Editor != nil {
		s.mux.HandleFunc(at(http.MethodPut, "/workflows/{path...}"), s.api(apiWriteWorkflow))
	}
}

// api returns the handler of an endpoint.
func (s *Handler) api(answer func(*request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var value any
		err := s.origins.Check(req)
		if err != nil {
			err = &requestError{http.StatusForbidden, "the request must come from a page of the studio"}
		}
		var source Source
		if err == nil {
			source, err = s.config.Open(req)
		}
		if err == nil {
			req.Body = http.MaxBytesReader(w, req.Body, maxForm)
			value, err = answer(s.request(req, source))
		}
		if err != nil {
			s.failAPI(w, req, err)
			return
		}
		data, err := json.Marshal(value)
		if err != nil {
			s.failAPI(w, req, err)
			return
		}
		w.Header().Set("Cache-Control", "no-cache")
		if f, ok := value.(apiFile); ok {
			w.Header().Set("ETag", f.etag())
		}
		reply(w, req, http.StatusOK, "application/json", append(data, '\n'))
	}
}

// failAPI answers with an error.
func (s *Handler) failAPI(w http.ResponseWriter, req *http.Request, err error) {
	var status int
	var text string
	if bad := (*requestError)(nil); errors.As(err, &bad) {
		status, text = bad.status, bad.text
	} else {
		status, text = s.config.Fault(err)
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="weft studio", charset="UTF-8"`)
	}
	data, _ := json.Marshal(map[string]string{"error": text}) // of strings
	reply(w, req, status, "application/json", append(data, '\n'))
}

func apiGraphs(r *request) (any, error) {
	graphs, err := r.source.Graphs(r.Context())
	if err != nil {
		return nil, err
	}
	counts, err := r.source.Count(r.Context())
	type one struct {
		ID      string         `json:"id"`
		Name    string         `json:"name"`
		Program string         `json:"program"`
		Threads map[string]int `json:"threads,omitempty"`
	}
	all := []one{}
	for _, g := range graphs {
		all = append(all, one{g.ID, g.Graph.Name(), g.Graph.Program(), counts[g.ID]})
	}
	return all, err
}

func apiGraph(r *request) (any, error) {
	depth, err := r.number("depth", maxDepth)
	if err != nil {
		return nil, err
	}
	g, err := r.graph(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	schemas := g.Graph.Schemas()
	return map[string]any{
		"id": g.ID, "program": g.Graph.Program(), "drawing": g.Graph.Draw(int(depth)),
		"schemas": map[string]json.RawMessage{"input": schemas.Input, "output": schemas.Output, "state": schemas.State, "settings": schemas.Settings},
	}, nil
}

// apiPicture answers with the picture of a graph, or of a turn of the thread ?thread=.
func (s *Handler) apiPicture(w http.ResponseWriter, req *http.Request) {
	svg, err := func() (string, error) {
		source, err := s.config.Open(req)
		if err != nil {
			return "", err
		}
		r := s.request(req, source)
		depth, err := r.number("depth", maxDepth)
		if err != nil {
			return "", err
		}
		at, err := r.number("at", anyNumber)
		if err != nil {
			return "", err
		}
		g, err := r.graph(r.PathValue("id"))
		if err != nil {
			return "", err
		}
		id := r.URL.Query().Get("thread")
		if id == "" {
			return r.cache.Layout(g.Graph.Draw(int(depth))).SVG(picture.Options{}), nil
		}
		t, err := r.source.Thread(r.Context(), id)
		if err != nil {
			return "", err
		}
		if t.Graph == nil || t.GraphID != g.ID {
			return "", &requestError{http.StatusNotFound, fmt.Sprintf("the thread is none of the graph %.100q", g.ID)}
		}
		turn, err := graph.Turn(r.Context(), t.Store, t.ID, at, turnSteps)
		if errors.Is(err, graph.ErrUnknownThread) {
			return "", noCheckpoint(at)
		}
		if err != nil {
			return "", err
		}
		d, err := t.Graph.Thread(t.ID).DrawTurn(r.Context(), turn, int(depth))
		return r.cache.Layout(d).SVG(picture.Options{Run: picture.NewRun(d, turn)}), err
	}()
	if err != nil {
		s.failAPI(w, req, err)
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	reply(w, req, http.StatusOK, "image/svg+xml", []byte(svg))
}

// threadAnswer is a thread of a list.
type threadAnswer struct {
	ID      string    `json:"id"`
	Status  string    `json:"status"`
	Graph   string    `json:"graph,omitempty"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Error   string    `json:"error,omitempty"`
	*extent
}

func apiThreads(r *request) (any, error) {
	l, err := r.threads()
	if err != nil {
		return nil, err
	}
	all := []threadAnswer{}
	for i, t := range l.threads {
		all = append(all, threadAnswer{t.ID, t.Status, t.GraphID, t.Created, t.Updated, t.Error, l.extents[i]})
	}
	return map[string]any{"threads": all, "total": l.total, "looked": l.looked}, nil
}

// stored returns the thread of the path, and its reader in the namespace ?ns=.
func (r *request) stored() (t Thread, stored graph.StoredThread[json.RawMessage], err error) {
	t, err = r.source.Thread(r.Context(), r.PathValue("id"))
	if err == nil && t.Graph == nil {
		err = &requestError{http.StatusNotFound, "the server does not serve the graph of this thread, or the thread has not run"}
	}
	if err != nil {
		return t, stored, err
	}
	stored, err = t.in(r.URL.Query().Get("ns"))
	return t, stored, err
}

// apiTree answers with the commits of a thread, without their states, the newest first.
func apiTree(r *request) (any, error) {
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	before, err := r.number("before", anyNumber)
	if err != nil {
		return nil, err
	}
	key := checkpoint.Key{Thread: t.ID, Namespace: r.URL.Query().Get("ns")}
	list := []graph.CommitInfo{}
	for c, err := range graph.History(r.Context(), t.Store, key, checkpoint.Query{Before: before, Limit: treePage + 1}) {
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	next := uint64(0)
	if len(list) > treePage {
		list = list[:treePage]
		next = list[treePage-1].Checkpoint
	}
	return map[string]any{"commits": list, "before": next}, nil
}

// apiCommit answers with a commit and the fields of its state, cut to what a page shows.
func apiCommit(r *request) (any, error) {
	_, stored, err := r.stored()
	if err != nil {
		return nil, err
	}
	var n uint64
	if _, err := fmt.Sscanf(r.PathValue("n"), "%d", &n); err != nil {
		return nil, &requestError{http.StatusBadRequest, "the number of a checkpoint must be in the path"}
	}
	state, info, err := stored.State(r.Context(), n)
	if errors.Is(err, graph.ErrUnknownThread) {
		return nil, noCheckpoint(n)
	}
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(state, &all); err != nil {
		return nil, err
	}
	wanted, cut := strings.Split(r.URL.Query().Get("fields"), ","), []string{}
	for name, value := range all {
		if r.URL.Query().Has("fields") && !slices.Contains(wanted, name) {
			delete(all, name)
		} else if len(value) > maxValue {
			cut = append(cut, name)
			all[name], _ = json.Marshal(strings.ToValidUTF8(string(value[:maxValue]), "") + "…") // of a string
		}
	}
	slices.Sort(cut)
	return map[string]any{"commit": info, "state": all, "cut": cut}, nil
}

func apiDiff(r *request) (any, error) {
	_, stored, err := r.stored()
	if err != nil {
		return nil, err
	}
	from, err := r.number("from", anyNumber)
	if err != nil {
		return nil, err
	}
	to, err := r.number("to", anyNumber)
	if err != nil {
		return nil, err
	}
	if from == 0 || to == 0 {
		return nil, &requestError{http.StatusBadRequest, "from and to must be the numbers of checkpoints"}
	}
	d, err := stored.Diff(r.Context(), from, to)
	if errors.Is(err, graph.ErrUnknownThread) {
		return nil, noCheckpoint(from)
	}
	return d, err
}

// apiTimeline answers with what the tasks of a turn did, and when.
func apiTimeline(r *request) (any, error) {
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	at, err := r.number("at", anyNumber)
	if err != nil {
		return nil, err
	}
	turn, err := graph.Turn(r.Context(), t.Store, t.ID, at, turnSteps)
	if at != 0 && errors.Is(err, graph.ErrUnknownThread) {
		return nil, noCheckpoint(at)
	}
	if err != nil && !errors.Is(err, graph.ErrUnknownThread) {
		return nil, err
	}
	until := time.Time{}
	if at != 0 {
		until = turn[0].Time
	}
	a, err := r.activityOf(t, turn, until, at == 0 && t.Status == "busy")
	return map[string]any{"position": a.position, "spans": append([]picture.Span{}, a.spans...)}, err
}

func apiSizes(r *request) (any, error) {
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return r.sizesOf(t)
}

func apiSystem(r *request) (any, error) { return r.source.System(r.Context()) }
