package checkpointtest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/weftrun/weft/checkpoint"
)

// broken is a way to break a sound store, and the rules that must complain.
type broken struct {
	what     string
	caughtBy []string
	store    func(checkpoint.Store) checkpoint.Store
}

var brokenStores = []broken{
	{"has no compare-and-set", []string{"StaleHead", "OneWinner"}, func(s checkpoint.Store) checkpoint.Store { return noCAS{s} }},
	{"has no duplicate detection", []string{"SameCommitTwice"}, func(s checkpoint.Store) checkpoint.Store { return noRetry{s} }},
	{"takes any retry for a duplicate", []string{"SameCommitTwice"}, func(s checkpoint.Store) checkpoint.Store { return everyRetry{s} }},
	{"keeps the caller's slices", []string{"SlicesAreNotShared"}, func(s checkpoint.Store) checkpoint.Store { return &keepsSlices{Store: s} }},
	{"shares what it returns", []string{"SlicesAreNotShared"}, func(s checkpoint.Store) checkpoint.Store { return &sharesLoads{Store: s} }},
	{"forgets namespaces", []string{"Isolation", "HostileIDs"}, func(s checkpoint.Store) checkpoint.Store {
		return renames{s, func(k checkpoint.Key) checkpoint.Key { return key(k.Thread) }}
	}},
	{"trims thread ids", []string{"HostileIDs"}, func(s checkpoint.Store) checkpoint.Store {
		return renames{s, func(k checkpoint.Key) checkpoint.Key { return key(strings.TrimSpace(k.Thread), k.Namespace) }}
	}},
	{"ignores case", []string{"HostileIDs"}, func(s checkpoint.Store) checkpoint.Store {
		return renames{s, func(k checkpoint.Key) checkpoint.Key { return key(strings.ToLower(k.Thread), k.Namespace) }}
	}},
	{"joins ids with a colon", []string{"HostileIDs"}, func(s checkpoint.Store) checkpoint.Store {
		return renames{s, func(k checkpoint.Key) checkpoint.Key { return key(k.Thread + ":" + k.Namespace) }}
	}},
	{"ignores Keep", []string{"PendingKeep"}, func(s checkpoint.Store) checkpoint.Store { return keep{s, false} }},
	{"always keeps", []string{"Pending", "PendingKeep"}, func(s checkpoint.Store) checkpoint.Store { return keep{s, true} }},
	{"puts entries at any head", []string{"PendingBelongsToHead"}, func(s checkpoint.Store) checkpoint.Store { return putsAnywhere{s} }},
	{"keeps pending entries after a commit", []string{"PendingBelongsToHead"}, func(s checkpoint.Store) checkpoint.Store { return keepsPending{s} }},
	{"lists history oldest first", []string{"History"}, func(s checkpoint.Store) checkpoint.Store { return oldestFirst{s} }},
	{"ignores limits", []string{"History", "Threads"}, func(s checkpoint.Store) checkpoint.Store { return noLimits{s} }},
	{"has iterators for one use", []string{"History", "Threads"}, func(s checkpoint.Store) checkpoint.Store { return oneUse{s} }},
	{"applies commits by half", []string{"CommitThenLoad"}, func(s checkpoint.Store) checkpoint.Store { return halves{s} }},
	{"drops what it cannot find", []string{"MissingBlobIsDamage"}, func(s checkpoint.Store) checkpoint.Store { return lenient{s} }},
	{"deletes the root only", []string{"Delete"}, func(s checkpoint.Store) checkpoint.Store { return &deletesRoot{Store: s} }},
	{"ignores contexts", []string{"CancelledContext"}, func(s checkpoint.Store) checkpoint.Store { return noContext{s} }},
	{"goes on after Close", []string{"AfterClose"}, func(s checkpoint.Store) checkpoint.Store { return neverCloses{s} }},
	{"names the wrong head in conflicts", []string{"StaleHead"}, func(s checkpoint.Store) checkpoint.Store { return vague{s} }},
}

type noCAS struct{ checkpoint.Store }

func (s noCAS) Commit(ctx context.Context, c checkpoint.Commit) error {
	err := s.Store.Commit(ctx, c)
	for lost := (*checkpoint.ConflictError)(nil); errors.As(err, &lost); {
		c.Head = lost.Head
		for i := range c.Blobs {
			c.Blobs[i].Base = c.Seq()
		}
		for i := range c.Refs {
			c.Refs[i].Base = c.Seq()
		}
		err = s.Store.Commit(ctx, c)
	}
	return err
}

type noRetry struct{ checkpoint.Store }

func (s noRetry) Commit(ctx context.Context, c checkpoint.Commit) error {
	if snap, err := s.Load(ctx, c.Key, 0); err == nil && snap.Head != c.Head {
		return &checkpoint.ConflictError{Key: c.Key, Want: c.Head, Head: snap.Head}
	}
	return s.Store.Commit(ctx, c)
}

type everyRetry struct{ checkpoint.Store }

func (s everyRetry) Commit(ctx context.Context, c checkpoint.Commit) error {
	if snap, err := s.Load(ctx, c.Key, c.Seq()); err == nil && snap.ID == c.ID {
		return nil
	}
	return s.Store.Commit(ctx, c)
}

// keepsSlices answers with the very header that it was given.
type keepsSlices struct {
	checkpoint.Store
	mu      sync.Mutex
	headers map[checkpoint.Key]map[uint64][]byte
}

func (s *keepsSlices) Commit(ctx context.Context, c checkpoint.Commit) error {
	err := s.Store.Commit(ctx, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.headers[c.Key] == nil {
		s.headers = map[checkpoint.Key]map[uint64][]byte{c.Key: {}}
	}
	if err == nil {
		s.headers[c.Key][c.Seq()] = c.Header
	}
	return err
}

func (s *keepsSlices) Load(ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	snap, err := s.Store.Load(ctx, k, seq)
	s.mu.Lock()
	defer s.mu.Unlock()
	if header, ok := s.headers[k][snap.Seq]; ok {
		snap.Header = header
	}
	return snap, err
}

// sharesLoads answers twice with the same slices.
type sharesLoads struct {
	checkpoint.Store
	mu    sync.Mutex
	cache checkpoint.Snapshot
}

func (s *sharesLoads) Load(ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	snap, err := s.Store.Load(ctx, k, seq)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cache.Key != snap.Key || s.cache.Seq != snap.Seq {
		s.cache = snap
	}
	return s.cache, err
}

// renames uses another key than that of the call, without an error.
type renames struct {
	checkpoint.Store
	key func(checkpoint.Key) checkpoint.Key
}

func (s renames) Commit(ctx context.Context, c checkpoint.Commit) error {
	c.Key = s.key(c.Key)
	return s.Store.Commit(ctx, c)
}

func (s renames) Put(ctx context.Context, p checkpoint.Pending) error {
	p.Key = s.key(p.Key)
	return s.Store.Put(ctx, p)
}

func (s renames) Load(ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	snap, err := s.Store.Load(ctx, s.key(k), seq)
	snap.Key = k
	return snap, err
}

type keep struct {
	checkpoint.Store
	always bool
}

func (s keep) Put(ctx context.Context, p checkpoint.Pending) error {
	p.Entries = slices.Clone(p.Entries)
	for i := range p.Entries {
		p.Entries[i].Keep = s.always
	}
	return s.Store.Put(ctx, p)
}

type putsAnywhere struct{ checkpoint.Store }

func (s putsAnywhere) Put(ctx context.Context, p checkpoint.Pending) error {
	if snap, err := s.Load(ctx, p.Key, 0); err == nil {
		p.Head = snap.Head
	}
	return s.Store.Put(ctx, p)
}

type keepsPending struct{ checkpoint.Store }

func (s keepsPending) Commit(ctx context.Context, c checkpoint.Commit) error {
	before, _ := s.Load(ctx, c.Key, 0)
	return errors.Join(s.Store.Commit(ctx, c), s.Put(ctx, beside(c.Key, before.Head+1, before.Pending...)))
}

type oldestFirst struct{ checkpoint.Store }

func (s oldestFirst) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) {
		var list []checkpoint.Snapshot
		for snap, err := range s.Store.History(ctx, k, q) {
			if err != nil {
				yield(snap, err)
				return
			}
			list = append(list, snap)
		}
		for _, snap := range slices.Backward(list) {
			if !yield(snap, nil) {
				return
			}
		}
	}
}

type noLimits struct{ checkpoint.Store }

func (s noLimits) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	return s.Store.History(ctx, k, checkpoint.Query{Before: q.Before})
}

func (s noLimits) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Snapshot, error] {
	return s.Store.Threads(ctx, checkpoint.ThreadQuery{After: q.After})
}

type oneUse struct{ checkpoint.Store }

func (s oneUse) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	return once(s.Store.History(ctx, k, q))
}

func (s oneUse) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Snapshot, error] {
	return once(s.Store.Threads(ctx, q))
}

// once goes on where the reader before stopped.
func once(list iter.Seq2[checkpoint.Snapshot, error]) iter.Seq2[checkpoint.Snapshot, error] {
	done := 0
	return func(yield func(checkpoint.Snapshot, error) bool) {
		n := 0
		for snap, err := range list {
			if n++; n <= done {
				continue
			}
			if done++; !yield(snap, err) {
				return
			}
		}
	}
}

type halves struct{ checkpoint.Store }

func (s halves) Commit(ctx context.Context, c checkpoint.Commit) error {
	if len(c.Refs) > 1 {
		c.Refs = c.Refs[:len(c.Refs)/2]
	}
	return s.Store.Commit(ctx, c)
}

type lenient struct{ checkpoint.Store }

func (s lenient) Load(ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	snap, err := s.Store.Load(ctx, k, seq)
	if errors.Is(err, checkpoint.ErrCorrupt) {
		err = nil
	}
	return snap, err
}

// deletesRoot brings the namespaces back that Delete removed.
type deletesRoot struct {
	checkpoint.Store
	subs []checkpoint.Commit
}

func (s *deletesRoot) Commit(ctx context.Context, c checkpoint.Commit) error {
	err := s.Store.Commit(ctx, c)
	if err == nil && c.Namespace != "" {
		s.subs = append(s.subs, c)
	}
	return err
}

func (s *deletesRoot) Delete(ctx context.Context, thread string) error {
	err := s.Store.Delete(ctx, thread)
	for _, c := range s.subs {
		if c.Thread == thread {
			err = errors.Join(err, s.Store.Commit(ctx, c))
		}
	}
	return err
}

type noContext struct{ checkpoint.Store }

func (s noContext) Commit(ctx context.Context, c checkpoint.Commit) error {
	return s.Store.Commit(context.WithoutCancel(ctx), c)
}

type neverCloses struct{ checkpoint.Store }

func (neverCloses) Close() error { return nil }

type vague struct{ checkpoint.Store }

func (s vague) Commit(ctx context.Context, c checkpoint.Commit) error {
	err := s.Store.Commit(ctx, c)
	if errors.Is(err, checkpoint.ErrConflict) {
		return &checkpoint.ConflictError{Key: c.Key, Want: c.Head, Head: c.Head + 1}
	}
	return err
}
