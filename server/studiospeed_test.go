package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/sqlite"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server"
	"github.com/weftrun/weft/state"
)

type countState struct {
	N     state.Value[int]      `json:"n"`
	Texts state.Value[[]string] `json:"texts"`
	More  state.List[string]    `json:"more"`
}

// counting compiles a graph whose node runs steps times. Each run adds a text of so many bytes.
func counting(b *testing.B, store checkpoint.Store, steps, bytes int) graph.Untyped {
	b.Helper()
	loop := graph.New[countState]("loop")
	loop.Node("step", graph.Func(func(_ context.Context, s *countState) error {
		s.N.Set(s.N.Get() + 1)
		if bytes > 0 {
			text := strings.Repeat("0123456789abcdef", bytes/16)
			s.More.Append(text)
			s.Texts.Set(append(s.Texts.Get(), text))
		}
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
	return g.Untyped()
}

// BenchmarkStudio_Thread measures pages of a thread with a turn of 10,000 steps, and of one with a
// state of 1 MiB.
func BenchmarkStudio_Thread(b *testing.B) {
	store, err := sqlite.Open(b.Context(), b.TempDir()+"/weft.db")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	s, stop := startChains(b, store, nil, func(c *server.Config) {
		c.Graphs, c.Studio = map[string]graph.Untyped{"long": counting(b, store, 10_000, 0), "large": counting(b, store, 2, 256<<10)}, server.StudioOn
	})
	defer stop()
	for _, page := range []struct {
		graph   string
		queries []string
	}{
		{"large", []string{"", "?at=3&from=2", "?at=3&tab=raw"}},
		{"long", []string{"", "?at=5000", "?at=10"}},
	} {
		c := &client{t: b, handler: s, saved: map[string]string{}, seen: map[string][]int{}}
		c.do(step{request: "POST /threads", status: 200, save: "t=thread_id"})
		c.do(step{request: "POST /threads/{t}/runs/wait", body: fmt.Sprintf(`{"assistant_id":%q,"input":{}}`, page.graph), status: 200})
		for _, query := range page.queries {
			b.Run(page.graph+query, func(b *testing.B) {
				size := 0
				for b.Loop() {
					w := studioPage(s, "/studio/threads/"+c.saved["t"]+query, "")
					if w.Code != 200 {
						b.Fatalf("got %d: %.300s", w.Code, w.Body)
					}
					size = w.Body.Len()
				}
				b.ReportMetric(float64(size), "bytes")
			})
		}
	}
}
