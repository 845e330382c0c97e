package graph

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/journal"
	"github.com/weftrun/weft/state"
)

// A run that is driven from outside is made of many sessions: a Plan, and for each step its
// RunTasks and a Commit. What one of them leaves for the others are pending writes, in the form
// in which a run that stops leaves them for Resume. They also say of which run they are, so that
// a call that is made again, after a lost reply, finds what it has done.

// drivenRun is the run of a session that is one call from outside: a Plan, a RunTask or a
// Commit. It serves the call, and knows which pending writes are those of its run. The methods
// that others call take a nil drivenRun, which is that of any other run.
type drivenRun struct {
	*run // at the root
	call drivenCall
	id   StepID // as the request has it, with the fence of the lease

	began    int  // the thread's last step before the run began
	hasBegun bool // of a Plan: the run has begun before
	try      int  // of a RunTask: see TaskRequest.Try

	final      bool          // the task that was read has failed, and no other try makes sense
	retryAfter time.Duration // how long its failure asks to wait
}

// drivenCall has the parts in which Plan, RunTask and Commit differ.
type drivenCall interface {
	// serve opens the thread and prepares the call, before the step is run or planned.
	serve() error
	// makeTasks makes the tasks of the call, out of those due in rec.
	makeTasks(rec *checkpoint.Record) error
	// perform does the work of the call.
	perform() (Status, error)
	// answer returns the result of the call for its driver.
	answer(out outcome) any
	// ends reports whether a call that ends with this status ends the run, for its readers.
	ends(s Status) bool
}

// originID returns the id that the session gives a thread that it begins. No other thread has
// it, also where callers choose one id for the runs of several.
func (s *session) originID() string {
	if s.root.driven != nil || s.root.opts.ID != "" {
		return longHash("origin", s.root.opts.Thread, s.id)
	}
	return s.id
}

// planCall is a Plan.
type planCall struct{ *drivenRun }

// serve begins a turn or goes on with one.
func (c planCall) serve() error {
	q := c.req
	if q.json != nil {
		if !q.answers.IsZero() {
			return fmt.Errorf("graph %q: thread %q: %w: a Plan takes an input or answers, not both", c.name, c.opts.Thread, ErrAnswer)
		}
		if err := c.opts.checkRoot(c.name); err != nil {
			return err
		}
	}
	if err := c.skipForkIfMade(); err != nil {
		return err
	}
	if q.json == nil {
		return c.goOn()
	}
	input, err := q.view(c.schema)
	if err != nil {
		return c.fail(err)
	}
	if err := c.openAgain(); err != nil {
		return err
	}
	if !c.hasBegun {
		return c.beginTurn(input)
	}
	if err := c.checkInput(input); err != nil {
		return err
	}
	if c.opts.OnOpenQuestions == Queue {
		c.goal = runTurns
	}
	return restoreTurn(c.run, q.answers)
}

// goOn goes on with the turn that the thread is in.
func (c planCall) goOn() error {
	if err := c.openAgain(); err != nil {
		return err
	}
	if c.journal.Chain.Record == nil {
		return unknown(c.key(), 0)
	}
	c.goal = runTurns
	return restoreTurn(c.run, c.req.answers)
}

// openAgain opens the thread and finds out what the run has done there before.
func (c planCall) openAgain() error {
	if err := c.open(); err != nil {
		return err
	}
	return c.loadRunHistory()
}

// beginTurn begins a turn with an input, unless the run has queued it before.
func (c planCall) beginTurn(input state.View) error {
	queued, err := c.hasQueued(input)
	if err != nil {
		return err
	}
	if queued {
		c.goal = stayQueued
		return nil
	}
	return beginTurn(c.run, input)
}

// hasQueued reports whether the run has queued its input before. If it has queued another, that
// is an ErrRun.
func (c planCall) hasQueued(input state.View) (bool, error) {
	if c.opts.OnOpenQuestions != Queue {
		return false, nil
	}
	writes, err := newInputQueue(c.run).find(c.ofRun(""))
	if err != nil || writes == nil {
		return false, err
	}
	own, err := encodeInput(c.schema, input)
	if err == nil && !bytes.Equal(own, writes) {
		err = fmt.Errorf("%w: run %q has queued another input", ErrRun, c.session.id)
	}
	if err != nil {
		return false, c.fail(err)
	}
	return true, nil
}

// checkInput returns an ErrRun if the run has begun a turn with another input that did not wait
// before its own.
func (c planCall) checkInput(input state.View) error {
	hash, err := c.hashInput(input)
	if err != nil {
		return err
	}
	before, err := c.inputOfRun()
	if err != nil || before == "" || before == hash {
		return err
	}
	if queued, err := c.hasQueued(input); queued || err != nil {
		return err
	}
	return c.fail(fmt.Errorf("%w: run %q has begun a turn with another input", ErrRun, c.session.id))
}

// makeTasks makes none where a limit of the run is reached: the plan reports that.
func (c planCall) makeTasks(*checkpoint.Record) error {
	if c.mayStep() == nil {
		c.prepare()
	}
	return nil
}

func (c planCall) perform() (Status, error) { return c.planStep() }
func (c planCall) answer(out outcome) any   { return c.planOf(out) }
func (c planCall) ends(s Status) bool       { return s != Pending }

// skipForkIfMade lets a Plan that names an older commit go on with the newest one, where the run
// has begun the branch before.
func (d *drivenRun) skipForkIfMade() error {
	if d.opts.At == 0 && d.opts.Namespace == "" {
		return nil
	}
	for c, err := range d.thread().commits("", checkpoint.Query{Limit: 1}) {
		if err != nil {
			return d.fail(err)
		}
		if c.rec.Run == d.session.id {
			d.opts.At, d.opts.Namespace = 0, ""
		}
	}
	return nil
}

// madeHead reports whether the run has made the commit at which the thread was opened.
func (d *drivenRun) madeHead() bool {
	return d != nil && d.journal.Chain.Record != nil && d.journal.Chain.Record.Run == d.session.id
}

// loadRunHistory finds out what the run of a Plan has done before.
func (d *drivenRun) loadRunHistory() error {
	chain := d.journal.Chain
	d.began = d.done
	if chain.Record == nil {
		return nil
	}
	mine, err := d.answersBefore(sortPending(chain.Pending))
	if err != nil {
		return err
	}
	if d.hasBegun = d.madeHead() || mine != nil; !d.hasBegun && d.req.json != nil {
		before, err := d.inputOfRun()
		if err != nil {
			return err
		}
		d.hasBegun = before != ""
	}
	if !d.madeHead() {
		return nil
	}
	for c, err := range d.thread().commits(d.ns(), d.ofRun("")) {
		if err != nil {
			return d.fail(err)
		}
		d.began = c.rec.Step
		if c.rec.Source == checkpoint.Step {
			d.began--
		}
	}
	d.run.steps = d.done - d.began
	return nil
}

// ofRun selects the commits of the run; with a source only those that it made.
func (d *drivenRun) ofRun(source checkpoint.Source) checkpoint.Query {
	where := map[string]string{"run": d.session.id}
	if source != "" {
		where["source"] = string(source)
	}
	return checkpoint.Query{Where: where}
}

// inputOfRun returns the hash of the input with which the run has begun a turn; "" if it has not.
func (d *drivenRun) inputOfRun() (hash string, err error) {
	for c, err := range d.thread().commits(d.ns(), d.ofRun(checkpoint.Input)) {
		if err != nil {
			return "", d.fail(err)
		}
		hash = c.rec.Input // the oldest counts: later ones are of inputs that waited
	}
	return hash, nil
}

// commitCall is a Commit.
type commitCall struct {
	*drivenRun
	committed bool // the step is committed
}

// serve takes up the step. Where it is committed, the plan is that of the first Commit, whatever
// has been run since.
func (c *commitCall) serve() error {
	if err := c.openStep(); err != nil {
		return err
	}
	chain, next := c.journal.Chain, c.id.Checkpoint+1
	head, isOwn := chain.Head(), chain.ID() == journal.CommitID(c.session.writer, chain.Head())
	switch {
	case head == c.id.Checkpoint:
	case isOwn && (head == next || head == next+1 && chain.Record.Source == checkpoint.Input):
		c.committed = true // and the input that has waited longest was begun
	default:
		return c.staleAt(head)
	}
	s, err := c.readStep()
	if err != nil {
		return err
	}
	if c.committed {
		c.outs = s.ranBefore()
		return nil
	}
	return s.restoreStep()
}

func (c *commitCall) makeTasks(*checkpoint.Record) error {
	c.prepare()
	return nil
}

// perform commits the step and plans the next one.
func (c *commitCall) perform() (Status, error) {
	if !c.committed {
		if status, err := c.commitTasks(); status != planned {
			return status, err
		}
		c.committed = true
	}
	return c.planStep()
}

func (c *commitCall) answer(out outcome) any { return c.planOf(out) }
func (c *commitCall) ends(s Status) bool     { return s != Pending }

// commitTasks is commitStep for a step whose tasks were run by other calls.
func (c *commitCall) commitTasks() (Status, error) {
	var left []string
	failed := false
	for _, t := range c.tasks {
		failed = failed || t.err != nil
		if !t.settled {
			left = append(left, t.id())
		}
	}
	switch {
	case c.front.Empty():
		return planned, nil
	case failed:
		return Failed, c.failure()
	case len(left) > 0:
		return Pending, c.fail(&UnfinishedError{left})
	}
	status, err := c.commitStep()
	return status, c.stale(err)
}

// openStep opens the thread for a RunTask or a Commit.
func (d *drivenRun) openStep() error {
	if want := d.id.Program; want != "" && want != d.hash {
		return d.fail(fmt.Errorf("%w: the step was planned by the program %s, and this is %s; plan it again", ErrProgram, want, d.hash))
	}
	if err := d.open(); err != nil {
		return err
	}
	if d.journal.Chain.Record == nil {
		return unknown(d.key(), 0)
	}
	return nil
}

// readStep reads the step of the call.
func (d *drivenRun) readStep() (*restorer, error) {
	d.began = d.id.First
	if d.id.Drains {
		d.goal = runTurns
	}
	d.run.steps = d.done - d.began
	s := &restorer{run: d.run}
	return s, s.read()
}

// planStep plans the step that is due, and returns whether it is to be run, or how the run ends.
func (d *drivenRun) planStep() (Status, error) {
	if status, err := d.plan(); status != planned {
		return status, err
	}
	asks := false
	for _, t := range d.tasks {
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

// planOf returns the Plan with which a call ends.
func (d *drivenRun) planOf(out outcome) Plan {
	p := Plan{ID: d.id, Status: out.status, Turn: d.turn, Step: d.done, Interrupts: out.interrupts, Starved: out.starved, Steps: d.run.steps}
	p.ID.Program = d.hash
	p.ID.First, p.ID.Drains, p.ID.Checkpoint = d.began, d.goal == runTurns, out.checkpoint
	if out.status == Pending {
		p.Steps = d.done - d.began
	}
	if len(d.tasks) > 0 && len(d.paused.at) == 0 {
		p.Step = d.step
		for _, t := range d.tasks {
			p.Tasks = append(p.Tasks, t.planned())
		}
	}
	return p
}

// staleAt returns the ErrStale of a step that is not that of the newest commit.
func (d *drivenRun) staleAt(head uint64) error {
	return d.fail(fmt.Errorf("%w: the newest commit is %d, not %d; plan again", ErrStale, head, d.id.Checkpoint))
}

// stale makes the error of a write that came too late an ErrStale.
func (d *drivenRun) stale(err error) error {
	if guard(false, func() bool { return errors.Is(err, checkpoint.ErrConflict) }) {
		return d.fail(fmt.Errorf("%w; plan again: %w", ErrStale, err))
	}
	return err
}
