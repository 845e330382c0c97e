package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weftrun/weft/server/queue"
	"github.com/weftrun/weft/server/wire"
	"github.com/weftrun/weft/server/work"
)

// load is how much there is to do. The zero load is ready for use.
type load struct {
	runs    atomic.Pointer[queue.Load]  // as they were counted last; nil before
	streams atomic.Int64                // requests that follow a run in this process
	uploads atomic.Int64                // blobs that arrive in this process
	worker  atomic.Pointer[work.Worker] // nil where no runs run
}

// countRuns counts the runs of all threads until ctx ends, about once a second. If counting takes
// long, it happens more rarely.
func (s *Server) countRuns(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		l, err := s.queue.Load(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.log().ErrorContext(ctx, "server: count the runs", "error", err)
		default:
			s.load.runs.Store(&l)
		}
		await(ctx, max(workEvery, 10*time.Since(began)))
	}
}

// checkLoad returns the error of a new run where there are too many.
func (c *call) checkLoad() error {
	l := c.server.load.runs.Load()
	switch {
	case l == nil:
		return nil
	case l.Pending+l.Running >= c.server.limits.Runs:
		return wire.Errorf(wire.CodeRateLimited, "there are %d unfinished runs; try again later", l.Pending+l.Running)
	case c.who.Name != "" && l.Owners[c.who.Name] >= c.server.limits.OwnerRuns:
		return wire.Errorf(wire.CodeRateLimited, "you have %d unfinished runs; try again later", l.Owners[c.who.Name])
	}
	return nil
}

// follow counts a request that follows a run. The caller calls leave at its end.
func (s *Server) follow() (leave func(), err error) {
	if n := s.load.streams.Add(1); n > int64(s.limits.Streams) {
		s.load.streams.Add(-1)
		return nil, wire.Errorf(wire.CodeRateLimited, "%d requests follow runs; try again later", n-1)
	}
	return func() { s.load.streams.Add(-1) }, nil
}

// upload counts a blob that arrives. The caller calls leave at its end.
func (s *Server) upload() (leave func(), err error) {
	if n := s.load.uploads.Add(1); n > int64(s.limits.Uploads) {
		s.load.uploads.Add(-1)
		return nil, wire.Errorf(wire.CodeRateLimited, "%d blobs arrive; try again later", n-1)
	}
	return func() { s.load.uploads.Add(-1) }, nil
}
