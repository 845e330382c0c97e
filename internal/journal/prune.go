package journal

import (
	"context"

	"github.com/weftrun/weft/checkpoint"
)

// pruneEvery is after how many commits of a thread its old commits are looked at again.
const pruneEvery = 64

// KeepsAll reports whether nothing of a thread is ever dropped.
func KeepsAll(k checkpoint.Keep) bool {
	return k.Last == 0 && k.For == 0 && len(k.Runs) == 0 && k.Marked == nil
}

// prune drops what Config.Keep does not keep, beside the step after commit seq, if that is one
// after which to do so. The next commit waits for it. A failure is tried again the next time:
// nothing but room is lost.
func (j *Journal) prune(seq uint64) {
	keep := j.cfg.Keep
	if seq%pruneEvery != 0 || KeepsAll(keep) {
		return
	}
	keep.Fence = j.Chain.Fence
	if keep.Now == nil {
		keep.Now = j.cfg.Now
	}
	done := make(chan struct{})
	j.pruning = done
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(j.ctx, WriteTime)
		defer cancel()
		_ = j.guarded(ctx, "prune", func(ctx context.Context) error {
			return checkpoint.Prune(ctx, j.cfg.Store, j.cfg.Key.Thread, keep)
		})
	}()
}

// pruned waits for what prune began, with the lock held.
func (j *Journal) pruned() {
	if j.pruning != nil {
		<-j.pruning
		j.pruning = nil
	}
}

// Close waits at the end of a run for what the journal does in the background. It stores nothing.
func (j *Journal) Close() {
	j.lock.Lock()
	defer j.lock.Unlock()
	j.pruned()
	j.writes.Close()
	if j.flight == nil {
		j.Chain.Free()
	}
}
