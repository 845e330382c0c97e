package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/schedule"
)

// attempt is the attempt of a task that runs, or ran last. A handler counts its own.
type attempt struct {
	job     *job          // what runs: the node, or its handler
	number  int           // from 1; 0 is before the first
	within  time.Duration // the time of an attempt of the node that the Send gave; 0 is that of the node
	failure *NodeError    // what the handler is given; nil while the node itself runs

	waits    bool   // its last event is Waiting
	waitsFor string // the name of the Limit then; "" is its Policy.Parallel

	givenUp  atomic.Bool        // its time has ended, so what it does does not count
	activity *schedule.Activity // its signs of life; nil unless the node or its handler has a Policy.Idle
}

// limit returns how long the attempt may take; 0 means no limit.
func (a *attempt) limit() time.Duration {
	if a.within > 0 && a.failure == nil {
		return a.within
	}
	return a.job.limit
}

// outOfTime returns the cause with which the context of an attempt of t ends.
func (t *task) outOfTime(e schedule.Expiry) error {
	late := &TimeoutError{Node: t.node.name, Kind: NodeTimeout, Limit: e.Limit, Elapsed: e.Elapsed}
	if e.Idle {
		late.Kind = IdleTimeout
	}
	return late
}

// endOf returns the error of a function that ended with res. err is what it returned itself, or
// ErrAbandoned if it was given up.
func endOf(res schedule.Result, err error) error {
	switch {
	case res.Panic != nil:
		err = (*PanicError)(res.Panic)
	case res.Exited:
		err = errGoexit
	}
	late := (*TimeoutError)(nil)
	if !res.Expired || !errors.As(res.Cause, &late) {
		return err
	}
	own := *late
	own.Elapsed = res.Elapsed
	if !errors.Is(err, ErrTimeout) {
		own.Err = err
	}
	return &own
}

// attempt runs the job of task i once, when its Policy.Parallel and its Limit let it begin.
func (s *superstep) attempt(i int) (err error) {
	t := s.tasks[i]
	leave, err := s.passGates(t)
	if err != nil {
		t.consequence = true // only the end of the run's context keeps it from beginning
		return err
	}
	t.waits = false
	s.run.session.events.task(t, Started, nil)
	ctx, end := t.observeAttempt()
	if end != nil {
		defer func() { end(err) }()
	}
	if t.limit() > 0 || t.job.idle > 0 {
		return s.timed(ctx, i, leave)
	}
	if leave != nil {
		defer leave()
	}
	return t.call(ctx)
}

// timed runs the job of task i within its limits. What it did after its own time had ended, and not
// the run's, does not count. leave lets another attempt begin under a Policy.Parallel or a Limit.
// It is called when the function has returned; it may be nil.
func (s *superstep) timed(ctx context.Context, i int, leave func()) error {
	t := s.tasks[i]
	defer s.transferPermit(i)()
	t.alive()
	bound := schedule.Bound{Limit: t.limit(), Idle: t.job.idle, Activity: t.activity, Grace: s.run.lateGrace(),
		Cause: t.outOfTime, Ended: t.givenUp.Store}
	var err error
	res := bound.Run(ctx, func(ctx context.Context) {
		if leave != nil {
			defer leave()
		}
		err = t.call(ctx)
	})
	if res.Ending == schedule.GivenUp {
		s.replace(i)
		s.tasks[i].consequence = !res.Expired
		return endOf(res, ErrAbandoned)
	}
	t.givenUp.Store(false) // the function has returned, so nothing of it is late any more
	end := endOf(res, err)
	if res.Expired && end != nil {
		t.consequence = false // its own time ended before the run
		if s := t.found.Load(); s != nil {
			s.dropQuestions()
		}
	}
	return end
}

// transferPermit lets the node of task i have its permit, until what it returns is called.
func (s *superstep) transferPermit(i int) func() {
	t := s.tasks[i]
	own := t.permit
	t.permit = own.Transfer()
	given := t.permit
	return func() {
		own.Reclaim(s.run.ctx, given)
		s.tasks[i].permit = own
	}
}

// passGates lets t wait until it may begin an attempt: first for its Policy.Parallel and then
// for its Limit. leave is nil where there is nothing to leave; else it must be called once.
func (s *superstep) passGates(t *task) (leave func(), err error) {
	own, shared := s.ownGate(t), t.job.gate
	if shared != nil && t.around().holds(shared) {
		shared = nil
	}
	if own == nil && shared == nil {
		return nil, nil
	}
	if own != nil {
		if err := t.pass(own, ""); err != nil {
			return nil, err
		}
	}
	if shared == nil {
		return own.Leave, nil
	}
	if err := t.pass(shared, t.job.shared); err != nil {
		if own != nil {
			own.Leave()
		}
		return nil, err
	}
	if own == nil {
		return shared.Leave, nil
	}
	return func() { shared.Leave(); own.Leave() }, nil
}

// ownGate returns the gate of the Policy.Parallel of t in the run, or nil.
func (s *superstep) ownGate(t *task) *schedule.Gate {
	if t.job.parallel == 0 {
		return nil
	}
	return s.gates.gate(runner{t.node, t.job})
}

// end waits for what the node of a task that was found has left running. err is how the
// node ended; end returns how the attempt does.
func (t *task) end(err error) error {
	s := t.scope()
	err = s.memo.Load().endAttempt(s.close(err))
	t.open = s.unanswered()
	if err == nil && len(t.open) == 0 {
		err = s.back.missed()
	}
	return err
}

// asks reports whether the node has asked what is not answered.
func (t *task) asks() bool {
	s := t.found.Load()
	return s != nil && len(s.unanswered()) > 0
}

// call runs the node and its branches once. A panic becomes an error.
func (t *task) call(ctx context.Context) (err error) {
	listed := t.running != nil
	if listed {
		t.markRunning()
	}
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
		t.noteEnd(err)
		if t.isFound() {
			failed := err != nil
			err = t.end(err)
			if !failed {
				t.noteEnd(err)
			}
		}
		if listed {
			t.running.markReturned(t)
		}
	}()
	payload := t.payload
	if t.failure != nil {
		payload = t.failure
	}
	cmd, err := t.job.call(ctx, t.view.State, payload)
	if err == nil && t.node.straight && cmd.zero() && t.failure == nil && !t.isFound() {
		return t.run.schema.CheckWrites(t.view) // it only goes along its edges
	}
	return t.decide(ctx, cmd, err)
}

// follow takes the targets of a Command: see [routing.follow].
func (t *task) follow(c Command, allowed targets, branch int) error {
	if c.empty() {
		return nil
	}
	return t.route().follow(c, allowed, branch)
}

// decide works out where the run goes after the job, which returned cmd and err: it takes the
// Command, runs the branches, and checks the writes of all of them.
func (t *task) decide(ctx context.Context, cmd Command, err error) error {
	goes := !cmd.empty()
	if up := parentCommandIn(err); up != nil {
		goes = len(up.Goto)+len(up.Sends) > 0
		err = t.apply(up)
	} else if err == nil {
		if t.asks() {
			return nil
		}
		branch := 0
		if t.failure != nil {
			branch = checkpoint.HandlerBranch
		}
		err = t.follow(cmd, t.job.targets, branch)
	}
	if err == nil {
		err = t.run.schema.CheckWrites(t.view)
	}
	if err != nil || t.parentCommand() != nil {
		return err
	}
	if t.failure != nil && goes {
		t.route().out.Diverted = true
		return nil
	}
	for i, b := range t.node.branches {
		cmd, err := b.call(ctx, t.view.State, nil)
		if err != nil {
			return inBranch(err)
		}
		if err := t.follow(cmd, b.targets, i+1); err != nil || t.parentCommand() != nil {
			return inBranch(err)
		}
		if err := t.run.schema.CheckWrites(t.view); err != nil { // a branch may write too
			return inBranch(err)
		}
	}
	if t.node.mustGo && !goes && len(t.node.branches) == 0 {
		return t.route().nowhere(t.job.targets)
	}
	return nil
}

func inBranch(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("branch: %w", err)
}

// Heartbeat is a node's sign of life: it starts the time of Policy.Idle anew, and of
// no other limit. Outside of a run, and after the attempt has ended, it does nothing.
func Heartbeat(ctx context.Context) {
	if t := taskOf(ctx); t != nil && ctx.Err() == nil {
		t.alive()
	}
}

// Attempt returns the number of the running attempt, from 1, and 0 outside a node. A
// handler counts its own. After a resume it starts anew.
func Attempt(ctx context.Context) int {
	t := taskOf(ctx)
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.number
}

// isHandling reports whether the handler of t runs, in place of its node.
func (t *task) isHandling() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failure != nil
}

// alive notes a sign of life of t, which is one of the tasks around it too.
func (t *task) alive() { t.addWaits(0) }

// addWaits is alive, and with 1 lets t count as alive until addWaits is called with -1: while the
// runtime lets it wait.
func (t *task) addWaits(more int) {
	for ; t != nil; t = t.run.inside {
		t.activity.AddWaits(more)
	}
}

// pass lets t wait at g, which is that of a Limit or, if that is "", of its Policy.Parallel. It is
// not idle meanwhile, and releases its permit: the tasks that have passed g may be waiting for one.
func (t *task) pass(g *schedule.Gate, limit string) error {
	if g.TryEnter() {
		return nil
	}
	t.waitFor(limit)
	t.addWaits(1)
	defer t.addWaits(-1)
	t.permit.Release()
	defer t.permit.Acquire(t.run.ctx)
	return g.Enter(t.run.ctx)
}

// holds reports whether t, or a task around it, has passed g and is still under way: it
// would wait here for itself.
func (t *task) holds(g *schedule.Gate) bool {
	for ; t != nil; t = t.around() {
		if t.passed(g) {
			return true
		}
	}
	return false
}

func (t *task) passed(g *schedule.Gate) bool {
	if s := t.found.Load(); s != nil && s.isOver() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.job.gate == g
}

// around returns the task that the run of t is part of, or from whose node it was begun; nil
// if there is none.
func (t *task) around() *task {
	if t.run.inside != nil {
		return t.run.inside
	}
	return taskOf(t.run.ctx)
}

// mayBeHandled reports whether the handler of t may run after the failure of t.
func (t *task) mayBeHandled() bool {
	return t.failure == nil && !IsStoreFailure(t.err) && !errors.Is(t.err, ErrNoParent)
}

// toHandler stores the failure of t, and makes t ready to run its handler.
func (t *task) toHandler(err error) error {
	failure := t.placed(err)
	errors.As(err, &failure)
	if t.run.journal != nil {
		data, err := json.Marshal(failure.Failure())
		if err == nil {
			err = t.run.journal.PutWhile(t.run.allowed, []checkpoint.Entry{{Task: t.id(), Slot: slotFailure, Data: data}})
		}
		if err != nil {
			return errors.Join(failure, err)
		}
	}
	t.run.session.events.task(t, Handling, failure)
	t.mu.Lock()
	t.failure, t.number, t.job = failure, 1, t.node.onError
	t.mu.Unlock()
	t.open = nil
	t.reset()
	return nil
}

// apply executes a Command from a subgraph, as if the node had returned it. The writes come
// after those of the node.
func (t *task) apply(a *parentCommand) error {
	if err := a.writeTo(t.run.schema, t.view); err != nil {
		return fmt.Errorf("a Command from the child: %w", err)
	}
	return t.route().apply(a, t.job.targets)
}
