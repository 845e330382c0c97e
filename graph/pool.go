package graph

import "github.com/weftrun/weft/internal/schedule"

// executeMany runs r.todo on the workers of the run. The coordinator runs none of it: where it is the
// caller of the run, a node of several cannot end it.
func (r *run) executeMany() {
	if r.pool == nil {
		r.pool = schedule.NewPool(r.permit.Permits())
	}
	var collect func(ended []int, left int)
	if r.journal != nil || r.session.watch != nil || r.inside != nil {
		collect = r.collectEnded
	}
	r.permit.Release()
	defer r.permit.Acquire(r.ctx)
	r.pool.Run(r.ctx, wideStep{r}, len(r.todo), r.cfg.Concurrency, collect)
}

// collectEnded takes in tasks that have ended, by their places in r.todo. What has finished while
// others still run is stored at once, so that a crash does not lose it; with Exit it is stored when
// the run ends or pauses.
func (r *run) collectEnded(ended []int, left int) {
	for n, place := range ended {
		ended[n] = r.todo[place]
		r.ended(ended[n])
	}
	if left > 0 && r.opts.Durability != Exit {
		r.keep(ended)
	}
}

// wideStep is r.todo as the tasks of a pool.
type wideStep struct{ r *run }

// Key returns what the task at a place in r.todo would wait for: its Policy.Parallel or its Limit,
// whichever lets fewer run.
func (w wideStep) Key(place int) (key any, limit int) {
	t := w.r.tasks[w.r.todo[place]]
	if n := t.job.parallel; n > 0 {
		key, limit = t.job, n
	}
	if g := t.job.gate; g != nil {
		if n := g.Concurrency(); n > 0 && (limit == 0 || n < limit) && !t.around().holds(g) {
			key, limit = g, n
		}
	}
	return key, limit
}

// Run performs the task at a place in r.todo, unless the step is cancelled.
func (w wideStep) Run(place int, p *schedule.Permit) {
	r, i := w.r, w.r.todo[place]
	r.tasks[i].permit = p
	if r.ctx.Err() != nil {
		r.tasks[i].endedBy(r.cancelled())
	} else {
		r.perform(i)
	}
	w.stop(i)
}

// Lost makes a panic, which is not the node's but of what its Policy calls, or a runtime.Goexit the
// failure of the task.
func (w wideStep) Lost(place int, p *schedule.Panic) {
	i, err := w.r.todo[place], errGoexit
	if p != nil {
		err = (*PanicError)(p)
	}
	w.r.tasks[i].endedBy(err)
	w.stop(i)
}

// stop cancels the other tasks if task i has failed. The worker does it, so that it starts no more.
func (w wideStep) stop(i int) {
	if err := w.r.tasks[i].err; err != nil {
		w.r.stop(err)
	}
}
