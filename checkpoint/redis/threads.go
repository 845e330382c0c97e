package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"sync"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/brief"
)

// The index of threads is a sorted set of ids in each of a fixed number of keys, which
// a cluster spreads over its nodes. It is a hint: a thread is added before its first
// commit and after it, and a listing that finds no such thread removes it.
const (
	indexKeys   = 16
	relistEvery = 64 // commits, after which a thread is put in again
)

func (s *Store) indexKey(n int) string { return fmt.Sprintf("%s:threads:%d", s.cfg.Prefix, n) }

func (s *Store) indexOf(thread string) string {
	h := fnv.New32a()
	h.Write([]byte(thread))
	return s.indexKey(int(h.Sum32() % indexKeys))
}

// listing returns the command that puts a thread into the index, if this commit is one
// that does.
func (s *Store) listing(c *checkpoint.Commit) []*job {
	if s.cfg.Unlisted || c.Namespace != "" || c.Head%relistEvery != 0 {
		return nil
	}
	key := s.indexOf(c.Thread)
	return []*job{newJob(key, len(c.Thread), "zadd", key, 0, c.Thread)}
}

// unlist takes a thread out of the index, and puts it back if it was begun meanwhile.
func (s *Store) unlist(ctx context.Context, thread string) error {
	key := s.indexOf(thread)
	if _, err := s.notify(ctx, key, "zrem", key, thread); err != nil {
		return err
	}
	there, err := s.ask(ctx, s.key(thread), "hexists", s.key(thread), "h/")
	if err == nil && there == int64(1) {
		_, err = s.notify(ctx, key, "zadd", key, 0, thread)
	}
	return err
}

// Threads implements checkpoint.Store. It reads the index, so it lists what was begun
// while Config.Unlisted was false. Threads that start or end while it is read may show
// or not; every other thread shows once.
func (s *Store) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) {
		r := roots{store: s, shelves: make([]shelf, indexKeys)}
		for n := range r.shelves {
			r.shelves[n] = shelf{key: s.indexKey(n), after: q.After}
		}
		inPages(ctx, q.Limit, q.Where, r.read, yield)
	}
}

// roots merges the keys of the index.
type roots struct {
	store   *Store
	shelves []shelf
}

// shelf is one key of the index, as far as it was read.
type shelf struct {
	key   string
	after string
	ids   []string // to be listed next
	empty bool     // there are no more
}

// read returns the heads of the next n threads of the index, without those that are gone.
func (r *roots) read(ctx context.Context, n int) (page []checkpoint.Snapshot, more bool, err error) {
	ctx = brief.OneCall(ctx)
	ids, err := r.next(ctx, n)
	if err != nil {
		return nil, false, err
	}
	page, err = r.store.heads(ctx, ids)
	return page, len(ids) == n, err
}

// next takes the n least ids. Each shelf alone may hold all of them.
func (r *roots) next(ctx context.Context, n int) (ids []string, err error) {
	err = inParallel(len(r.shelves), func(i int) error { return r.shelves[i].fill(ctx, r.store, n) })
	if err != nil {
		return nil, err
	}
	for range n {
		least := -1
		for i := range r.shelves {
			if len(r.shelves[i].ids) > 0 && (least < 0 || r.shelves[i].ids[0] < r.shelves[least].ids[0]) {
				least = i
			}
		}
		if least < 0 {
			break
		}
		sh := &r.shelves[least]
		ids, sh.ids = append(ids, sh.ids[0]), sh.ids[1:]
	}
	return ids, nil
}

// fill reads until the shelf has n ids, or all that there are.
func (sh *shelf) fill(ctx context.Context, s *Store, n int) error {
	if sh.empty || len(sh.ids) >= n {
		return nil
	}
	from := "-"
	if sh.after != "" {
		from = "(" + sh.after
	}
	want := n - len(sh.ids)
	reply, err := s.ask(ctx, sh.key, "zrangebylex", sh.key, from, "+", "limit", 0, want)
	if err != nil {
		return fmt.Errorf("the index of threads: %w", err)
	}
	list, _ := reply.([]any)
	for _, id := range list {
		text, _ := id.(string)
		sh.ids = append(sh.ids, text)
		sh.after = text
	}
	sh.empty = len(list) < want
	return nil
}

// heads returns the root heads of threads, and takes those that are gone off the index.
func (s *Store) heads(ctx context.Context, ids []string) ([]checkpoint.Snapshot, error) {
	found := make([][]checkpoint.Snapshot, len(ids))
	err := inParallel(len(ids), func(i int) (err error) {
		l := log{store: s, key: checkpoint.Key{Thread: ids[i]}}
		if found[i], _, err = l.read(ctx, 1); err == nil && len(found[i]) == 0 {
			err = s.unlist(ctx, ids[i])
		}
		return err
	})
	page := slices.Concat(found...)
	slices.SortFunc(page, func(a, b checkpoint.Snapshot) int { return cmp.Compare(a.Thread, b.Thread) })
	return page, err
}

// inParallel calls f for 0 to n-1 at once: on the way to the server they share pipelines.
func inParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
