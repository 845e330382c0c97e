package record

import "github.com/weftrun/weft/state"

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
	b, ok := bindScalar[state.Untracked[plain]](t)
	if t.base != "" {
		return b, ok
	}
	b.write = func(c any, v any) *TypeError {
		c.(*state.Untracked[plain]).Set(plain{v})
		return nil
	}
	b.overwrite = b.write
	return b, ok
}

// bindOnce binds to a Once; nil is no write, and the second write is an error where it is
// made.
func bindOnce(t *Type) (binding, bool) {
	b, ok := bindScalar[state.Once[plain]](t)
	set := b.write
	b.write = func(c any, v any) *TypeError {
		v, err := simplify(v)
		if _, has := c.(*state.Once[plain]).Lookup(); err == nil && v != nil && has {
			err = &TypeError{What: "it has a value, and is written once"}
		}
		if err != nil || v == nil {
			return err
		}
		return set(c, v)
	}
	b.overwrite = func(c any, v any) *TypeError {
		v, err := simplify(v)
		if v == nil && err == nil {
			c.(*state.Once[plain]).Clear()
			return nil
		}
		if err == nil {
			v, err = t.convert(v, 0)
		}
		if err == nil {
			c.(*state.Once[plain]).Overwrite(plain{v})
		}
		return err
	}
	return b, ok
}
