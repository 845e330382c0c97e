package state

import (
	"cmp"
	"maps"
	"slices"
)

// treeOfMap returns a tree with the entries of m.
func treeOfMap[K cmp.Ordered, V any](m map[K]V) *tree[K, V] {
	keys := slices.Sorted(maps.Keys(m))
	return treeOf(keys, func(k K) V { return m[k] })
}

// treeOfKeys returns a tree with the keys, which may come in any order and twice.
func treeOfKeys[K cmp.Ordered](keys []K) *tree[K, struct{}] {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	return treeOf(keys, func(K) struct{} { return struct{}{} })
}

// treeOf builds a tree from sorted keys in linear time. edge holds the right edge
// of what is built: each key goes below it, on top of what it outranks.
func treeOf[K cmp.Ordered, V any](keys []K, value func(K) V) *tree[K, V] {
	var edge []*tree[K, V]
	for _, k := range keys {
		t := leafOf(&entry[K, V]{k, value(k)})
		for len(edge) > 0 && t.over(edge[len(edge)-1]) {
			t.left = edge[len(edge)-1]
			edge = edge[:len(edge)-1]
		}
		if len(edge) > 0 {
			edge[len(edge)-1].right = t
		}
		edge = append(edge, t)
	}
	if len(edge) == 0 {
		return nil
	}
	edge[0].count()
	return edge[0]
}

// count sets n in a tree that is not shared yet.
func (t *tree[K, V]) count() uint32 {
	if t == nil {
		return 0
	}
	t.n = 1 + t.left.count() + t.right.count()
	return t.n
}

func (t *tree[K, V]) toMap() map[K]V {
	m := make(map[K]V, t.len())
	t.each(func(e *entry[K, V]) bool { m[e.k] = e.v; return true })
	return m
}

func (t *tree[K, V]) toKeys() []K { return slices.AppendSeq(make([]K, 0, t.len()), t.keys) }

// keys is an iter.Seq over the keys in order.
func (t *tree[K, V]) keys(yield func(K) bool) {
	t.each(func(e *entry[K, V]) bool { return yield(e.k) })
}
