package pes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/internal/storetest"
	"github.com/weftrun/weft/nodes/pes"
)

// scenario has, for each turn of a conversation, its plans, the items that fail, and the answers of
// a person. It depends on the state alone, so that a repeated item does the same.
type scenario struct {
	policy pes.Policy
	review bool
	turns  []scene
}

type scene struct {
	items, again pes.Plan // again is after a failure, and after a rejection
	fails        map[string]bool
	rejects      bool
}

// drawPlan draws a plan without a cycle; some of its items may be those of an earlier turn.
func drawPlan(t *rapid.T, name string, least int) (p pes.Plan) {
	n := rapid.IntRange(least, 5).Draw(t, name)
	for i := range n {
		item := pes.Item{ID: fmt.Sprint(name[:1], i), Task: "do it"}
		for j := range i {
			if rapid.IntRange(0, 2).Draw(t, "depends") == 0 {
				item.DependsOn = append(item.DependsOn, fmt.Sprint(name[:1], j))
			}
		}
		p.Items = append(p.Items, item)
	}
	return p
}

func drawScenario(t *rapid.T) scenario {
	return scenario{
		policy: rapid.SampledFrom([]pes.Policy{pes.Stop, pes.Continue, pes.Replan}).Draw(t, "policy"), review: rapid.Bool().Draw(t, "review"),
		turns: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) scene {
			return scene{drawPlan(t, "first", 1), drawPlan(t, "second", 1), rapid.MapOfN(rapid.SampledFrom([]string{"f0", "f1", "f3", "s1", "s2"}), rapid.Just(true), 0, 2).Draw(t, "fails"), rapid.Bool().Draw(t, "rejects")}
		}), 1, 3).Draw(t, "turns"),
	}
}

func (st scenario) config(n int) pes.Config {
	sc := st.turns[n-1]
	return pes.Config{
		OnFailure: st.policy, Review: st.review,
		Plan: func(_ context.Context, r pes.PlanRequest) (pes.Plan, error) {
			if r.Problem != "" {
				return sc.again, nil
			}
			return sc.items, nil
		},
		Execute: func(_ context.Context, r pes.ExecuteRequest) (string, error) {
			if sc.fails[r.Item.ID] {
				return "", errors.New("boom " + r.Item.ID)
			}
			text := r.Item.ID
			for _, t := range r.Needs {
				if t.Status != pes.Completed {
					return "", fmt.Errorf("%s was begun although %s is %s", r.Item.ID, t.ID, t.Status)
				}
				text += " " + t.Result.Text
			}
			return text[:min(len(text), 40)], nil
		},
	}
}

// answer returns the person's answer: a plan is rejected once.
func (sc scene) answer(open []graph.Interrupt) (a graph.Answers) {
	if len(open) == 0 {
		return a
	}
	d := graph.Decision{Type: graph.DecisionApprove}
	if sc.rejects && strings.Contains(open[0].Detail, "f0") {
		d = graph.Decision{Type: graph.DecisionReject, Message: "not so"}
	}
	return a.Answer(open[0].ID, d)
}

// run runs turn n to its end through all faults, each time with a newly compiled graph, as another
// process would.
func (st scenario) run(store checkpoint.Store, n int) (string, pes.State, error) {
	for runs := range 100 {
		b, err := pes.New(st.config(n))
		if err != nil {
			return "", pes.State{}, err
		}
		id := fmt.Sprint("run ", n, ".", runs)
		g, err := b.Compile(graph.Config{Store: store, NewID: func() string { return id }, Now: func() time.Time { return noon }})
		if err != nil {
			return "", pes.State{}, err
		}
		s, p, err := g.Thread("t").State(context.Background(), 0)
		if errors.Is(err, graph.ErrUnknownThread) {
			id = "the first" // the ids of all tasks come from it
		}
		switch {
		case err != nil && !errors.Is(err, graph.ErrUnknownThread):
		case p.Turn < n:
			_, err = g.Invoke(context.Background(), pes.Input(fmt.Sprint("turn ", n)), run)
		case p.Status == graph.Done:
			text, err := g.EncodeState(s)
			return string(text), s, err
		default:
			_, err = g.Resume(context.Background(), st.turns[n-1].answer(p.Interrupts), run)
		}
		if err != nil && !errors.Is(err, storetest.ErrDisk) {
			return "", s, err
		}
	}
	return "", pes.State{}, errors.New("the turn does not end")
}

// A conversation with faults anywhere ends in the same states as without. Completed items stay
// completed, and no item of an ended plan is open.
func TestCrash_ConversationEndsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := drawScenario(t)
		whole := &checkpoint.Memory{}
		broken := &storetest.FailingStore{Store: &checkpoint.Memory{}, At: rapid.MapOfN(rapid.IntRange(1, 30), rapid.Bool(), 0, 6).Draw(t, "faults")}
		done := map[string]pes.Result{}
		for n := range st.turns {
			want, s, err := st.run(whole, n+1)
			if err != nil {
				t.Fatalf("turn %d, undisturbed: %v", n+1, err)
			}
			got, _, err := st.run(broken, n+1)
			if err != nil {
				t.Fatalf("turn %d, with faults: %v", n+1, err)
			}
			if got != want {
				t.Fatalf("turn %d: got\n%s\nwant\n%s", n+1, got, want)
			}
			for id, r := range done {
				if now := s.Results.Get(id); now != r {
					t.Fatalf("turn %d changed the completed item %s: got %+v, want %+v", n+1, id, now, r)
				}
			}
			for _, i := range s.Todo() {
				switch i.Status {
				case pes.Completed:
					done[i.ID] = i.Result
				case pes.Pending, pes.InProgress:
					t.Fatalf("turn %d ended and %s is %s", n+1, i.ID, i.Status)
				}
			}
			if s.Messages.Len() != 2*(n+1) {
				t.Fatalf("turn %d: got %d messages", n+1, s.Messages.Len())
			}
		}
	})
}

// One turn with many features, broken at each write in both ways.
func TestCrash_TurnBrokenAtEachWriteEndsTheSame(t *testing.T) {
	st := scenario{pes.Replan, true, []scene{{items("f0", "f1", "f2<f0", "f3<f1"), items("s0<f0", "s1", "s2<s0,s1"), map[string]bool{"f3": true}, false}}}
	counted := &storetest.FailingStore{Store: &checkpoint.Memory{}}
	want, s, err := st.run(counted, 1)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "list", statusText(&s), "f0=completed f1=completed f2=completed s0=completed s1=completed s2=completed")
	if counted.Writes < 15 {
		t.Fatalf("got %d writes: the turn is not rich", counted.Writes)
	}
	for at := 1; at <= counted.Writes; at++ {
		for _, done := range []bool{false, true} {
			got, _, err := st.run(&storetest.FailingStore{Store: &checkpoint.Memory{}, At: map[int]bool{at: done}}, 1)
			if err != nil {
				t.Fatalf("broken at write %d (done: %v): %v", at, done, err)
			}
			same(t, fmt.Sprintf("broken at write %d (done: %v)", at, done), got, want)
		}
	}
}
