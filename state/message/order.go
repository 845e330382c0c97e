package message

// order is a sequence of messages with an index by id. A copy made by assignment is
// independent, and shares what neither changes. The nil order is empty.
//
// A message keeps its slot. Slots count from 0: those of the pages, then those of the tail.
type order struct {
	pages       // full pages
	tail  *tail // the slots after them
	size  int   // slots of the tail in use, fewer than pageSize
	count int   // messages
	ids   index // of the pages
	stale bool  // a slot of the pages was emptied or has another id, so ids may have useless hints
}

// orderOf returns an order that holds ms; of messages with one id the last, in the
// place of the first.
func orderOf(ms []*Message) *order {
	o := new(order)
	for _, m := range ms {
		o.put(m)
	}
	return o
}

// own returns a copy to change.
func (o *order) own() (c order) {
	if o != nil {
		c = *o
	}
	return c
}

func (o *order) len() int {
	if o == nil {
		return 0
	}
	return o.count
}

// slot returns the slot of the message with this id, the hash of which is hash.
func (o *order) slot(id string, hash uint32) (slot int, ok bool) {
	if i, ok := o.tail.find(o.size, id, hash); ok {
		return o.next + i, true
	}
	return o.ids.find(hash, func(slot int) bool {
		m := o.pages.get(slot)
		return m != nil && m.ID == id
	})
}

// find returns the message with this id, or nil.
func (o *order) find(id string) *Message {
	if o == nil {
		return nil
	}
	slot, ok := o.slot(id, hashOf(id))
	if !ok {
		return nil
	}
	return o.at(slot)
}

// at returns the message in a slot, or nil.
func (o *order) at(slot int) *Message {
	if slot >= o.next {
		return o.tail.msgs[slot-o.next]
	}
	return o.pages.get(slot)
}

// nth returns message i, not counting empty slots; i is in range.
func (o *order) nth(i int) *Message {
	if n := o.root.len(); i >= n {
		return nth(o.tail.msgs[:o.size], i-n)
	}
	return o.pages.nth(i)
}

// last returns the last message, or nil.
func (o *order) last() *Message {
	if o.len() == 0 {
		return nil
	}
	if o.size > 0 {
		if m := o.tail.msgs[o.size-1]; m != nil {
			return m
		}
	}
	return o.nth(o.count - 1)
}

func (o *order) each(yield func(*Message) bool) {
	if o == nil || !o.root.each(yield) || o.size == 0 {
		return
	}
	for _, m := range o.tail.msgs[:o.size] {
		if m != nil && !yield(m) {
			return
		}
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
	hash := hashOf(m.ID)
	if slot, ok := o.slot(m.ID, hash); ok {
		o.set(slot, m, hash)
		return
	}
	o.count++
	o.tail = o.tail.pushed(o.size, m, hash)
	o.size++
	if o.size == pageSize {
		o.turn()
	}
}

// turn makes a page of the full tail.
func (o *order) turn() {
	var hints [pageSize]hint
	n := 0
	for i, m := range o.tail.msgs {
		if m != nil {
			hints[n] = hintOf(o.tail.hashes[i], o.next+i)
			n++
		}
	}
	o.install(o.next, pageOf(o.tail.msgs[:]))
	o.next += pageSize
	o.tail, o.size = nil, 0
	o.hint(hints[:n])
}

// hint adds hints to the index.
func (o *order) hint(hints []hint) {
	if !o.stale {
		o.ids = o.ids.with(hints, nil)
		return
	}
	o.ids = o.ids.with(hints, func(h hint) bool {
		m := o.pages.get(h.slot())
		return m != nil && hashOf(m.ID) == h.hash()
	})
}

// set puts m, or nothing when it is nil, into a slot in use.
func (o *order) set(slot int, m *Message, hash uint32) {
	if i := slot - o.next; i >= 0 {
		o.tail = o.tail.copied(o.size)
		o.tail.msgs[i], o.tail.hashes[i] = m, hash
		return
	}
	o.pages.set(slot, m)
}

// replace puts m into the place of the message id, which goes, as does any other with
// the id of m. Where there is no message id, it is a put.
func (o *order) replace(id string, m *Message) {
	slot, ok := o.slot(id, hashOf(id))
	if !ok || id == m.ID {
		o.put(m)
		return
	}
	o.del(m.ID)
	hash := hashOf(m.ID)
	o.set(slot, m, hash)
	if slot < o.next {
		o.stale = true
		o.hint([]hint{hintOf(hash, slot)})
	}
}

// del removes the message with this id, if there is one.
func (o *order) del(id string) {
	slot, ok := o.slot(id, hashOf(id))
	if !ok {
		return
	}
	o.count--
	o.set(slot, nil, 0)
	o.stale = o.stale || slot < o.next
}

// end returns the message in slot i of the tail, or nil.
func (o *order) end(i int) *Message {
	if i >= o.size {
		return nil
	}
	return o.tail.msgs[i]
}

// whole returns the pages with one more for the tail.
func (o *order) whole() pages {
	all := o.pages
	if o.size > 0 {
		all.install(o.next, pageOf(o.tail.msgs[:o.size]))
	}
	return all
}

// since returns the ops that lead from prev to o; ok is false when they are not known.
// First come the removals, then what took the place of a message, then what was added
// at the end.
func (o *order) since(prev *order) (ops []op, ok bool) {
	before, after := prev.own(), o.own()
	a, b := before.pages, after.pages
	if a.next != b.next {
		a, b = before.whole(), after.whole()
		before.size, after.size = 0, 0
	}
	shift := max(a.shift, b.shift)
	var gone, put, added []op
	slot := func(old, now *Message) bool {
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
	}
	ok = compare(a.lifted(shift), b.lifted(shift), shift, slot, func() bool { return len(added) == 0 })
	for i := 0; ok && i < max(before.size, after.size); i++ {
		ok = slot(before.end(i), after.end(i))
	}
	return append(append(gone, put...), added...), ok
}
