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
	// WakeOnly makes this process only wake threads, begin the runs of schedules, and send notices
	// to its Webhooks.Notify. It leaves all else to servers, and Slots has no meaning.
	WakeOnly bool
}

// Work does the work of the server that no request does, until ctx ends: it runs runs, creates
// those of crons and of timers, reports their ends to webhooks, and removes threads whose time has
// passed. Then it drains: its runs stop at the end of their superstep, and another process goes on
// with them. Any number of servers on a store may work at once.
func (s *Server) Work(ctx context.Context, w Workers) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.wakeThreads(ctx) })
	notices := ""
	if w.WakeOnly {
		notices = s.config.Webhooks.Notify
	}
	if !w.WakeOnly || notices != "" {
		wg.Go(func() { s.deliverWebhooks(ctx, notices) })
	}
	if w.WakeOnly {
		return
	}
	if w.Slots >= 0 {
		wg.Go(func() {
			worker := s.worker(w)
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
	wg.Go(func() { s.countRuns(ctx) })
	// They do not wait for each other: to remove many threads may take longer than until a cron is
	// due again.
	for what, do := range map[string]func(context.Context) error{
		"remove threads whose time has passed":       func(ctx context.Context) error { _, err := s.sweep(ctx); return err },
		"create the runs of crons":                   func(ctx context.Context) error { _, err := s.crons.fire(ctx, s.attend); return err },
		"remove the threads of runs that have ended": s.removeLeftovers,
	} {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := do(ctx); err != nil && ctx.Err() == nil {
					s.log().ErrorContext(ctx, "server: "+what, "error", err)
				}
				await(ctx, workEvery)
			}
		})
	}
}

// deliverWebhooks delivers webhooks until ctx ends: the notices to a URL, or all if it is "".
func (s *Server) deliverWebhooks(ctx context.Context, notices string) {
	failed := func(_ bool, err error) {
		if err != nil && ctx.Err() == nil {
			s.log().ErrorContext(ctx, "server: deliver webhooks", "error", err)
		}
	}
	for ctx.Err() == nil {
		failed(false, s.webhooks.begin(ctx, notices, failed))
		await(ctx, workEvery)
	}
	s.webhooks.running.Wait()
	s.webhooks.client.CloseIdleConnections()
}

// worker returns what runs runs in this process.
func (s *Server) worker(w Workers) *work.Worker {
	return work.New(work.Config{
		Queue: s.queue, Store: s.config.Store, Bus: s.bus, Host: host{s}, Slots: w.Slots,
		Grace: w.Grace, Drain: w.Drain, Abort: w.Abort, Now: s.now, Log: s.log(),
	})
}
