package graph

import (
	"errors"

	"github.com/weftrun/weft/checkpoint"
)

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

// openOlder opens the chain of a run that goes back. The next commit begins a branch, also where
// at is the head.
func (r *run) openOlder(key checkpoint.Key, at uint64) (*checkpoint.Chain, error) {
	c, err := checkpoint.OpenAt(r.ctx, r.cfg.Store, key, r.schema, at)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, unknown(key, at)
	}
	r.forks = true
	return c, err
}

// openNamed opens the root's chain for a Run that names a commit of a subgraph. Where the thread
// stands at that commit, it is opened at its head.
func (r *run) openNamed() (*checkpoint.Chain, error) {
	host, rw, err := r.hosts(r.opts.Namespace, r.opts.At)
	if err != nil {
		return nil, err
	}
	if rw == nil {
		return checkpoint.Open(r.ctx, r.cfg.Store, r.key(), r.schema)
	}
	r.rewind = rw
	return r.openOlder(r.key(), host)
}

// openReplayed opens the chain of a subgraph for a replay: what it came to on the branch of the
// thread that is replayed.
func (r *run) openReplayed(key checkpoint.Key) (*checkpoint.Chain, error) {
	c, err := r.openNewest(key, func(w *checkpoint.Within) (bool, error) {
		return w == nil || w.Root.Branch == r.place.Root.Branch, nil
	})
	if c == nil && err == nil {
		return checkpoint.Open(r.ctx, r.cfg.Store, key, r.schema)
	}
	return c, err
}

// openNewest opens a chain at the newest commit that was made for a call that counts; nil means
// that there is none.
func (r *run) openNewest(key checkpoint.Key, counts func(*checkpoint.Within) (bool, error)) (*checkpoint.Chain, error) {
	for c, err := range r.thread().commits(key.Namespace, checkpoint.Query{}) {
		if err != nil {
			return nil, err
		}
		if ok, err := counts(c.rec.Within); err != nil {
			return nil, err
		} else if ok {
			return checkpoint.OpenAt(r.ctx, r.cfg.Store, key, r.schema, c.Seq)
		}
	}
	return nil, nil
}
