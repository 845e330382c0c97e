package temporal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	sdk "go.temporal.io/sdk/temporal"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// wrote is a state to which nodes add.
type wrote struct {
	Log state.List[string] `json:"log"`
}

// failingStore loses its leases, or is away.
type failingStore struct {
	*checkpoint.Memory
	loses, away bool
}

func (s *failingStore) Put(ctx context.Context, p checkpoint.Pending) error {
	if s.away {
		return checkpoint.ErrUnavailable
	}
	return s.Memory.Put(ctx, p)
}

func (s *failingStore) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	if s.loses && r.Fence != "" {
		return checkpoint.Lease{}, &checkpoint.FencedError{Thread: r.Thread}
	}
	return s.Memory.Acquire(ctx, r)
}

// An activity is tried again whose lease was lost or whose store was away, also during a node. An
// error of a node that is about another store is the failure of the run.
func TestAgain_TheStoreDuringANode(t *testing.T) {
	for name, test := range map[string]struct {
		node  func(context.Context, *failingStore) error
		again bool
	}{
		"a lost lease": {again: true, node: func(ctx context.Context, s *failingStore) error {
			s.loses = true
			<-ctx.Done()
			return ctx.Err()
		}},
		"a store that is away": {again: true, node: func(ctx context.Context, s *failingStore) error {
			s.away = true
			_, err := graph.Once(ctx, "k", func(context.Context) (int, error) { return 1, nil })
			return err
		}},
		"another thread that is busy": {node: func(context.Context, *failingStore) error { return &checkpoint.BusyError{Thread: "other"} }},
		"the lease of another thread": {node: func(context.Context, *failingStore) error { return checkpoint.ErrLeaseLost }},
		"another store":               {node: func(context.Context, *failingStore) error { return checkpoint.ErrUnavailable }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &failingStore{Memory: new(checkpoint.Memory)}
				b := graph.New[wrote]("g")
				b.Node("a", graph.Func(func(ctx context.Context, _ *wrote) error { return test.node(ctx, s) }))
				b.Edge(graph.Start, "a")
				b.Edge("a", graph.End)
				g, err := b.Compile(graph.Config{Store: s})
				if err != nil {
					t.Fatal(err)
				}
				_, err = g.Invoke(t.Context(), wrote{}, graph.RunOptions{Thread: "t", Lease: checkpoint.HoldOptions{TTL: time.Second}})
				if err == nil {
					t.Fatal("the run has succeeded")
				}
				var app *sdk.ApplicationError
				again := (&activities{}).again(t.Context(), err)
				if isAgain := errors.As(again, &app) && !app.NonRetryable(); isAgain != test.again {
					t.Errorf("after %v the activity ended with %v; is it tried again: %v, want %v", err, again, isAgain, test.again)
				}
			})
		})
	}
}
