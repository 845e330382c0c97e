package graph

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/weftrun/weft/state"
)

// routed is the state of a graph whose nodes a routing names.
type routed struct {
	N state.Sum[int] `json:"n"`
}

// newRouting returns a routing over a node "a" and a Worker "w" of numbers, and targets that allow
// both and End.
func newRouting(t *testing.T) (routing, targets) {
	t.Helper()
	b := New[routed]("routing")
	b.Node("a", Func(func(context.Context, *routed) error { return nil }))
	b.Node("r", Router(func(context.Context, *routed) (Command, error) { return Goto(End), nil }, "a", "w", End))
	b.Node("w", Worker(func(context.Context, *routed, int) error { return nil }))
	b.Edge(Start, "r")
	b.Edge("a", End)
	b.Edge("w", End)
	g, err := b.Compile(Config{})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := g.p.find("r")
	return routing{program: g.p}, g.p.nodes[r].targets
}

func TestRouting_CommandsNameNodes(t *testing.T) {
	for _, c := range []struct {
		cmd       Command
		ways      string
		nodes     int
		sends     int
		hasParent bool
		up        bool
	}{
		{cmd: Command{}, ways: "[]"},
		{cmd: Command{}.WithReason("alone"), ways: "[]"},
		{cmd: Goto(End), ways: "[{__end__ false 2 }]"},
		{cmd: Goto("a", End), ways: "[{a false 2 } {__end__ false 2 }]", nodes: 1},
		{cmd: Send("w", 1).Send("w", 2).WithReason("two"), ways: "[{w true 2 two} {w true 2 two}]", sends: 2},
		{cmd: Goto("a").Send("w", 3).WithReason("both"), ways: "[{a false 2 both} {w true 2 both}]", nodes: 1, sends: 1},
		{cmd: Goto("x").InParent(), ways: "[]", hasParent: true, up: true},
	} {
		r, allowed := newRouting(t)
		r.hasParent = c.hasParent
		if err := r.follow(c.cmd, allowed, 2); err != nil {
			t.Errorf("%s: %v", c.cmd, err)
		}
		got := fmt.Sprint(r.appendWays(nil))
		if got != c.ways || len(r.out.Goto) != c.nodes || len(r.out.Sends) != c.sends || r.toParent != nil != c.up {
			t.Errorf("%s: the ways are %s, of %d nodes and %d Sends (to the parent: %v); want %s, %d, %d and %v",
				c.cmd, got, len(r.out.Goto), len(r.out.Sends), r.toParent != nil, c.ways, c.nodes, c.sends, c.up)
		}
		r.clear()
		if len(r.appendWays(nil)) > 0 || len(r.out.Goto)+len(r.out.Sends) > 0 || r.toParent != nil {
			t.Errorf("%s: clear leaves %v, %v and %v", c.cmd, r.appendWays(nil), r.out, r.toParent)
		}
	}
}

func TestRouting_RefusesTargets(t *testing.T) {
	for name, c := range map[string]struct {
		cmd  Command
		want error // nil: any error
	}{
		"a node that is not allowed":      {Goto("r"), ErrTarget},
		"a Worker by Goto":                {Goto("w"), ErrTarget},
		"a node by Send":                  {Send("a", 1), ErrTarget},
		"End by Send":                     {Send(End, 1), ErrTarget},
		"the parent by Goto":              {Goto(Parent), ErrTarget},
		"a parent that is not there":      {Goto("a").InParent(), ErrNoParent},
		"the parent and a node":           {Goto("a").InParent().Goto("a"), ErrTarget},
		"a payload of another type":       {Send("w", "one"), nil},
		"a timeout without a Send":        {Goto("a").WithTimeout(1), nil},
		"a timeout that is negative":      {Send("w", 1).WithTimeout(-1), nil},
		"a reason that JSON would change": {Goto("a").WithReason("\xff"), nil},
	} {
		r, allowed := newRouting(t)
		if err := r.follow(c.cmd, allowed, 0); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want an error (%v)", name, err, c.want)
		}
	}
}

func TestRouting_IsRestoredAsItWasStored(t *testing.T) {
	r, allowed := newRouting(t)
	if err := r.follow(Goto("a").Send("w", 7).WithReason("first"), allowed, 0); err != nil {
		t.Fatal(err)
	}
	if err := r.follow(Goto(End), allowed, 1); err != nil {
		t.Fatal(err)
	}
	sends, err := r.sends()
	if err != nil {
		t.Fatal(err)
	}
	restored := routing{program: r.program}
	if err := restored.restoreFrom(&result{Ways: r.appendWays(nil), Sends: sends}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(restored.out, r.out) || !reflect.DeepEqual(restored.appendWays(nil), r.appendWays(nil)) {
		t.Errorf("restored: %+v and %v, want %+v and %v", restored.out, restored.appendWays(nil), r.out, r.appendWays(nil))
	}
	gone := &result{Sends: []sendResult{{Node: "gone"}}}
	if err := restored.restoreFrom(gone); !errors.Is(err, ErrProgram) {
		t.Errorf("a Send to a node that is gone: got %v, want ErrProgram", err)
	}
}
