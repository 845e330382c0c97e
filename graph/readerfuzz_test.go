package graph_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/weftrun/weft/graph"
)

// crowd is readers of one run that come and go as chance has it.
type crowd struct {
	t       *testing.T
	live    *graph.Handle[world]
	modes   graph.Mode
	readers sync.WaitGroup

	mu   sync.Mutex
	seen [][]graph.Event
}

// act is what a reader does with its events.
type act int

const (
	stays act = iota
	departs
	panics
	exits
	lags
)

// acts are what readers do, as often as they do it: most make room for others.
var acts = []act{stays, departs, departs, departs, panics, panics, exits, exits, lags}

// read takes the events of one reader until after stop of them it does what it does.
func (c *crowd) read(events iter.Seq2[graph.Event, error], do act, stop int) {
	var got []graph.Event
	defer func() {
		if v := recover(); v != nil && v != "reader" {
			c.t.Errorf("a reader panicked with %v", v)
		}
		c.check(got, do)
	}()
	for ev, err := range events {
		if err != nil {
			c.t.Error(err)
		}
		got = append(got, ev)
		if len(got) < stop {
			continue
		}
		switch do {
		case departs:
			return
		case panics:
			panic("reader")
		case exits:
			runtime.Goexit()
		}
	}
}

// check checks the events of a reader: the numbers are consecutive but for reported gaps, and reach
// the end if the reader stayed.
func (c *crowd) check(got []graph.Event, do act) {
	for i, ev := range got[1:] {
		switch before := got[i]; {
		case ev.Mode == graph.Missed && do == lags && ev.Seq == before.Seq+ev.Missed:
		case ev.Mode != graph.Missed && ev.Seq == before.Seq+1:
		default:
			c.t.Errorf("%v, number %d (%d missed), comes after %d", ev.Mode, ev.Seq, ev.Missed, before.Seq)
			return
		}
	}
	if (do == stays || do == lags) && got[len(got)-1].Mode != graph.Ended {
		c.t.Errorf("who stayed did not see the end, but %+v", got[len(got)-1])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, got)
}

// agree checks that all saw the same under the same number.
func (c *crowd) agree(all []graph.Event) {
	for _, got := range c.seen {
		for _, ev := range got {
			if ev.Mode == graph.Missed {
				continue
			}
			if want := all[ev.Seq-1]; short(ev) != short(want) || ev.Seq != want.Seq || !ev.Time.Equal(want.Time) {
				c.t.Errorf("one reader has %q as number %d, another %q", short(ev), ev.Seq, short(want))
				return
			}
		}
	}
}

// TestReaders_ComeAndGo has up to 8 readers at a time join, leave, panic and lag on runs
// of 200 steps with fan-outs.
//
// Requirement: events: slow readers
func TestReaders_ComeAndGo(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { comeAndGo(t, seed) })
	}
}

func comeAndGo(t *testing.T, seed uint64) {
	c := &crowd{t: t, modes: graph.Tasks | graph.Custom | graph.Updates | graph.Values}
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(seed, 8))
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return chance.IntN(n)
	}
	places := make(chan struct{}, 7) // and the one who sees all
	join := func() {
		select {
		case places <- struct{}{}:
		default:
			return
		}
		do, stop := acts[roll(len(acts))], 1+roll(100)
		events := c.live.Join(graph.Reader{Modes: c.modes, Lossy: do == lags, Buffer: 1 + roll(40)})
		c.readers.Go(func() {
			defer func() { <-places }()
			c.read(events, do, stop)
		})
	}
	const laps, width = 100, 6
	b := graph.New[world]("crowd")
	b.Node("hub", graph.Router(func(_ context.Context, s *world) (graph.Command, error) {
		if s.Count.Add(1); s.Count.Get() > laps {
			return graph.Goto(graph.End), nil
		}
		join()
		var next graph.Command
		for i := range 1 + roll(width) {
			next = next.Send("w", i)
		}
		return next, nil
	}, "w", graph.End))
	b.Node("w", graph.Worker(func(ctx context.Context, s *world, i int) error {
		if roll(8) == 0 {
			join()
		}
		s.Log.Append(fmt.Sprint(i))
		return graph.Emit(ctx, i)
	}))
	b.Edge(graph.Start, "hub")
	b.Edge("w", "hub")
	c.live = build(t, b, graph.Config{}).Start(ctx, world{}, graph.RunOptions{Hold: true})
	var all []graph.Event
	for ev, err := range c.live.Events(c.modes) {
		is(t, err, nil)
		all = append(all, ev)
	}
	c.readers.Wait()
	res, err := c.live.Wait()
	if ended(t, graph.Done, res, err); res.Steps != 2*laps+1 {
		t.Errorf("the run took %d steps", res.Steps)
	}
	c.check(all, stays)
	c.agree(all)
	if len(c.seen) < 5 {
		t.Errorf("there were %d readers, too few for a result", len(c.seen))
	}
}
