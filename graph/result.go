package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// ending is how a task has ended, as far as it has: with an error, with open questions, or with a
// result, where there is neither.
type ending struct {
	err         error
	consequence bool        // err came after the run's context had ended: it is not the cause of anything
	open        []Interrupt // the questions that have no answer
	settled     bool        // there is nothing to run: the end is stored
	cached      bool        // the result comes from the cache
}

// finished reports whether a task that has ended has a result.
func (e *ending) finished() bool { return e.err == nil && len(e.open) == 0 }

// kind returns how the task has ended; "" if its end is not settled.
func (e *ending) kind() TaskEnd {
	switch {
	case !e.settled:
		return ""
	case e.err != nil:
		return TaskFailed
	case len(e.open) > 0:
		return TaskAsked
	}
	return TaskFinished
}

// result is the stored form of what a finished task did.
type result struct {
	Writes []fieldWrite     `json:"writes,omitempty"`
	Ways   []checkpoint.Way `json:"ways,omitempty"`
	Sends  []sendResult     `json:"sends,omitempty"`
	// Diverted is true when a handler went elsewhere than the node leads.
	Diverted bool           `json:"diverted,omitempty"`
	Up       *parentCommand `json:"up,omitempty"` // to the parent
	// Try counts the invalidations of the step before this result; see invalidation.
	Try int `json:"try,omitempty"`
}

type fieldWrite struct {
	Field     string          `json:"field"`
	Overwrite bool            `json:"overwrite,omitempty"`
	Value     json.RawMessage `json:"value"`
	Version   int             `json:"version,omitempty"` // of the field; 0 means 1
}

type sendResult struct {
	Node    string          `json:"node"`
	Payload json.RawMessage `json:"payload"`
	Within  int64           `json:"within,omitempty"` // nanoseconds
}

func (t *task) result() (res result, err error) {
	defer recovered(&err) // of a value that is made into JSON
	res = result{Ways: t.routed.appendWays(nil), Diverted: t.outcome().Diverted, Up: t.parentCommand()}
	if res.Writes, err = writesOf(t.run.schema, t.view); err == nil && t.routed != nil {
		res.Sends, err = t.routed.sends()
	}
	return res, err
}

// restoreResult makes t a task that has finished with this result.
func (t *task) restoreResult(data []byte) error {
	var res result
	if err := json.Unmarshal(data, &res); err != nil {
		return err
	}
	if err := restoreWrites(t.run.schema, t.view, res.Writes); err != nil {
		return err
	}
	t.settled = true
	return t.route().restoreFrom(&res)
}

// writesOf returns what was written in a view, but what is never stored.
func writesOf(s *state.Schema, v state.View) (writes []fieldWrite, err error) {
	for i, c := range v.Channels {
		if !c.Wrote() {
			continue
		}
		w, f := c.Writes(), fieldWrite{Field: s.Fields()[i].Name}
		if v := s.Fields()[i].Version; v > 1 {
			f.Version = v
		}
		f.Overwrite = w.Overwrite
		if w.Value == nil {
			continue
		}
		if f.Value, err = json.Marshal(w.Value); err != nil {
			return nil, fmt.Errorf("field %q: %w", f.Field, err)
		}
		writes = append(writes, f)
	}
	return writes, nil
}

// restoreWrites brings stored writes into a view.
func restoreWrites(s *state.Schema, v state.View, writes []fieldWrite) error {
	for _, w := range writes {
		i, err := w.fieldOf(s)
		if err != nil {
			return err
		}
		dec := func(into any) error { return json.Unmarshal(w.Value, into) }
		if err := v.Channels[i].RestoreWrites(w.Overwrite, dec); err != nil {
			return fmt.Errorf("%w: field %q: %w", ErrProgram, w.Field, err)
		}
	}
	return nil
}

// restore brings back what is stored of t, and decides what is left to do: nothing if it has
// finished, to wait if it asked and has no answer, else to run.
func (t *task) restore(slots map[string][]byte, given answers) error {
	if rw := t.run.next.rewind; rw != nil && rw.Task == t.id() {
		back, err := newRewound(t, rw, slots)
		if err != nil {
			return err
		}
		t.scope().back = back // it is found, so the end of each attempt is looked at
	}
	if data := slots[slotResult]; data != nil {
		if t.run.cfg.Trace {
			if err := restoreMemo(t, slots); err != nil {
				return err
			}
			t.scope() // it has a memo journal, and is not used again
		}
		return t.restoreResult(data)
	}
	if err := t.restoreHandler(slots[slotFailure]); err != nil {
		return err
	}
	if err := restoreMemo(t, slots); err != nil {
		return err
	}
	last, err := readLast(slots)
	if err != nil {
		return err
	}
	asked := last.Open
	if last.Tried != nil {
		t.scope().tried = last.Tried
	}
	for _, in := range slices.Concat(asked, last.Timed) {
		t.run.questions.noteAsked(in)
		if !in.Expires.IsZero() || !in.Asked.IsZero() {
			s := t.scope()
			s.timed = append(s.timed, in)
		}
	}
	if t.run.driven.isEnd(last) {
		t.adopt(last)
		return nil
	}
	if last.Failure != nil || last.Again {
		return nil // it runs again, whatever its subgraphs ask
	}
	// A question with an answer among those of the last end means that the task has not run since
	// the answer came: it may have been cut off by the failure of another.
	if open := unanswered(asked, given); len(open) > 0 && len(open) == len(asked) {
		t.open, t.settled = open, true
	}
	return nil
}

// restoreHandler makes t go on at its handler, if its node had failed for good. A
// handler that is gone leaves the node to run again.
func (t *task) restoreHandler(data []byte) error {
	if data == nil || t.node.onError == nil {
		return nil
	}
	var f Failure
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("graph: the failure that a handler is given: %w", err)
	}
	t.failure = t.placed(&StoredError{f})
	t.failure.Attempt = f.Attempt
	t.job = t.node.onError
	return nil
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
	t.err = failure
	t.ownSubgraphs().setQuestions(last.Open)
	d := t.run.driven // only a driven run takes a failure for the end
	d.final, d.retryAfter = last.Final, last.After
}

// verdict adds to the stored failure of a task whether another try makes sense.
func (t *task) verdict(u *unfinished) {
	d := t.run.driven
	if d == nil {
		return
	}
	u.Run, u.RunTry = t.run.session.id, d.try
	if t.err != nil {
		u.Final = !guard(false, func() bool { return t.job.retry.match(t.err) != nil })
		u.After = guard(0, func() time.Duration { return retryAfter(t.err) })
	}
}

// planned describes t for the driver.
func (t *task) planned() PlannedTask {
	return PlannedTask{ID: t.id(), Node: t.node.name, Send: t.index >= 0, End: t.kind(), Timeout: t.limit(), Idle: t.job.idle,
		Attempts: max(1, t.job.retry.Attempts), Parallel: t.job.parallel, TaskQueue: t.node.queue, Child: t.node.apart}
}

// entries returns what of t is to be stored as pending writes.
func (t *task) entries() ([]checkpoint.Entry, error) {
	var u unfinished
	var timed []Interrupt
	var tried []Failure
	if s := t.found.Load(); s != nil {
		timed, tried = s.timed, s.tried
	}
	switch {
	case t.settled:
		return nil, nil
	case t.err != nil:
		e := t.placed(t.err)
		errors.As(t.err, &e)
		f := e.Failure()
		u = unfinished{Failure: &f, Open: t.waiting(), Timed: timed, Try: t.run.invalid}
	case len(t.open) > 0:
		u = unfinished{Open: t.open, Tried: tried, Try: t.run.invalid}
	default:
		res, err := t.result()
		if err != nil {
			return nil, t.fail(fmt.Errorf("its result cannot be stored: %w", err))
		}
		res.Try = t.run.invalid
		data, err := json.Marshal(res)
		if err != nil {
			return nil, t.fail(err)
		}
		// Of two processes that run the task, the first to store a result wins. One that replaces
		// an invalid result must not lose.
		first := t.run.invalid == 0
		return []checkpoint.Entry{{Task: t.id(), Slot: slotResult, Keep: first, Data: data}}, nil
	}
	t.verdict(&u)
	data, err := json.Marshal(u)
	if err != nil {
		return nil, t.fail(err)
	}
	return []checkpoint.Entry{{Task: t.id(), Slot: slotLast, Data: data}}, nil
}

// fieldOf returns the place of the field that w wrote, under whatever name. What a task wrote
// is not migrated: it is no value but a change of one.
func (w fieldWrite) fieldOf(s *state.Schema) (int, error) {
	i, ok := s.Index(w.Field)
	if !ok {
		i, ok = s.Renamed(w.Field)
	}
	if !ok {
		return 0, fmt.Errorf("%w: it wrote field %q, which is gone", ErrProgram, w.Field)
	}
	have, want := max(1, w.Version), s.Fields()[i].Version
	switch {
	case have > want:
		return 0, fmt.Errorf("%w: %w", ErrProgram, &checkpoint.NewerSchemaError{Field: w.Field, Stored: have, Known: want})
	case have < want:
		return 0, fmt.Errorf("%w: it wrote field %q at version %d, and now it has version %d; let the program that ran the step end it, or begin a new turn",
			ErrProgram, w.Field, have, want)
	}
	return i, nil
}
