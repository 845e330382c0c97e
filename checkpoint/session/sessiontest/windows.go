package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/checkpoint/session"
	"github.com/weftrun/weft/state/message"
)

// one counts a token for each message.
var one = counter(func(message.Message) int { return 1 })

func (w *world) view(id string) []message.Message {
	w.Helper()
	fit, err := w.m.View(w.ctx, id)
	if err != nil {
		w.Fatalf("view: %v", err)
	}
	return fit.Messages
}

// rounds appends so many questions and answers.
func (w *world) rounds(id string, from, until int) {
	w.Helper()
	for i := from; i < until; i++ {
		w.append(id, message.User(fmt.Sprint("q", i)), message.Assistant(fmt.Sprint("a", i)))
	}
}

// summarising returns a manager with room for four messages.
func (w *world) summarising(write func(ms []message.Message) (string, error)) *session.Manager {
	return w.manager(session.Config{
		Window:     message.Window{MaxTokens: 4, Counter: one},
		Summarizer: message.Summarizer{KeepTokens: 2, Write: func(_ context.Context, ms []message.Message) (string, error) { return write(ms) }},
	})
}

func concat(ms []message.Message) (string, error) {
	return strings.Join(textsOf(ms), " "), nil
}

var windows = []Rule{
	{"HC11", "the window slides from the beginning, behind the system prompt", func(w *world) {
		w.m = w.manager(session.Config{Window: message.Window{MaxTokens: 3, Counter: one}})
		id := w.create(session.Start{System: "s"}).ID
		w.rounds(id, 0, 3)
		w.want(w.view(id), "s", "q2", "a2")
		w.want(w.logOf(id), "s", "q0", "a0", "q1", "a1", "q2", "a2")
	}},
	{"HC12", "a call and its results leave the window together", func(w *world) {
		w.m = w.manager(session.Config{Window: message.Window{MaxTokens: 3, Counter: one}})
		id := w.create(session.Start{}).ID
		w.append(id, message.User("q0"), call("1", "2"), result("1"), result("2"), message.User("q1"))
		w.want(w.view(id), "q1")
		orphans(w)
	}},
	{"HC13", "at the limit nothing is cut; what is too large alone is an error", func(w *world) {
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
	}},
	{"HC14", "without a system prompt the first go first; all that lead are pinned", func(w *world) {
		w.m = w.manager(session.Config{Window: message.Window{MaxMessages: 3}})
		id := w.create(session.Start{}).ID
		w.rounds(id, 0, 2)
		w.want(w.view(id), "a0", "q1", "a1")
		id = w.create(session.Start{System: "s1"}).ID
		w.append(id, message.System("s2"))
		w.rounds(id, 0, 2)
		w.append(id, message.System("not leading"), message.User("q"))
		w.want(w.view(id), "s1", "s2", "q")
	}},
	{"HC15", "a summary takes the place of the oldest rounds, as a system message", func(w *world) {
		w.m = w.summarising(concat)
		id := w.create(session.Start{System: "s"}).ID
		w.rounds(id, 0, 3)
		w.compact(id, true)
		w.want(w.view(id), "s", "Summary of previous context: q0 a0 q1 a1", "q2", "a2")
		if m := w.view(id)[1]; m.Role != message.RoleSystem {
			w.Errorf("got the role %q", m.Role)
		}
		w.want(w.logOf(id), "s", "q0", "a0", "q1", "a1", "q2", "a2")
	}},
	{"HC16", "what is appended while a summary is written stays; without one the window slides", func(w *world) {
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
	}},
	{"HC17", "there is one summary, in which the one before is folded", func(w *world) {
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
	}},
	{"", "a view is what the window makes of the whole log", twin},
}

func (w *world) compact(id string, want bool) {
	w.Helper()
	if done, err := w.m.Compact(w.ctx, id); err != nil || done != want {
		w.Errorf("rule: %s\n got: %v, %v\nwant: %v", w.rule, done, err, want)
	}
}

// orphans lets random conversations be cut, and looks for results without their call.
func orphans(w *world) {
	rapid.Check(w.TB, func(r *rapid.T) { w.play(r, func(string, message.Window) {}) })
}

// twin compares views with what Derive makes of the whole log.
func twin(w *world) {
	rapid.Check(w.TB, func(r *rapid.T) {
		w.play(r, func(id string, window message.Window) {
			got, err := w.m.View(w.ctx, id)
			want, wantErr := session.Derive(w.logOf(id), nil, 0, window)
			if text(got.Messages) != text(want.Messages) || (err == nil) != (wantErr == nil) {
				r.Fatalf("rule: %s\n got: %q, %v\nwant: %q, %v\n log: %s", w.rule, textsOf(got.Messages), err, textsOf(want.Messages), wantErr, text(w.logOf(id)))
			}
		})
	})
}

// play has a random conversation with tools, windows and, unless compare wants to see the log
// alone, summaries. After each move the view must be one that a provider takes, and the log
// must have everything.
func (w *world) play(r *rapid.T, compare func(id string, window message.Window)) {
	window := message.Window{
		MaxMessages: rapid.IntRange(0, 6).Draw(r, "messages"), MaxTokens: rapid.IntRange(0, 8).Draw(r, "tokens"), Counter: one,
		KeepFirst: rapid.IntRange(0, 2).Draw(r, "first"), WholeTurns: rapid.Bool().Draw(r, "whole"),
	}
	w.m = w.manager(session.Config{Window: window})
	id := w.create(session.Start{System: rapid.SampledFrom([]string{"", "s"}).Draw(r, "system")}).ID
	said, calls := len(w.logOf(id)), 0
	for range rapid.IntRange(1, 6).Draw(r, "moves") {
		ms := w.move(r, id, &calls)
		w.append(id, ms...)
		said += len(ms)
		if log := w.logOf(id); len(log) != said {
			r.Fatalf("rule: nothing leaves the log\n got: %d messages\nwant: %d", len(log), said)
		}
		fit, err := w.m.View(w.ctx, id)
		var large *message.TooLargeError
		if err != nil && !errors.As(err, &large) {
			r.Fatal(err)
		}
		if _, results := message.Orphans(fit.Messages); len(results) > 0 {
			r.Fatalf("rule: no view has a result without its call\n got: %s", text(fit.Messages))
		}
		compare(id, window)
	}
	w.summarise(r, id)
}

// summarise compacts and looks at the view again.
func (w *world) summarise(r *rapid.T, id string) {
	before := text(w.logOf(id))
	w.m = w.summarising(func([]message.Message) (string, error) { return "short", nil })
	if _, err := w.m.Compact(w.ctx, id); err != nil {
		r.Fatalf("compact: %v", err)
	}
	fit, err := w.m.View(w.ctx, id)
	var large *message.TooLargeError
	if err != nil && !errors.As(err, &large) {
		r.Fatal(err)
	}
	if _, results := message.Orphans(fit.Messages); len(results) > 0 || text(w.logOf(id)) != before {
		r.Fatalf("rule: a summary parts no call from its results, and leaves the log as it is\n got: %s", text(fit.Messages))
	}
}

// move draws what comes next: a question, an answer, calls, or results of what is open.
func (w *world) move(r *rapid.T, id string, calls *int) []message.Message {
	s, err := w.m.Get(w.ctx, id)
	if err != nil {
		r.Fatal(err)
	}
	switch n := rapid.IntRange(0, 5).Draw(r, "move"); {
	case n <= 1 && len(s.Unanswered) > 0:
		many := rapid.IntRange(1, len(s.Unanswered)).Draw(r, "results")
		return []message.Message{result(s.Unanswered[:many]...)}
	case n == 2:
		var ids []string
		for range rapid.IntRange(1, 3).Draw(r, "calls") {
			*calls++
			ids = append(ids, fmt.Sprint("c", *calls))
		}
		return []message.Message{call(ids...)}
	case n == 3:
		return []message.Message{message.Assistant("a")}
	case n == 4:
		return []message.Message{message.System("note")}
	}
	return []message.Message{message.User("q"), message.Assistant("a")}
}
