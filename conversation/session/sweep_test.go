package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/state/message"
)

func TestSweep_OffloadsEveryKindOfEnd(t *testing.T) {
	w := newWorld(t, "the end, a reset and a timeout offload the whole session")
	for _, id := range []string{"end", "reset", "timeout"} {
		w.create(session.Start{ID: id, User: "ada", System: "s"})
		w.append(id, message.User("q "+id), call("1"), result("1"), message.Assistant("a"))
	}
	if err := w.m.End(w.ctx, "end"); err != nil {
		w.Fatal(err)
	}
	if s, err := w.m.Reset(w.ctx, session.Start{ID: "reset", System: "new"}); err != nil || s.User != "ada" {
		w.Fatalf("got %+v, %v", s, err)
	}
	w.want(w.logOf("reset"), "new")
	w.sweep()
	w.clock.advance(time.Hour)
	w.sweep()
	var reasons []string
	for _, e := range w.engine.calls {
		if len(e.Messages) > 1 { // not the session that Reset started
			reasons = append(reasons, string(e.Reason)+" of "+e.ID+" by "+e.User)
			w.want(e.Messages, "s", "q "+e.ID, "", "r1", "a")
		}
	}
	slices.Sort(reasons)
	if want := []string{"end of end by ada", "reset of reset by ada", "timeout of timeout by ada"}; !slices.Equal(reasons, want) {
		w.Errorf("rule: %s\n got: %q\nwant: %q", w.rule, reasons, want)
	}
}

func TestSweep_OffloadsTheWholeLog(t *testing.T) {
	w := newWorld(t, "the whole log is offloaded, also behind a window and a summary")
	w.m = w.summarising(concat)
	id := w.create(session.Start{System: "s"}).ID
	w.rounds(id, 0, 4)
	w.compact(id, true)
	if err := w.m.End(w.ctx, id); err != nil {
		w.Fatal(err)
	}
	w.sweep()
	w.want(w.engine.calls[0].Messages, "s", "q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3")
}

func TestCreate_AddsLongTermMemory(t *testing.T) {
	w := newWorld(t, "the system prompt has what the engine knows about the user")
	w.engine.known = map[string]string{"ada": " Ada likes tea. "}
	for user, want := range map[string]string{"ada": "Be brief.\n\nAda likes tea.", "bob": "Be brief.", "panic": "Be brief.", "": "Be brief."} {
		w.want(w.logOf(w.create(session.Start{User: user, System: "Be brief."}).ID), want)
	}
	w.want(w.logOf(w.create(session.Start{User: "ada"}).ID), "Ada likes tea.")
	w.want(w.logOf(w.create(session.Start{User: "bob"}).ID))
	w.engine.fail = errors.New("asleep")
	w.want(w.logOf(w.create(session.Start{User: "ada", System: "Be brief."}).ID), "Be brief.")
	if log := w.log.String(); !strings.Contains(log, "asleep") || !strings.Contains(log, "ouch") {
		w.Errorf("rule: failures of the engine are logged\n got: %s", log)
	}
}

func TestSweep_ExpiredSession(t *testing.T) {
	w := newWorld(t, "a session past its deadline is offloaded and then removed")
	id := w.create(session.Start{ID: "s"}).ID
	w.append(id, message.User("q"))
	w.clock.advance(59 * time.Minute)
	w.append(id, message.User("still here")) // extends the deadline by an hour
	w.clock.advance(time.Minute)
	if done := w.sweep(); done.Expired > 0 || len(w.engine.calls) > 0 {
		w.Errorf("rule: each message extends the deadline\n got: %+v", done)
	}
	w.clock.advance(time.Hour)
	_, err := w.m.Append(w.ctx, id, message.User("too late"))
	w.wantError(err, session.ErrEnded)
	if done := w.sweep(); done != (session.SweepStats{Expired: 1, Offloaded: 1, Removed: 1}) {
		w.Errorf("got %+v", done)
	}
	w.want(w.engine.calls[0].Messages, "q", "still here")
	if n := w.left(); n > 0 {
		w.Errorf("rule: no document is left\n got: %d documents", n)
	}
	if done := w.sweep(); done != (session.SweepStats{}) {
		w.Errorf("rule: a second sweep does nothing\n got: %+v", done)
	}
}

func TestCreate_ReusesAnExpiredID(t *testing.T) {
	w := newWorld(t, "an expired id can be used at once, and its session is offloaded")
	w.create(session.Start{ID: "s"})
	w.append("s", message.User("old"))
	w.clock.advance(time.Hour)
	w.create(session.Start{ID: "s"})
	w.append("s", message.User("new"))
	w.sweep()
	w.want(w.engine.calls[0].Messages, "old")
	w.want(w.logOf("s"), "new")
	if err := w.m.End(w.ctx, "s"); err != nil {
		w.Fatal(err)
	}
	w.sweep()
	w.want(w.engine.calls[1].Messages, "new")
	if w.engine.calls[0].Key == w.engine.calls[1].Key {
		w.Error("rule: each generation has its own key")
	}
}

func TestSweep_LongSession(t *testing.T) {
	w := newWorld(t, "a long session is removed in several batches")
	id := w.create(session.Start{}).ID
	for range 2 {
		ms := make([]message.Message, 600)
		for i := range ms {
			ms[i] = message.User("x")
		}
		w.append(id, ms...)
	}
	if err := w.m.End(w.ctx, id); err != nil {
		w.Fatal(err)
	}
	if w.sweep(); len(w.engine.calls[0].Messages) != 1200 || w.left() > 0 {
		w.Errorf("got %d messages offloaded, %d documents left", len(w.engine.calls[0].Messages), w.left())
	}
}

func TestSweep_ManySessions(t *testing.T) {
	w := newWorld(t, "a sweep handles many sessions")
	n := racescale.Of(230, 130) // a sweep reads 100 at once
	for i := range n {
		w.create(session.Start{ID: fmt.Sprint(i)})
	}
	w.clock.advance(time.Hour)
	if done := w.sweep(); done != (session.SweepStats{Expired: n, Offloaded: n, Removed: n}) || w.left() > 0 {
		w.Errorf("got %+v, %d documents left", done, w.left())
	}
}

func TestSweep_RetriesAFailedEngine(t *testing.T) {
	w := newWorld(t, "a failing engine blocks no session and receives it once")
	w.create(session.Start{ID: "s", User: "ada"})
	w.append("s", message.User("old"))
	w.engine.fail = errors.New("down")
	if _, err := w.m.Reset(w.ctx, session.Start{ID: "s"}); err != nil {
		w.Fatalf("rule: %s\n got: %v", w.rule, err)
	}
	w.append("s", message.User("new"))
	sweeper := &session.Sweeper{Manager: w.m}
	for i := range 3 {
		_, err := sweeper.Sweep(w.ctx)
		if w.wantError(err, w.engine.fail); !strings.Contains(fmt.Sprint(err), fmt.Sprint("attempt ", i+1)) {
			w.Errorf("got %v, want the attempt", err)
		}
		if done := w.sweep(); done.Offloaded > 0 || len(w.engine.calls) != i+1 {
			w.Errorf("rule: there is a pause between two attempts\n got: %d calls", len(w.engine.calls))
		}
		w.clock.advance(time.Second << i)
	}
	w.engine.fail = nil
	if done := w.sweep(); done.Offloaded != 1 || done.Removed != 0 {
		w.Errorf("got %+v", done)
	}
	w.clock.advance(time.Minute)
	w.sweep()
	w.want(w.logOf("s"), "new")
	if len(w.engine.calls) != 4 || len(w.engine.taken) != 1 {
		w.Errorf("rule: one offload for one end\n got: %d calls, %d taken", len(w.engine.calls), len(w.engine.taken))
	}
	w.want(w.engine.calls[3].Messages, "old")
}

// It fails each write of an End once, before or after the write, and then runs other sweepers.
func TestSweep_CrashAtEveryWrite(t *testing.T) {
	w := newWorld(t, "a crash at any write offloads the session exactly once")
	for _, made := range []bool{false, true} {
		for n := 0; ; n++ {
			id := fmt.Sprint("s", made, n)
			w.create(session.Start{ID: id})
			w.append(id, message.User("q"), message.Assistant("a"))
			w.engine.mu.Lock()
			w.engine.calls, w.engine.taken = nil, nil
			w.engine.mu.Unlock()
			writes := 0
			w.store.before = func(p document.Place, changes []document.Change) error {
				if writes++; writes <= n {
					return nil
				}
				if writes == n+1 && made { // the write succeeds, but its caller gets an error
					if _, err := w.store.Store.Batch(w.ctx, p, changes); err != nil {
						return err
					}
				}
				return errFlaky // the process ends
			}
			w.m.End(w.ctx, id)
			(&session.Sweeper{Manager: w.m}).Sweep(w.ctx)
			w.store.before = nil
			for range 3 { // other sweepers
				w.clock.advance(time.Hour)
				w.m = w.manager(session.Config{})
				w.sweep()
			}
			if len(w.engine.taken) != 1 || w.left() > 0 {
				w.Fatalf("rule: %s\n got: crash at write %d (made: %v): %d taken, %d documents left", w.rule, n+1, made, len(w.engine.taken), w.left())
			}
			for _, e := range w.engine.taken {
				w.want(e.Messages, "q", "a")
			}
			if writes <= n {
				break // there is no further write
			}
		}
	}
}

func TestSweep_ConcurrentSweepers(t *testing.T) {
	w := newWorld(t, "one of several sweepers offloads a session")
	const sessions = 12
	for i := range sessions {
		w.create(session.Start{ID: fmt.Sprint(i)})
		w.append(fmt.Sprint(i), message.User("q"))
	}
	w.clock.advance(time.Hour)
	var wg sync.WaitGroup
	for range 3 {
		m := w.manager(session.Config{})
		wg.Go(func() {
			if _, err := (&session.Sweeper{Manager: m}).Sweep(context.WithoutCancel(w.ctx)); err != nil {
				w.Errorf("sweep: %v", err)
			}
		})
	}
	wg.Wait()
	w.clock.advance(time.Minute)
	w.sweep()
	if len(w.engine.calls) != sessions || len(w.engine.taken) != sessions || w.left() > 0 {
		w.Errorf("rule: %s\n got: %d calls, %d taken, %d documents left\nwant: %d calls", w.rule, len(w.engine.calls), len(w.engine.taken), w.left(), sessions)
	}
}
