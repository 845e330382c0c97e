package state

import (
	"cmp"
	"encoding/json"
	"iter"
	"reflect"

	"github.com/weftrun/weft/internal/compact"
)

// Map holds entries by key; writes put and delete single entries. Of several
// writes to one key in a superstep the last in canonical order stays, a deletion
// included. The zero Map is empty and ready to use.
//
// Copies share their entries: a write costs the logarithm of the size, in memory,
// and in the store the entry alone.
type Map[K cmp.Ordered, V any] struct{ table[K, V] }

// MapOf returns a Map into which the entries were put: the way to fill an input.
func MapOf[K cmp.Ordered, V any](entries map[K]V) (m Map[K, V]) {
	m.putAll(entries)
	return m
}

// Put writes v under k.
func (m *Map[K, V]) Put(k K, v V) { m.put(k, v) }

// Delete removes k. It is a write even where k is absent: it also removes what
// tasks before this one put under k in the same step.
func (m *Map[K, V]) Delete(k K) { m.del(k) }

// Get returns the value under k, or the zero value of V. Do not change what a
// slice, map or pointer in it points to: siblings read it.
func (m *Map[K, V]) Get(k K) V {
	v, _ := m.Lookup(k)
	return v
}

// Lookup returns the value under k and whether there is one.
func (m *Map[K, V]) Lookup(k K) (v V, ok bool) {
	if e := m.now.find(k); e != nil {
		return e.v, true
	}
	return v, false
}

// All iterates over the entries by key. Writes made during the iteration do not
// show in it.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	now := m.now
	return func(yield func(K, V) bool) {
		now.each(func(e *entry[K, V]) bool { return yield(e.k, e.v) })
	}
}

// Keys iterates over the keys in order.
func (m *Map[K, V]) Keys() iter.Seq[K] { return m.now.keys }

// Overwrite replaces all entries. It wins over the writes of other tasks in the
// same step; two Overwrites in one step are an error.
func (m *Map[K, V]) Overwrite(entries map[K]V) { m.replace(treeOfMap(entries)) }

func (m *Map[K, V]) putAll(entries map[K]V) {
	for k, v := range entries {
		m.put(k, v)
	}
}

// Channel returns what the runtime does with the channel. A node does not need it.
func (m *Map[K, V]) Channel() Channel { return (*mapChannel[K, V])(m) }

// mapChannel is a Map as the runtime sees it.
type mapChannel[K cmp.Ordered, V any] Map[K, V]

// Wrote implements [Channel].
func (m *mapChannel[K, V]) Wrote() bool { return m.wrote() }

// Fold implements [Channel].
func (m *mapChannel[K, V]) Fold(writes []Channel) error { return m.fold(writes, mapTable[K, V]) }

func mapTable[K cmp.Ordered, V any](c Channel) *table[K, V] { return &c.(*mapChannel[K, V]).table }

// MarshalJSON returns the entries as an object; an empty map is {}.
func (m Map[K, V]) MarshalJSON() ([]byte, error) { return compact.Marshal(m.now.toMap()) }

// UnmarshalJSON puts the entries of a JSON object.
func (m *Map[K, V]) UnmarshalJSON(data []byte) error {
	var entries map[K]V
	if err := json.Unmarshal(data, &entries); err != nil {
		return err
	}
	m.putAll(entries)
	return nil
}

// MarshalJSON implements [Channel].
func (m *mapChannel[K, V]) MarshalJSON() ([]byte, error) { return (*Map[K, V])(m).MarshalJSON() }

// UnmarshalJSON implements [Channel].
func (m *mapChannel[K, V]) UnmarshalJSON(data []byte) error {
	return (*Map[K, V])(m).UnmarshalJSON(data)
}

// Stored implements [Channel].
func (m *mapChannel[K, V]) Stored() (any, bool) { return m.base.toMap(), m.base != nil }

// Restore implements [Channel].
func (m *mapChannel[K, V]) Restore(dec Decode) error {
	var entries map[K]V
	if err := dec(&entries); err != nil {
		return err
	}
	*m = mapChannel[K, V]{}
	m.commit(treeOfMap(entries))
	return nil
}

// mapChange is the stored form of a difference.
type mapChange[K cmp.Ordered, V any] struct {
	Put map[K]V `json:"put,omitempty"`
	Del []K     `json:"del,omitempty"`
}

func (c *mapChange[K, V]) put(e *entry[K, V]) {
	if c.Put == nil {
		c.Put = map[K]V{}
	}
	c.Put[e.k] = e.v
}

func (c *mapChange[K, V]) del(e *entry[K, V]) { c.Del = append(c.Del, e.k) }

// Writes implements [Channel].
func (m *mapChannel[K, V]) Writes() Write {
	var c mapChange[K, V]
	m.written(c.put, c.del)
	return Write{Value: c, Overwrite: m.over}
}

// RestoreWrites implements [Channel].
func (m *mapChannel[K, V]) RestoreWrites(overwrite bool, dec Decode) error {
	var c mapChange[K, V]
	if err := dec(&c); err != nil {
		return err
	}
	m.forget()
	if overwrite {
		(*Map[K, V])(m).Overwrite(c.Put)
		return nil
	}
	(*Map[K, V])(m).change(c)
	return nil
}

func (m *Map[K, V]) change(c mapChange[K, V]) {
	for _, k := range c.Del {
		m.del(k)
	}
	m.putAll(c.Put)
}

// Since implements [Delta]: the entries that were put and deleted after prev.
func (m *mapChannel[K, V]) Since(prev Channel) (any, bool) {
	var c mapChange[K, V]
	diff(prev.(*mapChannel[K, V]).base, m.base, c.put, c.del)
	return c, len(c.Put)+len(c.Del) <= m.base.len()
}

// Apply implements [Delta].
func (m *mapChannel[K, V]) Apply(dec Decode) error {
	var c mapChange[K, V]
	if err := dec(&c); err != nil {
		return err
	}
	w := Map[K, V]{table[K, V]{base: m.base, now: m.base}}
	w.change(c)
	m.commit(w.now)
	return nil
}

// elements names the map and not its parts, so that the key is judged as a key.
func (m *Map[K, V]) elements() []reflect.Type { return []reflect.Type{reflect.TypeFor[map[K]V]()} }

func (m *mapChannel[K, V]) elements() []reflect.Type { return (*Map[K, V])(m).elements() }

// String returns the value as JSON, for people who print a state.
func (m Map[K, V]) String() string { return text(m) }

func (m *mapChannel[K, V]) String() string { return text(m) }
