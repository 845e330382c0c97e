package step_test

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/internal/step"
)

// tasksOf returns the tasks that are due.
func tasksOf(f *step.Frontier) (tasks []step.Task) {
	for i := range f.Len() {
		tasks = append(tasks, f.Task(i))
	}
	return tasks
}

func TestTask_CanonicalOrder(t *testing.T) {
	p := shape(false)
	var f step.Frontier
	p.Begin(&f)
	p.Advance(&f, []*step.Outcome{{Node: a, Sends: []step.Send{{Node: w, Payload: 1}, {Node: w, Payload: 2, Timeout: 7}}}})
	want := []step.Task{{Node: b, Index: -1}, {Node: c, Index: -1}, {Node: w, Index: 0, Payload: 1}, {Node: w, Index: 1, Payload: 2, Timeout: 7}}
	if got := tasksOf(&f); !slices.Equal(got, want) {
		t.Errorf("tasks are %v, want %v: nodes by name, then Sends", got, want)
	}
}

func TestWaiting_NamesNodesAndJoins(t *testing.T) {
	p := shape(true)
	var f step.Frontier
	p.Begin(&f)
	p.Advance(&f, ran(b))
	p.Advance(&f, []*step.Outcome{{Node: w, Goto: []int{d, e}}})
	want := step.Waiting{Deferred: []string{"d"}, Joins: []step.WaitingJoin{
		{Target: "e", Sources: []string{"b", "c"}, Arrived: []string{"b"}},
		{Target: "e", Sources: []string{"c", "w"}, Arrived: []string{"w"}},
	}}
	if got := p.Waiting(&f); !reflect.DeepEqual(got, want) {
		t.Errorf("Waiting is %+v, want %+v", got, want)
	}
}

func TestRestore_ReturnsWhatIsMissing(t *testing.T) {
	p := shape(true)
	gone := step.Waiting{Deferred: []string{"d", "x"}, Joins: []step.WaitingJoin{
		{Target: "e", Sources: []string{"b", "c"}, Arrived: []string{"c"}},
		{Target: "d", Sources: []string{"b", "c"}, Arrived: []string{"c"}},
		{Target: "e", Sources: []string{"b"}, Arrived: []string{"b"}},
	}}
	var f step.Frontier
	missing := p.Restore(&f, []step.Task{{Node: c, Index: -1}, {Node: a, Index: -1}, {Node: c, Index: -1}}, gone)
	if want := (step.Waiting{Deferred: gone.Deferred[1:], Joins: gone.Joins[1:]}); !reflect.DeepEqual(missing, want) {
		t.Errorf("missing is %+v, want %+v", missing, want)
	}
	if got, want := text(p, &f), "a c ?d !0"; got != want {
		t.Errorf("the frontier is %q, want %q: what the program has", got, want)
	}
}

// A frontier that was restored leads to what the one it was taken from leads to.
func TestRestore_GoesOnAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		for i := range p.Nodes {
			p.Nodes[i].Name = string(rune('a' + i))
		}
		var f, again step.Frontier
		p.Begin(&f)
		for n := range 6 {
			if missing := p.Restore(&again, tasksOf(&f), p.Waiting(&f)); len(missing.Deferred)+len(missing.Joins) > 0 {
				t.Fatalf("step %d: missing is %+v, want nothing", n, missing)
			}
			if got, want := text(p, &again), text(p, &f); got != want {
				t.Fatalf("step %d: restored %q, want %q", n, got, want)
			}
			var done []*step.Outcome
			for i := range f.Len() {
				done = append(done, drawOutcome(t, p, f.Task(i).Node))
			}
			p.Advance(&f, done)
			p.Advance(&again, done)
			if got, want := text(p, &again), text(p, &f); got != want {
				t.Fatalf("step %d: after a restore %q follows, want %q", n, got, want)
			}
		}
	})
}

func TestRestore_JoinsThatAreAlike(t *testing.T) {
	p := &step.Program{
		Nodes: []step.Node{{Name: "a", Feeds: []int{0, 1}}, {Name: "b", Feeds: []int{0, 1}}, {Name: "c"}},
		Joins: []step.Join{{Target: 2, Sources: []int{0, 1}}, {Target: 2, Sources: []int{0, 1}}},
		Start: []int{0},
	}
	var f, again step.Frontier
	p.Begin(&f)
	p.Advance(&f, []*step.Outcome{{Node: 0, Goto: []int{1}}})
	p.Restore(&again, tasksOf(&f), p.Waiting(&f))
	p.Advance(&again, []*step.Outcome{{Node: 1}})
	if got := text(p, &again); !slices.Equal(again.Due, []int{2}) || len(p.Starved(&again)) > 0 {
		t.Errorf("two equal joins that were restored\n got: %q\nwant: c is due, and no join waits", got)
	}
}
