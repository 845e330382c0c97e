package state

// Sequel is a channel that can take over what the holder of another copy wrote, as if
// its own holder had written it next. The channels of this package are Sequels. A state whose channels all are can be shared
// with a subgraph, whose many steps count as the writes of one task.
type Sequel interface {
	Channel
	// Then writes to the receiver what w, a channel of the receiver's own type that was
	// written to, holds as writes. w is not changed.
	Then(w Channel)
}

// then makes w's write the holder's.
func (c *cell[T]) then(w *cell[T]) { c.v, c.set, c.wrote = w.v, w.set, true }

// Then implements [Sequel].
func (c *Value[T]) Then(w Channel) { c.then(&w.(*Value[T]).cell) }

// Then implements [Sequel].
func (c *Latest[T]) Then(w Channel) { c.then(&w.(*Latest[T]).cell) }

// Then implements [Sequel].
func (c *Ephemeral[T]) Then(w Channel) { c.then(&w.(*Ephemeral[T]).cell) }

// Then implements [Sequel].
func (c *Untracked[T]) Then(w Channel) { c.then(&w.(*Untracked[T]).cell) }

// Then implements [Sequel].
func (l *List[T]) Then(w Channel) {
	next := w.(*List[T])
	if next.over {
		l.own, l.over = next.own, true
		return
	}
	l.own = l.own.append(next.own.s)
}

// Then implements [Sequel].
func (t *Topic[T]) Then(w Channel) { t.Publish(w.(*Topic[T]).own.s...) }

// Then implements [Sequel].
func (s *Sum[T]) Then(w Channel) {
	next := w.(*Sum[T])
	if next.over {
		s.Overwrite(next.own)
		return
	}
	s.Add(next.own)
}

// Then implements [Sequel].
func (m *Max[T]) Then(w Channel) { m.then(&w.(*Max[T]).extreme) }

// Then implements [Sequel].
func (m *Min[T]) Then(w Channel) { m.then(&w.(*Min[T]).extreme) }

func (e *extreme[T, R]) then(w *extreme[T, R]) {
	if w.over {
		e.Overwrite(w.own)
		return
	}
	e.Offer(w.own)
}

// Then implements [Sequel].
func (m *Map[K, V]) Then(w Channel) { m.then(&w.(*Map[K, V]).table) }

// Then implements [Sequel].
func (s *Set[T]) Then(w Channel) { s.then(&w.(*Set[T]).table) }

func (t *table[K, V]) then(w *table[K, V]) {
	if w.over {
		t.replace(w.now)
		return
	}
	w.own.each(func(e *entry[K, *entry[K, V]]) bool {
		if e.v == nil {
			t.del(e.k)
		} else {
			t.put(e.k, e.v.v)
		}
		return true
	})
}

// Then implements [Sequel].
func (c *Reduced[T, R]) Then(w Channel) {
	next := w.(*Reduced[T, R])
	if next.over {
		c.Overwrite(next.now)
		return
	}
	for _, v := range next.ops.s {
		c.Update(v)
	}
}

var (
	_ Sequel = (*Value[int])(nil)
	_ Sequel = (*Latest[int])(nil)
	_ Sequel = (*Ephemeral[int])(nil)
	_ Sequel = (*Untracked[int])(nil)
	_ Sequel = (*List[int])(nil)
	_ Sequel = (*Topic[int])(nil)
	_ Sequel = (*Sum[int])(nil)
	_ Sequel = (*Max[int])(nil)
	_ Sequel = (*Min[int])(nil)
	_ Sequel = (*Map[string, int])(nil)
	_ Sequel = (*Set[string])(nil)
)
