package studio

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/weftrun/weft/graph"
	h "github.com/weftrun/weft/internal/markup"
)

// maxForm is how many bytes a form has at most.
const maxForm = 4 << 20

// fetchHeader marks a form that a script sends. An empty answer, and no page, shows the script that
// the form was taken.
const fetchHeader = "X-Weft-Fetch"

// act returns the handler of a form. The form leads to an address, or shows a view of its own.
func (s *Handler) act(act func(*request) (view, string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		n := unknown
		v, to, err := s.take(w, req, func(r *request) (view, string, error) {
			v, to, err := act(r)
			if to == "" && r.PostForm.Get("only") == "" { // a part of a page has no menu
				n = r.waiting()
			}
			return v, to, err
		})
		var wrong *wrongForm
		switch {
		case errors.As(err, &wrong):
			if wrong.address != "" {
				wrong.view.body = h.Parts{h.Span(h.ID("address"), h.Hidden(true), h.Data("address", wrong.address)), wrong.view.body}
			}
			s.write(w, req, cmp.Or(wrong.status, http.StatusUnprocessableEntity), wrong.view, n)
		case err != nil:
			s.fail(w, req, err)
		case to != "" && req.Header.Get(fetchHeader) != "":
			w.WriteHeader(http.StatusNoContent)
		case to != "":
			http.Redirect(w, req, to, http.StatusSeeOther)
		default:
			s.write(w, req, http.StatusOK, v, n)
		}
	}
}

func (s *Handler) take(w http.ResponseWriter, req *http.Request, act func(*request) (view, string, error)) (view, string, error) {
	if err := s.origins.Check(req); err != nil {
		return view{}, "", &requestError{http.StatusForbidden, "the form must come from a page of the studio"}
	}
	source, err := s.config.Open(req)
	if err != nil {
		return view{}, "", err
	}
	req.Body = http.MaxBytesReader(w, req.Body, maxForm)
	parse := req.ParseForm
	if strings.HasPrefix(req.Header.Get("Content-Type"), "multipart/form-data") {
		parse = func() error { return req.ParseMultipartForm(maxForm) }
	}
	if err := parse(); err != nil {
		return view{}, "", &requestError{http.StatusBadRequest, "the form cannot be read: " + err.Error()}
	}
	return act(s.request(req, source))
}

// wrongForm is the error of a form with mistakes. The view shows it again.
type wrongForm struct {
	view   view
	status int // 0 is 422
	// address, unless it is "", is that of the page without the form. A script shows it, so that
	// the page follows its thread.
	address string
}

func (e *wrongForm) Error() string { return "the form has mistakes" }

// at reads the checkpoint of a form; 0 is the newest.
func (r *request) at() (uint64, error) {
	var n uint64
	if text := r.PostForm.Get("at"); text != "" {
		if _, err := fmt.Sscanf(text, "%d", &n); err != nil {
			return 0, &requestError{http.StatusBadRequest, fmt.Sprintf("at must be the number of a checkpoint (got %.100q)", text)}
		}
	}
	return n, nil
}

// fork begins a branch at a checkpoint. Nothing runs.
func fork(r *request) (view, string, error) {
	at, err := r.at()
	if err == nil {
		err = r.source.Edit(r.Context(), r.PathValue("id"), Edit{At: at})
	}
	return view{}, r.threadPath(r.PathValue("id")), err
}

// rerun starts a run that goes on from a checkpoint.
func rerun(r *request) (view, string, error) {
	at, err := r.at()
	if err != nil {
		return view{}, "", err
	}
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err == nil {
		_, err = r.source.Start(r.Context(), Start{Graph: t.GraphID, Thread: t.ID, At: at})
	}
	return view{}, r.back(t.ID), err
}

// replay runs the recorded steps again, and shows the first that differs. The store is not changed.
func replay(r *request) (view, string, error) {
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return view{}, "", err
	}
	if t.Graph == nil {
		return view{}, "", &requestError{http.StatusNotFound, "the server does not serve the graph of this thread"}
	}
	done, err := t.Graph.Thread(t.ID).Replay(r.Context(), 0, 0)
	if err != nil {
		return view{}, "", err
	}
	return view{"/threads", "Replay of thread " + t.ID, h.Parts{
		h.P(link(r.threadPath(t.ID), "back to the thread")), verdict(done),
		h.P(copied("weft replay " + (&threadPage{Thread: t}).withFile(r) + " --yes")),
	}}, "", nil
}

// verdict is what came of a replay.
func verdict(done graph.Replayed) h.Part {
	same := plural(done.Steps, "step comes", "steps come") + " out as recorded."
	skipped := h.If(len(done.Skipped) > 0, muted(fmt.Sprintf("Not run again, since nothing leads to them: %v.", done.Skipped)))
	d := done.Divergence
	if d == nil {
		return h.Parts{h.P(h.Class("notice", "good"), h.Text(same)), skipped}
	}
	var changes h.Parts
	for _, c := range d.Changes {
		changes = append(changes, h.Tr(h.Th(h.Scope("row"), h.Text(c.Field)), h.Td(h.Class("wide"), fieldOf("", orNothing(c.Before)).value()),
			h.Td(h.Class("wide"), fieldOf("", orNothing(c.After)).value())))
	}
	next := ""
	if len(d.Next)+len(d.NextNow) > 0 {
		next = fmt.Sprintf("After it %s was due, and now %s.", cmp.Or(strings.Join(d.Next, ", "), "nothing"), cmp.Or(strings.Join(d.NextNow, ", "), "nothing"))
	}
	var asked h.Parts
	for _, q := range d.Asked {
		asked = append(asked, h.P(h.Text(q.Node+" asks now: "+q.Prompt)))
	}
	return h.Parts{
		h.P(h.Class("notice"), h.Text(fmt.Sprintf("Checkpoint %d, step %d of turn %d (%s) comes out otherwise.", d.Checkpoint, d.Step, d.Turn, strings.Join(d.Nodes, ", ")))),
		h.If(d.Failure != "", h.P(h.Class("error"), h.Text(d.Failure))),
		h.If(len(changes) > 0, scroll("Table of fields that differ", h.Table(heads("Field", "As recorded", "Now"), h.Tbody(changes)))),
		h.If(next != "", h.P(h.Text(next))), asked, h.P(h.Text(same)), skipped,
	}
}

// cancel cancels the runs of a thread.
func cancel(r *request) (view, string, error) {
	return view{}, r.back(r.PathValue("id")), r.source.Cancel(r.Context(), r.PathValue("id"))
}

// prune removes the old checkpoints of a thread, whose name must be typed.
func prune(r *request) (view, string, error) {
	id, err := r.confirmed()
	if err == nil {
		err = r.source.Prune(r.Context(), id)
	}
	return view{}, r.threadPath(id), err
}

// remove removes a thread, whose name must be typed.
func remove(r *request) (view, string, error) {
	id, err := r.confirmed()
	if err == nil {
		err = r.source.Remove(r.Context(), id)
	}
	return view{}, r.base + "/threads", err
}

// leastName is how much of the name of a thread must be typed.
const leastName = 4

// confirmed returns the thread of a form in which its name, or the end of it, was typed.
func (r *request) confirmed() (id string, err error) {
	id = r.PathValue("id")
	if typed := strings.TrimSpace(r.PostForm.Get("name")); len(typed) < min(leastName, len(id)) || !strings.HasSuffix(id, typed) {
		return id, &requestError{http.StatusUnprocessableEntity, fmt.Sprintf("type the last %d characters of the thread's name to confirm (got %.100q)", leastName, typed)}
	}
	return id, nil
}
