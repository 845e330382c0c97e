package pes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/pes"
	"github.com/weftrun/weft/state/message"
)

var run = graph.RunOptions{Thread: "t"}

func compile(t testing.TB, c pes.Config, store checkpoint.Store) *graph.Graph[pes.State] {
	t.Helper()
	b, err := pes.New(c)
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Compile(graph.Config{Store: store, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

var noon = time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)

// say runs a turn.
func say(t testing.TB, g *graph.Graph[pes.State], text string) *pes.State {
	t.Helper()
	res, err := g.Invoke(t.Context(), pes.Input(text), run)
	if err != nil || res.Status != graph.Done {
		t.Fatalf("%q: %s, %v", text, res.Status, err)
	}
	return &res.State
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// statusText formats the list, such as "a=completed b=pending".
func statusText(s *pes.State) string {
	var all []string
	for _, t := range s.Todo() {
		all = append(all, t.ID+"="+string(t.Status))
	}
	return strings.Join(all, " ")
}

// items makes a plan of "id" and "id<dependency,dependency".
func items(all ...string) (p pes.Plan) {
	for _, text := range all {
		id, on, ok := strings.Cut(text, "<")
		i := pes.Item{ID: id, Task: "do " + id}
		if ok {
			i.DependsOn = strings.Split(on, ",")
		}
		p.Items = append(p.Items, i)
	}
	return p
}

// planner returns these plans in order, and stores the requests.
type planner struct {
	plans []pes.Plan
	asked []pes.PlanRequest
}

func (p *planner) plan(_ context.Context, r pes.PlanRequest) (pes.Plan, error) {
	p.asked = append(p.asked, r)
	if len(p.asked) > len(p.plans) {
		return pes.Plan{}, fmt.Errorf("unexpected plan %d: %s", len(p.asked), r.Problem)
	}
	return p.plans[len(p.asked)-1], nil
}

// doer executes items and counts them; fails has the items that fail.
type doer struct {
	mu    sync.Mutex
	times map[string]int
	fails map[string]error
}

func (d *doer) do(_ context.Context, r pes.ExecuteRequest) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.times == nil {
		d.times = map[string]int{}
	}
	d.times[r.Item.ID]++
	var needs []string
	for _, t := range r.Needs {
		needs = append(needs, t.Result.Text)
	}
	return r.Item.ID + "(" + strings.Join(needs, " ") + ")", d.fails[r.Item.ID]
}

func TestConversation_RefinesOnePlan(t *testing.T) {
	p := &planner{plans: []pes.Plan{
		items("a", "b", "c<a,b"),
		{Goal: "more", Items: []pes.Item{{ID: "a", Task: "do a otherwise"}, {ID: "d", Task: "do d", DependsOn: []string{"c"}}}},
		{Goal: "nothing new"},
	}}
	var d doer
	g := compile(t, pes.Config{Plan: p.plan, Execute: d.do}, &checkpoint.Memory{})
	s := say(t, g, "one")
	same(t, "list", statusText(s), "a=completed b=completed c=completed")
	same(t, "answer", s.Answer.Get(), "do a: a()\ndo b: b()\ndo c: c(a() b())")

	s = say(t, g, "two")
	same(t, "list", statusText(s), "a=completed b=completed c=completed a-2=completed d=completed")
	same(t, "answer", s.Answer.Get(), "do a otherwise: a-2()\ndo d: d(c(a() b()))")
	same(t, "a completed item", s.Plan.Get().Items[0].Task, "do a")

	s = say(t, g, "three")
	same(t, "answer", s.Answer.Get(), "There was nothing left to do.")
	same(t, "done", d.times, map[string]int{"a": 1, "a-2": 1, "b": 1, "c": 1, "d": 1})
	same(t, "what the planner saw", len(p.asked[1].Todo), 3)
	same(t, "messages", s.Messages.Len(), 6)
}

func TestAgent_WithoutAModel(t *testing.T) {
	var d doer
	g := compile(t, pes.Config{Execute: d.do}, &checkpoint.Memory{})
	same(t, "answer", say(t, g, "one").Answer.Get(), "one: item-1()")
	same(t, "answer", say(t, g, "two").Answer.Get(), "two: item-2()")

	d.fails = map[string]error{"item-3": errors.New("boom")}
	same(t, "answer", say(t, g, "three").Answer.Get(), "Not all could be done: \"item-3\" failed: boom\nthree: failed: boom")
	d.fails = nil // what failed is done with the next message
	same(t, "answer", say(t, g, "four").Answer.Get(), "three: item-3()\nfour: item-4()")
}

// Requirement: user messages are not stored
func TestMessages_OfUserAndAgentAreStored(t *testing.T) {
	var d doer
	store := &checkpoint.Memory{}
	say(t, compile(t, pes.Config{Execute: d.do}, store), "one")
	s, _, err := compile(t, pes.Config{Execute: d.do}, store).Thread("t").State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range s.Messages.All() {
		got = append(got, string(m.Role)+": "+m.Text())
	}
	same(t, "messages", got, []string{"user: one", "assistant: one: item-1()"})

	broken := pes.Config{Execute: d.do, Synthesize: func(context.Context, pes.SynthesizeRequest) (string, error) { return "", errors.New("no words") }}
	if _, err := compile(t, broken, store).Invoke(t.Context(), pes.Input("two"), run); err == nil {
		t.Fatal("a run without an answer succeeds")
	}
	if s, _, _ = compile(t, broken, store).Thread("t").State(t.Context(), 0); s.Messages.Len() != 3 {
		t.Errorf("got %d messages after a failure, want that of the user", s.Messages.Len())
	}
	res, err := compile(t, pes.Config{Execute: d.do}, store).Resume(t.Context(), graph.Answers{}, run)
	if err != nil || res.State.Messages.Len() != 4 {
		t.Errorf("the answer is not made up for: %v", err)
	}
	same(t, "done", d.times, map[string]int{"item-1": 1, "item-2": 1})
}

func TestItems_IndependentOnesRunInParallel(t *testing.T) {
	began, all := make(chan string), make(chan struct{})
	go func() {
		for range 3 {
			<-began
		}
		close(all)
	}()
	p := &planner{plans: []pes.Plan{items("a", "b", "c", "d<a,b,c")}}
	s := say(t, compile(t, pes.Config{Plan: p.plan, Execute: func(_ context.Context, r pes.ExecuteRequest) (string, error) {
		if r.Item.ID != "d" {
			began <- r.Item.ID
			<-all // none ends before all have begun
		}
		return r.Item.ID, nil
	}}, &checkpoint.Memory{}), "go")
	same(t, "list", statusText(s), "a=completed b=completed c=completed d=completed")
}

func TestPolicy_AppliesToAFailedItem(t *testing.T) {
	first, second := items("a", "b<a", "c", "d<c", "e<b"), items("f<c", "a2")
	for _, c := range []struct {
		policy pes.Policy
		fails  string
		want   string
		plans  int
	}{
		{pes.Stop, "a", "a=failed b=cancelled c=completed d=cancelled e=cancelled", 1},
		{"", "a", "a=failed b=cancelled c=completed d=cancelled e=cancelled", 1},
		{pes.Continue, "a", "a=failed b=cancelled c=completed d=completed e=cancelled", 1},
		{pes.Continue, "e", "a=completed b=completed c=completed d=completed e=failed", 1},
		{pes.Replan, "a", "c=completed f=completed a2=completed", 2},
		{pes.Replan, "a a2", "c=completed f=completed a2=failed", 2},
	} {
		for _, panics := range []bool{false, true} {
			t.Run(fmt.Sprint(c.policy, " ", c.fails, " ", panics), func(t *testing.T) {
				d := doer{fails: map[string]error{}}
				for _, id := range strings.Fields(c.fails) {
					d.fails[id] = errors.New("boom " + id)
				}
				do := func(ctx context.Context, r pes.ExecuteRequest) (string, error) {
					text, err := d.do(ctx, r)
					if err != nil && panics {
						panic(err)
					}
					return text, err
				}
				p := &planner{plans: []pes.Plan{first, second}}
				s := say(t, compile(t, pes.Config{Plan: p.plan, Execute: do, OnFailure: c.policy, MaxPlans: 2}, &checkpoint.Memory{}), "go")
				same(t, "list", statusText(s), c.want)
				same(t, "plans", len(p.asked), c.plans)
				if c.plans == 2 && !strings.Contains(p.asked[1].Problem, `"a" failed: `) {
					t.Errorf("the planner got %q", p.asked[1].Problem)
				}
				if last := strings.Fields(c.fails); c.want[len(c.want)-1] == 'd' && strings.Contains(c.want, "failed") && !strings.Contains(s.Answer.Get(), "boom "+last[len(last)-1]) {
					t.Errorf("the answer is %q", s.Answer.Get())
				}
				for id, n := range d.times {
					if n != 1 {
						t.Errorf("%s was done %d times", id, n)
					}
				}
			})
		}
	}
}

// passing is a temporary failure.
type passing struct{ error }

func (passing) Temporary() bool           { return true }
func (passing) RetryAfter() time.Duration { return 20 * time.Second }

func TestItem_IsRetriedIfThatMayHelp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		began := time.Now()
		s := say(t, compile(t, pes.Config{Execute: func(context.Context, pes.ExecuteRequest) (string, error) {
			if n++; n < 3 {
				return "", passing{errors.New("busy")}
			}
			return "there", nil
		}}, &checkpoint.Memory{}), "go")
		same(t, "answer", s.Answer.Get(), "go: there")
		same(t, "tries", n, 3)
		same(t, "waited", time.Since(began), 40*time.Second)
	})
}

func TestPlan_InvalidPlanIsMadeAgainThenFails(t *testing.T) {
	bad := items("a<ghost", "b<c", "c<b", "a")
	p := &planner{plans: []pes.Plan{bad, items("a"), bad, bad, {}, items("b")}}
	var d doer
	g := compile(t, pes.Config{Plan: p.plan, Execute: d.do}, &checkpoint.Memory{})
	same(t, "list", statusText(say(t, g, "one")), "a=completed")
	for _, want := range []string{`"a" depends on "ghost"`, `the id "a", which is that of item 1`, `wait for each other: "b", "c"`} {
		if !strings.Contains(p.asked[1].Problem, want) {
			t.Errorf("the planner got %q, want %q", p.asked[1].Problem, want)
		}
	}
	p.plans[4] = items("x<x") // after a plan that holds an empty one would
	res, err := g.Invoke(t.Context(), pes.Input("two"), run)
	var none *pes.PlanError
	if !errors.As(err, &none) || none.Plans != 3 || len(none.Problems) != 1 {
		t.Fatalf("got %v", err)
	}
	same(t, "the old plan", statusText(&res.State), "a=completed")
	same(t, "list", statusText(say(t, g, "three")), "a=completed b=completed")
}

// cutOff runs a turn whose process ends while item b is running.
func cutOff(t *testing.T, p *planner, d *doer, store checkpoint.Store) {
	t.Helper()
	stuck, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := compile(t, pes.Config{Plan: p.plan, Execute: func(ctx context.Context, r pes.ExecuteRequest) (string, error) {
		if r.Item.ID != "b" {
			return d.do(ctx, r)
		}
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}}, store)
	if _, err := g.Invoke(stuck, pes.Input("one"), run); err == nil {
		t.Fatal("the run ended well")
	}
}

// Requirement: work interrupted by a crash stays in progress
func TestPlan_ReclaimsItemsAndReportsCycles(t *testing.T) {
	var d doer
	store := &checkpoint.Memory{}
	p := &planner{plans: []pes.Plan{items("a", "b", "c<a,b"), items("b", "c<a,b")}}
	cutOff(t, p, &d, store)
	g := compile(t, pes.Config{Plan: p.plan, Execute: d.do}, store)
	now, _, err := g.Thread("t").State(t.Context(), 0)
	if err != nil || !strings.Contains(statusText(&now), "b=in_progress c=pending") {
		t.Fatalf("got %s, %v", statusText(&now), err)
	}
	res, err := g.Resume(t.Context(), graph.Answers{}, run) // resumed it is done at once
	if err != nil || statusText(&res.State) != "a=completed b=completed c=completed" {
		t.Fatalf("got %s, %v", statusText(&res.State), err)
	}

	store = &checkpoint.Memory{} // and with another message it is open again
	p.asked = nil
	cutOff(t, p, &d, store)
	p.plans[1] = items("a", "b", "c<a,b")
	s := say(t, compile(t, pes.Config{Plan: p.plan, Execute: d.do}, store), "two")
	same(t, "list", statusText(s), "a=completed b=completed c=completed")
	if i := slices.IndexFunc(p.asked[1].Todo, func(t pes.Todo) bool { return t.Status == pes.InProgress }); i >= 0 {
		t.Errorf("the planner sees %+v, which is not running", p.asked[1].Todo[i])
	}
	for problem, plan := range map[string]pes.Plan{`wait for each other: "a", "b"`: items("a<b", "b<a"), `"a" depends on "x", which does not exist`: items("a<x")} {
		same(t, "problems", plan.Check(0), []string{map[bool]string{true: "items " + problem, false: "item " + problem}[strings.HasPrefix(problem, "wait")]})
	}
}

func TestPlan_IsShownToAPersonIfConfigured(t *testing.T) {
	for name, c := range map[string]struct {
		say    []any
		want   string
		answer string
	}{
		"approved":                             {[]any{graph.Decision{Type: graph.DecisionApprove}}, "a=completed", "do a: a()"},
		"edited":                               {[]any{graph.EditTo(items("z"))}, "z=completed", "do z"},
		"edited so that it cannot be":          {[]any{graph.EditTo(items("z<y")), graph.Decision{Type: graph.DecisionApprove}}, "a=completed", "do a"},
		"rejected with feedback":               {[]any{graph.Decision{Type: graph.DecisionReject, Message: "not so"}, graph.Decision{Type: graph.DecisionApprove}}, "b=completed", "do b"},
		"rejected":                             {[]any{graph.Decision{Type: graph.DecisionReject}}, "", "was not approved"},
		"rejected as often as there are plans": {[]any{graph.Decision{Type: graph.DecisionReject, Message: "no"}, graph.Decision{Type: graph.DecisionReject, Message: "never"}}, "", "not approved: never"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &planner{plans: []pes.Plan{items("a"), items("b")}}
			var d doer
			store := &checkpoint.Memory{}
			config := pes.Config{Plan: p.plan, Execute: d.do, Review: true, MaxPlans: 2}
			res, err := compile(t, config, store).Invoke(t.Context(), pes.Input("go"), run)
			for _, answer := range c.say {
				if err != nil || res.Status != graph.Interrupted {
					t.Fatalf("got %s, %v", res.Status, err)
				}
				res, err = compile(t, config, store).Resume(t.Context(), graph.Reply(answer), run) // in another process
			}
			if err != nil || res.Status != graph.Done {
				t.Fatalf("got %s, %v", res.Status, err)
			}
			same(t, "list", statusText(&res.State), c.want)
			if got := res.State.Answer.Get(); !strings.Contains(got, c.answer) {
				t.Errorf("the answer is %q, want %q", got, c.answer)
			}
			if len(p.asked) > 2 {
				t.Errorf("the planner was asked %d times", len(p.asked))
			}
		})
	}
}

func TestDiff_AddedModifiedAndRemoved(t *testing.T) {
	a, b := items("a", "b", "c<a"), items("c<a,b", "b", "d")
	same(t, "text", pes.Diff(a, b).String(), "+ d: do d\n~ c: do c\n- a: do a")
	for _, p := range []pes.Plan{a, b, {}} {
		if c := pes.Diff(p, p); !c.None() || c.String() != "" {
			t.Errorf("a plan differs from itself: %s", c)
		}
	}
	a.Items[0].DependsOn = []string{}
	if c := pes.Diff(items("a", "b", "c<a"), a); !c.None() {
		t.Errorf("no dependencies differ from none: %s", c)
	}
	slices.Reverse(a.Items)
	if c := pes.Diff(items("a", "b", "c<a"), a); !c.None() {
		t.Errorf("the order is a difference: %s", c)
	}
}

func TestEvents_ReportChangesOfThePlan(t *testing.T) {
	var d doer
	g := compile(t, pes.Config{Execute: d.do}, &checkpoint.Memory{})
	var heard []string
	for ev, err := range g.Stream(t.Context(), pes.Input("one"), graph.RunOptions{Thread: "t", Modes: graph.Custom}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Mode == graph.Custom {
			heard = append(heard, fmt.Sprint(ev.Payload))
		}
	}
	same(t, "heard", heard, []string{"+ item-1: one"})
}

func TestNew_RefusesInvalidConfigurations(t *testing.T) {
	var d doer
	for name, c := range map[string]pes.Config{
		"no execute": {}, "policy": {Execute: d.do, OnFailure: "panic"}, "plans": {Execute: d.do, MaxPlans: -1}, "items": {Execute: d.do, MaxItems: -1},
		"within": {Execute: d.do, ReviewWithin: -1},
	} {
		if _, err := pes.New(c); !errors.Is(err, pes.ErrConfig) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	g := compile(t, pes.Config{Execute: d.do, MaxItems: 1, MaxPlans: 1, Plan: (&planner{plans: []pes.Plan{items("a", "b")}}).plan}, nil)
	if _, err := g.Invoke(t.Context(), pes.Input("go"), graph.RunOptions{}); err == nil || !strings.Contains(err.Error(), "at most 1 items (got 2)") {
		t.Errorf("got %v", err)
	}
	in := pes.Input("x")
	same(t, "role", in.Messages.At(0).Role, message.RoleUser)
}
