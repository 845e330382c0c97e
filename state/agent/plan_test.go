package agent_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/weftrun/weft/state/agent"
)

func rules(t testing.TB) agent.PlanRules {
	have := contexts(t, `{"PV_ADDRESSES":{"old":{}}}`)
	return agent.PlanRules{
		Known:          func(name string) bool { return name != "dance" },
		Active:         []string{"find", "plot", "respond", "clarify", "router"},
		Infrastructure: []string{"router", "orchestrator"},
		Terminal:       []string{"respond", "clarify"},
		Have:           &have,
		Types:          manager(t).Types,
		Needs: func(name string) (agent.Mode, []string) {
			if name == "plot" {
				return agent.Hard, []string{"PV_ADDRESSES"}
			}
			return agent.Hard, nil
		},
	}
}

func TestPlanValidate_ReportsAllProblems(t *testing.T) {
	var p agent.Plan
	decode(t, `{"steps":[
		{"capability":"find","context_key":"a","expected_output":"PV_ADDRESSES","inputs":[{"PV_ADDRESSES":"b"}]},
		{"capability":"router","context_key":"a"},
		{"capability":"dance","context_key":"b","depends_on":["c","nowhere"]},
		{"capability":"export","context_key":"c","depends_on":["b"]},
		{"capability":"respond"},
		{"context_key":"d","expected_output":"SNOW"},
		{"capability":"plot","expected_output":"PV_ADDRESSES"}
	]}`, &p)
	err := p.Validate(rules(t))
	wants(t, err, agent.ErrPlan,
		`step 1: its input PV_ADDRESSES.b neither exists nor is made by an earlier step`,
		`step 2: the context key "a" is that of step 1`,
		`step 2: "router" is a node of the agent itself`,
		`step 3: there is no capability "dance"`,
		`step 3: it depends on "nowhere", which no step has`,
		`step 4: "export" is not among the active capabilities`,
		`step 5: "respond" ends the turn, and steps follow`,
		`step 6: it names no capability`,
		`step 6: its output "SNOW" is no type of context`,
		`step 7: the last step is respond or clarify, not "plot"`,
		`step 7: it makes a PV_ADDRESSES and has no context key`,
		`step 7: agent: the inputs of the step lack a type: all of these are needed: PV_ADDRESSES`,
		`steps wait for each other: "b", "c"`,
	)
	var all *agent.PlanError
	if errors.As(err, &all) && len(all.Problems) != 13 {
		t.Errorf("got %d problems, want 13: %v", len(all.Problems), err)
	}
	wants(t, agent.Plan{}.Validate(agent.PlanRules{}), agent.ErrPlan, "no steps")
	same(t, "severity", agent.SeverityOf(err), agent.Replanning)
}

func TestPlanValidate_AcceptsValidPlan(t *testing.T) {
	var p agent.Plan
	decode(t, `{"steps":[
		{"capability":"find","context_key":"a","expected_output":"PV_ADDRESSES","inputs":[{"PV_ADDRESSES":"old"}]},
		{"capability":"plot","context_key":"b","inputs":[{"PV_ADDRESSES":"a"}],"depends_on":["a"],"parameters":{"n":1}},
		{"capability":"respond","context_key":"c"}
	]}`, &p)
	must(t, p.Validate(rules(t)))
	data, err := json.Marshal(p)
	must(t, err)
	var back agent.Plan
	decode(t, string(data), &back)
	again, err := json.Marshal(back)
	must(t, err)
	same(t, "read back", string(again), string(data))
}

func TestInputList_JSON(t *testing.T) {
	var in agent.InputList
	decode(t, `[{"B":"1","A":"2"},{"B":"3"}]`, &in)
	sameList(t, "inputs", in, agent.InputList{ref("A", "2"), ref("B", "1"), ref("B", "3")})
	sameList(t, "types", in.Types(), []string{"A", "B"})
	for _, bad := range []string{`{"A":"k"}`, `["A"]`, `[{}]`, `[{"A":""}]`, `[{"":"k"}]`, `[{"A":7}]`, `[null]`} {
		var in agent.InputList
		wants(t, json.Unmarshal([]byte(bad), &in), agent.ErrInput)
	}
}
