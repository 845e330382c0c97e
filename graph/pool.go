package graph

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// pool is the workers of one step. They come one by one: whoever goes to a task first
// hires another worker, if tasks are left and nobody is on the way to them. So quick nodes
// take two goroutines, and a node that blocks keeps no other from starting.
type pool struct {
	sync.WaitGroup
	next  atomic.Int64  // the place in r.todo that is taken next
	done  chan int      // the tasks that have ended, with room for all; nil where only the end of all counts
	left  atomic.Int64  // how many tasks have not ended; counted where done is nil
	all   chan struct{} // closed then when all have ended
	door  atomic.Int32  // whether a worker is on the way
	limit int           // how many may be hired
	hired int           // so many were; only who moves the door from doorOpen touches it

	aside atomic.Int32 // how many tasks were set aside and not begun
	mu    sync.Mutex   // guards the lines
	lines []*line
}

// The states of a pool's door.
const (
	doorOpen    int32 = iota // nobody is on the way: whoever sees it may hire
	doorCalled               // a worker was started and has not begun to run
	doorEntered              // it runs, and goes to its first task
	doorShut                 // nobody may come any more
)

// executeMany runs r.todo on a pool. The coordinator runs none of it: where it is the caller of the
// run, a node of several cannot end it.
func (r *run) executeMany() {
	p := &pool{limit: min(len(r.todo), r.cfg.Concurrency)}
	if r.journal == nil && r.session.watch == nil && r.inside == nil {
		p.left.Store(int64(len(r.todo)))
		p.all = make(chan struct{})
	} else {
		p.done = make(chan int, len(r.todo))
	}
	r.seat.rise()
	defer r.seat.sit(r.ctx)
	defer p.await()
	r.hire(p)
	if p.done == nil {
		<-p.all
		return
	}
	r.hear(p)
}

// await waits for the workers. One that was called and has not begun to run finds the door
// shut: the end of the run waits for it.
func (p *pool) await() {
	if p.door.Swap(doorShut) == doorCalled {
		p.Done()
	}
	p.Wait()
}

// hear takes in what ends, until all has. What finished while others still run is stored
// at once, so that a crash does not lose it; with Exit it is stored when the run ends or pauses.
func (r *run) hear(p *pool) {
	finished := make([]int, 0, len(r.todo))
	for left := len(r.todo); left > 0; {
		finished = append(finished[:0], <-p.done)
		for more := true; more; {
			select {
			case i := <-p.done:
				finished = append(finished, i)
			default:
				more = false
			}
		}
		left -= len(finished)
		for _, i := range finished {
			r.ended(i)
		}
		if left > 0 && r.opts.Durability != Exit {
			r.keep(finished)
		}
	}
}

// take returns the place in r.todo of the next task, which may be behind the last.
func (p *pool) take() int { return int(p.next.Add(1)) - 1 }

// hire starts a worker, unless no task is left or one is on the way. The pool counts the worker
// before the door says that it was called: await takes away one that was called.
func (r *run) hire(p *pool) {
	if int(p.next.Load()) >= len(r.todo) && p.aside.Load() == 0 || p.door.Load() != doorOpen {
		return
	}
	p.Add(1)
	if !p.door.CompareAndSwap(doorOpen, doorCalled) {
		p.Done()
		return
	}
	if p.hired == p.limit {
		if p.door.CompareAndSwap(doorCalled, doorShut) {
			p.Done()
		}
		return
	}
	s := r.spareSeat(p.hired)
	p.hired++
	r.workers.Add(1)
	go r.worker(p, s)
}

// worker is the goroutine of a worker.
func (r *run) worker(p *pool, s *seat) {
	defer r.workers.Done()
	if !p.door.CompareAndSwap(doorCalled, doorEntered) {
		return // the step is over
	}
	defer p.Done()
	s.fill(r.ctx)
	at := p.take()
	p.door.CompareAndSwap(doorEntered, doorOpen)
	if at < len(r.todo) {
		deepen(0)
	}
	r.work(p, s, at)
	s.pause()
}

// work performs the task at this place, and others until none is left. It reports each
// one, come what may.
func (r *run) work(p *pool, s *seat, at int) {
	var l *line
	for at, l = r.admit(p, at); at < len(r.todo); at, l = r.following(p, l) {
		r.hire(p)
		r.tasks[r.todo[at]].seat = s
		r.report(p, s, r.todo[at], l)
	}
}

func (r *run) report(p *pool, s *seat, i int, l *line) {
	returned := false
	defer func() {
		v := recover()
		exits := v == nil && !returned // the node is ending this goroutine
		if v != nil {                  // not of the node, but of what its Policy calls
			r.tasks[i].endedBy(&PanicError{Value: v, Stack: debug.Stack()})
		} else if exits {
			r.tasks[i].endedBy(errGoexit)
		}
		p.leaves(l)
		if err := r.tasks[i].err; err != nil {
			r.stop(err) // here, so that this worker starts no more
		}
		if exits {
			p.Go(func() { r.takeOver(p, s) })
		}
		if p.done != nil {
			p.done <- i
		} else if p.left.Add(-1) == 0 {
			close(p.all)
		}
	}()
	if r.ctx.Err() != nil {
		r.tasks[i].endedBy(r.cancelled())
	} else {
		r.perform(i)
	}
	returned = true
}

// takeOver goes on where a node has ended the goroutine of a worker.
func (r *run) takeOver(p *pool, s *seat) {
	r.work(p, s, p.take())
	s.pause()
}

// deepen gives a new goroutine the stack that a node needs while there is hardly anything
// on it: to grow it later, twice and with all the calls of the runtime on it, takes longer
// than a short run.
//
//go:noinline
func deepen(at uint8) byte {
	var room [5000]byte
	return room[at]
}
