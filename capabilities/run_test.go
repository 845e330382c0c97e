package capabilities_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
)

// Rain and Picture are contexts.
type Rain struct {
	Column string `json:"column"`
}

func (Rain) ContextType() string { return "RAIN" }

type Picture struct {
	Of []string `json:"of"`
}

func (Picture) ContextType() string { return "PICTURE" }

var noon = time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)

func manager(t testing.TB) agent.StateManager {
	t.Helper()
	types, err := agent.NewTypes(agent.TypeOf[Rain](), agent.TypeOf[Picture]())
	if err != nil {
		t.Fatal(err)
	}
	return agent.StateManager{Types: types, Clock: func() time.Time { return noon }}
}

func at(step agent.Step) *agent.State {
	var s agent.State
	s.Planning.ExecutionPlan.Set(agent.Plan{Steps: []agent.Step{step}})
	return &s
}

func call(t testing.TB, s *agent.State, step agent.Step) capabilities.Call {
	return capabilities.Call{Manager: manager(t), State: s, Step: step}
}

func is(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestRun_EnforcesTheDeclaration(t *testing.T) {
	names := []string{"RAIN"}
	r := registry(t,
		provider("good", nil, names, names), provider("needy", names, nil, nil),
		provider("idle", nil, names, nil), provider("eager", nil, nil, names),
		capabilities.Func(capabilities.Info{Name: "vandal", Description: "d"}, func(_ context.Context, c *capabilities.Call) error {
			c.State.Context.Delete("RAIN", "old")
			return nil
		}),
	)
	for name, want := range map[string]error{
		"good": nil, "needy": capabilities.ErrRequires, "idle": capabilities.ErrProvides,
		"eager": capabilities.ErrProvides, "vandal": capabilities.ErrProvides, "none": capabilities.ErrUnknown,
	} {
		var s agent.State
		_ = s.Context.Put("RAIN", "old", state.ContextEntry{Fields: `{}`})
		before := s.Context.String()
		is(t, r.Run(t.Context(), name, call(t, &s, agent.Step{ContextKey: "k"})), want)
		if after := s.Context.String(); want != nil && after != before {
			t.Errorf("%s: refused, and left %s", name, after)
		}
	}
}

func TestConstrain_HardWithoutInputsFails(t *testing.T) {
	for _, mode := range []agent.Mode{"", agent.Hard, agent.Soft} {
		info := capabilities.Info{Name: "plot", Description: "d", Requires: []string{"RAIN", "PICTURE"}, Constraint: mode}
		r := registry(t, provider("find", nil, []string{"RAIN", "PICTURE"}, nil), storing(info))
		var s agent.State
		_ = s.Context.Put("RAIN", "k", state.ContextEntry{Fields: `{}`})
		for _, in := range []agent.InputList{nil, {}} { // knowing something does not help
			is(t, r.Run(t.Context(), "plot", call(t, &s, agent.Step{Inputs: in})), agent.ErrConstraint)
		}
		one := agent.Step{Inputs: agent.InputList{{Type: "RAIN", Key: "k"}}}
		err := r.Run(t.Context(), "plot", call(t, &s, one))
		if mode == agent.Soft && err != nil || mode != agent.Soft && !errors.Is(err, agent.ErrConstraint) {
			t.Errorf("%q with one of two: got %v", mode, err)
		}
		one.Inputs[0].Key = "gone"
		is(t, r.Run(t.Context(), "plot", call(t, &s, one)), capabilities.ErrRequires)
	}
}

func TestExecute_FailureAfterStoreLeavesNoContext(t *testing.T) {
	boom := errors.New("boom")
	r := registry(t, capabilities.Func(capabilities.Info{Name: "find", Description: "d", Provides: []string{"RAIN"}},
		func(_ context.Context, c *capabilities.Call) error {
			if err := c.Store(Rain{}); err != nil {
				return err
			}
			c.Manager.Display(c.State).Figure(agent.Figure{})
			return boom
		}))
	s := at(agent.Step{Capability: "find", ContextKey: "k"})
	if err := r.Step(t.Context(), manager(t), s, nil); err != nil {
		t.Fatal(err)
	}
	if s.Context.Len() != 0 || s.UI.CapturedFigures.Len() != 0 {
		t.Errorf("a failed capability left %s and %s", s.Context, s.UI.CapturedFigures)
	}
	f := s.Control.ErrorInfo.Get()
	if !s.Control.HasError.Get() || f.Severity != agent.Critical || f.Node != "find" || f.Attempts != capabilities.DefaultRetry.Attempts {
		t.Errorf("got the failure %+v", f)
	}
	if s.Planning.CurrentStepIndex.Get() != 0 || s.Execution.StepResults.Get("k").Success {
		t.Error("a failed step counts as done")
	}
}

// asking returns a registry whose capability is always approved and also asks itself.
func asking(t testing.TB, then capabilities.Rejection, ran *int) *capabilities.Registry {
	return registry(t, capabilities.Func(capabilities.Info{
		Name: "write", Description: "writes a PV", Provides: []string{"RAIN"},
		Approval: capabilities.AlwaysApproval, OnReject: then,
	}, func(_ context.Context, c *capabilities.Call) error {
		*ran++
		d, err := c.Approve(agent.ApprovalRequest{Type: "value", Data: []byte(`"7"`)})
		if err != nil {
			return err
		}
		return c.Store(Rain{Column: string(d.Args)})
	}))
}

func question(t testing.TB, err error) *capabilities.ApprovalNeeded {
	t.Helper()
	var q *capabilities.ApprovalNeeded
	if !errors.As(err, &q) {
		t.Fatalf("got %v, want an *ApprovalNeeded", err)
	}
	return q
}

func TestDecision_CountsForItsRequestOnly(t *testing.T) {
	ran := 0
	r := asking(t, capabilities.FailStep, &ran)
	m, step := manager(t), agent.Step{Capability: "write", ContextKey: "k", Objective: "set it"}
	first := question(t, r.Step(t.Context(), m, at(step), nil))
	if ran != 0 || first.Request.Type != "capability" || first.Request.Objective != "set it" {
		t.Fatalf("got %+v after %d runs, want the question before the first", first.Request, ran)
	}
	yes := map[string]graph.Decision{first.ID: {Type: graph.DecisionApprove}}
	second := question(t, r.Step(t.Context(), m, at(step), yes))
	if second.ID == first.ID || second.Request.Type != "value" {
		t.Fatalf("got %+v again", second)
	}
	s := at(step)
	yes[second.ID] = graph.Decision{Type: graph.DecisionEdit, Args: []byte(`8`)}
	if err := r.Step(t.Context(), m, s, yes); err != nil {
		t.Fatal(err)
	}
	got, err := agent.Get[Rain](m.LoadContexts(s), "k")
	if err != nil || got.Column != "8" {
		t.Errorf("got %+v, %v; want the edited payload", got, err)
	}
	other := agent.Step{Capability: "write", ContextKey: "other"}
	if q := question(t, r.Step(t.Context(), m, at(other), yes)); q.ID == first.ID {
		t.Error("the decision about one step counts for another")
	}
}

func TestRejection_EndsByPolicyAndAsksNoMore(t *testing.T) {
	for then, check := range map[capabilities.Rejection]func(s *agent.State) bool{
		capabilities.FailStep: func(s *agent.State) bool { return agent.Route(s, agent.Turn{}).Target == agent.ToError },
		capabilities.Replan:   func(s *agent.State) bool { return agent.Route(s, agent.Turn{}).Target == agent.ToOrchestrator },
		capabilities.EndTurn:  func(s *agent.State) bool { return s.Control.IsKilled.Get() },
		capabilities.SkipStep: func(s *agent.State) bool {
			return s.Planning.CurrentStepIndex.Get() == 1 && !s.Control.HasError.Get() && !s.Execution.StepResults.Get("k").Success
		},
	} {
		ran := 0
		r := asking(t, then, &ran)
		m, step := manager(t), agent.Step{Capability: "write", ContextKey: "k"}
		q := question(t, r.Step(t.Context(), m, at(step), nil))
		s := at(step)
		if err := r.Step(t.Context(), m, s, map[string]graph.Decision{q.ID: {Type: graph.DecisionReject, Message: "not today"}}); err != nil {
			t.Errorf("%q: got %v, want the rejection noted", then, err)
			continue
		}
		if ran != 0 || !check(s) {
			t.Errorf("%q: got %+v after %d runs", then, s.Control.ErrorInfo.Get(), ran)
		}
		if r := s.Execution.StepResults.Get("k"); !strings.Contains(r.Error, "not today") {
			t.Errorf("%q: the result is %q, want the feedback", then, r.Error)
		}
	}
}

func TestApproval_FollowsTheSettings(t *testing.T) {
	for _, tt := range []struct {
		kind capabilities.Approval
		s    agent.Settings
		want bool
	}{
		{capabilities.NoApproval, agent.Settings{}, false},
		{capabilities.AlwaysApproval, agent.Settings{}, true},
		{capabilities.MemoryApproval, agent.Settings{}, true},
		{capabilities.MemoryApproval, agent.Settings{MemoryApproval: new(false)}, false},
		{capabilities.AlwaysApproval, agent.Settings{ApprovalMode: new(agent.ApproveNothing)}, false},
		{capabilities.NoApproval, agent.Settings{ApprovalMode: new(agent.ApproveAll)}, true},
	} {
		got, why := capabilities.NeedsApproval(capabilities.Info{Name: "x", Approval: tt.kind}, tt.s)
		if got != tt.want || why == "" {
			t.Errorf("%q with %+v: got %v (%s)", tt.kind, tt.s, got, why)
		}
	}
}

// classifying is a Classifier.
type classifying struct {
	capabilities.Capability
	severity agent.Severity
}

func (c classifying) ClassifyError(error, *capabilities.Call) (agent.Severity, string) {
	return c.severity, "please wait"
}

func TestFailures_AreClassified(t *testing.T) {
	boom := errors.New("boom")
	info := capabilities.Info{Name: "find", Description: "d", Retry: graph.Retry{Attempts: 7, Initial: graph.NoWait}}
	find := capabilities.Func(info, func(context.Context, *capabilities.Call) error { return boom })
	for _, tt := range []struct {
		c       capabilities.Capability
		want    agent.Severity
		message string
	}{
		{find, agent.Critical, `capability "find": boom`},
		{classifying{find, agent.Retriable}, agent.Retriable, "please wait"},
		{classifying{find, "sulking"}, agent.Critical, "please wait"},
		{capabilities.Func(info, func(context.Context, *capabilities.Call) error {
			return agent.Failed(agent.Reclassification, boom)
		}), agent.Reclassification, `capability "find": boom`},
	} {
		s := at(agent.Step{Capability: "find"})
		if err := registry(t, tt.c).Step(t.Context(), manager(t), s, nil); err != nil {
			t.Fatal(err)
		}
		f := s.Control.ErrorInfo.Get()
		if f.Severity != tt.want || f.UserMessage != tt.message || f.Attempts != 7 || !f.Time.Equal(noon) {
			t.Errorf("got %+v, want %s and %q", f, tt.want, tt.message)
		}
	}
	is(t, registry(t, classifying{find, agent.Fatal}).Step(t.Context(), manager(t), at(agent.Step{Capability: "find"}), nil), boom)
}

func TestStep_WithoutAStepOrTime(t *testing.T) {
	r := registry(t, capabilities.Func(capabilities.Info{Name: "find", Description: "d"}, func(ctx context.Context, _ *capabilities.Call) error {
		return ctx.Err()
	}))
	is(t, r.Step(t.Context(), manager(t), &agent.State{}, nil), agent.ErrNoPlan)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := at(agent.Step{Capability: "find"})
	is(t, r.Step(ctx, manager(t), s, nil), context.Canceled)
	if s.Control.HasError.Get() {
		t.Error("a run that was cancelled counts as a failure of its capability")
	}
	s = at(agent.Step{Capability: "gone"})
	if err := r.Step(t.Context(), manager(t), s, nil); err != nil || s.Control.ErrorInfo.Get().Severity != agent.Critical {
		t.Errorf("got %v and %+v for a capability that does not exist", err, s.Control.ErrorInfo.Get())
	}
}

func TestTool_IsACapability(t *testing.T) {
	tool := capabilities.Tool(capabilities.Info{Name: "find", Description: "d"}, func(_ context.Context, a struct {
		Name string `json:"name"`
	}) (Rain, error) {
		return Rain{a.Name}, nil
	})
	same(t, "provides", tool.Info().Provides, []string{"RAIN"})
	r, m := registry(t, tool), manager(t)
	s := at(agent.Step{Capability: "find", ContextKey: "k", Parameters: map[string]any{"name": "rain"}})
	if err := r.Step(t.Context(), m, s, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := agent.Get[Rain](m.LoadContexts(s), "k"); err != nil || got.Column != "rain" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, p := range []map[string]any{{"nam": "x"}, {"name": 7}} {
		var s agent.State
		err := r.Run(t.Context(), "find", call(t, &s, agent.Step{Parameters: p}))
		is(t, err, capabilities.ErrArguments)
		if agent.SeverityOf(err) != agent.Replanning {
			t.Errorf("got %s, want another plan", agent.SeverityOf(err))
		}
	}
	_, err := capabilities.NewRegistry(capabilities.Tool[struct{}, Rain](capabilities.Info{Name: "x", Description: "d"}, nil))
	contains(t, err, "has no function")
}

func TestContexts_AreSavedToAFileAndReadBack(t *testing.T) {
	var data state.ContextData
	if err := data.Put("RAIN", "k", state.ContextEntry{Fields: `{"column":"<rain> ü"}`}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new", "folder")
	path, err := capabilities.SaveContexts(dir, "context", data)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if want := "{\n  \"RAIN\": {\n    \"k\": {\n      \"column\": "; err != nil || filepath.Base(path) != "context.json" || !strings.HasPrefix(string(text), want) {
		t.Errorf("got %s in %s (%v)", text, path, err)
	}
	back, err := capabilities.LoadContexts(path)
	if err != nil || back.String() != data.String() {
		t.Errorf("got %s, %v; want %s", back, err, data)
	}
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/x"} {
		_, err := capabilities.SaveContexts(dir, name, data)
		is(t, err, agent.ErrFileName)
	}
	_, err = capabilities.LoadContexts(filepath.Join(dir, "none.json"))
	is(t, err, fs.ErrNotExist)
	if err := os.WriteFile(path, []byte(`{"RAIN":`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = capabilities.LoadContexts(path)
	contains(t, err, "context.json", "JSON")
	left, err := filepath.Glob(filepath.Join(dir, ".contexts-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestRejection_IsNotClassified(t *testing.T) {
	ran := 0
	info := capabilities.Info{Name: "write", Description: "d", Approval: capabilities.AlwaysApproval}
	r := registry(t, classifying{capabilities.Func(info, func(context.Context, *capabilities.Call) error { ran++; return nil }), agent.Retriable})
	m, step := manager(t), agent.Step{Capability: "write", ContextKey: "k"}
	q := question(t, r.Step(t.Context(), m, at(step), nil))
	s := at(step)
	if err := r.Step(t.Context(), m, s, map[string]graph.Decision{q.ID: {Type: graph.DecisionReject}}); err != nil {
		t.Fatal(err)
	}
	if f := s.Control.ErrorInfo.Get(); f.Severity != agent.Critical || ran != 0 {
		t.Errorf("got %+v after %d runs: what was rejected would be tried again", f, ran)
	}
}

func TestSteps_RunInParallelAndSeeTheirAttempts(t *testing.T) {
	var attempts []int
	r := registry(t, capabilities.Func(capabilities.Info{Name: "find", Description: "d"}, func(_ context.Context, c *capabilities.Call) error {
		attempts = append(attempts, c.Attempt)
		if c.Attempt < 3 {
			return agent.Failed(agent.Retriable, errors.New("busy"))
		}
		return nil
	}))
	m := manager(t)
	var s agent.State
	s.Planning.ExecutionPlan.Set(agent.Plan{Steps: []agent.Step{{Capability: "find", ContextKey: "a"}, {Capability: "find", ContextKey: "b"}}})
	for range 3 {
		if err := r.StepAt(t.Context(), m, &s, 1, nil); err != nil {
			t.Fatal(err)
		}
		if s.Planning.CurrentStepIndex.Channel().Wrote() || s.Control.HasError.Channel().Wrote() {
			t.Fatal("a step that runs beside others writes what only one may write")
		}
	}
	if !slices.Equal(attempts, []int{1, 2, 3}) {
		t.Errorf("got the attempts %v, want 1, 2 and 3", attempts)
	}
	if res := m.Steps(&s).Result(1); !res.Success || res.Attempts != 3 {
		t.Errorf("got %+v", res)
	}
	is(t, r.StepAt(t.Context(), m, &s, 2, nil), agent.ErrStepIndex)
}
