package blob_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/blob"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// State has a file that is not in the history.
type State struct {
	File  state.Blob       `json:"file"`
	Lines state.Value[int] `json:"lines"`
}

// A node stores a large file, and another one reads it. The history has its hash.
func Example() {
	b := graph.New[State]("count")
	b.Node("fetch", graph.Func(func(ctx context.Context, s *State) error {
		return s.File.Store(ctx, strings.NewReader(strings.Repeat("a line\n", 100_000)))
	}))
	b.Node("count", graph.Func(func(ctx context.Context, s *State) error {
		r, err := s.File.Open(ctx)
		if err != nil {
			return err
		}
		defer r.Close()
		lines, buffer := 0, make([]byte, 4096)
		for {
			n, err := r.Read(buffer)
			lines += strings.Count(string(buffer[:n]), "\n")
			if err == io.EOF {
				s.Lines.Set(lines)
				return nil
			}
			if err != nil {
				return err
			}
		}
	}))
	b.Edge(graph.Start, "fetch")
	b.Edge("fetch", "count")
	b.Edge("count", graph.End)

	store, err := checkpoint.WithBlobs(new(checkpoint.Memory), blob.Over(new(blob.Map)), checkpoint.BlobOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := b.Compile(graph.Config{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := g.Invoke(context.Background(), State{}, graph.RunOptions{Thread: "t1"})
	file := res.State.File.Get()
	fmt.Println(res.State.Lines.Get(), file.Size, file.Hash[:8], err)
	// Output: 100000 700000 f15d061d <nil>
}
