package server

import (
	"context"
	"sync"
	"time"

	"github.com/weftrun/weft/server/work"
)

// workEvery is how often a server looks for work in the background.
const workEvery = time.Second

// Workers are the settings of the runs of a process.
type Workers struct {
	// Slots is how many runs run at once: 64 if it is 0. If it is negative, this process runs none.
	Slots int
	// Grace is how long a node may go on when its run was cancelled: 10 s if it is 0.
	Grace time.Duration
	// Drain is how long a run may go on when the process stops, before it is cancelled: 25 s if it
	// is 0.
	Drain time.Duration
	// Abort, when it is closed, ends that time at once.
	Abort <-chan struct{}
}

// Work does the work of the server that no request does, until ctx ends: it runs runs, creates
// those of crons and of timers, reports their ends to webhooks, and removes threads whose time has
// passed. Then
// it drains: its runs stop at the end of their superstep, and another process goes on with them.
// Any number of servers on a store may work at once.
func (s *Server) Work(ctx context.Context, w Workers) {
	var wg sync.WaitGroup
	defer wg.Wait()
	if w.Slots >= 0 {
		wg.Go(func() {
			worker := work.New(work.Config{
				Queue: s.queue, Store: s.config.Store, Bus: s.bus, Host: host{s}, Slots: w.Slots,
				Grace: w.Grace, Drain: w.Drain, Abort: w.Abort, Now: s.now, Log: s.log(),
			})
			s.load.worker.Store(worker)
			worker.Work(ctx)
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			if err := s.queue.Follow(ctx); err != nil && ctx.Err() == nil {
				s.log().ErrorContext(ctx, "server: follow the queue", "error", err)
			}
			await(ctx, workEvery)
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.webhooks.deliver(ctx); err != nil && ctx.Err() == nil {
				s.log().ErrorContext(ctx, "server: deliver webhooks", "error", err)
			}
			await(ctx, workEvery)
		}
		s.webhooks.client.CloseIdleConnections()
	})
	wg.Go(func() { s.countRuns(ctx) })
	wg.Go(func() { s.wakeThreads(ctx) })
	for ctx.Err() == nil {
		if _, err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.log().ErrorContext(ctx, "server: remove threads whose time has passed", "error", err)
		}
		if _, err := s.crons.fire(ctx, s.startCron); err != nil && ctx.Err() == nil {
			s.log().ErrorContext(ctx, "server: create the runs of crons", "error", err)
		}
		if err := s.removeLeftovers(ctx); err != nil && ctx.Err() == nil {
			s.log().ErrorContext(ctx, "server: remove the threads of runs that have ended", "error", err)
		}
		await(ctx, workEvery)
	}
}
