package wake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/graph"
)

// wake does what is due on the thread of an entry, and stores when to look at it again. The entry
// is open; wake closes it.
func (w *waker) wake(ctx context.Context, d document.Doc) {
	now, id := w.config.Now(), d.ID
	defer func() { w.exit(id) }()
	s, err := storedIn(d)
	if err == nil && s.Schedule != nil {
		if s, err = w.config.Timers.fire(ctx, s, now); err == nil {
			w.exit(id) // its next time does not wait for this run
			if id = s.id(); !w.enter(id) {
				id = ""
				return
			}
		}
	}
	if err == nil {
		err = w.attendAgain(ctx, &s, now)
	}
	var busy *checkpoint.BusyError
	switch {
	case err == nil || errors.Is(err, document.ErrConflict): // another waker or a run was here
		return
	case s.Schedule != nil: // it stays due
		w.count(Report{Failed: 1})
		w.failed(ctx, s.label(), err)
		return
	case errors.Is(err, ErrGraph): // it stays due for a waker that has the graph
		w.count(Report{Failed: 1})
		w.failed(ctx, s.label(), err)
		w.skip(id)
		return
	case errors.As(err, &busy): // another process has the thread: it may end its run, or be dead
		s.At = now.Add(w.config.Poll)
		if busy.Remaining > 0 && busy.Remaining < w.config.Poll {
			s.At = now.Add(busy.Remaining + time.Millisecond)
		}
	default:
		w.count(Report{Failed: 1})
		w.failed(ctx, s.label(), err)
		s.At = now.Add(backoff(s.Failures))
		s.Failures++
	}
	if s.version == 0 { // it could not be read
		return
	}
	if _, err := w.config.Timers.replace(context.WithoutCancel(ctx), s, s.entry); err != nil && !errors.Is(err, document.ErrConflict) {
		w.failed(ctx, s.label()+": store when to try again", err)
	}
}

// backoff returns how long to wait after so many failures and one more.
func backoff(failures int) time.Duration {
	return min(time.Second<<min(failures, 16), 5*time.Minute)
}

// leaseTries is how often a waker looks at a thread whose lease it loses meanwhile.
const leaseTries = 3

// attendAgain attends to a thread. If its lease is lost because the store is slow, it looks again
// at once, as the next waker would.
func (w *waker) attendAgain(ctx context.Context, s *stored, now time.Time) error {
	for try := 1; ; try++ {
		err := w.attend(ctx, s, now)
		if try == leaseTries || !errors.Is(err, checkpoint.ErrLeaseLost) {
			return err
		}
		again, err := w.config.Timers.get(ctx, s.Thread)
		if err != nil || again.version == 0 {
			return err
		}
		*s = again
	}
}

// attend looks at a thread. If questions have expired, a failed run is to be tried again, or a
// waker has died while it resumed the thread, it resumes the thread. Otherwise it sends the notices
// that are due. It updates s.
func (w *waker) attend(ctx context.Context, s *stored, now time.Time) error {
	begins, err := w.begins(ctx, *s)
	if err != nil {
		return err
	}
	if !begins {
		s.Begun, s.Start = s.Begun || s.Start != nil, nil
		if due, err := w.settle(ctx, *s, now); err != nil || !due {
			return err
		}
	}
	// A waker that finds the thread after this process has died goes on with it.
	if *s, err = w.config.Timers.begin(ctx, *s); err != nil || s.version == 0 {
		return err
	}
	done := Report{Resumed: 1}
	switch {
	case !begins:
		err = w.config.Resume(ctx, s.Timer)
	case s.Start == nil: // another waker has begun it meanwhile
		return nil
	default:
		done = Report{Started: 1}
		err = w.start(ctx, *s)
	}
	if err != nil && (ctx.Err() != nil || goesOnLater(err)) {
		return err
	}
	s.Begun = false
	if err != nil {
		if still, checkErr := w.overdue(ctx, *s, now); checkErr != nil || still {
			return err
		}
		// The thread went on, and its run failed. That is the result of the run.
		w.failed(ctx, s.label(), err)
	}
	w.count(done)
	// A run that asked again has set the timer. What is due now and later is looked at anew.
	again, err := w.config.Timers.get(ctx, s.Thread)
	if err != nil || again.version == 0 {
		return err
	}
	again.Begun, again.Start = false, nil
	due, err := w.settle(ctx, again, now)
	if err == nil && due { // others carry out the run: it may take a while
		again.At = now.Add(w.config.Poll)
		_, err = w.config.Timers.replace(ctx, again, again.entry)
	}
	return err
}

// goesOnLater reports whether a run that ended with err has not begun, or was stopped: a later
// waker goes on with it.
func goesOnLater(err error) bool {
	var busy *checkpoint.BusyError
	return errors.As(err, &busy) || errors.Is(err, ErrGraph) || errors.Is(err, graph.ErrProgram) || errors.Is(err, graph.ErrPinned) ||
		errors.Is(err, checkpoint.ErrLeaseLost) || graph.StoreWasAway(err)
}

// overdue reports whether the thread still has what was due.
func (w *waker) overdue(ctx context.Context, s stored, now time.Time) (bool, error) {
	info, err := graph.Inspect(ctx, w.config.Store, checkpoint.Key{Thread: s.Thread})
	if errors.Is(err, graph.ErrUnknownThread) {
		return s.Start != nil, nil
	}
	return goesOn(info, now), err
}

// goesOn reports whether a thread is to be resumed: a question has expired, or a failed run is to
// be tried again.
func goesOn(info graph.CommitInfo, now time.Time) bool {
	past := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	return past(info.RetryAt) || slices.ContainsFunc(info.Interrupts, func(in graph.Interrupt) bool { return past(in.Expires) })
}

// settle reports whether the thread is to be resumed. If not, it sends the notices that are due and
// stores when to look at the thread again. It has the lease meanwhile: a run that is about to store
// a question has set its timer before.
func (w *waker) settle(ctx context.Context, s stored, now time.Time) (due bool, err error) {
	held, err := checkpoint.Hold(ctx, w.config.Store, s.Thread, checkpoint.HoldOptions{TTL: leaseTime, Owner: "waker"})
	if err != nil {
		return false, err
	}
	defer func() {
		if lost := context.Cause(held.Context()); err != nil && errors.Is(lost, checkpoint.ErrLeaseLost) {
			err = fmt.Errorf("%w: %w", lost, err)
		}
		err = errors.Join(err, held.Release(context.WithoutCancel(ctx)))
	}()
	ctx = held.Context()
	info, err := graph.Inspect(ctx, w.config.Store, checkpoint.Key{Thread: s.Thread})
	if errors.Is(err, graph.ErrUnknownThread) {
		return false, w.config.Timers.remove(ctx, s)
	}
	if err != nil {
		return false, err
	}
	if goesOn(info, now) || s.Begun && info.Status == graph.Pending {
		return true, nil
	}
	next := info.RetryAt
	for _, in := range info.Interrupts {
		if err := w.notify(ctx, s, in, now); err != nil {
			return false, fmt.Errorf("the notice of question %s: %w", in.ID, err)
		}
		if at := in.Next(now); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if next.IsZero() {
		return false, w.config.Timers.remove(ctx, s)
	}
	s.At, s.Since, s.Failures, s.Begun = next, now, 0, false
	_, err = w.config.Timers.replace(ctx, s, s.entry)
	return false, err
}

// notify sends what is due of a question and was not sent yet.
func (w *waker) notify(ctx context.Context, s stored, in graph.Interrupt, now time.Time) error {
	for _, n := range notices(in, s.Since, now) {
		n.Thread, n.Graph, n.To, n.Question = s.Thread, s.Graph, in.AskedOf(n.At), in
		if w.config.Notify == nil {
			continue
		}
		if err := w.config.Notify(ctx, n); err != nil {
			return err
		}
		w.count(Report{Notified: 1})
	}
	return nil
}

// notices returns what was due of a question after since, until now: each escalation, and the last
// reminder.
func notices(in graph.Interrupt, since, now time.Time) (due []Notice) {
	if since.Before(in.Asked) {
		since = in.Asked
	}
	for _, e := range in.Escalate {
		if at := in.Asked.Add(e.After); at.After(since) && !at.After(now) {
			due = append(due, Notice{Kind: Escalation, At: at})
		}
	}
	if in.Remind > 0 {
		at := in.Asked.Add(now.Sub(in.Asked) / in.Remind * in.Remind)
		if at.After(since) && !at.After(now) {
			due = append(due, Notice{Kind: Reminder, At: at})
		}
	}
	slices.SortStableFunc(due, func(a, b Notice) int { return a.At.Compare(b.At) })
	return due
}
