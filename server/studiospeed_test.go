package server_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state"
)

type countState struct {
	N state.Value[int] `json:"n"`
}

// BenchmarkStudio_LongThread measures pages of a thread with a turn of 10,000 steps.
func BenchmarkStudio_LongThread(b *testing.B) {
	const steps = 10_000
	store, err := sqlite.Open(b.Context(), b.TempDir()+"/weft.db")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	loop := graph.New[countState]("loop")
	loop.Node("step", graph.Func(func(_ context.Context, s *countState) error {
		s.N.Set(s.N.Get() + 1)
		return nil
	}))
	loop.Edge(graph.Start, "step")
	loop.Branch("step", func(_ context.Context, s *countState) (graph.Command, error) {
		if s.N.Get() < steps {
			return graph.Goto("step"), nil
		}
		return graph.Goto(graph.End), nil
	}, "step", graph.End)
	g, err := loop.Compile(graph.Config{Store: store, MaxSteps: 2 * steps})
	if err != nil {
		b.Fatal(err)
	}
	s, stop := startChains(b, store, nil, func(c *server.Config) {
		c.Graphs, c.Studio = map[string]graph.Untyped{"loop": g.Untyped()}, server.StudioOn
	})
	defer stop()
	c := &client{t: b, handler: s, saved: map[string]string{}, seen: map[string][]int{}}
	c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
	c.do(step{request: "POST /threads/{t}/runs/wait", body: `{"assistant_id":"loop","input":{}}`, status: 200})
	path := "/studio/threads/" + c.saved["t"]
	for _, at := range []int{0, steps / 2, 10} {
		b.Run(fmt.Sprintf("at=%d", at), func(b *testing.B) {
			size := 0
			for b.Loop() {
				address := path
				if at > 0 {
					address += fmt.Sprintf("?at=%d", at)
				}
				w := studioPage(s, address, "")
				if w.Code != 200 {
					b.Fatalf("got %d: %.300s", w.Code, w.Body)
				}
				size = w.Body.Len()
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
