package tasks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxReply is how large a reply of another program may be.
const maxReply = 4 << 20

// Remote is a Worker behind HTTP: a [Handler], or any program that answers
// POST {URL}/tasks/{id} with an [Outcome].
//
// A redirect is followed where it keeps the method: a 307 or 308. Any other that would turn a request into a
// GET is an ErrRemote.
//
// When its context ends before the other program has answered, nobody will take the outcome
// any more, and the other program is told: DELETE {URL}/tasks/{id}?attempt=n. One that does not
// know that is none the worse for it.
type Remote struct {
	URL    string
	Client *http.Client // nil means http.DefaultClient
	Header http.Header  // sent along, for instance Authorization
	// Retries is how often to ask again after a broken connection, a 5xx or a 429; 0 means
	// 3, and negative never. Anything else that is not a 200 is an ErrRemote at once. That the
	// work is under way is not counted for a task with a Timeout, which bounds it.
	Retries int
	// Pause waits before the nth retry; nil means 1, 2, 4… seconds.
	Pause func(ctx context.Context, n int) error
	// Farewell is how long telling the other program of the end may take; 0 means 5 seconds.
	Farewell time.Duration
}

// RemoteError is what another program refused, and how. It is an ErrRemote, and also an
// ErrNotFound, ErrTask, ErrStale or ErrTransition where a Handler said so.
type RemoteError struct {
	Status        int    // of HTTP; 0 when the request could not be made
	Code, Message string // of a Handler; else the beginning of the reply is the Message
}

func (e *RemoteError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%v: %s", ErrRemote, e.Message)
	}
	return fmt.Sprintf("%v: %d %s: %s", ErrRemote, e.Status, cmp.Or(e.Code, http.StatusText(e.Status)), e.Message)
}

// Is reports whether target is ErrRemote, or the error that the code stands for.
func (e *RemoteError) Is(target error) bool {
	if target == ErrRemote {
		return true
	}
	for _, k := range kinds {
		if k.code == e.Code && k.err == target {
			return true
		}
	}
	return false
}

// Do implements Worker. The other program is asked with the same id and attempt each time.
func (r Remote) Do(ctx context.Context, t Task) (out Outcome, err error) {
	body, err := json.Marshal(t)
	if err != nil {
		return out, fmt.Errorf("%w: %w", ErrTask, err)
	}
	for n := 1; ; n++ {
		err = r.ask(ctx, http.MethodPost, t.ID, nil, body, &out)
		if err == nil {
			return out, nil
		}
		if ctx.Err() == nil && r.again(t, n, err) {
			err = errors.Join(err, r.pause(ctx, n))
		} else if ctx.Err() == nil {
			return Outcome{}, err
		}
		if ctx.Err() != nil {
			return Outcome{}, errors.Join(err, r.leave(ctx, t))
		}
	}
}

// again reports whether a task may be asked for once more, the nth time.
func (r Remote) again(t Task, n int, err error) bool {
	var refused *RemoteError
	if errors.As(err, &refused) {
		if refused.Code == codeUnderWay && t.Timeout > 0 {
			return true
		}
		if refused.Status < 500 && refused.Status != http.StatusTooManyRequests {
			return false
		}
	} else if errors.Is(err, errReply) {
		return false
	}
	return n <= cmp.Or(r.Retries, 3)
}

// leave tells the other program that nobody waits for it any more.
func (r Remote) leave(ctx context.Context, t Task) error {
	why := context.Cause(ctx).Error()
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(r.Farewell, 5*time.Second))
	defer stop()
	if _, err := r.Cancel(ctx, t.ID, t.Attempt, why); err != nil && !errors.Is(err, ErrTransition) {
		return fmt.Errorf("tasks: telling the worker: %w", err)
	}
	return nil
}

// Get returns a task as the other program knows it: its newest attempt there.
func (r Remote) Get(ctx context.Context, id string) (t Task, err error) {
	err = r.ask(ctx, http.MethodGet, id, nil, nil, &t)
	return t, err
}

// Cancel ends an attempt at a task on the other side; its worker is told. attempt 0 is the
// newest. An attempt that the other side has not heard of yet will not begin there.
func (r Remote) Cancel(ctx context.Context, id string, attempt int, reason string) (t Task, err error) {
	q := url.Values{"reason": {reason}}
	if attempt != 0 {
		q.Set("attempt", strconv.Itoa(attempt))
	}
	err = r.ask(ctx, http.MethodDelete, id, q, nil, &t)
	return t, err
}

// errReply is the kind of a 200 that says nothing: to ask again would not help.
var errReply = errors.New("the reply is not what was asked for")

// ask makes one request, and reads the reply into the value that to points to.
func (r Remote) ask(ctx context.Context, method, id string, q url.Values, body []byte, to any) error {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(r.URL, "/")+"/tasks/"+escape(id), bytes.NewReader(body))
	if err != nil {
		return &RemoteError{Message: err.Error()}
	}
	req.URL.RawQuery = q.Encode()
	for name, v := range r.Header {
		req.Header[name] = v
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client().Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRemote, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrRemote, err)
	case resp.StatusCode != http.StatusOK:
		return refusal(resp.StatusCode, data)
	case len(data) > maxReply:
		return fmt.Errorf("%w: %w: it has more than %d bytes", ErrRemote, errReply, maxReply)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%w: %w: %w", ErrRemote, errReply, err)
	}
	if string(bytes.TrimSpace(data)) == "null" { // which would be done, and nothing came of it
		return fmt.Errorf("%w: %w: it is null", ErrRemote, errReply)
	}
	return nil
}

// client returns the client that asks: one that does what was asked elsewhere or not at all. A 301, 302 or 303
// would make of a task that is handed over one that is looked at; a 307 or 308 does not.
func (r Remote) client() *http.Client {
	c := *cmp.Or(r.Client, http.DefaultClient)
	then := c.CheckRedirect
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		switch {
		case req.Method != via[0].Method:
			return http.ErrUseLastResponse // which is no 200
		case then != nil:
			return then(req, via)
		case len(via) >= 10:
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
	return &c
}

// escape returns an id as one segment of a path, which no proxy takes for "here" or "above".
func escape(id string) string {
	if strings.Trim(id, ".") == "" {
		return strings.ReplaceAll(id, ".", "%2E")
	}
	return url.PathEscape(id)
}

// refusal returns the error of a reply that is not a 200.
func refusal(status int, data []byte) error {
	var said problem
	if json.Unmarshal(data, &said) == nil && said.Error.Code != "" {
		return &RemoteError{status, said.Error.Code, said.Error.Message}
	}
	return &RemoteError{Status: status, Message: fmt.Sprintf("%.200s", data)}
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
