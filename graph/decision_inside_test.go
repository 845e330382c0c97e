package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

type counted struct {
	N state.Sum[int] `json:"n"`
}

// asking returns a graph that asks again and again.
func asking(t *testing.T, store checkpoint.Store) *Graph[counted] {
	t.Helper()
	b := New[counted]("g")
	b.Node("a", Router(func(ctx context.Context, s *counted) (Command, error) {
		if _, err := Ask[int](ctx, Question{Prompt: "n?"}); err != nil {
			return Command{}, err
		}
		s.N.Add(1)
		return Goto("a"), nil
	}, "a", End))
	b.Edge(Start, "a")
	g, err := b.Compile(Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// recorded counts the decisions of the thread.
func recorded(t *testing.T, g *Graph[counted]) (n int) {
	t.Helper()
	for _, err := range g.Thread("t").Decisions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// Beyond the bound, an answer takes effect, its decision is not stored, and the log has an error.
func TestDecisions_BeyondTheBoundTakeEffectAndAreLogged(t *testing.T) {
	var log bytes.Buffer
	before, most := slog.Default(), mostDecisions
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	mostDecisions = 5
	defer func() { slog.SetDefault(before); mostDecisions = most }()
	g := asking(t, new(checkpoint.Memory))
	run := RunOptions{Thread: "t", By: "anna"}
	if _, err := g.Invoke(t.Context(), counted{}, run); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		res, err := g.Resume(t.Context(), Reply(i), run)
		if err != nil || res.State.N.Get() != i+1 {
			t.Fatalf("answer %d: %d, %v", i, res.State.N.Get(), err)
		}
	}
	if _, err := g.Patch(t.Context(), func(s *counted) error { s.N.Add(1); return nil }, run); err != nil {
		t.Fatal(err)
	}
	if n := recorded(t, g); n != 5 {
		t.Errorf("%d decisions are stored, want 5", n)
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 4 || !strings.Contains(log.String(), "thread=t") {
		t.Errorf("the log has %d errors, want 4:\n%s", n, log.String())
	}
}

// A thread stores at most 10,000 decisions.
func TestDecisions_TenThousandAreStored(t *testing.T) {
	store := new(checkpoint.Memory)
	g := asking(t, store)
	run := RunOptions{Thread: "t", By: "anna"}
	if _, err := g.Invoke(t.Context(), counted{}, run); err != nil {
		t.Fatal(err)
	}
	chain, err := checkpoint.Open(t.Context(), store, checkpoint.Key{Thread: "t"}, g.p.schema)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < mostDecisions-1; n += 99 {
		for i := range min(99, mostDecisions-1-n) {
			d, err := json.Marshal(DecisionRecord{Type: DecisionApprove, By: fmt.Sprint(n + i), Checkpoint: 1})
			if err != nil {
				t.Fatal(err)
			}
			chain.Decide(d)
		}
		rec := *chain.Record
		if err := chain.Commit(t.Context(), fmt.Sprint("c", n), &rec, chain.State, make([]bool, 1), chain.Pending...); err != nil {
			t.Fatal(err)
		}
	}
	beside := []checkpoint.Entry{}
	snap, err := store.Load(t.Context(), checkpoint.Key{Thread: "t"}, 1)
	if err != nil || len(snap.Pending) > 0 {
		t.Fatal(err, beside)
	}
	for i := range 3 {
		if _, err := g.Patch(t.Context(), func(s *counted) error { s.N.Add(1); return nil }, run); err != nil {
			t.Fatal(i, err)
		}
	}
	if n := recorded(t, g); n != 10_000 {
		t.Errorf("%d decisions are stored, want 10,000", n)
	}
}

// puts is a store that records the entries of each call of Put.
type puts struct {
	*checkpoint.Memory
	calls [][]string
}

func (p *puts) Put(ctx context.Context, pending checkpoint.Pending) error {
	var slots []string
	for _, e := range pending.Entries {
		slot, _, _ := strings.Cut(e.Slot, "/")
		slots = append(slots, slot)
	}
	p.calls = append(p.calls, slots)
	return p.Memory.Put(ctx, pending)
}

// An answer and its decision are stored in one call, so a crash cannot separate them.
func TestDecisions_AreStoredInOneCallWithTheAnswer(t *testing.T) {
	store := &puts{Memory: new(checkpoint.Memory)}
	g := asking(t, store)
	if _, err := g.Invoke(t.Context(), counted{}, RunOptions{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	store.calls = nil
	if _, err := g.Resume(t.Context(), Reply(1), RunOptions{Thread: "t", By: "anna"}); err != nil {
		t.Fatal(err)
	}
	if len(store.calls) == 0 || fmt.Sprint(store.calls[0]) != "[answer decision]" {
		t.Errorf("the calls put %v, want answer and decision in the first", store.calls)
	}
}
