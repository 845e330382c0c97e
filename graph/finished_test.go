package graph_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
)

// finishes returns the nodes of the tasks in CommitInfo.Finished. Each task must have its own id.
func finishes(p graph.CommitInfo) (nodes []string) {
	ids := map[string]bool{}
	for _, f := range p.Finished {
		nodes = append(nodes, f.Node)
		ids[f.Task] = true
	}
	if ids[""] || len(ids) != len(nodes) {
		nodes = append(nodes, fmt.Sprint("ids are not unique: ", p.Finished))
	}
	return nodes
}

// Requirement: Siblings keep their work
func TestCommitInfo_NamesTheFinishedTasks(t *testing.T) {
	for name, other := range map[string]graph.Node[world]{
		"failure": graph.Func(func(context.Context, *world) error { time.Sleep(time.Second); return errBoom }),
		"question": graph.Func(func(ctx context.Context, s *world) error {
			_, err := graph.Ask[bool](ctx, graph.Question{Prompt: "ok?"})
			return err
		}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := stored()
				var ids sync.Map
				b := graph.New[world]("beside")
				b.Node("fan", graph.Router(func(context.Context, *world) (graph.Command, error) {
					return graph.Goto("other").Send("work", 1).Send("work", 2), nil
				}, "other", "work"))
				b.Node("work", graph.Worker(func(ctx context.Context, _ *world, n int) error {
					ids.Store(graph.TaskID(ctx), n)
					return nil
				}))
				b.Node("other", other)
				b.Edge(graph.Start, "fan")
				b.Edge("work", graph.End)
				b.Edge("other", graph.End)
				g := build(t, b, cfg)
				_, _ = g.Invoke(t.Context(), world{}, t1)
				p, err := graph.Inspect(t.Context(), cfg.Store, checkpoint.Key{Thread: "t1"})
				if got := finishes(p); err != nil || !slices.Equal(got, []string{"work", "work"}) {
					t.Fatalf("got %v, %v; want both tasks of work", got, err)
				}
				for _, f := range p.Finished {
					if _, ran := ids.Load(f.Task); !ran {
						t.Errorf("task %q is not one that ran", f.Task)
					}
				}
				_, then, err := g.Untyped().Thread("t1").State(t.Context(), 0)
				if err != nil || !slices.Equal(then.Finished, p.Finished) {
					t.Errorf("State returns %v, %v; want what Inspect returns", then.Finished, err)
				}
				for before, err := range graph.History(t.Context(), cfg.Store, checkpoint.Key{Thread: "t1"}, checkpoint.Query{Before: p.Checkpoint}) {
					if err != nil || before.Finished != nil {
						t.Errorf("commit %d has the finished tasks %v, %v; want none", before.Checkpoint, before.Finished, err)
					}
				}
			})
		})
	}
}
