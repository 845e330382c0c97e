package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// full is a store that offers everything.
type full interface {
	checkpoint.Store
	checkpoint.Leaser
	checkpoint.Dropper
	checkpoint.Expirer
	Clock
}

// faulty is a store with some methods replaced. A method whose function is nil is the one of
// the sound store.
type faulty struct {
	full
	commit     func(full, context.Context, checkpoint.Commit) error
	put        func(full, context.Context, checkpoint.Pending) error
	load       func(full, context.Context, checkpoint.Key, uint64) (checkpoint.Snapshot, error)
	history    func(full, context.Context, checkpoint.Key, checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error]
	threads    func(full, context.Context, checkpoint.ThreadQuery) iter.Seq2[checkpoint.Snapshot, error]
	namespaces func(full, context.Context, string) ([]string, error)
	remove     func(full, context.Context, string) error
	acquire    func(full, context.Context, checkpoint.LeaseRequest) (checkpoint.Lease, error)
	release    func(full, context.Context, string, string) error
	drop       func(full, context.Context, checkpoint.Drop) error
	expire     func(full, context.Context, string, time.Duration) error
}

func (s faulty) Commit(ctx context.Context, c checkpoint.Commit) error {
	if s.commit != nil {
		return s.commit(s.full, ctx, c)
	}
	return s.full.Commit(ctx, c)
}

func (s faulty) Put(ctx context.Context, p checkpoint.Pending) error {
	if s.put != nil {
		return s.put(s.full, ctx, p)
	}
	return s.full.Put(ctx, p)
}

func (s faulty) Load(ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	if s.load != nil {
		return s.load(s.full, ctx, k, seq)
	}
	return s.full.Load(ctx, k, seq)
}

func (s faulty) History(ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
	if s.history != nil {
		return s.history(s.full, ctx, k, q)
	}
	return s.full.History(ctx, k, q)
}

func (s faulty) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Snapshot, error] {
	if s.threads != nil {
		return s.threads(s.full, ctx, q)
	}
	return s.full.Threads(ctx, q)
}

func (s faulty) Namespaces(ctx context.Context, thread string) ([]string, error) {
	if s.namespaces != nil {
		return s.namespaces(s.full, ctx, thread)
	}
	return s.full.Namespaces(ctx, thread)
}

func (s faulty) Delete(ctx context.Context, thread string) error {
	if s.remove != nil {
		return s.remove(s.full, ctx, thread)
	}
	return s.full.Delete(ctx, thread)
}

func (s faulty) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	if s.acquire != nil {
		return s.acquire(s.full, ctx, r)
	}
	return s.full.Acquire(ctx, r)
}

func (s faulty) Release(ctx context.Context, thread, fence string) error {
	if s.release != nil {
		return s.release(s.full, ctx, thread, fence)
	}
	return s.full.Release(ctx, thread, fence)
}

func (s faulty) Drop(ctx context.Context, d checkpoint.Drop) error {
	if s.drop != nil {
		return s.drop(s.full, ctx, d)
	}
	return s.full.Drop(ctx, d)
}

func (s faulty) Expire(ctx context.Context, thread string, ttl time.Duration) error {
	if s.expire != nil {
		return s.expire(s.full, ctx, thread, ttl)
	}
	return s.full.Expire(ctx, thread, ttl)
}

// fences remembers the fence of each thread, to let writers in that have none.
type fences struct {
	mu sync.Mutex
	of map[string]string
}

func (f *fences) set(thread, fence string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]string{}
	}
	f.of[thread] = fence
}

func (f *fences) get(thread string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[thread]
}

// watching returns a store that keeps f up to date.
func (f *fences) watching(t faulty) faulty {
	if t.acquire == nil {
		t.acquire = func(s full, ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
			l, err := s.Acquire(ctx, r)
			if err == nil {
				f.set(r.Thread, l.Fence)
			}
			return l, err
		}
	}
	if t.release == nil {
		t.release = func(s full, ctx context.Context, thread, fence string) error {
			if fence == f.get(thread) {
				f.set(thread, "")
			}
			return s.Release(ctx, thread, fence)
		}
	}
	if t.remove == nil {
		t.remove = func(s full, ctx context.Context, thread string) error {
			f.set(thread, "")
			return s.Delete(ctx, thread)
		}
	}
	return t
}

// withFaults returns a function that replaces methods of a sound store.
func withFaults(t faulty) func(checkpoint.Store) checkpoint.Store {
	return func(s checkpoint.Store) checkpoint.Store {
		t.full = s.(full)
		return t
	}
}

// fencing makes a broken store that may look at the newest fences.
func fencing(make func(f *fences) faulty) func(checkpoint.Store) checkpoint.Store {
	return func(s checkpoint.Store) checkpoint.Store {
		f := new(fences)
		t := f.watching(make(f))
		t.full = s.(full)
		return t
	}
}

var brokenFull = []broken{
	{"ignores fences in Commit", []string{"Lease", "LeaseForce", "LateWriter", "FencedWritesNothing", "FencesStayInvalid", "Linearizable"}, fencing(func(f *fences) faulty {
		return faulty{commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
			c.Fence = f.get(c.Thread)
			return s.Commit(ctx, c)
		}}
	})},
	{"ignores fences in Put", []string{"Lease", "LateWriter", "FencedWritesNothing"}, fencing(func(f *fences) faulty {
		return faulty{put: func(s full, ctx context.Context, p checkpoint.Pending) error {
			p.Fence = f.get(p.Thread)
			return s.Put(ctx, p)
		}}
	})},
	{"ignores fences in Drop", []string{"FencedDrop"}, fencing(func(f *fences) faulty {
		return faulty{drop: func(s full, ctx context.Context, d checkpoint.Drop) error {
			d.Fence = f.get(d.Thread)
			return s.Drop(ctx, d)
		}}
	})},
	{"lets anybody write when a lease has run out", []string{"LeaseRunsOut"}, withFaults(faulty{commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
		err := s.Commit(ctx, c)
		if l, busy := s.Acquire(ctx, ask(c.Thread, "x")); errors.Is(err, checkpoint.ErrFenced) && busy == nil {
			c.Fence = l.Fence
			err = s.Commit(ctx, c)
		}
		return err
	}})},
	{"leases a thread to all who ask", []string{"LeaseBusy", "LeaseRenew", "LeaseRace"}, withFaults(faulty{acquire: func(s full, ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
		r.Force = r.Fence == ""
		return s.Acquire(ctx, r)
	}})},
	{"ignores Force", []string{"LeaseForce"}, withFaults(faulty{acquire: func(s full, ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
		r.Force = false
		return s.Acquire(ctx, r)
	}})},
	{"ignores Over", []string{"LeaseOver", "LeaseOverRace"}, withFaults(faulty{acquire: func(s full, ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
		r.Over = ""
		return s.Acquire(ctx, r)
	}})},
	{"takes Over for Force", []string{"LeaseOver"}, withFaults(faulty{acquire: func(s full, ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
		r.Force = r.Force || r.Over != ""
		return s.Acquire(ctx, r)
	}})},
	{"does not know a takeover again", []string{"LeaseAgain", "Linearizable"}, repeatsTakeovers("")},
	{"makes a takeover again that was taken over", []string{"LeaseAgain", "LeaseLog", "Linearizable"}, repeatsTakeovers("taken over")},
	{"remembers the newest lease alone", []string{"LeaseLog"}, repeatsTakeovers("old")},
	{"gives a new fence for a renewal", []string{"LeaseRenew"}, withFaults(faulty{acquire: func(s full, ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
		if r.Fence != "" {
			if err := s.Release(ctx, r.Thread, r.Fence); err != nil {
				return checkpoint.Lease{}, err
			}
		}
		r.Fence = ""
		return s.Acquire(ctx, r)
	}})},
	{"renews nothing", []string{"LeaseRenew"}, withFaults(faulty{acquire: func(s full, ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
		if r.Fence != "" {
			return checkpoint.Lease{Fence: r.Fence, TTL: r.TTL, Owner: "ann"}, nil
		}
		return s.Acquire(ctx, r)
	}})},
	{"releases for anybody", []string{"LeaseRelease", "LeaseForce"}, fencing(func(f *fences) faulty {
		return faulty{release: func(s full, ctx context.Context, thread, _ string) error {
			return s.Release(ctx, thread, f.get(thread))
		}}
	})},
	{"never releases", []string{"LeaseRelease", "FencesAreNew"}, withFaults(faulty{release: func(_ full, ctx context.Context, _, _ string) error { return ctx.Err() }})},
	{"keeps the lease of a thread that was deleted", []string{"FencesStayInvalid", "LeaseIsNoThread"}, keepsLeases},
	{"counts its fences", []string{"FencesAreNew"}, countsFences},
	{"reports conflicts before fences", []string{"FencedBeforeAll"}, withFaults(faulty{commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
		if snap, err := s.Load(ctx, c.Key, 0); err == nil && snap.Head != c.Head && snap.ID != c.ID {
			return &checkpoint.ConflictError{Key: c.Key, Want: c.Head, Head: snap.Head}
		}
		return s.Commit(ctx, c)
	}})},
	{"acknowledges a commit that is there to anybody", []string{"FencedBeforeAll", "LateWriter"}, withFaults(faulty{commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
		if snap, err := s.Load(ctx, c.Key, 0); err == nil && snap.ID == c.ID && snap.Head == c.Seq() {
			return nil
		}
		return s.Commit(ctx, c)
	}})},
	{"returns no error for a drop of the head", []string{"DropNeverTheHead"}, withFaults(faulty{drop: func(s full, ctx context.Context, d checkpoint.Drop) error {
		d.Commits = slices.DeleteFunc(slices.Clone(d.Commits), func(n uint64) bool { return n == d.Head })
		return s.Drop(ctx, d)
	}})},
	{"drops at any head", []string{"DropIsBoundToTheHead"}, withFaults(faulty{drop: func(s full, ctx context.Context, d checkpoint.Drop) error {
		if snap, err := s.Load(ctx, d.Key, 0); err == nil {
			d.Head = snap.Head
		}
		return s.Drop(ctx, d)
	}})},
	{"drops blobs only", []string{"Drop", "DropNeverTheHead", "Prune"}, withFaults(faulty{drop: func(s full, ctx context.Context, d checkpoint.Drop) error {
		d.Commits = nil
		return s.Drop(ctx, d)
	}})},
	{"drops commits only", []string{"DropBlobs"}, withFaults(faulty{drop: func(s full, ctx context.Context, d checkpoint.Drop) error {
		d.Blobs = nil
		return s.Drop(ctx, d)
	}})},
	{"drops whole runs of chunks", []string{"DropBlobs"}, withFaults(faulty{drop: func(s full, ctx context.Context, d checkpoint.Drop) error {
		for _, b := range d.Blobs {
			for n := range 10 {
				b.Chunk = n
				d.Blobs = append(d.Blobs, b)
			}
		}
		return s.Drop(ctx, d)
	}})},
	{"drops every commit before the last that it should", []string{"Drop", "PruneRules"}, withFaults(faulty{drop: func(s full, ctx context.Context, d checkpoint.Drop) error {
		if len(d.Commits) > 0 {
			for n := range slices.Max(d.Commits) {
				d.Commits = append(d.Commits, n+1)
			}
		}
		return s.Drop(ctx, d)
	}})},
	{"keeps namespaces", []string{"DropNamespace", "PruneSubgraphs"}, withFaults(faulty{drop: func(s full, ctx context.Context, d checkpoint.Drop) error {
		d.All = false
		return s.Drop(ctx, d)
	}})},
	{"ignores the time to live of commits", []string{"CommitTTL", "LaterTTL", "ExpireMany"}, withFaults(faulty{commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
		c.TTL = max(0, -c.TTL)
		return s.Commit(ctx, c)
	}})},
	{"forgets the end of a thread with the next commit", []string{"LaterTTL"}, withFaults(faulty{commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
		err := s.Commit(ctx, c)
		if err == nil && c.TTL == 0 {
			err = s.Expire(ctx, c.Thread, 0)
		}
		return err
	}})},
	{"keeps the first end of a thread", []string{"LaterTTL"}, firstTTL},
	{"takes never for now", []string{"ExpireNever"}, withFaults(faulty{expire: func(s full, ctx context.Context, thread string, ttl time.Duration) error {
		if ttl == 0 {
			return s.Delete(ctx, thread)
		}
		return s.Expire(ctx, thread, ttl)
	}})},
	{"lets nothing expire", []string{"Expire", "ExpiredIsWhollyGone", "ExpiredStartsAnew"}, withFaults(faulty{expire: func(s full, ctx context.Context, thread string, _ time.Duration) error {
		return s.Expire(ctx, thread, 0)
	}})},
	{"lets a thread end at once that has the longest time", []string{"ExpireInCenturies"}, withFaults(faulty{commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
		if c.TTL == math.MaxInt64 {
			c.TTL = 1
		}
		return s.Commit(ctx, c)
	}})},
	{"lets a lease run out at once that has the longest time", []string{"LeaseForCenturies"}, withFaults(faulty{acquire: func(s full, ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
		if r.TTL == math.MaxInt64 {
			r.TTL = 1
		}
		return s.Acquire(ctx, r)
	}})},
	{"lets an unknown thread expire", []string{"ExpireUnknown"}, withFaults(faulty{expire: func(s full, ctx context.Context, thread string, ttl time.Duration) error {
		if err := s.Expire(ctx, thread, ttl); !errors.Is(err, checkpoint.ErrNotFound) {
			return err
		}
		return nil
	}})},
	{"lists threads that have expired", []string{"ExpiredInListings", "CommitTTL"}, func(s checkpoint.Store) checkpoint.Store { return &listsExpired{full: s.(full)} }},
	{"puts nothing beside a commit", []string{"Beside", "BesideIsAtomic"}, withFaults(faulty{commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
		c.Pending = nil
		return s.Commit(ctx, c)
	}})},
	{"keeps old entries beside a commit", []string{"Beside"}, withFaults(faulty{commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
		if old, err := s.Load(ctx, c.Key, 0); err == nil && old.Head == c.Head {
			c.Pending = append(slices.Clone(old.Pending), c.Pending...)
		}
		return s.Commit(ctx, c)
	}})},
	{"ignores numbers", []string{"Numbers", "NumbersAgain", "HistoryWithGaps", "CopyBetweenStores"}, withFaults(faulty{commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
		if c.Number > c.Head && c.Number < 1<<63 {
			c.Number = 0
		}
		return s.Commit(ctx, c)
	}})},
	{"ignores labels", []string{"Labels", "LabelsInHistory", "LabelsInThreads"}, withFaults(faulty{commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
		if c.Check() == nil {
			c.Labels = nil
		}
		return s.Commit(ctx, c)
	}})},
	{"takes any label", []string{"BadLabels"}, withFaults(faulty{commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
		if c.Check() != nil {
			c.Labels = nil
		}
		return s.Commit(ctx, c)
	}})},
	{"finds all of a history", []string{"LabelsInHistory", "HostileLabels", "BadLabels"}, filters(func(labels, where map[string]string) bool { return true }, false)},
	{"finds what has one of the labels", []string{"LabelsInHistory"}, filters(func(labels, where map[string]string) bool {
		for key, value := range where {
			if got, found := labels[key]; found && got == value {
				return true
			}
		}
		return len(where) == 0
	}, false)},
	{"finds labels by their beginning", []string{"LabelsInHistory"}, filters(func(labels, where map[string]string) bool {
		for key, value := range where {
			if got, found := labels[key]; !found || !strings.HasPrefix(got, value) {
				return false
			}
		}
		return true
	}, false)},
	{"takes no label for an empty one", []string{"LabelsInHistory"}, filters(func(labels, where map[string]string) bool {
		for key, value := range where {
			if labels[key] != value {
				return false
			}
		}
		return true
	}, false)},
	{"limits before it searches", []string{"LabelsInHistory"}, filters(func(labels, where map[string]string) bool {
		for key, value := range where {
			if got, found := labels[key]; !found || got != value {
				return false
			}
		}
		return true
	}, true)},
	{"finds all threads", []string{"LabelsInThreads"}, withFaults(faulty{threads: func(s full, ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Snapshot, error] {
		q.Where = nil
		return s.Threads(ctx, q)
	}})},
	{"lists namespaces in any order", []string{"Namespaces"}, withFaults(faulty{namespaces: func(s full, ctx context.Context, thread string) ([]string, error) {
		list, err := s.Namespaces(ctx, thread)
		slices.Reverse(list)
		return list, err
	}})},
	{"gives every thread a root", []string{"Namespaces", "LeaseIsNoThread"}, withFaults(faulty{namespaces: func(s full, ctx context.Context, thread string) ([]string, error) {
		list, err := s.Namespaces(ctx, thread)
		if err == nil && !slices.Contains(list, "") {
			list = append([]string{""}, list...)
		}
		return list, err
	}})},
	{"forgets empty values", []string{"EmptyValues"}, loads(func(s checkpoint.Snapshot) checkpoint.Snapshot {
		s.Blobs = slices.DeleteFunc(s.Blobs, func(b checkpoint.Blob) bool { return len(b.Data) == 0 })
		return s
	})},
	{"cuts big values", []string{"BigValues"}, loads(func(s checkpoint.Snapshot) checkpoint.Snapshot {
		for i, b := range s.Blobs {
			s.Blobs[i].Data = b.Data[:min(len(b.Data), 1<<20)]
		}
		return s
	})},
	{"keeps values as text", []string{"EveryByte", "CommitThenLoad"}, loads(func(s checkpoint.Snapshot) checkpoint.Snapshot {
		for i, b := range s.Blobs {
			s.Blobs[i].Data = bytes.ToValidUTF8(b.Data, []byte("?"))
		}
		return s
	})},
	{"knows 256 fields", []string{"ManyFields"}, loads(func(s checkpoint.Snapshot) checkpoint.Snapshot {
		s.Refs = s.Refs[:min(len(s.Refs), 256)]
		return s
	})},
	{"loads pieces in the wrong order", []string{"BaseAndChunks", "ChainDelta"}, loads(func(s checkpoint.Snapshot) checkpoint.Snapshot {
		slices.Reverse(s.Blobs)
		return s
	})},
	{"drops a blob that it has instead of refusing it", []string{"BlobsAreWrittenOnce"}, withFaults(faulty{commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
		err := s.Commit(ctx, c)
		if err != nil && strings.Contains(err.Error(), "written once") {
			c.Blobs = nil
			err = s.Commit(ctx, c)
		}
		return err
	}})},
	{"cuts ids", []string{"SimilarIDs"}, func(s checkpoint.Store) checkpoint.Store {
		return renames{s, func(k checkpoint.Key) checkpoint.Key { return key(k.Thread[:min(len(k.Thread), 255)], k.Namespace) }}
	}},
	{"ends a history at a gap", []string{"HistoryWithGaps"}, withFaults(faulty{history: func(s full, ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
		last := uint64(0)
		return func(yield func(checkpoint.Snapshot, error) bool) {
			for snap, err := range s.History(ctx, k, q) {
				if last > 0 && err == nil && snap.Seq != last-1 || !yield(snap, err) {
					return
				}
				last = snap.Seq
			}
		}
	}})},
	{"ends a history after 1000 commits", []string{"LongHistory"}, withFaults(faulty{history: func(s full, ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
		if q.Limit == 0 {
			q.Limit = 1000
		}
		return s.History(ctx, k, q)
	}})},
	{"counts pages from the head", []string{"HistoryByCursor"}, withFaults(faulty{history: func(s full, ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
		if snap, err := s.Load(ctx, k, 0); err == nil && q.Before > 0 && snap.Head > 100 {
			q.Before += snap.Head - 100
		}
		return s.History(ctx, k, q)
	}})},
	{"reads an old head", []string{"Linearizable"}, func(s checkpoint.Store) checkpoint.Store { return &oldHeads{full: s.(full)} }},
	{"acknowledges what it refuses", []string{"OneWinner", "Linearizable", "PendingRaces"}, withFaults(faulty{
		commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
			if err := s.Commit(ctx, c); !errors.Is(err, checkpoint.ErrConflict) {
				return err
			}
			return nil
		},
		put: func(_ full, ctx context.Context, _ checkpoint.Pending) error { return ctx.Err() },
	})},
}

// keepsLeases lets a fence in after its thread was deleted.
func keepsLeases(s checkpoint.Store) checkpoint.Store {
	f := new(fences)
	var mu sync.Mutex
	now := map[string]string{} // what a fence has become
	t := f.watching(faulty{
		commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
			mu.Lock()
			defer mu.Unlock()
			if n, found := now[c.Fence]; found {
				c.Fence = n
			}
			return s.Commit(ctx, c)
		},
		remove: func(s full, ctx context.Context, thread string) error {
			mu.Lock()
			defer mu.Unlock()
			err := s.Delete(ctx, thread)
			if old := f.get(thread); err == nil && old != "" {
				var l checkpoint.Lease
				l, err = s.Acquire(ctx, ask(thread, "ann"))
				now[old] = l.Fence
			}
			return err
		},
	})
	t.full = s.(full)
	return t
}

// countsFences begins again at 1 when a thread was deleted.
func countsFences(s checkpoint.Store) checkpoint.Store {
	n := map[string]int{}
	return faulty{
		full: s.(full),
		acquire: func(s full, ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
			l, err := s.Acquire(ctx, r)
			n[r.Thread]++
			l.Fence = fmt.Sprint(r.Thread, n[r.Thread])
			return l, err
		},
		remove: func(s full, ctx context.Context, thread string) error {
			delete(n, thread)
			return s.Delete(ctx, thread)
		},
		release: func(s full, ctx context.Context, thread, _ string) error { return s.Delete(ctx, thread) },
	}
}

// repeatsTakeovers grants a request again that was granted before: always, when another one
// has the thread now, or when more than one other had it.
func repeatsTakeovers(when string) func(checkpoint.Store) checkpoint.Store {
	return func(s checkpoint.Store) checkpoint.Store {
		var mu sync.Mutex
		known := map[string][]string{} // of a thread: the IDs that were granted, the newest last
		return faulty{full: s.(full), acquire: func(s full, ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
			mu.Lock()
			defer mu.Unlock()
			id, ids := r.ID, known[r.Thread]
			since := len(ids) - 1 - slices.Index(ids, id)
			if slices.Contains(ids, id) && (when == "" || when == "taken over" && since > 0 || when == "old" && since > 1) {
				r.ID = checkpoint.NewFence()
			}
			l, err := s.Acquire(ctx, r)
			if err == nil && r.Fence == "" {
				known[r.Thread] = append(ids, id)
			}
			return l, err
		}}
	}
}

// firstTTL ignores all times to live but the first.
func firstTTL(s checkpoint.Store) checkpoint.Store {
	seen := map[string]bool{}
	return faulty{full: s.(full), commit: func(s full, ctx context.Context, c checkpoint.Commit) error {
		if seen[c.Thread] {
			c.TTL = 0
		}
		seen[c.Thread] = seen[c.Thread] || c.TTL > 0
		return s.Commit(ctx, c)
	}}
}

// listsExpired remembers every root that it has ever listed.
type listsExpired struct {
	full
	seen map[string]checkpoint.Snapshot
}

func (s *listsExpired) Advance(d time.Duration) {
	s.seen = map[string]checkpoint.Snapshot{}
	for snap := range s.full.Threads(context.Background(), checkpoint.ThreadQuery{}) {
		s.seen[snap.Thread] = snap
	}
	s.full.Advance(d)
}

func (s *listsExpired) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Snapshot, error] {
	return func(yield func(checkpoint.Snapshot, error) bool) {
		for _, id := range slices.Sorted(maps.Keys(s.seen)) {
			if !yield(s.seen[id], nil) {
				return
			}
		}
	}
}

// oldHeads answers with the head before the newest, when it has seen one.
type oldHeads struct {
	full
	mu   sync.Mutex
	last map[checkpoint.Key]checkpoint.Snapshot
}

func (s *oldHeads) Load(ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	snap, err := s.full.Load(ctx, k, seq)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[checkpoint.Key]checkpoint.Snapshot{}
	}
	old, seen := s.last[k]
	if seq == 0 && err == nil {
		s.last[k] = snap
		if seen {
			return old, nil
		}
	}
	return snap, err
}

// loads changes what Load returns.
func loads(change func(checkpoint.Snapshot) checkpoint.Snapshot) func(checkpoint.Store) checkpoint.Store {
	return withFaults(faulty{load: func(s full, ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
		snap, err := s.Load(ctx, k, seq)
		if err != nil {
			return snap, err
		}
		return change(snap), nil
	}})
}

// filters searches histories by itself, and may limit them before.
func filters(found func(labels, where map[string]string) bool, limitFirst bool) func(checkpoint.Store) checkpoint.Store {
	return withFaults(faulty{history: func(s full, ctx context.Context, k checkpoint.Key, q checkpoint.Query) iter.Seq2[checkpoint.Snapshot, error] {
		asked := checkpoint.Query{Before: q.Before}
		if limitFirst {
			asked.Limit = q.Limit
		}
		return func(yield func(checkpoint.Snapshot, error) bool) {
			n := 0
			for snap, err := range s.History(ctx, k, asked) {
				if err == nil && !found(snap.Labels, q.Where) {
					continue
				}
				if n++; q.Limit > 0 && n > q.Limit || !yield(snap, err) {
					return
				}
			}
		}
	}})
}
