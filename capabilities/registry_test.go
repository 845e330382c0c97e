package capabilities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/capabilities"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
)

// provider returns a capability that stores one entry of each of these types.
func provider(name string, requires, provides, stores []string) capabilities.Capability {
	info := capabilities.Info{Name: name, Description: "tests", Requires: requires, Provides: provides}
	return storing(info, stores...)
}

func storing(info capabilities.Info, stores ...string) capabilities.Capability {
	return capabilities.Func(info, func(_ context.Context, c *capabilities.Call) error {
		for _, t := range stores {
			if err := c.State.Context.Put(t, info.Name, state.ContextEntry{Fields: `{}`}); err != nil {
				return err
			}
		}
		return nil
	})
}

func registry(t testing.TB, all ...capabilities.Capability) *capabilities.Registry {
	t.Helper()
	r, err := capabilities.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func contains(t testing.TB, err error, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %s", err, want)
		}
	}
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestNames_ComeAfterTheirRequirements(t *testing.T) {
	soft := capabilities.Info{Name: "a-report", Description: "d", Requires: []string{"PICTURE", "NOWHERE"}, Constraint: agent.Soft}
	r := registry(t, storing(soft),
		provider("a-plot", []string{"DATA"}, []string{"PICTURE"}, nil),
		provider("b-load", []string{"NAME"}, []string{"DATA"}, nil),
		provider("c-find", nil, []string{"NAME"}, nil),
	)
	same(t, "names", r.Names(), []string{"c-find", "b-load", "a-plot", "a-report"})
}

func TestRegistry_ReportsEveryMistakeAtOnce(t *testing.T) {
	_, err := capabilities.NewRegistry(
		provider("", nil, nil, nil),
		nil,
		provider("twice", nil, nil, nil),
		provider("twice", nil, nil, nil),
		provider("lost", []string{"NOWHERE"}, nil, nil),
		capabilities.Func(capabilities.Info{
			Name: "mute", Constraint: "firm", Retry: graph.Retry{Attempts: -1},
			Approval: "perhaps", OnReject: "cry", Provides: []string{"A/B"},
		}, nil),
	)
	contains(t, err, "capability 1 must have a name", "capability 2 must not be nil", `"twice" is used twice`, `"lost" requires "NOWHERE"`,
		`"mute" has no description`, `"mute" has no function`, "firm", "-1 attempts", "perhaps", "cry", "A/B")
}

func TestNewRegistry_RefusesCycles(t *testing.T) {
	_, err := capabilities.NewRegistry(
		provider("hen", []string{"EGG"}, []string{"HEN"}, nil),
		provider("egg", []string{"HEN"}, []string{"EGG"}, nil),
	)
	contains(t, err, "egg, hen wait for each other")
}

// Requirement: an excluded capability stays, or crashes
func TestExtend_ChangesARegistry(t *testing.T) {
	base := registry(t, provider("find", nil, []string{"A"}, nil), provider("plot", []string{"A"}, nil, nil))
	next, err := base.Extend(
		capabilities.Override(provider("find", nil, []string{"A", "B"}, nil)),
		capabilities.Add(provider("export", []string{"B"}, nil, nil)),
		capabilities.Exclude("plot"),
	)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "names", next.Names(), []string{"find", "export"})
	same(t, "names of the first", base.Names(), []string{"find", "plot"})
	_, err = base.Extend(
		capabilities.Override(provider("fnd", nil, nil, nil)),
		capabilities.Exclude("plt", "find"),
		capabilities.Add(provider("plot", nil, nil, nil)),
	)
	contains(t, err, `no "fnd" to override`, `no "plt" to exclude`, `"plot" is used twice`, `"plot" requires "A"`)
}

func TestNewRegistry_BrokenCapabilityMustBeOptional(t *testing.T) {
	broken := capabilities.Info{Name: "broken", Optional: true, Provides: []string{"A"}}
	lost := capabilities.Info{Name: "lost", Description: "d", Optional: true, Requires: []string{"A"}}
	r := registry(t, storing(broken), storing(lost), provider("find", nil, nil, nil))
	same(t, "names", r.Names(), []string{"find"})
	all := strings.Join(r.Warnings(), "\n")
	contains(t, errors.New(all), `"broken" has no description`, `"lost" requires A`, `"find" has no planning guide`, `"find" has no matching guide`)
	again, err := r.Extend()
	if err != nil || !slices.Equal(again.Warnings(), r.Warnings()) {
		t.Errorf("got %v and the warnings %q", err, again.Warnings())
	}
	broken.Optional = false
	_, err = capabilities.NewRegistry(storing(broken))
	contains(t, err, `"broken" has no description`)
}

func TestValidate_ComparesTypesAndNodes(t *testing.T) {
	types, err := agent.NewTypes(agent.TypeOf[Rain]())
	if err != nil {
		t.Fatal(err)
	}
	r := registry(t, provider("router", nil, []string{"RAIN", "SNOW"}, nil))
	err = r.Validate(types, "router", "gateway")
	contains(t, err, `"router" is the name of a node`, `"SNOW"; the types are RAIN`)
	if !errors.Is(err, agent.ErrUnknownType) {
		t.Errorf("got %v, want ErrUnknownType", err)
	}
	if err := registry(t, provider("find", nil, []string{"RAIN"}, nil)).Validate(types, "router"); err != nil {
		t.Error(err)
	}
}

func TestAlwaysActive_ComeFirst(t *testing.T) {
	always := func(name string) capabilities.Capability {
		return storing(capabilities.Info{Name: name, Description: "d", AlwaysActive: true})
	}
	r := registry(t, provider("z", nil, nil, nil), always("respond"), provider("a", nil, nil, nil), always("clarify"))
	got, err := r.Active("a", "z", "respond", "a")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "active", got, []string{"respond", "clarify", "z", "a"})
	_, err = r.Active("b")
	if !errors.Is(err, capabilities.ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
}

func TestGuides_AreOrderedByPriority(t *testing.T) {
	with := func(name string, p *capabilities.PlanGuide) capabilities.Capability {
		return storing(capabilities.Info{Name: name, Description: "d", Plan: p})
	}
	r := registry(t, with("none", nil), with("b", &capabilities.PlanGuide{Priority: 1}), with("a", &capabilities.PlanGuide{Priority: 1}), with("first", &capabilities.PlanGuide{Priority: -3}))
	var got []string
	for _, i := range r.Guided("none", "a", "b", "first", "unknown") {
		got = append(got, i.Name)
	}
	same(t, "guided", got, []string{"first", "a", "b", "none"})
}

func ExampleRegistry_Extend() {
	quiet := func(context.Context, *capabilities.Call) error { return nil }
	base, err := capabilities.NewRegistry(
		capabilities.Func(capabilities.Info{Name: "respond", Description: "answers", AlwaysActive: true}, quiet),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = base.Extend(capabilities.Add(
		capabilities.Func(capabilities.Info{Name: "plot", Description: "draws", Requires: []string{"RAIN"}}, quiet),
	))
	fmt.Println(err)
	// Output: capabilities: "plot" requires "RAIN", which no capability provides
}

type sand struct{ N int }

func (sand) ContextType() string { return "SAND" }

type otherSand struct{ M int }

func (otherSand) ContextType() string { return "SAND" }

func TestTypesOf_FindsTheTypesOfTools(t *testing.T) {
	dig := capabilities.Tool(capabilities.Info{Name: "dig", Description: "digs"}, func(context.Context, struct{}) (sand, error) { return sand{}, nil })
	sift := capabilities.Tool(capabilities.Info{Name: "sift", Description: "sifts"}, func(context.Context, struct{}) (sand, error) { return sand{}, nil })
	other := capabilities.Func(capabilities.Info{Name: "look", Description: "looks"}, func(context.Context, *capabilities.Call) error { return nil })
	types, err := capabilities.TypesOf(dig, other, sift, nil)
	if err != nil || !slices.Equal(types.Names(), []string{"SAND"}) {
		t.Errorf("got %v, %v, want SAND once", types.Names(), err)
	}
	twice := capabilities.Tool(capabilities.Info{Name: "burn", Description: "burns"}, func(context.Context, struct{}) (otherSand, error) { return otherSand{}, nil })
	if _, err := capabilities.TypesOf(dig, twice); err == nil {
		t.Error("two types of one name: no error")
	}
}
