package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/weftrun/weft/checkpoint"
)

// ErrDisk is the error of a write that fails.
var ErrDisk = errors.New("the disk is on fire")

// FailingStore is a store some of whose writes fail, before or after they are done. It has no
// leases and no other optional methods.
type FailingStore struct {
	checkpoint.Store
	At map[int]bool // by the number of the write, from 1: whether the failing write is done

	mu             sync.Mutex
	Writes, Faults int // so far, the second by At; guarded by mu while there are writers
}

// Commit implements checkpoint.Store.
func (s *FailingStore) Commit(ctx context.Context, c checkpoint.Commit) error {
	return s.write(func() error { return s.Store.Commit(ctx, c) })
}

// Put implements checkpoint.Store.
func (s *FailingStore) Put(ctx context.Context, p checkpoint.Pending) error {
	return s.write(func() error { return s.Store.Put(ctx, p) })
}

func (s *FailingStore) write(do func() error) error {
	s.mu.Lock()
	s.Writes++
	done, fails := s.At[s.Writes]
	if fails {
		s.Faults++
	}
	s.mu.Unlock()
	if fails && !done {
		return ErrDisk
	}
	if err := do(); err != nil || !fails {
		return err
	}
	return ErrDisk
}
