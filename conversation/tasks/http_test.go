package tasks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/tasks"
)

// wire is an HTTP connection without a network: a request is served in a goroutine of its own,
// which goes on when the one that asked has gone.
type wire struct {
	http.Handler
	serving *sync.WaitGroup
}

func (w wire) RoundTrip(req *http.Request) (*http.Response, error) {
	rec, done := httptest.NewRecorder(), make(chan bool)
	w.serving.Go(func() { w.ServeHTTP(rec, req); close(done) })
	select {
	case <-done:
		return rec.Result(), nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// behind returns a worker behind HTTP. The test waits for all that it serves.
func behind(t *testing.T, b *tasks.Board, w tasks.Worker) tasks.Remote {
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	return tasks.Remote{URL: "http://worker", Client: &http.Client{Transport: wire{tasks.Handler(b, w), &serving}}, Pause: noPause}
}

// until is a worker that says when it has begun, works until its context ends, and says why that was.
func until(begun chan<- int, why chan<- error) tasks.Worker {
	return tasks.WorkerFunc(func(ctx context.Context, t tasks.Task) (tasks.Outcome, error) {
		begun <- t.Attempt
		<-ctx.Done()
		why <- context.Cause(ctx)
		return tasks.Outcome{}, ctx.Err()
	})
}

func TestCancelOverHTTPReachesTheWorker(t *testing.T) {
	begun, why := make(chan int), make(chan error, 1)
	theirs, b := tasks.NewBoard(&document.Map{}), tasks.NewBoard(&document.Map{})
	server := httptest.NewServer(tasks.Handler(theirs, until(begun, why)))
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	remote := tasks.Remote{URL: server.URL, Client: server.Client(), Pause: noPause}
	create(t, b, tasks.Task{ID: "t", Target: "poet"})
	ended := make(chan error)
	go func() { _, err := b.Run(t.Context(), "t", remote); ended <- err }()
	<-begun
	got, err := remote.Get(t.Context(), "t")
	if wantStatus(t, got, tasks.InProgress, ""); err != nil || got.Target != "poet" || got.Attempt != 1 {
		t.Errorf("rule: a task under way can be looked at over HTTP\n got: %+v, %v", got, err)
	}
	if _, err := b.Cancel(t.Context(), "t", "no longer needed"); err != nil {
		t.Fatal(err)
	}
	wantError(t, "who waited is told", <-ended, tasks.ErrTransition)
	if err := <-why; err == nil || !strings.Contains(err.Error(), "ended by somebody else") {
		t.Errorf("rule: the worker behind HTTP is told that its task was cancelled\n got: %v", err)
	}
	got, err = remote.Get(t.Context(), "t")
	if wantStatus(t, got, tasks.Cancelled, "ended by somebody else"); err != nil {
		t.Error(err)
	}
	again, err := remote.Cancel(t.Context(), "t", 1, "twice")
	if wantStatus(t, again, tasks.Cancelled, "ended by somebody else"); err != nil || strings.Contains(again.Reason, "twice") {
		t.Errorf("rule: to cancel twice is to cancel once\n got: %+v, %v", again, err)
	}
}

func TestTimeoutOverHTTPEndsTheWorkerOnBothSides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, why := make(chan int, 1), make(chan error, 1)
		b, theirs := tasks.NewBoard(&document.Map{}), tasks.NewBoard(&document.Map{})
		create(t, b, tasks.Task{ID: "t", Timeout: time.Minute})
		wantStatus(t, run(t, b, "t", behind(t, theirs, until(begun, why))), tasks.Failed, "timeout of 1m0s")
		if err := <-why; err == nil {
			t.Error("rule: the worker behind HTTP is stopped too")
		}
	})
}

func TestAPausedRemoteTaskIsLeftWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs := tasks.NewBoard(&document.Map{})
		r := behind(t, theirs, leaves(tasks.Outcome{}))
		r.Client.Transport = refusing{r.Client.Transport}
		r.Pause = nil // 1, 2, 4 seconds
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := r.Do(ctx, tasks.Task{ID: "t", Attempt: 3})
		wantError(t, "who asks in vain ends with the context", err, context.DeadlineExceeded)
		got, err := theirs.Get(t.Context(), "t")
		if wantStatus(t, got, tasks.Cancelled, "deadline exceeded"); err != nil || got.Attempt != 3 {
			t.Errorf("rule: what nobody waits for is withdrawn before it begins\n got: %+v, %v", got, err)
		}
		out, err := behind(t, theirs, leaves(tasks.Outcome{})).Do(t.Context(), tasks.Task{ID: "t", Attempt: 3})
		if err != nil || out.Status != tasks.Failed || !strings.Contains(out.Reason, "cancelled") {
			t.Errorf("rule: a request that comes after its cancel is not begun\n got: %+v, %v", out, err)
		}
	})
}

// refusing loses what is posted.
type refusing struct{ http.RoundTripper }

func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost {
		return nil, errors.New("no route")
	}
	return r.RoundTripper.RoundTrip(req)
}

func TestANewerAttemptEndsTheOlderOneBehindHTTP(t *testing.T) {
	begun, why := make(chan int), make(chan error, 2)
	theirs := tasks.NewBoard(&document.Map{})
	r := behind(t, theirs, until(begun, why))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { _, err := r.Do(t.Context(), tasks.Task{ID: "t", Attempt: 1}); ended <- err }()
	<-begun
	go func() { _, err := r.Do(ctx, tasks.Task{ID: "t", Attempt: 2}); ended <- err }()
	if n := <-begun; n != 2 || <-why == nil {
		t.Errorf("rule: the worker of the older attempt is told\n got: attempt %d", n)
	}
	wantError(t, "who asked for the older one hears of it", <-ended, tasks.ErrStale)
	_, err := r.Do(t.Context(), tasks.Task{ID: "t", Attempt: 1})
	wantError(t, "an older attempt is not begun again", err, tasks.ErrStale)
	_, err = r.Cancel(t.Context(), "t", 1, "late")
	wantError(t, "to cancel an older attempt leaves the newer", err, tasks.ErrStale)
	if got, _ := r.Get(t.Context(), "t"); got.Status != tasks.InProgress || got.Attempt != 2 {
		t.Errorf("rule: the newer attempt goes on\n got: %+v", got)
	}
	cancel()
	wantError(t, "who leaves hears of the context", <-ended, context.Canceled)
	<-why
}

// A worker whose process died never answers; its task must not be under way for ever.
func TestARestartedHandlerEndsWhatItsDeadProcessBegan(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var docs document.Map
	board := func() *tasks.Board {
		b := tasks.NewBoard(&docs)
		b.Now = func() time.Time { return now }
		return b
	}
	lost, hung, hang := make(chan bool), make(chan bool), make(chan bool)
	task := tasks.Task{ID: "t", Attempt: 1, Timeout: time.Minute}
	go func() { // the process that dies
		behind(t, board(), tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) {
			close(hung)
			<-hang
			return tasks.Outcome{Result: json.RawMessage(`"late"`)}, nil
		})).Do(t.Context(), task)
		close(lost)
	}()
	<-hung
	r := behind(t, board(), leaves(tasks.Outcome{}))
	r.Pause = func(context.Context, int) error { now = now.Add(25 * time.Second); return nil }
	out, err := r.Do(t.Context(), task)
	if err != nil || out.Status != tasks.Failed || !strings.Contains(out.Reason, "deadline") {
		t.Errorf("rule: at its deadline the work of a dead process has failed\n got: %+v, %v", out, err)
	}
	task.Timeout = 0 // without a timeout it is not asked for more often than Retries
	task.Attempt++
	if out, err := r.Do(t.Context(), task); err != nil || out.Status != tasks.Completed {
		t.Errorf("rule: the next attempt begins\n got: %+v, %v", out, err)
	}
	close(hang)
	<-lost
	if got, _ := board().Get(t.Context(), "t"); got.Status != tasks.Completed || got.Result != nil {
		t.Errorf("rule: what comes late changes nothing\n got: %+v", got)
	}
}

func TestCancelInAnotherProcessReachesTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var docs document.Map
		b, other := tasks.NewBoard(&docs), tasks.NewBoard(&docs)
		begun, why := make(chan int, 1), make(chan error, 1)
		for id, end := range map[string]func() error{
			"cancelled": func() error { _, err := other.Cancel(t.Context(), "cancelled", ""); return err },
			"deleted":   func() error { return other.Delete(t.Context(), "deleted") },
		} {
			create(t, b, tasks.Task{ID: id})
			ended := make(chan error)
			go func() { _, err := b.Run(t.Context(), id, until(begun, why)); ended <- err }()
			<-begun
			if err := end(); err != nil {
				t.Fatal(err)
			}
			at := time.Now()
			if err := <-why; time.Since(at) > 2*time.Second || !strings.Contains(err.Error(), "ended by somebody else") {
				t.Errorf("rule: a worker is told within 2 seconds what another process did to its task\n got: %v, %v", err, time.Since(at))
			}
			if err := <-ended; !errors.Is(err, tasks.ErrTransition) && !errors.Is(err, tasks.ErrNotFound) {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}

func TestWhatCannotBeStoredIsAFailureWithTheReason(t *testing.T) {
	b := tasks.NewBoard(&document.Map{})
	for reason, out := range map[string]tasks.Outcome{
		"the limit is 4194304": {Result: fmt.Appendf(nil, "%q", strings.Repeat("x", 5<<20))},
		"nested":               {Result: []byte(strings.Repeat("[", 200) + strings.Repeat("]", 200))},
		"kept: ":               {Status: tasks.Waiting, Question: fmt.Appendf(nil, "%q", strings.Repeat("x", 5<<20))},
	} {
		create(t, b, tasks.Task{ID: reason})
		wantStatus(t, run(t, b, reason, leaves(out)), tasks.Failed, reason)
	}
}

func TestAnyIDPassesThroughHTTP(t *testing.T) {
	b := tasks.NewBoard(&document.Map{})
	server := httptest.NewServer(tasks.Handler(tasks.NewBoard(&document.Map{}), leaves(tasks.Outcome{})))
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	r := tasks.Remote{URL: server.URL, Client: server.Client(), Pause: noPause}
	for _, id := range []string{".", "..", "...", "/", "a//b", "../x", "?a=b", "#", "%2F", "%", " ", "\n", "ä\u2028", "..;", "a+b", strings.Repeat("é", 512)} {
		create(t, b, tasks.Task{ID: id})
		wantStatus(t, run(t, b, id, r), tasks.Completed, "")
		if got, err := r.Get(t.Context(), id); err != nil || got.ID != id {
			t.Errorf("rule: a task is found by its id\n got: %q, %v\nwant: %q", got.ID, err, id)
		}
	}
}

// hostile are requests that a handler refuses, with the code of each.
var hostile = []struct {
	method, path, body string
	status             int
	code               string
}{
	{"POST", "/tasks/a", `{"id":"b"}`, 400, "bad_task"},
	{"POST", "/tasks/a", `{`, 400, "bad_task"},
	{"POST", "/tasks/a", ``, 400, "bad_task"},
	{"POST", "/tasks/a", `null`, 400, "bad_task"},
	{"POST", "/tasks/a", `[]`, 400, "bad_task"},
	{"POST", "/tasks/a", `{"id":7}`, 400, "bad_task"},
	{"POST", "/tasks/a", `{"id":"a"}{"id":"a"}`, 400, "bad_task"},
	{"POST", "/tasks/a", `{"id":"a"}]`, 400, "bad_task"},
	{"POST", "/tasks/a", `{"id":"a","timeout":-1,"attempt":2}`, 400, "bad_task"},
	{"POST", "/tasks/a", `{"id":"a","attempt":-1}`, 400, "bad_task"},
	{"POST", "/tasks/a", `{"id":"a","attempt":99999999999999999999}`, 400, "bad_task"},
	{"POST", "/tasks/a", `{"id":"a","input":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, 400, "bad_task"},
	{"POST", "/tasks/a", `{"id":"a","input":"` + strings.Repeat("x", 5<<20) + `"}`, 413, "too_large"},
	{"POST", "/tasks/a", strings.Repeat(" ", 5<<20), 413, "too_large"},
	{"POST", "/tasks/%00", `{"id":"\u0000"}`, 400, "bad_task"},
	{"POST", "/tasks/" + strings.Repeat("x", 1100), `{"id":"` + strings.Repeat("x", 1100) + `"}`, 400, "bad_task"},
	{"POST", "/", `{"id":"a"}`, 404, "no_such_path"},
	{"POST", "/tasks/", `{"id":""}`, 404, "no_such_path"},
	{"POST", "/tasks/a/b", `{"id":"a"}`, 404, "no_such_path"},
	{"POST", "//tasks/a", `{"id":"a"}`, 404, "no_such_path"},
	{"POST", "/x/../tasks/a", `{"id":"a"}`, 404, "no_such_path"},
	{"GET", "/tasks/unknown", ``, 404, "not_found"},
	{"GET", "/tasks/" + strings.Repeat("x", 1100), ``, 400, "bad_task"},
	{"DELETE", "/tasks/unknown", ``, 404, "not_found"},
	{"DELETE", "/tasks/done", ``, 409, "transition"},
	{"DELETE", "/tasks/done?attempt=2", ``, 409, "transition"},
	{"DELETE", "/tasks/done?attempt=1", ``, 409, "stale"},
	{"DELETE", "/tasks/done?attempt=0", ``, 400, "bad_task"},
	{"DELETE", "/tasks/done?attempt=-1", ``, 400, "bad_task"},
	{"DELETE", "/tasks/done?attempt=x", ``, 400, "bad_task"},
	{"DELETE", "/tasks/done?attempt=1;reason=late", ``, 400, "bad_task"}, // it must not be taken for one of the newest
	{"DELETE", "/tasks/done?attempt=1%", ``, 400, "bad_task"},
	{"DELETE", "/tasks/done?attempt=1&attempt=2", ``, 400, "bad_task"},
	{"POST", "/tasks/done", `{"id":"done","attempt":1}`, 409, "stale"},
	{"POST", "/tasks/working", `{"id":"working","attempt":1}`, 503, "under_way"},
	{"PUT", "/tasks/a", `{"id":"a"}`, 405, "method_not_allowed"},
	{"PATCH", "/tasks/a", ``, 405, "method_not_allowed"},
	{"OPTIONS", "/tasks/a", ``, 405, "method_not_allowed"},
	{"BREW", "/tasks/a", ``, 405, "method_not_allowed"},
}

func TestHostileRequestsGetTypedErrors(t *testing.T) {
	var logged bytes.Buffer
	b := tasks.NewBoard(&document.Map{})
	b.Log = slog.New(slog.NewTextHandler(&logged, nil))
	h := tasks.Handler(b, leaves(tasks.Outcome{}))
	hung, hang := make(chan bool), make(chan bool)
	var serving sync.WaitGroup
	serving.Go(func() {
		tasks.Handler(b, tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) {
			close(hung)
			<-hang
			return tasks.Outcome{}, nil
		})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/tasks/working", strings.NewReader(`{"id":"working","attempt":1}`)))
	})
	<-hung
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/tasks/done", strings.NewReader(`{"id":"done","attempt":2}`)))
	for _, c := range hostile {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		var p struct {
			Error struct{ Code, Message string }
		}
		d := json.NewDecoder(rec.Body)
		d.DisallowUnknownFields()
		err := d.Decode(&p)
		if rec.Code != c.status || err != nil || p.Error.Code != c.code || p.Error.Message == "" || len(p.Error.Message) > 1000 || rec.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s %.40s %.60s\n got: %d %q %.200q, %v\nwant: %d %q as JSON", c.method, c.path, c.body, rec.Code, p.Error.Code, p.Error.Message, err, c.status, c.code)
		}
		if allow := rec.Header().Get("Allow"); (c.status == 405) != (allow == "DELETE, GET, POST") {
			t.Errorf("%s: got Allow %q", c.method, allow)
		}
	}
	if list, _ := b.List(t.Context(), tasks.Query{}); len(list) != 2 {
		t.Errorf("rule: what is refused leaves nothing\n got: %+v", list)
	}
	if logged.Len() > 0 {
		t.Errorf("rule: what others do wrong is no failure here\n got: %s", &logged)
	}
	close(hang)
	serving.Wait()
}

// down is a store that fails with what nobody outside should read.
type down struct{ document.Store }

func (down) Get(context.Context, document.Place, string) (document.Doc, error) {
	return document.Doc{}, fmt.Errorf("%w: dial db.internal as weft:hunter2", checkpoint.ErrUnavailable)
}

func TestAFailureOfTheStoreIsLoggedAndNotReported(t *testing.T) {
	var logged bytes.Buffer
	b := tasks.NewBoard(down{&document.Map{}})
	b.Log = slog.New(slog.NewTextHandler(&logged, nil))
	r := behind(t, b, leaves(tasks.Outcome{}))
	_, err := r.Do(t.Context(), tasks.Task{ID: "t", Attempt: 1})
	var refused *tasks.RemoteError
	if !errors.As(err, &refused) || refused.Status != 500 || refused.Code != "internal" || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("rule: who asks hears that the board failed, not how\n got: %v", err)
	}
	if !strings.Contains(logged.String(), "hunter2") || !strings.Contains(logged.String(), "path=/tasks/t") {
		t.Errorf("rule: the log says how it failed\n got: %s", &logged)
	}
}

// A POST that comes back as a GET would show the task as it is known there, and take that for its outcome.
func TestATaskIsHandedOverWhereItIsRedirectedToOrNotAtAll(t *testing.T) {
	for status, follows := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		theirs := tasks.NewBoard(&document.Map{})
		var asked []string
		mux := http.NewServeMux()
		mux.Handle("/new/", http.StripPrefix("/new", tasks.Handler(theirs, leaves(tasks.Outcome{Result: json.RawMessage(`"done"`)}))))
		mux.HandleFunc("/tasks/", func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Method)
			http.Redirect(w, r, "/new"+r.URL.RequestURI(), status)
		})
		create(t, theirs, tasks.Task{ID: "done"})
		run(t, theirs, "done", leaves(tasks.Outcome{Result: json.RawMessage(`"of old"`)}))
		var serving sync.WaitGroup
		r := tasks.Remote{URL: "http://worker", Client: &http.Client{Transport: wire{mux, &serving}}, Pause: noPause}
		out, err := r.Do(t.Context(), tasks.Task{ID: "fresh", Attempt: 1})
		var refused *tasks.RemoteError
		switch {
		case follows && (err != nil || string(out.Result) != `"done"`):
			t.Errorf("rule: a %d is followed with the same request\n got: %+v, %v", status, out, err)
		case !follows && (!errors.As(err, &refused) || refused.Status != status || len(asked) != 1):
			t.Errorf("rule: a %d is refused at once\n got: %+v, %v after %q", status, out, err, asked)
		}
		if old, err := r.Get(t.Context(), "done"); err != nil || old.Status != tasks.Completed {
			t.Errorf("rule: to look at a task any redirect will do\n got: %+v, %v", old, err)
		}
		_, err = r.Cancel(t.Context(), "done", 0, "")
		if want := map[bool]error{true: tasks.ErrTransition, false: tasks.ErrRemote}[follows]; !errors.Is(err, want) {
			t.Errorf("rule: a task is not shown to who withdraws it\n got: %v, want %v", err, want)
		}
		serving.Wait()
	}
}

func TestARedirectIsFollowedNoFurtherThanTheClientLikes(t *testing.T) {
	var serving sync.WaitGroup
	elsewhere := http.RedirectHandler("http://elsewhere/tasks/t", http.StatusTemporaryRedirect)
	r := tasks.Remote{URL: "http://worker", Client: &http.Client{Transport: wire{elsewhere, &serving}}, Pause: noPause, Retries: -1}
	_, err := r.Do(t.Context(), tasks.Task{ID: "t", Attempt: 1})
	wantError(t, "redirects without an end are an error", err, tasks.ErrRemote)
	no := errors.New("nowhere else")
	r.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return no }
	_, err = r.Do(t.Context(), tasks.Task{ID: "t", Attempt: 1})
	wantError(t, "the client's own rule holds", err, no)
	serving.Wait()
}
