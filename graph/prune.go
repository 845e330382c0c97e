package graph

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

// pruneEvery is after how many commits of a thread Config.Keep is looked at again.
const pruneEvery = 64

// keepsAll reports whether nothing of a thread is ever dropped.
func keepsAll(k checkpoint.Keep) bool {
	return k.Last == 0 && k.For == 0 && len(k.Runs) == 0 && k.Marked == nil
}

// checkKeep says why Keep cannot be what is meant.
func (c Config) checkKeep() error {
	switch k := c.Keep; {
	case k.Last < 0 || k.For < 0:
		return fmt.Errorf("the Keep is negative: the last %d, for %v", k.Last, k.For)
	case k.Fence != "":
		return errors.New("the Keep has a fence; a run prunes under its own")
	case keepsAll(k):
		return nil
	}
	if _, drops := c.Store.(checkpoint.Dropper); !drops {
		return fmt.Errorf("old commits are to be dropped, and the store %T cannot do that", c.Store)
	}
	return nil
}

// prune drops what Config.Keep does not keep, beside the step after commit seq, if that
// is one after which to do so. The next commit waits for it. What goes wrong stays for the
// next time: nothing but room is lost.
func (r *run) prune(seq uint64) {
	keep := r.cfg.Keep
	if seq%pruneEvery != 0 || r.inside != nil || keepsAll(keep) || r.req.replays() {
		return
	}
	if keep.Fence = r.session.fence(); keep.Now == nil {
		keep.Now = r.cfg.Now
	}
	done := make(chan struct{})
	r.pruning = done
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(r.ctx, flush)
		defer cancel()
		_ = guarded(ctx, func(ctx context.Context) error {
			return checkpoint.Prune(ctx, r.cfg.Store, r.opts.Thread, keep)
		})
	}()
}

// settlePruning waits at the end of the run for what prune began.
func (r *run) settlePruning() {
	if r.storing == nil {
		return
	}
	r.storing.Lock()
	defer r.storing.Unlock()
	r.pruned()
}

// pruned waits for what prune began. Whoever calls it holds r.storing, as for prune.
func (r *run) pruned() {
	if r.pruning != nil {
		<-r.pruning
		r.pruning = nil
	}
}
