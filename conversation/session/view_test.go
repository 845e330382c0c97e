package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/conversation/session"
	"github.com/weftrun/weft/state/message"
)

// one counts one token for each message.
var one = counter(func(message.Message) int { return 1 })

func (w *world) view(id string) []message.Message {
	w.Helper()
	fit, err := w.m.View(w.ctx, id)
	if err != nil {
		w.Fatalf("view: %v", err)
	}
	return fit.Messages
}

// rounds appends questions and answers with the numbers from up to until.
func (w *world) rounds(id string, from, until int) {
	w.Helper()
	for i := from; i < until; i++ {
		w.append(id, message.User(fmt.Sprint("q", i)), message.Assistant(fmt.Sprint("a", i)))
	}
}

// summarising returns a manager whose window has four messages.
func (w *world) summarising(write func(ms []message.Message) (string, error)) *session.Manager {
	return w.manager(session.Config{
		Window:     message.Window{MaxTokens: 4, Counter: one},
		Summarizer: message.Summarizer{KeepTokens: 2, Write: func(_ context.Context, ms []message.Message) (string, error) { return write(ms) }},
	})
}

func concat(ms []message.Message) (string, error) {
	return strings.Join(textsOf(ms), " "), nil
}

func TestView_KeepsTheNewest(t *testing.T) {
	w := newWorld(t, "the window drops the oldest messages after the system prompt")
	w.m = w.manager(session.Config{Window: message.Window{MaxTokens: 3, Counter: one}})
	id := w.create(session.Start{System: "s"}).ID
	w.rounds(id, 0, 3)
	w.want(w.view(id), "s", "q2", "a2")
	w.want(w.logOf(id), "s", "q0", "a0", "q1", "a1", "q2", "a2")
}

func TestView_CallsStayWithResults(t *testing.T) {
	w := newWorld(t, "a call and its results leave the window together")
	w.m = w.manager(session.Config{Window: message.Window{MaxTokens: 3, Counter: one}})
	id := w.create(session.Start{}).ID
	w.append(id, message.User("q0"), call("1", "2"), result("1"), result("2"), message.User("q1"))
	w.want(w.view(id), "q1")
	rapid.Check(w.TB, func(r *rapid.T) { newSimulation(w, r).play() })
}

func TestView_FirstMessagesKeepResults(t *testing.T) {
	w := newWorld(t, "the first messages stay with the results of their calls")
	w.m = w.manager(session.Config{Window: message.Window{MaxMessages: 3, KeepFirst: 1}})
	id := w.create(session.Start{}).ID
	w.append(id, call("1"), message.User("q"), result("1"))
	w.rounds(id, 0, 9)
	fit, err := w.m.View(w.ctx, id)
	if calls, _ := message.Orphans(fit.Messages); len(calls) > 0 || err == nil && len(fit.Messages) > 3 {
		w.Errorf("rule: %s\n got: %s, %v", w.rule, text(fit.Messages), err)
	}
}

func TestView_LaterSystemMessage(t *testing.T) {
	w := newWorld(t, "a later system message is not pinned")
	w.m = w.manager(session.Config{Window: message.Window{MaxMessages: 1}})
	id := w.create(session.Start{}).ID
	w.append(id, message.User("q0"), message.System("note"), message.User("q1"))
	w.want(w.view(id), "q1")
}

func TestView_AtAndAboveTheLimit(t *testing.T) {
	w := newWorld(t, "at the limit nothing is cut, and a message above it is an error")
	w.m = w.manager(session.Config{Window: message.Window{MaxTokens: 12, Counter: counter(func(m message.Message) int { return len(m.Text()) })}})
	id := w.create(session.Start{System: "sys"}).ID
	w.append(id, message.User("four"), message.Assistant("five!"))
	w.want(w.view(id), "sys", "four", "five!")
	w.append(id, message.User("this is too long"))
	fit, err := w.m.View(w.ctx, id)
	var large *message.TooLargeError
	if !errors.As(err, &large) {
		w.Errorf("got %v, want a *TooLargeError", err)
	}
	w.want(fit.Messages, "sys", "this is too long")
}

func TestView_PinsLeadingSystemMessages(t *testing.T) {
	w := newWorld(t, "all leading system messages are pinned")
	w.m = w.manager(session.Config{Window: message.Window{MaxMessages: 3}})
	id := w.create(session.Start{}).ID
	w.rounds(id, 0, 2)
	w.want(w.view(id), "a0", "q1", "a1")
	id = w.create(session.Start{System: "s1"}).ID
	w.append(id, message.System("s2"))
	w.rounds(id, 0, 2)
	w.append(id, message.System("not leading"), message.User("q"))
	w.want(w.view(id), "s1", "s2", "q")
}

func TestCompact_ReplacesTheOldestRounds(t *testing.T) {
	w := newWorld(t, "a summary replaces the oldest rounds, as a system message")
	w.m = w.summarising(concat)
	id := w.create(session.Start{System: "s"}).ID
	w.rounds(id, 0, 3)
	w.compact(id, true)
	w.want(w.view(id), "s", "Summary of previous context: q0 a0 q1 a1", "q2", "a2")
	if m := w.view(id)[1]; m.Role != message.RoleSystem {
		w.Errorf("got the role %q", m.Role)
	}
	w.want(w.logOf(id), "s", "q0", "a0", "q1", "a1", "q2", "a2")
}

func TestCompact_ConcurrentAppendAndFailure(t *testing.T) {
	w := newWorld(t, "messages appended during Compact stay, also after its failure")
	id := w.create(session.Start{System: "s"}).ID
	w.rounds(id, 0, 3)
	w.m = w.summarising(func(ms []message.Message) (string, error) {
		w.rounds(id, 3, 4)
		return concat(ms)
	})
	w.compact(id, true)
	w.want(w.logOf(id), "s", "q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3")
	wide := w.manager(session.Config{})
	fit, err := wide.View(w.ctx, id)
	if err != nil {
		w.Fatal(err)
	}
	w.want(fit.Messages, "s", "Summary of previous context: q0 a0 q1 a1", "q2", "a2", "q3", "a3")
	no := errors.New("no model")
	other := w.create(session.Start{System: "s"}).ID
	w.rounds(other, 0, 3)
	w.m = w.summarising(func([]message.Message) (string, error) { return "", no })
	done, err := w.m.Compact(w.ctx, other)
	if w.wantError(err, no); done {
		w.Error("rule: a summary that failed changes nothing")
	}
	w.want(w.view(other), "s", "a1", "q2", "a2")
}

func TestCompact_DuringATurn(t *testing.T) {
	w := newWorld(t, "a Compact during a turn is no conflict")
	w.m = w.summarising(concat)
	id := w.create(session.Start{System: "s"}).ID
	w.rounds(id, 0, 3)
	_, err := w.m.Turn(w.ctx, id, func(context.Context, message.Fitted) ([]message.Message, error) {
		w.compact(id, true)
		return []message.Message{message.Assistant("after")}, nil
	})
	if err != nil {
		w.Fatalf("rule: %s\n got: %v", w.rule, err)
	}
	w.want(w.logOf(id), "s", "q0", "a0", "q1", "a1", "q2", "a2", "after")
	wide, err := w.manager(session.Config{}).View(w.ctx, id)
	if err != nil {
		w.Fatal(err)
	}
	w.want(wide.Messages, "s", "Summary of previous context: q0 a0 q1 a1", "q2", "a2", "after")
	_, err = w.m.Turn(w.ctx, id, func(context.Context, message.Fitted) ([]message.Message, error) {
		w.append(id, message.User("meanwhile"))
		return []message.Message{message.Assistant("late")}, nil
	})
	w.wantError(err, session.ErrConflict)
}

func TestCompact_FoldsTheEarlierSummary(t *testing.T) {
	w := newWorld(t, "a new summary includes the earlier one")
	w.m = w.summarising(concat)
	id := w.create(session.Start{System: "s"}).ID
	w.rounds(id, 0, 3)
	w.compact(id, true)
	w.compact(id, false)
	w.rounds(id, 3, 4)
	w.compact(id, true)
	w.want(w.view(id), "s", "Summary of previous context: Summary of previous context: q0 a0 q1 a1 q2 a2", "q3", "a3")
	stale := w.create(session.Start{}).ID
	w.rounds(stale, 0, 3)
	inner := w.m
	w.m = w.summarising(func(ms []message.Message) (string, error) {
		if done, err := inner.Compact(w.ctx, stale); err != nil || !done {
			w.Errorf("got %v, %v", done, err)
		}
		return "late", nil
	})
	w.compact(stale, false)
	w.want(w.view(stale), "Summary of previous context: q0 a0 q1 a1", "q2", "a2")
}

func (w *world) compact(id string, want bool) {
	w.Helper()
	if done, err := w.m.Compact(w.ctx, id); err != nil || done != want {
		w.Errorf("rule: %s\n got: %v, %v\nwant: %v", w.rule, done, err, want)
	}
}
