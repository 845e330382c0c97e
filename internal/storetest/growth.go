package storetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

// Channels returns the names of the channel types that [Growth] measures.
func Channels() (names []string) {
	for _, g := range growths {
		names = append(names, g.channel)
	}
	return names
}

// Kinds returns the kinds of a Record's fields that [Growth] measures.
func Kinds() (kinds []state.Kind) {
	for _, g := range recordGrowths {
		if g.field.Kind != "" {
			kinds = append(kinds, g.field.Kind)
		}
	}
	return kinds
}

// Growth runs graphs whose steps write to one channel, for each type of channel and each kind of
// write. It fails the test if a step of a thread with many entries, such as 10,000, allocates more
// bytes than a step of a thread with 100. A step includes its view, node, fold and commit.
//
// A persistent tree of 10,000 entries is twice as deep as one of 100, so Growth allows 1.5 times
// the bytes plus 4 KiB. A copy of 10,000 entries takes at least 160 KiB. Steps in which a field
// gets a new base are not measured.
func Growth(t *testing.T, store checkpoint.Store, many int) {
	t.Helper()
	growthIn(t, store, ways[0], growths, many)
}

// GrowthOfViews is [Growth] for steps of several tasks, each of which writes to its own view, for
// runs with a subscriber, for children that share the state, and for Records. These measurements do
// not depend on the store.
func GrowthOfViews(t *testing.T, store checkpoint.Store, many int) {
	t.Helper()
	rows := slices.DeleteFunc(slices.Clone(growths), func(g growth[channels]) bool { return g.seed != nil && !g.adds() && !g.removes() })
	for _, w := range ways[1:] {
		growthIn(t, store, w, rows, many)
	}
	sh, err := shape()
	if err != nil {
		t.Fatal(err)
	}
	begin := func(name string) *graph.Builder[record.Record] { return graph.NewRecord(name, sh) }
	for _, w := range ways[:2] {
		for _, g := range recordGrowths {
			flat(t, w, g.growth(), many, func(n int) uint64 { return bytes(t, store, w, g.growth(), begin, sh.New(), n) })
		}
	}
}

func growthIn(t *testing.T, store checkpoint.Store, w way, rows []growth[channels], many int) {
	t.Helper()
	for _, g := range rows {
		flat(t, w, g, many, func(n int) uint64 { return bytes(t, store, w, g, graph.New[channels], channels{}, n) })
	}
}

// GrowthOfBases is [Growth] over whole runs, from nothing to many entries, with every new base
// that is due: the mean of the first 1,000 steps beside that of the others.
func GrowthOfBases(t *testing.T, store checkpoint.Store, many int) {
	t.Helper()
	for _, g := range growing() {
		at := make([]uint64, 0, 3)
		grow(t, store, g, many, func(step int) {
			if step == 0 || step == 1000 || step == many {
				at = append(at, allocated())
			}
		})
		early, late := (at[1]-at[0])/1000, (at[2]-at[1])/uint64(many-1000)
		t.Logf("%s: %d bytes a step up to 1,000 entries, %d up to %d", g, early, late, many)
		if late > early+early/2 {
			t.Errorf("rule: what new bases cost does not grow by the step\n got: %s: %d bytes a step up to 1,000 entries, %d up to %d\nwant: at most half as much again", g, early, late, many)
		}
	}
}

// BenchGrowth runs b.N steps of a new thread for each channel that grows: they lead from nothing
// to b.N entries, with every new base that is due.
func BenchGrowth(b *testing.B, store func() checkpoint.Store) {
	for _, g := range growing() {
		b.Run(g.channel, func(b *testing.B) {
			b.ReportAllocs()
			grow(b, store(), g, b.N, func(step int) {
				if step == 0 {
					b.ResetTimer()
				}
			})
		})
	}
}

// growing returns one way to add an entry for each channel that grows.
func growing() (rows []growth[channels]) {
	for _, g := range growths {
		if g.seed != nil && g.adds() {
			rows = append(rows, g)
		}
	}
	return rows
}

// grow runs a graph whose steps each add an entry. It calls reached before each step, with the
// number of steps before it, and after the last one.
func grow(t testing.TB, store checkpoint.Store, g growth[channels], steps int, reached func(step int)) {
	t.Helper()
	step := 0
	b := graph.New[channels]("growth")
	b.Node("add", graph.Router(func(_ context.Context, s *channels) (graph.Command, error) {
		if reached(step); step == steps {
			return graph.Goto(graph.End), nil
		}
		step++
		return graph.Goto("add"), g.step(s, step)
	}, "add", graph.End))
	b.Edge(graph.Start, "add")
	run := graph.RunOptions{Thread: g.String(), Lease: checkpoint.HoldOptions{TTL: time.Hour}}
	if _, err := compiled(t, b, graph.Config{Store: store, MaxSteps: steps + 2}).Invoke(t.Context(), channels{}, run); err != nil {
		t.Fatal(err)
	}
}

func flat[S any](t *testing.T, w way, g growth[S], many int, bytes func(n int) uint64) {
	t.Helper()
	a, b := bytes(100), bytes(many)
	t.Logf("%s (%s): %d bytes a step with 100 entries, %d with %d", g, w.name, a, b, many)
	if b > a+a/2+4096 {
		t.Errorf("rule: what a step costs does not depend on what the state holds\n got: %s (%s): %d bytes allocated in a step with 100 entries, %d with %d\nwant: at most half as much again, and 4 KiB", g, w.name, a, b, many)
	}
}

// way is how the steps are run.
type way struct {
	name   string
	tasks  int  // that write in each lap of the loop
	inside bool // the loop is in a child that shares the state
	modes  graph.Mode
}

var ways = []way{
	{name: "one task", tasks: 1},
	{name: "several tasks", tasks: 4},
	{name: "watched", tasks: 1, modes: graph.Values | graph.Updates | graph.Tasks},
	{name: "in a child that shares the state", tasks: 1, inside: true},
}

// The steps that are run before any is measured, and those that are. With several tasks, their
// writes are fewer than 100.
const warm, measured = 6, 16

// bytes returns how many bytes are allocated in a step of a thread whose channel was filled
// with n entries: the median.
func bytes[S any](t *testing.T, store checkpoint.Store, w way, g growth[S], builder func(string) *graph.Builder[S], input S, n int) uint64 {
	t.Helper()
	var at []uint64
	b := builder("growth")
	b.Node("fill", graph.Func(func(_ context.Context, s *S) error { return g.fill(s, n) }))
	b.Edge(graph.Start, "fill")
	loop := b
	if w.inside {
		loop = builder("loop")
	}
	var next []string
	for k := range w.tasks {
		name := fmt.Sprintf("write %d", k)
		next = append(next, name)
		loop.Node(name, graph.Func(func(_ context.Context, s *S) error {
			if k > 0 && g.single {
				return nil
			}
			return g.step(s, w.tasks*len(at)+k)
		}))
		loop.Edge(name, "mark")
	}
	loop.Node("mark", graph.Router(func(context.Context, *S) (graph.Command, error) {
		if at = append(at, allocated()); len(at) > warm+measured {
			return graph.Goto(graph.End), nil
		}
		return graph.Goto(next...), nil
	}, append(next, graph.End)...))
	if w.inside {
		loop.Edge(graph.Start, "mark")
		b.Node("child", graph.Inline(compiled(t, loop, graph.Config{})))
		b.Edge("fill", "child")
		b.Edge("child", graph.End)
	} else {
		b.Edge("fill", "mark")
	}
	run := graph.RunOptions{Thread: fmt.Sprintf("%s (%s), %d", g, w.name, n), Modes: w.modes, Lease: checkpoint.HoldOptions{TTL: time.Hour}}
	for _, err := range compiled(t, b, graph.Config{Store: store}).Stream(t.Context(), input, run) {
		if err != nil {
			t.Fatalf("%s (%s): %v", g, w.name, err)
		}
	}
	return median(at[warm:])
}

func compiled[S any](t testing.TB, b *graph.Builder[S], cfg graph.Config) *graph.Graph[S] {
	t.Helper()
	g, err := b.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// allocated returns how many bytes this process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// median returns the median of the differences.
func median(at []uint64) uint64 {
	steps := make([]uint64, len(at)-1)
	for i := range steps {
		steps[i] = at[i+1] - at[i]
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}
