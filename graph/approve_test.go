package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

type refund struct {
	To     string `json:"to"`
	Amount int    `json:"amount"`
}

// refunding is a graph of one node that asks to approve a refund and logs the decision.
func refunding(tb testing.TB, store checkpoint.Store, a graph.Approval[refund]) *graph.Graph[world] {
	b := graph.New[world]("refund")
	a.Prompt, a.Args = "Refund?", refund{"Ada", 10}
	b.Node("pay", graph.Func(func(ctx context.Context, s *world) error {
		r, d, err := graph.Approve(ctx, a)
		if err != nil {
			return err
		}
		s.Log.Append(strings.TrimSpace(fmt.Sprintf("%s %v %v %s by %s via %s", d.Type, d.Approved(), r, d.Message, d.By, d.Via)))
		return nil
	}))
	through(b, "pay")
	return build(tb, b, graph.Config{Store: store})
}

func TestApprove_EveryFormOfADecision(t *testing.T) {
	all := []graph.DecisionType{graph.DecisionApprove, graph.DecisionEdit, graph.DecisionReject, graph.DecisionRespond}
	const edited, refused = "edit true {Bob 5}  by ann via go", ""
	for given, want := range map[string]string{
		`true`:                                "approve true {Ada 10}  by ann via go",
		`{"type":"approve"}`:                  "approve true {Ada 10}  by ann via go",
		`{"type":"approve","args":null}`:      "approve true {Ada 10}  by ann via go",
		`false`:                               "reject false {Ada 10}  by ann via go",
		`{"type":"reject","message":"late"}`:  "reject false {Ada 10} late by ann via go",
		`{"type":"respond","message":"why?"}`: "respond false {Ada 10} why? by ann via go",
		`{"type":"edit","args":{"to":"Bob","amount":5}}`:                                                   edited,
		`{"type":"edit","args":{"to":"Bob","amount":5},"by":"eve","via":"moon"}`:                           edited,
		`{"decisions":[{"type":"edit","edited_action":{"name":"refund","args":{"to":"Bob","amount":5}}}]}`: edited,
		`{"decisions":[{"type":"approve"}]}`:                                                               "approve true {Ada 10}  by ann via go",
		`{"decisions":[{"type":"reject","message":"late"}]}`:                                               "reject false {Ada 10} late by ann via go",
		`[{"type":"edit","args":{"action":"refund","args":{"to":"Bob","amount":5}}}]`:                      edited,
		`[{"type":"accept","args":null}]`:                                                                  "approve true {Ada 10}  by ann via go",
		`[{"type":"ignore","args":null}]`:                                                                  "reject false {Ada 10}  by ann via go",
		`[{"type":"response","args":"why?"}]`:                                                              "respond false {Ada 10} why? by ann via go",
		`{"decision":"edit","edited":{"to":"Bob","amount":5}}`:                                             edited,
		`{"decision":"reject","feedback":"late"}`:                                                          "reject false {Ada 10} late by ann via go",
		`{"action":"edit","arguments":{"to":"Bob","amount":5}}`:                                            edited,
		`{"action":"edit","plan":{"to":"Bob","amount":5}}`:                                                 edited,
		`{"action":"approve"}`:                                                                             "approve true {Ada 10}  by ann via go",
		`null`:                                                                                             refused,
		`1`:                                                                                                refused,
		`"yes"`:                                                                                            refused,
		`{}`:                                                                                               refused,
		`[]`:                                                                                               refused,
		`{"type":"perhaps"}`:                                                                               refused,
		`{"type":"expire"}`:                                                                                refused,
		`{"type":"edit"}`:                                                                                  refused,
		`{"type":"edit","args":null}`:                                                                      refused,
		`{"type":"edit","args":{"to":"Bob"}}`:                                                              refused,
		`{"type":"edit","args":{"to":"Bob","amount":"5"}}`:                                                 refused,
		`{"type":"edit","args":{"to":"Bob","amount":5,"x":1}}`:                                             refused,
		`{"type":"approve","args":{"to":"Bob","amount":5}}`:                                                refused,
		`{"type":"respond"}`:                                                                               refused,
		`{"type":"approve","note":"x"}`:                                                                    refused,
		`{"type":"approve","message":1}`:                                                                   refused,
		`{"decisions":[]}`:                                                                                 refused,
		`{"decisions":[{"type":"approve"},{"type":"approve"}]}`:                                            refused,
		`{"decisions":[{"type":"edit","edited_action":{"name":"other","args":{"to":"Bob","amount":5}}}]}`:    refused,
		`{"type":"edit","args":{"to":"Bob","amount":5},"edited_action":{"name":"refund","args":{"to":"C"}}}`: refused,
		`[{"type":"edit","args":{"action":"other","args":{"to":"Bob","amount":5}}}]`:                         refused,
		`[{"type":"perhaps","args":null}]`: refused,
	} {
		store := new(checkpoint.Memory)
		g := refunding(t, store, graph.Approval[refund]{Action: "refund", Allow: all})
		invoke(t, g, "t", graph.Interrupted)
		res, err := g.Resume(ctx, graph.Reply(json.RawMessage(given)), by("ann"))
		if want == refused {
			if p, _ := graph.Inspect(ctx, store, checkpoint.Key{Thread: "t"}); !errors.Is(err, graph.ErrAnswer) || len(p.Interrupts) != 1 {
				t.Errorf("%s: got %v and %d open questions, want it refused", given, err, len(p.Interrupts))
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		logged(t, res, want)
	}
}

func TestApprove_QuestionShowsTheAction(t *testing.T) {
	type at = []graph.DecisionType
	schema := json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"},"amount":{"type":"integer"}},"required":["to","amount"],"additionalProperties":false}`)
	for name, c := range map[string]struct {
		ask  graph.Approval[refund]
		want graph.Action
	}{
		"defaults": {graph.Approval[refund]{}, graph.Action{Name: "pay", Schema: schema, Allow: at{graph.DecisionApprove, graph.DecisionEdit, graph.DecisionReject}}},
		"no edits": {graph.Approval[refund]{Action: "refund", Allow: at{graph.DecisionApprove}}, graph.Action{Name: "refund", Allow: at{graph.DecisionApprove}}},
	} {
		c.want.Args = json.RawMessage(`{"to":"Ada","amount":10}`)
		res := invoke(t, refunding(t, new(checkpoint.Memory), c.ask), "t", graph.Interrupted)
		if d := cmp.Diff(&c.want, res.Interrupts[0].Action, cmp.Transformer("JSON", func(r json.RawMessage) (v any) { _ = json.Unmarshal(r, &v); return v })); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestApprove_CheckAsksAgain(t *testing.T) {
	store := new(checkpoint.Memory)
	ask := graph.Approval[refund]{Check: func(r refund) error {
		if r.Amount > 10 {
			return errors.New("no more than 10")
		}
		return nil
	}}
	res := invoke(t, refunding(t, store, ask), "t", graph.Interrupted)
	id := res.Interrupts[0].ID
	res, err := refunding(t, store, ask).Resume(ctx, graph.Answer(id, graph.EditTo(refund{"Bob", 11})), by("ann"))
	ended(t, graph.Interrupted, res, err)
	if in := res.Interrupts[0]; in.ID != id || in.Detail != "That decision cannot be applied: no more than 10." {
		t.Errorf("the question is %+v", in)
	}
	res, err = refunding(t, store, ask).Resume(ctx, graph.Answer(id, graph.EditTo(refund{"Bob", 9})), by("ann"))
	logged(t, ended(t, graph.Done, res, err), "edit true {Bob 9}  by ann via go")
}

func TestApprove_DecisionThatIsNotAllowed(t *testing.T) {
	g := refunding(t, new(checkpoint.Memory), graph.Approval[refund]{Allow: []graph.DecisionType{graph.DecisionApprove, graph.DecisionReject}})
	invoke(t, g, "t", graph.Interrupted)
	_, err := g.Resume(ctx, graph.Reply(graph.EditTo(refund{"Bob", 1})), by("ann"))
	is(t, err, graph.ErrAnswer, "the decision must be approve, reject", `"edit"`)
}

func TestApprove_InvalidApproval(t *testing.T) {
	for want, allow := range map[string][]graph.DecisionType{
		"Allow must list approve, edit, reject or respond": {"expire"},
		`Allow lists "reject" twice`:                       {graph.DecisionReject, graph.DecisionReject},
	} {
		g := refunding(t, new(checkpoint.Memory), graph.Approval[refund]{Allow: allow})
		if _, err := g.Invoke(ctx, world{}, by("")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

func TestApprove_ExpiredAndDeclined(t *testing.T) {
	for name, want := range map[string]error{"expired": graph.ErrExpired, "declined": graph.ErrDeclined} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var got graph.Decision
		b := graph.New[world]("pay")
		b.Node("pay", graph.Func(func(ctx context.Context, _ *world) (err error) {
			_, got, err = graph.Approve(ctx, graph.Approval[int]{Question: graph.Question{Prompt: "Pay?", Timeout: time.Hour}, Args: 5})
			return err
		}))
		through(b, "pay")
		g := build(t, b, graph.Config{Store: new(checkpoint.Memory), Now: func() time.Time { return now }})
		res := invoke(t, g, "t", graph.Interrupted)
		var answers graph.Answers
		if now = now.Add(2 * time.Hour); name == "declined" {
			now = now.Add(-2 * time.Hour)
			answers = graph.Decline(res.Interrupts[0].ID, "not mine")
		}
		_, err := g.Resume(ctx, answers, by("ann"))
		is(t, err, want)
		if wanted := map[string]graph.DecisionType{"expired": graph.DecisionExpire, "declined": graph.DecisionDecline}[name]; got.Type != wanted || got.Approved() {
			t.Errorf("%s: the decision is %+v, want %s", name, got, wanted)
		}
	}
}

// Answers of a test pass the same checks as real ones.
func TestApprove_Rehearsed(t *testing.T) {
	ask := graph.Approval[int]{Question: graph.Question{Prompt: "Pay?"}, Args: 5, Check: func(n int) error {
		if n > 5 {
			return errors.New("too much")
		}
		return nil
	}}
	for _, c := range []struct {
		given any
		want  int
		typ   graph.DecisionType
		err   bool
	}{{true, 5, graph.DecisionApprove, false}, {graph.EditTo(4), 4, graph.DecisionEdit, false}, {graph.EditTo(6), 5, "", true}, {"yes", 5, "", true}} {
		n, d, err := graph.Approve(graph.Rehearse(ctx, c.given), ask)
		if (err != nil) != c.err || n != c.want || err == nil && d.Type != c.typ {
			t.Errorf("%v: got %d, %+v, %v", c.given, n, d, err)
		}
	}
}

// A record that an earlier version stored has kind and reason.
func TestDecisionRecord_ReadsTheEarlierForm(t *testing.T) {
	var got graph.DecisionRecord
	err := json.Unmarshal([]byte(`{"kind":"reject","reason":"late","question":"q","value":{"type":"reject"},"by":"ann","via":"cli","time":"2026-01-01T00:00:00Z","checkpoint":3,"run":"r"}`), &got)
	want := graph.DecisionRecord{Type: graph.DecisionReject, Message: "late", Question: "q", Value: json.RawMessage(`{"type":"reject"}`), By: "ann", Via: "cli",
		Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Checkpoint: 3, Run: "r"}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if d := got.Decision(); d.Type != graph.DecisionReject || d.Message != "late" || d.By != "ann" || d.Via != "cli" {
		t.Errorf("the decision is %+v", d)
	}
}

func TestApprove_SecretAnswerIsNotShown(t *testing.T) {
	store := new(checkpoint.Memory)
	g := refunding(t, store, graph.Approval[refund]{Question: graph.Question{Secret: true}, Allow: []graph.DecisionType{graph.DecisionEdit, graph.DecisionRespond}})
	invoke(t, g, "t", graph.Interrupted)
	_, err := g.Resume(ctx, graph.Reply(graph.EditTo("hush")), by("ann"))
	if !errors.Is(err, graph.ErrAnswer) || strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v", err)
	}
	res, err := g.Resume(ctx, graph.Reply(graph.Decision{Type: graph.DecisionRespond, Message: "hush"}), by("ann"))
	logged(t, ended(t, graph.Done, res, err), "respond false {Ada 10} hush by ann via go")
	for d, err := range graph.ThreadDecisions(ctx, store, "t") {
		if data, _ := json.Marshal(d); err != nil || strings.Contains(string(data), "hush") || d.Type != graph.DecisionRespond {
			t.Errorf("the record is %s, %v", data, err)
		}
	}
}

func TestInterrupt_InboxValue(t *testing.T) {
	for want, i := range map[string]graph.Interrupt{
		`{"action_requests":[{"args":{"sum":9},"description":"Pay?\n\nan old bill","name":"pay"}],` +
			`"review_configs":[{"action_name":"pay","allowed_decisions":["approve","edit","reject"],"args_schema":{"type":"object"}}]}`: {
			Prompt: "Pay?", Detail: "an old bill", Action: &graph.Action{
				Name: "pay", Args: json.RawMessage(`{"sum":9}`), Schema: json.RawMessage(`{"type":"object"}`),
				Allow: []graph.DecisionType{graph.DecisionApprove, graph.DecisionEdit, graph.DecisionReject},
			}},
		`{"action_requests":[{"args":{},"description":"Wipe?","name":"wipe"}],"review_configs":[{"action_name":"wipe","allowed_decisions":["approve"]}]}`: {
			Prompt: "Wipe?", Action: &graph.Action{Name: "wipe", Allow: []graph.DecisionType{graph.DecisionApprove}}},
		`{"a":1}`:                              {Prompt: "Well?", Data: json.RawMessage(`{"a":1}`)},
		`{"detail":"long","question":"Well?"}`: {Prompt: "Well?", Detail: "long"},
		`"Well?"`:                              {Prompt: "Well?"},
	} {
		got, err := i.InboxValue()
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

// What the inbox of LangChain answers to the value above resumes a run.
func TestInterrupt_InboxAnswerResumes(t *testing.T) {
	type order struct {
		Sum int `json:"sum"`
	}
	b := graph.New[struct{ Paid state.Value[int] }]("pay")
	b.Node("pay", graph.Func(func(ctx context.Context, s *struct{ Paid state.Value[int] }) error {
		o, d, err := graph.Approve(ctx, graph.Approval[order]{Question: graph.Question{Prompt: "Pay?"}, Args: order{9}})
		if err == nil && d.Approved() {
			s.Paid.Set(o.Sum)
		}
		return err
	}))
	b.Edge(graph.Start, "pay")
	b.Edge("pay", graph.End)
	g, err := b.Compile(graph.Config{Store: &checkpoint.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	thread := graph.RunOptions{Thread: "t1"}
	if _, err := g.Invoke(t.Context(), struct{ Paid state.Value[int] }{}, thread); err != nil {
		t.Fatal(err)
	}
	answer := json.RawMessage(`{"decisions":[{"type":"edit","edited_action":{"name":"pay","args":{"sum":7}}}]}`)
	res, err := g.Resume(t.Context(), graph.Reply(answer), thread)
	if err != nil || res.State.Paid.Get() != 7 {
		t.Errorf("got %d, %v", res.State.Paid.Get(), err)
	}
}
