package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state/agent"
)

func TestSettings_LimitsOnlyLower(t *testing.T) {
	m := agent.StateManager{Config: func() (agent.Settings, error) {
		return agent.Settings{MaxPlanningAttempts: new(4), MaxExecutionSeconds: new(60), ApprovalMode: new(agent.ApproveAll)}, nil
	}}
	for _, tt := range []struct {
		name         string
		thread, turn agent.Settings
		attempts     int
		seconds      int
		mode         string
	}{
		{"defaults", agent.Settings{}, agent.Settings{}, 4, 60, agent.ApproveAll},
		{"thread", agent.Settings{MaxPlanningAttempts: new(3), ApprovalMode: new(agent.ApproveNothing)}, agent.Settings{}, 3, 60, agent.ApproveNothing},
		{"turn", agent.Settings{MaxPlanningAttempts: new(3), ApprovalMode: new(agent.ApproveNothing)}, agent.Settings{MaxPlanningAttempts: new(9), ApprovalMode: new(agent.ApproveSelected)}, 3, 60, agent.ApproveSelected},
		{"no limit is no lower one", agent.Settings{MaxExecutionSeconds: new(0)}, agent.Settings{MaxPlanningAttempts: new(0)}, 0, 60, agent.ApproveAll},
	} {
		var s agent.State
		s.SessionControl.Update(tt.thread)
		s.AgentControl.Update(tt.turn)
		got := m.Settings(&s)
		same(t, tt.name+": attempts", *got.MaxPlanningAttempts, tt.attempts)
		same(t, tt.name+": seconds", *got.MaxExecutionSeconds, tt.seconds)
		same(t, tt.name+": mode", *got.ApprovalMode, tt.mode)
	}
}

// Requirement: settings have no effect, or undo others
func TestSettings_OneKeepsTheOthers(t *testing.T) {
	var s agent.State
	s.AgentControl.Update(agent.Settings{PlanningMode: new(true), MaxRetries: new(3)})
	s.AgentControl.Update(agent.Settings{PlanningMode: new(false)})
	same(t, "retries", *s.AgentControl.Get().MaxRetries, 3)
	same(t, "planning", *s.AgentControl.Get().PlanningMode, false)
}

// Requirement: settings have no effect, or undo others
func TestSettings_RejectsInvalidOnes(t *testing.T) {
	for data, contains := range map[string]string{
		`{"planing_mode_enabled":true}`:        "did you mean \"planning_mode_enabled\"?",
		`{"Max_retries":1}`:                    "did you mean \"max_retries\"?",
		`[]`:                                   "array",
		`{"planning_mode_enabled":"yes"}`:      "planning_mode_enabled",
		`{"approval_global_mode":"sometimes"}`: "approval_global_mode",
		`{"max_retries":-1}`:                   "max_retries",
	} {
		var s agent.Settings
		wants(t, json.Unmarshal([]byte(data), &s), agent.ErrSettings, contains)
	}
	data, err := json.Marshal(agent.SafeSettings())
	must(t, err)
	var back agent.Settings
	must(t, json.Unmarshal(data, &back))
	again, err := json.Marshal(back)
	must(t, err)
	same(t, "settings", string(again), string(data))
	var fields map[string]any
	decode(t, string(data), &fields)
	same(t, "set fields of SafeSettings", len(fields), 12)
}

func TestSettings_OwnKeysAreStored(t *testing.T) {
	const given = `{"max_retries":3,"station":{"id":7},"theme":"dark"}`
	var s agent.Settings
	must(t, json.Unmarshal([]byte(given), &s))
	same(t, "theme", string(s.Own["theme"]), `"dark"`)
	same(t, "zero", s.IsZero(), false)
	data, err := json.Marshal(s)
	must(t, err)
	same(t, "settings", string(data), given)
	merged := agent.Overlay{}.Reduce(s, agent.Settings{Own: map[string]json.RawMessage{"theme": json.RawMessage(`"light"`)}})
	data, err = json.Marshal(merged)
	must(t, err)
	same(t, "merged", string(data), `{"max_retries":3,"station":{"id":7},"theme":"light"}`)
	same(t, "the settings below", string(s.Own["theme"]), `"dark"`)

	m := agent.StateManager{Config: func() (agent.Settings, error) { return s, nil }}
	g := chain(t, &checkpoint.Memory{}, nothing)
	end := invoke(t, g, m.CreateFresh("one", nil))
	same(t, "stored", string(m.Settings(&end).Own["station"]), `{"id":7}`)
	for _, own := range []map[string]json.RawMessage{{"max_retries": json.RawMessage(`1`)}, {"max_retrys": json.RawMessage(`1`)}, {"x": json.RawMessage(`{`)}, {"x": nil}} {
		wants(t, agent.Settings{Own: own}.Validate(), agent.ErrSettings)
	}
}

// The settings of a turn do not change if the configuration changes before its end.
func TestSettings_OfATurnThatHasBegun(t *testing.T) {
	before := agent.StateManager{Config: func() (agent.Settings, error) {
		return agent.Settings{PlanningMode: new(true), MaxPlanningAttempts: new(4)}, nil
	}}
	after := agent.StateManager{Config: func() (agent.Settings, error) {
		return agent.Settings{PlanningMode: new(false), MaxPlanningAttempts: new(1), MaxRetries: new(2)}, nil
	}}
	s := before.CreateFresh("x", nil)
	got := after.Settings(&s)
	same(t, "planning", *got.PlanningMode, true)
	same(t, "attempts", *got.MaxPlanningAttempts, 4)
	same(t, "retries", *got.MaxRetries, 0)
	s.SessionControl.Update(agent.Settings{MaxPlanningAttempts: new(3), PlanningMode: new(false)})
	got = after.Settings(&s)
	same(t, "a limit of the thread", *got.MaxPlanningAttempts, 3)
	same(t, "a flag of the thread", *got.PlanningMode, true)
}
