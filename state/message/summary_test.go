package message_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/state/message"
)

// reported returns the number of messages and the text of the first.
func reported(_ context.Context, ms []message.Message) (string, error) {
	return fmt.Sprintf("%d from %q", len(ms), ms[0].Text()), nil
}

func rounds(n int) message.Log {
	sys := message.System("be brief")
	sys.ID = "sys"
	ms := []message.Message{sys}
	for i := range n {
		a := message.Assistant("answer")
		a.ID = fmt.Sprint("a", i)
		ms = append(ms, user(fmt.Sprint("u", i), fmt.Sprint("question ", i)), a)
	}
	return message.LogOf(ms...)
}

var short = message.Summarizer{Window: message.Window{MaxMessages: 6}, KeepMessages: 2, Write: reported}

func TestCompact_OldestRoundsBecomeOneSystemMessage(t *testing.T) {
	l := rounds(4)
	c, err := short.Compact(t.Context(), &l)
	if err != nil || c.Failed != nil || c.Summary == nil {
		t.Fatalf("got %+v, %v", c, err)
	}
	m := l.At(1)
	info, ok := message.SummaryOf(m)
	if l.Len() != 4 || m.Role != message.RoleSystem || m.Text() != `Summary of previous context: 6 from "question 0"` ||
		!ok || info != (message.SummaryInfo{From: "u0", To: "a2", Count: 6}) || ids(c.Messages) != ids(l.Slice()) {
		t.Errorf("got %s and %+v", l, info)
	}
	if l.At(0).ID != "sys" || l.At(2).ID != "u3" {
		t.Errorf("the summary is not in the place of what it replaces: %s", ids(l.Slice()))
	}
}

func TestCompact_EarlierSummaryIsIncluded(t *testing.T) {
	l := rounds(4)
	for i := range 3 {
		if _, err := short.Compact(t.Context(), &l); err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			if err := l.Add(user(fmt.Sprint("v", i, k), "more")); err != nil {
				t.Fatal(err)
			}
		}
	}
	n := 0
	for _, m := range l.All() {
		if info, ok := message.SummaryOf(m); ok {
			if n++; info.From != "u0" || !strings.Contains(m.Text(), "Summary of previous") || info.Count != 12 {
				t.Errorf("got %+v in %s", info, l)
			}
		}
	}
	if n != 1 {
		t.Errorf("got %d summaries, want 1: %s", n, l)
	}
}

func TestCompact_MessagesThatCameMeanwhileStay(t *testing.T) {
	l := rounds(4)
	plan, due, err := short.Plan(l.Slice())
	if err != nil || !due {
		t.Fatal(due, err)
	}
	if err := l.Add(user("late", "while it ran")); err != nil {
		t.Fatal(err)
	}
	sum, err := short.Summarize(t.Context(), plan)
	if err == nil {
		err = sum.Apply(&l)
	}
	if err != nil || !strings.HasSuffix(ids(l.Slice()), "u3 a3 late") || l.Len() != 5 {
		t.Errorf("got %s, %v", ids(l.Slice()), err)
	}
}

func TestCompact_StaleSummaryIsDropped(t *testing.T) {
	for name, change := range map[string]func(*message.Log) error{
		"edited":  add(user("u1", "another question")),
		"removed": remove("u1"),
		"moved":   func(l *message.Log) error { return errors.Join(l.Remove("u1"), l.Add(user("u1", "question 1"))) },
	} {
		l := rounds(4)
		plan, _, _ := short.Plan(l.Slice())
		sum, err := short.Summarize(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if err := change(&l); err != nil {
			t.Fatal(err)
		}
		before := l.String()
		var stale *message.StaleError
		if err := sum.Apply(&l); !errors.As(err, &stale) || len(stale.Gone)+len(stale.Changed) == 0 || l.String() != before {
			t.Errorf("%s: got %v", name, err)
		}
		if err := sum.Apply(&l); !errors.As(err, &stale) || !strings.Contains(err.Error(), "u1") && name != "moved" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	l := rounds(4)
	plan, _, _ := short.Plan(l.Slice())
	sum := message.Summary{Plan: plan, Text: "x"}
	var stale *message.StaleError
	if err := sum.Apply(&l); err != nil {
		t.Fatal(err)
	}
	if err := sum.Apply(&l); !errors.As(err, &stale) {
		t.Errorf("the same summary twice: got %v", err)
	}
	if err := (message.Summary{}).Apply(&l); err == nil {
		t.Error("a summary of nothing is applied")
	}
}

func TestCompact_FailedSummarizerSlidesTheWindow(t *testing.T) {
	broken := errors.New("model is down")
	for want, write := range map[error]func(context.Context, []message.Message) (string, error){
		broken:                  func(context.Context, []message.Message) (string, error) { return "", broken },
		message.ErrEmptySummary: func(context.Context, []message.Message) (string, error) { return "", nil },
	} {
		l, s := rounds(4), short
		before := l.String()
		s.Write = write
		c, err := s.Compact(t.Context(), &l)
		if err != nil || !errors.Is(c.Failed, want) || c.Summary != nil || l.String() != before {
			t.Errorf("got %+v, %v", c, err)
		}
		if ids(c.Messages) != "sys a1 u2 a2 u3 a3" {
			t.Errorf("got %q", ids(c.Messages))
		}
	}
}

func TestCompact_ConversationThatFitsIsNotSummarized(t *testing.T) {
	l := rounds(2)
	if plan, due, err := short.Plan(l.Slice()); due || err != nil || len(plan.Messages) > 0 {
		t.Errorf("got %v, %t, %v", plan, due, err)
	}
	one := message.LogOf(user("u", "x"), call("a", "c"), answer("t", "c"), call("b", "d"), answer("s", "d"))
	s := message.Summarizer{Window: message.Window{MaxMessages: 2}, Write: reported}
	if _, due, err := s.Plan(one.Slice()); due || err != nil {
		t.Errorf("a round that is not over is summarized: %t, %v", due, err)
	}
}

func TestCompact_PlanCanBeStored(t *testing.T) {
	l := rounds(4)
	plan, _, _ := short.Plan(l.Slice())
	sum, _ := short.Summarize(t.Context(), plan)
	var back message.Summary
	if err := json.Unmarshal([]byte(asJSON(t, sum)), &back); err != nil {
		t.Fatal(err)
	}
	if err := back.Apply(&l); err != nil || l.Len() != 4 {
		t.Errorf("got %s, %v", l, err)
	}
}

// Whatever the conversation: no call is parted from its result, what leads stays, and
// there is one summary at most.
func TestCompact_NeverSplitsAPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := conversation.Draw(t, "conversation")
		l := message.LogOf(ms...)
		s := message.Summarizer{
			Window: message.Window{MaxMessages: rapid.IntRange(1, 12).Draw(t, "max"), MaxTokens: rapid.IntRange(0, 30).Draw(t, "tokens"), Counter: each{}},
			Write:  reported, KeepMessages: rapid.IntRange(0, 5).Draw(t, "keep"),
		}
		for range 3 {
			callsBefore, lostBefore := message.Orphans(l.Slice())
			c, err := s.Compact(t.Context(), &l)
			var large *message.TooLargeError
			if err != nil && !errors.As(err, &large) || c.Failed != nil {
				t.Fatal(err, c.Failed)
			}
			calls, lost := message.Orphans(l.Slice())
			if len(calls) > len(callsBefore) || len(lost) > len(lostBefore) {
				t.Fatalf("orphans %v and %v, before %v and %v", calls, lost, callsBefore, lostBefore)
			}
			summaries := 0
			for i, m := range l.All() {
				if _, ok := message.SummaryOf(m); ok {
					summaries++
				}
				if i < len(ms) && i < 2 && ms[i].Role == message.RoleSystem && (i == 0 || ms[0].Role == message.RoleSystem) && m.ID != ms[i].ID {
					t.Fatalf("leading message %q became %q", ms[i].ID, m.ID)
				}
			}
			if summaries > 1 {
				t.Fatalf("%d summaries: %s", summaries, l)
			}
			for k := range 4 {
				_ = l.Add(user(fmt.Sprint("n", l.Len(), k), "x"), message.Assistant("y"))
			}
		}
	})
}

// A call that was open when its round was summarized is answered later: a model that sums up the
// next rounds must not be sent a result without its call.
func TestSummary_LeavesOutResultsOfSummarizedCalls(t *testing.T) {
	var l message.Log
	add := func(ms ...message.Message) {
		t.Helper()
		if err := l.Add(ms...); err != nil {
			t.Fatal(err)
		}
	}
	var sent [][]message.Message
	s := message.Summarizer{Window: message.Window{MaxMessages: 2}, KeepMessages: 1, Write: func(_ context.Context, ms []message.Message) (string, error) {
		sent = append(sent, ms)
		return "short", nil
	}}
	add(message.User("q0"), message.Assistant("", message.Call{ID: "c", Name: "f"}), message.User("q1"))
	if c, err := s.Compact(t.Context(), &l); err != nil || c.Summary == nil {
		t.Fatal(c, err)
	}
	add(message.Tool(message.ResultOf("c", "late")), message.User("q2"), message.Assistant("a2"), message.User("q3"))
	if c, err := s.Compact(t.Context(), &l); err != nil || c.Summary == nil {
		t.Fatal(c, err)
	}
	for i, ms := range sent {
		if _, results := message.Orphans(ms); len(results) > 0 || len(ms) == 0 {
			t.Errorf("rule: no result without its call is sent\n got: %d: %v", i, ms)
		}
	}
	if len(sent) != 2 {
		t.Errorf("got %d summaries, want 2", len(sent))
	}
}
