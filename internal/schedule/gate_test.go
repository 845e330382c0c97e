package schedule_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrun/weft/internal/schedule"
)

func TestGate_BoundsHowManyRunAndHowManyBegin(t *testing.T) {
	for name, c := range map[string]struct {
		gate *schedule.Gate
		want []time.Duration // when each of six attempts of a second may begin
	}{
		"concurrency": {schedule.NewGate(2, 0, 0), []time.Duration{0, 0, 1, 1, 2, 2}},
		"rate":        {schedule.NewGate(0, 0.5, 3), []time.Duration{0, 0, 0, 2, 4, 6}},
		"both":        {schedule.NewGate(1, 1, 4), []time.Duration{0, 1, 2, 3, 4, 5}},
		"no bound":    {schedule.NewGate(0, 0, 0), []time.Duration{0, 0, 0, 0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var mu sync.Mutex
				var begun []time.Duration
				var attempts sync.WaitGroup
				for range len(c.want) {
					attempts.Go(func() {
						if !c.gate.TryEnter() {
							if err := c.gate.Enter(t.Context()); err != nil {
								t.Error(err)
								return
							}
						}
						defer c.gate.Leave()
						mu.Lock()
						begun = append(begun, time.Since(start))
						mu.Unlock()
						<-time.After(time.Second)
					})
				}
				attempts.Wait()
				for i, want := range c.want {
					if begun[i] != want*time.Second {
						t.Errorf("attempt %d began after %v, want %v", i, begun[i], want*time.Second)
					}
				}
			})
		})
	}
}

func TestGate_EndOfTheContextTakesNoPlace(t *testing.T) {
	for name, gate := range map[string]func() *schedule.Gate{
		"concurrency": func() *schedule.Gate { return schedule.NewGate(1, 0, 0) },
		"rate":        func() *schedule.Gate { return schedule.NewGate(0, 1, 1) },
		"both":        func() *schedule.Gate { return schedule.NewGate(2, 1, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, start := gate(), time.Now()
				if err := g.Enter(t.Context()); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
				defer cancel()
				if err := g.Enter(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want that the deadline passed", err)
				}
				g.Leave()
				if err := g.Enter(t.Context()); err != nil || time.Since(start) > time.Second {
					t.Errorf("the next entered after %v, %v; want 1s at most", time.Since(start), err)
				}
			})
		})
	}
}
