package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/tasks"
)

// unreliable is a store whose reads and writes are made by a function, if it is not nil.
type unreliable struct {
	document.Store
	call func(write bool, do func() error) error
}

func (u *unreliable) Get(ctx context.Context, p document.Place, id string) (d document.Doc, err error) {
	err = u.make(false, func() error { d, err = u.Store.Get(ctx, p, id); return err })
	return d, err
}

func (u *unreliable) Set(ctx context.Context, p document.Place, c document.Change) (d document.Doc, err error) {
	ctx = context.WithoutCancel(ctx) // a write that was sent is made
	err = u.make(true, func() error { d, err = u.Store.Set(ctx, p, c); return err })
	return d, err
}

func (u *unreliable) make(write bool, do func() error) error {
	if u.call == nil {
		return do()
	}
	return u.call(write, do)
}

// away does not make a call.
func away(func() error) error { return checkpoint.ErrUnavailable }

// loses makes a write and loses its reply.
func loses(do func() error) error {
	if err := do(); err != nil {
		return err
	}
	return checkpoint.ErrUnknownOutcome
}

// counts is a worker that counts its calls, and completes its task.
func counts(n *atomic.Int64) tasks.Worker {
	return tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) {
		n.Add(1)
		return tasks.Outcome{Result: json.RawMessage(`"done"`)}, nil
	})
}

// starts are the ways to start a worker, with the status that they need.
var starts = map[tasks.Status]func(context.Context, *tasks.Board, tasks.Worker) (tasks.Task, error){
	tasks.Pending: func(ctx context.Context, b *tasks.Board, w tasks.Worker) (tasks.Task, error) {
		return b.Run(ctx, "t", w)
	},
	tasks.Waiting: func(ctx context.Context, b *tasks.Board, w tasks.Worker) (tasks.Task, error) {
		return b.Resume(ctx, "t", json.RawMessage(`1`), w)
	},
}

// TestRun_StoreAwayForOneCall fails each call of the store once. The worker runs once, and the task
// is completed, by the same call or by the next one.
func TestRun_StoreAwayForOneCall(t *testing.T) {
	for from := range starts {
		for name, fate := range map[string]func(func() error) error{"away": away, "lost": loses} {
			calls := 0
			for calls = 1; runsWithout(t, from, calls, name, fate); calls++ {
			}
			if calls < 6 {
				t.Errorf("from %s: a worker needs only %d calls of the store", from, calls-1)
			}
		}
	}
}

// runsWithout runs a task with a status, over a store whose call n fails. It returns false if fewer
// calls are made.
func runsWithout(t *testing.T, from tasks.Status, n int, name string, fate func(func() error) error) (failed bool) {
	synctest.Test(t, func(t *testing.T) {
		docs := &unreliable{Store: new(document.Map)}
		b := tasks.NewBoard(docs)
		createIn(t, b, "t", from)
		before, _ := b.Get(t.Context(), "t")
		calls := 0
		docs.call = func(write bool, do func() error) error {
			if calls++; calls == n && (write || name == "away") {
				return fate(do)
			}
			return do()
		}
		var ran atomic.Int64
		got, err := starts[from](t.Context(), b, counts(&ran))
		failed, docs.call = calls >= n, nil
		if err != nil {
			now, _ := b.Get(t.Context(), "t")
			if !checkpoint.IsTemporary(err) || now.Status != from || now.Attempt != before.Attempt || ran.Load() > 0 {
				t.Errorf("%s, call %d %s: the worker ran %d times, the task is %s in attempt %d, %v", from, n, name, ran.Load(), now.Status, now.Attempt, err)
			}
			got, err = starts[from](t.Context(), b, counts(&ran))
		}
		if err != nil || ran.Load() != 1 || got.Status != tasks.Completed || got.Attempt != before.Attempt+1 {
			t.Errorf("%s, call %d %s: the worker ran %d times, the task is %s in attempt %d, %v", from, n, name, ran.Load(), got.Status, got.Attempt, err)
		}
		if stored, err := b.Get(t.Context(), "t"); err != nil || stored.Status != tasks.Completed || string(stored.Result) != `"done"` {
			t.Errorf("%s, call %d %s: got %s with %s, %v", from, n, name, stored.Status, stored.Result, err)
		}
	})
	return failed
}

// TestRun_StoreAwayForAWhile takes the store away for a time, from a call on.
func TestRun_StoreAwayForAWhile(t *testing.T) {
	const check, outcome = 3, 5 // the calls: a read and a write, a read, a read and a write
	for _, c := range []struct {
		from, call int
		reply      func(func() error) error // of that call
		away       time.Duration
		ran        int64
		want       tasks.Status
	}{
		{call: check, away: 20 * time.Second, ran: 1, want: tasks.Completed},
		{call: check, away: 45 * time.Second, want: tasks.Pending},
		{call: check, away: time.Hour, want: tasks.InProgress},
		{call: 2, reply: loses, away: 20 * time.Second, ran: 1, want: tasks.Completed},
		{call: 2, reply: loses, away: 45 * time.Second, want: tasks.Pending},
		{call: outcome, away: 20 * time.Second, ran: 1, want: tasks.Completed},
		{call: outcome, reply: loses, away: 20 * time.Second, ran: 1, want: tasks.Completed},
		{call: outcome, away: time.Hour, ran: 1, want: tasks.InProgress},
	} {
		synctest.Test(t, func(t *testing.T) {
			docs := &unreliable{Store: new(document.Map)}
			b := tasks.NewBoard(docs)
			b.Watch = -1
			create(t, b, tasks.Task{ID: "t"})
			calls, back := 0, time.Time{}
			docs.call = func(_ bool, do func() error) error {
				switch calls++; {
				case calls == c.call:
					back = time.Now().Add(c.away)
					if c.reply != nil {
						return c.reply(do)
					}
					return away(do)
				case calls > c.call && time.Now().Before(back):
					return away(do)
				}
				return do()
			}
			begin, ran := time.Now(), atomic.Int64{}
			_, err := b.Run(t.Context(), "t", counts(&ran))
			took := time.Since(begin)
			docs.call = nil
			got, _ := b.Get(t.Context(), "t")
			if got.Status != c.want || ran.Load() != c.ran || (err == nil) != (c.want == tasks.Completed) || err != nil && !checkpoint.IsTemporary(err) {
				t.Errorf("away for %v from call %d: the worker ran %d times, the task is %s, %v; want %d times, %s", c.away, c.call, ran.Load(), got.Status, err, c.ran, c.want)
			}
			if took > time.Minute {
				t.Errorf("rule: a caller waits for a minute at most for a store that does not come back\n got: %v", took)
			}
			switch c.want {
			case tasks.Pending:
				wantStatus(t, run(t, b, "t", counts(&ran)), tasks.Completed, "")
			case tasks.InProgress:
				ended, err := b.Cancel(t.Context(), "t", "the store was away")
				if wantStatus(t, ended, tasks.Cancelled, "away"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Another caller ends the task while the store is away from this one.
func TestRun_CancelledWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := new(document.Map)
		docs := &unreliable{Store: shared}
		b, other := tasks.NewBoard(docs), tasks.NewBoard(shared)
		create(t, b, tasks.Task{ID: "t"})
		calls := 0
		docs.call = func(_ bool, do func() error) error {
			if calls++; calls == 3 {
				if _, err := other.Cancel(t.Context(), "t", "no"); err != nil {
					t.Error(err)
				}
			}
			if calls > 2 && calls < 30 {
				return away(do)
			}
			return do()
		}
		var ran atomic.Int64
		_, err := b.Run(t.Context(), "t", counts(&ran))
		wantError(t, "a cancelled task is not run or restored", err, tasks.ErrTransition)
		got, _ := b.Get(t.Context(), "t")
		if wantStatus(t, got, tasks.Cancelled, "no"); ran.Load() != 0 {
			t.Errorf("the worker ran %d times, want 0", ran.Load())
		}
	})
}

// The context ends before the reply of the first write comes: the worker does not run.
func TestRun_ContextEndsWithALostReply(t *testing.T) {
	for from, start := range starts {
		for _, written := range []bool{true, false} {
			docs := &unreliable{Store: new(document.Map)}
			b := tasks.NewBoard(docs)
			createIn(t, b, "t", from)
			before, _ := b.Get(t.Context(), "t")
			ctx, cancel := context.WithCancel(t.Context())
			var late func() error
			docs.call = func(write bool, do func() error) error {
				if !write {
					return do()
				}
				docs.call, late = nil, do
				if written {
					_ = do()
				}
				cancel()
				return fmt.Errorf("%w: %w", checkpoint.ErrUnknownOutcome, ctx.Err())
			}
			var ran atomic.Int64
			got, err := start(ctx, b, counts(&ran))
			wantError(t, "the error is that of the context", err, context.Canceled)
			if got.Status != before.Status || got.Attempt != before.Attempt || string(got.Answer) != string(before.Answer) || ran.Load() != 0 {
				t.Errorf("rule: the task is as it was before\n got: %+v\nwant: %+v", got, before)
			}
			wantError(t, "the write that comes late is refused", late(), document.ErrConflict)
			if got, _ = b.Get(t.Context(), "t"); got.Status != before.Status {
				t.Errorf("got %s, want %s", got.Status, before.Status)
			}
		}
	}
}

// TestRun_ConcurrentLostReplies runs one task in many processes at the same time of the clock. Each
// of them loses its first reply. One worker runs, and the others are refused.
func TestRun_ConcurrentLostReplies(t *testing.T) {
	for from, start := range starts {
		synctest.Test(t, func(t *testing.T) {
			shared := new(document.Map)
			createIn(t, tasks.NewBoard(shared), "t", from)
			var ran, refused atomic.Int64
			var all sync.WaitGroup
			const processes = 8
			for i := range processes {
				lost := 0
				docs := &unreliable{Store: shared, call: func(write bool, do func() error) error {
					if !write || lost > 1 {
						return do()
					}
					lost++
					if i%2 == 0 {
						return loses(do)
					}
					return checkpoint.ErrUnknownOutcome // it is not made
				}}
				all.Go(func() {
					got, err := start(t.Context(), tasks.NewBoard(docs), counts(&ran))
					switch {
					case errors.Is(err, tasks.ErrTransition):
						refused.Add(1)
					case err != nil || got.Status != tasks.Completed:
						t.Errorf("got %s, %v", got.Status, err)
					}
				})
			}
			all.Wait()
			if ran.Load() != 1 || refused.Load() != processes-1 {
				t.Errorf("rule: a task is done once\n got: %d times, %d refused", ran.Load(), refused.Load())
			}
		})
	}
}

// A task that expires is returned once, by the call that has failed it.
func TestExpire_LostReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := &unreliable{Store: new(document.Map)}
		b := tasks.NewBoard(docs)
		create(t, b, tasks.Task{ID: "t", Timeout: time.Minute})
		ctx, revive := context.WithCancel(t.Context())
		defer revive()
		var workers sync.WaitGroup
		defer workers.Wait()
		workers.Go(func() {
			_, err := tasks.NewBoard(docs.Store).Run(t.Context(), "t", tasks.WorkerFunc(func(context.Context, tasks.Task) (tasks.Outcome, error) {
				<-ctx.Done()
				return tasks.Outcome{}, nil
			}))
			wantError(t, "a worker whose task has expired stores nothing", err, tasks.ErrTransition)
		})
		time.Sleep(2 * time.Minute)
		writes := 0
		docs.call = func(write bool, do func() error) error {
			if write {
				writes++
			}
			if write && writes == 1 {
				return loses(do)
			}
			return do()
		}
		list, err := b.Expire(t.Context())
		if err != nil || len(list) != 1 || list[0].Status != tasks.Failed {
			t.Errorf("rule: a task is returned that has expired, also if the reply was lost\n got: %+v, %v", list, err)
		}
		if list, err := b.Expire(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("rule: it is returned once\n got: %+v, %v", list, err)
		}
		revive()
	})
}
