package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// ContextData holds what an agent knows in three levels: type → key → fields. A write puts or
// deletes one whole entry and does not change others. Of several writes to one entry in a
// superstep, the last in canonical order wins, also if it is a deletion; [ContextMeta.Replaced]
// then names the lost entries. Putting an entry that exists with the same metadata changes nothing.
// The zero ContextData is empty and ready to use.
//
// Copies share their entries. A write uses memory in proportion to the logarithm of the size, and
// stores only the entry.
type ContextData struct{ table[string, ContextEntry] }

var (
	// ErrContextName is returned when a type or a key is empty or not UTF-8, or when a type
	// contains a slash.
	ErrContextName = errors.New("state: a context needs a type without a slash, and a key, in UTF-8")
	// ErrContextFields is returned when the fields of a context are not a JSON object, or
	// when one of them is named "_meta".
	ErrContextFields = errors.New(`state: the fields of a context are a JSON object without "_meta"`)
)

// contextID returns the table key of an entry, type/key. The table key "type/" marks a declared
// type, which may have no entries.
func contextID(typ, key string) string { return typ + "/" + key }

func contextName(id string) (typ, key string) {
	typ, key, _ = strings.Cut(id, "/")
	return typ, key
}

var declared = ContextEntry{Fields: "{}"}

func checkContextType(typ string) error {
	if typ == "" || strings.Contains(typ, "/") || !utf8.ValidString(typ) {
		return fmt.Errorf("%w: the type is %q", ErrContextName, typ)
	}
	return nil
}

// Put writes an entry. Its fields may be any JSON object; Put compacts them. On an error nothing is
// written.
func (c *ContextData) Put(typ, key string, e ContextEntry) error {
	if err := checkContextType(typ); err != nil {
		return err
	}
	if key == "" {
		return fmt.Errorf("%w: the key in %q is empty", ErrContextName, typ)
	}
	if !utf8.ValidString(key) {
		return fmt.Errorf("%w: the key %q in %q is not UTF-8", ErrContextName, key, typ)
	}
	e, err := e.clean()
	if err != nil {
		return fmt.Errorf("%s.%s: %w", typ, key, err)
	}
	c.put(contextID(typ, key), e)
	return nil
}

// Merge writes all types and entries of other.
func (c *ContextData) Merge(other ContextData) {
	other.now.each(func(e *entry[string, ContextEntry]) bool { c.put(e.k, e.v); return true })
}

// Delete removes an entry. It is a write even if there is no entry: it also removes what earlier
// tasks of the same step put there.
func (c *ContextData) Delete(typ, key string) { c.del(contextID(typ, key)) }

// Clear removes a type with all its entries in this copy.
func (c *ContextData) Clear(typ string) {
	for _, key := range c.Keys(typ) {
		c.Delete(typ, key)
	}
	c.del(contextID(typ, ""))
}

// Declare adds a type, which may have no entries.
func (c *ContextData) Declare(typ string) error {
	err := checkContextType(typ)
	if err == nil {
		c.put(contextID(typ, ""), declared)
	}
	return err
}

// Lookup returns an entry and whether there is one.
func (c *ContextData) Lookup(typ, key string) (e ContextEntry, ok bool) {
	if key == "" {
		return e, false
	}
	at := c.now.find(contextID(typ, key))
	if at == nil {
		return e, false
	}
	return at.v, true
}

// Has reports whether there is an entry.
func (c *ContextData) Has(typ, key string) bool {
	_, ok := c.Lookup(typ, key)
	return ok
}

// Len returns the number of entries.
func (c *ContextData) Len() (n int) {
	for range c.All() {
		n++
	}
	return n
}

// Types returns the types that have entries or were declared, sorted.
func (c *ContextData) Types() []string { return slices.Sorted(maps.Keys(document(c.now))) }

// Keys returns the keys of a type, sorted.
func (c *ContextData) Keys(typ string) (keys []string) {
	for id := range c.now.keys {
		if t, key := contextName(id); t == typ && key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// Changed returns the entries that were put and deleted after prev, an earlier copy of this
// channel, in order of type and key.
func (c *ContextData) Changed(prev ContextData) (put, deleted []ContextRef) {
	to := func(refs *[]ContextRef) func(*entry[string, ContextEntry]) {
		return func(e *entry[string, ContextEntry]) {
			if typ, key := contextName(e.k); key != "" {
				*refs = append(*refs, ContextRef{typ, key})
			}
		}
	}
	diff(prev.now, c.now, to(&put), to(&deleted))
	return put, deleted
}

// Overwrite replaces all entries with those of other. It discards the writes of other tasks in the
// same step; two Overwrites in one step are an error.
func (c *ContextData) Overwrite(other ContextData) { c.replace(other.now) }

// ContextRef names an entry.
type ContextRef struct{ Type, Key string }

// String returns TYPE.key.
func (r ContextRef) String() string { return r.Type + "." + r.Key }

// All iterates over the entries in order of type and key. It does not observe writes made during
// the iteration.
func (c *ContextData) All() iter.Seq2[ContextRef, ContextEntry] {
	now := c.now
	return func(yield func(ContextRef, ContextEntry) bool) {
		doc := document(now)
		for _, typ := range slices.Sorted(maps.Keys(doc)) {
			for _, key := range slices.Sorted(maps.Keys(doc[typ])) {
				if !yield(ContextRef{typ, key}, doc[typ][key]) {
					return
				}
			}
		}
	}
}

// document returns the entries of a table by type and key.
func document(t *tree[string, ContextEntry]) contextDocument {
	doc := contextDocument{}
	t.each(func(e *entry[string, ContextEntry]) bool { doc.put(e); return true })
	return doc
}

// contextDocument is the JSON form: type → key → fields.
type contextDocument map[string]map[string]ContextEntry

func (d contextDocument) put(e *entry[string, ContextEntry]) {
	typ, key := contextName(e.k)
	if d[typ] == nil {
		d[typ] = map[string]ContextEntry{}
	}
	if key != "" {
		d[typ][key] = e.v
	}
}

// MarshalJSON returns the document: an object of types, each an object of keys, each an
// object of fields and "_meta".
func (c ContextData) MarshalJSON() ([]byte, error) { return json.Marshal(document(c.now)) }

// UnmarshalJSON puts the entries of a document. A null entry deletes it, and a null type clears the
// type. A null or empty document writes nothing. On an error nothing is written.
func (c *ContextData) UnmarshalJSON(data []byte) error {
	var doc map[string]map[string]json.RawMessage
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	next := *c
	for _, typ := range slices.Sorted(maps.Keys(doc)) {
		if err := next.merge(typ, doc[typ]); err != nil {
			return err
		}
	}
	*c = next
	return nil
}

func (c *ContextData) merge(typ string, entries map[string]json.RawMessage) error {
	if entries == nil {
		c.Clear(typ)
		return checkContextType(typ)
	}
	if len(entries) == 0 {
		return c.Declare(typ)
	}
	for key, data := range entries {
		if isNull(data) {
			c.Delete(typ, key)
			continue
		}
		var e ContextEntry
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("%s.%s: %w", typ, key, err)
		}
		if err := c.Put(typ, key, e); err != nil {
			return err
		}
	}
	return nil
}

// Channel returns what the runtime does with the channel. A node does not need it.
func (c *ContextData) Channel() Channel { return contextChannel{c} }

// contextChannel is a ContextData as the runtime sees it.
type contextChannel struct{ *ContextData }

// Wrote implements [Channel].
func (c contextChannel) Wrote() bool { return c.wrote() }

// Fold implements [Channel].
func (c contextChannel) Fold(writes []Channel) error {
	at, err := overwriter[contextChannel](writes)
	if err != nil {
		return err
	}
	if at >= 0 {
		c.commit(writes[at].(contextChannel).now)
		return nil
	}
	now, first := c.base, c.base
	for _, w := range writes {
		now = w.(contextChannel).foldInto(now, first)
	}
	c.commit(now)
	return nil
}

// foldInto returns now with the holder's writes; first is the table at the beginning of the step.
func (c *ContextData) foldInto(now, first *tree[string, ContextEntry]) *tree[string, ContextEntry] {
	c.own.each(func(w *entry[string, *entry[string, ContextEntry]]) bool {
		at := now.find(w.k)
		switch {
		case w.v == nil:
			now = now.del(w.k)
		case at == nil:
			now = now.put(w.v)
		case !at.v.equal(w.v.v):
			e := w.v
			if at != first.find(w.k) { // written by another task of this step
				e = &entry[string, ContextEntry]{w.k, e.v.over(at.v)}
			}
			now = now.put(e)
		}
		return true
	})
	return now
}

// Stored implements [Channel].
func (c contextChannel) Stored() (any, bool) { return c.base.toMap(), c.base != nil }

// Restore implements [Channel].
func (c contextChannel) Restore(dec Decode) error {
	var entries map[string]ContextEntry
	if err := dec(&entries); err != nil {
		return err
	}
	*c.ContextData = ContextData{}
	c.commit(treeOfMap(entries))
	return nil
}

// contextChange is the stored form of a difference, by type/key.
type contextChange = mapChange[string, ContextEntry]

// Writes implements [Channel].
func (c contextChannel) Writes() Write {
	var ch contextChange
	c.written(ch.put, ch.del)
	return Write{Value: ch, Overwrite: c.over}
}

// RestoreWrites implements [Channel].
func (c contextChannel) RestoreWrites(overwrite bool, dec Decode) error {
	var ch contextChange
	if err := dec(&ch); err != nil {
		return err
	}
	c.forget()
	if overwrite {
		c.replace(treeOfMap(ch.Put))
		return nil
	}
	c.change(ch)
	return nil
}

func (c *ContextData) change(ch contextChange) {
	for _, id := range ch.Del {
		c.del(id)
	}
	for id, e := range ch.Put {
		c.put(id, e)
	}
}

// Since implements [Delta]: the entries that were put and deleted after prev.
func (c contextChannel) Since(prev Channel) (any, bool) {
	var ch contextChange
	diff(prev.(contextChannel).base, c.base, ch.put, ch.del)
	return ch, len(ch.Put)+len(ch.Del) <= c.base.len()
}

// Apply implements [Delta].
func (c contextChannel) Apply(dec Decode) error {
	var ch contextChange
	if err := dec(&ch); err != nil {
		return err
	}
	w := ContextData{table[string, ContextEntry]{base: c.base, now: c.base}}
	w.change(ch)
	c.commit(w.now)
	return nil
}

// Then implements [Sequel].
func (c contextChannel) Then(w Channel) { c.then(&w.(contextChannel).table) }

// String returns the value as JSON, for people who print a state.
func (c ContextData) String() string { return text(c) }
