package state

import "fmt"

// binding ties a field of a Record to an ordinary channel: how to make one, to
// copy one, and to reach it, by its pointer, with plain values. Writes convert the whole value
// before they touch the channel.
type binding struct {
	make      func() (cell any, c Channel) // a new channel by its pointer, and as the runtime sees it
	assign    func(dst, src any)
	get       func(c any) (v any, ok bool)
	write     func(c any, v any) *TypeError
	overwrite func(c any, v any) *TypeError
}

// pointer is a channel type by its pointer.
type pointer[C any] interface {
	*C
	Channeler
}

// bindingOf returns a binding to C that still lacks its plain values.
func bindingOf[C any, P pointer[C]]() binding {
	return binding{
		make: func() (any, Channel) {
			p := P(new(C))
			return p, p.Channel()
		},
		assign: func(dst, src any) { *dst.(*C) = *src.(*C) },
	}
}

// scalar is a channel that holds one value and replaces it.
type scalar[C any] interface {
	pointer[C]
	Set(plain)
	Clear()
	Lookup() (plain, bool)
}

// bindScalar binds to a cell of any type; nil clears it.
func bindScalar[C any, P scalar[C]](t *Type) (binding, bool) {
	b := bindingOf[C, P]()
	b.get = func(c any) (any, bool) {
		v, ok := c.(P).Lookup()
		return v.v, ok
	}
	b.write = func(c any, v any) *TypeError {
		v, err := simplify(v)
		if v == nil && err == nil {
			c.(P).Clear()
			return nil
		}
		if err == nil {
			v, err = t.convert(v, 0)
		}
		if err == nil {
			c.(P).Set(plain{v})
		}
		return err
	}
	b.overwrite = b.write
	return b, true
}

// bindUntracked binds to an Untracked. Where the type is any, that includes
// handles and clients, which have no plain form.
func bindUntracked(t *Type) (binding, bool) {
	b, ok := bindScalar[Untracked[plain]](t)
	if t.base != "" {
		return b, ok
	}
	b.write = func(c any, v any) *TypeError {
		c.(*Untracked[plain]).Set(plain{v})
		return nil
	}
	b.overwrite = b.write
	return b, ok
}

func bindList(t *Type) (binding, bool) {
	ok := t.holds("list")
	b := bindingOf[List[plain]]()
	b.get = func(c any) (any, bool) {
		l := c.(*List[plain])
		return unwrap(l.head(), l.own.s), true
	}
	b.write = func(c any, v any) *TypeError {
		items, err := elements(t, v)
		c.(*List[plain]).Append(items...)
		return err
	}
	b.overwrite = func(c any, v any) *TypeError {
		items, err := elements(t, v)
		if err == nil {
			c.(*List[plain]).Overwrite(items)
		}
		return err
	}
	return b, ok
}

func bindTopic(t *Type) (binding, bool) {
	ok := t.holds("list")
	b := bindingOf[Topic[plain]]()
	b.get = func(c any) (any, bool) {
		l := c.(*Topic[plain])
		return unwrap(l.base.s, l.own.s), true
	}
	b.write = func(c any, v any) *TypeError {
		items, err := elements(t, v)
		c.(*Topic[plain]).Publish(items...)
		return err
	}
	b.overwrite = noOverwrite
	return b, ok
}

func noOverwrite(any, any) *TypeError {
	return &TypeError{What: "a topic is new in every step; there is nothing to overwrite"}
}

func unwrap(a, b []plain) []any {
	out := make([]any, 0, len(a)+len(b))
	for _, p := range a {
		out = append(out, p.v)
	}
	for _, p := range b {
		out = append(out, p.v)
	}
	return out
}

// elements converts v to elements of the list type t. What is not a list counts
// as one element, and nil as none.
func elements(t *Type, v any) ([]plain, *TypeError) {
	v, err := simplify(v)
	if err != nil || v == nil {
		return nil, err
	}
	items, isList := v.([]any)
	if !isList {
		one, err := t.elem.convert(v, 0)
		if err != nil {
			return nil, err
		}
		return []plain{{one}}, nil
	}
	out := make([]plain, len(items))
	for i, item := range items {
		c, err := t.elem.convert(item, 0)
		if err != nil {
			return nil, err.under(fmt.Sprintf("[%d]", i))
		}
		out[i] = plain{c}
	}
	return out, nil
}

// writer returns a write of one value of type t, which is a T in Go. nil writes
// nothing.
func writer[T any](t *Type, write func(any, T)) func(any, any) *TypeError {
	return func(c any, v any) *TypeError {
		v, err := simplify(v)
		if v == nil || err != nil {
			return err
		}
		if v, err = t.convert(v, 0); err == nil {
			write(c, v.(T))
		}
		return err
	}
}
