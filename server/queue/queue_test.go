package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/state"
)

// pathVariable makes this test binary a process that claims a run until it is killed.
const pathVariable = "WEFT_TEST_QUEUE"

func TestMain(m *testing.M) {
	if path := os.Getenv(pathVariable); path != "" {
		claimUntilKilled(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// storage is what the processes of a test share.
type storage struct {
	store checkpoint.Store
	docs  document.Store
}

func inMemory() storage { return storage{new(checkpoint.Memory), new(document.Map)} }

// process returns the queue of a new process.
func (s storage) process(t testing.TB) *queue.Queue {
	t.Helper()
	q, err := queue.New(queue.Config{Store: s.store, Documents: s.docs})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func create(t testing.TB, q *queue.Queue, thread, id string, rule queue.Rule) queue.Created {
	t.Helper()
	c, err := q.Create(t.Context(), queue.Run{ID: id, Thread: thread}, rule)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// claim claims at most n runs, and fails the test unless they are these.
func claim(t testing.TB, q *queue.Queue, n int, want ...string) []*queue.Claim {
	t.Helper()
	claims, err := q.Claim(t.Context(), n)
	var got []string
	for _, c := range claims {
		got = append(got, c.Run.ID)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("claimed %v with error %v, want %v", got, err, want)
	}
	return claims
}

func finish(t testing.TB, c *queue.Claim) {
	t.Helper()
	if err := c.Finish(t.Context(), queue.End{Status: queue.Success}); err != nil {
		t.Fatal(err)
	}
}

// status fails the test unless a run has this status; "" means that it is not there.
func status(t testing.TB, q *queue.Queue, thread, id string, want queue.Status) {
	t.Helper()
	r, err := q.Get(t.Context(), thread, id)
	if errors.Is(err, queue.ErrNotFound) && want == "" {
		return
	}
	if err != nil || r.Status != want {
		t.Errorf("run %s is %q with error %v, want %q", id, r.Status, err, want)
	}
}

func TestQueue_RunsOfAThreadStartInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory()
		a, b := s.process(t), s.process(t)
		var want []string
		for i := range 20 {
			id := fmt.Sprint("r", i)
			create(t, []*queue.Queue{a, b}[i%2], "t1", id, queue.Enqueue)
			want = append(want, id)
		}
		for i, id := range want {
			q, other := a, b
			if i%3 == 0 {
				q, other = b, a
			}
			c := claim(t, q, 5, id)[0]
			claim(t, other, 5) // law 1: no other run of the thread
			claim(t, q, 5)
			status(t, other, "t1", id, queue.Running)
			finish(t, c)
			status(t, other, "t1", id, queue.Success)
			time.Sleep(2 * time.Second)
		}
		claim(t, a, 5)
	})
}

func TestQueue_ARunThatIsNotDueIsPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := inMemory().process(t)
		_, err := q.Create(t.Context(), queue.Run{ID: "late", Thread: "t1", Due: time.Now().Add(time.Minute)}, queue.Enqueue)
		if err != nil {
			t.Fatal(err)
		}
		claim(t, q, 5)
		create(t, q, "t1", "soon", queue.Enqueue)
		finish(t, claim(t, q, 5, "soon")[0])
		claim(t, q, 5)
		time.Sleep(time.Minute)
		finish(t, claim(t, q, 5, "late")[0])
	})
}

func TestQueue_ManyRunsOfAThreadDelayOthersByOneClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := inMemory().process(t)
		for i := range 100 {
			create(t, q, "many", fmt.Sprint("m", i), queue.Enqueue)
			time.Sleep(time.Millisecond)
		}
		create(t, q, "one", "o", queue.Enqueue)
		time.Sleep(time.Millisecond)
		finish(t, claim(t, q, 1, "m0")[0])
		finish(t, claim(t, q, 1, "o")[0])
		finish(t, claim(t, q, 1, "m1")[0])
	})
}

func TestCreate_Rules(t *testing.T) {
	for _, c := range []struct {
		rule           queue.Rule
		err            error
		cancelled      []string
		first, waiting queue.Status // of the running and the pending run, when the worker has ended
		next           []string     // what is claimed then
	}{
		{queue.Enqueue, nil, nil, queue.Success, queue.Pending, []string{"waits"}},
		{queue.Reject, queue.ErrThreadBusy, nil, queue.Success, queue.Pending, []string{"waits"}},
		{queue.Interrupt, nil, []string{"runs", "waits"}, queue.Interrupted, queue.Interrupted, []string{"new"}},
		{queue.Rollback, nil, []string{"runs", "waits"}, "", "", []string{"new"}},
	} {
		t.Run(string(c.rule), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := inMemory()
				worker, web := s.process(t), s.process(t)
				create(t, web, "t1", "runs", queue.Enqueue)
				running := claim(t, worker, 5, "runs")[0]
				create(t, web, "t1", "waits", queue.Enqueue)
				got, err := web.Create(t.Context(), queue.Run{ID: "new", Thread: "t1"}, c.rule)
				if !errors.Is(err, c.err) || !slices.Equal(got.Cancelled, c.cancelled) {
					t.Fatalf("got %v cancelled and error %v, want %v and %v", got.Cancelled, err, c.cancelled, c.err)
				}
				status(t, web, "t1", "runs", queue.Running)
				claim(t, web, 5) // the new run waits for the worker of the old one
				end := queue.Success
				if c.cancelled != nil {
					if a := running.Cancelled(t.Context()); a == "" {
						t.Fatal("the worker was not notified")
					}
					end = queue.Interrupted
				}
				if err := running.Finish(t.Context(), queue.End{Status: end}); err != nil {
					t.Fatal(err)
				}
				status(t, web, "t1", "runs", c.first)
				status(t, web, "t1", "waits", c.waiting)
				finish(t, claim(t, web, 5, c.next...)[0])
			})
		})
	}
}

func TestCreate_RefusesAnIDThatExists(t *testing.T) {
	q := inMemory().process(t)
	create(t, q, "t1", "r", queue.Enqueue)
	create(t, q, "t1", "other", queue.Enqueue)
	for _, rule := range []queue.Rule{queue.Enqueue, queue.Reject, queue.Interrupt, queue.Rollback} {
		if _, err := q.Create(t.Context(), queue.Run{ID: "r", Thread: "t1"}, rule); !errors.Is(err, queue.ErrExists) {
			t.Errorf("rule %s: got %v, want ErrExists", rule, err)
		}
	}
	status(t, q, "t1", "other", queue.Pending) // no rule was applied
	for _, r := range []queue.Run{{ID: "", Thread: "t1"}, {ID: "line", Thread: "t1"}} {
		if _, err := q.Create(t.Context(), r, queue.Enqueue); !errors.Is(err, queue.ErrRequest) {
			t.Errorf("got %v for the id %q, want ErrRequest", err, r.ID)
		}
	}
	if _, err := q.Create(t.Context(), queue.Run{ID: "s", Thread: "t1"}, "wait"); !errors.Is(err, queue.ErrRequest) {
		t.Errorf("got %v for an unknown rule, want ErrRequest", err)
	}
	if _, err := q.Create(t.Context(), queue.Run{ID: "s"}, queue.Enqueue); err == nil {
		t.Error("a run without a thread must be refused")
	}
	finish(t, claim(t, q, 5, "r")[0])
	finish(t, claim(t, q, 5, "other")[0])
	if _, err := q.Create(t.Context(), queue.Run{ID: "r", Thread: "t1"}, queue.Reject); !errors.Is(err, queue.ErrExists) {
		t.Errorf("got %v for the id of a run that has ended, want ErrExists", err)
	}
}

func TestQueue_TheRunOfADeadProcessIsClaimedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory()
		web := s.process(t)
		create(t, web, "t1", "r", queue.Enqueue)
		create(t, web, "t1", "next", queue.Enqueue)
		for attempt := 1; attempt <= 3; attempt++ {
			dying := claim(t, s.process(t), 5, "r")[0]
			if dying.Run.Attempt != attempt {
				t.Errorf("the attempt is %d, want %d", dying.Run.Attempt, attempt)
			}
			claim(t, web, 5)
			dying.Abandon()
			died := time.Now()
			for len(must(web.Claim(t.Context(), 0))) == 0 && time.Since(died) < 1600*time.Millisecond {
				time.Sleep(250 * time.Millisecond)
			}
			defer func() { // the process was only stopped, and wakes up late
				if err := dying.Finish(context.WithoutCancel(t.Context()), queue.End{Status: queue.Success}); !errors.Is(err, queue.ErrLost) {
					t.Errorf("got %v, want ErrLost for a claim that was taken over", err)
				}
			}()
		}
		next := claim(t, web, 5, "next")[0] // r has used up its attempts, and the thread goes on
		r, err := web.Get(t.Context(), "t1", "r")
		if err != nil || r.Status != queue.Failed || r.Error.Name != queue.AttemptsExceeded {
			t.Errorf("got %+v and error %v, want %s", r, err, queue.AttemptsExceeded)
		}
		finish(t, next)
	})
}

func TestQueue_WakesWorkersWhenALeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory()
		q := s.process(t)
		create(t, q, "t1", "r", queue.Enqueue)
		dying := claim(t, s.process(t), 1, "r")[0]
		claim(t, q, 1)
		time.Sleep(time.Second)
		dying.Abandon()
		time.Sleep(500 * time.Millisecond) // the look that the claim stored is due
		claim(t, q, 1)
		news, began := q.Changed(""), time.Now()
		<-news
		finish(t, claim(t, q, 1, "r")[0])
		if took := time.Since(began); took > time.Second+50*time.Millisecond {
			t.Errorf("a worker is woken %v later", took)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestAmend_ReplacesTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory()
		q := s.process(t)
		create(t, q, "t", "r1", queue.Enqueue)
		request := func(want string) {
			t.Helper()
			if r, err := q.Get(t.Context(), "t", "r1"); err != nil || string(r.Request) != want {
				t.Errorf("the request is %s with error %v, want %s", r.Request, err, want)
			}
		}
		dead := claim(t, q, 1, "r1")[0]
		if err := dead.Amend(t.Context(), json.RawMessage("1")); err != nil {
			t.Fatal(err)
		}
		request("1")
		dead.Abandon()
		time.Sleep(2 * queue.DefaultLease)
		next := claim(t, q, 1, "r1")[0]
		if err := dead.Amend(t.Context(), json.RawMessage("2")); !errors.Is(err, queue.ErrLost) || string(next.Run.Request) != "1" {
			t.Errorf("got %v and the request %s, want ErrLost for a claim that was taken over, and 1", err, next.Run.Request)
		}
		create(t, q, "t", "r2", queue.Enqueue) // the line that the claim knows is not the newest
		if err := next.Amend(t.Context(), json.RawMessage("3")); err != nil {
			t.Error(err)
		}
		finish(t, next)
		request("3")
		finish(t, claim(t, q, 1, "r2")[0])
	})
}

func TestPutBack_DoesNotCountTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory()
		a, b := s.process(t), s.process(t)
		create(t, a, "t1", "r", queue.Enqueue)
		create(t, a, "t1", "behind", queue.Enqueue)
		if err := claim(t, a, 1, "r")[0].PutBack(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := claim(t, b, 5, "r")[0]
		if c.Run.Attempt != 1 {
			t.Errorf("the attempt is %d, want 1", c.Run.Attempt)
		}
		finish(t, c)
		finish(t, claim(t, b, 5, "behind")[0])
	})
}

func TestCancel_EndsAPendingRunAtOnce(t *testing.T) {
	q := inMemory().process(t)
	for _, id := range []string{"a", "b", "c"} {
		create(t, q, "t1", id, queue.Enqueue)
	}
	if r, err := q.Cancel(t.Context(), "t1", "a", queue.Stop); err != nil || r.Status != queue.Interrupted || r.Ended.IsZero() {
		t.Errorf("got %+v and error %v, want an interrupted run", r, err)
	}
	if _, err := q.Cancel(t.Context(), "t1", "b", queue.Undo); err != nil {
		t.Error(err)
	}
	status(t, q, "t1", "a", queue.Interrupted)
	status(t, q, "t1", "b", "")
	finish(t, claim(t, q, 5, "c")[0])
	if r, err := q.Cancel(t.Context(), "t1", "c", queue.Stop); err != nil || r.Status != queue.Success {
		t.Errorf("rule: to cancel what has ended does nothing\n got: %+v, %v", r, err)
	}
	if _, err := q.Cancel(t.Context(), "t1", "z", queue.Stop); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

// A cancel that was acknowledged survives the worker: the next claim of the run has the action.
func TestCancel_SurvivesTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory()
		web := s.process(t)
		create(t, web, "t1", "r", queue.Enqueue)
		dying := claim(t, s.process(t), 5, "r")[0]
		if _, err := web.Cancel(t.Context(), "t1", "r", queue.Stop); err != nil {
			t.Fatal(err)
		}
		dying.Abandon()
		time.Sleep(2 * time.Second)
		c := claim(t, web, 5, "r")[0]
		if c.Action != queue.Stop {
			t.Errorf("the action is %q, want interrupt", c.Action)
		}
		if err := c.Finish(t.Context(), queue.End{Status: queue.Interrupted}); err != nil {
			t.Fatal(err)
		}
		status(t, web, "t1", "r", queue.Interrupted)
	})
}

type counted struct {
	N state.Sum[int] `json:"n"`
}

// A run that commits something in each attempt may meet any number of deaths; three attempts at the
// same step end it.
func TestQueue_OnlyAttemptsWithoutACommitCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory()
		web := s.process(t)
		died := errors.New("the process died")
		steps := 0 // until the process dies
		b := graph.New[counted]("counts")
		from := graph.Start
		for i := range 8 {
			name := fmt.Sprint("node ", i)
			b.Node(name, graph.Func(func(_ context.Context, s *counted) error {
				if steps--; steps < 0 {
					return died
				}
				s.N.Add(1)
				return nil
			}))
			b.Edge(from, name)
			from = name
		}
		b.Edge(from, graph.End)
		g := must(b.Compile(graph.Config{Store: s.store}))
		create(t, web, "t1", "r", queue.Enqueue)
		for attempt := 1; attempt <= 9; attempt++ {
			c := claim(t, s.process(t), 1, "r")[0]
			if last := attempt == 9; c.Run.Attempt != attempt || c.Last != last {
				t.Errorf("attempt %d is numbered %d, the last: %v, want %v", attempt, c.Run.Attempt, c.Last, last)
			}
			o := graph.RunOptions{ID: "r", Thread: "t1", Lease: c.Lease()}
			if steps = 1; attempt > 6 {
				steps = 0
			}
			var err error
			if attempt == 1 {
				_, err = g.Invoke(t.Context(), counted{}, o)
			} else {
				_, err = g.Resume(t.Context(), graph.Answers{}, o)
			}
			if !errors.Is(err, died) {
				t.Fatalf("got %v, want a run that stops", err)
			}
			c.Abandon()
			time.Sleep(2 * time.Second)
		}
		claim(t, web, 1)
		if r := must(web.Get(t.Context(), "t1", "r")); r.Status != queue.Failed || r.Error.Name != queue.AttemptsExceeded {
			t.Errorf("got %+v, want %s", r, queue.AttemptsExceeded)
		}
	})
}

// unreadable is a store that cannot read the history of one thread.
type unreadable struct {
	*checkpoint.Memory
	thread string
}

func (u unreadable) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	if k.Thread != u.thread {
		return u.Memory.History(ctx, k, q)
	}
	return func(yield func(checkpoint.Snapshot, error) bool) { yield(checkpoint.Snapshot{}, checkpoint.ErrCorrupt) }
}

// A thread whose history is damaged keeps no other thread waiting, and its run is claimed again.
func TestClaim_GoesOnBehindAThreadThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storage{unreadable{new(checkpoint.Memory), "t1"}, new(document.Map)}
		web := s.process(t)
		create(t, web, "t1", "r", queue.Enqueue)
		claim(t, s.process(t), 1, "r")[0].Abandon()
		time.Sleep(2 * time.Second)
		create(t, web, "t2", "other", queue.Enqueue)
		for _, c := range claim(t, web, 5, "r", "other") {
			finish(t, c)
		}
	})
}

func TestFinish_RollsTheRunBackUnderItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory()
		q := s.process(t)
		b := graph.New[counted]("counts")
		b.Node("a", graph.Func(func(_ context.Context, s *counted) error { s.N.Add(1); return nil }))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		g := must(b.Compile(graph.Config{Store: s.store}))
		for i, undo := range []bool{true, false, true} {
			id := fmt.Sprint("r", i)
			create(t, q, "t1", id, queue.Enqueue)
			c := claim(t, q, 1, id)[0]
			o := graph.RunOptions{ID: id, Thread: "t1", Lease: c.Lease()}
			if _, err := g.Invoke(t.Context(), counted{}, o); err != nil {
				t.Fatal(err)
			}
			if undo {
				must(q.Cancel(t.Context(), "t1", id, queue.Undo))
			}
			finish(t, c)
			state, p, err := g.Thread("t1").State(t.Context(), 0)
			switch {
			case i == 0 && !errors.Is(err, graph.ErrUnknownThread):
				t.Errorf("got commit %d and error %v, want no thread after the rollback of its first run", p.Checkpoint, err)
			case i > 0 && (err != nil || p.Run != "r1" || state.N.Get() != 1):
				t.Errorf("got run %q with n = %d and error %v, want r1 with 1", p.Run, state.N.Get(), err)
			}
			if undo {
				status(t, q, "t1", id, "")
			}
		}
	})
}

func TestDelete_RemovesWhatDoesNotRun(t *testing.T) {
	q := inMemory().process(t)
	create(t, q, "t1", "a", queue.Enqueue)
	create(t, q, "t1", "b", queue.Enqueue)
	c := claim(t, q, 1, "a")[0]
	if err := q.Delete(t.Context(), "t1", "a"); !errors.Is(err, queue.ErrRunning) {
		t.Errorf("got %v, want ErrRunning", err)
	}
	if err := q.Delete(t.Context(), "t1", "b"); err != nil {
		t.Error(err)
	}
	finish(t, c)
	if err := q.Delete(t.Context(), "t1", "a"); err != nil {
		t.Error(err)
	}
	claim(t, q, 5)
	if runs, err := q.List(t.Context(), "t1"); err != nil || len(runs) != 0 {
		t.Errorf("got %v and error %v, want no runs", runs, err)
	}
}

func TestWait_ReturnsWhenTheRunHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory()
		worker, web := s.process(t), s.process(t)
		create(t, web, "t1", "r", queue.Enqueue)
		c := claim(t, worker, 1, "r")[0]
		ended := make(chan queue.Run, 2)
		for _, q := range []*queue.Queue{worker, web} {
			go func() {
				r, err := q.Wait(t.Context(), "t1", "r")
				if err != nil {
					t.Error(err)
				}
				ended <- r
			}()
		}
		synctest.Wait()
		finish(t, c)
		begun := time.Now()
		for range 2 {
			if r := <-ended; r.Status != queue.Success {
				t.Errorf("got %q, want success", r.Status)
			}
		}
		if waited := time.Since(begun); waited > time.Second {
			t.Errorf("a process without a bus noticed after %v, want at most 1s", waited)
		}
	})
}
