package state

import "sync/atomic"

// vec is a persistent append-only sequence: appending gives a new vec and never
// changes one that somebody holds, yet it copies nothing while there is room.
//
// The elements past a holder's length belong to whoever claims them first: claimed
// counts the slots of the backing array that are taken, and only the append
// that moves it from its own length goes on in place. Every other one copies. So
// two runs may grow the same default, and a fork the same history, without
// knowing of each other.
type vec[T any] struct {
	s       []T
	claimed *atomic.Int64
}

// vecOf returns a vec that holds a copy of s.
func vecOf[T any](s []T) vec[T] { return vec[T]{}.append(s) }

func (v vec[T]) append(items []T) vec[T] {
	if len(items) == 0 {
		return v
	}
	n := len(v.s) + len(items)
	if n <= cap(v.s) && v.claimed.CompareAndSwap(int64(len(v.s)), int64(n)) {
		return vec[T]{append(v.s, items...), v.claimed}
	}
	grown := append(v.s[:len(v.s):len(v.s)], items...)
	v = vec[T]{grown, new(atomic.Int64)}
	v.claimed.Store(int64(n))
	return v
}
