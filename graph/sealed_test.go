package graph_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// tapped is a store that keeps a copy of the entries that come to it, as they are stored.
type tapped struct {
	*checkpoint.Memory
	entries []checkpoint.Entry
}

func (s *tapped) Put(ctx context.Context, p checkpoint.Pending) error {
	s.entries = append(s.entries, p.Entries...)
	return s.Memory.Put(ctx, p)
}

func (s *tapped) Commit(ctx context.Context, c checkpoint.Commit) error {
	s.entries = append(s.entries, c.Pending...)
	return s.Memory.Commit(ctx, c)
}

// sealedOver returns what keeps values encrypted in a store.
func sealedOver(t *testing.T, inside checkpoint.Store) checkpoint.Store {
	t.Helper()
	keys := &checkpoint.Keys{Current: "k", Ring: map[string][]byte{"k": []byte(strings.Repeat("k", 32))}}
	store, err := checkpoint.Sealed(inside, checkpoint.Codec{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// pays builds a graph that pays once a person has said yes.
func pays(t *testing.T, store checkpoint.Store, paid *atomic.Int32) *graph.Graph[world] {
	b := graph.New[world]("pays")
	b.Node("offer", logs("offer"))
	b.Node("pay", graph.Func(func(ctx context.Context, s *world) error {
		yes, err := graph.Ask[bool](ctx, graph.Question{Prompt: "Pay?"})
		if err == nil && yes {
			paid.Add(1)
			s.Log.Append("paid")
		}
		return err
	}))
	b.Edge(graph.Start, "offer")
	b.Edge("offer", "pay")
	b.Edge("pay", graph.End)
	return build(t, b, graph.Config{Store: store})
}

// A yes of one branch, put beside the same question of another one, is no yes there.
//
// Requirement: a sealed value opens only in its place
func TestSealed_AnswerOfAnotherBranchIsRefused(t *testing.T) {
	inside := &tapped{Memory: new(checkpoint.Memory)}
	var paid atomic.Int32
	g := pays(t, sealedOver(t, inside), &paid)
	first := invoke(t, g, "t1", graph.Interrupted)
	res, err := g.Resume(ctx, graph.Reply(true), t1)
	ended(t, graph.Done, res, err)
	yes := slices.IndexFunc(inside.entries, func(e checkpoint.Entry) bool { return strings.HasPrefix(e.Slot, "answer/") })
	if yes < 0 || paid.Load() != 1 {
		t.Fatalf("the answer was stored: %v, paid %d times", yes >= 0, paid.Load())
	}

	again := t1
	again.At = first.Checkpoint
	res, err = g.Resume(ctx, graph.Answers{}, again)
	ended(t, graph.Interrupted, res, err)
	if res.Interrupts[0].ID != first.Interrupts[0].ID {
		t.Fatal("the question of the other branch is another one")
	}
	before := rawHead(t, inside)
	if err := inside.Memory.Put(ctx, checkpoint.Pending{Key: checkpoint.Key{Thread: "t1"}, Head: before.Seq, Entries: inside.entries[yes : yes+1]}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Resume(ctx, graph.Answers{}, t1); !errors.Is(err, checkpoint.ErrCorrupt) || paid.Load() != 1 {
		t.Errorf("with the answer of another branch, Resume returned %v and paid %d times in all, want %v and once", err, paid.Load(), checkpoint.ErrCorrupt)
	}
	if _, err := graph.Inspect(ctx, sealedOver(t, inside), checkpoint.Key{Thread: "t1"}); !errors.Is(err, checkpoint.ErrCorrupt) {
		t.Errorf("Inspect returned %v, want %v", err, checkpoint.ErrCorrupt)
	}
}

func rawHead(t *testing.T, store checkpoint.Store) checkpoint.Snapshot {
	t.Helper()
	snap, err := store.Load(ctx, checkpoint.Key{Thread: "t1"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// A question of an encrypted thread can be marked as seen, and answered after that.
func TestSealed_SeenQuestionIsAnswered(t *testing.T) {
	var paid atomic.Int32
	store := sealedOver(t, new(checkpoint.Memory))
	g := pays(t, store, &paid)
	first := invoke(t, g, "t1", graph.Interrupted)
	if err := graph.MarkSeen(ctx, store, "t1", first.Interrupts[0].ID); err != nil {
		t.Fatal(err)
	}
	p, err := graph.Inspect(ctx, store, checkpoint.Key{Thread: "t1"})
	if err != nil || !p.Interrupts[0].Seen {
		t.Fatalf("after MarkSeen, Inspect returned %+v, %v", p.Interrupts, err)
	}
	res, err := g.Resume(ctx, graph.Reply(true), t1)
	ended(t, graph.Done, res, err)
}

// An input that waits begins one turn, also when its thread was sealed anew meanwhile.
func TestReseal_KeepsInputsThatWait(t *testing.T) {
	var paid atomic.Int32
	store := sealedOver(t, new(checkpoint.Memory))
	g := pays(t, store, &paid)
	invoke(t, g, "t1", graph.Interrupted)
	queued := t1
	queued.OnOpenQuestions = graph.Queue
	for range 2 {
		if res, err := g.Invoke(ctx, world{}, queued); err != nil || res.Status != graph.Queued {
			t.Fatalf("Invoke returned %q, %v", res.Status, err)
		}
	}
	if err := checkpoint.Reseal(ctx, store, "t1", ""); err != nil {
		t.Fatal(err)
	}
	for turn := 1; turn <= 3; turn++ {
		res, err := g.Resume(ctx, graph.Reply(true), t1)
		if err != nil || turn < 3 && res.Status != graph.Interrupted || turn == 3 && res.Status != graph.Done {
			t.Fatalf("turn %d ended %q, %v", turn, res.Status, err)
		}
	}
	if paid.Load() != 3 {
		t.Errorf("one input and two that waited paid %d times", paid.Load())
	}
}
