package state

import "cmp"

// table implements Map and Set: a persistent tree, and the holder's last write per key.
type table[K cmp.Ordered, V any] struct {
	base *tree[K, V]            // committed
	now  *tree[K, V]            // with the holder's writes: what reads see
	own  *tree[K, *entry[K, V]] // the holder's writes; a nil entry is a deletion
	over bool                   // now replaces base, and own is unused
}

func (t *table[K, V]) put(k K, v V) {
	e := &entry[K, V]{k, v}
	t.now = t.now.put(e)
	t.note(k, e)
}

func (t *table[K, V]) del(k K) {
	t.now = t.now.del(k)
	t.note(k, nil)
}

func (t *table[K, V]) note(k K, e *entry[K, V]) {
	if !t.over {
		t.own = t.own.put(&entry[K, *entry[K, V]]{k, e})
	}
}

// replace makes now the whole value.
func (t *table[K, V]) replace(now *tree[K, V]) { t.now, t.own, t.over = now, nil, true }

// forget drops the holder's writes.
func (t *table[K, V]) forget() { t.now, t.own, t.over = t.base, nil, false }

// Has reports whether k is there.
func (t *table[K, V]) Has(k K) bool { return t.now.find(k) != nil }

// Len returns the number of entries.
func (t *table[K, V]) Len() int { return t.now.len() }

// wrote reports whether the holder has written.
func (t *table[K, V]) wrote() bool { return t.over || t.own != nil }

func (t *table[K, V]) overwrote() bool { return t.over }

// fold carries writes into the committed tree; body finds the table of a write.
func (t *table[K, V]) fold(writes []Channel, body func(Channel) *table[K, V]) error {
	at, err := overwriter[replacer](writes)
	if err != nil {
		return err
	}
	if at >= 0 {
		t.commit(body(writes[at]).now)
		return nil
	}
	now := t.base
	for _, w := range writes {
		now = body(w).carry(now)
	}
	t.commit(now)
	return nil
}

func (t *table[K, V]) commit(now *tree[K, V]) { t.base, t.now = now, now }

// carry returns onto with the holder's writes made to it.
func (t *table[K, V]) carry(onto *tree[K, V]) *tree[K, V] {
	if onto == t.base {
		return t.now
	}
	t.own.each(func(w *entry[K, *entry[K, V]]) bool {
		if w.v == nil {
			onto = onto.del(w.k)
		} else {
			onto = onto.put(w.v)
		}
		return true
	})
	return onto
}

// written calls put and del with the holder's writes, by key. Where it replaces
// the value, that is all of it.
func (t *table[K, V]) written(put, del func(*entry[K, V])) {
	if t.over {
		diff(nil, t.now, put, del)
		return
	}
	t.own.each(func(w *entry[K, *entry[K, V]]) bool {
		if w.v == nil {
			del(&entry[K, V]{k: w.k})
		} else {
			put(w.v)
		}
		return true
	})
}
