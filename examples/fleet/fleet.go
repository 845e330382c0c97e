package fleet

import (
	"context"
	_ "embed"
	"os"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

//go:embed pages.yaml
var pages []byte

// Load returns the workflow of pages.yaml.
func Load() (*workflow.Workflow, error) {
	kinds := nodes.Kinds()
	kinds["go:read"] = workflow.Go(read)
	return workflow.Parse("pages.yaml", pages, workflow.Options{Kinds: kinds, Strict: true})
}

// read reads a page, which takes 25 ms, and returns the id of the process.
func read(ctx context.Context, _ struct{}) (int, error) {
	select {
	case <-time.After(25 * time.Millisecond):
		return os.Getpid(), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// Open compiles the workflow.
func Open(c graph.Config) (graph.Untyped, error) {
	w, err := Load()
	if err != nil {
		return nil, err
	}
	g, err := w.Compile(c)
	if err != nil {
		return nil, err
	}
	return g.Untyped(), nil
}
