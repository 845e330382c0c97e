package message

const (
	pageBits = 5
	pageSize = 1 << pageBits
)

// pages is a persistent array of slots, each with a message or empty: a tree of pages
// in which set copies the path to one slot and shares all the rest. A page without
// messages is nil.
type pages struct {
	root  *page
	shift uint // of root: 0 for a leaf
	next  int  // slots in use, whole pages of them; those from here on were never filled
}

type page struct {
	live int // messages in this page and below it
	kids []*page
	msgs []*Message // of a leaf
}

func (n *page) len() int {
	if n == nil {
		return 0
	}
	return n.live
}

// kid returns the page in place i, or nil.
func (n *page) kid(i int) *page {
	if n == nil || i >= len(n.kids) {
		return nil
	}
	return n.kids[i]
}

// msg returns the message in place i of a leaf, or nil.
func (n *page) msg(i int) *Message {
	if n == nil || i >= len(n.msgs) {
		return nil
	}
	return n.msgs[i]
}

// pageOf returns a leaf with these messages, or nil if there are none.
func pageOf(msgs []*Message) *page {
	n := page{msgs: msgs}
	for _, m := range msgs {
		if m != nil {
			n.live++
		}
	}
	if n.live == 0 {
		return nil
	}
	return &n
}

// leaf returns the leaf of a slot, or nil.
func (p *pages) leaf(slot int) *page {
	n := p.root
	for shift := p.shift; shift > 0; shift -= pageBits {
		n = n.kid(slot >> shift & (pageSize - 1))
	}
	return n
}

func (p *pages) get(slot int) *Message { return p.leaf(slot).msg(slot & (pageSize - 1)) }

// set puts m, or nothing when it is nil, into a slot of a leaf.
func (p *pages) set(slot int, m *Message) {
	msgs := make([]*Message, pageSize)
	if leaf := p.leaf(slot); leaf != nil {
		copy(msgs, leaf.msgs)
	}
	msgs[slot&(pageSize-1)] = m
	p.install(slot, pageOf(msgs))
}

// install makes leaf, or nothing when it is nil, the leaf of a slot.
func (p *pages) install(slot int, leaf *page) {
	for slot>>p.shift >= pageSize {
		if p.root != nil {
			p.root = &page{live: p.root.live, kids: []*page{p.root}}
		}
		p.shift += pageBits
	}
	p.root = p.root.with(slot, p.shift, leaf)
}

// with returns a copy of n in which the leaf of slot is leaf.
func (n *page) with(slot int, shift uint, leaf *page) *page {
	if shift == 0 {
		return leaf
	}
	i := slot >> shift & (pageSize - 1)
	kid := n.kid(i).with(slot, shift-pageBits, leaf)
	c := page{live: n.len() + kid.len() - n.kid(i).len(), kids: grown(n, i)}
	c.kids[i] = kid
	if c.live == 0 {
		return nil
	}
	return &c
}

// grown returns a copy of the pages of n that has a place i.
func grown(n *page, i int) []*page {
	var kids []*page
	if n != nil {
		kids = n.kids
	}
	c := make([]*page, max(len(kids), i+1))
	copy(c, kids)
	return c
}

// nth returns message i, not counting empty slots; i is in range.
func (p *pages) nth(i int) *Message {
	n := p.root
	for shift := p.shift; shift > 0; shift -= pageBits {
		for _, k := range n.kids {
			if i < k.len() {
				n = k
				break
			}
			i -= k.len()
		}
	}
	return nth(n.msgs, i)
}

// nth returns message i of a leaf, not counting empty slots.
func nth(msgs []*Message, i int) *Message {
	for _, m := range msgs {
		if m != nil {
			if i == 0 {
				return m
			}
			i--
		}
	}
	panic("message: a page counts more messages than it holds")
}

// each calls yield with the messages in order until it returns false.
func (n *page) each(yield func(*Message) bool) bool {
	if n == nil {
		return true
	}
	for _, k := range n.kids {
		if !k.each(yield) {
			return false
		}
	}
	for _, m := range n.msgs {
		if m != nil && !yield(m) {
			return false
		}
	}
	return true
}

// compare walks two trees of the same shift where they differ: it calls slot with what
// each holds in a slot, and same where they share a page that is not empty. It stops
// when either returns false.
func compare(a, b *page, shift uint, slot func(old, now *Message) bool, same func() bool) bool {
	switch {
	case a == b && a == nil:
		return true
	case a == b:
		return same()
	}
	for i := range pageSize {
		ok := true
		if shift == 0 {
			ok = slot(a.msg(i), b.msg(i))
		} else {
			ok = compare(a.kid(i), b.kid(i), shift-pageBits, slot, same)
		}
		if !ok {
			return false
		}
	}
	return true
}

// lifted returns the root as if it had this shift, which is not below its own.
func (p *pages) lifted(shift uint) *page {
	n := p.root
	for s := p.shift; s < shift && n != nil; s += pageBits {
		n = &page{live: n.live, kids: []*page{n}}
	}
	return n
}
