package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/weftrun/weft/checkpoint/document"
)

// Handler answers the requests of Remote with a worker and a board of its own, on which it
// remembers what it was asked. Where one task of an id is asked for, with attempts that count up:
//
//	POST   /tasks/{id}                     a Task: does the attempt, and answers with its Outcome
//	GET    /tasks/{id}                     the Task as it is here
//	DELETE /tasks/{id}?attempt=n&reason=…  ends the attempt, or without attempt the newest, and answers with the Task
//
// Who asks again for an attempt hears the same outcome, and nothing is done twice; while the
// attempt is under way, that is a 503 with the code under_way. A newer attempt ends an older one
// and takes its place. A worker goes on when who asked has gone, until it is told: by a DELETE, a
// newer attempt, or its timeout.
//
// What is refused has a JSON body {"error": {"code": …, "message": …}} with one of these codes:
//
//	bad_task            400  the body is no task of that id, or its values cannot be kept
//	not_found           404  there is no task of that id
//	no_such_path        404  it is not /tasks/{id}
//	method_not_allowed  405
//	transition          409  the task has ended
//	stale               409  a newer attempt was asked for
//	too_large           413  the body has more than 4 MiB
//	under_way           503
//	internal            500  the board failed; what went wrong goes to Board.Log
//
// It asks for no credentials: put it behind a handler that does.
func Handler(b *Board, w Worker) http.Handler {
	h := handler{b, w}
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		reply, err := h.serve(rw, req)
		if err != nil {
			h.refuse(rw, req, err)
			return
		}
		write(rw, http.StatusOK, reply)
	})
}

type handler struct {
	board  *Board
	worker Worker
}

var (
	errPath     = errors.New("tasks: the path is not /tasks/{id}")
	errMethod   = errors.New("tasks: a task has POST, GET and DELETE")
	errUnderWay = errors.New("tasks: the attempt is under way")
)

const codeUnderWay = "under_way"

// kinds are the errors that have a code, the first that fits first.
var kinds = []struct {
	err    error
	code   string
	status int
}{
	{errPath, "no_such_path", http.StatusNotFound},
	{errMethod, "method_not_allowed", http.StatusMethodNotAllowed},
	{errUnderWay, codeUnderWay, http.StatusServiceUnavailable},
	{ErrNotFound, "not_found", http.StatusNotFound},
	{ErrStale, "stale", http.StatusConflict},
	{ErrTransition, "transition", http.StatusConflict},
	{document.ErrTooLarge, "too_large", http.StatusRequestEntityTooLarge},
	{ErrTask, "bad_task", http.StatusBadRequest},
	{document.ErrName, "bad_task", http.StatusBadRequest},
	{document.ErrValue, "bad_task", http.StatusBadRequest},
}

// problem is the body of a refusal.
type problem struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (h handler) refuse(rw http.ResponseWriter, req *http.Request, err error) {
	var p problem
	status := http.StatusInternalServerError
	p.Error.Code, p.Error.Message = "internal", "tasks: the board failed"
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			p.Error.Code, p.Error.Message, status = k.code, err.Error(), k.status
			break
		}
	}
	switch status {
	case http.StatusInternalServerError:
		h.board.log().ErrorContext(req.Context(), "tasks: a request failed", "method", req.Method, "path", req.URL.Path, "error", err)
	case http.StatusMethodNotAllowed:
		rw.Header().Set("Allow", "DELETE, GET, POST")
	case http.StatusServiceUnavailable:
		rw.Header().Set("Retry-After", "1")
	}
	write(rw, status, p)
}

func write(rw http.ResponseWriter, status int, v any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(v) // who has gone asks again
}

// serve answers a request for a task.
func (h handler) serve(rw http.ResponseWriter, req *http.Request) (any, error) {
	ctx := context.WithoutCancel(req.Context())
	id, err := idOf(req.URL)
	if err != nil {
		return nil, err
	}
	switch req.Method {
	case http.MethodPost:
		t, err := taskOf(rw, req, id)
		if err != nil {
			return nil, err
		}
		return h.board.attempt(ctx, t, h.worker)
	case http.MethodGet:
		return h.board.Get(ctx, id)
	case http.MethodDelete:
		n, reason, err := withdrawal(req.URL.RawQuery)
		if err != nil {
			return nil, fmt.Errorf("%w: %.200q: %w", ErrTask, id, err)
		}
		return h.board.withdraw(ctx, id, n, reason)
	}
	return nil, errMethod
}

// idOf returns the id in a path. It is one segment, escaped as Remote does; nothing is redirected.
func idOf(u *url.URL) (string, error) {
	segment, ok := strings.CutPrefix(u.EscapedPath(), "/tasks/")
	if !ok || segment == "" || strings.Contains(segment, "/") {
		return "", errPath
	}
	return url.PathUnescape(segment)
}

// taskOf reads the task that a request is about.
func taskOf(rw http.ResponseWriter, req *http.Request, id string) (t Task, err error) {
	d := json.NewDecoder(http.MaxBytesReader(rw, req.Body, maxReply))
	if err = d.Decode(&t); err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.Join(errors.New("there is more after the task"), more)
		}
	}
	if err == nil && t.ID != id {
		err = fmt.Errorf("the task in the body has the id %.200q", t.ID)
	}
	if err == nil && t.Attempt < 0 {
		err = fmt.Errorf("the attempt is %d", t.Attempt)
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		err = fmt.Errorf("%w: the body has more than %d bytes", document.ErrTooLarge, large.Limit)
	}
	if err != nil {
		err = fmt.Errorf("%w: %.200q: %w", ErrTask, id, err)
	}
	return t, err
}

// withdrawal reads the query of a DELETE. Attempt 0 is the newest: what cannot be read must not be taken for it.
func withdrawal(query string) (attempt int, reason string, err error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return 0, "", fmt.Errorf("the query cannot be read: %w", err)
	}
	switch texts := q["attempt"]; {
	case len(texts) > 1:
		return 0, "", fmt.Errorf("the query names %d attempts", len(texts))
	case len(texts) == 1 && texts[0] != "":
		if attempt, err = strconv.Atoi(texts[0]); err != nil || attempt < 1 {
			return 0, "", fmt.Errorf("the attempt %.100q is no number from 1 on", texts[0])
		}
	}
	return attempt, q.Get("reason"), nil
}

func (b *Board) log() *slog.Logger {
	if b.Log != nil {
		return b.Log
	}
	return slog.Default()
}
