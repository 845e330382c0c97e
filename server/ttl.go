package server

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
	"github.com/weftrun/weft/server/wire"
)

// ttl is how long a thread lives after its last update.
type ttl struct {
	Minutes  float64   `json:"ttl"`
	Strategy string    `json:"strategy"`           // delete or keep_latest
	Pruned   wire.Time `json:"pruned_at,omitzero"` // when old commits were last dropped
}

const (
	ttlDelete     = "delete"
	ttlKeepLatest = "keep_latest"
)

// decodeTTL reads a number of minutes, or an object.
func decodeTTL(raw json.RawMessage) (*ttl, error) {
	if absent(raw) {
		return nil, nil
	}
	t := ttl{Strategy: ttlDelete}
	into := any(&t)
	if raw[0] != '{' {
		into = &t.Minutes
	}
	if json.Unmarshal(raw, into) != nil || !(t.Minutes > 0 && t.Minutes < 1e9) {
		return nil, invalid("ttl must be a number of minutes, or an object with ttl and strategy")
	}
	if t.Strategy != ttlDelete && t.Strategy != ttlKeepLatest {
		return nil, invalid("the strategy of a ttl must be delete or keep_latest (got %.100q)", t.Strategy)
	}
	t.Pruned = wire.Time{}
	return &t, nil
}

// due reports whether the time of a thread has passed, and nothing was done about it yet.
func (t *thread) due(now time.Time) bool {
	if t.TTL == nil {
		return false
	}
	at := t.UpdatedAt.Add(time.Duration(t.TTL.Minutes * float64(time.Minute)))
	return !now.Before(at) && t.TTL.Pruned.Before(at)
}

// sweepEvery is the time between two sweeps, of all processes together.
const sweepEvery = time.Minute

// sweep removes threads whose time has passed, or their old commits. Of several processes one
// sweeps at a time. It returns the number of threads that it changed.
func (s *Server) sweep(ctx context.Context) (changed int, err error) {
	first, err := s.turn(ctx, "ttl", sweepEvery)
	if err != nil || !first {
		return 0, err
	}
	var due []string
	now := s.now()
	err = s.threads.withTerm(ctx, term(ttlTerm), false, 0, scanPage, func(r stored[thread]) (bool, error) {
		if r.record.due(now) {
			due = append(due, r.record.ThreadID)
		}
		return true, nil
	})
	for i := 0; i < len(due) && ctx.Err() == nil; i++ { // one that fails keeps no other waiting
		ok, failure := s.expire(ctx, due[i], now)
		if err = errors.Join(err, failure); ok {
			changed++
		}
	}
	return changed, err
}

// turn reports whether this process is the first of all that share the store to ask for a turn of
// some work, in a period.
func (s *Server) turn(ctx context.Context, name string, period time.Duration) (bool, error) {
	place, docs, now := document.At("weft.turns", "all"), s.threads.docs, s.now()
	var next time.Time
	var version uint64
	d, err := docs.Get(ctx, place, name)
	switch {
	case err == nil:
		version = d.Version
		err = json.Unmarshal(d.Value, &next)
	case errors.Is(err, document.ErrNotFound):
		err = nil
	}
	if err != nil || now.Before(next) {
		return false, err
	}
	value, err := encode(now.Add(period))
	if err != nil {
		return false, err
	}
	_, err = docs.Set(ctx, place, document.Change{ID: name, Value: value, If: &version})
	return err == nil, ignoreConflict(err)
}

// expire removes a thread whose time has passed, or its old commits. It holds the thread, so that
// no run begins meanwhile, and looks again. It leaves a thread with a run to a later sweep: the
// process of the run may be dead, and no other can end the run while the thread is held.
func (s *Server) expire(ctx context.Context, id string, now time.Time) (done bool, err error) {
	held, err := checkpoint.Hold(ctx, s.config.Store, id, checkpoint.HoldOptions{Owner: "weft ttl"})
	if errors.Is(err, checkpoint.ErrOwned) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = held.Release(context.WithoutCancel(ctx)) }() // a deleted thread has no lease
	ctx = held.Context()
	t, found, err := s.threads.get(ctx, id)
	if err != nil || !found || !t.record.due(now) {
		return false, err
	}
	if unfinished, err := s.queue.Unfinished(ctx, id); err != nil || len(unfinished) > 0 {
		return false, err
	}
	if t.record.TTL.Strategy == ttlDelete {
		return true, s.removeThread(ctx, id)
	}
	if err := checkpoint.Prune(ctx, s.config.Store, id, checkpoint.Keep{Last: 1, Fence: held.Fence()}); err != nil {
		return false, err
	}
	_, _, err = s.threads.change(ctx, id, func(t *thread) error {
		if t.TTL != nil {
			t.TTL.Pruned = wire.At(now)
		}
		return nil
	})
	return true, err
}

// pruneThread removes a thread, or all of its commits but the newest.
func (s *Server) pruneThread(ctx context.Context, id, strategy string) error {
	if strategy == ttlDelete {
		return s.removeThread(ctx, id)
	}
	return checkpoint.Prune(ctx, s.config.Store, id, checkpoint.Keep{Last: 1})
}
