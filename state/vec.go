package state

import (
	"slices"
	"sync/atomic"
)

// vec is a persistent append-only sequence. Appending returns a new vec and does not modify the old
// one. It copies nothing while there is capacity.
//
// A vec belongs to a history, in which each place is filled once. claimed is the number of filled
// places. Only the append that advances claimed from its own length continues the history; any
// other append copies and starts a new history. Two runs can thus append to the same default
// concurrently.
type vec[T any] struct {
	s       []T
	claimed *atomic.Int64 // shared by all vecs of one history; nil while s has no room to grow in
}

// vecOf returns a vec that holds a copy of s.
func vecOf[T any](s []T) vec[T] { return vec[T]{}.append(s) }

func (v vec[T]) append(items []T) vec[T] {
	if len(items) == 0 {
		return v
	}
	n := int64(len(v.s) + len(items))
	if v.claimed != nil && v.claimed.CompareAndSwap(int64(len(v.s)), n) {
		return vec[T]{append(v.s, items...), v.claimed}
	}
	fork := vec[T]{append(v.s[:len(v.s):len(v.s)], items...), new(atomic.Int64)}
	fork.claimed.Store(n)
	return fork
}

// grow returns v with room for n more items, if v can go on with its history: appending them
// piecemeal then copies it once.
func (v vec[T]) grow(n int) vec[T] {
	switch {
	case len(v.s) == 0 && v.claimed == nil:
		return vec[T]{make([]T, 0, n), new(atomic.Int64)}
	case v.claimed != nil && v.claimed.Load() == int64(len(v.s)):
		return vec[T]{slices.Grow(v.s, n), v.claimed}
	}
	return v
}

// write is append for what a task writes. Most tasks append once: a first write needs no history.
func (v vec[T]) write(items []T) vec[T] {
	if len(v.s) == 0 {
		return vec[T]{s: append([]T(nil), items...)}
	}
	return v.append(items)
}

// adopt is write for a slice that the caller gives away.
func (v vec[T]) adopt(items []T) vec[T] {
	if len(v.s) == 0 {
		return vec[T]{s: items[:len(items):len(items)]}
	}
	return v.append(items)
}

// committed returns v with a history, which [vec.since] needs.
func (v vec[T]) committed() vec[T] {
	if v.claimed == nil {
		return vecOf(v.s)
	}
	return v
}

// since returns the items appended to prev to get v; ok is false if v does not extend prev.
func (v vec[T]) since(prev vec[T]) (added []T, ok bool) {
	if len(prev.s) > 0 && (prev.claimed == nil || prev.claimed != v.claimed || len(prev.s) > len(v.s)) {
		return nil, false
	}
	return v.s[len(prev.s):], true
}
