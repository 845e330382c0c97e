package agent_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weftrun/weft/state/agent"
)

// side returns base after these steps ran in parallel.
func side(t testing.TB, base agent.State, results map[int]agent.StepResult) agent.State {
	t.Helper()
	var m agent.StateManager
	v := schema.New()
	*v.State.(*agent.State) = base
	var ran []int
	for i := range base.Planning.ExecutionPlan.Get().Steps {
		r, ok := results[i]
		if !ok {
			continue
		}
		w := schema.New()
		*w.State.(*agent.State) = base
		must(t, m.Steps(w.State.(*agent.State)).Record(i, r))
		for at, c := range v.Channels {
			if w.Channels[at].Wrote() {
				must(t, c.Fold(w.Channels[at:at+1]))
			}
		}
		ran = append(ran, i)
	}
	return next(t, *v.State.(*agent.State), func(s *agent.State) {
		s.Execution.RunningSteps.Set(ran)
		m.Steps(s).Settle()
	})
}

// diamond is a plan in which b and c wait for a, and d for both.
var diamond = []agent.Step{
	{Capability: "a", ContextKey: "a", ExpectedOutput: "T"},
	{Capability: "b", ContextKey: "b", Inputs: agent.InputList{ref("T", "a")}},
	{Capability: "c", ContextKey: "c", DependsOn: []string{"a"}},
	{Capability: "d", ContextKey: "d", DependsOn: []string{"b", "c"}},
	{Capability: "respond"},
}

func TestDue_IndependentStepsTogether(t *testing.T) {
	var m agent.StateManager
	s := planned(t, diamond...)
	done := agent.StepResult{Success: true}
	for _, want := range [][]int{{0}, {1, 2}, {3}, {4}, nil} {
		due := m.Steps(&s).Due()
		sameList(t, "due", due, want)
		results := map[int]agent.StepResult{}
		for _, i := range due {
			results[i] = done
		}
		s = side(t, s, results)
	}
	same(t, "index", s.Planning.CurrentStepIndex.Get(), len(diamond))
	list := agent.Plan{Steps: []agent.Step{{}, {}, {}}}
	sameList(t, "before the last of a list", list.Before(2), []int{0, 1})
}

func TestSettle_LaterStepEndsFirst(t *testing.T) {
	var m agent.StateManager
	s := side(t, planned(t, diamond...), map[int]agent.StepResult{0: {Success: true}})
	down := agent.Failure{Node: "b", Severity: agent.Retriable, Attempts: 2, Delay: 1}
	s = side(t, s, map[int]agent.StepResult{1: {Failure: &down}, 2: {Success: true}})
	same(t, "index", s.Planning.CurrentStepIndex.Get(), 1)
	sameList(t, "due", m.Steps(&s).Due(), []int{1})
	same(t, "error", s.Control.HasError.Get(), true)
	same(t, "attempts", s.Control.CurrentStepRetryCount.Get(), 1)
	s = side(t, s, map[int]agent.StepResult{1: {Success: true}})
	same(t, "index", s.Planning.CurrentStepIndex.Get(), 3)
	same(t, "error", s.Control.HasError.Get(), false)
	same(t, "attempts", m.Steps(&s).Result(1).Attempts, 2)
}

// If several steps fail, one failure decides. The choice does not depend on their order.
func TestSettle_MostSevereFailureDecides(t *testing.T) {
	of := func(s agent.Severity, attempts int) *agent.Failure {
		return &agent.Failure{Node: string(s) + fmt.Sprint(attempts), Severity: s, Attempts: attempts, Delay: float64(attempts)}
	}
	inOrder := []*agent.Failure{of(agent.Fatal, 1), of(agent.Critical, 1), of(agent.Reclassification, 1), of(agent.Replanning, 1),
		of(agent.Retriable, 1), of(agent.Retriable, 9), of(agent.Retriable, 3)}
	for i, a := range inOrder {
		for j, b := range inOrder {
			s := side(t, planned(t, diamond...), map[int]agent.StepResult{0: {Success: true}})
			s = side(t, s, map[int]agent.StepResult{1: {Failure: a}, 2: {Failure: b}})
			got, want := s.Control.ErrorInfo.Get().Node, inOrder[min(i, j)].Node
			same(t, fmt.Sprint(a.Node, " and ", b.Node), got, want)
		}
	}
}

func TestResult_IgnoresOldPlans(t *testing.T) {
	var m agent.StateManager
	s := side(t, planned(t, diamond...), map[int]agent.StepResult{0: {Success: true}})
	s = next(t, s, func(s *agent.State) {
		s.Control.PlansCreatedCount.Add(1)
		s.Planning.ExecutionPlan.Set(agent.Plan{Steps: diamond})
		s.Planning.CurrentStepIndex.Set(0)
	})
	sameList(t, "due", m.Steps(&s).Due(), []int{0})
}

func TestDue_SkipsStepsThatWaitForApproval(t *testing.T) {
	var m agent.StateManager
	s := side(t, planned(t, diamond...), map[int]agent.StepResult{0: {Success: true}})
	down := agent.Failure{Node: "b", Severity: agent.Retriable, Attempts: 2}
	s = side(t, s, map[int]agent.StepResult{1: {Failure: &down}})
	s = next(t, s, func(s *agent.State) {
		s.Execution.PendingApprovals.Put("x", agent.ApprovalRequest{Step: "b"})
		s.Execution.RunningSteps.Set([]int{1})
		m.Steps(s).Settle()
	})
	same(t, "error", s.Control.HasError.Get(), false)
	sameList(t, "due", m.Steps(&s).Due(), []int{2})
	s.Task.Current.Set("x")
	s.Planning.ActiveCapabilities.Append("a")
	same(t, "target", agent.Route(&s, agent.Turn{}).Target, agent.ToApproval)
	s.Execution.PendingApprovals.Put("x", agent.ApprovalRequest{Step: "b", Decided: true})
	sameList(t, "due", m.Steps(&s).Due(), []int{1, 2})
}

func TestPlanValidate_FindsCycles(t *testing.T) {
	for _, steps := range [][]agent.Step{
		{{ContextKey: "a", Capability: "x", ExpectedOutput: "T", DependsOn: []string{"b"}}, {ContextKey: "b", Capability: "x", Inputs: agent.InputList{ref("T", "a")}}, {Capability: "x"}},
		{{ContextKey: "a", Capability: "x", DependsOn: []string{"end"}}, {ContextKey: "end", Capability: "x"}},
		{{ContextKey: "a", Capability: "x", DependsOn: []string{"a"}}, {Capability: "x"}},
	} {
		err := agent.Plan{Steps: steps}.Validate(agent.PlanRules{})
		wants(t, err, agent.ErrPlan, "wait for each other", `"a"`)
	}
	if err := (agent.Plan{Steps: slices.Clone(diamond)}).Validate(agent.PlanRules{}); err != nil {
		t.Error(err)
	}
}

// A failure whose severity names the failed node itself counts as retriable.
//
// Requirement: a classifier without a task loops
func TestRoute_CannotLoopOnOneNode(t *testing.T) {
	for severity, node := range map[agent.Severity]string{agent.Replanning: agent.ToOrchestrator, agent.Reclassification: agent.ToClassifier} {

		s := planned(t)
		s.Task.Current.Set("x")
		var got []string
		for range 3 {
			s = next(t, s, func(s *agent.State) {
				s.Control.Fail(agent.Failure{Node: node, Severity: severity, Attempts: 3})
			})
			got = append(got, agent.Route(&s, agent.Turn{}).Target)
		}
		sameList(t, string(severity), got, []string{node, node, agent.ToError})
	}
}

type passing bool

func (passing) Error() string     { return "busy" }
func (p passing) Temporary() bool { return bool(p) }

func TestSeverityOf_TemporaryIsRetriable(t *testing.T) {
	same(t, "temporary", agent.SeverityOf(fmt.Errorf("ask: %w", passing(true))), agent.Retriable)
	same(t, "not temporary", agent.SeverityOf(passing(false)), agent.Critical)
	same(t, "classified", agent.SeverityOf(agent.Failed(agent.Replanning, passing(true))), agent.Replanning)
}
