package storetest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// passed is the state of the graph that PassBlob runs.
type passed struct {
	File state.Blob       `json:"file"`
	Read state.Value[int] `json:"read"`
}

// PassBlob runs a graph on a store with blobs: one node stores size random bytes, another reads
// them.
func PassBlob(ctx context.Context, store checkpoint.Store, size int64) error {
	b := graph.New[passed]("pass")
	b.Node("store", graph.Func(func(ctx context.Context, s *passed) error {
		return s.File.Store(ctx, io.LimitReader(rand.NewChaCha8([32]byte{}), size))
	}))
	b.Node("read", graph.Func(func(ctx context.Context, s *passed) error {
		r, err := s.File.Open(ctx)
		if err != nil {
			return err
		}
		defer r.Close()
		n, err := io.Copy(io.Discard, r)
		s.Read.Set(int(n))
		return err
	}))
	b.Edge(graph.Start, "store")
	b.Edge("store", "read")
	b.Edge("read", graph.End)
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		return err
	}
	res, err := g.Invoke(ctx, passed{}, graph.RunOptions{Thread: "t"})
	if n := res.State.Read.Get(); err == nil && n != int(size) {
		err = fmt.Errorf("the second node read %d bytes, want %d", n, size)
	}
	return err
}
