package studio

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// body decodes the body of a request.
func (r *request) body(v any) error {
	data, err := io.ReadAll(r.Body)
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		return &requestError{http.StatusBadRequest, "the body must be JSON: " + err.Error()}
	}
	return nil
}

// inboxAnswer is an open question.
type inboxAnswer struct {
	Thread string `json:"thread"`
	Graph  string `json:"graph,omitempty"`
	graph.Interrupt
}

// apiInbox answers with a page of open questions, which the filters of the inbox select, and with
// the threads of the page that cannot be read.
func apiInbox(r *request) (any, error) {
	p, err := r.questions(r.inboxFilter())
	if err != nil {
		return nil, err
	}
	all := []inboxAnswer{}
	for _, q := range p.Questions {
		all = append(all, inboxAnswer{q.Thread, q.GraphID, q.Interrupt})
	}
	return map[string]any{"questions": all, "threads": p.Threads, "next": p.Next, "unreadable": append([]unreadable{}, p.Unreadable...)}, nil
}

// apiAnswer takes {"answer": …} to a question, and starts the run that goes on with it.
func apiAnswer(r *request) (any, error) {
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	var q struct {
		Answer json.RawMessage `json:"answer"`
	}
	if err := r.body(&q); err != nil {
		return nil, err
	}
	if len(q.Answer) == 0 {
		return nil, &requestError{http.StatusUnprocessableEntity, "answer must be set"}
	}
	in, err := r.asked(t, r.PathValue("question"))
	if err != nil {
		return nil, err
	}
	return map[string]string{"thread": t.ID}, r.source.Answer(r.Context(), t, in.ID, q.Answer)
}

// apiEdit takes {"at", "as", "writes", "goto", "run"} and stores a checkpoint. With run it goes on
// from there.
func apiEdit(r *request) (any, error) {
	var q struct {
		At     uint64          `json:"at"`
		As     string          `json:"as"`
		Writes json.RawMessage `json:"writes"`
		Goto   []string        `json:"goto"`
		Run    bool            `json:"run"`
	}
	if err := r.body(&q); err != nil {
		return nil, err
	}
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err == nil {
		err = r.source.Edit(r.Context(), t.ID, Edit{At: q.At, As: q.As, Writes: q.Writes, Goto: q.Goto})
	}
	if err != nil {
		return nil, err
	}
	if q.Run {
		return map[string]string{"thread": t.ID}, r.source.Resume(r.Context(), t)
	}
	head, err := graph.Inspect(r.Context(), t.Store, checkpoint.Key{Thread: t.ID})
	if errors.Is(err, graph.ErrUnknownThread) {
		err = nil
	}
	return map[string]any{"thread": t.ID, "head": head.Checkpoint}, err
}

// apiRerun takes {"at"} and starts a run that goes on from there.
func apiRerun(r *request) (any, error) {
	var q struct{ At uint64 }
	if err := r.body(&q); err != nil {
		return nil, err
	}
	t, err := r.source.Thread(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	_, err = r.source.Start(r.Context(), Start{Graph: t.GraphID, Thread: t.ID, At: q.At})
	return map[string]string{"thread": t.ID}, err
}

// apiFork takes {"at"} and begins a branch there.
func apiFork(r *request) (any, error) { return apiEdit(r) }

// apiReplay runs the recorded steps again, and answers with what came of it.
func apiReplay(r *request) (any, error) {
	var q struct{ From, To uint64 }
	if err := r.body(&q); err != nil {
		return nil, err
	}
	_, stored, err := r.stored()
	if err != nil {
		return nil, err
	}
	return stored.Replay(r.Context(), q.From, q.To)
}
