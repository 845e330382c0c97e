package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/checkpoint/document"
)

// ErrDied is the error of each write of a process that has died.
var ErrDied = errors.New("the process has died")

// Life is that of a process in a test: it ends at a write. It is safe for concurrent use.
type Life struct {
	// Left is the number of the write at which it ends, from 1; 0 means never.
	Left int
	// Done is true if that write is made, and only its reply is lost.
	Done bool

	mu    sync.Mutex
	ended bool
}

// Write makes a write of the process, if it lives.
func (l *Life) Write(do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return ErrDied
	}
	if l.Left--; l.Left != 0 {
		return do()
	}
	l.ended = true
	if l.Done {
		_ = do()
	}
	return ErrDied
}

// Ended reports whether the process has died.
func (l *Life) Ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// Store returns a store as the process sees it. It has no optional methods.
func (l *Life) Store(of checkpoint.Store) checkpoint.Store { return Written(of, l.Write) }

// Memory returns a store in memory as the process sees it, with its leases and the other optional
// methods.
func (l *Life) Memory(of *checkpoint.Memory) checkpoint.Store { return mortalMemory{of, l} }

type mortalMemory struct {
	*checkpoint.Memory
	life *Life
}

func (s mortalMemory) Commit(ctx context.Context, c checkpoint.Commit) error {
	return s.life.Write(func() error { return s.Memory.Commit(ctx, c) })
}

func (s mortalMemory) Put(ctx context.Context, p checkpoint.Pending) error {
	return s.life.Write(func() error { return s.Memory.Put(ctx, p) })
}

func (s mortalMemory) Delete(ctx context.Context, thread string) error {
	return s.life.Write(func() error { return s.Memory.Delete(ctx, thread) })
}

func (s mortalMemory) Acquire(ctx context.Context, q checkpoint.LeaseRequest) (got checkpoint.Lease, err error) {
	err = s.life.Write(func() error { got, err = s.Memory.Acquire(ctx, q); return err })
	return got, err
}

func (s mortalMemory) Release(ctx context.Context, thread, fence string) error {
	return s.life.Write(func() error { return s.Memory.Release(ctx, thread, fence) })
}

// Written returns a store each of whose writes is made by a function. It has no optional methods.
func Written(of checkpoint.Store, write func(do func() error) error) checkpoint.Store {
	return writtenStore{of, write}
}

type writtenStore struct {
	checkpoint.Store
	write func(do func() error) error
}

func (s writtenStore) Commit(ctx context.Context, c checkpoint.Commit) error {
	return s.write(func() error { return s.Store.Commit(ctx, c) })
}

func (s writtenStore) Put(ctx context.Context, p checkpoint.Pending) error {
	return s.write(func() error { return s.Store.Put(ctx, p) })
}

// Documents returns documents as the process sees them.
func (l *Life) Documents(of document.Store) document.Store { return Documents(of, l.Write) }

// Documents returns documents each of whose writes is made by a function.
func Documents(of document.Store, write func(do func() error) error) document.Store {
	return documents{of, write}
}

type documents struct {
	document.Store
	write func(do func() error) error
}

func (s documents) Set(ctx context.Context, p document.Place, c document.Change) (d document.Doc, err error) {
	err = s.write(func() error { d, err = s.Store.Set(ctx, p, c); return err })
	return d, err
}

func (s documents) Batch(ctx context.Context, p document.Place, c []document.Change) (d []document.Doc, err error) {
	err = s.write(func() error { d, err = s.Store.Batch(ctx, p, c); return err })
	return d, err
}

func (s documents) Delete(ctx context.Context, p document.Place, id string) error {
	return s.write(func() error { return s.Store.Delete(ctx, p, id) })
}
