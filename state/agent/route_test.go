package agent_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/state/agent"
)

// ready returns a state whose next stop is its first step.
func ready(t testing.TB) agent.State {
	s := planned(t, agent.Step{Capability: "find"}, agent.Step{})
	s.Task.Current.Set("x")
	s.Planning.ActiveCapabilities.Append("find")
	return s
}

func TestRoute_FollowsTheOrder(t *testing.T) {
	for _, tt := range []struct {
		name     string
		change   func(s *agent.State)
		turn     agent.Turn
		want     string
		contains string
	}{
		{"a step", func(*agent.State) {}, agent.Turn{}, "find", "step 1"},
		{"a step without a capability", func(s *agent.State) { s.Planning.CurrentStepIndex.Set(1) }, agent.Turn{}, agent.ToRespond, "step 2"},
		{"past the last step", func(s *agent.State) { s.Planning.CurrentStepIndex.Set(2) }, agent.Turn{}, agent.ToError, "index 2 of 2"},
		{"an unregistered step", func(*agent.State) {}, agent.Turn{Known: func(string) bool { return false }}, agent.ToError, `"find", which is not registered`},
		{"no task", func(s *agent.State) { s.Task.Current.Clear() }, agent.Turn{}, agent.ToExtraction, "no task"},
		{"no capabilities", func(s *agent.State) { s.Planning.ActiveCapabilities.Overwrite(nil) }, agent.Turn{}, agent.ToClassifier, "0 of 2"},
		{"no capabilities again and again", func(s *agent.State) {
			s.Planning.ActiveCapabilities.Overwrite(nil)
			s.Control.ReclassificationCount.Add(2)
		}, agent.Turn{}, agent.ToError, "2 of 2"},
		{"no plan", func(s *agent.State) { s.Planning.ExecutionPlan.Clear() }, agent.Turn{}, agent.ToOrchestrator, "0 of 2 plans"},
		{"no plan again and again", func(s *agent.State) {
			s.Planning.ExecutionPlan.Clear()
			s.Control.PlansCreatedCount.Add(2)
		}, agent.Turn{}, agent.ToError, "2 of 2 plans"},
		{"killed", func(s *agent.State) { s.Control.Kill("enough") }, agent.Turn{}, agent.ToError, "enough"},
		{"killed while retrying", func(s *agent.State) {
			s.Control.Fail(agent.Failure{Node: "find", Severity: agent.Retriable, Attempts: 3})
			s.Control.Kill("enough")
		}, agent.Turn{}, agent.ToError, "enough"},
		{"in time", func(*agent.State) {}, agent.Turn{Elapsed: 299 * time.Second}, "find", "step 1"},
	} {
		s := ready(t)
		tt.change(&s)
		d := agent.Route(&s, tt.turn)
		if d.Target != tt.want || d.Delay != 0 {
			t.Errorf("%s: got %+v, want %s", tt.name, d, tt.want)
		}
		if !strings.Contains(d.Reason, tt.contains) {
			t.Errorf("%s: got the reason %q, want it to say %q", tt.name, d.Reason, tt.contains)
		}
	}
}

func TestRoute_EverySeverityAndCount(t *testing.T) {
	limits := agent.Settings{MaxPlanningAttempts: new(2), MaxReclassifications: new(1)}
	for _, severity := range append(agent.Severities(), "", "sulking") {
		for count := range 5 {
			for _, node := range []string{"find", ""} {
				s := ready(t)
				s.Control.HasError.Set(true)
				s.Control.ErrorInfo.Set(agent.Failure{Node: node, Severity: severity, Attempts: 3, Delay: 1})
				s.Control.RetryCount.Add(count)
				s.Control.PlansCreatedCount.Add(count)
				s.Control.ReclassificationCount.Add(count)
				want := agent.Destination{Target: agent.ToError}
				switch {
				case node == "":
				case severity == agent.Retriable && max(count, 1) < 3:
					want = agent.Destination{Target: "find", Delay: time.Second}
				case severity == agent.Replanning && count < 2:
					want.Target = agent.ToOrchestrator
				case severity == agent.Reclassification && count < 1:
					want.Target = agent.ToClassifier
				}
				got := agent.Route(&s, agent.Turn{Settings: limits})
				if got.Reason == "" {
					t.Errorf("%s %d %q: no reason", severity, count, node)
				}
				got.Reason = ""
				same(t, fmt.Sprintf("%s %d %q", severity, count, node), got, want)
			}
		}
	}
}

// situation is one input of the router's table.
type situation struct {
	killed, late, failed, task, asks, reclassify, active, plan bool
	severity                                                   agent.Severity
	node                                                       string
	retries, plans, choices                                    int
}

// oracle is the router's table of docs/capabilities.md, from the top: the first line that holds
// decides. The limits are 3 attempts, 2 plans and 1 reclassification.
func (x situation) oracle() string {
	again := x.severity == agent.Retriable || x.severity == agent.Replanning && x.node == agent.ToOrchestrator ||
		x.severity == agent.Reclassification && x.node == agent.ToClassifier
	for _, line := range []struct {
		holds bool
		to    string
	}{
		{x.killed || x.late, agent.ToError},
		{x.failed && x.node == "", agent.ToError},
		{x.failed && again && max(x.retries, 1) < 3, x.node},
		{x.failed && again, agent.ToError},
		{x.failed && x.severity == agent.Replanning && x.plans < 2, agent.ToOrchestrator},
		{x.failed && x.severity == agent.Reclassification && x.choices < 1, agent.ToClassifier},
		{x.failed, agent.ToError},
		{!x.task, agent.ToExtraction},
		{x.asks, agent.ToApproval},
		{x.reclassify && x.choices < 1, agent.ToClassifier},
		{x.reclassify, agent.ToError},
		{!x.active && x.choices < 2, agent.ToClassifier},
		{!x.active, agent.ToError},
		{!x.plan && x.plans < 2, agent.ToOrchestrator},
		{!x.plan, agent.ToError},
	} {
		if line.holds {
			return line.to
		}
	}
	return "find"
}

func (x situation) state() agent.State {
	var s agent.State
	s.Control.IsKilled.Set(x.killed)
	s.Control.HasError.Set(x.failed)
	s.Control.ErrorInfo.Set(agent.Failure{Node: x.node, Severity: x.severity, Attempts: 3})
	s.Control.NeedsReclassification.Set(x.reclassify)
	s.Control.RetryCount.Add(x.retries)
	s.Control.PlansCreatedCount.Add(x.plans)
	s.Control.ReclassificationCount.Add(x.choices)
	if x.task {
		s.Task.Current.Set("x")
	}
	if x.asks {
		s.Execution.PendingApprovals.Put("q", agent.ApprovalRequest{})
	}
	if x.active {
		s.Planning.ActiveCapabilities.Append("find")
	}
	if x.plan {
		s.Planning.ExecutionPlan.Set(agent.Plan{Steps: []agent.Step{{Capability: "find"}}})
	}
	return s
}

// Requirement: the router follows its table
func TestRoute_AgreesWithDocumentedTable(t *testing.T) {
	n := 0
	limits := agent.Settings{MaxPlanningAttempts: new(2), MaxReclassifications: new(1), MaxExecutionSeconds: new(10)}
	for flags := range 1 << 8 {
		on := func(bit int) bool { return flags>>bit&1 == 1 }
		for _, severity := range append(agent.Severities(), "", "sulking") {
			for _, node := range []string{"", "find", agent.ToOrchestrator, agent.ToClassifier} {
				for counts := range 64 {
					x := situation{on(0), on(1), on(2), on(3), on(4), on(5), on(6), on(7), severity, node, counts & 3, counts >> 2 & 3, counts >> 4}
					if !x.failed && (severity != "" || node != "") {
						continue // the counts do not matter
					}
					s, elapsed := x.state(), 9*time.Second
					if x.late {
						elapsed = 10 * time.Second
					}
					got := agent.Route(&s, agent.Turn{Settings: limits, Elapsed: elapsed})
					if want := x.oracle(); got.Target != want || got.Reason == "" || got.Delay != 0 {
						t.Fatalf("%+v: got %+v, want %s", x, got, want)
					}
					n++
				}
			}
		}
	}
	if n < 200_000 {
		t.Errorf("only %d situations were looked at", n)
	}
}

func TestRetriableFailure_EndsAfterItsAttempts(t *testing.T) {
	f := agent.Failure{Node: agent.ToExtraction, Severity: agent.Retriable, Attempts: 3, Delay: 0.5}
	var s agent.State
	for _, want := range []agent.Destination{{Target: agent.ToExtraction, Delay: time.Second / 2}, {Target: agent.ToExtraction, Delay: time.Second / 2}, {Target: agent.ToError}} {
		s = next(t, s, func(s *agent.State) { s.Control.Fail(f) })
		got := agent.Route(&s, agent.Turn{})
		got.Reason = ""
		same(t, "after a failure", got, want)
	}
	s = next(t, s, func(s *agent.State) { s.Task.Current.Set("x"); s.Control.Succeed() })
	same(t, "after a success", agent.Route(&s, agent.Turn{}).Target, agent.ToClassifier)
	s = next(t, s, func(s *agent.State) { s.Control.Fail(f) })
	s = next(t, s, func(s *agent.State) {
		s.Control.Fail(agent.Failure{Node: agent.ToClassifier, Severity: agent.Retriable, Attempts: f.Attempts})
	})
	same(t, "failures of another node", s.Control.RetryCount.Get(), 1)
}

func TestRoute_GivesAReason(t *testing.T) {
	s := ready(t)
	d := agent.Route(&s, agent.Turn{Known: func(string) bool { return false }})
	same(t, "target", d.Target, agent.ToError)
	s.Control.Kill("the user left")
	same(t, "reason", agent.Route(&s, agent.Turn{}).Reason, "killed: the user left")
	s = ready(t)
	s.Control.HasError.Set(true) // and no error info
	same(t, "target", agent.Route(&s, agent.Turn{}).Target, agent.ToError)
}

// Requirement: limits of steps and of time are not enforced
func TestRoute_EnforcesTimeAndStepLimits(t *testing.T) {
	s := ready(t)
	for _, tt := range []struct {
		elapsed time.Duration
		limit   int
		want    string
	}{{300 * time.Second, 300, agent.ToError}, {299 * time.Second, 300, "find"}, {time.Hour, 0, "find"}, {time.Second, 1, agent.ToError}} {
		d := agent.Route(&s, agent.Turn{Elapsed: tt.elapsed, Settings: agent.Settings{MaxExecutionSeconds: &tt.limit}})
		same(t, fmt.Sprint(tt.elapsed, " of ", tt.limit), d.Target, tt.want)
	}
	f := agent.Failure{Node: "find", Severity: agent.Retriable, Attempts: 9}
	for n, want := range []string{"find", "find", agent.ToError} {
		s = next(t, s, func(s *agent.State) { must(t, agent.StateManager{}.Steps(s).Failed(f, 0)) })
		s.Control.RetryCount.Overwrite(1) // a lower count of the node does not hide that of the step
		same(t, fmt.Sprint("after failure ", n+1), agent.Route(&s, agent.Turn{Settings: agent.Settings{MaxStepRetries: new(2)}}).Target, want)
	}
	s.Control.CurrentStepRetryCount.Overwrite(0)
	s.Control.RetryCount.Overwrite(4)
	same(t, "beyond max_retries", agent.Route(&s, agent.Turn{Settings: agent.Settings{MaxRetries: new(4)}}).Target, agent.ToError)
}

func TestFailureWait_Bounds(t *testing.T) {
	for delay, want := range map[float64]time.Duration{0: 0, -1: 0, 0.5: time.Second / 2, 1e12: time.Hour, math.Inf(1): time.Hour, math.NaN(): 0} {
		same(t, fmt.Sprint(delay), agent.Failure{Delay: delay}.Wait(), want)
	}
}

// A failure that an earlier version stored has a retry policy.
func TestFailure_ReadsTheEarlierForm(t *testing.T) {
	var f agent.Failure
	must(t, json.Unmarshal([]byte(`{"node":"find","severity":"retriable","retry_policy":{"max_attempts":3,"delay_seconds":2,"backoff_factor":2},"retry_after_seconds":5,"timestamp":"2026-01-01T00:00:00Z"}`), &f))
	same(t, "attempts", f.Attempts, 3)
	same(t, "wait", f.Wait(), 5*time.Second)
	same(t, "node", f.Node, "find")
}

func FuzzRoute(f *testing.F) {
	f.Add("retriable", "find", 1, 2, 3, 4, 1.5, int64(7), true, true)
	f.Fuzz(func(t *testing.T, severity, node string, count, index, limit, attempts int, delay float64, elapsed int64, failed, task bool) {
		s := planned(t, agent.Step{Capability: node}, agent.Step{Capability: severity})
		s.Planning.CurrentStepIndex.Set(index)
		s.Control.HasError.Set(failed)
		s.Control.RetryCount.Add(count)
		s.Control.CurrentStepRetryCount.Add(attempts)
		s.Control.PlansCreatedCount.Add(count)
		s.Control.ReclassificationCount.Add(count)
		s.Control.ErrorInfo.Set(agent.Failure{Node: node, Severity: agent.Severity(severity), Attempts: attempts, Delay: delay})
		if task {
			s.Execution.PendingApprovals.Put(node, agent.ApprovalRequest{Step: severity, Decided: failed})
			s.Execution.StepResults.Put(node, agent.StepResult{StepIndex: index, Success: failed})
			s.Task.Current.Set("x")
			s.Planning.ActiveCapabilities.Append("find")
		}
		turn := agent.Turn{Elapsed: time.Duration(elapsed), Settings: agent.Settings{MaxStepRetries: &limit, MaxRetries: &limit, MaxExecutionSeconds: &limit}}
		d := agent.Route(&s, turn)
		if d.Target == "" || d.Reason == "" || d.Delay < 0 || d.Delay > time.Hour {
			t.Errorf("got %+v", d)
		}
		if again := agent.Route(&s, turn); again != d {
			t.Errorf("got %+v, then %+v", d, again)
		}
	})
}
