package studio

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/graph"
)

func TestInbox_Filters(t *testing.T) {
	asked := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	in := graph.Interrupt{
		ID: "q", Node: "pay", Kind: "question", Prompt: "Pay it?", Detail: "An invoice", Data: json.RawMessage(`{"by":"R\u0026D"}`), Asked: asked, To: "Ada",
		Action: &graph.Action{Name: "transfer", Args: json.RawMessage(`{"sum":70}`)}, Remind: 2 * time.Hour, Escalate: []graph.Escalation{{After: 3 * time.Hour, To: "Bob"}},
	}
	for _, c := range []struct {
		filter inboxFilter
		after  time.Duration
		want   bool
	}{
		{inboxFilter{}, 0, true},
		{inboxFilter{To: "ada"}, 0, true},
		{inboxFilter{To: "Ad"}, 0, false},
		{inboxFilter{To: "Bob"}, 0, false},
		{inboxFilter{To: "Bob"}, 3 * time.Hour, true},
		{inboxFilter{To: "Ada"}, 3 * time.Hour, false},
		{inboxFilter{Overdue: true}, 2*time.Hour - 1, false},
		{inboxFilter{Overdue: true}, 2 * time.Hour, true},
		{inboxFilter{Text: "pay IT"}, 0, true},
		{inboxFilter{Text: "invoice"}, 0, true},
		{inboxFilter{Text: "r&d"}, 0, true},
		{inboxFilter{Text: "70"}, 0, true},
		{inboxFilter{Text: "Transfer"}, 0, true},
		{inboxFilter{Text: "thread-"}, 0, true},
		{inboxFilter{Text: "refund"}, 0, false},
		{inboxFilter{Text: "pay", To: "Ada", Overdue: true}, 0, false},
	} {
		if got := c.filter.selects("thread-1", in, asked.Add(c.after)); got != c.want {
			t.Errorf("%+v after %v: got %v, want %v", c.filter, c.after, got, c.want)
		}
	}
}

func TestOverdue(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		in   graph.Interrupt
		want bool
	}{
		{"no times", graph.Interrupt{}, false},
		{"a reminder of a question without a time", graph.Interrupt{Remind: time.Hour}, false},
		{"not expired", graph.Interrupt{Asked: now, Expires: now.Add(1)}, false},
		{"expired", graph.Interrupt{Expires: now}, true},
		{"not reminded of", graph.Interrupt{Asked: now, Remind: time.Hour}, false},
		{"reminded of", graph.Interrupt{Asked: now.Add(-time.Hour), Remind: time.Hour}, true},
		{"escalated", graph.Interrupt{Asked: now.Add(-time.Hour), Escalate: []graph.Escalation{{After: 2 * time.Hour}, {After: time.Hour}}}, true},
	} {
		if got := overdue(c.in, now); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestInbox_SoonestExpiryFirst(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	asks := func(id string, expires time.Time) question {
		return question{Interrupt: graph.Interrupt{ID: id, Expires: expires}}
	}
	for _, c := range []struct {
		offset int
		want   string
		next   int
	}{{0, "soon late never again", 0}, {3, "again", 0}, {4, "", 0}, {9, "", 0}} {
		p := inboxPage{Questions: []question{asks("never", time.Time{}), asks("late", at.Add(time.Hour)), asks("again", time.Time{}), asks("soon", at)}}
		p.bySoonest(c.offset)
		var got []string
		for _, q := range p.Questions {
			got = append(got, q.ID)
		}
		if strings.Join(got, " ") != c.want || p.Next != c.next {
			t.Errorf("from %d: got %v and the next page at %d, want %s and %d", c.offset, got, p.Next, c.want, c.next)
		}
	}
	p := inboxPage{Questions: make([]question, 2*threadsPage+1)}
	if p.bySoonest(threadsPage); len(p.Questions) != threadsPage || p.Next != 2*threadsPage {
		t.Errorf("the second page has %d questions, and the next is at %d", len(p.Questions), p.Next)
	}
}
