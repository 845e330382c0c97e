package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/weftrun/weft/state/agent"
)

func TestSettingsComeInLayersAndLimitsOnlyLower(t *testing.T) {
	m := agent.Manager{Config: func() (agent.Settings, error) {
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

func TestOneSettingLeavesTheOthersAlone(t *testing.T) {
	var s agent.State
	s.AgentControl.Update(agent.Settings{PlanningMode: new(true), MaxRetries: new(3)})
	s.AgentControl.Update(agent.Settings{PlanningMode: new(false)})
	same(t, "retries", *s.AgentControl.Get().MaxRetries, 3)
	same(t, "planning", *s.AgentControl.Get().PlanningMode, false)
}

func TestUnknownAndSenselessSettingsAreErrors(t *testing.T) {
	for data, says := range map[string]string{
		`{"planing_mode":true}`:                "planing_mode",
		`{"planning_mode_enabled":"yes"}`:      "planning_mode_enabled",
		`{"approval_global_mode":"sometimes"}`: "approval_global_mode",
		`{"max_retries":-1}`:                   "max_retries",
	} {
		var s agent.Settings
		wants(t, json.Unmarshal([]byte(data), &s), agent.ErrSettings, says)
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
	same(t, "set fields of SafeSettings", len(fields), 15)
}
