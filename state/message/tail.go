package message

import (
	"slices"
	"sync/atomic"
)

// tail holds the last slots of an order, until they fill a page. Each of its slots is filled once,
// by the order that ends there, so orders of different lengths share a tail. An order that ends
// before the last filled slot, or that changes a slot, takes a copy.
type tail struct {
	filled atomic.Int64
	msgs   [pageSize]*Message
	hashes [pageSize]uint32 // of the ids
}

// copied returns a tail with the first n slots of t, which may be nil.
func (t *tail) copied(n int) *tail {
	c := new(tail)
	if n > 0 {
		copy(c.msgs[:n], t.msgs[:n])
		copy(c.hashes[:n], t.hashes[:n])
	}
	c.filled.Store(int64(n))
	return c
}

// pushed returns a tail whose slot n holds m: t itself if it ends before n.
func (t *tail) pushed(n int, m *Message, hash uint32) *tail {
	if t == nil || !t.filled.CompareAndSwap(int64(n), int64(n+1)) {
		t = t.copied(n)
		t.filled.Store(int64(n + 1))
	}
	t.msgs[n], t.hashes[n] = m, hash
	return t
}

// find returns the slot among the first n that holds the message with this id.
func (t *tail) find(n int, id string, hash uint32) (slot int, ok bool) {
	if n == 0 {
		return 0, false
	}
	for i, h := range slices.Backward(t.hashes[:n]) {
		if h == hash && t.msgs[i] != nil && t.msgs[i].ID == id {
			return i, true
		}
	}
	return 0, false
}
