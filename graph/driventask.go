package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// taskCall is a RunTask.
type taskCall struct {
	*drivenRun
	task string // its id
}

// serve takes up the step.
func (c taskCall) serve() error {
	if err := c.openStep(); err != nil {
		return err
	}
	if head := c.journal.Chain.Head(); head != c.id.Checkpoint {
		return c.staleAt(head)
	}
	s, err := c.readStep()
	if err != nil {
		return err
	}
	return s.restoreStep()
}

// makeTasks makes the one task of the call. It counts the step as prepare does.
func (c taskCall) makeTasks(rec *checkpoint.Record) error {
	c.step++
	c.run.steps++
	sends := 0
	for _, t := range rec.Next {
		n, _ := c.find(t.Node) // the frontier was restored, so it has found them all
		switch {
		case t.ID != c.task:
		case !t.Send:
			c.add(n, -1, nil)
			return nil
		default:
			s := c.front.Sends[sends]
			c.add(n, sends, s.Payload)
			c.tasks[0].within = time.Duration(s.Timeout)
			return nil
		}
		if t.Send {
			sends++
		}
	}
	return c.unknownTask()
}

func (c taskCall) unknownTask() error { return c.fail(fmt.Errorf("%w: %q", ErrUnknownTask, c.task)) }

func (c taskCall) perform() (Status, error) { return Pending, c.runTask() }
func (c taskCall) ends(Status) bool         { return false }

// answer returns how the task has ended; nil if it has not.
func (c taskCall) answer(outcome) any {
	if len(c.tasks) == 0 || !c.tasks[0].settled {
		return nil
	}
	return c.result(c.tasks[0])
}

// runTask runs the task unless its end is stored, and stores how it ended.
func (c taskCall) runTask() error {
	if len(c.tasks) == 0 { // nothing is due
		return c.unknownTask()
	}
	if c.tasks[0].settled {
		return nil
	}
	c.execute()
	t := c.tasks[0]
	if t.err != nil && (t.consequence || guard(false, func() bool { return IsStoreFailure(t.err) })) {
		err := t.err // this was not the task's end
		t.err, t.open = nil, nil
		return c.stale(err)
	}
	entries, err := t.entries()
	if err != nil {
		t.err = err
		if entries, err = t.entries(); err != nil {
			return err
		}
	}
	finished := t.finished()
	if !finished {
		entries = append(entries, c.carrierEntries()...)
		stored := sortPending(c.journal.Chain.Pending)
		entries[0].Keep = stored.byTask[t.id()][slotLast] == nil // the first to store an end wins
	}
	if err := c.setTimer(c.tasks, time.Time{}); err != nil {
		return c.stale(err)
	}
	if err := c.journal.Put(entries); err != nil {
		return c.stale(err)
	}
	if finished {
		t.settled = true
		return nil
	}
	return c.reread(t)
}

// reread makes t what is stored of it: another call may have run it too, and come first.
func (c taskCall) reread(t *task) error {
	var snap checkpoint.Snapshot
	err := c.journal.Write("history", func(ctx context.Context) error {
		for s, err := range c.cfg.Store.History(ctx, c.key(), checkpoint.Query{Limit: 1}) {
			snap = s
			return err
		}
		return unknown(c.key(), 0)
	})
	if err != nil {
		return c.fail(err)
	}
	entries, err := checkpoint.ReadPending(snap)
	if err != nil {
		return c.fail(err)
	}
	if snap.Seq != c.journal.Chain.Head() {
		return c.staleAt(snap.Seq)
	}
	stored := sortPending(entries)
	if err := c.keepOwnInvalid(stored); err != nil {
		return err
	}
	if _, err := stored.dropInvalid(); err != nil {
		return err
	}
	slots := stored.byTask[t.id()]
	t.err, t.open, t.settled = nil, nil, true
	t.called().setQuestions(nil)
	if slots[slotResult] != nil {
		return nil
	}
	last, err := readLast(slots)
	switch {
	case err != nil:
		return err
	case slots[slotLast] == nil:
		t.settled = false
		return c.fail(fmt.Errorf("%w: the end of task %q is not stored any more; plan again", ErrStale, t.id()))
	}
	t.adopt(last)
	return nil
}

// The bounds of a TaskResult, in bytes of JSON but for the questions.
const (
	mostQuestions  = 12
	longestCode    = 80
	longestMessage = 320
)

// result describes how t has ended.
func (c taskCall) result(t *task) TaskResult {
	res := TaskResult{Task: t.id(), End: t.kind()}
	for _, in := range t.waiting() {
		if in.IsQuestion() && len(res.Questions) < mostQuestions {
			res.Questions = append(res.Questions, in.ID)
		}
	}
	if res.End != TaskFailed {
		return res
	}
	failure := t.placed(t.err)
	errors.As(t.err, &failure)
	f := failure.Failure()
	res.Kind, res.Code, res.Message = f.Kind, cutJSON(f.Code, longestCode), cutJSON(f.Message, longestMessage)
	res.Retry, res.RetryAfter = !c.final, c.retryAfter
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
