package state

// Sequel is a channel that can take over what the holder of another copy wrote, as if its own
// holder had written it next. The channels of this package are Sequels. A state whose channels all
// are can be shared with a subgraph, whose many steps count as the writes of one task.
type Sequel interface {
	Channel
	// Then writes to the receiver what w, a channel of the receiver's own type that was
	// written to, holds as writes. w is not changed.
	Then(w Channel)
}

// then makes w's write the holder's.
func (c *cell[T]) then(w *cell[T]) { c.v, c.set, c.wrote = w.v, w.set, true }

// Then implements [Sequel].
func (c valueChannel[T]) Then(w Channel) { c.body().then(w.(valueChannel[T]).body()) }

// Then implements [Sequel].
func (c latestChannel[T]) Then(w Channel) { c.body().then(w.(latestChannel[T]).body()) }

// Then implements [Sequel].
func (c ephemeralChannel[T]) Then(w Channel) { c.body().then(w.(ephemeralChannel[T]).body()) }

// Then implements [Sequel].
func (c *untrackedChannel[T]) Then(w Channel) { c.then(&w.(*untrackedChannel[T]).cell) }

// Then implements [Sequel].
func (l *listChannel[T]) Then(w Channel) {
	next := w.(*listChannel[T])
	if next.over {
		l.own, l.over = next.own, true
		return
	}
	l.own = l.own.append(next.own.s)
}

// Then implements [Sequel].
func (t *topicChannel[T]) Then(w Channel) { (*Topic[T])(t).Publish(w.(*topicChannel[T]).own.s...) }

// Then implements [Sequel].
func (s *sumChannel[T]) Then(w Channel) {
	next := w.(*sumChannel[T])
	if next.over {
		(*Sum[T])(s).Overwrite(next.own)
		return
	}
	(*Sum[T])(s).Add(next.own)
}

// Then implements [Sequel].
func (m maxChannel[T]) Then(w Channel) { m.then(w.(maxChannel[T]).extreme) }

// Then implements [Sequel].
func (m minChannel[T]) Then(w Channel) { m.then(w.(minChannel[T]).extreme) }

func (e *extreme[T, R]) then(w *extreme[T, R]) {
	if w.over {
		e.Overwrite(w.own)
		return
	}
	e.Offer(w.own)
}

// Then implements [Sequel].
func (m *mapChannel[K, V]) Then(w Channel) { m.then(&w.(*mapChannel[K, V]).table) }

// Then implements [Sequel].
func (s *setChannel[T]) Then(w Channel) { s.then(&w.(*setChannel[T]).table) }

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
func (c *reducedChannel[T, R]) Then(w Channel) {
	body, next := (*Reduced[T, R])(c), w.(*reducedChannel[T, R])
	if next.over {
		body.Overwrite(next.now)
		return
	}
	for _, v := range next.ops.s {
		body.Update(v)
	}
}
