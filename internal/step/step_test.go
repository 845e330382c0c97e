package step_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/internal/step"
)

// Numbers of the nodes of shape.
const (
	a = iota
	b
	c
	d
	e
	w
)

// shape has the edges a→b, a→c, b→d and c→d twice over, the joins b+c→e and c+w→e,
// and a d that may be deferred.
func shape(deferred bool) *step.Program {
	return &step.Program{
		Nodes: []step.Node{
			{Name: "a", Next: []int{b, c}},
			{Name: "b", Next: []int{d}, Feeds: []int{0}},
			{Name: "c", Next: []int{d, d}, Feeds: []int{0, 1}},
			{Name: "d", Deferred: deferred},
			{Name: "e"},
			{Name: "w", Feeds: []int{1}},
		},
		Joins: []step.Join{{Target: e, Sources: []int{b, c}}, {Target: e, Sources: []int{c, w}}},
		Start: []int{a},
	}
}

// text returns a frontier in short.
func text(p *step.Program, f *step.Frontier) string {
	var parts []string
	for _, n := range f.Due {
		parts = append(parts, p.Nodes[n].Name)
	}
	for _, s := range f.Sends {
		parts = append(parts, fmt.Sprintf("%s(%v)", p.Nodes[s.Node].Name, s.Payload))
	}
	for _, n := range f.Waiting {
		parts = append(parts, "?"+p.Nodes[n].Name)
	}
	for _, j := range p.Starved(f) {
		parts = append(parts, fmt.Sprint("!", j))
	}
	return strings.Join(parts, " ")
}

func ran(nodes ...int) (outs []*step.Outcome) {
	for _, n := range nodes {
		outs = append(outs, &step.Outcome{Node: n})
	}
	return outs
}

func TestAdvance(t *testing.T) {
	sends := func(n int, payloads ...any) *step.Outcome {
		o := &step.Outcome{Node: n}
		for _, p := range payloads {
			o.Sends = append(o.Sends, step.Send{Node: w, Payload: p})
		}
		return o
	}
	for name, steps := range map[string]struct {
		deferred bool
		done     [][]*step.Outcome
		want     string // the frontiers, one for each step
	}{
		"edges":                                {false, [][]*step.Outcome{ran(a)}, "b c"},
		"many ways lead to one task":           {false, [][]*step.Outcome{ran(b, c)}, "d e !1"},
		"goto beside edges, in order":          {false, [][]*step.Outcome{{{Node: a, Goto: []int{e, a, e}}}}, "a b c e"},
		"nothing follows":                      {false, [][]*step.Outcome{ran(d, e)}, ""},
		"a join waits":                         {false, [][]*step.Outcome{ran(b), ran(d)}, "d !0| !0"},
		"a join is filled by later steps":      {false, [][]*step.Outcome{ran(b), ran(d), ran(c)}, "d !0| !0|d e !1"},
		"a source counts once":                 {false, [][]*step.Outcome{ran(b), ran(b)}, "d !0|d !0"},
		"a join starts anew":                   {false, [][]*step.Outcome{ran(b, c), ran(b)}, "d e !1|d !0 !1"},
		"a source may run often in one step":   {false, [][]*step.Outcome{ran(c, w, w, w), ran(d)}, "d e !0| !0"},
		"two joins into one node fire it once": {false, [][]*step.Outcome{ran(b, c, w)}, "d e"},
		"sends by emitter, then place": {false, [][]*step.Outcome{{sends(a, 3, 1), sends(b), sends(e, 2)}},
			"b c d w(3) w(1) w(2) !0"},
		"a deferred node waits for nodes": {true, [][]*step.Outcome{ran(b, c), ran(e)}, "e ?d !1|d !1"},
		"a deferred node waits for sends": {true, [][]*step.Outcome{{sends(b, 1)}, ran(w), ran(d)}, "w(1) ?d !0|d !0 !1| !0 !1"},
		"a deferred node waits for goto":  {true, [][]*step.Outcome{{{Node: e, Goto: []int{d, e}}}, ran(e)}, "e ?d|d"},
		"a deferred node may run again":   {true, [][]*step.Outcome{{{Node: e, Goto: []int{d}}}, {{Node: d, Goto: []int{d}}}}, "d|d"},
	} {
		t.Run(name, func(t *testing.T) {
			p := shape(steps.deferred)
			var f step.Frontier
			p.Begin(&f)
			if got := text(p, &f); got != "a" {
				t.Fatalf("a turn begins with %q, want a", got)
			}
			var got []string
			for _, done := range steps.done {
				p.Advance(&f, done)
				got = append(got, text(p, &f))
			}
			if g := normal(strings.Join(got, "|")); g != normal(steps.want) {
				t.Errorf("due are %q, want %q", g, normal(steps.want))
			}
		})
	}
}

func normal(s string) string { return strings.ReplaceAll(s, "| ", "|") }

func TestBegin_ForgetsTheLastTurn(t *testing.T) {
	p := shape(true)
	var f step.Frontier
	p.Begin(&f)
	p.Advance(&f, []*step.Outcome{{Node: b, Goto: []int{d}, Sends: []step.Send{{Node: w, Payload: 1}}}})
	p.Begin(&f)
	if got := text(p, &f); got != "a" {
		t.Errorf("the next turn begins with %q, want a", got)
	}
}

func TestFrontier_GoesOnWhenRestored(t *testing.T) {
	p := shape(true)
	f := step.Frontier{Due: []int{c}, Waiting: []int{d}, Arrived: [][]bool{{true, false}, {false, true}}}
	p.Advance(&f, ran(c))
	if got := text(p, &f); got != "e ?d" {
		t.Errorf("due are %q, want e, with d waiting", got)
	}
}

func TestAdvance_DoesNotAllocate(t *testing.T) {
	p := shape(false)
	var f step.Frontier
	p.Begin(&f)
	outs := ran(a)
	if n := testing.AllocsPerRun(100, func() { p.Advance(&f, outs) }); n != 0 {
		t.Errorf("Advance makes %v allocations, want 0", n)
	}
}

// simple is Advance written without regard to speed: the rules of the package
// comment, word for word.
type simple struct {
	p       *step.Program
	arrived map[[2]int]bool
	waiting map[int]bool
}

func (s *simple) advance(done []*step.Outcome) (due []int, sends []step.Send) {
	ways := map[int]bool{}
	for _, o := range done {
		for _, n := range append(slices.Clone(s.p.Nodes[o.Node].Next), o.Goto...) {
			ways[n] = true
		}
		for _, j := range s.p.Nodes[o.Node].Feeds {
			s.arrived[[2]int{j, o.Node}] = true
		}
		sends = append(sends, o.Sends...)
	}
	for j, join := range s.p.Joins {
		missing := func(n int) bool { return !s.arrived[[2]int{j, n}] }
		if slices.ContainsFunc(join.Sources, missing) {
			continue
		}
		ways[join.Target] = true
		for _, n := range join.Sources {
			delete(s.arrived, [2]int{j, n})
		}
	}
	for n := range s.p.Nodes {
		switch {
		case ways[n] && s.p.Nodes[n].Deferred:
			s.waiting[n] = true
		case ways[n]:
			due = append(due, n)
		}
	}
	if len(due)+len(sends) == 0 {
		for n := range s.p.Nodes {
			if s.waiting[n] {
				due = append(due, n)
			}
		}
		clear(s.waiting)
	}
	return due, sends
}

// Requirement: Joins
func TestAdvance_AgreesWithTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		s := simple{p, map[[2]int]bool{}, map[int]bool{}}
		var f step.Frontier
		p.Begin(&f)
		// Begin is Advance after a node that leads to Start, as far as the rules go.
		with := *p
		with.Nodes = append(slices.Clone(p.Nodes), step.Node{Next: p.Start})
		s.p = &with
		due, sends := s.advance(ran(len(p.Nodes)))
		for n := range 12 {
			if !slices.Equal(f.Due, due) || !slices.Equal(f.Sends, sends) {
				t.Fatalf("step %d: due are %v %v, want %v %v", n, f.Due, f.Sends, due, sends)
			}
			if f.Empty() != (len(due)+len(sends) == 0) || f.Len() != len(due)+len(sends) {
				t.Fatalf("step %d: Empty is %v and Len %d", n, f.Empty(), f.Len())
			}
			var done []*step.Outcome
			for _, n := range due {
				done = append(done, drawOutcome(t, p, n))
			}
			for _, send := range sends {
				done = append(done, drawOutcome(t, p, send.Node))
			}
			p.Advance(&f, done)
			due, sends = s.advance(done)
		}
	})
}

func drawProgram(t *rapid.T) *step.Program {
	n := rapid.IntRange(1, 6).Draw(t, "nodes")
	some := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, min(n, 3), rapid.ID)
	p := &step.Program{Nodes: make([]step.Node, n)}
	for i := range p.Nodes {
		p.Nodes[i] = step.Node{Next: some.Draw(t, "next"), Deferred: rapid.IntRange(0, 3).Draw(t, "deferred") == 0}
	}
	for j := range rapid.IntRange(0, 3).Draw(t, "joins") {
		sources := append(some.Draw(t, "sources"), n-1)
		slices.Sort(sources)
		sources = slices.Compact(sources)
		for _, s := range sources {
			p.Nodes[s].Feeds = append(p.Nodes[s].Feeds, j)
		}
		p.Joins = append(p.Joins, step.Join{Target: rapid.IntRange(0, n-1).Draw(t, "target"), Sources: sources})
	}
	p.Start = some.Draw(t, "start")
	return p
}

func drawOutcome(t *rapid.T, p *step.Program, node int) *step.Outcome {
	any := rapid.IntRange(0, len(p.Nodes)-1)
	o := &step.Outcome{Node: node, Goto: rapid.SliceOfN(any, 0, 2).Draw(t, "goto")}
	for range rapid.IntRange(0, 1).Draw(t, "sends") {
		o.Sends = append(o.Sends, step.Send{Node: any.Draw(t, "to"), Payload: rapid.Int().Draw(t, "payload")})
	}
	return o
}
