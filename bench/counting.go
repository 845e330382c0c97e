package main

import (
	"context"
	"sync/atomic"

	"github.com/weftrun/weft/checkpoint"
)

// backend is what every store of Weft can do.
type backend interface {
	checkpoint.Store
	checkpoint.Leaser
	checkpoint.Dropper
	checkpoint.Expirer
}

// counting is a store that counts what it is given.
type counting struct {
	backend
	commands, bytes atomic.Int64
}

func (c *counting) Commit(ctx context.Context, m checkpoint.Commit) error {
	n := len(m.ID) + len(m.Header)
	for _, r := range m.Refs {
		n += len(r.Field) + 8
	}
	for _, b := range m.Blobs {
		n += len(b.Field) + len(b.Data)
	}
	c.count(n + sizeOf(m.Pending))
	return c.backend.Commit(ctx, m)
}

func (c *counting) Put(ctx context.Context, p checkpoint.Pending) error {
	c.count(sizeOf(p.Entries))
	return c.backend.Put(ctx, p)
}

func sizeOf(entries []checkpoint.Entry) (n int) {
	for _, e := range entries {
		n += len(e.Task) + len(e.Slot) + len(e.Data)
	}
	return n
}

func (c *counting) Load(ctx context.Context, k checkpoint.Key, seq uint64) (checkpoint.Snapshot, error) {
	c.count(0)
	return c.backend.Load(ctx, k, seq)
}

func (c *counting) Acquire(ctx context.Context, r checkpoint.LeaseRequest) (checkpoint.Lease, error) {
	c.count(0)
	return c.backend.Acquire(ctx, r)
}

func (c *counting) Release(ctx context.Context, thread, fence string) error {
	c.count(0)
	return c.backend.Release(ctx, thread, fence)
}

func (c *counting) count(bytes int) {
	c.commands.Add(1)
	c.bytes.Add(int64(bytes))
}

// counts is for a Job.
func (c *counting) counts(context.Context) (Counts, error) {
	return Counts{Commands: c.commands.Load(), Bytes: c.bytes.Load()}, nil
}
