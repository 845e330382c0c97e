package graph

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/state"
)

// open reads the thread that the run goes on with.
func (r *run) open() (err error) {
	store := r.cfg.Store
	switch {
	case r.opts.MaxSteps < 0:
		return fmt.Errorf("graph %q: RunOptions.MaxSteps must not be negative (got %d)", r.name, r.opts.MaxSteps)
	case r.opts.Grace < 0:
		return fmt.Errorf("graph %q: RunOptions.Grace must not be negative (got %v)", r.name, r.opts.Grace)
	case store == nil && (r.opts.Thread != "" || r.opts.If != nil) && r.inside == nil:
		return fmt.Errorf("%w: thread %q could not be kept", ErrNoStore, r.opts.Thread)
	case store == nil:
		r.state = r.schema.New()
		r.origin = cmp.Or(r.origin, r.session.originID())
		return nil
	}
	if err := errors.Join(checkpoint.CheckThread(r.opts.Thread), checkBy(r.opts.By, r.opts.Via)); err != nil {
		return err
	}
	if err := state.CheckText(r.opts.Metadata); err != nil {
		return fmt.Errorf("graph %q: thread %q: RunOptions.Metadata: %w", r.name, r.opts.Thread, err)
	}
	if r.inside == nil { // a subgraph works under the lease of its root
		if err := r.session.acquireLease(); err != nil {
			return err
		}
	}
	chain, err := r.openChain(store)
	if err != nil {
		return fmt.Errorf("graph %q: %w", r.name, err)
	}
	r.journal = r.newJournal(chain)
	if err := r.unmoved(); err != nil {
		return err
	}
	if r.inside == nil && r.ns == "" && !r.req.replays() && r.journal.Chain.Record != nil {
		if err := r.recordAnnounced(r.journal.Chain); err != nil {
			return fmt.Errorf("graph %q: %w", r.name, err)
		}
	}
	r.state = r.journal.Chain.State
	if rec := r.journal.Chain.Record; rec != nil {
		r.origin = rec.Origin
		r.turn, r.step, r.done, r.input, r.questions.answered = rec.Turn, rec.Step, rec.Step, rec.Input, rec.Answered
		if r.taken, err = r.newestTaken(rec); err != nil {
			return err
		}
		if r.branch = rec.Branch; (r.journal.Chain.Branches() || r.forks) && !r.req.replays() {
			r.branch = r.journal.Chain.Head() + 1
		}
		if r.rewind == nil {
			r.rewind = rec.Rewind
		}
		if r.opts.Metadata == nil {
			r.opts.Metadata = rec.Metadata
		}
	}
	r.origin = cmp.Or(r.origin, r.session.originID())
	return nil
}

// unmoved checks that the thread stands where the caller saw it.
func (r *run) unmoved() error {
	if r.opts.If == nil || r.inside != nil || r.madeHead() {
		return nil
	}
	if newest := r.journal.Chain.Head(); newest != *r.opts.If {
		return fmt.Errorf("%w: the newest commit of thread %q is %d, not %d", ErrMoved, r.opts.Thread, newest, *r.opts.If)
	}
	return nil
}

func (r *run) openChain(store checkpoint.Store) (*checkpoint.Chain, error) {
	key := r.key()
	if r.inside != nil {
		return r.openChild(key)
	}
	if r.opts.Namespace != "" && r.ns == "" {
		return r.openNamed()
	}
	if r.opts.At == 0 {
		return checkpoint.Open(r.ctx, store, key, r.schema)
	}
	c, err := checkpoint.OpenAt(r.ctx, store, key, r.schema, r.opts.At)
	if errors.Is(err, checkpoint.ErrNotFound) {
		err = unknown(key, r.opts.At)
	}
	return c, err
}

// openChild opens the chain of a subgraph.
func (r *run) openChild(key checkpoint.Key) (*checkpoint.Chain, error) {
	if r.from.at != 0 {
		if branched, err := r.thread().hasBranched(key.Namespace, r.place); err != nil {
			return nil, err
		} else if !branched {
			return r.openOlder(key, r.from.at)
		}
	}
	switch {
	case r.cfg.Nested == PerThread:
		return r.openShared(key)
	case r.session.root.req.replays():
		return r.openReplayed(key)
	}
	return checkpoint.Open(r.ctx, r.cfg.Store, key, r.schema)
}
