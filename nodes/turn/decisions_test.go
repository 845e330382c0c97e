package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state/agent"
)

// target is the approved target of an export.
type target struct {
	File string `json:"file"`
	Rows int    `json:"rows,omitempty"`
}

func (t target) Validate() error {
	if strings.Contains(t.File, "/") {
		return errors.New("a file has no folder")
	}
	return nil
}

// exporting asks for the target of an export; wrote has the targets.
func exporting(wrote *[]string) capabilities.Capability {
	return capabilities.Func(capabilities.Info{Name: "export", Description: "exports it"}, func(_ context.Context, c *capabilities.Call) error {
		to, err := capabilities.Approve(c, agent.ApprovalRequest{Type: "export", Objective: "write the table"}, target{File: "rain.csv"})
		if err == nil {
			*wrote = append(*wrote, to.File)
		}
		return err
	})
}

func TestEdit_InvalidIsRefusedWithTheReason(t *testing.T) {
	var wrote []string
	g, tasks := newAgent(t, turn.Config{Manager: manager(t), Capabilities: registry(t, exporting(&wrote))}, &checkpoint.Memory{})
	q := send(t, g, "export it").Questions[0]
	contains(t, turn.FormatQuestions([]graph.Interrupt{q}), "such as\n/edit {\"file\":\"rain.csv\"}")
	for text, why := range map[string]string{
		`/edit "b.csv"`:                     `has type "string", want "object"`,
		`/edit {"file":7}`:                  `file: 7 has type "integer", want "string"`,
		`/edit {}`:                          `missing properties: ["file"]`,
		`/edit {"file":"b.csv","mode":"x"}`: `unexpected additional properties ["mode"]`,
		`/edit {"file":"b.csv"`:             "JSON must follow it",
		`/edit`:                             "such as\n/edit {\"file\":\"rain.csv\"}",
		`/edit null`:                        "JSON must follow it",
	} {
		refuses(t, g, text, "/edit: ", why)
		open := send(t, g, "/pending")
		contains(t, open.Text, "write the table")
	}
	// An answer that does not come through the agent is refused too.
	_, err := g.Graph.Resume(t.Context(), graph.Answer(q.ID, json.RawMessage(`{"type":"edit","edited":{"file":7}}`)), graph.RunOptions{Thread: "t1"})
	if !errors.Is(err, graph.ErrAnswer) {
		t.Errorf("got %v for an edit that does not fit", err)
	}
	// An edit that Validate refuses is asked about again, with the reason.
	r := send(t, g, `/edit {"file":"a/b.csv"}`)
	same(t, "status", r.Status, graph.Interrupted)
	contains(t, r.Text, "That decision cannot be applied: a file has no folder.", "write the table")
	r = send(t, g, `/edit {"file":"b.csv"}`)
	same(t, "status", r.Status, graph.Done)
	sameList(t, "written", wrote, []string{"b.csv"})
	same(t, "turns", len(*tasks), 1)
}

func TestParameters_EditMustMatchTheToolSchema(t *testing.T) {
	type city struct {
		Name string  `json:"name"`
		Days float64 `json:"days,omitempty"`
	}
	var asked []city
	look := capabilities.Tool(capabilities.Info{Name: "look", Description: "looks", Approval: capabilities.AlwaysApproval}, func(_ context.Context, c city) (Rain, error) {
		asked = append(asked, c)
		return Rain{Column: c.Name}, nil
	})
	c := turn.Config{Manager: manager(t), Capabilities: registry(t, look)}
	c.Plan = func(context.Context, turn.PlanRequest) (agent.Plan, error) {
		return plans(agent.Step{Capability: "look", ContextKey: "k", Parameters: map[string]any{"name": "Oslo"}}), nil
	}
	g, _ := newAgent(t, c, &checkpoint.Memory{})
	send(t, g, "look")
	refuses(t, g, `/edit {"name":1}`, "name: 1 has type")
	refuses(t, g, `/edit {"town":"Bergen"}`, "town")
	same(t, "status", send(t, g, `/edit {"name":"Bergen","days":9007199254740993}`).Status, graph.Done)
	sameList(t, "asked", asked, []city{{"Bergen", 9007199254740993}})
}

func TestEdit_NeedsData(t *testing.T) {
	runs := 0
	g, _ := newAgent(t, approving(t, "", &runs), &checkpoint.Memory{})
	r := send(t, g, "write it") // the approval of a step without parameters
	if strings.Contains(r.Text, "/edit") {
		t.Errorf("an edit is offered: %s", r.Text)
	}
	refuses(t, g, `/edit "x"`, "has nothing to edit")
	same(t, "prompt", turn.AnswerHint(r.Questions), "yes or no")
}

func TestRejection_IsDescribedAsADecision(t *testing.T) {
	for then, want := range map[capabilities.Rejection]string{
		capabilities.FailStep: "Not done, as decided: writes a value (write) was rejected: not today", capabilities.EndTurn: "Not done, as decided: writes a value (write) was rejected: not today",
	} {
		runs := 0
		g, _ := newAgent(t, approving(t, then, &runs), &checkpoint.Memory{})
		send(t, g, "write it")
		r := send(t, g, "no, not today")
		same(t, string(then)+": in chat", r.Text, want)
		for _, u := range r.State.StatusUpdates.All() {
			if strings.Contains(u.Message, "wrong") {
				t.Errorf("a rejection is reported as %q", u.Message)
			}
		}
		last, _ := r.State.Messages.Last()
		same(t, string(then)+": in the transcript", last.Text(), want)
	}
	c := planning(t)
	g, _ := newAgent(t, c, &checkpoint.Memory{})
	send(t, g, "draw")
	same(t, "a plan", send(t, g, "no: too long").Text, `Not done, as decided: the plan for "draw" was rejected: too long`)
	send(t, g, "draw")
	same(t, "an end", send(t, g, "/cancel I must go").Text, `Not done, as decided: the turn was ended instead of deciding about the plan for "draw": I must go`)

	// The report lists the steps that are done, and omits the answer.
	runs := 0
	c = turn.Config{Manager: manager(t), Capabilities: registry(t, find(), writing("", &runs), plot())}
	c.Plan = func(context.Context, turn.PlanRequest) (agent.Plan, error) {
		return plans(agent.Step{Capability: "find", ContextKey: "f", Objective: "find it"}, agent.Step{Capability: "write", ContextKey: "w", Objective: "write it"},
			agent.Step{Capability: "plot", ContextKey: "p", Objective: "draw it", Inputs: agent.InputList{{Type: "RAIN", Key: "f"}}}), nil
	}
	g, _ = newAgent(t, c, &checkpoint.Memory{})
	send(t, g, "go")
	same(t, "in a plan", send(t, g, "no").Text, "Not done, as decided: write it (write) was rejected\n\n- **Done**: Step 1: find it\n- **Not done**: Step 3: draw it")
}

func TestRejection_FeedbackReachesThePlanner(t *testing.T) {
	runs, reported := 0, ""
	c := approving(t, capabilities.Replan, &runs)
	c.Plan = func(ctx context.Context, r turn.PlanRequest) (agent.Plan, error) {
		if reported = r.Previous; reported != "" {
			return agent.Plan{}, nil
		}
		return turn.Chain(ctx, r)
	}
	g, _ := newAgent(t, c, &checkpoint.Memory{})
	send(t, g, "write it")
	send(t, g, "/reject use the other file")
	same(t, "the planner", reported, "writes a value (write) was rejected: use the other file")
}

func TestPlan_ThatOnlyTalksNeedsNoApproval(t *testing.T) {
	c := planning(t)
	for _, end := range []string{agent.ToRespond, agent.ToClarify} {
		c.Plan = func(context.Context, turn.PlanRequest) (agent.Plan, error) {
			return plans(agent.Step{Capability: end}), nil
		}
		g, _ := newAgent(t, c, &checkpoint.Memory{})
		same(t, end, send(t, g, "hello").Status, graph.Done)
	}
}

// several asks for a decision, a text, and yes or no, in this order, and pauses before another
// node.
func several(t *testing.T, pause bool) *turn.Agent[agent.State] {
	b := graph.New[agent.State]("several")
	ask := func(name string, do func(context.Context) (any, error)) {
		b.Node(name, graph.Func(func(ctx context.Context, s *agent.State) error {
			v, err := do(ctx)
			if err == nil {
				data, _ := json.Marshal(v)
				err = agent.Remember(s, name, string(data))
			}
			return err
		}))
		b.Edge(graph.Start, name)
		b.Edge(name, "end")
	}
	ask("a", func(ctx context.Context) (any, error) {
		_, d, err := graph.Approve(ctx, graph.Approval[any]{Question: graph.Question{Prompt: "Do it?"}})
		return d, err
	})
	ask("b", func(ctx context.Context) (any, error) {
		return graph.Ask[string](ctx, graph.Question{Prompt: "What is its name?"})
	})
	ask("c", func(ctx context.Context) (any, error) {
		return graph.Ask[bool](ctx, graph.Question{Prompt: "Really?"})
	})
	b.Node("end", graph.Func(func(context.Context, *agent.State) error { return nil }))
	b.Edge("end", graph.End)
	cfg := graph.Config{Store: &checkpoint.Memory{}}
	if pause {
		cfg.InterruptBefore = []string{"end"}
	}
	g, err := b.Compile(cfg)
	must(t, err)
	return turn.NewAgent(g, manager(t))
}

func remembered(t *testing.T, r turn.Reply[agent.State], name string) string {
	t.Helper()
	v, _, err := agent.Recall[string](&r.State, name)
	must(t, err)
	return v
}

func TestApproveAll_SkipsOtherQuestions(t *testing.T) {
	g := several(t, false)
	send(t, g, "go")
	r := send(t, g, "/approve:all")
	contains(t, r.Text, `Question 2 is left open: "What is its name?" needs an answer other than yes or no`)
	same(t, "left", len(r.Questions), 1)
	refuses(t, g, "/approve", "other than yes or no")
	refuses(t, g, "/approve:all", "other than yes or no")
	r = send(t, g, "yes")
	same(t, "name", remembered(t, r, "b"), `"yes"`)
	same(t, "really", remembered(t, r, "c"), "true")
}

func TestCommands_SeveralDecisionsInOneMessage(t *testing.T) {
	g := several(t, false)
	send(t, g, "go")
	refuses(t, g, "/reject:1 too risky /approve:3", "the reason contains /approve:3")
	refuses(t, g, "/reject:3 too risky", `without a text (got "too risky")`)
	refuses(t, g, "/approve:1 /reject:1", "is answered twice")
	same(t, "a reason on yes or no", send(t, g, "3 no, too risky").Kind, turn.NoRun)
	r := send(t, g, "/reject:3 /approve:1")
	same(t, "left", len(r.Questions), 1)
	r = send(t, g, "Anna")
	same(t, "really", remembered(t, r, "c"), "false")
	contains(t, remembered(t, r, "a"), `"type":"approve"`)

	g = several(t, false)
	send(t, g, "go")
	r = send(t, g, "/reject:3 /reject:1 -- not with /approve:2")
	same(t, "left", len(r.Questions), 1)
	r = send(t, g, "Anna")
	contains(t, remembered(t, r, "a"), `"type":"reject"`, `"message":"not with /approve:2"`)

	g = several(t, false)
	send(t, g, "go")
	same(t, "all the others", len(send(t, g, "/reject:3 /approve:all").Questions), 1)
}

func TestCommands_NumbersAreThoseShown(t *testing.T) {
	g, pause := several(t, true), graph.Interrupt{ID: "p", Kind: "before", Node: "export"}
	r := send(t, g, "go")
	shown := turn.FormatQuestions(append([]graph.Interrupt{pause}, r.Questions...))
	contains(t, shown, `The turn pauses before "export".`, "1. Do it?", "2. What is its name?", "3. Really?")
	send(t, g, "/approve:1 /approve:3")
	r = send(t, g, "Anna")
	same(t, "status", r.Status, graph.Interrupted)
	same(t, "a pause", r.Text, "The turn pauses before \"end\".\n/continue continues the turn.")
	same(t, "prompt", turn.AnswerHint(r.Questions), "")
	refuses(t, g, "/approve", "no question is open")
	same(t, "status", send(t, g, "/continue").Status, graph.Done)
}

func TestAnswer_RefusedShowsTheOpenQuestions(t *testing.T) {
	runs := 0
	g, _ := newAgent(t, approving(t, "", &runs), &checkpoint.Memory{})
	q := send(t, g, "write it").Questions[0]
	r, err := g.Apply(t.Context(), turn.Request[agent.State]{Kind: turn.Resume, Thread: "t1", Answers: graph.Answer(q.ID, 7)})
	if !errors.Is(err, graph.ErrAnswer) {
		t.Errorf("got %v", err)
	}
	same(t, "status", r.Status, graph.Interrupted)
	same(t, "questions", len(r.Questions), 1)
	contains(t, r.Text, `Approve "write"`)
}

func TestSettings_AreExplained(t *testing.T) {
	g, _ := newAgent(t, config(t), &checkpoint.Memory{})
	text := send(t, g, "/help config").Text
	for _, s := range agent.DescribeSettings() {
		contains(t, text, s.Name+": "+s.Help+" (default "+s.Default+")")
	}
	contains(t, text, "planning_mode_enabled", "; /planning sets it", "/pin sets it", "/approval sets it", "/task sets it", "/caps sets it")
	contains(t, send(t, g, "/config").Text, "/help config")
	refuses(t, g, "/help me please", "no such command")
}

// Failures of steps and nodes are emitted during the turn, but not rejections.
func TestEvents_ReportFailingSteps(t *testing.T) {
	tries := 0
	flaky := capabilities.Func(capabilities.Info{Name: "write", Description: "d", Retry: graph.Retry{Attempts: 2, Initial: graph.NoWait}}, func(context.Context, *capabilities.Call) error {
		if tries++; tries == 1 {
			return agent.Failed(agent.Retriable, errors.New("busy"))
		}
		return nil
	})
	c := turn.Config{Manager: manager(t), Capabilities: registry(t, flaky)}
	c.Plan = script[turn.PlanRequest](t, fails[agent.Plan](agent.Retriable, "no idea"), gives(plans(agent.Step{Capability: "write"})))
	c.Retry = map[string]graph.Retry{agent.ToOrchestrator: {Attempts: 2, Initial: graph.NoWait}}
	g := turn.NewAgent(compile(t, c, &checkpoint.Memory{}), c.Manager)
	var reported []string
	_, err := g.Untyped().Say(t.Context(), "t1", "go", func(ev graph.Event) {
		if u, ok := ev.Payload.(agent.StatusUpdate); ok && u.Metadata["failed"] != "" {
			reported = append(reported, u.Message+" "+u.Metadata["failed"])
		}
	})
	must(t, err)
	sameList(t, "reported", reported, []string{"orchestrator failed: no idea retriable", "write failed: capability \"write\": busy retriable"})
}

func TestMessages_HaveTheTimeOfTheClock(t *testing.T) {
	c := config(t)
	res := say(t, compile(t, c, &checkpoint.Memory{}), "t1", "draw") // a message alone, without a time
	for _, m := range res.State.Messages.All() {
		same(t, string(m.Role), m.Created, noon)
	}
	c.Manager.Clock = nil
	g, _ := newAgent(t, c, &checkpoint.Memory{})
	r := send(t, g, "draw")
	for _, m := range r.State.Messages.All() {
		same(t, "no time for "+string(m.Role), m.Created.IsZero(), false)
	}
}
