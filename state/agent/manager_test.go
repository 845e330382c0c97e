package agent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

func TestDefaults_ComeFromConfig(t *testing.T) {
	m := manager(t)
	m.Config = func() (agent.Settings, error) {
		return agent.Settings{PlanningMode: new(true), MaxPlanningAttempts: new(7)}, nil
	}
	s := m.CreateFresh("x", nil)
	got := s.AgentControl.Get()
	same(t, "planning", *got.PlanningMode, true)
	same(t, "attempts", *got.MaxPlanningAttempts, 7)
	same(t, "mode", *got.ApprovalMode, agent.ApproveSelected)
	for _, c := range []func() (agent.Settings, error){
		func() (agent.Settings, error) { return agent.Settings{}, errors.New("no such file") },
		func() (agent.Settings, error) { return agent.Settings{MaxRetries: new(-1)}, nil },
	} {
		var warned error
		m.Config, m.Warn = c, func(err error) { warned = err }
		s := m.CreateFresh("x", nil)
		wants(t, warned, agent.ErrConfig)
		same(t, "attempts", *s.AgentControl.Get().MaxPlanningAttempts, 2)
		same(t, "mode", *s.AgentControl.Get().ApprovalMode, agent.ApproveSelected)
	}
}

func TestManager_WarningsGoToTheDefaultLogger(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	warned := func(what string, words ...string) {
		t.Helper()
		lines := strings.TrimSpace(log.String())
		log.Reset()
		if strings.Count(lines, "\n") != 0 || !strings.Contains(lines, "level=WARN") {
			t.Errorf("%s: got %q, want one warning", what, lines)
		}
		for _, w := range words {
			if !strings.Contains(lines, w) {
				t.Errorf("%s: got %q, want it to say %q", what, lines, w)
			}
		}
	}
	m := manager(t)
	m.Config = func() (agent.Settings, error) { return agent.Settings{}, errors.New("no such file") }
	s := m.CreateFresh("x", nil)
	warned("a configuration that fails", "no such file")
	m.Config = func() (agent.Settings, error) { return agent.Settings{MaxRetries: new(-1)}, nil }
	m.Defaults()
	warned("a configuration that makes no sense", "max_retries")
	m.Config, m.Types = nil, nil
	must(t, m.StoreContext(&s, "ANY", "k", &Analysis{}))
	warned("a missing registry of types", agent.ErrNoTypes.Error())
	m.Warn = func(error) {}
	must(t, m.StoreContext(&s, "ANY", "l", &Analysis{}))
	same(t, "logged beside Warn", log.String(), "")
}

// Requirement: a node that stores and then fails leaves the write
func TestStoreContext_FailedNodeLeavesNothing(t *testing.T) {
	m, boom := manager(t), errors.New("boom")
	store := &checkpoint.Memory{}
	g := chain(t, store, func(_ context.Context, s *agent.State) error {
		must(t, m.StoreContext(s, "PV_ADDRESSES", "k", PVAddresses{}))
		return boom
	})
	_, err := g.Invoke(t.Context(), m.CreateFresh("x", nil), graph.RunOptions{Thread: "t1"})
	wants(t, err, boom)
	end := invoke(t, chain(t, store, nothing), m.CreateFresh("y", nil))
	same(t, "contexts", end.Context.Len(), 0)
}

func TestTask_Current(t *testing.T) {
	var s agent.State
	if _, ok := s.Task.Current.Lookup(); ok {
		t.Error("there is a task before one was set")
	}
	s.Task.Current.Set("find")
	task, ok := s.Task.Current.Lookup()
	same(t, "ok", ok, true)
	same(t, "task", task, "find")
}

func TestStep_Current(t *testing.T) {
	for _, s := range []agent.State{{}, planned(t)} {
		_, err := s.Planning.CurrentStep()
		wants(t, err, agent.ErrNoPlan)
	}
	s := planned(t, agent.Step{Capability: "a"}, agent.Step{Capability: "b"})
	for i, want := range []string{"a", "b"} {
		s.Planning.CurrentStepIndex.Set(i)
		step, err := s.Planning.CurrentStep()
		must(t, err)
		same(t, "capability", step.Capability, want)
	}
	for _, i := range []int{2, 3, -1} {
		s.Planning.CurrentStepIndex.Set(i)
		_, err := s.Planning.CurrentStep()
		wants(t, err, agent.ErrStepIndex, "2 steps")
	}
}

func TestStep_FieldsHaveDefaults(t *testing.T) {
	var p agent.Plan
	decode(t, `{"steps":[{"capability":"find"},{"capability":"plot","inputs":null},{"inputs":[]}]}`, &p)
	for _, s := range p.Steps {
		same(t, "context key", s.ContextKey, "")
		same(t, "inputs", len(s.Inputs), 0)
	}
	same(t, "key of the result", p.Steps[1].ResultKey(1), "1_plot")
}

// Requirement: nothing counts the attempts of a step
func TestStepFailed_CountsAttempts(t *testing.T) {
	m := manager(t)
	s := planned(t, agent.Step{Capability: "find", ContextKey: "k"}, agent.Step{Capability: "plot"})
	for n := range 3 {
		same(t, "failures", s.Control.CurrentStepRetryCount.Get(), n)
		s = next(t, s, func(s *agent.State) {
			must(t, m.Steps(s).Failed(agent.Failure{Node: "find", Severity: agent.Retriable, Error: "down"}, time.Second))
		})
		same(t, "index", s.Planning.CurrentStepIndex.Get(), 0)
	}
	if s.Control.CurrentStepRetryCount.Get() <= 2 {
		t.Fatal("the node did not see that its step failed more than twice")
	}
	s = next(t, s, func(s *agent.State) { must(t, m.Steps(s).Done(time.Second)) })
	same(t, "failures", s.Control.CurrentStepRetryCount.Get(), 0)
	same(t, "retries", s.Control.RetryCount.Get(), 0)
	same(t, "error", s.Control.HasError.Get(), false)
	same(t, "index", s.Planning.CurrentStepIndex.Get(), 1)
	r := s.Execution.StepResults.Get("k")
	if want := (agent.StepResult{Capability: "find", Success: true, Attempts: 4, Seconds: 1, Time: noon}); !reflect.DeepEqual(r, want) {
		t.Errorf("result: got %v, want %v", r, want)
	}
}

// agentNodes returns two capabilities. The second reads the output of the first.
func agentNodes(m agent.StateManager) (find, analyse func(context.Context, *agent.State) error) {
	find = func(_ context.Context, s *agent.State) error {
		step, err := s.Planning.CurrentStep()
		if err != nil {
			return err
		}
		q, _ := s.UserQuery()
		if err := m.StoreOutput(s, step, PVAddresses{PVs: []string{q}, Timestamp: noon}); err != nil {
			return err
		}
		return m.Steps(s).Done(time.Second)
	}
	analyse = func(_ context.Context, s *agent.State) error {
		step, err := s.Planning.CurrentStep()
		if err != nil {
			return err
		}
		inputs, err := agent.Inputs[PVAddresses](m.LoadContexts(s), step)
		if err != nil {
			return err
		}
		a := &Analysis{Text: step.Objective}
		for _, in := range inputs {
			a.Source = append(a.Source, in.Value.PVs...)
		}
		if err := m.StoreOutput(s, step, a); err != nil {
			return err
		}
		return m.Steps(s).Done(time.Second)
	}
	return find, analyse
}

func plan(steps ...agent.Step) func(context.Context, *agent.State) error {
	return func(_ context.Context, s *agent.State) error {
		s.Planning.ExecutionPlan.Set(agent.Plan{Steps: steps})
		return nil
	}
}

func TestManager_TurnFromTextToContexts(t *testing.T) {
	m := manager(t)
	find, _ := agentNodes(m)
	g := chain(t, &checkpoint.Memory{}, plan(agent.Step{Capability: "find", ContextKey: "beam"}), find)
	res, err := g.Invoke(t.Context(), m.CreateFresh("Find all beam current PVs", nil), graph.RunOptions{Thread: "demo_thread"})
	must(t, err)
	all, err := agent.All[PVAddresses](m.LoadContexts(&res.State))
	must(t, err)
	same(t, "found", len(all), 1)
	sameList(t, "pvs", all["beam"].PVs, []string{"Find all beam current PVs"})
}

func TestRegister_ParallelNodesKeepEntries(t *testing.T) {
	m := manager(t)
	b := graph.New[agent.State]("ui")
	for _, name := range []string{"a", "b"} {
		b.Node(name, graph.Func(func(_ context.Context, s *agent.State) error {
			m.Display(s).Figure(agent.Figure{Capability: name, Path: name + ".svg", DisplayName: "Rain"})
			m.Display(s).Command(agent.Command{Capability: name, URI: "app:" + name})
			m.Display(s).Command(agent.Command{Capability: name, URI: "http://" + name, Type: "notebook"})
			m.Display(s).Status(agent.StatusUpdate{Message: name, Progress: 0.1})
			m.Display(s).Progress(agent.ProgressEvent{Current: 1, Total: 4})
			m.Display(s).Progress(agent.ProgressEvent{Current: 1})
			return nil
		}))
		b.Edge(graph.Start, name)
		b.Edge(name, graph.End)
	}
	g, err := b.Compile(graph.Config{Store: &checkpoint.Memory{}})
	must(t, err)
	end := invoke(t, g, m.CreateFresh("x", nil))
	same(t, "figures", end.UI.CapturedFigures.Len(), 2)
	same(t, "figure", end.UI.CapturedFigures.At(1).Path, "b.svg")
	same(t, "made at", end.UI.CapturedFigures.At(1).CreatedAt, noon)
	same(t, "commands", end.UI.LaunchableCommands.At(0).URI, "app:a")
	same(t, "number of commands", end.UI.LaunchableCommands.Len(), 4)
	same(t, "statuses", end.StatusUpdates.At(1).Message, "b")
	same(t, "progress", end.ProgressEvents.At(0).Progress, 0.25)
	same(t, "progress of no total", end.ProgressEvents.At(1).Progress, 0)
}

func TestContext_LaterTurnReadsEarlierOnes(t *testing.T) {
	m := manager(t)
	find, analyse := agentNodes(m)
	store := &checkpoint.Memory{}
	invoke(t, chain(t, store, plan(agent.Step{Capability: "find", ContextKey: "beam"}), find), m.CreateFresh("beam current", nil))
	end := invoke(t, chain(t, store, plan(agent.Step{
		Capability: "analyse", ContextKey: "latest", Inputs: agent.InputList{ref("PV_ADDRESSES", "beam")},
	}), analyse), m.CreateFresh("show me those", nil))
	a, err := agent.Get[*Analysis](m.LoadContexts(&end), "latest")
	must(t, err)
	sameList(t, "sources", a.Source, []string{"beam current"})
}

func TestInputs_SeveralInputsOneOutput(t *testing.T) {
	m := manager(t)
	_, analyse := agentNodes(m)
	in := m.CreateFresh("x", nil)
	for _, k := range []string{"a", "b"} {
		must(t, m.StoreContext(&in, "PV_ADDRESSES", k, PVAddresses{PVs: []string{k + "1", k + "2"}}))
	}
	g := chain(t, &checkpoint.Memory{}, plan(agent.Step{
		Capability: "analyse", ContextKey: "out", Objective: "compare",
		Inputs: agent.InputList{ref("PV_ADDRESSES", "b"), ref("PV_ADDRESSES", "a")},
	}), analyse)
	end := invoke(t, g, in)
	a, err := agent.Get[*Analysis](m.LoadContexts(&end), "out")
	must(t, err)
	sameList(t, "sources", a.Source, []string{"b1", "b2", "a1", "a2"})
	same(t, "entries", end.Context.Len(), 3)
	sameList(t, "steps", m.Steps(&end).Summary(), []string{"Step 1: compare"})
	e, _ := end.Context.Lookup("ANALYSIS_RESULTS", "out")
	same(t, "made by", e.Meta.Capability, "analyse")
}

func TestCreateFresh_EqualsTheMessageAlone(t *testing.T) {
	m := manager(t)
	find, _ := agentNodes(m)
	run := func(fresh bool) agent.State {
		g := chain(t, &checkpoint.Memory{}, plan(agent.Step{Capability: "find", ContextKey: "beam"}), find)
		in := m.CreateFresh("one", nil)
		in.SessionControl.Update(agent.Settings{PlanningMode: new(true)})
		end := invoke(t, g, in)
		if fresh {
			return invoke(t, g, m.CreateFresh("two", &end))
		}
		var alone agent.State
		two := message.User("two")
		two.Created = noon
		must(t, alone.Messages.Add(two))
		return invoke(t, g, alone)
	}
	a, b := run(true), run(false)
	same(t, "planning", *m.Settings(&a).PlanningMode, true)
	same(t, "planning", *m.Settings(&b).PlanningMode, true)
	a.AgentControl.Overwrite(agent.Settings{})
	b.AgentControl.Overwrite(agent.Settings{})
	same(t, "the fresh state", encode(t, a), encode(t, b))
}

func TestUserQuery_IsTheLatest(t *testing.T) {
	m := manager(t)
	var s agent.State
	if _, ok := s.UserQuery(); ok {
		t.Error("got a query without a message of the user")
	}
	s = m.CreateFresh("one", nil)
	must(t, m.Respond(&s, "answer\nin two lines"))
	q, _ := s.UserQuery()
	same(t, "query", q, "one")
	same(t, "formatted", agent.FormatMessages(s.Messages.Slice()),
		"1. USER (12:00:00): one\n2. ASSISTANT (12:00:00): answer\n   in two lines")
	same(t, "formatted nothing", agent.FormatMessages(nil), "No conversation history available")
}

func TestStepsSummary_IsInPlanOrder(t *testing.T) {
	var m agent.StateManager
	var s agent.State
	same(t, "lines", len(m.Steps(&s).Summary()), 0)
	s.Execution.StepResults.Put("a", agent.StepResult{StepIndex: 2})
	s.Execution.StepResults.Put("b", agent.StepResult{StepIndex: 1, Capability: "plot"})
	s.Execution.StepResults.Put("c", agent.StepResult{StepIndex: 0, Capability: "find", Objective: "find it"})
	sameList(t, "lines", m.Steps(&s).Summary(), []string{"Step 1: find it", "Step 2: plot", "Step 3: unknown"})
}

func TestRecall_ReturnsTypedValue(t *testing.T) {
	var s agent.State
	must(t, agent.Remember(&s, "mode", []int{1, 2}))
	v, ok, err := agent.Recall[[]int](&s, "mode")
	must(t, err)
	same(t, "ok", ok, true)
	sameList(t, "mode", v, []int{1, 2})
	if _, ok, err := agent.Recall[int](&s, "other"); ok || err != nil {
		t.Errorf("got %v, %v for what was never remembered", ok, err)
	}
	if _, ok, err := agent.Recall[string](&s, "mode"); !ok || err == nil {
		t.Errorf("got %v, %v for another type", ok, err)
	}
	if err := agent.Remember(&s, "f", func() {}); err == nil {
		t.Error("a function was remembered")
	}
	if err := agent.Remember(&s, "f", []string{"caf\xe9"}); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("got %v of text that is not UTF-8", err)
	}
}
