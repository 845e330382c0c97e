package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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

// slotRun belongs to no task: the answers that came with the Plans of a run that is driven from outside.
const slotRun = "run"

// runAnswers are the questions that a run has answered at this head.
type runAnswers struct {
	Run       string   `json:"run"`
	Questions []string `json:"questions"`
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
		if err := r.isRoot(); err != nil {
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
		r.drainsQueue = true
		return r.takeUp(q.answers)
	}
	input, err := r.requestInput()
	if err != nil {
		return err
	}
	if err := r.open(); err != nil {
		return err
	}
	if err := r.knowRun(); err != nil {
		return err
	}
	if !d.again && r.opts.OnOpenQuestions == Queue {
		if r.queued, err = r.isQueued(); r.queued || err != nil {
			r.editOnly = true
			return err
		}
	}
	if !d.again {
		return r.beginTurn(input)
	}
	if hash, err := r.inputHash(input); err != nil {
		return err
	} else if first, err := r.inputOfRun(); err != nil {
		return err
	} else if first != "" && first != hash {
		return r.fail(fmt.Errorf("%w: run %q has begun a turn with another input", ErrRun, r.session.id))
	}
	r.drainsQueue = r.opts.OnOpenQuestions == Queue
	return r.takeUp(q.answers)
}

// knowsCommit finds out whether the run has begun a branch before: then a Plan that names an older commit
// goes on with the branch.
func (r *run) knowsCommit() error {
	if r.opts.At == 0 && r.opts.Namespace == "" {
		return nil
	}
	for snap, err := range r.cfg.Store.History(r.ctx, checkpoint.Key{Thread: r.opts.Thread}, checkpoint.Query{Limit: 1}) {
		if err != nil {
			return r.fail(err)
		}
		rec, err := checkpoint.ReadRecord(snap)
		if err != nil {
			return r.fail(err)
		}
		if rec.Run == r.session.id {
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
	for snap, err := range r.ofRun(r.key(), "") {
		if err != nil {
			return r.fail(err)
		}
		rec, err := checkpoint.ReadRecord(snap)
		if err != nil {
			return r.fail(err)
		}
		if d.began = rec.Step; rec.Source == checkpoint.Step {
			d.began--
		}
	}
	r.steps = r.done - d.began
	return nil
}

// ofRun returns the commits of the run in a chain, newest first; with a source only those that it made.
func (r *run) ofRun(key checkpoint.Key, source checkpoint.Source) func(func(checkpoint.Snapshot, error) bool) {
	where := map[string]string{"run": r.session.id}
	if source != "" {
		where["source"] = string(source)
	}
	return r.cfg.Store.History(r.ctx, key, checkpoint.Query{Where: where})
}

// inputOfRun returns the hash of the input with which the run has begun a turn; "" if it has not.
func (r *run) inputOfRun() (hash string, err error) {
	for snap, err := range r.ofRun(r.key(), checkpoint.Input) {
		if err != nil {
			return "", r.fail(err)
		}
		rec, err := checkpoint.ReadRecord(snap)
		if err != nil {
			return "", r.fail(err)
		}
		hash = rec.Input // the oldest counts: later ones are of inputs that waited
	}
	return hash, nil
}

// isQueued reports whether the input of the run waits for its turn, or has waited.
func (r *run) isQueued() (bool, error) {
	for _, err := range r.ofRun(r.inputsKey(), "") {
		if err != nil {
			return false, r.fail(err)
		}
		return true, nil
	}
	return false, nil
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
	d.began, r.drainsQueue = d.step.First, d.step.Drains
	r.steps = r.done - d.began
	if err := r.unrecord(rec); err != nil {
		return err
	}
	beside := sortPending(chain.Pending)
	if err := r.keepOwnVoid(beside); err != nil {
		return err
	}
	var err error
	if r.tries, err = beside.dropVoid(); err != nil {
		return err
	}
	r.questions.add(beside.given)
	if r.questions.fresh, err = r.answersOfRun(beside); err != nil {
		return err
	}
	switch {
	case d.committed: // the plan is that of the first Commit, whatever has been run since
		r.outs = r.ranBefore(rec)
		return nil
	case r.front.Empty():
		return nil
	}
	return r.takeUpStep(rec, beside)
}

// commitID returns the id of the run's commit with this number.
func (r *run) commitID(seq uint64) string { return journal.CommitID(r.session.writer(), seq) }

// prepareTask is prepare for the one task of a RunTask.
func (r *run) prepareTask(rec *checkpoint.Record) error {
	r.step++
	r.steps++
	sends := 0
	for _, t := range rec.Next {
		n, _ := r.find(t.Node) // unrecord has found them all
		switch {
		case t.ID != r.driven().task:
		case !t.Send:
			r.add(n, -1, nil)
			return nil
		default:
			s := r.front.Sends[sends]
			r.add(n, sends, s.Payload)
			r.tasks[0].within = time.Duration(s.Within)
			return nil
		}
		if t.Send {
			sends++
		}
	}
	return r.fail(fmt.Errorf("%w: %q", ErrUnknownTask, r.driven().task))
}

// answersOfRun returns the answers at this head that came with the Plans of the run; nil if there are
// none.
func (r *run) answersOfRun(beside pending) (answers, error) {
	data := beside.note(slotRun)
	if data == nil || r.driven() == nil {
		return nil, nil
	}
	var a runAnswers
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, r.fail(fmt.Errorf("the answers of a run: %w", err))
	}
	if a.Run != r.session.id {
		return nil, nil
	}
	fresh := answers{}
	for _, id := range a.Questions {
		if given, ok := beside.given[id]; ok {
			fresh[id] = given
		}
	}
	return fresh, nil
}

// noteAnswers adds fresh to the answers of the run, and returns the entries that say so.
func (r *run) noteAnswers(fresh, before answers) (answers, []checkpoint.Entry, error) {
	if r.driven() == nil {
		return fresh, nil, nil
	}
	all := maps.Clone(fresh)
	if all == nil {
		all = answers{}
	}
	maps.Copy(all, before)
	data, err := json.Marshal(runAnswers{r.session.id, slices.Sorted(maps.Keys(all))})
	return all, []checkpoint.Entry{{Slot: slotRun, Data: data}}, err
}

// repeated returns an error if an answer without an id may be one that the run had before or one to
// another question.
func (r *run) repeated(a Answers, open []Interrupt) error {
	if d := r.driven(); d == nil || !d.again || len(open) == 0 {
		return nil
	}
	for _, g := range a.given {
		given, err := g.answer()
		if err == nil && g.id == "" && r.questions.had("", given.digest()) {
			return fmt.Errorf("%w: run %q had this answer before:\n%s", ErrAmbiguous, r.session.id, list(open))
		}
	}
	return nil
}

// keepOwnVoid lets results count that could not be folded in this run: a Commit that is made again
// comes to the same error.
func (r *run) keepOwnVoid(beside pending) error {
	if r.driven() == nil {
		return nil
	}
	v, err := beside.void()
	if err != nil || v.Try == 0 || v.Run != r.session.id {
		return err
	}
	if v.Try--; v.Try == 0 {
		delete(beside.byTask[""], slotVoid)
		return nil
	}
	beside.byTask[""][slotVoid], err = json.Marshal(v)
	return err
}

// pauseNote returns what is stored where the run pauses at a static interrupt.
func (r *run) pauseNote() []byte {
	if r.driven() == nil {
		return []byte("true")
	}
	return []byte(strconv.Quote(r.session.id))
}

// passes reports whether the run passes the static interrupt of a note: a run does not pass those at
// which it has paused itself.
func (r *run) passes(note []byte) bool {
	return note != nil && (r.driven() == nil || string(note) != string(r.pauseNote()))
}

// runID returns the id of a run that is driven from outside, "" for any other.
func (r *run) runID() string {
	if r.driven() == nil {
		return ""
	}
	return r.session.id
}

// isEnd reports whether last is how the task ended in this run, and not only in one before it.
func (r *run) isEnd(last unfinished) bool {
	d := r.driven()
	if d == nil || last.Run != r.session.id || last.RunTry < d.try || last.Again {
		return false
	}
	answered := func(in Interrupt) bool { return in.Kind == "question" && !in.isOpen(r.questions.given) }
	return !slices.ContainsFunc(last.Open, answered)
}

// adopt makes t a task that has ended so.
func (t *task) adopt(last unfinished) {
	t.settled = true
	if last.Failure == nil {
		t.open = last.Open
		return
	}
	failure := t.placed(&StoredError{*last.Failure})
	failure.Attempt, failure.Cancelled = last.Failure.Attempt, last.Failure.Cancelled
	t.err, t.left = failure, last.Open
	d := t.run.driven()
	d.final, d.retryAfter = last.Final, last.After
}

// verdict adds to the stored failure of a task whether another try makes sense.
func (t *task) verdict(u *unfinished) {
	d := t.run.driven()
	if d == nil {
		return
	}
	u.Run, u.RunTry = t.run.session.id, d.try
	if t.err != nil {
		u.Final = !guard(false, func() bool { return t.job.retry.match(t.err) != nil })
		u.After = guard(0, func() time.Duration { return retryAfter(t.err) })
	}
}

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

// runTask runs the task unless its end is stored, and stores how it ended.
func (r *run) runTask() error {
	if r.tasks[0].settled {
		return nil
	}
	r.execute()
	t := r.tasks[0]
	if t.err != nil && (t.after || guard(false, func() bool { return isStoreFailure(t.err) })) {
		err := t.err // this was not the task's end
		t.err, t.open = nil, nil
		return r.stale(err)
	}
	entries, err := t.entries()
	if err != nil {
		t.err = err
		if entries, err = t.entries(); err != nil {
			return err
		}
	}
	finished := t.err == nil && len(t.open) == 0
	if !finished {
		beside := sortPending(r.journal.Chain.Pending)
		entries[0].Keep = beside.byTask[t.id()][slotLast] == nil // the first to store an end wins
	}
	if err := r.journal.Put(entries); err != nil {
		return r.stale(err)
	}
	if finished {
		t.settled = true
		return nil
	}
	return r.rereadTask(t)
}

// rereadTask makes t what is stored of it: another call may have run it too, and come first.
func (r *run) rereadTask(t *task) error {
	var snap checkpoint.Snapshot
	err := r.journal.Write(func(ctx context.Context) error {
		for s, err := range r.cfg.Store.History(ctx, r.key(), checkpoint.Query{Limit: 1}) {
			snap = s
			return err
		}
		return unknown(r.key(), 0)
	})
	if err != nil {
		return r.fail(err)
	}
	entries, err := checkpoint.ReadPending(snap)
	if err != nil {
		return r.fail(err)
	}
	if head := r.journal.Chain.Head(); snap.Seq != head {
		return r.fail(fmt.Errorf("%w: the newest commit is %d, not %d; plan again", ErrStale, snap.Seq, head))
	}
	beside := sortPending(entries)
	if err := r.keepOwnVoid(beside); err != nil {
		return err
	}
	if _, err := beside.dropVoid(); err != nil {
		return err
	}
	slots := beside.byTask[t.id()]
	t.err, t.open, t.left, t.settled = nil, nil, nil, true
	if slots[slotResult] != nil {
		return nil
	}
	last, err := readLast(slots)
	if err != nil {
		return err
	}
	t.adopt(last)
	return nil
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
	p.ID.First, p.ID.Drains, p.ID.Checkpoint = d.began, r.drainsQueue, out.checkpoint
	if out.status == Pending {
		p.Steps = r.done - d.began
	}
	if len(r.tasks) > 0 && len(r.paused) == 0 {
		p.Step = r.step
		for _, t := range r.tasks {
			p.Tasks = append(p.Tasks, t.planned())
		}
	}
	return p
}

// ended returns how t has ended; "" if it has not.
func (t *task) ended() TaskEnd {
	switch {
	case !t.settled:
		return ""
	case t.err != nil:
		return TaskFailed
	case len(t.open) > 0:
		return TaskAsked
	}
	return TaskFinished
}

// planned describes t for the driver.
func (t *task) planned() PlannedTask {
	return PlannedTask{ID: t.id(), Node: t.node.name, Send: t.index >= 0, End: t.ended(), Timeout: t.limit(), Idle: t.job.idle,
		Attempts: max(1, t.job.retry.Attempts), Parallel: t.job.parallel}
}

// The bounds of a TaskResult, in bytes of JSON but for the questions.
const (
	mostQuestions  = 12
	longestCode    = 80
	longestMessage = 320
)

// taskResult describes how t has ended.
func (r *run) taskResult(t *task) TaskResult {
	res := TaskResult{Task: t.id(), End: t.ended()}
	for _, in := range t.waiting() {
		if in.Kind == "question" && len(res.Questions) < mostQuestions {
			res.Questions = append(res.Questions, in.ID)
		}
	}
	if res.End != TaskFailed {
		return res
	}
	failure := t.placed(t.err)
	errors.As(t.err, &failure)
	f := failureOf(failure)
	res.Kind, res.Code, res.Message = f.Kind, cutJSON(f.Code, longestCode), cutJSON(f.Message, longestMessage)
	res.Retry, res.RetryAfter = !r.driven().final, r.driven().retryAfter
	return res
}

// cutJSON cuts a text so that it has so many bytes at most as JSON.
func cutJSON(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	for {
		data, err := json.Marshal(text)
		over := len(data) - 2 - most
		if err != nil || over <= 0 {
			return text
		}
		text = strings.ToValidUTF8(text[:max(0, len(text)-max(1, over/6))], "")
	}
}
