package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/agent"
	"github.com/weftrun/weft/state/message"
)

var errFault = errors.New("the disk is on fire")

// faulty is a store whose write number at fails once, before or after it is done.
type faulty struct {
	checkpoint.Store
	mu      sync.Mutex
	at      int
	applied bool
	writes  int
}

func (f *faulty) write(do func() error) error {
	f.mu.Lock()
	f.writes++
	fails := f.writes == f.at
	f.mu.Unlock()
	if fails && !f.applied {
		return errFault
	}
	if err := do(); err != nil || !fails {
		return err
	}
	return errFault
}

func (f *faulty) Commit(ctx context.Context, c checkpoint.Commit) error {
	return f.write(func() error { return f.Store.Commit(ctx, c) })
}

func (f *faulty) Put(ctx context.Context, p checkpoint.Pending) error {
	return f.write(func() error { return f.Store.Put(ctx, p) })
}

// script holds the operations of two parallel nodes on the contexts in one turn.
type script struct {
	Fails bool // the turn ends with a failure of its last node
	Ops   [2][]op
}

type op struct {
	Type, Key string
	N         int
	Forget    int // 0: put; 1: delete the entry; 2: clear the type
}

func drawScripts(t *rapid.T) []script {
	anOp := rapid.Custom(func(t *rapid.T) op {
		return op{
			rapid.SampledFrom([]string{"A", "B"}).Draw(t, "type"), rapid.SampledFrom([]string{"k", "l", "m"}).Draw(t, "key"),
			rapid.IntRange(0, 9).Draw(t, "n"), rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(t, "forget"),
		}
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) script {
		ops := rapid.SliceOfN(anOp, 0, 4)
		return script{rapid.IntRange(0, 3).Draw(t, "fails") == 0, [2][]op{ops.Draw(t, "ops of a"), ops.Draw(t, "ops of b")}}
	}), 1, 4).Draw(t, "turns")
}

func (o op) do(s *agent.State) error {
	switch o.Forget {
	case 1:
		s.Context.Delete(o.Type, o.Key)
	case 2:
		s.Context.Clear(o.Type)
	default:
		return s.Context.Put(o.Type, o.Key, state.ContextEntry{Fields: fmt.Sprintf(`{"n":%d}`, o.N)})
	}
	return nil
}

var errTurn = errors.New("the turn fails")

// graph returns the graph of one turn.
func (sc script) graph(store checkpoint.Store) (*graph.Graph[agent.State], error) {
	b := graph.New[agent.State]("turn")
	b.Node("end", graph.Func(func(_ context.Context, s *agent.State) error {
		if sc.Fails {
			_ = s.Context.Put("A", "lost", state.ContextEntry{Fields: `{}`})
			return errTurn
		}
		return s.Messages.Add(message.Assistant("done"))
	}))
	for i, name := range []string{"a", "b"} {
		b.Node(name, graph.Func(func(_ context.Context, s *agent.State) error {
			s.Planning.ActiveCapabilities.Append(name)
			for _, o := range sc.Ops[i] {
				if err := o.do(s); err != nil {
					return err
				}
			}
			return nil
		}))
		b.Edge(graph.Start, name)
	}
	b.Join("end", "a", "b")
	b.Edge("end", graph.End)
	return b.Compile(graph.Config{Store: store})
}

// turn runs turn n to its end, through all faults, each time with a graph compiled anew. It returns
// the state as the next turn finds it.
func (sc script) turn(t *rapid.T, store checkpoint.Store, n int, prior *agent.State) agent.State {
	in := agent.StateManager{}.CreateFresh(fmt.Sprint("turn ", n), prior)
	for range 20 {
		g, err := sc.graph(store)
		if err != nil {
			t.Fatal(err)
		}
		_, p, err := g.Thread("t1").State(context.Background(), 0)
		if err != nil && !errors.Is(err, graph.ErrUnknownThread) {
			t.Fatal(err)
		}
		if p.Turn == n && p.Status != graph.Done {
			_, err = g.Resume(context.Background(), graph.Answers{}, graph.RunOptions{Thread: "t1"})
		} else if p.Turn < n {
			_, err = g.Invoke(context.Background(), in, graph.RunOptions{Thread: "t1"})
		} else {
			err = nil // its end was stored, and only the reply was lost
		}
		if errors.Is(err, errFault) {
			continue
		}
		if err != nil && !errors.Is(err, errTurn) {
			t.Fatal(err)
		}
		end, _, err := g.Thread("t1").State(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	t.Fatal("the turn does not end")
	return in
}

// model is what a thread should know: the number of each entry by type and key.
type model map[[2]string]int

// after returns what the thread should know after a turn, and what the turn deleted.
func (w model) after(sc script) (next model, forgotten map[[2]string]bool) {
	next, forgotten = maps.Clone(w), map[[2]string]bool{}
	for _, ops := range sc.Ops {
		view := maps.Clone(w)
		writes := map[[2]string]*int{}
		for _, o := range ops {
			at := [2]string{o.Type, o.Key}
			switch o.Forget {
			case 0:
				view[at], writes[at] = o.N, &o.N
			case 1:
				delete(view, at)
				writes[at], forgotten[at] = nil, true
			case 2:
				for k := range view {
					if k[0] == o.Type {
						delete(view, k)
						writes[k], forgotten[k] = nil, true
					}
				}
			}
		}
		for at, n := range writes {
			if n == nil {
				delete(next, at)
			} else {
				next[at] = *n
			}
		}
	}
	return next, forgotten
}

func known(t *rapid.T, s agent.State) model {
	w := model{}
	for ref, e := range s.Context.All() {
		var fields struct{ N int }
		if err := json.Unmarshal([]byte(e.Fields), &fields); err != nil {
			t.Fatal(err)
		}
		w[[2]string{ref.Type, ref.Key}] = fields.N
	}
	return w
}

// After turn n the agent knows the contexts of turn n-1 and the new ones, except those that the
// turn deleted. Faults do not change this.
func TestContext_LosesOnlyDeletedEntries(t *testing.T) {
	stores := map[string]func() checkpoint.Store{
		"memory": func() checkpoint.Store { return &checkpoint.Memory{} },
		"sqlite": func() checkpoint.Store {
			s, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "weft.db"))
			must(t, err)
			return s
		},
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				below := open()
				if c, ok := below.(io.Closer); ok {
					defer c.Close()
				}
				var prior *agent.State
				before := model{}
				for i, sc := range drawScripts(t) {
					store := &faulty{Store: below, at: rapid.IntRange(0, 8).Draw(t, "fails at"), applied: rapid.Bool().Draw(t, "applied")}
					end := sc.turn(t, store, i+1, prior)
					want, forgotten := before.after(sc)
					got := known(t, end)
					if !maps.Equal(got, want) {
						t.Fatalf("turn %d: got %v, want %v", i+1, got, want)
					}
					for at := range before {
						if _, ok := got[at]; !ok && !forgotten[at] {
							t.Fatalf("turn %d lost %v, which no node deleted", i+1, at)
						}
					}
					before, prior = got, nil
					if rapid.Bool().Draw(t, "carries") {
						prior = &end
					}
				}
			})
		})
	}
}
