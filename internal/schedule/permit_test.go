package schedule_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/weftrun/weft/internal/schedule"
)

// permits returns so many permits and the holder of the first.
func permits(n int) (*schedule.Permits, *schedule.Permit) {
	all, first := new(schedule.Permits), new(schedule.Permit)
	all.Init(n, first)
	return all, first
}

// free returns how many permits are not held. It is called in a synctest bubble, while no
// goroutine waits for one.
func free(all *schedule.Permits) (n int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var got atomic.Int32
	var waiting sync.WaitGroup
	for range 100 {
		waiting.Go(func() {
			p := all.Acquire(ctx, new(schedule.Permit))
			if ctx.Err() == nil {
				got.Add(1)
			}
			<-ctx.Done()
			p.Close()
		})
	}
	synctest.Wait()
	n = int(got.Load())
	cancel()
	waiting.Wait()
	return n
}

func TestPermit_IsFreeWhileItsHolderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, first := permits(2)
		check := func(when string, want int) {
			t.Helper()
			if got := free(all); got != want {
				t.Errorf("%s: %d permits are free, want %d", when, got, want)
			}
		}
		check("at the beginning", 1)
		first.Release()
		check("while the holder waits", 2)
		first.Release()
		check("while two goroutines wait", 2)
		first.Acquire(t.Context())
		check("while one of them waits still", 2)
		first.Acquire(t.Context())
		check("after the waits", 1)
		first.Close()
		check("after Close", 2)
		first.Release()
		first.Acquire(t.Context())
		check("after a wait that came after Close", 2)
	})
}

func TestPermit_WaitsForAFreeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, first := permits(1)
		first.Release()
		second := all.Acquire(t.Context(), new(schedule.Permit))
		var back atomic.Bool
		var waiters sync.WaitGroup
		waiters.Go(func() { first.Acquire(t.Context()); back.Store(true) })
		if synctest.Wait(); back.Load() {
			t.Error("two hold the only permit")
		}
		second.Close()
		if waiters.Wait(); free(all) != 0 {
			t.Error("the permit that was acquired again is free")
		}
	})
}

func TestPermit_GoesOnWithoutOneWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, _ := permits(1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p := all.Acquire(ctx, new(schedule.Permit)) // returns although none is free
		p.Release()
		p.Acquire(ctx)
		p.Close()
		if got := free(all); got != 0 {
			t.Errorf("%d permits are free, want 0: one that was never held was given back", got)
		}
	})
}

func TestPermit_HolderEndsBeforeItReclaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, first := permits(2)
		given := first.Transfer()
		first.Close()
		first.Reclaim(t.Context(), given)
		if got := free(all); got != 2 {
			t.Errorf("%d permits are free when all code has ended, want 2", got)
		}
	})
}

func TestPermit_TransferAndReclaim(t *testing.T) {
	for name, during := range map[string]func(ctx context.Context, p *schedule.Permit){
		"nothing happens":      func(context.Context, *schedule.Permit) {},
		"it waits at the end":  func(_ context.Context, p *schedule.Permit) { p.Release() },
		"it has waited":        func(ctx context.Context, p *schedule.Permit) { p.Release(); p.Acquire(ctx) },
		"its code has ended":   func(_ context.Context, p *schedule.Permit) { p.Close() },
		"it was passed on":     func(ctx context.Context, p *schedule.Permit) { p.Reclaim(ctx, p.Transfer()) },
		"it is passed on":      func(_ context.Context, p *schedule.Permit) { p.Transfer().Close() },
		"it waits and is late": func(_ context.Context, p *schedule.Permit) { p.Release(); p.Release() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all, first := permits(2)
				given := first.Transfer()
				if got := free(all); got != 1 {
					t.Errorf("%d permits are free after the transfer, want 1", got)
				}
				during(t.Context(), given)
				first.Reclaim(t.Context(), given)
				if got := free(all); got != 1 {
					t.Errorf("%d permits are free after Reclaim, want 1", got)
				}
				first.Close()
				if got := free(all); got != 2 {
					t.Errorf("%d permits are free after the holder has ended, want 2", got)
				}
				given.Release() // the code that was given up goes on
				given.Acquire(t.Context())
				given.Close()
				if got := free(all); got != 2 {
					t.Errorf("%d permits are free after the late code has ended, want 2", got)
				}
			})
		})
	}
}
