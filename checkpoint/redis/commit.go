package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/weftrun/weft/checkpoint"
)

// Commit implements checkpoint.Store. It returns when the server has acknowledged the
// commit. Doctor reports how durable an acknowledged commit is.
func (s *Store) Commit(ctx context.Context, c checkpoint.Commit) error {
	if err := check(&c); err != nil {
		return err
	}
	args := commitArgs(&c, s.newNonce())
	if err := s.checkSize(c.Key, args); err != nil {
		return err
	}
	reply, err := s.call(ctx, commitScript, s.key(c.Thread), args, s.listing(&c)...)
	if err != nil {
		return fmt.Errorf("thread %q, namespace %q, commit %d: %w", c.Thread, c.Namespace, c.Seq(), err)
	}
	return toAnswer(reply).refusal(c.Key, c.Head)
}

// check returns an error if a commit is invalid, whatever the server has stored. The script finds
// conflicts.
func check(c *checkpoint.Commit) error {
	if err := c.Check(); err != nil {
		return err
	}
	if c.Head <= maxNumber && c.Seq() > maxNumber { // a greater Head is a conflict, which the server reports
		return fmt.Errorf("%w: redis: thread %q, namespace %q: the number of a commit must be at most 2^53 (got %d)", checkpoint.ErrRequest, c.Thread, c.Namespace, c.Seq())
	}
	type place struct {
		field string
		base  uint64
		chunk int
	}
	seen := make(map[place]bool, len(c.Blobs))
	for _, b := range c.Blobs {
		at := place{b.Field, b.Base, b.Chunk}
		if seen[at] {
			return fmt.Errorf("%w: redis: thread %q, namespace %q, commit %d: chunk %d of field %q, base %d, comes twice; a blob is written once",
				checkpoint.ErrRequest, c.Thread, c.Namespace, c.Seq(), b.Chunk, b.Field, b.Base)
		}
		seen[at] = true
	}
	return nil
}

// checkSize returns an ErrTooLarge if a call would send more than Config.MaxBytes.
func (s *Store) checkSize(k checkpoint.Key, args []any) error {
	if n := sizeOf(args); n > s.cfg.MaxBytes {
		return fmt.Errorf("%w: redis: thread %q, namespace %q: the call would send %d bytes, Config.MaxBytes is %d", checkpoint.ErrTooLarge, k.Thread, k.Namespace, n, s.cfg.MaxBytes)
	}
	return nil
}

// plainBlobs is the greatest number of blobs with which a commit takes the fast path of its script.
const plainBlobs = 1000

// commitArgs returns the arguments of the commit script. They share no memory with c.
func commitArgs(c *checkpoint.Commit, nonce []byte) []any {
	ns, pending := encode(c.Namespace), mergeEntries(c.Pending)
	slow := "" // for the fast path of the script; "+" and the namespace for the slow one
	if c.Head == 0 || c.Seq() != c.Head+1 || len(pending) > 0 || len(c.Blobs) > plainBlobs {
		slow = "+" + c.Namespace
	}
	head, entries := "h/"+ns, "w/"+ns
	args := make([]any, 0, 16+3*len(c.Blobs)+2*len(pending))
	args = append(args, origin(c.Thread), ns, decimal(c.Head)+" ", c.Fence, milliseconds(c.TTL), nonce, slow,
		4+len(c.Blobs), "@", head, "f", entries)
	firstBlob := len(args)
	for _, b := range c.Blobs {
		args = append(args, blobField(ns, b.Field, b.Base, b.Chunk))
	}
	args = append(args, head, decimal(c.Seq())+" "+c.ID, commitField(ns, c.Seq()), encodeRecord(nonce, c))
	own := copier(c.Blobs)
	for i, b := range c.Blobs {
		args = append(args, args[firstBlob+i], own(b.Data))
	}
	for _, e := range pending {
		args = append(args, entryName(e.Task, e.Slot), string(e.Data))
	}
	return args
}

// newNonce returns the next value of a counter that starts at a random number. Nonces of two Stores
// are equal as rarely as two random 64-bit numbers.
func (s *Store) newNonce() []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, nonceBytes), s.nonces.Add(1))
}

// copier returns a function that copies the data of blobs into one piece of memory.
func copier(blobs []checkpoint.Blob) func([]byte) []byte {
	n := 0
	for _, b := range blobs {
		n += len(b.Data)
	}
	buf := make([]byte, 0, n)
	return func(data []byte) []byte {
		from := len(buf)
		buf = append(buf, data...)
		return buf[from:len(buf):len(buf)]
	}
}

// milliseconds returns d in milliseconds, rounded up. So a positive d is not 0, which means no time
// to live. Within a millisecond of the longest Duration it may round down, to avoid overflow.
func milliseconds(d time.Duration) string {
	return decimal(uint64((min(max(d, 0), math.MaxInt64-time.Millisecond) + time.Millisecond - 1) / time.Millisecond))
}

// mergeEntries returns entries with at most one for each task and slot. A later entry replaces an
// earlier one, unless the later one has Keep.
func mergeEntries(entries []checkpoint.Entry) []checkpoint.Entry {
	if len(entries) == 0 {
		return nil
	}
	type place struct{ task, slot string }
	list, at := make([]checkpoint.Entry, 0, len(entries)), make(map[place]int, len(entries))
	for _, e := range entries {
		p := place{e.Task, e.Slot}
		i, there := at[p]
		switch {
		case !there:
			at[p] = len(list)
			list = append(list, e)
		case !e.Keep:
			list[i] = e
		}
	}
	return list
}

// Put implements checkpoint.Store.
func (s *Store) Put(ctx context.Context, p checkpoint.Pending) error {
	entries := mergeEntries(p.Entries)
	args := make([]any, 0, 4+3*len(entries))
	args = append(args, origin(p.Thread), encode(p.Namespace), decimal(p.Head), p.Fence)
	for _, e := range entries {
		keep := "0"
		if e.Keep {
			keep = "1"
		}
		args = append(args, entryName(e.Task, e.Slot), keep, string(e.Data))
	}
	if err := s.checkSize(p.Key, args); err != nil {
		return err
	}
	reply, err := s.call(ctx, putScript, s.key(p.Thread), args)
	if err != nil {
		return fmt.Errorf("thread %q, namespace %q, pending entries of commit %d: %w", p.Thread, p.Namespace, p.Head, err)
	}
	return toAnswer(reply).refusal(p.Key, p.Head)
}
