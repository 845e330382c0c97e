package agent_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

func TestState_NodesAddOnlyNewMessages(t *testing.T) {
	m := manager(t)
	g := chain(t, &checkpoint.Memory{}, func(_ context.Context, s *agent.State) error {
		must(t, m.Respond(s, "one moment"))
		draft := message.Assistant("draft")
		draft.ID = "a"
		return s.Messages.Add(draft)
	}, func(_ context.Context, s *agent.State) error {
		final := message.Assistant("final")
		final.ID = "a"
		return s.Messages.Add(final, message.Tool(message.ResultOf("c", "x")))
	})
	end := invoke(t, g, m.CreateFresh("hello", nil))
	var got []string
	for _, msg := range end.Messages.All() {
		got = append(got, string(msg.Role)+" "+msg.Text())
	}
	sameList(t, "messages", got, []string{"user hello", "assistant one moment", "assistant final", "tool x"})
}

// turnOf writes to all fields.
func turnOf(s *agent.State) {
	_ = s.Messages.Add(message.Assistant("done"))
	_ = s.Context.Put("PV_ADDRESSES", "k", state.ContextEntry{Fields: `{}`})
	_ = agent.Remember(s, "mode", "direct")
	s.SessionControl.Update(agent.Settings{PlanningMode: new(true)})
	var m agent.StateManager
	s.AgentControl.Update(agent.Settings{MaxRetries: new(3)})
	m.Display(s).Status(agent.StatusUpdate{Message: "on it"})
	m.Display(s).Progress(agent.ProgressEvent{Current: 1, Total: 2})
	s.Task.Current.Set("find")
	s.Task.DependsOnChatHistory.Set(true)
	s.Task.DependsOnUserMemory.Set(true)
	s.Planning.ActiveCapabilities.Append("find")
	s.Planning.ExecutionPlan.Set(agent.Plan{Steps: []agent.Step{{Capability: "find"}}})
	s.Planning.CurrentStepIndex.Set(1)
	s.Execution.StepResults.Put("k", agent.StepResult{})
	s.Execution.LastResult.Set(agent.StepResult{})
	s.Execution.PendingApprovals.Put("k", agent.ApprovalRequest{})
	s.Execution.StartTime.Set(noon)
	s.Execution.RunningSteps.Set([]int{1})
	s.Execution.WaitedSeconds.Add(1)
	s.Approval.Approved.Set(true)
	s.ApprovedPayload.Set(json.RawMessage(`{}`))
	s.Control.NeedsReclassification.Set(true)
	s.Control.ReclassificationReason.Set("x")
	s.Control.ReclassificationCount.Add(1)
	s.Control.PlansCreatedCount.Add(1)
	s.Control.CurrentStepRetryCount.Add(1)
	s.Control.Fail(agent.Failure{Node: "find", Severity: agent.Critical})
	s.Control.Kill("stop")
	m.Display(s).Figure(agent.Figure{Path: "a.svg"})
	m.Display(s).Command(agent.Command{URI: "x:"})
	s.UI.AgentContext.Set(json.RawMessage(`{}`))
}

var ofThread = []string{"messages", "capability_context_data", "session_state", "session_control"}

func TestState_ThreadFieldsPersist(t *testing.T) {
	var got []string
	for _, f := range schema.Fields() {
		if !f.Turn {
			got = append(got, f.Name)
		}
	}
	sameList(t, "fields of the thread", got, ofThread)
}

func TestState_TurnFieldsResetOnNewInput(t *testing.T) {
	var all agent.State
	turnOf(&all)
	if got := written(&all); len(got) != len(schema.Fields()) {
		t.Fatalf("turnOf writes %d fields of %d", len(got), len(schema.Fields()))
	}
	first := true
	var at string
	g := chain(t, &checkpoint.Memory{}, func(_ context.Context, s *agent.State) error {
		if first {
			turnOf(s)
		}
		first = false
		return nil
	}, func(ctx context.Context, s *agent.State) error {
		at = encode(t, *s)
		_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "ok?"})
		return err
	})
	m := agent.StateManager{}
	res, err := g.Invoke(t.Context(), m.CreateFresh("one", nil), graph.RunOptions{Thread: "t1"})
	must(t, err)
	before := at
	res, err = g.Resume(t.Context(), graph.Answer(res.Interrupts[0].ID, true), graph.RunOptions{Thread: "t1"})
	must(t, err)
	same(t, "the state after the pause", at, before)
	same(t, "the state at the end", encode(t, res.State), before)

	var second agent.State
	must(t, second.Messages.Add(message.User("two")))
	res, err = g.Invoke(t.Context(), second, graph.RunOptions{Thread: "t1"})
	must(t, err)
	var fields, fresh map[string]json.RawMessage
	decode(t, encode(t, res.State), &fields)
	decode(t, encode(t, after(t, agent.State{})), &fresh)
	for _, f := range schema.Fields() {
		if f.Turn && string(fields[f.Name]) != string(fresh[f.Name]) {
			t.Errorf("%s: got %s, want its default %s", f.Name, fields[f.Name], fresh[f.Name])
		}
	}
	same(t, "messages", res.State.Messages.Len(), 3)
	same(t, "contexts", res.State.Context.Len(), 1)
	same(t, "session", res.State.Session.Len(), 1)
}

func TestState_FieldTypesAndDefaults(t *testing.T) {
	want := `{"messages":[],"capability_context_data":{},"session_state":{},` +
		`"status_updates":[],"progress_events":[],` +
		`"task_depends_on_chat_history":false,"task_depends_on_user_memory":false,` +
		`"planning_active_capabilities":[],"planning_current_step_index":0,` +
		`"execution_step_results":{},"execution_pending_approvals":{},"execution_waited_seconds":0,` +
		`"control_needs_reclassification":false,"control_reclassification_count":0,"control_plans_created_count":0,` +
		`"control_retry_count":0,"control_current_step_retry_count":0,"control_has_error":false,"control_is_killed":false,` +
		`"ui_captured_figures":[],"ui_launchable_commands":[]}`
	same(t, "the fresh state", encode(t, after(t, agent.State{})), want)
	v := schema.New()
	err := schema.Decode(v, []byte(`{"task_current_task":7,"planning_current_step_index":"one","control_has_error":"no"}`))
	for _, name := range []string{"task_current_task", "planning_current_step_index", "control_has_error"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want it to name %s", err, name)
		}
	}
}

func TestState_IsPlainData(t *testing.T) {
	var all agent.State
	turnOf(&all)
	s := after(t, all)
	v := schema.New()
	must(t, schema.Decode(v, []byte(encode(t, s))))
	same(t, "read back", encode(t, after(t, *v.State.(*agent.State))), encode(t, s))
}

func TestState_NamesHaveGroupPrefix(t *testing.T) {
	type station struct {
		agent.State
		Station state.Value[string] `json:"station"`
	}
	s, err := state.SchemaOf[station]()
	must(t, err)
	prefixes := []string{"task_", "planning_", "execution_", "approval_", "control_", "ui_"}
	plain := append(slices.Clone(ofThread), "agent_control", "status_updates", "progress_events", "approved_payload", "station")
	seen := map[string]bool{}
	for _, f := range s.Fields() {
		i := slices.IndexFunc(prefixes, func(p string) bool { return strings.HasPrefix(f.Name, p) })
		if i < 0 && !slices.Contains(plain, f.Name) {
			t.Errorf("%s has no prefix", f.Name)
		} else if i >= 0 {
			seen[prefixes[i]] = true
		}
	}
	same(t, "prefixes in use", len(seen), len(prefixes))
}

func TestState_NodesWriteFields(t *testing.T) {
	g := chain(t, &checkpoint.Memory{}, func(_ context.Context, s *agent.State) error {
		s.Task.Current.Set("find beam current PVs")
		s.Task.DependsOnChatHistory.Set(true)
		s.Task.DependsOnUserMemory.Set(false)
		return nil
	})
	b := encode(t, invoke(t, g, agent.State{}))
	for _, want := range []string{`"task_current_task":"find beam current PVs"`, `"task_depends_on_chat_history":true`, `"task_depends_on_user_memory":false`} {
		if !strings.Contains(b, want) {
			t.Errorf("got %s, want it to hold %s", b, want)
		}
	}
}

func TestState_UpdateIsPartial(t *testing.T) {
	g := chain(t, &checkpoint.Memory{}, func(_ context.Context, s *agent.State) error {
		s.Task.Current.Set("a")
		s.Control.KillReason.Set("b")
		return nil
	}, func(_ context.Context, s *agent.State) error {
		s.Task.Current.Clear()
		return nil
	})
	end := invoke(t, g, agent.State{})
	if _, ok := end.Task.Current.Lookup(); ok {
		t.Error("a field that was set to nothing still has its value")
	}
	if v, ok := end.Control.KillReason.Lookup(); !ok || v != "b" {
		t.Errorf("a field that was not in the update changed: got %q, %v", v, ok)
	}
	err := schema.Decode(schema.New(), []byte(`{"control_flow":"x"}`))
	wants(t, err, state.ErrUnknownField, "control_flow")
}

func TestState_RunNamesTheThread(t *testing.T) {
	m := manager(t)
	g := chain(t, &checkpoint.Memory{}, nothing)
	for _, thread := range []string{"a", "b", "a"} {
		_, err := g.Invoke(t.Context(), m.CreateFresh("to "+thread, nil), graph.RunOptions{Thread: thread})
		must(t, err)
	}
	res, err := g.Invoke(t.Context(), agent.State{}, graph.RunOptions{Thread: "a"})
	must(t, err)
	same(t, "messages in a", res.State.Messages.Len(), 2)
	if _, err := g.Invoke(t.Context(), agent.State{}, graph.RunOptions{}); err == nil {
		t.Error("a run with a store and without a thread is accepted; it would lose all it does")
	}
}

func TestSettings_BelongToTheTurn(t *testing.T) {
	m := manager(t)
	g := chain(t, &checkpoint.Memory{}, nothing)
	in := m.CreateFresh("one", nil)
	in.AgentControl.Update(agent.Settings{MaxRetries: new(3), PlanningMode: new(true)})
	first := invoke(t, g, in)
	same(t, "max_retries", *m.Settings(&first).MaxRetries, 3)
	same(t, "planning", *m.Settings(&first).PlanningMode, true)
	second := invoke(t, g, m.CreateFresh("two", &first))
	same(t, "max_retries of the next turn", *m.Settings(&second).MaxRetries, 0)
	same(t, "planning of the next turn", *m.Settings(&second).PlanningMode, false)
}

func TestState_PendingApprovalsByKey(t *testing.T) {
	want := agent.ApprovalRequest{
		Type: "orchestrator_plan", Objective: "plot", Capability: "plot", Time: noon,
		Data: json.RawMessage(`{"a":1}`),
	}
	var s agent.State
	s.Execution.PendingApprovals.Put("k", want)
	data := encode(t, after(t, s))
	if part := `"execution_pending_approvals":{"k":{"approval_type":"orchestrator_plan","step_objective":"plot","capability":"plot","timestamp":"2026-05-06T12:00:00.000000007Z","approved":false,"data":{"a":1}}}`; !strings.Contains(data, part) {
		t.Errorf("got %s, want it to hold %s", data, part)
	}
}

func TestRoute_NeedsReclassification(t *testing.T) {
	s := planned(t, agent.Step{Capability: "find"})
	s.Task.Current.Set("x")
	s.Planning.ActiveCapabilities.Append("find")
	same(t, "without", agent.Route(&s, agent.Turn{}).Target, "find")
	s.Control.NeedsReclassification.Set(true)
	same(t, "with", agent.Route(&s, agent.Turn{}).Target, agent.ToClassifier)
	s.Control.ReclassificationCount.Add(1)
	same(t, "beyond the limit", agent.Route(&s, agent.Turn{}).Target, agent.ToError)
}

func TestContext_SurvivesRestart(t *testing.T) {
	m, path := manager(t), filepath.Join(t.TempDir(), "weft.db")
	run := func(input string, node func(context.Context, *agent.State) error) agent.State {
		store, err := sqlite.Open(t.Context(), path)
		must(t, err)
		defer store.Close()
		return invoke(t, chain(t, store, node), m.CreateFresh(input, nil))
	}
	run("one", func(_ context.Context, s *agent.State) error {
		s.Task.Current.Set("find")
		s.Planning.CurrentStepIndex.Set(4)
		return m.StoreContext(s, "PV_ADDRESSES", "beam", PVAddresses{PVs: []string{"SR"}})
	})
	end := run("two", nothing)
	pvs, err := agent.Get[PVAddresses](m.LoadContexts(&end), "beam")
	must(t, err)
	sameList(t, "pvs", pvs.PVs, []string{"SR"})
	same(t, "index", end.Planning.CurrentStepIndex.Get(), 0)
	if _, ok := end.Task.Current.Lookup(); ok {
		t.Error("the task of the first turn is still there in the second")
	}
}

func TestContexts_TasksShareNoMemory(t *testing.T) {
	m := manager(t)
	b := graph.New[agent.State]("side by side")
	for _, name := range []string{"a", "b"} {
		b.Node(name, graph.Func(func(_ context.Context, s *agent.State) error {
			pvs, err := agent.Get[PVAddresses](m.LoadContexts(s), "beam")
			if err != nil {
				return err
			}
			pvs.PVs[0] += "!" // of this task's own decoded copy
			return m.StoreContext(s, "PV_ADDRESSES", name, pvs)
		}))
		b.Edge(graph.Start, name)
		b.Edge(name, graph.End)
	}
	g, err := b.Compile(graph.Config{Store: &checkpoint.Memory{}})
	must(t, err)
	in := m.CreateFresh("x", nil)
	must(t, m.StoreContext(&in, "PV_ADDRESSES", "beam", PVAddresses{PVs: []string{"SR"}}))
	end := invoke(t, g, in)
	all, err := agent.All[PVAddresses](m.LoadContexts(&end))
	must(t, err)
	for key, want := range map[string]string{"beam": "SR", "a": "SR!", "b": "SR!"} {
		same(t, key, all[key].PVs[0], want)
	}
}
