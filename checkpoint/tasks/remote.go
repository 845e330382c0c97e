package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

// maxReply is how large a reply of another program may be.
const maxReply = 4 << 20

// Remote is a Worker behind HTTP: a [Handler], or any program that answers
// POST {URL}/tasks/{id} with an [Outcome].
type Remote struct {
	URL    string
	Client *http.Client // nil means http.DefaultClient
	Header http.Header  // sent along, for instance Authorization
	// Retries is how often to ask again after a broken connection, a 5xx or a 429; 0 means
	// 3, and negative never. Anything else that is not a 200 is an ErrRemote at once.
	Retries int
	// Pause waits before the nth retry; nil means 1, 2, 4… seconds.
	Pause func(ctx context.Context, n int) error
}

// Do implements Worker. The other program is asked with the same id each time.
func (r Remote) Do(ctx context.Context, t Task) (Outcome, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return Outcome{}, fmt.Errorf("%w: %w", ErrTask, err)
	}
	retries := r.Retries
	if retries == 0 {
		retries = 3
	}
	for n := 0; ; n++ {
		out, again, err := r.ask(ctx, t.ID, body)
		if err == nil || !again || n >= retries || ctx.Err() != nil {
			return out, err
		}
		if stop := r.pause(ctx, n+1); stop != nil {
			return Outcome{}, errors.Join(err, stop)
		}
	}
}

// ask makes one request. again says that another one may help.
func (r Remote) ask(ctx context.Context, id string, body []byte) (out Outcome, again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(r.URL, "/")+"/tasks/"+url.PathEscape(id), bytes.NewReader(body))
	if err != nil {
		return out, false, fmt.Errorf("%w: %w", ErrRemote, err)
	}
	for name, v := range r.Header {
		req.Header[name] = v
	}
	req.Header.Set("Content-Type", "application/json")
	client := r.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return out, true, fmt.Errorf("%w: %w", ErrRemote, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	switch {
	case err != nil:
		return out, true, fmt.Errorf("%w: %w", ErrRemote, err)
	case resp.StatusCode != http.StatusOK:
		again = resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests
		return out, again, fmt.Errorf("%w: %s: %.200s", ErrRemote, resp.Status, data)
	case len(data) > maxReply:
		return out, false, fmt.Errorf("%w: the reply has more than %d bytes", ErrRemote, maxReply)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, false, fmt.Errorf("%w: the reply is no outcome: %w", ErrRemote, err)
	}
	return out, false, nil
}

func (r Remote) pause(ctx context.Context, n int) error {
	if r.Pause != nil {
		return r.Pause(ctx, n)
	}
	t := time.NewTimer(time.Second << min(n-1, 6))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Handler answers the requests of Remote with a worker and a board of its own, on which it
// remembers what it was asked: who asks again for an attempt hears the same outcome, and
// nothing is done twice. While an attempt is under way, asking again is a 503.
func Handler(b *Board, w Worker) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /tasks/{id}", func(rw http.ResponseWriter, req *http.Request) {
		var t Task
		if err := json.NewDecoder(http.MaxBytesReader(rw, req.Body, maxReply)).Decode(&t); err != nil || t.ID != req.PathValue("id") || t.ID == "" {
			http.Error(rw, "this is no task of that id", http.StatusBadRequest)
			return
		}
		out, code, err := b.serve(context.WithoutCancel(req.Context()), t, w)
		if err != nil {
			http.Error(rw, err.Error(), code)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(out) // who has gone asks again
	})
	return mux
}

// serve does an attempt at a task, or tells how it ended.
func (b *Board) serve(ctx context.Context, t Task, w Worker) (out Outcome, code int, err error) {
	// Each attempt is a task of its own here; the worker sees the one that was sent.
	mine := Task{ID: fmt.Sprintf("%d:%s", t.Attempt, t.ID), Thread: t.Thread, Type: t.Type, Source: t.Source, Target: t.Target, Timeout: t.Timeout}
	if _, err = b.Create(ctx, mine); err != nil && !errors.Is(err, ErrExists) {
		return out, codeOf(err), err
	}
	done, err := b.Run(ctx, mine.ID, WorkerFunc(func(ctx context.Context, _ Task) (Outcome, error) { return w.Do(ctx, t) }))
	if errors.Is(err, ErrTransition) { // it was done before, or is under way
		done, err = b.Get(ctx, mine.ID)
	}
	switch {
	case err != nil:
		return out, codeOf(err), err
	case done.Status == InProgress:
		return out, http.StatusServiceUnavailable, errors.New("the attempt is under way")
	case done.Status == Cancelled:
		return Outcome{Status: Failed, Reason: "cancelled by the worker's side: " + done.Reason}, 0, nil
	}
	return Outcome{Status: done.Status, Result: done.Result, Question: done.Question, Reason: done.Reason}, 0, nil
}

func codeOf(err error) int {
	if errors.Is(err, ErrTask) || errors.Is(err, document.ErrName) || errors.Is(err, document.ErrValue) || errors.Is(err, document.ErrTooLarge) {
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}
