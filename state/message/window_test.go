package message_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/state/message"
)

// each counts every message as one token for each byte of its texts, at least 1.
type each struct{}

func (each) Count(m message.Message) (int, error) { return max(1, len(m.Text())), nil }

// conversation draws a log with system messages, rounds of calls, results that come
// late, interleaved, together, never, or for no call.
var conversation = rapid.Custom(func(t *rapid.T) []message.Message {
	var ms []message.Message
	var open []string
	add := func(m message.Message) {
		m.ID = fmt.Sprint(len(ms))
		ms = append(ms, m)
	}
	for range rapid.IntRange(0, 2).Draw(t, "system") {
		add(message.System("s"))
	}
	for i := range rapid.IntRange(0, 30).Draw(t, "n") {
		switch rapid.IntRange(0, 8).Draw(t, "kind") {
		case 0, 1, 2:
			add(message.User(rapid.StringN(1, 5, 5).Draw(t, "text")))
		case 3:
			add(message.Assistant("a"))
		case 4, 5:
			m := message.Assistant("")
			for k := range rapid.IntRange(1, 3).Draw(t, "calls") {
				c := fmt.Sprint("c", i, "-", k)
				m.Calls, open = append(m.Calls, message.Call{ID: c, Name: "t"}), append(open, c)
			}
			add(m)
		case 6, 7:
			m := message.Tool()
			for range rapid.IntRange(1, 3).Draw(t, "results") {
				if len(open) == 0 || rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
					m.Results = append(m.Results, message.ResultOf("lost", "x"))
					continue
				}
				k := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				m.Results = append(m.Results, message.ResultOf(open[k], "xy"))
				open = slices.Delete(open, k, k+1)
			}
			add(m)
		default:
			add(message.System("mid"))
		}
	}
	return ms
})

var windows = rapid.Custom(func(t *rapid.T) message.Window {
	return message.Window{
		MaxTokens: rapid.IntRange(0, 40).Draw(t, "tokens"), MaxMessages: rapid.IntRange(0, 25).Draw(t, "messages"),
		KeepFirst: rapid.IntRange(0, 2).Draw(t, "first"), KeepSystem: rapid.Bool().Draw(t, "system"),
		WholeTurns: rapid.Bool().Draw(t, "turns"), Counter: each{},
	}
})

func TestWindow_NeverOrphansToolResults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms, w := conversation.Draw(t, "conversation"), windows.Draw(t, "window")
		before := asJSON(t, ms)
		fit, err := w.Fit(ms)
		if asJSON(t, ms) != before {
			t.Fatal("Fit changed what it was given")
		}
		var large *message.TooLargeError
		if err != nil && !errors.As(err, &large) {
			t.Fatal(err)
		}
		noOrphans(t, ms, fit.Messages)
		budget(t, w, fit, large)
		order(t, ms, fit)
		if want := slow(w, ms); len(fit.Orphans) == 0 && ids(fit.Messages) != want {
			t.Fatalf("got %q, want %q", ids(fit.Messages), want)
		}
	})
}

// noOrphans: no result without its call, and no call that had a result without it.
func noOrphans(t *rapid.T, all, stored []message.Message) {
	before, _ := message.Orphans(all)
	calls, results := message.Orphans(stored)
	if len(results) > 0 {
		t.Fatalf("the window has the orphans %v", results)
	}
	for _, c := range calls {
		if !slices.ContainsFunc(before, func(r message.Ref) bool { return r.CallID == c.CallID }) {
			t.Fatalf("the window lost the result of call %q", c.CallID)
		}
	}
}

func budget(t *rapid.T, w message.Window, fit message.Fitted, large *message.TooLargeError) {
	tokens, _ := message.Total(each{}, fit.Messages)
	over := w.MaxMessages > 0 && len(fit.Messages) > w.MaxMessages || w.MaxTokens > 0 && tokens > w.MaxTokens
	if over != (large != nil) {
		t.Fatalf("%d messages and %d tokens in %+v: got error %v", len(fit.Messages), tokens, w, large)
	}
	if w.MaxTokens > 0 && fit.Tokens != tokens {
		t.Fatalf("got %d tokens, want %d", fit.Tokens, tokens)
	}
}

// order checks that the fitted and the cut messages are all messages, both in their original order.
func order(t *rapid.T, all []message.Message, fit message.Fitted) {
	var place []int
	for _, part := range [][]message.Message{fit.Messages, fit.Cut} {
		last := -1
		for _, m := range part {
			var i int
			_, _ = fmt.Sscan(m.ID, &i)
			if i <= last {
				t.Fatalf("message %d is out of order", i)
			}
			last, place = i, append(place, i)
		}
	}
	slices.Sort(place)
	for i, m := range all {
		if _, found := slices.BinarySearch(place, i); !found && (m.Role != message.RoleTool || len(fit.Orphans) == 0) {
			t.Fatalf("message %d is neither fitted nor cut", i)
		}
	}
}

// slow keeps what must stay and the longest end of the conversation that may: it tries
// all of them.
func slow(w message.Window, all []message.Message) (stored string) {
	group, lead, lastUser := make([]int, len(all)), 0, -1
	for i := range all {
		group[i] = i
	}
	for range all { // until nothing changes, and a few times more
		for _, p := range message.Pairs(all) {
			if p.Answered() {
				first := min(group[p.At], group[p.ResultAt])
				group[p.At], group[p.ResultAt] = first, first
			}
		}
	}
	for lead < len(all) && all[lead].Role == message.RoleSystem {
		lead++
	}
	for i, m := range all {
		if m.Role == message.RoleUser {
			lastUser = i
		}
	}
	must := map[int]bool{}
	for i, m := range all {
		if i < lead+w.KeepFirst || w.KeepSystem && m.Role == message.RoleSystem || i == lastUser || i == len(all)-1 {
			must[group[i]] = true
		}
	}
	for from := range len(all) + 1 {
		var part []message.Message
		whole := from == len(all) || !w.WholeTurns || from > lastUser || all[from].Role == message.RoleUser || from <= lead
		for i, m := range all {
			if i >= from || must[group[i]] {
				part = append(part, m)
			}
			whole = whole && (i < from || must[group[i]] || group[i] >= from)
		}
		tokens, _ := message.Total(each{}, part)
		fits := (w.MaxMessages == 0 || len(part) <= w.MaxMessages) && (w.MaxTokens == 0 || tokens <= w.MaxTokens)
		if whole && fits || from == len(all) {
			return ids(part)
		}
	}
	return ""
}

func TestWindow_ExactLimitCutsNothing(t *testing.T) {
	ms := []message.Message{user("a", "12345"), user("b", "12345")}
	fit, err := message.Window{MaxTokens: 10, MaxMessages: 2, Counter: each{}}.Fit(ms)
	if err != nil || ids(fit.Messages) != "a b" || len(fit.Cut) != 0 || fit.Tokens != 10 {
		t.Errorf("got %+v, %v", fit, err)
	}
}

func TestWindow_MessageOverTheLimitIsATypedErrorAndStays(t *testing.T) {
	sys := message.System("s")
	sys.ID = "s"
	fit, err := message.Window{MaxTokens: 10, Counter: each{}}.Fit([]message.Message{sys, user("a", "x"), user("b", "12345678901")})
	var large *message.TooLargeError
	if !errors.As(err, &large) || large.Tokens != 12 || large.MaxTokens != 10 || ids(fit.Messages) != "s b" {
		t.Errorf("got %s, %v", ids(fit.Messages), err)
	}
}

func TestWindow_LeadingSystemMessagesStay(t *testing.T) {
	s1, s2, mid := message.System("1"), message.System("2"), message.System("3")
	s1.ID, s2.ID, mid.ID = "s1", "s2", "mid"
	ms := []message.Message{s1, s2, user("a", "x"), mid, user("b", "x")}
	fit, err := message.Window{MaxMessages: 3}.Fit(ms)
	if err != nil || ids(fit.Messages) != "s1 s2 b" {
		t.Errorf("got %s, %v", ids(fit.Messages), err)
	}
	fit, err = message.Window{MaxMessages: 4, KeepSystem: true}.Fit(ms)
	if err != nil || ids(fit.Messages) != "s1 s2 mid b" {
		t.Errorf("KeepSystem: got %s, %v", ids(fit.Messages), err)
	}
	fit, err = message.Window{MaxMessages: 1}.Fit(ms[2:3])
	if err != nil || ids(fit.Messages) != "a" {
		t.Errorf("without a system message: got %s, %v", ids(fit.Messages), err)
	}
}

func TestWindow_TurnOfCallsLeavesWhole(t *testing.T) {
	ms := []message.Message{user("u1", "x"), call("a", "c1", "c2"), answer("t1", "c2"), user("u2", "x"), answer("t2", "c1"), user("u3", "x")}
	for limit, want := range map[int]string{1: "u3", 2: "u3", 4: "u3", 5: "a t1 u2 t2 u3", 6: "u1 a t1 u2 t2 u3"} {
		fit, err := message.Window{MaxMessages: limit}.Fit(ms)
		if err != nil || ids(fit.Messages) != want {
			t.Errorf("%d messages: got %q, %v, want %q", limit, ids(fit.Messages), err, want)
		}
	}
}

func TestWindow_OfWholeTurnsBeginsAtAUserMessage(t *testing.T) {
	b := message.Assistant("y")
	b.ID = "b"
	ms := []message.Message{user("u1", "x"), b, user("u2", "x"), call("a", "c"), answer("t", "c")}
	for limit, want := range map[int]string{3: "u2 a t", 4: "u2 a t", 5: "u1 b u2 a t"} {
		fit, err := message.Window{MaxMessages: limit, WholeTurns: true}.Fit(ms)
		if err != nil || ids(fit.Messages) != want {
			t.Errorf("%d messages: got %q, %v, want %q", limit, ids(fit.Messages), err, want)
		}
	}
	ms = append(ms, call("a2", "c2"), answer("t2", "c2"))
	fit, err := message.Window{MaxMessages: 4, WholeTurns: true}.Fit(ms)
	if err != nil || ids(fit.Messages) != "u2 a2 t2" {
		t.Errorf("a turn that is too long: got %q, %v", ids(fit.Messages), err)
	}
}

func TestWindow_FirstMessagesStay(t *testing.T) {
	ms := []message.Message{user("u1", "x"), user("u2", "x"), user("u3", "x"), user("u4", "x")}
	fit, err := message.Window{MaxMessages: 2, KeepFirst: 1}.Fit(ms)
	if err != nil || ids(fit.Messages) != "u1 u4" || ids(fit.Cut) != "u2 u3" {
		t.Errorf("got %q, %v", ids(fit.Messages), err)
	}
}

func TestWindow_ResultsWithoutACallAreOmittedAndNamed(t *testing.T) {
	fit, err := message.Window{}.Fit([]message.Message{answer("t0", "lost"), user("u", "x"), call("a", "c"), answer("t", "c", "gone")})
	if err != nil || ids(fit.Messages) != "u a t" || len(fit.Messages[2].Results) != 1 || len(fit.Orphans) != 2 || fit.Orphans[1].CallID != "gone" {
		t.Errorf("got %+v, %v", fit, err)
	}
}

func TestWindow_InvalidBoundsAreErrors(t *testing.T) {
	for _, w := range []message.Window{{MaxTokens: -1}, {MaxMessages: -1}, {KeepFirst: -1}} {
		if _, err := w.Fit(nil); !errors.Is(err, message.ErrLimit) {
			t.Errorf("%+v: got %v", w, err)
		}
		if _, _, err := (message.Summarizer{Window: w}).Plan(nil); !errors.Is(err, message.ErrLimit) {
			t.Errorf("summarizer: %+v: got %v", w, err)
		}
	}
	if fit, err := (message.Window{}).Fit(nil); err != nil || len(fit.Messages) != 0 {
		t.Errorf("an empty log: got %v, %v", fit, err)
	}
}
