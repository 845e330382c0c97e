package graph_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
)

// TestMain checks that no test leaves a goroutine, whatever became of its runs.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is the state of most tests.
type world struct {
	Name  state.Value[string]     `json:"name"`
	Other state.Value[string]     `json:"other"`
	Log   state.List[string]      `json:"log"`
	Count state.Sum[int]          `json:"count"`
	Seen  state.Map[string, int]  `json:"seen"`
	Draft state.List[string]      `json:"draft" weft:"turn"`
	Tries state.Sum[int]          `json:"tries" weft:"turn,default=7"`
	Spark state.Ephemeral[string] `json:"spark"`
}

var ctx = context.Background()

// logs is a node that appends its name to the log.
func logs(name string) graph.Node[world] {
	return graph.Func(func(_ context.Context, s *world) error {
		s.Log.Append(name)
		return nil
	})
}

// line adds nodes that log, and edges from Start through all of them to End.
func line(b *graph.Builder[world], names ...string) {
	from := graph.Start
	for _, name := range names {
		b.Node(name, logs(name))
		b.Edge(from, name)
		from = name
	}
	b.Edge(from, graph.End)
}

// build compiles a graph that is right.
func build[S any](tb testing.TB, b *graph.Builder[S], cfg graph.Config) *graph.Graph[S] {
	tb.Helper()
	g, err := b.Compile(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// stored returns a Config with a store of its own.
func stored() graph.Config { return graph.Config{Store: new(checkpoint.Memory)} }

// t1 is the thread of most tests.
var t1 = graph.RunOptions{Thread: "t1"}

// ended fails the test unless the call returned without an error and with this status.
func ended(tb testing.TB, want graph.Status, res graph.Result[world], err error) graph.Result[world] {
	tb.Helper()
	if err != nil || res.Status != want {
		tb.Fatalf("the run ended %q with %v and the log %v; want %q", res.Status, err, res.State.Log.Slice(), want)
	}
	return res
}

// invoke runs g on t1, or without a thread where thread is "", to this status.
func invoke(tb testing.TB, g *graph.Graph[world], thread string, want graph.Status) graph.Result[world] {
	tb.Helper()
	res, err := g.Invoke(ctx, world{}, graph.RunOptions{Thread: thread})
	return ended(tb, want, res, err)
}

// resume goes on with t1 to this status.
func resume(tb testing.TB, g *graph.Graph[world], a graph.Answers, want graph.Status) graph.Result[world] {
	tb.Helper()
	res, err := g.Resume(ctx, a, t1)
	return ended(tb, want, res, err)
}

// logged fails the test unless the log holds these words.
func logged(tb testing.TB, res graph.Result[world], want string) {
	tb.Helper()
	if got := strings.Join(res.State.Log.Slice(), " "); got != want {
		tb.Errorf("log is %q, want %q", got, want)
	}
}

// is fails the test unless the error is of this kind and its text has all of words.
func is(tb testing.TB, err, kind error, words ...string) {
	tb.Helper()
	if !errors.Is(err, kind) {
		tb.Fatalf("got error %v, want %v", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			tb.Errorf("error %q does not have %q", err, w)
		}
	}
}

// counter counts by name how often something happened, in any number of goroutines.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
	return c.n[name]
}

func (c *counter) of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

func (c *counter) want(tb testing.TB, name string, n int) {
	tb.Helper()
	if got := c.of(name); got != n {
		tb.Errorf("%s ran %d times, want %d", name, got, n)
	}
}
