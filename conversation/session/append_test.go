package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/state/message"
)

func call(ids ...string) message.Message {
	var calls []message.Call
	for _, id := range ids {
		calls = append(calls, message.Call{ID: id, Name: "f"})
	}
	return message.Assistant("", calls...)
}

func result(ids ...string) message.Message {
	var results []message.Result
	for _, id := range ids {
		results = append(results, message.ResultOf(id, "r"+id))
	}
	return message.Tool(results...)
}

func TestAppend_SeparateSessions(t *testing.T) {
	w := newWorld(t, "each session has its own log")
	a, b := w.create(session.Start{}), w.create(session.Start{})
	w.append(a.ID, message.User("to a"))
	w.append(b.ID, message.User("to b"))
	w.want(w.logOf(a.ID), "to a")
	w.want(w.logOf(b.ID), "to b")
}

func TestAppend_KeepsOrder(t *testing.T) {
	w := newWorld(t, "the log has all messages in order")
	id := w.create(session.Start{}).ID
	for i := range 5 {
		w.append(id, message.User(fmt.Sprint("q", i)), message.Assistant(fmt.Sprint("a", i)))
	}
	w.want(w.logOf(id), "q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3", "q4", "a4")
}

func TestAppend_Roles(t *testing.T) {
	w := newWorld(t, "the roles are system, user, assistant and tool")
	id := w.create(session.Start{System: "s"}).ID
	w.append(id, message.User("u"), call("1"), result("1"))
	w.want(w.logOf(id), "s", "u", "", "r1")
	var invalid *message.InvalidError
	if _, err := w.m.Append(w.ctx, id, message.Message{Role: "wizard", Content: []message.Part{message.Text("x")}}); !errors.As(err, &invalid) {
		w.Errorf("got %v, want an *InvalidError", err)
	}
}

func TestAppend_FillsIDsAndTimes(t *testing.T) {
	w := newWorld(t, "stored messages have ids and times")
	id := w.create(session.Start{}).ID
	added := w.append(id, message.User("u"), call("1")).Added
	for _, m := range added {
		if m.ID == "" || !m.Created.Equal(noon) {
			w.Errorf("got id %q and time %v", m.ID, m.Created)
		}
	}
	if got := w.logOf(id); text(got) != text(added) {
		w.Errorf("rule: the log has what Append returned\n got: %s\nwant: %s", text(got), text(added))
	}
}

func TestAppend_FillsCallIDs(t *testing.T) {
	w := newWorld(t, "a call without an id gets one")
	id := w.create(session.Start{}).ID
	calls := w.append(id, message.Assistant("", message.Call{Name: "f"}, message.Call{Name: "f"})).Added[0].Calls
	if calls[0].ID == "" || calls[0].ID == calls[1].ID {
		w.Errorf("got %+v", calls)
	}
	w.append(id, result(calls[1].ID, calls[0].ID))
}

func TestAppend_ResultMayBeAnError(t *testing.T) {
	w := newWorld(t, "a result has the id of its call and may be an error")
	id := w.create(session.Start{}).ID
	w.append(id, call("1"), message.Tool(message.Failed("1", "broken")))
	if r := w.logOf(id)[1].Results[0]; r.CallID != "1" || !r.IsError || r.Text() != "broken" {
		w.Errorf("got %+v", r)
	}
}

func TestAppend_RejectsPartsOfOtherRoles(t *testing.T) {
	w := newWorld(t, "a message has only the parts of its role")
	id := w.create(session.Start{}).ID
	user, tool, assistant := message.User("u"), result("1"), message.Assistant("a")
	user.Calls, tool.Content, assistant.Results = call("1").Calls, user.Content, result("1").Results
	for _, m := range []message.Message{user, tool, assistant} {
		var invalid *message.InvalidError
		if _, err := w.m.Append(w.ctx, id, message.User("fine"), m); !errors.As(err, &invalid) || invalid.Problems[0].Index != 1 {
			w.Errorf("%s: got %v, want an *InvalidError about message 1", m.Role, err)
		}
	}
	w.want(w.logOf(id))
}

func TestAppend_ResultsInAnyOrder(t *testing.T) {
	w := newWorld(t, "results may come in any order")
	id := w.create(session.Start{}).ID
	w.append(id, call("1", "2", "3"))
	w.append(id, result("3"))
	if open := w.append(id, result("2", "1")).Unanswered; len(open) > 0 {
		w.Errorf("rule: %s\n got: open %q", w.rule, open)
	}
	if err := message.Validate(w.logOf(id)); err != nil {
		w.Error(err)
	}
}

func TestGet_CountsTokens(t *testing.T) {
	w := newWorld(t, "a session counts its messages and tokens")
	words := counter(func(m message.Message) int { return len(m.Text()) })
	w.m = w.manager(session.Config{Window: message.Window{Counter: words}})
	id := w.create(session.Start{System: "four"}).ID
	w.append(id, message.User("three"))
	if s, err := w.m.Get(w.ctx, id); err != nil || s.Tokens != 9 || s.Messages != 2 {
		w.Errorf("rule: %s\n got: %d tokens, %d messages, %v\nwant: 9, 2", w.rule, s.Tokens, s.Messages, err)
	}
	if s := w.append(id, message.User("!")); s.Tokens != 10 {
		w.Errorf("got %d tokens, want 10", s.Tokens)
	}
}

func TestView_IsDerivedFromTheLog(t *testing.T) {
	w := newWorld(t, "a view is Derive of the log")
	id := w.create(session.Start{System: "s"}).ID
	w.append(id, message.User("q1"), message.Assistant("a1"), message.User("q2"))
	window := message.Window{MaxMessages: 2}
	w.m = w.manager(session.Config{Window: window})
	view, err := w.m.View(w.ctx, id)
	pure, pureErr := session.Derive(w.logOf(id), nil, 0, window)
	if err != nil || pureErr != nil || text(view.Messages) != text(pure.Messages) {
		w.Errorf("got %q, %v\nwant: %q, %v", textsOf(view.Messages), err, textsOf(pure.Messages), pureErr)
	}
}

func TestEnd_RemovesTheSession(t *testing.T) {
	w := newWorld(t, "End removes a session")
	s := w.create(session.Start{ID: "s", User: "ada"})
	if s.ID != "s" || s.User != "ada" || s.Created.IsZero() || !s.Deadline.After(s.Created) {
		w.Errorf("got %+v", s)
	}
	if err := w.m.End(w.ctx, "s"); err != nil {
		w.Error(err)
	}
	_, err := w.m.Get(w.ctx, "s")
	w.wantError(err, session.ErrNotFound)
	w.sweep()
	if n := w.left(); n > 0 {
		w.Errorf("rule: no document of a removed session is left\n got: %d documents", n)
	}
}

func TestLog_AnyID(t *testing.T) {
	w := newWorld(t, "any text may be an id")
	w.create(session.Start{ID: "a/1:{x} ä"})
	w.append("a/1:{x} ä", message.User("hello"))
	w.want(w.logOf("a/1:{x} ä"), "hello")
}

func TestTurn_AppendsTheResult(t *testing.T) {
	w := newWorld(t, "Turn passes the view and appends the result")
	id := w.create(session.Start{System: "s"}).ID
	w.append(id, message.User("q"))
	var seen []string
	done, err := w.m.Turn(w.ctx, id, func(_ context.Context, view message.Fitted) ([]message.Message, error) {
		seen = textsOf(view.Messages)
		return []message.Message{message.Assistant("a")}, nil
	})
	if err != nil || !slices.Equal(seen, []string{"s", "q"}) || done.Messages != 3 {
		w.Errorf("got %q, %v, %d messages", seen, err, done.Messages)
	}
	w.want(w.logOf(id), "s", "q", "a")
	stop := errors.New("stop")
	_, err = w.m.Turn(w.ctx, id, func(context.Context, message.Fitted) ([]message.Message, error) { return nil, stop })
	w.wantError(err, stop)
}

func TestAppend_ByManyManagers(t *testing.T) {
	w := newWorld(t, "any manager can continue a session")
	id := w.create(session.Start{}).ID
	for i := range 4 {
		w.m = w.manager(session.Config{}) // a new worker
		w.append(id, message.User(fmt.Sprint(i)))
	}
	w.want(w.logOf(id), "0", "1", "2", "3")
}

func TestManager_UnknownAndExistingIDs(t *testing.T) {
	w := newWorld(t, "unknown and existing ids are errors, a second End is not")
	for _, f := range []func() error{
		func() error { _, err := w.m.Get(w.ctx, "x"); return err },
		func() error { _, err := w.m.Append(w.ctx, "x", message.User("q")); return err },
		func() error { _, err := w.m.View(w.ctx, "x"); return err },
		func() error { _, err := w.m.Log(w.ctx, "x"); return err },
		func() error { _, err := w.m.Compact(w.ctx, "x"); return err },
		func() error { _, err := w.m.Turn(w.ctx, "x", nil); return err },
	} {
		w.wantError(f(), session.ErrNotFound)
	}
	w.create(session.Start{ID: "s"})
	_, err := w.m.Create(w.ctx, session.Start{ID: "s"})
	w.wantError(err, session.ErrExists)
	for range 2 {
		if err := w.m.End(w.ctx, "s"); err != nil {
			w.Error(err)
		}
	}
	if err := w.m.End(w.ctx, "never"); err != nil {
		w.Error(err)
	}
	_, err = w.m.Get(w.ctx, "")
	w.wantError(err, checkpoint.ErrThreadID)
	w.create(session.Start{ID: "s"}) // before a sweep
	w.want(w.logOf("s"))
}

func TestAppend_DuplicateID(t *testing.T) {
	w := newWorld(t, "a log is never overwritten")
	id := w.create(session.Start{}).ID
	m := message.User("first")
	m.ID = "m"
	w.append(id, m)
	m.Content = []message.Part{message.Text("second")}
	_, err := w.m.Append(w.ctx, id, message.User("other"), m)
	w.wantError(err, session.ErrDuplicate)
	n := message.User("n")
	n.ID = "n"
	_, err = w.m.Append(w.ctx, id, n, n)
	w.wantError(err, session.ErrDuplicate)
	w.want(w.logOf(id), "first")
}

func TestAppend_RejectsReusedCallID(t *testing.T) {
	w := newWorld(t, "a call with the id of an answered one is rejected")
	id := w.create(session.Start{}).ID
	w.append(id, call("1"), result("1"))
	var invalid *message.InvalidError
	if _, err := w.m.Append(w.ctx, id, message.User("again"), call("1")); !errors.As(err, &invalid) || invalid.Problems[0].Index != 1 || invalid.Problems[0].Rule != message.RuleDuplicate {
		w.Errorf("rule: %s\n got: %v", w.rule, err)
	}
	w.want(w.logOf(id), "", "r1")
	if err := message.Validate(w.logOf(id)); err != nil {
		w.Errorf("rule: the log is valid\n got: %v", err)
	}
	if _, err := w.m.Reset(w.ctx, session.Start{ID: id}); err != nil {
		w.Fatal(err)
	}
	w.append(id, call("1"), result("1")) // in another generation
}

func TestTurn_Conflict(t *testing.T) {
	w := newWorld(t, "a turn appends nothing after a concurrent Append")
	id := w.create(session.Start{}).ID
	_, err := w.m.Turn(w.ctx, id, func(context.Context, message.Fitted) ([]message.Message, error) {
		w.append(id, message.User("faster"))
		return []message.Message{message.Assistant("stale")}, nil
	})
	w.wantError(err, session.ErrConflict)
	w.want(w.logOf(id), "faster")
}

func TestSessions_OfOneUser(t *testing.T) {
	w := newWorld(t, "Sessions returns the active sessions of a user")
	w.create(session.Start{ID: "a1", User: "ada"})
	w.create(session.Start{ID: "b1", User: "bob"})
	w.create(session.Start{ID: "a2", User: "ada"})
	w.create(session.Start{ID: "a3", User: "ada"})
	if err := w.m.End(w.ctx, "a3"); err != nil {
		w.Fatal(err)
	}
	list, err := w.m.Sessions(w.ctx, "ada")
	var ids []string
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	if err != nil || !slices.Equal(ids, []string{"a1", "a2"}) {
		w.Errorf("got %q, %v", ids, err)
	}
}

type counter func(m message.Message) int

func (c counter) Count(m message.Message) (int, error) { return c(m), nil }

func TestAppend_PairsResultsWithCalls(t *testing.T) {
	w := newWorld(t, "a result belongs to one open call, and open calls are reported")
	id := w.create(session.Start{}).ID
	w.append(id, message.User("q"), call("1", "2"))
	if open := w.append(id, result("1")).Unanswered; !slices.Equal(open, []string{"2"}) {
		w.Errorf("rule: %s\n got: %q\nwant: 2", w.rule, open)
	}
	for _, c := range []struct {
		m    message.Message
		rule message.Rule
	}{{result("1"), message.RuleSecondResult}, {result("9"), message.RuleUnknownCall}, {call("2"), message.RuleDuplicate}, {result("2", "2"), message.RuleSecondResult}} {
		var invalid *message.InvalidError
		_, err := w.m.Append(w.ctx, id, c.m)
		if !errors.As(err, &invalid) || invalid.Problems[0].Rule != c.rule || invalid.Problems[0].Index != 0 {
			w.Errorf("rule: %s\n got: %v\nwant: %s about message 0", w.rule, err, c.rule)
		}
	}
	done := w.append(id, message.User("well?"))
	if !slices.Equal(done.Flagged, []string{"2"}) {
		w.Errorf("rule: open calls before a user message are flagged\n got: %q", done.Flagged)
	}
	if s, err := w.m.Get(w.ctx, id); err != nil || !slices.Equal(s.Unanswered, []string{"2"}) {
		w.Errorf("got open %q, %v", s.Unanswered, err)
	}
	if done := w.append(id, result("2")); len(done.Unanswered)+len(done.Flagged) > 0 {
		w.Errorf("got %q open, %q flagged after the last result", done.Unanswered, done.Flagged)
	}
}

func TestAppend_ConcurrentWorkers(t *testing.T) {
	w := newWorld(t, "concurrent workers lose and mix no messages")
	const sessions, workers, each = 2, 3, 4
	var wg sync.WaitGroup
	for s := range sessions {
		w.create(session.Start{ID: fmt.Sprint(s), User: fmt.Sprint("user", s)})
		for i := range workers {
			m := w.manager(session.Config{})
			wg.Go(func() {
				for j := range each {
					q := fmt.Sprintf("%d %d %d", s, i, j)
					if _, err := m.Append(w.ctx, fmt.Sprint(s), message.User(q), message.Assistant("to "+q)); err != nil {
						w.Errorf("append: %v", err)
					}
				}
			})
		}
	}
	wg.Wait()
	for s := range sessions {
		texts := textsOf(w.logOf(fmt.Sprint(s)))
		if len(texts) != 2*workers*each {
			w.Errorf("rule: %s\n got: %d of %d messages", w.rule, len(texts), 2*workers*each)
		}
		for i := 0; i+1 < len(texts); i += 2 {
			if texts[i+1] != "to "+texts[i] || texts[i][:1] != fmt.Sprint(s) {
				w.Errorf("rule: %s\n got: %q", w.rule, texts)
				break
			}
		}
	}
}

// It appends 20 messages with one time, and reads them page by page.
func TestPage_EachMessageOnce(t *testing.T) {
	w := newWorld(t, "the pages have each message once")
	id := w.create(session.Start{}).ID
	var ms []message.Message
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint("text ", i))
		ms = append(ms, message.User(want[i]))
	}
	w.append(id, ms...)
	var middle session.Cursor
	for size := 1; size <= 21; size += 4 {
		var got []string
		var at session.Cursor
		for n := range 22 {
			p, err := w.m.Page(w.ctx, id, at, size)
			if err != nil {
				w.Fatalf("page: %v", err)
			}
			if len(p.Messages) == 0 {
				break
			}
			got, at = append(textsOf(p.Messages), got...), p.Older
			if n == 1 && size == 5 {
				middle = at
				w.append(id, message.User("meanwhile"))
			}
		}
		if size > 5 {
			want = append(want[:20:20], "meanwhile")
		}
		if !slices.Equal(got, want) {
			w.Errorf("rule: %s, in pages of %d\n got: %q\nwant: %q", w.rule, size, got, want)
		}
	}
	p, err := w.m.Page(w.ctx, id, middle, 3)
	if err != nil {
		w.Fatalf("page: %v", err)
	}
	w.want(p.Messages, "text 7", "text 8", "text 9")
	_, err = w.m.Page(w.ctx, id, middle, 0)
	w.wantError(err, session.ErrLimit)
	if _, err := w.m.Reset(w.ctx, session.Start{ID: id}); err != nil {
		w.Fatal(err)
	}
	_, err = w.m.Page(w.ctx, id, middle, 3)
	w.wantError(err, session.ErrEnded)
}
