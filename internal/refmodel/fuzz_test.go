package refmodel

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// tape is randomness that is read from data, and then goes on by itself: fuzzing a tape
// changes one decision of the generator and keeps those before it.
type tape struct {
	data []byte
	then *rand.PCG
}

func (t *tape) Uint64() uint64 {
	if len(t.data) == 0 {
		return t.then.Uint64()
	}
	var word [8]byte
	n := copy(word[:], t.data[:min(2, len(t.data))])
	t.data = t.data[n:]
	return binary.LittleEndian.Uint64(word[:]) * 0x9e3779b97f4a7c15
}

// FuzzProgram compares the engine with the reference interpreter on graphs generated from a tape.
func FuzzProgram(f *testing.F) {
	for s := range byte(8) {
		f.Add([]byte{s, 0, s, s, 7 * s, 1, 2, 3, s, s}, uint64(s))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		sp := Generate(rand.New(&tape{data, rand.NewPCG(seed, 1)}))
		in := NewInterpreter(sp)
		want := Trace(Play(sp, in, seed, false))
		store := new(checkpoint.Memory)
		g, err := (&Workshop{Spec: sp}).Compile(graph.Config{Store: store})
		if err != nil {
			t.Fatalf("%v\n%v", err, sp)
		}
		e := NewEngine(context.Background(), g, store)
		if err := differ("", Trace(Play(sp, e, seed, false)), want); err != nil {
			t.Fatalf("%v\n%v", err, sp)
		}
		if err := differ("history", strings.Join(e.History(), "\n"), strings.Join(in.History(), "\n")); err != nil {
			t.Fatalf("%v\n%v", err, sp)
		}
	})
}

// FuzzCommand lets a node return any chain of Gotos and Sends. What it declared is run, Sends
// in their order; what it did not is an ErrTarget; nothing is dropped.
func FuzzCommand(f *testing.F) {
	f.Add("gaswse", byte(1))
	f.Add("ga", byte(0))
	f.Add("gw", byte(0))
	f.Add("sasx", byte(3))
	f.Add("gcge", byte(9))
	f.Add("", byte(0))
	f.Fuzz(func(t *testing.T, text string, n byte) {
		var cmd graph.Command
		var next, sends []string
		var said, wrong bool
		for i := 0; i+1 < min(len(text), 40); i += 2 {
			to := map[byte]string{'a': "a", 'b': "b", 'w': "w", 'e': graph.End, 's': graph.Start, 'c': "c", '0': ""}[text[i+1]]
			if to == "" && text[i+1] != '0' {
				to = text[i+1 : i+2]
			}
			if said = true; text[i] == 's' {
				cmd = cmd.Send(to, int(n)+i)
				sends = append(sends, "w")
				wrong = wrong || to != "w"
				continue
			}
			cmd = cmd.Goto(to)
			wrong = wrong || to != "a" && to != "b" && to != graph.End
			if to != graph.End && !slices.Contains(next, to) {
				next = append(next, to)
			}
		}
		slices.Sort(next)
		if next = append(next, sends...); cmd.String() == "" && said {
			t.Fatal("a Command lost its targets")
		}
		got, err := commanded(t, cmd)
		switch {
		case wrong || !said:
			if !errors.Is(err, graph.ErrTarget) {
				t.Fatalf("%v: got %v and %v, want an ErrTarget", cmd, got, err)
			}
		case err != nil || !slices.Equal(got, next):
			t.Fatalf("%v: got %v and %v, want %v", cmd, got, err, next)
		}
	})
}

// commanded returns what was due after a node returned cmd, which may go to a, b, w and End.
func commanded(t *testing.T, cmd graph.Command) (next []string, err error) {
	b := graph.New[State]("commands")
	nothing := func(context.Context, *State) error { return nil }
	b.Node("r", graph.Router(func(context.Context, *State) (graph.Command, error) { return cmd, nil }, "a", "b", "w", graph.End))
	b.Node("w", graph.Worker(func(context.Context, *State, int) error { return nil }))
	for _, name := range []string{"a", "b", "c"} {
		b.Node(name, graph.Func(nothing))
		b.Edge(name, graph.End)
	}
	b.Edge("a", "c")
	b.Edge("w", graph.End)
	b.Edge(graph.Start, "r")
	store := new(checkpoint.Memory)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err = g.Invoke(ctx, State{}, graph.RunOptions{Thread: "t"}); err != nil {
		return nil, err
	}
	for p, err := range graph.History(ctx, store, checkpoint.Key{Thread: "t"}, checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(p.Nodes(), []string{"r"}) {
			return p.Next, nil
		}
	}
	return nil, errors.New("r did not run")
}

// FuzzAnswers answers two questions with anything. What does not fit is an ErrAnswer and
// leaves both questions open; what fits reaches the node that asked, and no other.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("1"), []byte("2"), byte(0))
	f.Add([]byte("0"), []byte("null"), byte(1))
	f.Add([]byte(`"1"`), []byte("1e3"), byte(2))
	f.Add([]byte("{"), []byte("[]"), byte(3))
	f.Add([]byte("1.5"), []byte("99999999999999999999"), byte(4))
	f.Fuzz(func(t *testing.T, one, two []byte, how byte) {
		store := new(checkpoint.Memory)
		sp := &Spec{MaxSteps: 9, MaxTasks: 9, Edges: [][2]string{{Start, "a"}, {Start, "b"}, {"a", End}, {"b", End}}}
		for _, field := range []string{"max", "min"} {
			name := map[string]string{"max": "a", "min": "b"}[field]
			sp.Nodes = append(sp.Nodes, Node{Name: name, Script: []Op{{Do: "ask", Field: field}}})
		}
		g, err := (&Workshop{Spec: sp}).Compile(graph.Config{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		ctx, on := context.Background(), graph.RunOptions{Thread: "t"}
		res, err := g.Invoke(ctx, State{}, on)
		if err != nil || len(res.Interrupts) != 2 {
			t.Fatalf("two questions: got %v and %v", res.Interrupts, err)
		}
		ids := []string{res.Interrupts[0].ID, res.Interrupts[1].ID}
		if how%2 == 1 {
			slices.Reverse(ids)
			one, two = two, one
		}
		a := graph.Answer(ids[0], json.RawMessage(one)).Answer(ids[1], json.RawMessage(two))
		res, err = g.Resume(ctx, a, on)
		if how%2 == 1 {
			one, two = two, one
		}
		wantOne, okOne := number(one)
		wantTwo, okTwo := number(two)
		if err == nil && res.Status == graph.Done {
			if got := []int{res.State.Max.Get(), res.State.Min.Get()}; !okOne || !okTwo || !slices.Equal(got, []int{wantOne, wantTwo}) {
				t.Fatalf("answers %q and %q arrived as %v", one, two, got)
			}
			return
		}
		if okOne && okTwo {
			t.Fatalf("answers %q and %q: %v, %v", one, two, res.Status, err)
		}
		if err != nil && !errors.Is(err, graph.ErrAnswer) {
			t.Fatalf("answers %q and %q: %v is no ErrAnswer", one, two, err)
		}
		p, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: "t"})
		if err != nil || len(p.Interrupts) == 0 {
			t.Fatalf("after answers %q and %q nothing is asked any more: %+v, %v", one, two, p, err)
		}
		res, err = g.Resume(ctx, answerAll(p.Interrupts), on)
		if err != nil || res.Status != graph.Done {
			t.Fatalf("good answers after %q and %q: %v, %v", one, two, res.Status, err)
		}
	})
}

// number returns the int that a JSON text is.
func number(data []byte) (n int, ok bool) {
	err := json.Unmarshal(data, &n)
	return n, err == nil && strings.TrimSpace(string(data)) != "null"
}

func answerAll(asked []graph.Interrupt) (a graph.Answers) {
	for i, in := range asked {
		a = a.Answer(in.ID, i)
	}
	return a
}
