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
	next  int  // slots in use; those from here on were never filled
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

func (p *pages) get(slot int) *Message {
	n := p.root
	for shift := p.shift; shift > 0; shift -= pageBits {
		n = n.kid(slot >> shift & (pageSize - 1))
	}
	return n.msg(slot & (pageSize - 1))
}

// set puts m, or nothing when it is nil, into a slot that is not past next.
func (p *pages) set(slot int, m *Message) {
	for slot>>p.shift >= pageSize {
		if p.root != nil {
			p.root = &page{live: p.root.live, kids: []*page{p.root}}
		}
		p.shift += pageBits
	}
	p.root = p.root.with(slot, p.shift, m)
	p.next = max(p.next, slot+1)
}

// with returns a copy of n in which slot holds m.
func (n *page) with(slot int, shift uint, m *Message) *page {
	i := slot >> shift & (pageSize - 1)
	var c page
	if shift == 0 {
		c = page{live: n.len(), msgs: grown(n.messages(), i)}
		c.live += one(m) - one(c.msgs[i])
		c.msgs[i] = m
	} else {
		kid := n.kid(i).with(slot, shift-pageBits, m)
		c = page{live: n.len() + kid.len() - n.kid(i).len(), kids: grown(n.pages(), i)}
		c.kids[i] = kid
	}
	if c.live == 0 {
		return nil
	}
	return &c
}

func (n *page) messages() []*Message {
	if n == nil {
		return nil
	}
	return n.msgs
}

func (n *page) pages() []*page {
	if n == nil {
		return nil
	}
	return n.kids
}

func one(m *Message) int {
	if m == nil {
		return 0
	}
	return 1
}

// grown returns a copy of s that has a place i.
func grown[T any](s []T, i int) []T {
	c := make([]T, max(len(s), i+1))
	copy(c, s)
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
	for _, m := range n.msgs {
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

// pagesOf returns pages that hold ms, in linear time.
func pagesOf(ms []*Message) pages {
	var row []*page
	for at := 0; at < len(ms); at += pageSize {
		leaf := append([]*Message(nil), ms[at:min(at+pageSize, len(ms))]...)
		row = append(row, &page{live: len(leaf), msgs: leaf})
	}
	p := pages{next: len(ms)}
	for ; len(row) > 1; p.shift += pageBits {
		var above []*page
		for at := 0; at < len(row); at += pageSize {
			n := &page{kids: append([]*page(nil), row[at:min(at+pageSize, len(row))]...)}
			for _, k := range n.kids {
				n.live += k.live
			}
			above = append(above, n)
		}
		row = above
	}
	if len(row) == 1 {
		p.root = row[0]
	}
	return p
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
