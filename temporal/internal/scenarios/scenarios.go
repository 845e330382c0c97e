// Package scenarios is a table of tests of graphs that run unmodified on every driver: in this
// process, in Temporal's test environment, and on a server.
package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// Driver returns a graph that runs g on an engine. The store is that of g.
type Driver func(t *testing.T, g graph.Untyped, store checkpoint.Store) graph.Untyped

// Settings decodes the settings of the runs.
func Settings(data json.RawMessage) (any, error) {
	var m map[string]any
	err := json.Unmarshal(data, &m)
	return m, err
}

// World is the state of the graphs.
type World struct {
	Name  state.Value[string]    `json:"name"`
	Log   state.List[string]     `json:"log"`
	Seen  state.Map[string, int] `json:"seen"`
	Draft state.List[string]     `json:"draft" weft:"turn"`
}

// scene is what a scenario plays with.
type scene struct {
	*testing.T
	b      *graph.Builder[World]
	cfg    graph.Config
	driver Driver
	runs   graph.Untyped
	local  *graph.Graph[World]

	mu  sync.Mutex
	ran map[string]int // how often a node was called
}

// Run plays all scenarios on a driver, except those that it cannot play.
func Run(t *testing.T, driver Driver, except ...string) {
	for _, table := range []map[string]func(*scene){steps, threads} {
		for name, play := range table {
			if slices.Contains(except, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				play(&scene{T: t, b: graph.New[World]("scenes"), cfg: graph.Config{Store: new(checkpoint.Memory)}, driver: driver, ran: map[string]int{}})
			})
		}
	}
}

// call counts a call of a node, and returns how many there were.
func (s *scene) call(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran[name]++
	return s.ran[name]
}

func (s *scene) calls(name string, want int) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ran[name] != want {
		s.Errorf("node %q was called %d times, want %d", name, s.ran[name], want)
	}
}

// logs is a node that logs its name.
func (s *scene) logs(name string) graph.Node[World] {
	return graph.Func(func(_ context.Context, w *World) error {
		s.call(name)
		w.Log.Append(name)
		return nil
	})
}

// asks is a node that asks and logs the answer.
func (s *scene) asks(name string) graph.Node[World] {
	return graph.Func(func(ctx context.Context, w *World) error {
		s.call(name)
		answer, err := graph.Ask[string](ctx, graph.Question{Prompt: name})
		if err == nil {
			w.Log.Append(name + "=" + answer)
		}
		return err
	})
}

// line adds nodes that log, one after the other.
func (s *scene) line(names ...string) {
	from := graph.Start
	for _, name := range names {
		s.b.Node(name, s.logs(name))
		s.b.Edge(from, name)
		from = name
	}
	s.b.Edge(from, graph.End)
}

// edges adds edges, as in "a b".
func (s *scene) edges(pairs ...string) {
	for _, p := range pairs {
		from, to, _ := strings.Cut(p, " ")
		s.b.Edge(from, to)
	}
}

// built returns an inner graph.
func (s *scene) built(b *graph.Builder[World]) *graph.Graph[World] {
	s.Helper()
	g, err := b.Compile(graph.Config{})
	if err != nil {
		s.Fatal(err)
	}
	return g
}

func (s *scene) compile() {
	s.Helper()
	g, err := s.b.Compile(s.cfg)
	if err != nil {
		s.Fatal(err)
	}
	s.local, s.runs = g, s.driver(s.T, g.Untyped(), s.cfg.Store)
}

const thread = "t1"

func on() graph.RunOptions { return graph.RunOptions{Thread: thread} }

// invoke begins a turn that is to end with a status.
func (s *scene) invoke(want graph.Status) graph.Result[json.RawMessage] {
	s.Helper()
	return s.ended(want)(s.runs.Invoke(s.Context(), json.RawMessage(`{}`), on()))
}

func (s *scene) resume(a graph.Answers, want graph.Status) graph.Result[json.RawMessage] {
	s.Helper()
	return s.ended(want)(s.runs.Resume(s.Context(), a, on()))
}

func (s *scene) ended(want graph.Status) func(graph.Result[json.RawMessage], error) graph.Result[json.RawMessage] {
	return func(res graph.Result[json.RawMessage], err error) graph.Result[json.RawMessage] {
		s.Helper()
		if err != nil || res.Status != want {
			s.Fatalf("the run ended %q with %v, state %s; want %q", res.Status, err, res.State, want)
		}
		return res
	}
}

// logged checks the log of a result.
func (s *scene) logged(res graph.Result[json.RawMessage], want string) {
	s.Helper()
	var w struct {
		Log []string `json:"log"`
	}
	if err := json.Unmarshal(res.State, &w); err != nil {
		s.Fatal(err)
	}
	if got := strings.Join(w.Log, " "); got != want {
		s.Errorf("log = %q, want %q", got, want)
	}
}

// question returns the id of the open question with a prompt.
func (s *scene) question(res graph.Result[json.RawMessage], prompt string) string {
	s.Helper()
	for _, in := range res.Interrupts {
		if in.Prompt == prompt {
			return in.ID
		}
	}
	s.Fatalf("the question %q is not open; open are %+v", prompt, res.Interrupts)
	return ""
}

// history returns the sources and nodes of the commits, the oldest first.
func (s *scene) history() (all []string) {
	s.Helper()
	for c, err := range graph.History(s.Context(), s.cfg.Store, checkpoint.Key{Thread: thread}, checkpoint.Query{}) {
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, strings.TrimSpace(fmt.Sprint(c.Source, " ", strings.Join(c.Nodes(), ","))))
	}
	slices.Reverse(all)
	return all
}

func (s *scene) commits(want ...string) {
	s.Helper()
	if got := s.history(); !slices.Equal(got, want) {
		s.Errorf("history = %q, want %q", got, want)
	}
}
