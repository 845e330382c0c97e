package graph

import (
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/journal"
)

// A run that is driven from outside is made of many sessions: a Plan, and for each step its RunTasks and
// a Commit. What one of them leaves for the others is beside the head of the thread, in the form in
// which a run that stops leaves it for Resume. In addition it says of which run it is, so that a call
// that is made again, after a lost reply, finds what it has done.

// drivenCall is what a session knows that is one call of a run that is driven from outside.
type drivenCall struct {
	step      StepID // as the request has it
	task      string // of a RunTask
	try       int    // of a RunTask: see TaskRequest.Try
	writer    string // of a RunTask: the prefix of its commits; others may run the same task
	began     int    // the thread's last step before the run began
	again     bool   // of a Plan: the run has begun before
	committed bool   // of a Commit: the step is committed

	final      bool          // of a RunTask whose task has failed: no other try makes sense
	retryAfter time.Duration // and how long it asks to wait
}

// driven returns the call from outside that the run serves, nil for any other run.
func (r *run) driven() *drivenCall {
	if r.inside != nil {
		return nil
	}
	return r.session.driven
}

// writer returns the prefix of the ids of the session's commits.
func (s *session) writer() string {
	if s.driven != nil && s.driven.writer != "" {
		return s.driven.writer
	}
	return s.id
}

// originID returns the id that the session gives a thread that it begins. No other thread has it, also
// where drivers choose one id for the runs of several.
func (s *session) originID() string {
	if s.driven != nil {
		return longHash("origin", s.root.opts.Thread, s.id)
	}
	return s.id
}

// servePlan begins a turn or goes on with one, up to the point where the step is planned.
func (r *run) servePlan() error {
	q, d := r.req, r.driven()
	if q.json != nil {
		if !q.answers.IsZero() {
			return fmt.Errorf("graph %q: thread %q: %w: a Plan takes an input or answers, not both", r.name, r.opts.Thread, ErrAnswer)
		}
		if err := r.opts.checkRoot(r.name); err != nil {
			return err
		}
	}
	if err := r.knowsCommit(); err != nil {
		return err
	}
	if q.json == nil {
		if err := r.open(); err != nil {
			return err
		}
		if r.journal.Chain.Record == nil {
			return unknown(r.key(), 0)
		}
		if err := r.knowRun(); err != nil {
			return err
		}
		r.goal = runTurns
		return restoreTurn(r, q.answers)
	}
	input, err := q.view(r.schema)
	if err != nil {
		return r.fail(err)
	}
	if err := r.open(); err != nil {
		return err
	}
	if err := r.knowRun(); err != nil {
		return err
	}
	if !d.again && r.opts.OnOpenQuestions == Queue {
		queued, err := newInputQueue(r).has(r.ofRun(""))
		if err != nil {
			return r.fail(err)
		}
		if queued {
			r.goal = stayQueued
			return nil
		}
	}
	if !d.again {
		return beginTurn(r, input)
	}
	if hash, err := r.inputHash(input); err != nil {
		return err
	} else if first, err := r.inputOfRun(); err != nil {
		return err
	} else if first != "" && first != hash {
		return r.fail(fmt.Errorf("%w: run %q has begun a turn with another input", ErrRun, r.session.id))
	}
	if r.opts.OnOpenQuestions == Queue {
		r.goal = runTurns
	}
	return restoreTurn(r, q.answers)
}

// knowsCommit finds out whether the run has begun a branch before: then a Plan that names an older commit
// goes on with the branch.
func (r *run) knowsCommit() error {
	if r.opts.At == 0 && r.opts.Namespace == "" {
		return nil
	}
	for c, err := range r.thread().commits("", checkpoint.Query{Limit: 1}) {
		if err != nil {
			return r.fail(err)
		}
		if c.rec.Run == r.session.id {
			r.opts.At, r.opts.Namespace = 0, ""
		}
	}
	return nil
}

// madeHead reports whether the run has made the commit at which the thread was opened.
func (r *run) madeHead() bool {
	return r.driven() != nil && r.journal.Chain.Record != nil && r.journal.Chain.Record.Run == r.session.id
}

// knowRun finds out what the run of a Plan has done before.
func (r *run) knowRun() error {
	d, chain := r.driven(), r.journal.Chain
	d.began = r.done
	if chain.Record == nil {
		return nil
	}
	mine, err := r.answersOfRun(sortPending(chain.Pending))
	if err != nil {
		return err
	}
	if d.again = r.madeHead() || mine != nil; !d.again && r.req.json != nil {
		first, err := r.inputOfRun()
		if err != nil {
			return err
		}
		d.again = first != ""
	}
	if !r.madeHead() {
		return nil
	}
	for c, err := range r.thread().commits(r.ns, r.ofRun("")) {
		if err != nil {
			return r.fail(err)
		}
		if d.began = c.rec.Step; c.rec.Source == checkpoint.Step {
			d.began--
		}
	}
	r.steps = r.done - d.began
	return nil
}

// ofRun selects the commits of the run; with a source only those that it made.
func (r *run) ofRun(source checkpoint.Source) checkpoint.Query {
	where := map[string]string{"run": r.session.id}
	if source != "" {
		where["source"] = string(source)
	}
	return checkpoint.Query{Where: where}
}

// inputOfRun returns the hash of the input with which the run has begun a turn; "" if it has not.
func (r *run) inputOfRun() (hash string, err error) {
	for c, err := range r.thread().commits(r.ns, r.ofRun(checkpoint.Input)) {
		if err != nil {
			return "", r.fail(err)
		}
		hash = c.rec.Input // the oldest counts: later ones are of inputs that waited
	}
	return hash, nil
}

// serveStep takes up the step of a RunTask or a Commit.
func (r *run) serveStep() error {
	d := r.driven()
	if want := d.step.Program; want != "" && want != r.hash {
		return r.fail(fmt.Errorf("%w: the step was planned by the program %s, and this is %s; plan it again", ErrProgram, want, r.hash))
	}
	if err := r.open(); err != nil {
		return err
	}
	chain := r.journal.Chain
	rec, head := chain.Record, chain.Head()
	switch {
	case rec == nil:
		return unknown(r.key(), 0)
	case head == d.step.Checkpoint:
	case r.req.op == opCommit && chain.ID() == r.commitID(head) &&
		(head == d.step.Checkpoint+1 || head == d.step.Checkpoint+2 && rec.Source == checkpoint.Input):
		d.committed = true // and the input that has waited longest was begun
	default:
		return r.fail(fmt.Errorf("%w: the newest commit is %d, not %d; plan again", ErrStale, head, d.step.Checkpoint))
	}
	if d.began = d.step.First; d.step.Drains {
		r.goal = runTurns
	}
	r.steps = r.done - d.began
	s := &restorer{run: r}
	if err := s.read(); err != nil {
		return err
	}
	if d.committed { // the plan is that of the first Commit, whatever has been run since
		r.outs = s.ranBefore()
		return nil
	}
	return s.restoreStep()
}

// commitID returns the id of the run's commit with this number.
func (r *run) commitID(seq uint64) string { return journal.CommitID(r.session.writer(), seq) }

// serveLoop is loop for one call of a run that is driven from outside.
func (r *run) serveLoop() (Status, error) {
	d := r.driven()
	switch {
	case r.req.op == opRunTask:
		return Pending, r.runTask()
	case r.req.op == opCommit && !d.committed:
		if status, err := r.commitTasks(); status != planned {
			return status, err
		}
		d.committed = true
	}
	if status, err := r.plan(); status != planned {
		return status, err
	}
	asks := false
	for _, t := range r.tasks {
		if !t.settled || t.err != nil {
			return Pending, nil
		}
		asks = asks || len(t.open) > 0
	}
	if asks {
		return Interrupted, nil
	}
	return Pending, nil
}

// commitTasks is commitStep for a step whose tasks were run by other calls.
func (r *run) commitTasks() (Status, error) {
	var left []string
	failed := false
	for _, t := range r.tasks {
		failed = failed || t.err != nil
		if !t.settled {
			left = append(left, t.id())
		}
	}
	switch {
	case r.front.Empty():
		return planned, nil
	case failed:
		return Failed, r.failure()
	case len(left) > 0:
		return Pending, r.fail(&UnfinishedError{left})
	}
	status, err := r.commitStep()
	return status, r.stale(err)
}

// stale makes the error of a write that came too late an ErrStale.
func (r *run) stale(err error) error {
	if guard(false, func() bool { return errors.Is(err, checkpoint.ErrConflict) }) {
		return r.fail(fmt.Errorf("%w; plan again: %w", ErrStale, err))
	}
	return err
}

// drivenEnds reports whether a call that ends with this status is the end of the run, for its readers.
func (r *run) drivenEnds(s Status) bool {
	return r.driven() == nil || r.req.op != opRunTask && s != Pending
}

// answer returns what the call gives its driver.
func (r *run) answer(out *outcome) any {
	if r.req.op == opRunTask {
		if len(r.tasks) == 0 || !r.tasks[0].settled {
			return nil
		}
		return r.taskResult(r.tasks[0])
	}
	d := r.driven()
	p := Plan{ID: d.step, Status: out.status, Turn: r.turn, Step: r.done, Interrupts: out.interrupts, Starved: out.starved, Steps: r.steps}
	p.ID.Program = r.hash
	p.ID.First, p.ID.Drains, p.ID.Checkpoint = d.began, r.goal == runTurns, out.checkpoint
	if out.status == Pending {
		p.Steps = r.done - d.began
	}
	if len(r.tasks) > 0 && len(r.paused.at) == 0 {
		p.Step = r.step
		for _, t := range r.tasks {
			p.Tasks = append(p.Tasks, t.planned())
		}
	}
	return p
}
