package faulty

import (
	"context"
	"errors"
	"sync"

	"github.com/weftrun/weft/checkpoint"
)

// Err is what a write that fails returns.
var Err = errors.New("the disk is on fire")

// Store is a store some of whose writes fail: before they are done, or after. It has no leases and whatever else Store does
// not ask for.
type Store struct {
	checkpoint.Store
	At map[int]bool // number of the write, Commit and Put together, from 1 → whether it is done all the same

	mu             sync.Mutex
	Writes, Faults int // so far, the second by At; guarded by mu while there are writers
}

// Commit implements checkpoint.Store, as Put.
func (s *Store) Commit(ctx context.Context, c checkpoint.Commit) error {
	return s.write(func() error { return s.Store.Commit(ctx, c) })
}

func (s *Store) Put(ctx context.Context, p checkpoint.Pending) error {
	return s.write(func() error { return s.Store.Put(ctx, p) })
}

func (s *Store) write(do func() error) error {
	s.mu.Lock()
	s.Writes++
	done, fails := s.At[s.Writes]
	if fails {
		s.Faults++
	}
	s.mu.Unlock()
	if fails && !done {
		return Err
	}
	if err := do(); err != nil || !fails {
		return err
	}
	return Err
}
