package schedule

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Tasks is what a [Pool] runs. Several goroutines call its methods at once, each with another i.
type Tasks interface {
	// Key returns the concurrency key of task i and how many tasks of that key may run at once.
	// A task that may run beside any others has a limit of 0, and no key.
	Key(i int) (key any, limit int)

	// Waits is called before task i waits until another of its key has ended. It may run at once if
	// one ends meanwhile.
	Waits(i int)

	// Run runs task i, under a permit of its worker.
	Run(i int, p *Permit)

	// Lost is called after a Run(i) that did not return: it panicked or, if p is nil, called
	// runtime.Goexit. The other tasks go on.
	Lost(i int, p *Panic)
}

// Pool runs the tasks of one step after another. Workers start lazily: each worker starts the
// next before it runs its task, if tasks remain. So quick tasks need two goroutines, and a task
// that blocks keeps no other from starting. Two workers at most stay for the next step.
type Pool struct {
	permits    *Permits
	spare      []*Permit      // of the workers, by their number
	goroutines sync.WaitGroup // all workers, also those that began too late for their step
	idle       atomic.Int32   // the workers that wait for a shift, or are about to
	shifts     chan shift     // for idle workers

	// Of the step that runs:
	tasks   Tasks
	n       int
	limit   int            // the most workers
	started int            // workers; only the goroutine that moved the intake from open touches it
	working sync.WaitGroup // the workers that must end before the step does
	place   atomic.Int64   // the task that is next
	left    atomic.Int64   // tasks that have not ended; counted where nothing is collected
	all     chan struct{}  // gets an element when all have ended; has room for it
	done    chan int       // the tasks that have ended, with room for all; nil where nothing is collected
	intake  atomic.Uint64  // the number of the step, and an intake state in the two lowest bits
	parked  atomic.Int64   // tasks in wait queues

	mu     sync.Mutex // guards the queues
	queues []*waitQueue
}

// The states of the intake of workers.
const (
	intakeOpen     = iota // the next worker may be started; 0, so the number of the step alone is this state
	intakeStarting        // a worker was started and does not run yet
	intakeEntering        // it runs, and takes its first task
	intakeClosed          // no more workers
	intakeBits     = 3
)

// maxIdle is how many workers wait for the next step: as many as run the tasks of a quick one.
const maxIdle = 2

// shift is what one worker does in one step.
type shift struct {
	ctx    context.Context
	step   uint64 // the intake when the worker was started
	permit *Permit
}

// NewPool returns a pool whose workers get their permits from p.
func NewPool(p *Permits) *Pool {
	return &Pool{permits: p, all: make(chan struct{}, 1), shifts: make(chan shift, maxIdle)}
}

// Run runs the tasks 0 to n-1 of t on up to so many workers, and returns when all have ended. The
// goroutine that calls it runs none of them, so no task can end it. When ctx ends, workers go on
// without permits.
//
// collect, if it is not nil, is called on the caller's goroutine with tasks that have ended, and
// with how many have not. It does not keep the slice.
func (p *Pool) Run(ctx context.Context, t Tasks, n, workers int, collect func(ended []int, left int)) {
	p.tasks, p.n, p.limit, p.started, p.done, p.queues = t, n, min(n, workers), 0, nil, nil
	p.place.Store(0)
	p.left.Store(int64(n))
	if collect != nil {
		p.done = make(chan int, n)
	}
	p.intake.Store(p.intake.Load()&^intakeBits + intakeBits + 1)
	defer p.endStep()
	p.startWorker(ctx)
	if collect == nil {
		<-p.all
		return
	}
	p.collect(collect)
}

// Close ends the workers, and waits for their goroutines. It comes after the last Run; p may be
// nil.
func (p *Pool) Close() {
	if p != nil {
		close(p.shifts)
		p.goroutines.Wait()
	}
}

// endStep ends a step when its workers have ended. One that was started and does not run yet
// finds the intake closed.
func (p *Pool) endStep() {
	step := p.intake.Load() &^ intakeBits
	if p.intake.Swap(step|intakeClosed) == step|intakeStarting {
		p.working.Done()
	}
	p.working.Wait()
	p.tasks = nil
}

// collect hands over what ends, until all has.
func (p *Pool) collect(collect func(ended []int, left int)) {
	ended := make([]int, 0, p.n)
	for left := p.n; left > 0; {
		ended = append(ended[:0], <-p.done)
		for more := true; more; {
			select {
			case i := <-p.done:
				ended = append(ended, i)
			default:
				more = false
			}
		}
		left -= len(ended)
		collect(ended, left)
	}
}

// next returns the next task, or a number from n up if there is none.
func (p *Pool) next() int { return int(p.place.Add(1)) - 1 }

// startWorker starts a worker, unless no task is left or a worker is starting. It counts the worker
// before the intake shows that it is starting: endStep takes away one that was.
func (p *Pool) startWorker(ctx context.Context) {
	in := p.intake.Load()
	if in&intakeBits != intakeOpen || int(p.place.Load()) >= p.n && p.parked.Load() == 0 {
		return
	}
	p.working.Add(1)
	if !p.intake.CompareAndSwap(in, in|intakeStarting) {
		p.working.Done()
		return
	}
	if p.started == p.limit {
		if p.intake.CompareAndSwap(in|intakeStarting, in|intakeClosed) {
			p.working.Done()
		}
		return
	}
	sh := shift{ctx, in, p.permit(p.started)}
	p.started++
	if p.takeIdle() {
		p.shifts <- sh
		return
	}
	p.goroutines.Add(1)
	go p.worker(sh)
}

// takeIdle reports whether an idle worker takes the next shift.
func (p *Pool) takeIdle() bool {
	for n := p.idle.Load(); n > 0; n = p.idle.Load() {
		if p.idle.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// stay reports whether a worker waits for another shift.
func (p *Pool) stay() bool {
	for n := p.idle.Load(); n < maxIdle; n = p.idle.Load() {
		if p.idle.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// permit returns the permit of a worker, which is not held yet.
func (p *Pool) permit(worker int) *Permit {
	if worker == len(p.spare) {
		p.spare = append(p.spare, nil)
	}
	if s := p.spare[worker]; s == nil || s.isClosed() {
		p.spare[worker] = &Permit{from: p.permits, free: true}
	}
	return p.spare[worker]
}

// worker is the goroutine of a worker, from its first shift on.
func (p *Pool) worker(sh shift) {
	defer p.goroutines.Done()
	GrowStack()
	for more := true; more; {
		if more = p.serve(sh); more {
			sh, more = <-p.shifts
		}
	}
}

// serve does a shift, and reports whether the worker stays. It does before the step ends, so the
// next step finds the worker.
func (p *Pool) serve(sh shift) (stays bool) {
	if !p.intake.CompareAndSwap(sh.step|intakeStarting, sh.step|intakeEntering) {
		return p.stay() // the step is over
	}
	defer p.working.Done()
	sh.permit.take(sh.ctx)
	i := p.next()
	p.intake.CompareAndSwap(sh.step|intakeEntering, sh.step)
	p.work(sh.ctx, sh.permit, i)
	sh.permit.suspend()
	return p.stay()
}

// work runs task i, and others until none is left.
func (p *Pool) work(ctx context.Context, permit *Permit, i int) {
	var q *waitQueue
	for i, q = p.ready(i); i < p.n; i, q = p.nextAfter(q) {
		p.startWorker(ctx)
		p.run(ctx, permit, i, q)
	}
}

// run runs task i, and notes that it has ended, however it did.
func (p *Pool) run(ctx context.Context, permit *Permit, i int, q *waitQueue) {
	returned := false
	defer func() {
		if !returned {
			p.lost(ctx, permit, i, recover())
		}
		p.leave(q)
		if p.done != nil {
			p.done <- i
		} else if p.left.Add(-1) == 0 {
			p.all <- struct{}{}
		}
	}()
	p.tasks.Run(i, permit)
	returned = true
}

// lost reports a task that did not return, because of a panic with v or, if that is nil, because
// it is ending this goroutine: then another worker goes on.
func (p *Pool) lost(ctx context.Context, permit *Permit, i int, v any) {
	if v != nil {
		p.tasks.Lost(i, &Panic{v, debug.Stack()})
		return
	}
	p.tasks.Lost(i, nil)
	p.working.Go(func() {
		p.work(ctx, permit, p.next())
		permit.suspend()
	})
}

// GrowStack gives a new goroutine the stack that a task needs, while there is hardly anything on
// it. To grow it later, twice and with many calls on it, takes longer than a short task.
func GrowStack() { growStack(0) }

//go:noinline
func growStack(at uint8) byte {
	var room [5000]byte
	return room[at]
}
