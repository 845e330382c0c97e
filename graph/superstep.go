package graph

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/schedule"
	"github.com/weftrun/weft/internal/step"
	"github.com/weftrun/weft/state"
)

// superstep is the step of a run that is due or runs: its tasks, and what runs them. A run uses one
// for all its steps, and the tasks of earlier steps again.
type superstep struct {
	run     *run
	tasks   []*task // in canonical order
	unused  []task  // tasks that were made and not used yet: those of a wide step are made a few at a time
	outs    []*step.Outcome
	leaving *parentCommand // the Command to the parent that ends the run after this step: the first of several
	keepErr error          // a failure to store what finished tasks did

	todo   []int            // the tasks that are to be run
	permit *schedule.Permit // of the coordinator and the task that it runs inline
	pool   *schedule.Pool   // runs the tasks of wide steps; nil until there is one
	counts atomic.Pointer[sendCounts]
	gates  gates // of the nodes with a Policy.Parallel

	inlineStorage inlineStorage
}

// inlineStorage is where tasks and outs begin, and the first task: a chain needs no more.
type inlineStorage struct {
	tasks [1]*task
	task  task
	outs  [1]*step.Outcome
}

// gates are the gates of the nodes and handlers of a run that have a Policy.Parallel.
type gates struct {
	mu sync.Mutex
	of map[runner]*schedule.Gate
}

// gate returns the gate of a node or handler.
func (g *gates) gate(of runner) *schedule.Gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of[of] == nil {
		if g.of == nil {
			g.of = map[runner]*schedule.Gate{}
		}
		g.of[of] = schedule.NewGate(of.job.parallel, 0, 0)
	}
	return g.of[of]
}

// sendCounts has the number of Sends to each node in a step.
type sendCounts struct {
	step   int
	byNode map[int]int
}

// sendsTo returns how many Sends to the node of a task its step has, 0 for a task of an edge. The
// events of a step count once.
func (s *superstep) sendsTo(t *task) int {
	if t.index < 0 || t.index >= len(s.run.front.Sends) {
		return 0
	}
	c := s.counts.Load()
	if c == nil || c.step != s.run.step {
		c = &sendCounts{s.run.step, map[int]int{}}
		for _, send := range s.run.front.Sends {
			c.byNode[send.Node]++
		}
		s.counts.Store(c)
	}
	return c.byNode[s.run.front.Sends[t.index].Node]
}

// prepare makes the tasks of the next step: edge-triggered nodes by name, then
// Sends. On the first step of a resumed run they may be there already.
func (s *superstep) prepare() {
	if len(s.tasks) > 0 {
		return
	}
	s.run.step++
	s.run.steps++
	if n := s.run.front.Len(); n > cap(s.tasks) {
		s.tasks = slices.Grow(s.tasks[:cap(s.tasks)], n-cap(s.tasks))[:0] // keeps the tasks of earlier steps for reuse
	}
	for _, n := range s.run.front.Due {
		s.add(n, -1, nil)
	}
	for i, send := range s.run.front.Sends {
		s.add(send.Node, i, send.Payload)
		s.tasks[len(s.tasks)-1].within = time.Duration(send.Timeout)
	}
}

// add appends a task to the step. The tasks of earlier steps are used again.
func (s *superstep) add(number, index int, payload any) {
	n := len(s.tasks)
	if n < cap(s.tasks) {
		s.tasks = s.tasks[:n+1]
	} else {
		s.tasks = append(s.tasks, nil)
	}
	if s.tasks[n] == nil {
		s.tasks[n] = s.newTask()
	}
	s.tasks[n].begin(&s.run.nodes[number], index, payload)
}

// newTask makes a task of the step; several come from one block. Only the coordinator calls it.
func (s *superstep) newTask() *task {
	if len(s.unused) == 0 {
		n := min(max(s.run.front.Len()-len(s.tasks), 0)+1, 16)
		if n == 1 {
			t := &s.inlineStorage.task
			if t.run != nil { // a node may have retained it as its context
				t = new(task)
			}
			return s.furnish(t, s.run.schema.Blank())
		}
		s.unused = make([]task, n)
		for i, v := range s.run.schema.Blanks(n) {
			s.furnish(&s.unused[i], v)
		}
	}
	t := &s.unused[0]
	s.unused = s.unused[1:]
	return t
}

// furnish makes t a task of the run, that has not begun.
func (s *superstep) furnish(t *task, v state.View) *task {
	t.Context, t.run, t.view = s.run.context(), s.run, v
	return t
}

// assess looks at what the tasks returned: whether all have finished, whether one
// waits for an answer, and why the step failed. Unless all have finished, what the others
// have done is stored.
func (s *superstep) assess() (waits bool, err error) {
	failed := false
	for _, t := range s.tasks {
		switch {
		case len(t.open) > 0:
			waits = true
		case t.err != nil:
			failed = true
		case s.leaving == nil:
			s.leaving = t.parentCommand()
		}
	}
	if failed {
		err = s.failure()
	}
	if failed || waits || s.keepErr != nil {
		err = errors.Join(err, s.storeUnfinished())
	}
	return waits, err
}

// failure returns the first failure of the step in canonical order, or nil. What failed after the
// step was cancelled is a consequence, and counts only where nothing of the step reports the cause.
func (s *superstep) failure() error {
	if err := s.ownFailure(); err != nil {
		return err
	}
	if s.keepErr != nil {
		return nil // the step failed because of keepErr, which storeUnfinished returns to assess
	}
	for _, t := range s.tasks {
		if t.err != nil && len(t.open) == 0 {
			return t.err // a consequence
		}
	}
	return nil
}

// concluded makes what the step's tasks led to the outcomes of the step.
func (s *superstep) concluded() {
	s.outs = slices.Grow(s.outs[:0], len(s.tasks))
	for _, t := range s.tasks {
		s.outs = append(s.outs, t.outcome())
	}
}

// whatRan describes what the tasks of the step did, for its commit.
func (s *superstep) whatRan(buffer *recordBuffer) []checkpoint.Ran {
	ran, names, ways := slices.Grow(buffer.ran[:0], len(s.outs)), buffer.wrote[:0], buffer.ways[:0]
	for i, o := range s.outs {
		var r checkpoint.Ran
		if o.Node >= 0 {
			r.Node = s.run.nodes[o.Node].name
		}
		if i < len(s.tasks) {
			from, past := len(names), len(ways)
			names, ways = appendWrote(names, s.run.schema, s.tasks[i].view), s.tasks[i].routed.appendWays(ways)
			r.Wrote, r.Ways = names[from:len(names):len(names)], ways[past:len(ways):len(ways)]
		}
		ran = append(ran, r)
	}
	buffer.ran, buffer.wrote, buffer.ways = ran, names, ways
	return ran
}

// trace returns the results and answers of the tasks of the step, for its commit; nothing
// without Config.Trace.
func (s *superstep) trace() (entries []checkpoint.Entry) {
	if !s.run.cfg.Trace {
		return nil
	}
	fresh := s.run.questions.takeUntraced()
	for _, t := range s.tasks {
		maps.Copy(fresh, t.rewound().usedAnswers())
	}
	entries = fresh.entries()
	for _, t := range s.tasks {
		entries = append(entries, t.memo().entries()...)
	}
	return entries
}

// storeFinished stores what these tasks finished, while others still run. If that fails, the
// run fails.
func (s *superstep) storeFinished(finished []int) {
	if s.run.journal == nil || s.keepErr != nil {
		return
	}
	var entries []checkpoint.Entry
	for _, i := range finished {
		if t := s.tasks[i]; t.finished() {
			es, err := t.entries()
			if err != nil {
				t.err = err
				s.stop(err)
				continue
			}
			entries = append(entries, es...)
			t.settled = true
		}
	}
	if len(entries) > 0 {
		if s.keepErr = s.run.journal.Put(entries); s.keepErr != nil {
			s.stop(s.keepErr)
		}
	}
}

// storeUnfinished stores what the tasks of a step that cannot be committed have done.
func (s *superstep) storeUnfinished() error {
	if s.run.journal == nil || s.keepErr != nil {
		return s.keepErr
	}
	var entries []checkpoint.Entry
	var errs []error
	for _, t := range s.tasks {
		es, err := t.entries()
		errs = append(errs, err)
		entries = append(entries, es...)
	}
	if len(entries) > 0 {
		entries = append(entries, s.run.carrierEntries()...)
		again, note, err := s.run.nextRerun()
		if err == nil {
			err = s.run.setTimer(s.tasks, again)
		}
		if err == nil {
			err = s.run.journal.Put(append(entries, note...))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
