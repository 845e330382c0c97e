package react_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/capabilities/tool"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/react"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/message"
)

var run = graph.RunOptions{Thread: "t"}

func call(name, args string) message.Call {
	return message.Call{ID: "x", Name: name, Arguments: json.RawMessage(args)}
}

// ran counts how often each tool ran with which id.
type ran struct {
	mu  sync.Mutex
	ids map[string][]string
}

func (r *ran) add(name, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids == nil {
		r.ids = map[string][]string{}
	}
	r.ids[name] = append(r.ids[name], id)
}

func (r *ran) count(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ids[name])
}

type topic struct {
	Q string `json:"q"`
}

// find is a tool that returns its query.
func (r *ran) find(info tool.Info) tool.Tool {
	return tool.Func(info, func(ctx context.Context, a topic) (string, error) {
		r.add(info.Name, tool.ID(ctx))
		return "found " + a.Q, nil
	})
}

func tools(t *testing.T, all ...tool.Tool) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func agent(t *testing.T, c react.Config, store checkpoint.Store) *graph.Graph[react.State] {
	t.Helper()
	b, err := react.New(c)
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// said formats a conversation, one message on each line.
func said(s react.State) string {
	var b strings.Builder
	for _, m := range s.Messages.All() {
		fmt.Fprintf(&b, "%s: %s", m.Role, m.Text())
		for _, c := range m.Calls {
			fmt.Fprintf(&b, "[%s %s]", c.Name, c.Arguments)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestAgent_CallsToolsUntilTheModelAnswers(t *testing.T) {
	var r ran
	m := model.Script(
		model.Answer{Text: "I look. ", Calls: []message.Call{call("find", `{"q":"a"}`), call("find", `{"q":"b"}`)}, Usage: &message.Usage{Input: 10, Output: 5}},
		model.Answer{Text: "Both are there.", Usage: &message.Usage{Input: 20, Output: 3}},
	)
	g := agent(t, react.Config{Model: m, Tools: tools(t, r.find(tool.Info{Name: "find"})), System: "be brief"}, &checkpoint.Memory{})
	res, err := g.Invoke(t.Context(), react.Input("where are a and b?"), run)
	if err != nil || res.Status != graph.Done {
		t.Fatal(res.Status, err)
	}
	want := `user: where are a and b?
assistant: I look. [find {"q":"a"}][find {"q":"b"}]
tool: found a
tool: found b
assistant: Both are there.
`
	if d := cmp.Diff(want, said(res.State)); d != "" {
		t.Error(d)
	}
	if got := res.State.Answer.Get(); got != "Both are there." {
		t.Errorf("the answer is %q", got)
	}
	spent := res.State.Spent.Get()
	if res.State.Turns.Get() != 2 || spent.Calls != 2 || spent.Tokens() != 38 {
		t.Errorf("turns %d, spent %+v", res.State.Turns.Get(), spent)
	}
	if err := message.Validate(res.State.Messages.Slice()); err != nil {
		t.Error("no provider takes the conversation:", err)
	}
	second := m.Requests()[1].Messages
	if second[0].Role != message.RoleSystem || len(second) != 5 || len(m.Requests()[0].Tools) != 1 {
		t.Errorf("the model was sent %v", second)
	}
	if ids := r.ids["find"]; len(ids) != 2 || ids[0] == "" || ids[0] == ids[1] {
		t.Errorf("the tools got the IDs %q", ids)
	}
}

func TestAnswer_StreamsUnderTheIDOfItsMessage(t *testing.T) {
	inner := agent(t, react.Config{Model: model.Script(model.Say("one two three"))}, nil)
	b := graph.New[react.State]("outer")
	b.Node("agent", graph.Inline(inner))
	b.Edge(graph.Start, "agent")
	b.Edge("agent", graph.End)
	g, err := b.Compile(graph.Config{Store: &checkpoint.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	var text, id string
	var last graph.Event
	for ev, err := range g.Stream(t.Context(), react.Input("count"), graph.RunOptions{Thread: "t", Modes: graph.Messages}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Mode != graph.Messages {
			last = ev
			continue
		}
		if ev.Namespace == "" || ev.Node != react.ModelNode {
			t.Errorf("a token comes from %q, %q", ev.Namespace, ev.Node)
		}
		text += ev.Token.Delta
		id = ev.Token.ID
	}
	s := last.State.(*react.State)
	m, _ := s.Messages.Last()
	if text != "one two three" || m.ID != id || id == "" || m.Text() != text {
		t.Errorf("streamed %q as %q; the log has %q as %q", text, id, m.Text(), m.ID)
	}
}

// dying is a store that fails from its nth write on, as if the process ended.
type dying struct {
	checkpoint.Store
	mu   sync.Mutex
	left int
}

var errDead = errors.New("the process is dead")

func (d *dying) write() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left--; d.left < 0 {
		return errDead
	}
	return nil
}

func (d *dying) Commit(ctx context.Context, c checkpoint.Commit) error {
	if err := d.write(); err != nil {
		return err
	}
	return d.Store.Commit(ctx, c)
}

func (d *dying) Put(ctx context.Context, p checkpoint.Pending) error {
	if err := d.write(); err != nil {
		return err
	}
	return d.Store.Put(ctx, p)
}

// TestCrash_NoToolRunsTwice lets the store fail at each write, and continues in another process. A
// tool whose result was stored does not run again. A tool that ran without a stored result gets the
// same ID.
func TestCrash_NoToolRunsTwice(t *testing.T) {
	script := func(_ context.Context, q model.Request) model.Answer {
		if last := q.Messages[len(q.Messages)-1]; last.Role == message.RoleTool {
			return model.Say("done")
		}
		return model.Ask(call("a", `{"q":"1"}`), call("b", `{"q":"2"}`), call("c", `{"q":"3"}`))
	}
	whole := ""
	for n := 0; ; n++ {
		var r ran
		memory := &checkpoint.Memory{}
		c := react.Config{
			Model: model.ScriptFunc(script),
			Tools: tools(t, r.find(tool.Info{Name: "a"}), r.find(tool.Info{Name: "b"}), r.find(tool.Info{Name: "c"})),
		}
		store := &dying{Store: memory, left: n}
		res, err := agent(t, c, store).Invoke(t.Context(), react.Input("go"), run)
		died := err != nil
		if died {
			g := agent(t, c, memory)
			res, err = g.Resume(t.Context(), graph.Answers{}, run)
			if errors.Is(err, graph.ErrUnknownThread) {
				res, err = g.Invoke(t.Context(), react.Input("go"), run)
			}
		}
		if err != nil || res.Status != graph.Done {
			t.Fatalf("write %d: %s, %v", n, res.Status, err)
		}
		if whole == "" {
			whole = said(res.State)
		}
		if d := cmp.Diff(whole, said(res.State)); d != "" {
			t.Errorf("write %d: the conversation is another: %s", n, d)
		}
		again := 0
		for _, name := range []string{"a", "b", "c"} {
			ids := r.ids[name]
			for _, id := range ids[1:] {
				if again++; id != ids[0] {
					t.Errorf("write %d: %s got the IDs %q", n, name, ids)
				}
			}
		}
		if again > 3 {
			t.Errorf("write %d: tools ran %d times more", n, again)
		}
		if !died {
			if n < 5 {
				t.Errorf("only %d writes were broken", n)
			}
			return
		}
	}
}

func TestTools_FinishedCallDoesNotRunAgain(t *testing.T) {
	var r ran
	memory := &checkpoint.Memory{}
	ended := make(chan struct{})
	ctx, die := context.WithCancel(t.Context())
	first := true
	slow := tool.Func(tool.Info{Name: "slow"}, func(ctx context.Context, _ topic) (string, error) {
		r.add("slow", tool.ID(ctx))
		if first {
			first = false
			<-ended
			die()
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "slow but sure", nil
	})
	c := react.Config{Model: model.Script(model.Ask(call("slow", `{"q":"1"}`), call("quick", `{"q":"2"}`)), model.Say("done")),
		Tools: tools(t, slow, r.find(tool.Info{Name: "quick"}))}
	b, err := react.New(c)
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Compile(graph.Config{Store: memory})
	if err != nil {
		t.Fatal(err)
	}
	live := g.Start(ctx, react.Input("go"), graph.RunOptions{Thread: "t", Hold: true})
	events := live.Events(graph.Tasks) // joined before Wait starts the run
	go func() {
		for ev := range events {
			if ev.Phase == graph.Finished && ev.Node == react.ToolNode && ev.Label != "run" {
				close(ended) // the task of the quick one, with its result
				return
			}
		}
	}()
	if _, err := live.Wait(); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	res, err := g.Resume(t.Context(), graph.Answers{}, run)
	if err != nil || res.State.Answer.Get() != "done" {
		t.Fatal(res.Status, err)
	}
	if r.count("quick") != 1 || r.count("slow") != 2 || r.ids["slow"][0] != r.ids["slow"][1] {
		t.Errorf("ran %v", r.ids)
	}
}

// paused runs an agent to its questions, and returns the same agent in another process.
func paused(t *testing.T, c react.Config, questions int) (*graph.Graph[react.State], []graph.Interrupt) {
	t.Helper()
	store := &checkpoint.Memory{}
	res, err := agent(t, c, store).Invoke(t.Context(), react.Input("go"), run)
	if err != nil || res.Status != graph.Interrupted || len(res.Interrupts) != questions {
		t.Fatalf("got %s with %d questions, %v", res.Status, len(res.Interrupts), err)
	}
	return agent(t, c, store), res.Interrupts
}

func TestCall_PermittedRunsInAnotherRun(t *testing.T) {
	for name, tt := range map[string]struct {
		decision any
		ran      int
		result   string
	}{
		"approved": {graph.Decision{Type: graph.DecisionApprove}, 1, "found x"},
		"edited":   {graph.EditTo(map[string]any{"q": "y"}), 1, "found y"},
		"rejected": {graph.Decision{Type: graph.DecisionReject, Message: "not that"}, 0, "The person's feedback: not that"},
	} {
		t.Run(name, func(t *testing.T) {
			var r ran
			c := react.Config{
				Model: model.Script(model.Ask(call("wipe", `{"q":"x"}`), call("find", `{"q":"z"}`)), model.Say("done")),
				Tools: tools(t, r.find(tool.Info{Name: "wipe", Mode: tool.Permit}), r.find(tool.Info{Name: "find"})),
			}
			g, open := paused(t, c, 1)
			if r.count("wipe") != 0 || r.count("find") != 1 {
				t.Fatalf("before the decision there ran %v", r.ids)
			}
			if !strings.Contains(open[0].Prompt, "wipe") || !strings.Contains(open[0].Detail, `"q": "x"`) {
				t.Errorf("the question is %+v", open[0])
			}
			res, err := g.Resume(t.Context(), graph.Answer(open[0].ID, tt.decision), run)
			if err != nil || res.State.Answer.Get() != "done" {
				t.Fatal(res.Status, err)
			}
			if r.count("wipe") != tt.ran || r.count("find") != 1 || !strings.Contains(said(res.State), tt.result) {
				t.Errorf("ran %v; the conversation is\n%s", r.ids, said(res.State))
			}
		})
	}
}

func TestQuestions_AreAnsweredOneByOne(t *testing.T) {
	var r ran
	c := react.Config{
		Model: model.Script(model.Ask(call("a", `{"q":"1"}`), call("b", `{"q":"2"}`)), model.Say("done")),
		Tools: tools(t, r.find(tool.Info{Name: "a", Mode: tool.Permit}), r.find(tool.Info{Name: "b", Mode: tool.Permit})),
	}
	g, open := paused(t, c, 2)
	res, err := g.Resume(t.Context(), graph.Answer(open[1].ID, graph.Decision{Type: graph.DecisionApprove}), run)
	if err != nil || res.Status != graph.Interrupted || r.count("b") != 1 || r.count("a") != 0 {
		t.Fatalf("%s, %v, ran %v", res.Status, err, r.ids)
	}
	res, err = g.Resume(t.Context(), graph.Reply(graph.Decision{Type: graph.DecisionApprove}), run)
	if err != nil || res.Status != graph.Done || r.count("a") != 1 || r.count("b") != 1 {
		t.Fatalf("%s, %v, ran %v", res.Status, err, r.ids)
	}
	if !strings.Contains(said(res.State), "tool: found 1\ntool: found 2\n") {
		t.Errorf("the results are not in the order of the calls:\n%s", said(res.State))
	}
}

func TestDecision_InvalidIsRefused(t *testing.T) {
	var r ran
	c := react.Config{
		Model: model.Script(model.Ask(call("wipe", `{"q":"x"}`)), model.Say("done")),
		Tools: tools(t, r.find(tool.Info{Name: "wipe", Mode: tool.Permit})),
	}
	g, open := paused(t, c, 1)
	for _, bad := range []any{
		graph.EditTo(map[string]any{"nom": 1}),
		map[string]any{"action": "perhaps"},
	} {
		_, err := g.Resume(t.Context(), graph.Answer(open[0].ID, bad), run)
		if !errors.Is(err, graph.ErrAnswer) || r.count("wipe") != 0 {
			t.Fatalf("%v: got %v, want it refused", bad, err)
		}
	}
	res, err := g.Resume(t.Context(), graph.Answer(open[0].ID, graph.Decision{Type: graph.DecisionApprove}), run)
	if err != nil || res.Status != graph.Done || r.count("wipe") != 1 {
		t.Fatalf("%s, %v", res.Status, err)
	}
}

func TestQuestion_DeclinedIsARejection(t *testing.T) {
	var r ran
	c := react.Config{
		Model: model.Script(model.Ask(call("wipe", `{"q":"x"}`)), model.Say("done")),
		Tools: tools(t, r.find(tool.Info{Name: "wipe", Mode: tool.Permit})),
	}
	g, open := paused(t, c, 1)
	res, err := g.Resume(t.Context(), graph.Decline(open[0].ID, "out of office"), run)
	if err != nil || res.Status != graph.Done || r.count("wipe") != 0 || !strings.Contains(said(res.State), "out of office") {
		t.Fatalf("%s, %v\n%s", res.Status, err, said(res.State))
	}
}

func TestAnswerMode_AnswerIsTheResult(t *testing.T) {
	c := react.Config{
		Model: model.Script(model.Ask(call("choose", `{"q":"color"}`)), model.Say("done")),
		Tools: tools(t, tool.Ask[topic, int](tool.Info{Name: "choose", Prompt: "Which one?"})),
	}
	g, open := paused(t, c, 1)
	res, err := g.Resume(t.Context(), graph.Answer(open[0].ID, "seven"), run)
	if err != nil || res.Status != graph.Interrupted || !strings.Contains(res.Interrupts[0].Detail, "does not fit") {
		t.Fatalf("%s, %v, %+v", res.Status, err, res.Interrupts)
	}
	res, err = g.Resume(t.Context(), graph.Reply(0), run)
	if err != nil || res.Status != graph.Done || !strings.Contains(said(res.State), "tool: 0\n") {
		t.Fatalf("%s, %v\n%s", res.Status, err, said(res.State))
	}
}

func TestDirectTool_ResultIsTheAnswer(t *testing.T) {
	var r ran
	m := model.Script(model.Ask(call("find", `{"q":"x"}`)), model.Ask(call("find", `{}`)), model.Say("it failed"))
	g := agent(t, react.Config{Model: m, Tools: tools(t, r.find(tool.Info{Name: "find", Direct: true}))}, &checkpoint.Memory{})
	res, err := g.Invoke(t.Context(), react.Input("go"), run)
	if err != nil || res.State.Answer.Get() != "found x" || len(m.Requests()) != 1 {
		t.Errorf("got %q after %d requests, %v", res.State.Answer.Get(), len(m.Requests()), err)
	}
	res, err = g.Invoke(t.Context(), react.Input("and now wrongly"), run)
	if err != nil || res.State.Answer.Get() != "it failed" {
		t.Errorf("a direct tool that failed had the last word: %q, %v", res.State.Answer.Get(), err)
	}
}

func TestFinalAnswer_MayHaveASchema(t *testing.T) {
	type place struct {
		City string `json:"city"`
	}
	form, err := react.OutputOf[place]()
	if err != nil {
		t.Fatal(err)
	}
	var r ran
	m := model.Script(model.Ask(call("find", `{"q":"x"}`)), model.Say("In Oslo."), model.Say(`{"city":"Oslo"}`))
	g := agent(t, react.Config{Model: m, Output: form, Tools: tools(t, r.find(tool.Info{Name: "find"}))}, &checkpoint.Memory{})
	res, err := g.Invoke(t.Context(), react.Input("where?"), run)
	if err != nil {
		t.Fatal(err)
	}
	got, err := react.Decode[place](&res.State)
	if err != nil || got.City != "Oslo" || strings.Contains(said(res.State), "In Oslo.") {
		t.Errorf("got %+v, %v\n%s", got, err, said(res.State))
	}
	if res.State.Spent.Get().Calls != 3 {
		t.Errorf("spent %+v", res.State.Spent.Get())
	}
}

func TestInterceptors_SeeRequestsAnswersAndCalls(t *testing.T) {
	var r ran
	m := model.Script(model.Ask(call("find", `{"q":"x"}`)), model.Say("done"))
	c := react.Config{
		Model: m, Tools: tools(t, r.find(tool.Info{Name: "find"})),
		Before: func(_ context.Context, q *model.Request) error { q.Temperature = new(0.5); return nil },
		After: func(_ context.Context, a *model.Response) error {
			if len(a.Message.Calls) == 0 {
				a.Message.Content = []message.Part{message.Text(strings.ToUpper(a.Message.Text()))}
			}
			return nil
		},
		Around: func(ctx context.Context, c message.Call, next react.Run) (message.Result, error) {
			c.Arguments = json.RawMessage(`{"q":"y"}`)
			out, err := next(ctx, c)
			out.Content = append(out.Content, message.Text("!"))
			return out, err
		},
	}
	res, err := agent(t, c, &checkpoint.Memory{}).Invoke(t.Context(), react.Input("go"), run)
	if err != nil || res.State.Answer.Get() != "DONE" || *m.Requests()[0].Temperature != 0.5 || !strings.Contains(said(res.State), "found y!") {
		t.Errorf("got %v\n%s", err, said(res.State))
	}
}

// Order is a state of the user.
type Order struct {
	react.State
	Rating state.Value[int] `json:"rating"`
}

func TestAgent_IsPartOfAnotherGraph(t *testing.T) {
	b := graph.New[Order]("agent")
	if err := react.Add(b, func(s *Order) *react.State { return &s.State }, react.Config{Model: model.Script(model.Say("fine")), Next: "rate"}); err != nil {
		t.Fatal(err)
	}
	b.Node("rate", graph.Func(func(_ context.Context, s *Order) error { s.Rating.Set(len(s.Answer.Get())); return nil }))
	b.Edge(graph.Start, react.ModelNode)
	b.Edge("rate", graph.End)
	g, err := b.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Invoke(t.Context(), Order{State: react.Input("how?")}, graph.RunOptions{})
	if err != nil || res.State.Rating.Get() != 4 {
		t.Errorf("got %d, %v", res.State.Rating.Get(), err)
	}
}

func TestPolicy_WaitsAsLongAsTheProviderAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := &model.Error{Kind: model.RateLimited, Wait: 20 * time.Second}
		m := model.Script(model.Fail(busy), model.Say("now"))
		begun := time.Now()
		res, err := agent(t, react.Config{Model: m}, nil).Invoke(t.Context(), react.Input("go"), graph.RunOptions{})
		if err != nil || res.State.Answer.Get() != "now" || time.Since(begun) < 20*time.Second {
			t.Errorf("got %q after %s, %v", res.State.Answer.Get(), time.Since(begun), err)
		}
		long := &model.Error{Kind: model.RateLimited, Wait: time.Hour}
		m = model.Script(model.Fail(long), model.Say("now"))
		_, err = agent(t, react.Config{Model: m}, nil).Invoke(t.Context(), react.Input("go"), graph.RunOptions{})
		if model.KindOf(err) != model.RateLimited || len(m.Requests()) != 1 {
			t.Errorf("got %v after %d requests", err, len(m.Requests()))
		}
	})
}

func TestNew_RefusesInvalidConfigurations(t *testing.T) {
	for name, c := range map[string]react.Config{
		"no model":  {},
		"no schema": {Model: model.Script(), Output: &model.Schema{JSON: json.RawMessage(`{`)}},
		"negative":  {Model: model.Script(), MaxTurns: -1},
	} {
		if _, err := react.New(c); !errors.Is(err, react.ErrConfig) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAgent_StreamsReasoningAndCalls(t *testing.T) {
	chunks := []model.Chunk{
		{Reasoning: "look"}, {Call: &model.CallDelta{ID: "x", Name: "look", Arguments: `{"a"`}}, {Call: &model.CallDelta{Arguments: `:1}`}},
		{Call: &model.CallDelta{ID: "y", Name: "look", Arguments: `{}`}}, {Stop: model.StopCalls}, // another call with the same index
	}
	set, err := tool.NewSet(tool.Func(tool.Info{Name: "look", Direct: true}, func(context.Context, struct {
		A int `json:"a,omitempty"`
	}) (string, error) {
		return "seen", nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	g := agent(t, react.Config{Model: chunked(chunks), Tools: set}, &checkpoint.Memory{})
	got, ids := "", []string{}
	for ev, err := range g.Stream(t.Context(), react.Input("?"), graph.RunOptions{Thread: "t", Modes: graph.Messages | graph.Ended}) {
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := ev.State.(*react.State); ok {
			for _, c := range s.Messages.At(1).Calls {
				ids = append(ids, c.ID)
			}
		}
		if ev.Mode != graph.Messages {
			continue
		}
		if got += " " + ev.Token.Reasoning; ev.Token.Final {
			got += "end"
		}
		if c := ev.Token.Call; c != nil {
			got += fmt.Sprintf("%d:%s%s", c.Index, c.Name, c.Arguments)
			if want := fmt.Sprintf("%s-%d", ev.Token.ID, c.Index); c.ID != want {
				t.Errorf("a piece has the ID %q, want %q", c.ID, want)
			}
		}
	}
	if want := ` look 0:look{"a" 0::1} 1:look{} end`; got != want || len(ids) != 2 || ids[0] == ids[1] {
		t.Errorf("got %q with the calls %q, want %q", got, ids, want)
	}
}

// chunked is a model whose answer is these chunks.
type chunked []model.Chunk

func (c chunked) Stream(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		for _, chunk := range c {
			if !yield(chunk, nil) {
				return
			}
		}
	}
}
