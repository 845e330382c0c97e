package schedule_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/internal/schedule"
)

// tasks are functions as the tasks of a pool.
type tasks struct {
	run func(i int, p *schedule.Permit)
	key func(i int) (any, int)

	mu     sync.Mutex
	lost   []string
	waited []int
}

func (t *tasks) Run(i int, p *schedule.Permit) { t.run(i, p) }

func (t *tasks) Key(i int) (any, int) {
	if t.key == nil {
		return nil, 0
	}
	return t.key(i)
}

func (t *tasks) Waits(i int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waited = append(t.waited, i)
}

func (t *tasks) Lost(i int, p *schedule.Panic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p == nil {
		t.lost = append(t.lost, fmt.Sprint(i, " exited"))
	} else {
		t.lost = append(t.lost, fmt.Sprint(i, " panicked: ", p.Value))
	}
}

// step runs n tasks as a coordinator does, whose permit is free meanwhile.
func step(ctx context.Context, pool *schedule.Pool, own *schedule.Permit, t *tasks, n, workers int, collect func([]int, int)) {
	own.Release()
	defer own.Acquire(ctx)
	pool.Run(ctx, t, n, workers, collect)
}

func TestPool_RunsEachTaskOnceInEachStep(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		all, own := permits(workers)
		pool := schedule.NewPool(all)
		for lap := range 200 {
			n := 1 + lap%37
			ran := make([]atomic.Int32, n)
			var now, most atomic.Int32
			ts := &tasks{run: func(i int, _ *schedule.Permit) {
				most.Store(max(most.Load(), now.Add(1)))
				ran[i].Add(1)
				now.Add(-1)
			}}
			var collected []int
			var collect func([]int, int)
			if lap%2 == 0 {
				collect = func(ended []int, left int) {
					if collected = append(collected, ended...); left != n-len(collected) {
						t.Errorf("%d tasks are left, want %d", left, n-len(collected))
					}
				}
			}
			step(t.Context(), pool, own, ts, n, workers, collect)
			for i := range ran {
				if ran[i].Load() != 1 {
					t.Fatalf("task %d of %d ran %d times", i, n, ran[i].Load())
				}
			}
			if slices.Sort(collected); collect != nil && (len(collected) != n || len(slices.Compact(collected)) != n) {
				t.Errorf("collected %v, want each of %d once", collected, n)
			}
			if int(most.Load()) > workers || now.Load() != 0 {
				t.Errorf("%d ran at once on %d workers, and %d still run", most.Load(), workers, now.Load())
			}
		}
		pool.Close()
	}
}

func TestPool_TasksMayWaitForEachOther(t *testing.T) {
	for _, procs := range []int{1, runtime.NumCPU()} {
		t.Run(fmt.Sprint(procs, " processors"), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			synctest.Test(t, func(t *testing.T) {
				const n = 50
				all, own := permits(n)
				pool := schedule.NewPool(all)
				for range 3 {
					var here atomic.Int32
					together := make(chan struct{})
					ts := &tasks{run: func(i int, _ *schedule.Permit) {
						if i%2 == 1 {
							return // a quick one
						}
						if here.Add(1) == n {
							close(together)
						}
						<-together
					}}
					step(t.Context(), pool, own, ts, 2*n, n, nil)
				}
				pool.Close()
			})
		})
	}
}

// A task that waits releases its permit, so others run though there is one permit only.
func TestPool_WorkersShareThePermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, own := permits(1)
		pool := schedule.NewPool(all)
		var now, most atomic.Int32
		began := time.Now()
		ts := &tasks{run: func(i int, p *schedule.Permit) {
			p.Release()
			<-time.After(time.Hour)
			p.Acquire(t.Context())
			most.Store(max(most.Load(), now.Add(1)))
			<-time.After(time.Second)
			now.Add(-1)
		}}
		step(t.Context(), pool, own, ts, 10, 10, nil)
		pool.Close()
		if took := time.Since(began); most.Load() != 1 || took != time.Hour+10*time.Second {
			t.Errorf("%d were at work at once, for %v; want 1, for 1h0m10s", most.Load(), took)
		}
		if got := free(all); got != 0 {
			t.Errorf("%d permits are free after the step, want 0", got)
		}
	})
}

func TestPool_TasksOfAKeyHoldUpNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, workers = 60, 5
		all, own := permits(workers)
		pool := schedule.NewPool(all)
		var others, now, most atomic.Int32
		ended := make(chan struct{})
		ts := &tasks{
			key: func(i int) (any, int) {
				if i < n/2 {
					return "slow", 2
				}
				return nil, 0
			},
			run: func(i int, _ *schedule.Permit) {
				if i >= n/2 {
					if others.Add(1) == n/2 {
						close(ended)
					}
					return
				}
				most.Store(max(most.Load(), now.Add(1)))
				<-ended // the tasks of the key wait for all the others
				now.Add(-1)
			},
		}
		step(t.Context(), pool, own, ts, n, workers, nil)
		pool.Close()
		if others.Load() != n/2 {
			t.Errorf("%d others ran, want %d", others.Load(), n/2)
		}
		if most.Load() > workers {
			t.Errorf("%d ran at once, want %d at most", most.Load(), workers)
		}
		slices.Sort(ts.waited)
		if len(ts.waited) != n/2-2 || slices.Contains(ts.waited, 0) || slices.Contains(ts.waited, n/2) {
			t.Errorf("%v waited, want all tasks of the key but the first two", ts.waited)
		}
	})
}

func TestPool_ReplacesWorkersThatATaskEnds(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for _, keyed := range []bool{false, true} {
			for _, collects := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d workers, keys %v, collects %v", workers, keyed, collects), func(t *testing.T) {
					const n = 9
					all, own := permits(workers)
					pool := schedule.NewPool(all)
					var ran atomic.Int32
					ts := &tasks{run: func(i int, _ *schedule.Permit) {
						ran.Add(1)
						switch i % 3 {
						case 1:
							panic(i)
						case 2:
							runtime.Goexit()
						}
					}}
					if keyed {
						ts.key = func(i int) (any, int) { return i % 2, 1 }
					}
					collected := 0
					var collect func([]int, int)
					if collects {
						collect = func(ended []int, _ int) { collected += len(ended) }
					}
					step(t.Context(), pool, own, ts, n, workers, collect)
					pool.Close()
					slices.Sort(ts.lost)
					want := "[1 panicked: 1 2 exited 4 panicked: 4 5 exited 7 panicked: 7 8 exited]"
					if ran.Load() != n || fmt.Sprint(ts.lost) != want || collects && collected != n {
						t.Errorf("%d ran, %d were collected, %v were lost; want %d, %d and %s", ran.Load(), collected, ts.lost, n, n, want)
					}
				})
			}
		}
	}
}

func TestPool_EndsAfterItsContext(t *testing.T) {
	all, own := permits(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	pool := schedule.NewPool(all)
	var ran atomic.Int32
	step(ctx, pool, own, &tasks{run: func(int, *schedule.Permit) { ran.Add(1) }}, 20, 5, nil)
	pool.Close()
	if ran.Load() != 20 {
		t.Errorf("%d tasks ran, want 20: they end by themselves", ran.Load())
	}
}

func TestPool_WorkersStayForTheNextStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, own := permits(2)
		pool := schedule.NewPool(all)
		defer pool.Close()
		var workers sync.Map // the goroutines that ran a task
		for range 50 {
			ts := &tasks{run: func(int, *schedule.Permit) {
				var buf [64]byte
				id, _, _ := strings.Cut(string(buf[:runtime.Stack(buf[:], false)]), "[")
				workers.Store(id, nil)
			}}
			step(t.Context(), pool, own, ts, 2, 2, nil)
			synctest.Wait()
		}
		n := 0
		workers.Range(func(_, _ any) bool { n++; return true })
		if n > 2 {
			t.Errorf("%d goroutines ran the tasks of 50 steps, want 2 at most", n)
		}
	})
}
