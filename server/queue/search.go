package queue

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
)

// search is how far a queue has looked for runs of dead processes.
type search struct {
	sync.Mutex
	after *document.Position // nil at the beginning
	until string             // "" before it begins
	done  bool
}

// Claim claims at most n runs. First come runs that a process has left behind, once its lease has
// run out. Then each thread has a claim for its next run, in the order of their turns. A run that
// has used up its attempts ends. The first calls also claim runs of processes of this machine that
// are known to be dead, such as the one before this, without waiting for their leases.
//
// A thread that cannot be read does not keep others waiting: Claim returns its error beside claims.
func (q *Queue) Claim(ctx context.Context, n int) (claims []*Claim, err error) {
	var failed []error
	for _, some := range []func(context.Context, int) ([]*Claim, []error, error){q.claimLeft, q.claimDead, q.claimWaiting} {
		more, bad, err := some(ctx, n-len(claims))
		claims, failed = append(claims, more...), append(failed, bad...)
		if err != nil {
			return claims, errors.Join(append(failed, err)...)
		}
	}
	return claims, errors.Join(failed...)
}

// claimLeft claims at most n runs that their processes have left behind. It looks for them once in
// each interval of passEvery: pass wakes the workers where the intervals begin. If there may be
// more of them, it looks again in the next call. Its results are as those of claimDue.
func (q *Queue) claimLeft(ctx context.Context, n int) (claims []*Claim, failed []error, err error) {
	now := q.config.Now()
	interval := now.UnixNano() / int64(passEvery)
	if n <= 0 || q.lookedForLeft.Swap(interval) == interval {
		return nil, nil, nil
	}
	claims, failed, err = q.claimDue(ctx, document.Query{Place: looks, Until: turn{now.Add(1), true}.order()}, n)
	if len(claims) == n {
		q.lookedForLeft.Store(0)
	}
	return claims, failed, err
}

// claimWaiting claims at most n runs that wait for a worker. Its results are as those of claimDue.
func (q *Queue) claimWaiting(ctx context.Context, n int) ([]*Claim, []error, error) {
	return q.claimDue(ctx, document.Query{Place: looks, From: waitingTurns, Until: turn{at: q.config.Now().Add(1)}.order()}, n)
}

// claimDue claims at most n runs of the threads that a query finds. It returns the errors of
// threads that cannot be read, and err if the store cannot.
func (q *Queue) claimDue(ctx context.Context, due document.Query, n int) (claims []*Claim, failed []error, err error) {
	page := n + 16
	due.Limit = &page
	for len(claims) < n {
		docs, err := q.config.Documents.Query(ctx, due)
		if err != nil {
			return claims, failed, err
		}
		some, _, bad, err := q.claimOf(ctx, docs, n-len(claims))
		claims, failed = append(claims, some...), append(failed, bad...)
		if err != nil || len(docs) < page {
			return claims, failed, err
		}
		due.After = new(docs[len(docs)-1].Position())
	}
	return claims, failed, nil
}

// claimOf claims at most n runs of the threads of docs. It returns how many of docs it has looked
// at, the errors of threads that cannot be read, and err if the store cannot.
func (q *Queue) claimOf(ctx context.Context, docs []document.Doc, n int) (claims []*Claim, looked int, failed []error, err error) {
	for looked < len(docs) && len(claims) < n && err == nil {
		some := docs[looked:min(len(docs), looked+min(n-len(claims), claimsAtOnce))]
		for _, r := range q.claimEach(ctx, some) {
			switch {
			case r.err != nil && isAway(ctx, r.err):
				err = cmp.Or(err, r.err)
			case r.err != nil:
				failed = append(failed, r.err)
			case r.claim != nil:
				claims = append(claims, r.claim)
			}
			if err == nil {
				looked++
			}
		}
	}
	return claims, looked, failed, err
}

// claimsAtOnce bounds the claims that are made at the same time.
const claimsAtOnce = 16

// claimResult is what claim has returned.
type claimResult struct {
	claim *Claim
	err   error
}

// claimEach claims the next run of each thread of docs, all at once: a claim waits for the store
// several times. The results are in the order of docs.
func (q *Queue) claimEach(ctx context.Context, docs []document.Doc) []claimResult {
	results := make([]claimResult, len(docs))
	var wg sync.WaitGroup
	for i, d := range docs {
		wg.Go(func() { results[i].claim, results[i].err = q.claim(ctx, d) })
	}
	wg.Wait()
	return results
}

// isAway reports whether an error is about the store, and not about one thread.
func isAway(ctx context.Context, err error) bool {
	return ctx.Err() != nil || checkpoint.IsTemporary(err) || errors.Is(err, checkpoint.ErrClosed)
}

// claimDead claims at most n runs of dead processes of this machine before their leases end. Each
// call goes on where the one before has stopped, until all runs have been looked at that were
// claimed when the first call began.
func (q *Queue) claimDead(ctx context.Context, n int) (claims []*Claim, _ []error, err error) {
	q.search.Lock()
	defer q.search.Unlock()
	if q.search.done || n <= 0 {
		return nil, nil, nil
	}
	if q.search.until == "" {
		q.search.until = turn{q.config.Now().Add(q.config.Lease), true}.order()
	}
	page := n + 16
	docs, err := q.config.Documents.Query(ctx, document.Query{Place: looks, After: q.search.after, Until: q.search.until, Limit: &page})
	if err != nil {
		return nil, nil, err
	}
	claims, looked, _, err := q.claimOf(ctx, docs, n) // what cannot be read is reported when it is due
	if looked > 0 {
		q.search.after = new(docs[looked-1].Position())
	}
	q.search.done = looked == len(docs) && len(docs) < page
	return claims, nil, err
}
