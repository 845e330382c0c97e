package message

import "github.com/weftrun/weft/state"

// order is a sequence of messages with an index by id. A copy made by assignment is
// independent, and shares what neither changes. The nil order is empty.
type order struct {
	pages
	// ids holds the slot of each id. It is a Map for its shared tree: it is overwritten
	// from the start, so that it keeps no record of writes.
	ids state.Map[string, int]
}

// orderOf returns an order that holds ms; of messages with one id the last, in the
// place of the first.
func orderOf(ms []*Message) *order {
	ids := make(map[string]int, len(ms))
	stored := make([]*Message, 0, len(ms))
	for _, m := range ms {
		if at, dup := ids[m.ID]; dup {
			stored[at] = m
			continue
		}
		ids[m.ID] = len(stored)
		stored = append(stored, m)
	}
	o := &order{pages: pagesOf(stored)}
	o.ids.Overwrite(ids)
	return o
}

// own returns a copy to change.
func (o *order) own() order {
	if o != nil {
		return *o
	}
	var c order
	c.ids.Overwrite(nil)
	return c
}

func (o *order) len() int {
	if o == nil {
		return 0
	}
	return o.root.len()
}

// find returns the message with this id, or nil.
func (o *order) find(id string) *Message {
	if o == nil {
		return nil
	}
	slot, ok := o.ids.Lookup(id)
	if !ok {
		return nil
	}
	return o.get(slot)
}

// last returns the last message, or nil.
func (o *order) last() *Message {
	if o.len() == 0 {
		return nil
	}
	return o.nth(o.len() - 1)
}

func (o *order) each(yield func(*Message) bool) {
	if o != nil {
		o.root.each(yield)
	}
}

// slice returns the messages in a new slice.
func (o *order) slice() []Message {
	ms := make([]Message, 0, o.len())
	o.each(func(m *Message) bool { ms = append(ms, *m); return true })
	return ms
}

// put sets m in the place of its id, or at the end.
func (o *order) put(m *Message) {
	slot, ok := o.ids.Lookup(m.ID)
	if !ok {
		slot = o.next
		o.ids.Put(m.ID, slot)
	}
	o.set(slot, m)
}

// replace puts m into the place of the message id, which goes, as does any other with
// the id of m. Where there is no message id, it is a put.
func (o *order) replace(id string, m *Message) {
	slot, ok := o.ids.Lookup(id)
	if !ok || id == m.ID {
		o.put(m)
		return
	}
	o.del(m.ID)
	o.ids.Delete(id)
	o.ids.Put(m.ID, slot)
	o.set(slot, m)
}

// del removes the message with this id, if there is one.
func (o *order) del(id string) {
	slot, ok := o.ids.Lookup(id)
	if !ok {
		return
	}
	o.ids.Delete(id)
	o.set(slot, nil)
}

// since returns the ops that lead from prev to o; ok is false when they are not known.
// First come the removals, then what took the place of a message, then what was added
// at the end.
func (o *order) since(prev *order) (ops []op, ok bool) {
	a, b := prev.own(), o.own()
	shift := max(a.shift, b.shift)
	var gone, put, added []op
	ok = compare(a.lifted(shift), b.lifted(shift), shift, func(old, now *Message) bool {
		switch {
		case old == nil && now == nil:
			return true
		case now == nil:
			gone = append(gone, op{kind: opRemove, id: old.ID})
			return true
		case old == nil:
			added = append(added, op{kind: opAdd, m: now})
			return prev.find(now.ID) == nil
		case old != now && old.ID == now.ID:
			put = append(put, op{kind: opAdd, m: now})
		case old != now:
			put = append(put, op{kind: opReplace, id: old.ID, m: now})
			return len(added) == 0 && prev.find(now.ID) == nil && o.find(old.ID) == nil
		}
		return len(added) == 0
	}, func() bool { return len(added) == 0 })
	return append(append(gone, put...), added...), ok
}
