package workflow_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
)

// waiting is a file with a node that takes times from the state.
func waiting(node string) string {
	return "version: 1\nstate: {v: string, e: map<string>, result: any}\ninput: [v, e]\nnodes:\n  a:\n" +
		"    " + node + "\n    output: {result: \"${{ result }}\"}\n    next: END\n"
}

func TestDeadlines_ComputedMustBeTimes(t *testing.T) {
	const (
		after    = `approval: {title: a, expires: {after: "${{ state.v }}", then: reject}}`
		short    = `approval: {title: a, expires: "${{ state.v }}"}`
		object   = `approval: {title: a, expires: "${{ state.e }}"}`
		remind   = `approval: {title: a, remind: "${{ state.v }}"}`
		escalate = `approval: {title: a, escalate: [{after: "${{ state.v }}", to: ben}]}`
		then     = `approval: {title: a, expires: {after: 1h, then: "${{ state.v }}"}}`
		event    = `wait: {event: x, expires: "${{ state.v }}"}`
		until    = `wait: {until: "${{ state.v }}"}`
		name     = `wait: {event: "${{ state.v }}"}`
	)
	for _, c := range []struct{ node, input, want string }{
		{after, `{"v": "-5s"}`, `approval.expires.after: the duration must be positive (got "-5s")`},
		{after, `{"v": "0s"}`, `main.yaml:6:43: approval.expires.after: the duration must be positive (got "0s")`},
		{after, `{}`, `approval.expires.after: the duration must be a text such as 30s, 5m or 1h30m (got null)`},
		{short, `{"v": "0s"}`, `main.yaml:6:35: approval.expires: the duration must be positive (got "0s")`},
		{object, `{"e": {"after": "0s"}}`, `approval.expires: the duration must be positive (got "0s")`},
		{object, `{"e": {"then": "reject"}}`, `approval.expires: expires requires after, the time limit of the answer`},
		{object, `{"e": {"after": "1s", "them": "reject"}}`, `approval.expires: json: unknown field "them"`},
		{object, `{}`, `approval.expires: the duration must be a text such as 30s, 5m or 1h30m (got null)`},
		{remind, `{"v": "10ms"}`, `approval.remind: the duration must be at least 1s (got "10ms")`},
		{escalate, `{"v": "0s"}`, `approval.escalate[0].after: the duration must be positive (got "0s")`},
		{then, `{"v": "perhaps"}`, `expires.then must be approve or reject (got "perhaps")`},
		{then, `{"v": "edit"}`, `expires.then must not be edit, which needs args`},
		{event, `{"v": "0s"}`, `wait.expires: the duration must be positive (got "0s")`},
		{event, `{"v": "-5s"}`, `wait.expires: the duration must be positive (got "-5s")`},
		{until, `{}`, `wait.until: want a time such as 2026-11-21T09:30:00Z, not null`},
		{until, `{"v": ""}`, `main.yaml:6:19: wait.until: want a time such as 2026-11-21T09:30:00Z, not ""`},
		{name, `{}`, `wait.event: the name of the event must be a text that is not empty (got null)`},
		{name, `{"v": ""}`, `wait.event: the name of the event must be a text that is not empty (got "")`},
	} {
		f := parse(t, waiting(c.node))
		res, err := f.start(c.input)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: got %v, %v; want the error %s", c.node, c.input, res.Interrupts, err, c.want)
		}
		if e := (*workflow.RunError)(nil); c.node != then && !errors.As(err, &e) {
			t.Errorf("%s, %s: got %T, want a RunError", c.node, c.input, err)
		}
	}
}

func TestApproval_ComputedTimesHold(t *testing.T) {
	f := parse(t, waiting(`approval: {title: a, expires: {after: "${{ state.v }}", then: reject}, remind: "${{ state.v }}"}`))
	var pass func(time.Duration)
	f.Graph, pass = clocked(t, f)
	in := f.open(`{"v": "2s"}`)
	if in.Remind != 2*time.Second || in.Expires.Sub(in.Asked) != 2*time.Second {
		t.Errorf("got a reminder each %v and the expiry %v after %v, want 2s each", in.Remind, in.Expires, in.Asked)
	}
	pass(2 * time.Second)
	res, err := f.Resume(context.Background(), graph.Answers{}, thread)
	if err != nil {
		t.Fatal(err)
	}
	f.ended(res, `{"v":"2s","e":null,"result":{"approved":false,"args":null,"expired":true,"message":"","type":"reject"}}`)
}

func TestApproval_ShortExpiryFailsTheNode(t *testing.T) {
	for _, limit := range []string{"48h", `"${{ state.v }}"`} {
		f := parse(t, waiting("approval: {title: a, expires: "+limit+"}"))
		var pass func(time.Duration)
		f.Graph, pass = clocked(t, f)
		if in := f.open(`{"v": "48h"}`); in.Expires.Sub(in.Asked) != 48*time.Hour {
			t.Errorf("%s: the question expires %v after %v, want 48h", limit, in.Expires, in.Asked)
		}
		pass(48 * time.Hour)
		if res, err := f.Resume(context.Background(), graph.Answers{}, thread); !errors.Is(err, graph.ErrExpired) {
			t.Errorf("%s: got %v, %v; want an ErrExpired", limit, res.State, err)
		}
	}
}
