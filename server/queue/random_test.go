package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/server/queue"
)

// op is one step of a random history. Its numbers select among what is there.
type op struct {
	Do         string
	Process    int
	Thread, Of int
	Rule       queue.Rule
	Action     queue.Action
	Wait       time.Duration // of "wait", or until the run is due
}

var anOp = rapid.Custom(func(t *rapid.T) op {
	return op{
		Do:      rapid.SampledFrom([]string{"create", "create", "create", "claim", "claim", "claim", "finish", "finish", "put back", "abandon", "cancel", "delete", "wait"}).Draw(t, "do"),
		Process: rapid.IntRange(0, 1).Draw(t, "process"),
		Thread:  rapid.IntRange(0, 2).Draw(t, "thread"),
		Of:      rapid.IntRange(0, 5).Draw(t, "of"),
		Rule:    rapid.SampledFrom([]queue.Rule{queue.Enqueue, queue.Enqueue, queue.Enqueue, queue.Reject, queue.Interrupt, queue.Rollback}).Draw(t, "rule"),
		Action:  rapid.SampledFrom([]queue.Action{queue.Stop, queue.Undo}).Draw(t, "action"),
		Wait:    time.Duration(rapid.SampledFrom([]int{0, 0, 100, 700, 1600, 4000}).Draw(t, "wait")) * time.Millisecond,
	}
})

// modelRun is a run of the model.
type modelRun struct {
	id       string
	status   queue.Status // "" when its document is removed
	due      time.Time
	action   queue.Action
	attempt  int
	claim    *queue.Claim // nil unless the run is running
	left     time.Time    // when its process has died; zero while it lives
	inflight bool         // it was claimed before
}

// model is what the queue must hold.
type model struct {
	queues []*queue.Queue
	lines  [3][]*modelRun // the unfinished runs of each thread, in their order
	runs   [3][]*modelRun // all runs of each thread
	stale  []*queue.Claim // claims whose runs were taken over
	n      int
	wrong  error
}

func (m *model) fail(format string, args ...any) {
	if m.wrong == nil {
		m.wrong = fmt.Errorf(format, args...)
	}
}

func threadName(n int) string { return fmt.Sprint("t", n) }

// claimed returns the runs that live processes run.
func (m *model) claimed() (all []*modelRun) {
	for _, line := range m.lines {
		for _, r := range line {
			if r.claim != nil && r.left.IsZero() {
				all = append(all, r)
			}
		}
	}
	return all
}

// next returns the run of a thread that may be claimed; nil if there is none. A process that has
// died keeps the thread for the time of its lease.
func (m *model) next(n int) *modelRun {
	now := time.Now()
	for _, r := range m.lines[n] {
		if r.claim != nil {
			if r.left.IsZero() || now.Before(r.left.Add(time.Second)) {
				return nil
			}
			return r
		}
	}
	for _, r := range m.lines[n] {
		if !r.due.After(now) {
			return r
		}
	}
	return nil
}

// end takes a run out of its line.
func (m *model) end(n int, r *modelRun, s queue.Status) {
	r.status, r.claim = s, nil
	m.lines[n] = slices.DeleteFunc(m.lines[n], func(o *modelRun) bool { return o == r })
}

// cancel is what Cancel and the rules of Create do to an unfinished run.
func (m *model) cancel(n int, r *modelRun, a queue.Action) {
	switch {
	case r.claim == nil && a == queue.Undo:
		m.end(n, r, "")
	case r.claim == nil:
		m.end(n, r, queue.Interrupted)
	case r.action != queue.Undo:
		r.action = a
	}
}

func (m *model) do(ctx context.Context, o op) {
	q, thread := m.queues[o.Process], threadName(o.Thread)
	pick := func(all []*modelRun) *modelRun {
		if len(all) == 0 {
			return nil
		}
		return all[o.Of%len(all)]
	}
	switch o.Do {
	case "create":
		m.n++
		r := &modelRun{id: fmt.Sprint("r", m.n), status: queue.Pending}
		if o.Wait > 0 {
			r.due = time.Now().Add(o.Wait)
		}
		_, err := q.Create(ctx, queue.Run{ID: r.id, Thread: thread, Due: r.due}, o.Rule)
		switch {
		case o.Rule == queue.Reject && len(m.lines[o.Thread]) > 0:
			if !errors.Is(err, queue.ErrThreadBusy) {
				m.fail("create %s: got %v, want ErrThreadBusy", r.id, err)
			}
			return
		case err != nil:
			m.fail("create %s: %v", r.id, err)
		case o.Rule == queue.Interrupt || o.Rule == queue.Rollback:
			for _, other := range slices.Clone(m.lines[o.Thread]) {
				m.cancel(o.Thread, other, map[queue.Rule]queue.Action{queue.Interrupt: queue.Stop, queue.Rollback: queue.Undo}[o.Rule])
			}
		}
		m.lines[o.Thread] = append(m.lines[o.Thread], r)
		m.runs[o.Thread] = append(m.runs[o.Thread], r)
	case "claim":
		m.claim(ctx, q, 1+o.Of%3)
	case "finish", "put back":
		if len(m.stale) > 0 && o.Of == 5 {
			if err := m.stale[0].Finish(ctx, queue.End{Status: queue.Success}); !errors.Is(err, queue.ErrLost) {
				m.fail("the end of %s, which was taken over: got %v, want ErrLost", m.stale[0].Run.ID, err)
			}
			return
		}
		if r := pick(m.claimed()); r != nil {
			m.leave(ctx, r, o.Do)
		}
	case "abandon":
		if r := pick(m.claimed()); r != nil {
			r.claim.Abandon()
			r.left = time.Now()
		}
	case "cancel":
		if r := pick(m.runs[o.Thread]); r != nil {
			_, err := q.Cancel(ctx, thread, r.id, o.Action)
			if gone := r.status == ""; gone != errors.Is(err, queue.ErrNotFound) || !gone && err != nil {
				m.fail("cancel %s, which is %q: %v", r.id, r.status, err)
			}
			if slices.Contains(m.lines[o.Thread], r) {
				m.cancel(o.Thread, r, o.Action)
			}
		}
	case "delete":
		if r := pick(m.runs[o.Thread]); r != nil {
			err := q.Delete(ctx, thread, r.id)
			switch {
			case r.status == "" && !errors.Is(err, queue.ErrNotFound), r.claim != nil && !errors.Is(err, queue.ErrRunning),
				r.status != "" && r.claim == nil && err != nil:
				m.fail("delete %s, which is %q: %v", r.id, r.status, err)
			case r.status != "" && r.claim == nil:
				m.end(o.Thread, r, "")
			}
		}
	case "wait":
		time.Sleep(o.Wait)
	}
}

// claim claims runs, and tests that each was the next of its thread.
func (m *model) claim(ctx context.Context, q *queue.Queue, most int) {
	claims, err := q.Claim(ctx, most)
	if err != nil || len(claims) > most {
		m.fail("claim of %d: got %d and %v", most, len(claims), err)
	}
	for n := range m.lines { // a run that has used up its attempts fails when it would be claimed
		if r := m.next(n); r != nil && r.attempt == 3 && r.claim != nil && r.action == "" {
			if now, err := q.Get(ctx, threadName(n), r.id); err == nil && now.Status == queue.Failed {
				m.stale = append(m.stale, r.claim)
				m.end(n, r, queue.Failed)
			}
		}
	}
	for _, c := range claims {
		var n int
		if _, err := fmt.Sscanf(c.Run.Thread, "t%d", &n); err != nil {
			m.fail("claimed a run of thread %q", c.Run.Thread)
			continue
		}
		r := m.next(n)
		if r == nil || r.id != c.Run.ID {
			m.fail("claimed %s of thread %d, want %+v", c.Run.ID, n, r)
			continue
		}
		if r.claim != nil {
			m.stale = append(m.stale, r.claim)
		}
		r.attempt++
		if c.Action != r.action || c.Again != r.inflight || c.Run.Attempt != r.attempt {
			m.fail("claimed %s with action %q, again %t and attempt %d, want %q, %t and %d", r.id, c.Action, c.Again, c.Run.Attempt, r.action, r.inflight, r.attempt)
		}
		r.claim, r.left, r.inflight, r.status = c, time.Time{}, true, queue.Running
	}
}

// leave ends a run, or puts it back.
func (m *model) leave(ctx context.Context, r *modelRun, how string) {
	n := slices.IndexFunc(m.lines[:], func(line []*modelRun) bool { return slices.Contains(line, r) })
	if how == "put back" {
		if err := r.claim.PutBack(ctx); err != nil {
			m.fail("put back %s: %v", r.id, err)
		}
		r.status, r.claim = queue.Pending, nil
		r.attempt--
		return
	}
	if err := r.claim.Finish(ctx, queue.End{Status: queue.Success}); err != nil {
		m.fail("finish %s: %v", r.id, err)
	}
	if r.action == queue.Undo {
		m.end(n, r, "")
	} else {
		m.end(n, r, queue.Success)
	}
}

// compare tests that both processes see what the model has.
func (m *model) compare(ctx context.Context) {
	for _, q := range m.queues {
		for n := range m.lines {
			var want []string
			for _, r := range m.lines[n] {
				want = append(want, r.id)
			}
			if got, err := q.Unfinished(ctx, threadName(n)); err != nil || !slices.Equal(got, want) {
				m.fail("the line of thread %d is %v with error %v, want %v", n, got, err, want)
			}
			for _, r := range m.runs[n] {
				got, err := q.Get(ctx, threadName(n), r.id)
				if err != nil && !errors.Is(err, queue.ErrNotFound) || got.Status != r.status {
					m.fail("run %s is %q with error %v, want %q", r.id, got.Status, err, r.status)
				}
			}
		}
	}
}

// drain lets all processes die, and tests that a new one ends all runs.
func (m *model) drain(ctx context.Context, fresh *queue.Queue) {
	for _, r := range m.claimed() {
		r.claim.Abandon()
		r.left = time.Now()
	}
	for round := 0; m.wrong == nil && m.unfinished() > 0; round++ {
		if round == 100 {
			m.fail("%d runs are forgotten", m.unfinished())
		}
		time.Sleep(time.Second)
		m.claim(ctx, fresh, 3)
		for _, r := range m.claimed() {
			m.leave(ctx, r, "finish")
		}
	}
	for _, r := range m.claimed() { // after a mistake
		r.claim.Abandon()
	}
}

func (m *model) unfinished() (n int) {
	for _, line := range m.lines {
		n += len(line)
	}
	return n
}

// Any history of two processes, which may die, leaves the runs and lines of a simple model.
func TestQueue_EqualsASimpleModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ops := rapid.SliceOfN(anOp, 1, 60).Draw(rt, "ops")
		var wrong error
		synctest.Test(t, func(t *testing.T) {
			ctx, s := t.Context(), inMemory()
			m := &model{queues: []*queue.Queue{s.process(t), s.process(t)}}
			for i, o := range ops {
				if m.do(ctx, o); m.wrong == nil {
					m.compare(ctx)
				}
				if m.wrong != nil {
					m.wrong = fmt.Errorf("step %d, %+v: %w", i+1, o, m.wrong)
					break
				}
			}
			m.drain(ctx, s.process(t))
			if m.wrong == nil {
				m.compare(ctx)
			}
			wrong = m.wrong
		})
		if wrong != nil {
			rt.Fatal(wrong)
		}
	})
}
