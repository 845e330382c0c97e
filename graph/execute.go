package graph

import (
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"github.com/weftrun/weft/internal/schedule"
)

// stopped is the cause of cancelling a step of a run in which a task failed with err. It is an
// errStopped.
type stopped struct {
	by  *run
	err error
}

func (e *stopped) Error() string   { return errStopped.Error() + ": " + textOf(e.err) }
func (e *stopped) Unwrap() []error { return []error{errStopped, e.err} }

// execute runs the tasks of the step that are not settled yet. One runs inline,
// several on a bounded pool; results stay with their tasks, so the order in which
// they finish does not matter. It returns when all have ended.
func (s *superstep) execute() {
	if len(s.tasks) == 1 && !s.tasks[0].settled {
		s.performInline()
		if s.run.session.events != nil || s.tasks[0].err != nil {
			s.ended(0)
		}
		return
	}
	s.todo = slices.Grow(s.todo[:0], len(s.tasks))
	for i, t := range s.tasks {
		if !t.settled {
			s.todo = append(s.todo, i)
		}
	}
	if len(s.todo) > 0 {
		s.executeMany()
	}
}

// executeMany runs s.todo on the workers of the run. The coordinator runs none of it: where it
// is the caller of the run, a node of several cannot end it.
func (s *superstep) executeMany() {
	if s.pool == nil {
		s.pool = schedule.NewPool(s.permit.Permits())
	}
	// Only a store, readers and the tasks around a subgraph need to know of a task before the step
	// has ended.
	var collect func(ended []int, left int)
	if s.run.journal != nil || s.run.session.events != nil || s.run.inside != nil {
		collect = s.collectEnded
	}
	s.permit.Release()
	defer s.permit.Acquire(s.run.ctx)
	s.pool.Run(s.run.ctx, wideStep{s}, len(s.todo), s.run.cfg.Concurrency, collect)
}

// collectEnded takes in tasks that have ended, by their places in s.todo. What has finished while
// others still run is stored at once, so that a crash does not lose it; with Exit it is stored when
// the run ends or pauses. Readers learn of the end of a task after it is stored, because a result
// that cannot be stored is a failure.
func (s *superstep) collectEnded(ended []int, left int) {
	for n, place := range ended {
		ended[n] = s.todo[place]
	}
	if left > 0 && s.run.opts.Durability != Exit {
		s.storeFinished(ended)
	}
	for _, i := range ended {
		s.ended(i)
	}
}

// performInline runs the only task of the step. A panic that is not the node's, but of what its
// Policy calls or of a method of its error, is a failure of the task too.
func (s *superstep) performInline() {
	t := s.tasks[0] // a first attempt that succeeds runs nothing that may panic but its node, whose panic call takes
	if !s.isQuick(t) {
		s.performSafely(func() { s.perform(0) })
		return
	}
	t.number = 1
	if err := t.call(t); err != nil || len(t.open) > 0 || t.called().hasUnsaved() {
		s.performSafely(func() { s.endQuick(0, err) })
	}
}

// performSafely calls f, which performs the only task of the step.
func (s *superstep) performSafely(f func()) {
	defer func() {
		if v := recover(); v != nil {
			s.tasks[0].endedBy(&PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	f()
}

// isQuick reports whether t needs no timer, watcher, cache or retry state for its first attempt.
func (s *superstep) isQuick(t *task) bool {
	return t.node.quick && s.run.session.events == nil && s.run.inside == nil && t.number == 0 && t.within == 0
}

// endQuick goes on with task i, which is quick, after its first attempt.
func (s *superstep) endQuick(i int, err error) {
	t := s.tasks[i]
	if s.more(t, err, time.Time{}) {
		s.performFully(i)
	} else if t.err != nil {
		s.handleFailure(i)
	}
}

// ended reports to the readers how task i ended, and stops the others if it failed.
func (s *superstep) ended(i int) {
	t := s.tasks[i]
	if t.err != nil {
		s.stop(t.err)
	}
	s.run.session.events.taskEnded(t)
}

// stop ends the context of the run because of err. Tasks that have not ended are cancelled, and no
// step follows.
func (s *superstep) stop(err error) { s.run.life.cancel(&stopped{s.run, err}) }

// perform runs task i to its end: a result, a question, or an error after its last attempt and its
// handler.
func (s *superstep) perform(i int) {
	t := s.tasks[i]
	if !s.isQuick(t) {
		s.performFully(i)
		return
	}
	t.number = 1
	s.endQuick(i, t.call(t))
}

// performFully is perform for a task that is not quick, or whose first attempt has failed.
func (s *superstep) performFully(i int) {
	t := s.tasks[i]
	if o := s.run.session.observer(); o != nil {
		defer s.observeTask(o, i)()
	}
	if s.run.inside != nil {
		s.run.inside.alive()
	}
	cache := cacheFor(t)
	if cache != nil && cache.recall(t) {
		return
	}
	s.runJob(i)
	if t = s.tasks[i]; t.err != nil {
		s.handleFailure(i)
	} else if cache != nil {
		cache.memoize(t)
	}
}

// handleFailure runs the handler of task i, if it has one, after its failure.
func (s *superstep) handleFailure(i int) {
	t := s.tasks[i]
	if t.node.onError == nil || t.consequence || !t.mayBeHandled() {
		return
	}
	if s.run.ctx.Err() != nil {
		t.cutOff()
		return
	}
	if t.err = t.toHandler(t.err); t.err == nil {
		s.runJob(i)
	}
}

// runJob runs the job of task i until an attempt succeeds or asks, or none is left.
func (s *superstep) runJob(i int) {
	t := s.tasks[i]
	var began time.Time
	if t.job.budgeted {
		began = time.Now()
	}
	if t.number == 0 {
		t.number = 1
	}
	for again := true; again; {
		err := s.attempt(i)
		t = s.tasks[i] // a task that was given up has a successor
		again = s.more(t, err, began)
	}
}

// more looks at how an attempt of t ended, and reports whether another follows.
func (s *superstep) more(t *task, err error, began time.Time) bool {
	if err == nil && len(t.open) == 0 {
		return false // it has finished
	}
	if t.called().hasUnsaved() {
		err = errors.Join(err, t.called().save())
	}
	if len(t.open) > 0 && (err == nil || errors.Is(err, ErrInterrupted)) {
		return false // it asks
	}
	t.open = nil
	t.err = t.failed(err)
	if t.consequence || !s.waitToRetry(t, err, began) {
		return false
	}
	t.nextAttempt()
	return true
}

// waitToRetry waits before the next attempt of t, which failed with err; false means that there is
// none.
func (s *superstep) waitToRetry(t *task, err error, began time.Time) bool {
	var elapsed time.Duration
	if t.job.budgeted {
		elapsed = time.Since(began)
	}
	wait, again := t.job.retry.again(t.number, err, elapsed, s.run.cfg.Rand)
	if !again {
		return false
	}
	if s.run.ctx.Err() != nil {
		t.cutOff()
		return false
	}
	s.run.session.events.task(t, Retrying, t.err)
	t.addWaits(1)
	defer t.addWaits(-1)
	if !schedule.Sleep(s.run.ctx, wait) {
		t.cutOff()
		return false
	}
	return true
}

// replace gives up task i, whose node still runs, and puts a new one in its place.
func (s *superstep) replace(i int) {
	old := s.tasks[i]
	old.givenUp.Store(true)
	s.run.session.gaveUp.Store(true)
	t := s.furnish(new(task), s.run.schema.Blank()) // this is a worker
	t.Context = old.Context
	t.begin(old.node, old.index, old.payload)
	t.number, t.within, t.job, t.failure = old.number, old.within, old.job, old.failure
	from, to := old.scope(), t.scope()
	to.memo.Store(memoOf(old))
	to.restarts, to.timed, to.back = from.restarts, from.timed, from.back.anew()
	old.running.drop(old)
	s.tasks[i] = t
}

// wideStep is s.todo as the tasks of a pool.
type wideStep struct{ s *superstep }

// Key returns what the task at a place in s.todo would wait for: its Policy.Parallel or its Limit,
// whichever lets fewer run.
func (w wideStep) Key(place int) (key any, limit int) {
	key, limit, _ = w.key(place)
	return key, limit
}

// Waits sends that the task at a place in s.todo waits.
func (w wideStep) Waits(place int) {
	_, _, name := w.key(place)
	w.s.tasks[w.s.todo[place]].waitFor(name)
}

// key returns the Key with the name of the Limit, "" for the Policy.Parallel.
func (w wideStep) key(place int) (key any, limit int, name string) {
	t := w.s.tasks[w.s.todo[place]]
	if n := t.job.parallel; n > 0 {
		key, limit = runner{t.node, t.job}, n
	}
	if g := t.job.gate; g != nil {
		if n := g.Concurrency(); n > 0 && (limit == 0 || n < limit) && !t.around().holds(g) {
			key, limit, name = g, n, t.job.shared
		}
	}
	return key, limit, name
}

// Run performs the task at a place in s.todo, unless the step is cancelled.
func (w wideStep) Run(place int, p *schedule.Permit) {
	s, i := w.s, w.s.todo[place]
	s.tasks[i].permit = p
	if s.run.ctx.Err() != nil {
		s.tasks[i].endedBy(s.run.cancelled())
	} else {
		s.perform(i)
	}
	w.stop(i)
}

// Lost makes a panic, which is not the node's but of what its Policy calls, or a runtime.Goexit the
// failure of the task.
func (w wideStep) Lost(place int, p *schedule.Panic) {
	i, err := w.s.todo[place], errGoexit
	if p != nil {
		err = (*PanicError)(p)
	}
	w.s.tasks[i].endedBy(err)
	w.stop(i)
}

// stop cancels the other tasks if task i has failed. The worker does it, so that it starts no more.
func (w wideStep) stop(i int) {
	if err := w.s.tasks[i].err; err != nil {
		w.s.stop(err)
	}
}

// observedStep runs and commits the step for a run with an observer.
func (r *run) observedStep(o Observer) (status Status, err error) {
	ctx, end := begin(o, r.context(), r.activity(StepActivity, ""))
	for _, t := range r.tasks {
		t.Context = ctx
	}
	returned := false
	defer func() {
		if !returned {
			end(Outcome{Err: errGoexit, Status: Failed})
		}
	}()
	r.execute()
	status, err = r.commitStep()
	returned = true
	end(Outcome{Err: err, Status: status})
	return status, err
}

// observeTask begins task i for an observer, and returns a function that ends it.
func (s *superstep) observeTask(o Observer, i int) (end func()) {
	t := s.tasks[i]
	t.scope() // its node may retain the context, so the task is not used again
	ctx, ended := begin(o, t.Context, t.describe(TaskActivity))
	t.Context = ctx
	return func() {
		t := s.tasks[i] // a task that was given up has a successor
		out := Outcome{Err: t.err, Phase: t.endPhase(), Interrupts: withoutDrained(t.open), Cached: t.cached}
		ended(out)
	}
}
