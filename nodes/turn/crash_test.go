package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/storetest"
	"github.com/weftrun/weft/nodes/turn"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

// scenario has the behavior of the capabilities in each turn of a conversation. It depends on the
// state alone, so that a repeated node does the same.
type scenario struct {
	Turns []scene
	Model bool // whether a scripted model thinks, and not functions
}

type scene struct {
	Plan      int      // the shape of the plan
	Extract   string   // what extraction does first: "", retriable, critical
	Match     string   // "", fails
	Planner   string   // "", retriable, invalid
	Steps     []string // what the steps do, one word for each attempt
	Planning  bool
	Decisions []string // what people say, question by question
	Answer    string   // "", fails
}

func drawScenario(t *rapid.T) scenario {
	doing := rapid.SampledFrom([]string{"ok", "ok", "ok", "busy", "replan", "reclassify", "critical", "ask", "asks", "forget"})
	return scenario{Turns: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) scene {
		return scene{
			Plan: rapid.IntRange(0, 3).Draw(t, "plan"), Extract: rapid.SampledFrom([]string{"", "", "retriable", "critical"}).Draw(t, "extract"),
			Match: rapid.SampledFrom([]string{"", "", "fails"}).Draw(t, "match"), Planner: rapid.SampledFrom([]string{"", "", "retriable", "invalid"}).Draw(t, "planner"),
			Steps: rapid.SliceOfN(doing, 1, 6).Draw(t, "steps"), Planning: rapid.IntRange(0, 3).Draw(t, "planning") == 0,
			Decisions: rapid.SliceOfN(rapid.SampledFrom([]string{"approve", "approve", "reject", "edit", "decline"}), 1, 4).Draw(t, "decisions"),
			Answer:    rapid.SampledFrom([]string{"", "", "fails"}).Draw(t, "answer"),
		}
	}), 1, 3).Draw(t, "turns")}
}

func (sc scene) act(c *capabilities.Call) error {
	at := 0
	for _, r := range c.Step.ContextKey {
		at += int(r)
	}
	switch sc.Steps[(at+c.Attempt-1)%len(sc.Steps)] {
	case "busy":
		return agent.Failed(agent.Retriable, errors.New("busy"))
	case "replan":
		return agent.Failed(agent.Replanning, errors.New("another plan"))
	case "reclassify":
		return agent.Failed(agent.Reclassification, errors.New("another choice"))
	case "critical":
		return errors.New("broken")
	case "asks":
		if _, err := c.Approve(agent.ApprovalRequest{Type: "first", Data: []byte(`"1"`)}); err != nil {
			return err
		}
		fallthrough
	case "ask":
		d, err := c.Approve(agent.ApprovalRequest{Type: "value", Data: []byte(`"2"`)})
		if err != nil {
			return err
		}
		return c.Store(Rain{"approved " + string(d.Args)})
	case "forget":
		c.State.Context.Delete("RAIN", "k")
	}
	return c.Store(Rain{c.Step.Objective})
}

func (sc scene) plan(task string) agent.Plan {
	step := func(key string, after ...string) agent.Step {
		return agent.Step{Capability: "work", ContextKey: key, Objective: task, DependsOn: after, ExpectedOutput: "RAIN"}
	}
	return []agent.Plan{
		plans(step("k")),
		plans(step("k"), step("l"), step("m", "k", "l")),
		plans(step("k"), step("l"), step("m"), agent.Step{Capability: agent.ToRespond, DependsOn: []string{"k"}}),
		plans(agent.Step{Capability: agent.ToClarify}),
	}[sc.Plan]
}

func once[T any](how, previous string, v, other T) (T, error) {
	switch {
	case how == "critical":
		return v, errors.New("broken")
	case how == "retriable" && previous == "":
		return v, agent.Failed(agent.Retriable, errors.New("busy"))
	case how == "invalid" && !strings.Contains(previous, "ghost"):
		return other, nil
	}
	return v, nil
}

// config returns the agent of turn n. Its policies do not wait.
func (st scenario) config(n int) (turn.Config, error) {
	sc := st.Turns[n-1]
	types, err := agent.NewTypes(agent.TypeOf[Rain]())
	if err != nil {
		return turn.Config{}, err
	}
	reg, err := capabilities.NewRegistry(capabilities.Func(capabilities.Info{
		Name: "work", Description: "works", Match: &capabilities.MatchGuide{Instructions: "always"}, Provides: []string{"RAIN"}, Retry: graph.Retry{Attempts: 3, Initial: graph.NoWait}, OnReject: capabilities.SkipStep,
	}, func(_ context.Context, c *capabilities.Call) error { return sc.act(c) }))
	c := turn.Config{Capabilities: reg, OnRejectedPlan: capabilities.Replan, Retry: map[string]graph.Retry{
		agent.ToExtraction: {Attempts: 2, Initial: graph.NoWait}, agent.ToOrchestrator: {Attempts: 2, Initial: graph.NoWait}, agent.ToClassifier: {Attempts: 2, Initial: graph.NoWait}, agent.ToRespond: {Attempts: 2, Initial: graph.NoWait},
	}}
	c.Manager = agent.StateManager{Types: types, Clock: func() time.Time { return noon }, Config: func() (agent.Settings, error) {
		return agent.Settings{PlanningMode: &sc.Planning}, nil
	}}
	if st.Model {
		return turn.WithModel(c, model.ScriptFunc(sc.reply)), err
	}
	c.Extract = func(_ context.Context, r turn.ExtractRequest) (turn.Task, error) {
		return once(sc.Extract, r.Previous, turn.Task{Text: r.Query}, turn.Task{})
	}
	c.Match = func(context.Context, turn.MatchRequest) (bool, error) {
		if sc.Match != "" {
			return false, errors.New("who knows")
		}
		return true, nil
	}
	c.Plan = func(_ context.Context, r turn.PlanRequest) (agent.Plan, error) {
		return once(sc.Planner, r.Previous, sc.plan(r.Task.Text), plans(agent.Step{Capability: "ghost"}))
	}
	c.Answer = func(_ context.Context, r turn.AnswerRequest) (string, error) {
		if sc.Answer != "" {
			return "", errors.New("no words")
		}
		return fmt.Sprint(r.Mode, r.Found, r.Done), nil
	}
	return c, err
}

// reply is the answer of the scripted model, which depends on the request alone.
func (sc scene) reply(_ context.Context, r model.Request) model.Answer {
	role, asked := r.Messages[0].Text(), r.Messages[1].Text()
	has := func(text string) bool { return strings.Contains(asked, text) }
	down, busy := model.Fail(&model.Error{Kind: model.Auth}), model.Fail(&model.Error{Kind: model.Overloaded})
	switch {
	case strings.HasPrefix(role, "You write down"):
		switch {
		case sc.Extract == "critical":
			return down
		case sc.Extract == "retriable" && !has("# The last attempt failed"):
			return busy
		}
		return model.Say(`{"task":"the task","depends_on_chat_history":false,"depends_on_user_memory":false}`)
	case strings.HasPrefix(role, "You decide"):
		if sc.Match != "" {
			return model.Say("Who knows?")
		}
		return model.Say(`{"wanted":true}`)
	case strings.HasPrefix(role, "You plan"):
		p := sc.plan("the task")
		switch {
		case sc.Planner == "retriable" && !has("# The last plan failed"):
			return busy
		case sc.Planner == "invalid" && !has("ghost"):
			p = plans(agent.Step{Capability: "ghost"})
		}
		return model.Say(wirePlan(p))
	case strings.HasPrefix(role, "You answer") && sc.Answer == "":
		_, found, _ := strings.Cut(asked, "# What was found")
		found, _, _ = strings.Cut(found, "# Date")
		return model.Say("This is what was found: " + found)
	}
	return down
}

// wirePlan formats a plan as a model does.
func wirePlan(p agent.Plan) string {
	type step map[string]any
	var all []step
	for _, s := range p.Steps {
		one := step{"capability": s.Capability, "task_objective": s.Objective}
		if s.ContextKey != "" {
			one["context_key"], one["expected_output"] = s.ContextKey, s.ExpectedOutput
		}
		if len(s.DependsOn) > 0 {
			one["depends_on"] = s.DependsOn
		}
		all = append(all, one)
	}
	data, err := json.Marshal(map[string]any{"steps": all})
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// answers answers the first open question; each question is answered separately.
func (sc scene) answers(open []graph.Interrupt) (a graph.Answers) {
	if len(open) == 0 {
		return a
	}
	q := open[0]
	var r agent.ApprovalRequest
	_ = json.Unmarshal(q.Data, &r)
	at := 0
	for _, c := range q.Prompt + r.Type + r.Step {
		at += int(c)
	}
	switch say := sc.Decisions[at%len(sc.Decisions)]; {
	case say == "decline":
		return a.Decline(q.ID, "enough")
	case say == "edit" && r.Type != turn.PlanApproval && len(r.Data) > 0:
		return a.Answer(q.ID, graph.EditTo("edited"))
	case say == "reject":
		return a.Answer(q.ID, reject)
	}
	return a.Answer(q.ID, approve)
}

// run runs turn n to its end through all faults, each time with a newly compiled graph, as another
// process would. It returns the final state.
func (st scenario) run(store checkpoint.Store, n int) (string, agent.State, error) {
	for runs := range 100 {
		c, err := st.config(n)
		if err != nil {
			return "", agent.State{}, err
		}
		id := fmt.Sprint("run ", n, ".", runs)
		g, err := turn.Graph("agent", c, graph.Config{Store: store, Now: c.Manager.Clock, MaxSteps: 200, NewID: func() string { return id }})
		if err != nil {
			return "", agent.State{}, err
		}
		s, p, err := g.Thread("t1").State(context.Background(), 0)
		if errors.Is(err, graph.ErrUnknownThread) {
			id = "the first" // the ids of all tasks come from it
		}
		run := graph.RunOptions{Thread: "t1"}
		switch {
		case err != nil && !errors.Is(err, graph.ErrUnknownThread):
		case p.Turn < n:
			_, err = g.Invoke(context.Background(), agent.State{Messages: message.LogOf(message.User(fmt.Sprint("turn ", n)))}, run)
		case p.Status == graph.Done:
			text, err := g.EncodeState(s)
			return string(text), s, err
		default:
			_, err = g.Resume(context.Background(), st.Turns[n-1].answers(p.Interrupts), run)
		}
		if err != nil && !errors.Is(err, storetest.ErrDisk) {
			return "", s, err
		}
	}
	return "", agent.State{}, errors.New("the turn does not end")
}

// knows returns the contexts of a state.
func knows(s agent.State) (refs []state.ContextRef) {
	for ref := range s.Context.All() {
		refs = append(refs, ref)
	}
	return refs
}

// forgets reports whether a turn deletes a context.
func (sc scene) forgets() bool { return slices.Contains(sc.Steps, "forget") }

func stores(t testing.TB) map[string]func() checkpoint.Store {
	return map[string]func() checkpoint.Store{
		"memory": func() checkpoint.Store { return &checkpoint.Memory{} },
		"sqlite": func() checkpoint.Store {
			s, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "weft.db"))
			must(t, err)
			return s
		},
	}
}

func closes(s checkpoint.Store) {
	if c, ok := s.(io.Closer); ok {
		_ = c.Close()
	}
}

// A conversation with faults anywhere ends in the same states as without. No context is lost, and
// each turn ends with one message.
func TestCrash_ConversationEndsTheSame(t *testing.T) {
	for name, open := range stores(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { endsTheSame(t, drawScenario(t), open) })
		})
	}
}

// The same with a model, whose answers depend on the request alone.
func TestCrash_TurnWithAModelEndsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := drawScenario(t)
		st.Model = true
		endsTheSame(t, st, stores(nil)["memory"])
	})
}

func endsTheSame(t *rapid.T, st scenario, open func() checkpoint.Store) {
	var whole checkpoint.Store = &checkpoint.Memory{}
	below := open()
	defer closes(below)
	broken := &storetest.FailingStore{Store: below, At: rapid.MapOfN(rapid.IntRange(1, 40), rapid.Bool(), 0, 6).Draw(t, "faults")}
	var before []state.ContextRef
	for n := range st.Turns {
		want, s, err := st.run(whole, n+1)
		if err != nil {
			t.Fatalf("turn %d, undisturbed: %v", n+1, err)
		}
		got, _, err := st.run(broken, n+1)
		if err != nil {
			t.Fatalf("turn %d, with faults: %v", n+1, err)
		}
		if got != want {
			t.Fatalf("turn %d after %d faults: got\n%s\nwant\n%s", n+1, broken.Faults, got, want)
		}
		for _, ref := range before {
			if !s.Context.Has(ref.Type, ref.Key) && !st.Turns[n].forgets() {
				t.Fatalf("turn %d lost %v, which was not deleted", n+1, ref)
			}
		}
		before = knows(s)
		if last, _ := s.Messages.Last(); s.Messages.Len() != 2*(n+1) || last.Role != message.RoleAssistant {
			t.Fatalf("turn %d: got %d messages, want each turn to end with one", n+1, s.Messages.Len())
		}
	}
}

// One turn with many features, broken at each write in both ways: with functions, and with a
// scripted model.
func TestCrash_TurnBrokenAtEachWriteEndsTheSame(t *testing.T) {
	for _, withModel := range []bool{false, true} {
		st := scenario{Model: withModel, Turns: []scene{{Plan: 1, Extract: "retriable", Planner: "invalid", Steps: []string{"busy", "asks", "replan", "ok"}, Planning: true, Decisions: []string{"approve", "edit"}}}}
		counted := &storetest.FailingStore{Store: &checkpoint.Memory{}}
		want, s, err := st.run(counted, 1)
		must(t, err)
		if counted.Writes < 20 || s.Execution.StepResults.Len() < 2 {
			t.Fatalf("got %d writes and %s: the turn is not rich", counted.Writes, want)
		}
		for at := 1; at <= counted.Writes; at += racescale.Of(1, 2) {
			for _, done := range []bool{false, true} {
				got, _, err := st.run(&storetest.FailingStore{Store: &checkpoint.Memory{}, At: map[int]bool{at: done}}, 1)
				must(t, err)
				same(t, fmt.Sprintf("broken at write %d (done: %v)", at, done), got, want)
			}
		}
	}
}
