package state

import (
	"cmp"
	"hash/maphash"
)

// tree is a persistent ordered map: put and del give a new tree that shares all
// but one path with the old one. The nil tree is empty.
//
// It is a treap whose ranks are hashes of the keys, so its shape depends on the
// keys alone and not on the history. Two versions therefore agree wherever they
// hold the same entries, and diff skips what they share.
type tree[K cmp.Ordered, V any] struct {
	*entry[K, V]
	left, right *tree[K, V] // keys below; keys above
	rank        uint32      // never below a child's
	n           uint32      // entries in this tree
}

// entry is shared by all versions of a tree: the same entry is the same write.
type entry[K cmp.Ordered, V any] struct {
	k K
	v V
}

var treeSeed = maphash.MakeSeed()

func leafOf[K cmp.Ordered, V any](e *entry[K, V]) *tree[K, V] {
	return &tree[K, V]{entry: e, rank: uint32(maphash.Comparable(treeSeed, e.k)), n: 1}
}

func (t *tree[K, V]) len() int {
	if t == nil {
		return 0
	}
	return int(t.n)
}

// find returns the entry of k, or nil.
func (t *tree[K, V]) find(k K) *entry[K, V] {
	for t != nil {
		switch c := cmp.Compare(k, t.k); {
		case c == 0:
			return t.entry
		case c < 0:
			t = t.left
		default:
			t = t.right
		}
	}
	return nil
}

// each calls yield with the entries by key until it returns false.
func (t *tree[K, V]) each(yield func(*entry[K, V]) bool) bool {
	return t == nil || t.left.each(yield) && yield(t.entry) && t.right.each(yield)
}

// with returns t with other children.
func (t *tree[K, V]) with(left, right *tree[K, V]) *tree[K, V] {
	n := uint32(1 + left.len() + right.len())
	return &tree[K, V]{t.entry, left, right, t.rank, n}
}

// over reports whether t is above u: by rank, and by key if the ranks are equal.
func (t *tree[K, V]) over(u *tree[K, V]) bool {
	return t.rank > u.rank || t.rank == u.rank && cmp.Less(t.k, u.k)
}

// put returns t with e in the place of the entry of its key.
func (t *tree[K, V]) put(e *entry[K, V]) *tree[K, V] { return t.insert(leafOf(e)) }

func (t *tree[K, V]) insert(leaf *tree[K, V]) *tree[K, V] {
	if t == nil {
		return leaf
	}
	switch c := cmp.Compare(leaf.k, t.k); {
	case c == 0:
		return leaf.with(t.left, t.right)
	case leaf.over(t):
		left, _, right := t.split(leaf.k)
		return leaf.with(left, right)
	case c < 0:
		return t.with(t.left.insert(leaf), t.right)
	default:
		return t.with(t.left, t.right.insert(leaf))
	}
}

// del returns t without k; t itself when k is not there.
func (t *tree[K, V]) del(k K) *tree[K, V] {
	if t.find(k) == nil {
		return t
	}
	switch c := cmp.Compare(k, t.k); {
	case c == 0:
		return join(t.left, t.right)
	case c < 0:
		return t.with(t.left.del(k), t.right)
	default:
		return t.with(t.left, t.right.del(k))
	}
}

// split returns what is below k, the entry of k or nil, and what is above k.
func (t *tree[K, V]) split(k K) (below *tree[K, V], at *entry[K, V], above *tree[K, V]) {
	if t == nil {
		return nil, nil, nil
	}
	switch c := cmp.Compare(k, t.k); {
	case c == 0:
		return t.left, t.entry, t.right
	case c < 0:
		below, at, above = t.left.split(k)
		return below, at, t.with(above, t.right)
	default:
		below, at, above = t.right.split(k)
		return t.with(t.left, below), at, above
	}
}

// join returns the entries of both; every key of a is below every key of b.
func join[K cmp.Ordered, V any](a, b *tree[K, V]) *tree[K, V] {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.over(b):
		return a.with(a.left, join(a.right, b))
	default:
		return b.with(join(a, b.left), b.right)
	}
}

// diff calls put with the entries of b that are not in a, and del with those of a
// whose key is not in b, by key. It costs what changed, times the depth.
func diff[K cmp.Ordered, V any](a, b *tree[K, V], put, del func(*entry[K, V])) {
	if a == b {
		return
	}
	if b == nil {
		a.each(func(e *entry[K, V]) bool { del(e); return true })
		return
	}
	below, at, above := a.split(b.k)
	diff(below, b.left, put, del)
	if at != b.entry {
		put(b.entry)
	}
	diff(above, b.right, put, del)
}
