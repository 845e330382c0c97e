package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
)

type notAStruct []string

func (notAStruct) ContextType() string { return "LIST" }

type nameless struct{}

func (nameless) ContextType() string { return "" }

type slashed struct{}

func (slashed) ContextType() string { return "A/B" }

type secretive struct{ hidden int }

func (s secretive) ContextType() string { return "SECRET" + strings.Repeat("x", s.hidden) }

func TestNewTypes_ReportsAllMistakes(t *testing.T) {
	_, err := agent.NewTypes(agent.TypeOf[PVAddresses](), agent.TypeOf[Impostor](), agent.TypeOf[notAStruct](),
		agent.TypeOf[nameless](), agent.TypeOf[slashed](), agent.TypeOf[secretive](), agent.TypeOf[agent.Context]())
	wants(t, err, state.ErrContextName, `"PV_ADDRESSES" is taken twice`, "notAStruct is not a struct", "nameless",
		`"A/B"`, "hidden is not exported", "agent.Context is not a struct")
	types, err := agent.NewTypes()
	must(t, err)
	same(t, "has", types.Has("X"), false)
	same(t, "nil has", (*agent.Types)(nil).Has("X"), false)
}

func TestConstrain_HardWithoutInputsFails(t *testing.T) {
	m := manager(t)
	s := agent.State{Context: contexts(t, `{"PV_ADDRESSES":{"k":{}}}`)}
	c := m.LoadContexts(&s)
	for _, in := range []agent.InputList{nil, {}} {
		for _, mode := range []agent.Mode{agent.Hard, agent.Soft} {
			_, err := c.Extract(agent.Step{Inputs: in}, mode, "PV_ADDRESSES")
			wants(t, err, agent.ErrConstraint, "PV_ADDRESSES")
		}
	}
	one := agent.Step{Inputs: agent.InputList{ref("PV_ADDRESSES", "k")}}
	_, err := c.Extract(one, agent.Hard, "PV_ADDRESSES", "ANALYSIS_RESULTS")
	wants(t, err, agent.ErrConstraint, "needed: ANALYSIS_RESULTS")
	_, err = c.Extract(one, agent.Soft, "ANALYSIS_RESULTS", "PV_ADDRESSES")
	must(t, err)
	for _, mode := range []agent.Mode{"", "firm"} {
		_, err = c.Extract(one, mode)
		wants(t, err, agent.ErrMode)
	}
}

func TestInputList_NilEqualsEmpty(t *testing.T) {
	m := manager(t)
	s := agent.State{Context: contexts(t, `{"PV_ADDRESSES":{"k":{}}}`)}
	c := m.LoadContexts(&s)
	for _, in := range []agent.InputList{nil, {}} {
		all, err := c.Summaries(in)
		must(t, err)
		same(t, "summaries", len(all), 0)
		inputs, err := agent.Inputs[PVAddresses](c, agent.Step{Inputs: in})
		must(t, err)
		same(t, "inputs", len(inputs), 0)
	}
}

func TestSummaries_ReturnsOnlyRefs(t *testing.T) {
	m := manager(t)
	s := agent.State{Context: contexts(t, `{"ANALYSIS_RESULTS":{"x":{"analysis":"flat"}},"PV_ADDRESSES":{"a":{"pvs":["1"]},"b":{"pvs":["2","3"],"_meta":{"task_objective":"find"}}},"STRAY":{"k":{}}}`)}
	c := m.LoadContexts(&s)
	all, err := c.Summaries(agent.InputList{ref("PV_ADDRESSES", "b"), ref("PV_ADDRESSES", "a"), ref("ANALYSIS_RESULTS", "x")})
	must(t, err)
	data, err := json.Marshal(all)
	must(t, err)
	same(t, "summaries", string(data), `[{"context":"PV_ADDRESSES.b","task_objective":"find","summary":"2 PVs under b"},`+
		`{"context":"PV_ADDRESSES.a","summary":"1 PVs under a"},{"context":"ANALYSIS_RESULTS.x","summary":{"analysis":"flat"}}]`)
	none, err := c.Summaries(agent.InputList{ref("PV_ADDRESSES", "a"), ref("PV_ADDRESSES", "gone")})
	wants(t, err, agent.ErrNotFound, "gone")
	same(t, "summaries of a list with a missing one", len(none), 0)
	_, err = c.Summaries(c.Refs())
	wants(t, err, agent.ErrUnknownType, "STRAY")
}

func TestStoreContext_RejectsValueWithoutJSON(t *testing.T) {
	types, err := agent.NewTypes(agent.TypeOf[loose]())
	must(t, err)
	m := agent.StateManager{Types: types}
	g := chain(t, &checkpoint.Memory{}, func(_ context.Context, s *agent.State) error {
		return m.StoreContext(s, "LOOSE", "k", loose{func() {}})
	})
	_, err = g.Invoke(t.Context(), m.CreateFresh("x", nil), graph.RunOptions{Thread: "t1"})
	if err == nil || !strings.Contains(err.Error(), "LOOSE.k cannot be stored") || !strings.Contains(err.Error(), "n0") {
		t.Errorf("got %v, want an error that names the node and the context", err)
	}
}

// loose holds any value. Whether it can be stored depends on the value.
type loose struct{ V any }

func (loose) ContextType() string { return "LOOSE" }

func TestDigest_IsShort(t *testing.T) {
	many := strings.Repeat("7,", 10) + "7"
	for _, tt := range []struct{ in, want string }{
		{`7`, `7`},
		{`"` + strings.Repeat("ü", 200) + `"`, `"` + strings.Repeat("ü", 200) + `"`},
		{`"` + strings.Repeat("ü", 201) + `"`, `"` + strings.Repeat("ü", 100) + `… (201 characters)"`},
		{`[1,2,3,4,5,6,7,8,9,10]`, `[1,2,3,4,5,6,7,8,9,10]`},
		{`[` + many + `]`, `{"count":11,"first":[7,7,7]}`},
		{`{"a":{"b":{"c":{"d":1},"e":[1]}}}`, `{"a":{"b":{"c":"object of 1","e":"list of 1"}}}`},
		{object(10), object(10)},
		{object(11), `{"count":11,"first_keys":["a","b","c"]}`},
	} {
		var v any
		decode(t, tt.in, &v)
		data, err := json.Marshal(agent.Digest(v))
		must(t, err)
		same(t, tt.in, string(data), tt.want)
	}
}

func object(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf("%q:1", string(rune('a'+i))))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestContexts_Describe(t *testing.T) {
	m := manager(t)
	s := agent.State{Context: contexts(t, `{"ANALYSIS_RESULTS":{"bad":{"analysis":7}},"PV_ADDRESSES":{"k":{"_meta":{"task_objective":"find"}}},"STRAY":{"k":{"n":1}}}`)}
	c := m.LoadContexts(&s)
	got := c.Describe()
	for _, want := range []string{"PV_ADDRESSES.k (find):\n", `"access_pattern": "k.pvs"`, "ANALYSIS_RESULTS.bad:\n", "cannot be read", "STRAY.k:\n", `"n": 1`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want it to hold %q", got, want)
		}
	}
	if some := c.Describe("PV_ADDRESSES"); strings.Contains(some, "STRAY") || !strings.Contains(some, "k.pvs") {
		t.Errorf("got %s", some)
	}
	same(t, "of a type without contexts", c.Describe("OTHER"), "No relevant context data available for OTHER.")
	same(t, "of nothing", m.LoadContexts(&agent.State{}).Describe("OTHER"), "No context data available.")
}

func TestContexts_FieldByPath(t *testing.T) {
	m := manager(t)
	s := agent.State{Context: contexts(t, `{"STRAY":{"k":{"a":{"b":[1,"two"]}}}}`)}
	c := m.LoadContexts(&s)
	r, err := c.Field(ref("STRAY", "k"), "a.b.1")
	must(t, err)
	same(t, "field", r.String(), "two")
	_, err = c.Field(ref("STRAY", "k"), "a.c")
	wants(t, err, agent.ErrPath, "STRAY.k", "a.c")
	_, err = c.Field(ref("STRAY", "gone"), "a")
	wants(t, err, agent.ErrNotFound)
}
