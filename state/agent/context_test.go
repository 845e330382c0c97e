package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

func TestContextData_HasThreeLevels(t *testing.T) {
	m := manager(t)
	m.Clock, m.Run = nil, ""
	var s agent.State
	must(t, m.StoreContext(&s, "PV_ADDRESSES", "beam", PVAddresses{PVs: []string{"SR"}}))
	var doc map[string]map[string]map[string]any
	decode(t, s.Context.String(), &doc)
	if got := doc["PV_ADDRESSES"]["beam"]["pvs"].([]any); len(got) != 1 || got[0] != "SR" {
		t.Errorf("got %s", s.Context)
	}
}

func contexts(t testing.TB, doc string) state.ContextData {
	t.Helper()
	var s agent.State
	decode(t, doc, &s.Context)
	return after(t, s).Context
}

// merged folds writes, which are documents, into what there is as one superstep.
func merged(t testing.TB, base state.ContextData, docs ...string) state.ContextData {
	t.Helper()
	var writes []state.Channel
	for _, doc := range docs {
		w := base
		decode(t, doc, &w)
		if w.Channel().Wrote() {
			writes = append(writes, w.Channel())
		}
	}
	if len(writes) > 0 {
		must(t, base.Channel().Fold(writes))
	}
	return base
}

func TestContextMerge_ReplacesOneEntry(t *testing.T) {
	const old = `{"A":{"k":{"x":1,"y":2},"l":{"x":3}},"B":{"k":{"x":4}}}`
	base := contexts(t, old)
	got := merged(t, base, `{"A":{"k":{"z":9}},"C":{"n":{}}}`)
	same(t, "merged", got.String(), `{"A":{"k":{"z":9},"l":{"x":3}},"B":{"k":{"x":4}},"C":{"n":{}}}`)
	same(t, "what was there", base.String(), old)
	none := merged(t, state.ContextData{}, old)
	same(t, "merged into nothing", none.String(), old)
}

func TestContextMerge_EdgeCases(t *testing.T) {
	base := contexts(t, `{"A":{"k":{"x":1}}}`)
	for _, doc := range []string{`null`, `{}`} {
		got := merged(t, base, doc)
		same(t, doc, got.String(), base.String())
	}
	got := merged(t, base, `{"T":{}}`)
	same(t, "an empty type", got.String(), `{"A":{"k":{"x":1}},"T":{}}`)
	got = merged(t, base, `{"A":{"k":{"x":2,"_meta":{"capability":"find"}}}}`, `{"A":{"k":{"x":3}}}`)
	same(t, "two writers", got.String(), `{"A":{"k":{"_meta":{"replaced":["find"]},"x":3}}}`)
}

func TestCreateFresh_HasOneMessageAndDefaults(t *testing.T) {
	m := manager(t)
	m.NewID = func() string { return "id1" }
	s := m.CreateFresh("hello", nil)
	msg, _ := s.Messages.ByID("id1")
	same(t, "messages", s.Messages.Len(), 1)
	same(t, "role", msg.Role, message.RoleUser)
	same(t, "text", msg.Text(), "hello")
	same(t, "created", msg.Created, noon)
	same(t, "contexts", s.Context.Len(), 0)
	sameList(t, "written", written(&s), []string{"messages", "agent_control"})
	same(t, "index", s.Planning.CurrentStepIndex.Get(), 0)
}

func TestCreateFresh_CarriesOnlyContext(t *testing.T) {
	var w agent.State
	turnOf(&w)
	prior := after(t, w)
	s := manager(t).CreateFresh("hello", &prior)
	same(t, "contexts", s.Context.String(), prior.Context.String())
	sameList(t, "written", written(&s), []string{"messages", "capability_context_data", "agent_control"})
	same(t, "messages", s.Messages.Len(), 1)
}

func TestCreateFresh_PriorWithoutContext(t *testing.T) {
	for _, prior := range []*agent.State{nil, {}} {
		s := manager(t).CreateFresh("hello", prior)
		same(t, "contexts", s.Context.String(), "{}")
	}
}

func TestCreateFresh_SharesNoMemory(t *testing.T) {
	m := manager(t)
	prior := agent.State{Context: contexts(t, `{"PV_ADDRESSES":{"k":{"pvs":["a"]}}}`)}
	s := m.CreateFresh("hello", &prior)
	must(t, m.StoreContext(&s, "PV_ADDRESSES", "k", PVAddresses{PVs: []string{"b"}}))
	s.Context.Clear("PV_ADDRESSES")
	same(t, "prior", prior.Context.String(), `{"PV_ADDRESSES":{"k":{"pvs":["a"]}}}`)
	pvs, err := agent.Get[PVAddresses](m.LoadContexts(&prior), "k")
	must(t, err)
	pvs.PVs[0] = "changed"
	same(t, "prior", prior.Context.String(), `{"PV_ADDRESSES":{"k":{"pvs":["a"]}}}`)
}

func TestStoreContext_WritesOnlyTheContext(t *testing.T) {
	s := planned(t, agent.Step{Objective: "find PVs", Capability: "pv_finding", ContextKey: "beam"})
	must(t, manager(t).StoreContext(&s, "PV_ADDRESSES", "beam", PVAddresses{PVs: []string{"SR"}}))
	sameList(t, "written", written(&s), []string{"capability_context_data"})
	e, _ := s.Context.Lookup("PV_ADDRESSES", "beam")
	want := state.ContextMeta{Objective: "find PVs", Capability: "pv_finding", Time: noon, Run: "run-1"}
	same(t, "objective", e.Meta.Objective, want.Objective)
	same(t, "capability", e.Meta.Capability, want.Capability)
	same(t, "time", e.Meta.Time, want.Time)
	same(t, "run", e.Meta.Run, want.Run)
}

func TestStoreContext_ChecksTheType(t *testing.T) {
	m := manager(t)
	var s agent.State
	wants(t, m.StoreContext(&s, "STRAY", "k", Stray{}), agent.ErrUnknownType, "STRAY", "ANALYSIS_RESULTS, PV_ADDRESSES")
	for _, wrong := range []agent.Context{&Analysis{}, Impostor{}, &PVAddresses{}, nil, Stray{}} {
		wants(t, m.StoreContext(&s, "PV_ADDRESSES", "k", wrong), agent.ErrWrongType)
	}
	wants(t, m.StoreContext(&s, "ANALYSIS_RESULTS", "k", (*Analysis)(nil)), agent.ErrWrongType)
	if s.Context.Channel().Wrote() {
		t.Errorf("a refused context was stored: %s", s.Context)
	}
	var warned []error
	open := agent.StateManager{Warn: func(err error) { warned = append(warned, err) }}
	must(t, open.StoreContext(&s, "STRAY", "k", Stray{}))
	if len(warned) != 1 {
		t.Fatalf("got the warnings %v, want one", warned)
	}
	wants(t, warned[0], agent.ErrNoTypes)
	wants(t, open.StoreContext(&s, "STRAY", "k", nil), agent.ErrWrongType)
}

func TestStoreContext_RejectsEmptyNames(t *testing.T) {
	var m agent.StateManager
	var s agent.State
	wants(t, m.StoreContext(&s, "", "k", Stray{}), state.ErrContextName)
	wants(t, m.StoreContext(&s, "STRAY", "", Stray{}), state.ErrContextName)
	wants(t, m.StoreContext(&s, "A/B", "k", Stray{}), state.ErrContextName)
	wants(t, m.StoreOutput(&s, agent.Step{}, Stray{}), state.ErrContextName)
	same(t, "contexts", s.Context.Len(), 0)
}

func TestStoreContext_ReplacesSameKey(t *testing.T) {
	m := manager(t)
	var s agent.State
	for _, w := range []struct{ key, pv string }{{"a", "1"}, {"b", "2"}, {"a", "3"}} {
		must(t, m.StoreContext(&s, "PV_ADDRESSES", w.key, PVAddresses{PVs: []string{w.pv}}))
	}
	all, err := agent.All[PVAddresses](m.LoadContexts(&s))
	must(t, err)
	same(t, "entries", len(all), 2)
	same(t, "a", all["a"].PVs[0], "3")
	same(t, "b", all["b"].PVs[0], "2")
}

func TestContexts_TypedAccess(t *testing.T) {
	m := manager(t)
	var s agent.State
	must(t, m.StoreContext(&s, "ANALYSIS_RESULTS", "k", &Analysis{Text: "flat"}))
	c := m.LoadContexts(&s)
	a, err := agent.Get[*Analysis](c, "k")
	must(t, err)
	same(t, "text", a.Text, "flat")
	_, err = agent.Get[Impostor](c, "k")
	wants(t, err, agent.ErrNotFound) // nothing of this name
	must(t, m.StoreContext(&s, "PV_ADDRESSES", "k", PVAddresses{}))
	_, err = agent.Get[Impostor](c, "k")
	wants(t, err, agent.ErrWrongType, "PVAddresses", "Impostor")
}

func TestContexts_DistinguishesErrors(t *testing.T) {
	m := manager(t)
	s := agent.State{Context: contexts(t, `{"PV_ADDRESSES":{"bad":{"pvs":7},"good":{}},"STRAY":{"k":{"N":1}}}`)}
	c := m.LoadContexts(&s)
	_, err := agent.Get[PVAddresses](c, "missing")
	wants(t, err, agent.ErrNotFound, "PV_ADDRESSES.missing", "bad, good")
	_, err = agent.Get[Stray](c, "k")
	wants(t, err, agent.ErrUnknownType, "STRAY")
	_, err = agent.Get[PVAddresses](c, "bad")
	wants(t, err, agent.ErrCorrupt, "PV_ADDRESSES.bad", "pvs")
	_, err = c.Lookup("PV_ADDRESSES", "good")
	must(t, err)
}

func TestContexts_CachesDecodedValues(t *testing.T) {
	m := manager(t)
	s := agent.State{Context: contexts(t, `{"ANALYSIS_RESULTS":{"k":{"analysis":"one"}}}`)}
	c := m.LoadContexts(&s)
	get := func() *Analysis {
		a, err := agent.Get[*Analysis](c, "k")
		must(t, err)
		return a
	}
	if first, second := get(), get(); first != second {
		t.Error("a second read decoded anew")
	}
	mine := &Analysis{Text: "two"}
	must(t, c.Store(agent.Step{ContextKey: "k"}, mine))
	if get() != mine {
		t.Error("what was stored is not what is handed out")
	}
	must(t, m.StoreContext(&s, "ANALYSIS_RESULTS", "k", &Analysis{Text: "three"}))
	same(t, "after a write beside it", get().Text, "three")
	s.Context.Delete("ANALYSIS_RESULTS", "k")
	_, err := agent.Get[*Analysis](c, "k")
	wants(t, err, agent.ErrNotFound)
}

func TestAll_ReturnsContextsOfType(t *testing.T) {
	m := manager(t)
	s := agent.State{Context: contexts(t, `{"PV_ADDRESSES":{"a":{"pvs":["1"]},"b":{"pvs":["2"]},"bad":{"pvs":7}}}`)}
	all, err := agent.All[PVAddresses](m.LoadContexts(&s))
	wants(t, err, agent.ErrCorrupt, "PV_ADDRESSES.bad")
	same(t, "readable ones", len(all), 2)
	none, err := agent.All[Stray](m.LoadContexts(&s))
	must(t, err)
	same(t, "of an unknown type", len(none), 0)
	s.Context = contexts(t, `{"STRAY":{"k":{}}}`)
	_, err = agent.All[Stray](m.LoadContexts(&s))
	wants(t, err, agent.ErrUnknownType) // to return none would hide it
}

func TestInputs_InPlanOrder(t *testing.T) {
	m := manager(t)
	s := agent.State{Context: contexts(t, `{"PV_ADDRESSES":{"a":{"pvs":["1"]},"b":{"pvs":["2"]}},"ANALYSIS_RESULTS":{"x":{"analysis":"t"}}}`)}
	var step agent.Step
	decode(t, `{"inputs":[{"PV_ADDRESSES":"b"},{"ANALYSIS_RESULTS":"x"},{"PV_ADDRESSES":"a"}]}`, &step)
	c := m.LoadContexts(&s)
	pvs, err := agent.Inputs[PVAddresses](c, step)
	must(t, err)
	var keys []string
	for _, k := range pvs {
		keys = append(keys, k.Key+k.Value.PVs[0])
	}
	sameList(t, "inputs", keys, []string{"b2", "a1"})
	first, err := agent.Input[PVAddresses](c, step)
	must(t, err)
	same(t, "the first", first.PVs[0], "2")
	all, err := c.Extract(step, agent.Hard, "PV_ADDRESSES", "ANALYSIS_RESULTS")
	must(t, err)
	same(t, "all", len(all), 3)
	same(t, "second", all[1].ContextRef, ref("ANALYSIS_RESULTS", "x"))
}

func TestInputs_MissingIsAnError(t *testing.T) {
	m := manager(t)
	var s agent.State
	step := agent.Step{Inputs: agent.InputList{ref("PV_ADDRESSES", "gone"), ref("PV_ADDRESSES", "lost")}}
	c := m.LoadContexts(&s)
	_, err := agent.Inputs[PVAddresses](c, step)
	wants(t, err, agent.ErrNotFound, "PV_ADDRESSES.gone", "PV_ADDRESSES.lost")
	same(t, "severity", agent.SeverityOf(err), agent.Replanning)
	_, err = agent.Input[*Analysis](c, step)
	wants(t, err, agent.ErrConstraint, "ANALYSIS_RESULTS")
	same(t, "severity", agent.SeverityOf(err), agent.Replanning)
	_, err = c.Extract(step, agent.Soft)
	wants(t, err, agent.ErrNotFound, "gone", "lost")
}

func TestContext_LargeDataIsStoredOnce(t *testing.T) {
	m := manager(t)
	large := PVAddresses{PVs: []string{strings.Repeat("x", 1<<16)}}
	var s agent.State
	for _, k := range []string{"a", "b", "c"} {
		must(t, m.StoreContext(&s, "PV_ADDRESSES", k, large))
	}
	prev := after(t, s).Context
	base, w := prev, agent.State{Context: prev}
	must(t, m.StoreContext(&w, "PV_ADDRESSES", "small", PVAddresses{}))
	must(t, base.Channel().Fold([]state.Channel{w.Context.Channel()}))
	v, ok := base.Channel().(state.Delta).Since(prev.Channel())
	data, err := json.Marshal(v)
	must(t, err)
	if !ok || len(data) > 1024 {
		t.Errorf("a small write beside large data stores %d bytes (%v), want below 1024", len(data), ok)
	}
}

func TestContext_TypedFieldsRoundTrip(t *testing.T) {
	m := manager(t)
	want := PVAddresses{[]string{"SR:C01-BI:G02A:CURRENT", "ü <&>"}, "Found \"PVs\"\n", noon.Add(123 * time.Nanosecond)}
	store := &checkpoint.Memory{}
	invoke(t, chain(t, store, func(_ context.Context, s *agent.State) error {
		return m.StoreContext(s, "PV_ADDRESSES", "k", want)
	}), m.CreateFresh("x", nil))
	end := invoke(t, chain(t, store, nothing), m.CreateFresh("y", nil))
	got, err := agent.Get[PVAddresses](m.LoadContexts(&end), "k")
	must(t, err)
	sameList(t, "pvs", got.PVs, want.PVs)
	same(t, "description", got.Description, want.Description)
	same(t, "time", got.Timestamp, want.Timestamp)
}
