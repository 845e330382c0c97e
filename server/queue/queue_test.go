package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/checkpoint/postgres"
	"github.com/weftrun/weft/checkpoint/redis"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/internal/servertest"
	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
)

// local returns queues of two processes on one store.
func local() (a, b *queue.Queue, store *checkpoint.Memory) {
	store, docs := &checkpoint.Memory{}, &document.Map{}
	return queue.New(store, docs), queue.New(store, docs), store
}

func run(thread, id string) queue.Run {
	return queue.Run{Run: wire.Run{RunID: id, ThreadID: thread}}
}

func create(t *testing.T, q *queue.Queue, r queue.Run, rule wire.MultitaskStrategy) []string {
	t.Helper()
	c, err := q.Create(t.Context(), r, rule)
	if err != nil {
		t.Fatal(err)
	}
	return c.Cancelled
}

// claim claims what is due, and checks which runs these are.
func claim(t *testing.T, q *queue.Queue, want ...string) []*queue.Claim {
	t.Helper()
	claims, err := q.Claim(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range claims {
		got = append(got, c.Run.RunID)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("Claim: got runs %q, want %q", got, want)
	}
	return claims
}

func finish(t *testing.T, q *queue.Queue, c *queue.Claim) {
	t.Helper()
	if err := q.Finish(t.Context(), c, wire.RunSuccess, nil); err != nil {
		t.Fatal(err)
	}
}

func status(t *testing.T, q *queue.Queue, thread, id string, want wire.RunStatus) queue.Run {
	t.Helper()
	r, err := q.Get(t.Context(), thread, id)
	if errors.Is(err, queue.ErrNotFound) {
		err = nil
	}
	if err != nil || r.Status != want {
		t.Fatalf("run %s has status %q and error %v, want %q", id, r.Status, err, want)
	}
	return r
}

// Requirement: Runs of a thread are in order, one at a time
func TestClaim_OneRunOfAThreadInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := local()
		for _, id := range []string{"1", "2", "3"} {
			create(t, a, run("t", id), wire.MultitaskEnqueue)
			time.Sleep(time.Millisecond)
		}
		create(t, a, run("other", "4"), wire.MultitaskEnqueue)
		first := claim(t, b, "1", "4")
		claim(t, a)
		finish(t, b, first[1])
		status(t, a, "t", "1", wire.RunRunning)
		finish(t, b, first[0])
		status(t, a, "t", "1", wire.RunSuccess)
		second := claim(t, a, "2")
		claim(t, b)
		finish(t, a, second[0])
		finish(t, a, claim(t, a, "3")[0])
		claim(t, a)
		if list, err := a.List(t.Context(), "t"); err != nil || len(list) != 3 || list[0].RunID != "3" || list[0].Attempt != 1 {
			t.Errorf("List: got %+v and %v, want the three runs, newest first", list, err)
		}
	})
}

// Requirement: Multitask strategies
func TestCreate_Strategies(t *testing.T) {
	for _, tt := range []struct {
		rule      wire.MultitaskStrategy
		cancelled []string
		pending   wire.RunStatus // of the run that was pending
		order     queue.Order    // of the run that is running
		after     wire.RunStatus // of the run that was running, when its worker has stopped
		next      string
	}{
		{wire.MultitaskEnqueue, nil, wire.RunPending, queue.None, wire.RunInterrupted, "pending"},
		{wire.MultitaskInterrupt, []string{"running", "pending"}, wire.RunInterrupted, queue.Interrupt, wire.RunInterrupted, "new"},
		{wire.MultitaskRollback, []string{"running", "pending"}, "", queue.Rollback, "", "new"},
	} {
		synctest.Test(t, func(t *testing.T) {
			a, b, _ := local()
			create(t, a, run("t", "running"), wire.MultitaskEnqueue)
			c := claim(t, b, "running")[0]
			create(t, a, run("t", "pending"), wire.MultitaskEnqueue)
			if _, err := a.Create(t.Context(), run("t", "rejected"), wire.MultitaskReject); !errors.Is(err, queue.ErrBusy) {
				t.Fatalf("reject: got %v, want ErrBusy", err)
			}
			status(t, a, "t", "rejected", "")
			if got := create(t, a, run("t", "new"), tt.rule); !slices.Equal(got, tt.cancelled) {
				t.Fatalf("%s: cancelled %q, want %q", tt.rule, got, tt.cancelled)
			}
			status(t, a, "t", "pending", tt.pending)
			claim(t, a) // the worker has not stopped
			if order, err := b.OrderOf(t.Context(), "t", "running"); err != nil || order != tt.order {
				t.Fatalf("%s: the running run has order %q and error %v, want %q", tt.rule, order, err, tt.order)
			}
			if err := b.Finish(t.Context(), c, wire.RunInterrupted, nil); err != nil {
				t.Fatal(err)
			}
			status(t, a, "t", "running", tt.after)
			finish(t, a, claim(t, a, tt.next)[0])
		})
	}
}

func TestCreate_RefusesAnIDTwice(t *testing.T) {
	a, _, _ := local()
	create(t, a, run("t", "1"), wire.MultitaskEnqueue)
	if _, err := a.Create(t.Context(), run("t", "1"), wire.MultitaskEnqueue); !errors.Is(err, queue.ErrExists) {
		t.Errorf("got %v, want ErrExists", err)
	}
	finish(t, a, claim(t, a, "1")[0])
	if _, err := a.Create(t.Context(), run("t", "1"), wire.MultitaskEnqueue); !errors.Is(err, queue.ErrExists) {
		t.Errorf("after its end: got %v, want ErrExists", err)
	}
	claim(t, a)
	status(t, a, "t", "1", wire.RunSuccess)
}

func TestClaim_PassesRunsThatAreNotDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, _ := local()
		later := run("t", "later")
		later.Due = wire.At(time.Now().Add(time.Minute))
		create(t, a, later, wire.MultitaskEnqueue)
		create(t, a, run("t", "now"), wire.MultitaskEnqueue)
		finish(t, a, claim(t, a, "now")[0])
		claim(t, a)
		time.Sleep(time.Minute)
		finish(t, a, claim(t, a, "later")[0])
	})
}

// Requirement: Runs survive their process
func TestSweep_RunOfAProcessThatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, store := local()
		create(t, a, run("t", "1"), wire.MultitaskEnqueue)
		create(t, a, run("t", "2"), wire.MultitaskEnqueue)
		for attempt := 1; attempt <= 3; attempt++ {
			c := claim(t, a, "1")[0]
			if c.Run.Attempt != attempt {
				t.Fatalf("attempt %d is counted as %d", attempt, c.Run.Attempt)
			}
			if n, err := b.Sweep(t.Context()); err != nil || n != 0 {
				t.Fatalf("Sweep while the process lives: %d runs and %v, want none", n, err)
			}
			// The process ends: its lease is no longer renewed.
			if err := store.Release(t.Context(), "t", c.Fence()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			if n, err := b.Sweep(t.Context()); err != nil || n != 1 {
				t.Fatalf("Sweep after the process ended: %d runs and %v, want 1", n, err)
			}
			if err := a.Finish(t.Context(), c, wire.RunSuccess, nil); err == nil {
				t.Fatal("Finish of a claim whose lease is lost returned no error")
			}
			status(t, a, "t", "1", wire.RunPending)
		}
		claim(t, b) // the fourth attempt fails the run
		if r := status(t, a, "t", "1", wire.RunFailed); r.Error == nil || r.Error.Error != "RunAttemptsExceeded" {
			t.Errorf("the error is %+v, want RunAttemptsExceeded", r.Error)
		}
		finish(t, b, claim(t, b, "2")[0])
	})
}

func TestReturn_PutsARunInFront(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := local()
		create(t, a, run("t", "1"), wire.MultitaskEnqueue)
		create(t, a, run("t", "2"), wire.MultitaskEnqueue)
		if err := a.Return(t.Context(), claim(t, a, "1")[0]); err != nil {
			t.Fatal(err)
		}
		status(t, a, "t", "1", wire.RunPending)
		c := claim(t, b, "1")[0]
		if c.Run.Attempt != 1 {
			t.Errorf("the attempt is %d, want 1: a run that was put back has had none", c.Run.Attempt)
		}
		finish(t, b, c)
	})
}

func TestCancel_PendingRunningAndEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := local()
		create(t, a, run("t", "1"), wire.MultitaskEnqueue)
		create(t, a, run("t", "2"), wire.MultitaskEnqueue)
		create(t, a, run("t", "3"), wire.MultitaskEnqueue)
		c := claim(t, a, "1")[0]
		cancel := func(id string, order queue.Order, want bool) {
			t.Helper()
			if active, err := b.Cancel(t.Context(), "t", id, order); err != nil || active != want {
				t.Fatalf("Cancel %s: active %v and error %v, want %v", id, active, err, want)
			}
		}
		cancel("1", queue.Interrupt, true)
		cancel("2", queue.Interrupt, false)
		cancel("3", queue.Rollback, false)
		status(t, a, "t", "2", wire.RunInterrupted)
		status(t, a, "t", "3", "")
		finish(t, a, c)
		cancel("1", queue.Rollback, false)
		cancel("none", queue.Rollback, false)
		status(t, a, "t", "1", wire.RunSuccess)
		claim(t, a)
	})
}

func TestDelete_NotWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, _ := local()
		create(t, a, run("t", "1"), wire.MultitaskEnqueue)
		create(t, a, run("t", "2"), wire.MultitaskEnqueue)
		c := claim(t, a, "1")[0]
		if err := a.Delete(t.Context(), "t", "1"); !errors.Is(err, queue.ErrActive) {
			t.Errorf("a running run: got %v, want ErrActive", err)
		}
		finish(t, a, c)
		for _, id := range []string{"1", "2", "none"} {
			if err := a.Delete(t.Context(), "t", id); err != nil {
				t.Errorf("Delete %s: %v", id, err)
			}
			status(t, a, "t", id, "")
		}
		claim(t, a)
	})
}

// brokenDocs fails the writes of runs, as if the process had ended.
type brokenDocs struct {
	document.Store
	broken bool
}

func (b *brokenDocs) Set(ctx context.Context, p document.Place, c document.Change) (document.Doc, error) {
	if b.broken && p.Collection == "weft.runs" {
		return document.Doc{}, context.Canceled
	}
	return b.Store.Set(ctx, p, c)
}

func (b *brokenDocs) Batch(ctx context.Context, p document.Place, c []document.Change) ([]document.Doc, error) {
	if b.broken && len(c) == 1 && c[0].Value == nil {
		return nil, context.Canceled
	}
	docs, err := b.Store.Batch(ctx, p, c)
	return docs, err
}

func TestClaim_EntryWithoutARunIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		docs := &brokenDocs{Store: &document.Map{}, broken: true}
		q := queue.New(&checkpoint.Memory{}, docs)
		if _, err := q.Create(t.Context(), run("t", "1"), wire.MultitaskEnqueue); err == nil {
			t.Fatal("Create returned no error")
		}
		// Create could not remove the entry either.
		docs.broken = false
		create(t, q, run("t", "2"), wire.MultitaskEnqueue)
		claim(t, q)
		claim(t, q)
		time.Sleep(time.Minute)
		claim(t, q) // removes the entry
		finish(t, q, claim(t, q, "2")[0])
	})
}

func TestClaim_ThreadThatAnotherProgramHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, store := local()
		held, err := checkpoint.Hold(t.Context(), store, "t", checkpoint.HoldOptions{ID: "cli"})
		if err != nil {
			t.Fatal(err)
		}
		create(t, a, run("t", "1"), wire.MultitaskEnqueue)
		claim(t, a)
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		finish(t, a, claim(t, a, "1")[0])
	})
}

// race creates runs of a few threads in several goroutines, and claims them in others. It checks
// that each run runs once and alone. The runs of one creator must be in their order.
func race(t *testing.T, store checkpoint.Store, docs document.Store, threads, creators, each int) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	workers := []*queue.Queue{queue.New(store, docs), queue.New(store, docs)}
	var mu sync.Mutex
	inside, ran := map[string]string{}, map[string][]string{}
	total := threads * creators * each
	done := make(chan bool)
	var wg sync.WaitGroup
	for thread := range threads {
		for creator := range creators {
			wg.Go(func() {
				for n := range each {
					r := run(fmt.Sprint("t", thread), fmt.Sprintf("%d-%d-%03d", thread, creator, n))
					if _, err := workers[creator%2].Create(ctx, r, wire.MultitaskEnqueue); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	for _, q := range workers {
		for range 2 {
			wg.Go(func() {
				for {
					claims, err := q.Claim(ctx, 4)
					if err != nil {
						t.Error(err)
						return
					}
					for _, c := range claims {
						thread := c.Run.ThreadID
						mu.Lock()
						if other := inside[thread]; other != "" {
							t.Errorf("runs %s and %s of thread %s run at once", other, c.Run.RunID, thread)
						}
						inside[thread] = c.Run.RunID
						ran[thread] = append(ran[thread], c.Run.RunID)
						delete(inside, thread)
						if total--; total == 0 {
							close(done)
						}
						mu.Unlock()
						if err := q.Finish(ctx, c, wire.RunSuccess, nil); err != nil {
							t.Error(err)
						}
					}
					select {
					case <-done:
						return
					case <-ctx.Done():
						return
					default:
					}
				}
			})
		}
	}
	wg.Wait()
	for thread := range threads {
		list := ran[fmt.Sprint("t", thread)]
		for creator := range creators {
			prefix := fmt.Sprintf("%d-%d-", thread, creator)
			own := slices.DeleteFunc(slices.Clone(list), func(id string) bool { return id[:len(prefix)] != prefix })
			if len(own) != each || !slices.IsSorted(own) {
				t.Errorf("the runs of creator %d on thread %d ran as %q", creator, thread, own)
			}
		}
	}
}

func TestQueue_ConcurrentProcesses(t *testing.T) {
	race(t, &checkpoint.Memory{}, &document.Map{}, 3, 3, 10)
}

func TestQueue_OnEachStore(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) (checkpoint.Store, error){
		"sqlite": func(t *testing.T) (checkpoint.Store, error) { return sqlite.Open(t.Context(), t.TempDir()+"/q.db") },
		"redis":  func(t *testing.T) (checkpoint.Store, error) { return redis.OpenURL(t.Context(), servertest.Redis(t)) },
		"postgres": func(t *testing.T) (checkpoint.Store, error) {
			return postgres.Open(t.Context(), servertest.Postgres(t), postgres.Config{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			docs, err := store.(interface {
				Documents(context.Context) (document.Store, error)
			}).Documents(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			race(t, store, docs, 2, 2, 4)
		})
	}
}
