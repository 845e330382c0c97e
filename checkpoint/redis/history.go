package redis

import (
	"context"
	"fmt"
	"iter"

	"github.com/weftrun/weft/checkpoint"
)

const (
	pageSize  = 64   // snapshots that a listing reads at once
	walkSteps = 5000 // numbers that the server looks at in one call to find a place in a chain
)

// History implements checkpoint.Store. Commits that are made while it is read do not
// show. When the thread is deleted meanwhile, it ends.
func (s *Store) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) {
		l := log{store: s, key: k, before: q.Before}
		if l.before > maxNumber {
			l.before = 0
		}
		inPages(ctx, q.Limit, q.Where, l.read, yield)
	}
}

// log reads a chain page by page.
type log struct {
	store  *Store
	key    checkpoint.Key
	before uint64 // 0 for from the head
	head   uint64 // of the first page
}

func (l *log) read(ctx context.Context, n int) (page []checkpoint.Snapshot, more bool, err error) {
	if l.before == 1 {
		return nil, false, ctx.Err()
	}
	a, err := l.find(ctx, n)
	if err != nil {
		return nil, false, err
	}
	head := a.number(0)
	if l.head == 0 {
		l.head = head
	}
	if head < l.head {
		return nil, false, nil // deleted, and perhaps begun again
	}
	page, err = listed(l.key, a)
	if len(page) > 0 {
		l.before = page[len(page)-1].Seq
	}
	return page, len(page) == n, err
}

// find asks until the server has found the place.
func (l *log) find(ctx context.Context, n int) (a answer, err error) {
	for at := uint64(0); ; at = a.number(0) {
		args := []any{origin(l.key.Thread), encode(l.key.Namespace), decimal(l.before), n, walkSteps, decimal(at)}
		reply, err := l.store.call(ctx, historyScript, l.store.key(l.key.Thread), args)
		if err != nil {
			return a, fmt.Errorf("thread %q, namespace %q: %w", l.key.Thread, l.key.Namespace, err)
		}
		if a = toAnswer(reply); a.code != "W" {
			return a, a.refusal(l.key, 0)
		}
	}
}

// listed reads the answer of the script. What comes before an error is returned too.
func listed(k checkpoint.Key, a answer) (page []checkpoint.Snapshot, err error) {
	for i := 3; i+1 < len(a.rest); i += 2 {
		snap := checkpoint.Snapshot{Key: k, Head: a.number(0), Seq: a.number(i)}
		if _, there := a.rest[i+1].(string); !there {
			return page, damaged(snap, "header", "the commit is missing")
		}
		if err := decodeRecord(&snap, a.text(i+1)); err != nil {
			return page, damaged(snap, "header", err.Error())
		}
		if snap.Seq == snap.Head {
			if snap.Pending, err = entries(snap, a.list(1), a.list(2)); err != nil {
				return page, err
			}
		}
		page = append(page, snap)
	}
	return page, nil
}

// inPages yields the snapshots of read that match where. read gets the number of snapshots to
// return, and reports whether there may be more. Snapshots before an error are yielded before it.
func inPages(ctx context.Context, limit int, where map[string]string, read func(ctx context.Context, n int) ([]checkpoint.Snapshot, bool, error), yield func(checkpoint.Snapshot, error) bool) {
	for left := limit; ; {
		n := pageSize
		if limit > 0 && len(where) == 0 {
			n = min(n, left)
		}
		page, more, err := read(ctx, n)
		for i := 0; i < len(page) && ctx.Err() == nil; i++ {
			if !matches(page[i].Labels, where) {
				continue
			}
			if !yield(page[i], nil) {
				return
			}
			if left--; left == 0 {
				return
			}
		}
		if ctx.Err() != nil {
			err = ended(ctx, false, nil)
		}
		if err != nil {
			yield(checkpoint.Snapshot{}, err)
			return
		}
		if !more {
			return
		}
	}
}

func matches(labels, where map[string]string) bool {
	for k, want := range where {
		if got, there := labels[k]; !there || got != want {
			return false
		}
	}
	return true
}
