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

// runTask runs the task unless its end is stored, and stores how it ended.
func (r *run) runTask() error {
	if len(r.tasks) == 0 { // nothing is due
		return r.fail(fmt.Errorf("%w: %q", ErrUnknownTask, r.driven().task))
	}
	if r.tasks[0].settled {
		return nil
	}
	r.execute()
	t := r.tasks[0]
	if t.err != nil && (t.consequence || guard(false, func() bool { return isStoreFailure(t.err) })) {
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
	finished := t.finished()
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
	t.err, t.open, t.settled = nil, nil, true
	t.subgraphs.setQuestions(nil)
	if slots[slotResult] != nil {
		return nil
	}
	last, err := readLast(slots)
	switch {
	case err != nil:
		return err
	case slots[slotLast] == nil:
		t.settled = false
		return r.fail(fmt.Errorf("%w: the end of task %q is not stored any more; plan again", ErrStale, t.id()))
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

// taskResult describes how t has ended.
func (r *run) taskResult(t *task) TaskResult {
	res := TaskResult{Task: t.id(), End: t.kind()}
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
