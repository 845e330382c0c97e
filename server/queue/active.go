package queue

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/weftrun/weft/checkpoint/document"
)

// lookPage is how many threads are read at once.
const lookPage = 200

// lines yields the threads that have unfinished runs, with their lines. A thread moves when a run
// of it is claimed or put back, and is yielded once.
func (q *Queue) lines(ctx context.Context) iter.Seq2[*thread, error] {
	return func(yield func(*thread, error) bool) {
		seen := map[string]bool{}
		waiting, begun := document.Query{Place: looks, From: waitingTurns}, document.Query{Place: looks, Until: waitingTurns}
		for _, part := range []document.Query{waiting, begun, waiting} {
			for d, err := range q.pages(ctx, part) {
				if err != nil {
					yield(nil, err)
					return
				}
				if seen[d.ID] {
					continue
				}
				seen[d.ID] = true
				if t, err := q.open(ctx, d.ID); !yield(t, err) || err != nil {
					return
				}
			}
		}
	}
}

// pages yields the documents of a query, which are read in pages. An error is the last result.
func (q *Queue) pages(ctx context.Context, page document.Query) iter.Seq2[document.Doc, error] {
	return func(yield func(document.Doc, error) bool) {
		page.Limit = new(lookPage)
		for {
			docs, err := q.config.Documents.Query(ctx, page)
			if err != nil {
				yield(document.Doc{}, err)
				return
			}
			for _, d := range docs {
				if !yield(d, nil) {
					return
				}
			}
			if len(docs) < lookPage {
				return
			}
			page.After = new(docs[len(docs)-1].Position())
		}
	}
}

// Active yields the runs that have not ended, of all threads. Those of one thread are in their
// order. An error is the last result.
func (q *Queue) Active(ctx context.Context) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		for t, err := range q.lines(ctx) {
			if err != nil {
				yield(Run{}, err)
				return
			}
			for _, e := range t.line.Runs {
				r, err := q.Get(ctx, t.id, e.ID)
				if errors.Is(err, ErrNotFound) || err == nil && r.Status.Ended() {
					continue // it has ended since
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// Load is how many runs have not ended.
type Load struct {
	Pending, Running int
	Oldest           time.Duration  // how long a pending run has waited at most
	Owners           map[string]int // pending and running, by Run.Owner
}

// Load counts the runs that have not ended, of all threads. It reads the line of each, so it is
// not for each request.
func (q *Queue) Load(ctx context.Context) (Load, error) {
	l := Load{Owners: map[string]int{}}
	for t, err := range q.lines(ctx) {
		if err != nil {
			return l, err
		}
		for _, e := range t.line.Runs {
			if l.Owners[e.Owner]++; e.Fence != "" {
				l.Running++
			} else {
				l.Pending++
				l.Oldest = max(l.Oldest, e.waited(t.now))
			}
		}
	}
	return l, nil
}
