package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weftrun/weft/checkpoint"
)

var errFault = errors.New("injected fault")

// faultStore is a store that fails one write, either instead of making it or after it is made.
type faultStore struct {
	checkpoint.Store
	at      int  // the write that fails, counting Commits and Puts from 1; 0 for none
	applied bool // the write that fails is made, and only its reply is lost

	mu      sync.Mutex
	writes  int             // calls of Commit and Put, also failed ones
	commits int             // calls of Commit, also failed ones
	seen    map[string]bool // the namespaces of these Commits
}

func (f *faultStore) write(commit bool, do func() error) error {
	f.mu.Lock()
	f.writes++
	if commit {
		f.commits++
	}
	fails := f.writes == f.at
	f.mu.Unlock()
	if fails && !f.applied {
		return errFault
	}
	err := do()
	if fails && err == nil {
		err = errFault
	}
	return err
}

func (f *faultStore) Commit(ctx context.Context, c checkpoint.Commit) error {
	f.mu.Lock()
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	f.seen[c.Namespace] = true
	f.mu.Unlock()
	return f.write(true, func() error { return f.Store.Commit(ctx, c) })
}

// namespaces returns the namespaces that Commit was called for, sorted.
func (f *faultStore) namespaces() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.seen))
}

func (f *faultStore) Put(ctx context.Context, p checkpoint.Pending) error {
	return f.write(false, func() error { return f.Store.Put(ctx, p) })
}

// dump returns the contents of some namespaces of a thread as text.
func dump(s checkpoint.Store, thread string, namespaces ...string) string {
	var b strings.Builder
	for _, ns := range namespaces {
		k := checkpoint.Key{Thread: thread, Namespace: ns}
		var seqs []uint64
		for snap, err := range s.History(ctx, k, checkpoint.Query{}) {
			if err != nil {
				return err.Error()
			}
			seqs = append(seqs, snap.Seq)
		}
		slices.Sort(seqs)
		for _, seq := range seqs {
			snap, err := s.Load(ctx, k, seq)
			fmt.Fprintf(&b, "%q %d %s %q %q %v %v\n", ns, seq, snap.ID, snap.Labels, snap.Header, snap.Refs, err)
			for _, blob := range snap.Blobs {
				fmt.Fprintf(&b, "  %s %d %d %q\n", blob.Field, blob.Base, blob.Chunk, blob.Data)
			}
			for _, e := range snap.Pending {
				fmt.Fprintf(&b, "  %s %s %q\n", e.Task, e.Slot, e.Data)
			}
		}
	}
	return b.String()
}
