package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/conversation/tasks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var all = []tasks.Status{tasks.Pending, tasks.InProgress, tasks.Waiting, tasks.Review, tasks.Completed, tasks.Failed, tasks.Cancelled}

func create(t *testing.T, b *tasks.Board, task tasks.Task) tasks.Task {
	t.Helper()
	got, err := b.Create(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// returns makes a worker that returns an outcome.
func returns(out tasks.Outcome) tasks.Worker {
	return tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) { return out, nil })
}

func run(t *testing.T, b *tasks.Board, id string, w tasks.Worker) tasks.Task {
	t.Helper()
	got, err := b.Run(t.Context(), id, w)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantStatus(t *testing.T, got tasks.Task, want tasks.Status, reason string) {
	t.Helper()
	if got.Status != want || !strings.Contains(got.Reason, reason) {
		t.Errorf("got %s, %q; want %s, %q", got.Status, got.Reason, want, reason)
	}
}

func wantError(t *testing.T, rule string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("rule: %s\n got: %v\nwant: %v", rule, err, kind)
	}
}

// createIn creates a task and brings it to a status. For InProgress it leaves the task pending: the
// caller runs a worker.
func createIn(t *testing.T, b *tasks.Board, id string, s tasks.Status) {
	t.Helper()
	create(t, b, tasks.Task{ID: id})
	switch s {
	case tasks.Pending, tasks.InProgress:
	case tasks.Cancelled:
		if _, err := b.Cancel(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
	default:
		run(t, b, id, returns(tasks.Outcome{Status: s}))
	}
}

// TestBoard_RejectsIllegalTransitions calls Run, Resume, Cancel and Complete on a task of each
// status.
func TestBoard_RejectsIllegalTransitions(t *testing.T) {
	ctx := t.Context()
	calls := map[string]func(b *tasks.Board, id string) error{
		"run": func(b *tasks.Board, id string) error { _, err := b.Run(ctx, id, returns(tasks.Outcome{})); return err },
		"resume": func(b *tasks.Board, id string) error {
			_, err := b.Resume(ctx, id, json.RawMessage(`1`), returns(tasks.Outcome{}))
			return err
		},
		"cancel":   func(b *tasks.Board, id string) error { _, err := b.Cancel(ctx, id, "why"); return err },
		"complete": func(b *tasks.Board, id string) error { _, err := b.Complete(ctx, id, json.RawMessage(`1`)); return err },
	}
	allowed := map[tasks.Status]string{tasks.Pending: "run cancel", tasks.InProgress: "cancel", tasks.Waiting: "resume cancel complete", tasks.Review: "resume cancel complete"}
	for call, do := range calls {
		for _, from := range all {
			b, id := tasks.NewBoard(&document.Map{}), call+" "+string(from)
			createIn(t, b, id, from)
			tried := false
			try := func() {
				tried = true
				before, _ := b.Get(ctx, id)
				err := do(b, id)
				if slices.Contains(strings.Fields(allowed[from]), call) {
					if err != nil {
						t.Errorf("rule: %s is allowed in the status %s\n got: %v", call, from, err)
					}
					return
				}
				var te *tasks.TransitionError
				if !errors.As(err, &te) || te.From != from || te.ID != id {
					t.Errorf("rule: %s in the status %s returns a *TransitionError with the id and the status\n got: %v", call, from, err)
				}
				if after, _ := b.Get(ctx, id); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Errorf("rule: a rejected call changes nothing\n got: %+v\nwant: %+v", after, before)
				}
			}
			if from != tasks.InProgress {
				try()
				continue
			}
			_, _ = b.Run(ctx, id, tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) { try(); return tasks.Outcome{}, nil }))
			if !tried {
				t.Errorf("rule: Run calls the worker of %s", id)
			}
		}
	}
}

func TestStatus_May(t *testing.T) {
	may := map[tasks.Status]string{
		tasks.Pending: "in_progress failed cancelled", tasks.InProgress: "waiting review completed failed cancelled",
		tasks.Waiting: "in_progress completed failed cancelled", tasks.Review: "in_progress completed failed cancelled",
	}
	for _, from := range all {
		for _, to := range all {
			if want := slices.Contains(strings.Fields(may[from]), string(to)); from.May(to) != want {
				t.Errorf("from %s to %s: got %v, want %v", from, to, from.May(to), want)
			}
		}
		if from.Ended() != (may[from] == "") {
			t.Errorf("rule: a final status allows no change\n got: %s", from)
		}
	}
}

func TestResume_AfterReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	open := func() (*tasks.Board, *sqlite.Store) {
		s, err := sqlite.OpenConfig(t.Context(), path, sqlite.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		docs, err := s.Documents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return tasks.NewBoard(docs), s
	}
	b, first := open()
	create(t, b, tasks.Task{ID: "t-1", Thread: "thread", Target: "poet", Input: json.RawMessage(`{"about":"rain"}`), Tags: []string{"art"}})
	got := run(t, b, "t-1", returns(tasks.Outcome{Status: tasks.Waiting, Question: json.RawMessage(`"rhyme?"`)}))
	if wantStatus(t, got, tasks.Waiting, ""); string(got.Question) != `"rhyme?"` {
		t.Errorf("rule: a waiting task has a question\n got: %s", got.Question)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	b, _ = open()
	got, err := b.Resume(t.Context(), "t-1", json.RawMessage(`true`), tasks.WorkerFunc(func(_ context.Context, task tasks.Task) (tasks.Outcome, error) {
		return tasks.Outcome{Result: fmt.Appendf(nil, `{"input":%s,"answer":%s,"attempt":%d}`, task.Input, task.Answer, task.Attempt)}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, got, tasks.Completed, "")
	if stored, err := b.Get(t.Context(), "t-1"); err != nil || string(stored.Result) != `{"input":{"about":"rain"},"answer":true,"attempt":2}` || stored.Ended.IsZero() || stored.Started.After(stored.Ended) {
		t.Errorf("rule: Resume runs the task again, with the answer\n got: %+v, %v", stored, err)
	}
}

func TestBoard_RejectsInvalidCalls(t *testing.T) {
	b, ctx := tasks.NewBoard(&document.Map{}), t.Context()
	for _, bad := range []tasks.Task{{}, {ID: "x", Timeout: -1}, {ID: "x", Status: tasks.Completed}, {ID: "x", Attempt: 1}, {ID: "x", Result: json.RawMessage(`1`)}, {ID: "x", Input: json.RawMessage(`{`)},
		{ID: "x", Created: time.Unix(1, 0)}, {ID: "x", Updated: time.Unix(1, 0)}, {ID: "x", Started: time.Unix(1, 0)}, {ID: "x", Ended: time.Unix(1, 0)}, {ID: "x", Deadline: time.Unix(1, 0)}} {
		_, err := b.Create(ctx, bad)
		wantError(t, fmt.Sprintf("%+v is invalid", bad), err, tasks.ErrTask)
	}
	create(t, b, tasks.Task{ID: "x"})
	_, err := b.Create(ctx, tasks.Task{ID: "x"})
	wantError(t, "a second Create of an id is rejected", err, tasks.ErrExists)
	_, err = b.Get(ctx, "y")
	wantError(t, "Get of an unknown id", err, tasks.ErrNotFound)
	wantError(t, "Delete of an unknown id", b.Delete(ctx, "y"), tasks.ErrNotFound)
	_, err = b.Run(ctx, "y", returns(tasks.Outcome{}))
	wantError(t, "Run of an unknown id", err, tasks.ErrNotFound)
	_, err = b.Resume(ctx, "x", json.RawMessage(`{`), returns(tasks.Outcome{}))
	wantError(t, "an answer must be JSON", err, tasks.ErrTask)
	if err := b.Delete(ctx, "x"); err != nil {
		t.Error(err)
	}
	_, err = b.Get(ctx, "x")
	wantError(t, "Get of a deleted task", err, tasks.ErrNotFound)
}

func TestList_NewestFirst(t *testing.T) {
	now := time.Unix(0, 0)
	b := tasks.NewBoard(&document.Map{})
	b.Now = func() time.Time { now = now.Add(time.Second); return now }
	for i := range 6 {
		create(t, b, tasks.Task{ID: fmt.Sprint(i), Thread: fmt.Sprint("t", i%2), Target: fmt.Sprint("a", i%3), Source: "s"})
	}
	run(t, b, "2", returns(tasks.Outcome{}))
	for _, c := range []struct {
		q    tasks.Query
		want string
	}{
		{tasks.Query{}, "5 4 3 2 1 0"}, {tasks.Query{Thread: "t0"}, "4 2 0"}, {tasks.Query{Target: "a1"}, "4 1"}, {tasks.Query{Thread: "t0", Target: "a2", Source: "s"}, "2"},
		{tasks.Query{Status: []tasks.Status{tasks.Completed, tasks.Failed}}, "2"}, {tasks.Query{Skip: 1, Limit: new(2)}, "4 3"}, {tasks.Query{Limit: new(0)}, ""}, {tasks.Query{Source: "x"}, ""},
	} {
		list, err := b.List(t.Context(), c.q)
		var ids []string
		for _, task := range list {
			ids = append(ids, task.ID)
		}
		if got := strings.Join(ids, " "); got != c.want || err != nil {
			t.Errorf("%+v: got %q, %v; want %q", c.q, got, err, c.want)
		}
	}
}

func TestRun_FailingWorkers(t *testing.T) {
	b := tasks.NewBoard(&document.Map{})
	for reason, w := range map[string]tasks.Worker{
		"no ink":             tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) { return tasks.Outcome{}, errors.New("no ink") }),
		"panicked: oh":       tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) { panic("oh") }),
		"runtime.Goexit":     tasks.WorkerFunc(func(context.Context, tasks.Task) (o tasks.Outcome, err error) { runtime.Goexit(); return }),
		"out of ink":         returns(tasks.Outcome{Status: tasks.Failed, Reason: "out of ink"}),
		`the status "pend`:   returns(tasks.Outcome{Status: tasks.Pending}),
		`"cancelled"`:        returns(tasks.Outcome{Status: tasks.Cancelled}),
		"result is not JSON": returns(tasks.Outcome{Result: json.RawMessage(`{`)}),
		"question is not":    returns(tasks.Outcome{Status: tasks.Waiting, Question: json.RawMessage(`{`)}),
	} {
		create(t, b, tasks.Task{ID: reason})
		wantStatus(t, run(t, b, reason, w), tasks.Failed, reason)
	}
}

// waits is a worker that waits for the end of its context.
var waits = tasks.WorkerFunc(func(ctx context.Context, _ tasks.Task) (tasks.Outcome, error) {
	<-ctx.Done()
	return tasks.Outcome{}, ctx.Err()
})

func TestRun_TimeoutCancelAndContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := tasks.NewBoard(&document.Map{})
		b.Watch = -1 // no watch, so Cancel itself must end the context of the worker
		create(t, b, tasks.Task{ID: "slow", Timeout: time.Minute})
		begin := time.Now()
		wantStatus(t, run(t, b, "slow", waits), tasks.Failed, "timeout of 1m0s")
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("rule: a worker runs until its timeout has passed\n got: %v", took)
		}
		create(t, b, tasks.Task{ID: "cancelled"})
		ended := make(chan error)
		go func() { _, err := b.Run(t.Context(), "cancelled", waits); ended <- err }()
		synctest.Wait()
		got, err := b.Cancel(t.Context(), "cancelled", "no longer needed")
		if wantStatus(t, got, tasks.Cancelled, "no longer needed"); err != nil {
			t.Error(err)
		}
		wantError(t, "the worker of a cancelled task cannot change the task", <-ended, tasks.ErrTransition)
		got, _ = b.Get(t.Context(), "cancelled")
		wantStatus(t, got, tasks.Cancelled, "no longer needed")
		create(t, b, tasks.Task{ID: "caller gone"})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, err := b.Run(ctx, "caller gone", waits); ended <- err }()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		got, _ = b.Get(t.Context(), "caller gone")
		wantStatus(t, got, tasks.Failed, "context canceled")
	})
}

func TestExpire_HungWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var docs document.Map
		hung, b := tasks.NewBoard(&docs), tasks.NewBoard(&docs)
		for id, timeout := range map[string]time.Duration{"short": time.Minute, "long": time.Hour, "endless": 0} {
			create(t, b, tasks.Task{ID: id, Timeout: timeout})
		}
		release := make(chan struct{})
		ended := make(chan error, 3)
		for _, id := range []string{"short", "long", "endless"} {
			go func() {
				_, err := hung.Run(t.Context(), id, tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) {
					<-release // it ignores its context, like a worker that hangs
					return tasks.Outcome{Result: json.RawMessage(`"late"`)}, nil
				}))
				ended <- err
			}()
		}
		synctest.Wait()
		if list, err := b.Expire(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("rule: before a deadline nothing expires\n got: %v, %v", list, err)
		}
		time.Sleep(time.Minute)
		list, err := b.Expire(t.Context())
		if err != nil || len(list) != 1 || list[0].ID != "short" {
			t.Errorf("rule: a task fails at its deadline\n got: %v, %v", list, err)
		}
		if again, err := b.Expire(t.Context()); err != nil || len(again) != 0 {
			t.Errorf("rule: a task expires once\n got: %v, %v", again, err)
		}
		close(release)
		refused := 0
		for range 3 {
			if errors.Is(<-ended, tasks.ErrTransition) {
				refused++
			}
		}
		got, _ := b.Get(t.Context(), "short")
		if wantStatus(t, got, tasks.Failed, "deadline"); refused != 1 || got.Result != nil {
			t.Errorf("rule: a late result changes nothing\n got: %d refused, %+v", refused, got)
		}
	})
}

func TestRun_ConcurrentWorkers(t *testing.T) {
	var docs document.Map
	b := tasks.NewBoard(&docs)
	create(t, b, tasks.Task{ID: "one"})
	var done atomic.Int64
	errs := make(chan error)
	for range 8 {
		go func() {
			_, err := tasks.NewBoard(&docs).Run(t.Context(), "one", tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) {
				done.Add(1)
				return tasks.Outcome{}, nil
			}))
			errs <- err
		}()
	}
	refused := 0
	for range 8 {
		if err := <-errs; errors.Is(err, tasks.ErrTransition) {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if done.Load() != 1 || refused != 7 {
		t.Errorf("rule: one worker runs a task\n got: %d runs, %d refused", done.Load(), refused)
	}
}

func TestBoard_TextThatIsNotUTF8(t *testing.T) {
	b := tasks.NewBoard(&document.Map{})
	for _, bad := range []tasks.Task{{ID: "a", Source: "caf\xe9"}, {ID: "a", Tags: []string{"caf\xe9"}}, {ID: "a", Input: json.RawMessage("\"caf\xe9\"")}} {
		if _, err := b.Create(t.Context(), bad); !errors.Is(err, tasks.ErrTask) {
			t.Errorf("got %v, want %v", err, tasks.ErrTask)
		}
	}
	if _, err := b.Create(t.Context(), tasks.Task{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, run(t, b, "a", returns(tasks.Outcome{Result: json.RawMessage("\"caf\xe9\"")})), tasks.Failed, "not JSON in UTF-8")
	if _, err := b.Create(t.Context(), tasks.Task{ID: "b"}); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, run(t, b, "b", returns(tasks.Outcome{Status: tasks.Failed, Reason: "no caf\xe9"})), tasks.Failed, "no caf\uFFFD")
}

func TestCreate_StoresEveryField(t *testing.T) {
	docs := new(document.Map)
	b, other := tasks.NewBoard(docs), tasks.NewBoard(docs)
	created := create(t, b, tasks.Task{
		ID: "odd/id ?é", Thread: "t", Type: "poem", Source: "a", Target: "b", Priority: -3, Tags: []string{"x", ""},
		Input: json.RawMessage(`{"n":1e3,"s":"ä<>&\u2028"}`), Timeout: time.Minute,
	})
	got, err := other.Get(t.Context(), created.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, got, tasks.Pending, "")
	want, err1 := json.Marshal(created)
	stored, err2 := json.Marshal(got)
	if string(stored) != string(want) || err1 != nil || err2 != nil || len(got.Tags) != 2 || got.Priority != -3 || got.Created.IsZero() {
		t.Errorf("got %s, %v\nwant %s, %v", stored, err2, want, err1)
	}
	if _, err := other.Create(t.Context(), tasks.Task{ID: created.ID, Type: "second"}); !errors.Is(err, tasks.ErrExists) {
		t.Errorf("got %v for an id that exists, want %v", err, tasks.ErrExists)
	}
	if got, err := b.Get(t.Context(), created.ID); err != nil || got.Type != "poem" {
		t.Errorf("got the type %q, %v after a rejected Create, want poem", got.Type, err)
	}
}

func TestRun_StoresEachOutcome(t *testing.T) {
	b := tasks.NewBoard(new(document.Map))
	for _, out := range []tasks.Outcome{
		{Status: tasks.Completed, Result: json.RawMessage(`1`)}, {Status: tasks.Failed, Reason: "no ink"}, {Status: tasks.Review, Result: json.RawMessage(`2`)},
		{Status: tasks.Waiting, Question: json.RawMessage(`"rhyme?"`)},
	} {
		id := string(out.Status)
		create(t, b, tasks.Task{ID: id})
		run(t, b, id, returns(out))
		got, err := b.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if wantStatus(t, got, out.Status, out.Reason); string(got.Result) != string(out.Result) || string(got.Question) != string(out.Question) || got.Attempt != 1 {
			t.Errorf("got the result %s, the question %s and attempt %d, want %s, %s and attempt 1", got.Result, got.Question, got.Attempt, out.Result, out.Question)
		}
	}
	got, err := b.Complete(t.Context(), string(tasks.Review), json.RawMessage(`3`))
	if wantStatus(t, got, tasks.Completed, ""); err != nil || string(got.Result) != `3` {
		t.Errorf("got %s, %v for a completed review, want 3", got.Result, err)
	}
}

func TestDelete_FreesTheID(t *testing.T) {
	docs := new(document.Map)
	b, other := tasks.NewBoard(docs), tasks.NewBoard(docs)
	create(t, b, tasks.Task{ID: "a"})
	create(t, b, tasks.Task{ID: "b"})
	if err := b.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := other.Delete(t.Context(), "a"); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("got %v for a second Delete, want %v", err, tasks.ErrNotFound)
	}
	got, err := other.Get(t.Context(), "b")
	if wantStatus(t, got, tasks.Pending, ""); err != nil {
		t.Errorf("the other task: %v", err)
	}
	create(t, b, tasks.Task{ID: "a"})
}
