package server

import (
	"context"
	"time"
)

// workEvery is how often a server looks for work in the background.
const workEvery = time.Second

// Work does the work of the server that no request asks for, until ctx ends: it removes threads
// whose time has passed. Of several servers on a store one at a time does so.
func (s *Server) Work(ctx context.Context) {
	tick := time.NewTicker(workEvery)
	defer tick.Stop()
	for {
		if _, err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.log().ErrorContext(ctx, "server: remove threads whose time has passed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
