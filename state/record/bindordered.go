package record

import (
	"cmp"

	"github.com/weftrun/weft/state"
)

// bindSum binds to a Sum of int64 or float64.
func bindSum(t *Type) (b binding, ok bool) {
	switch t.base {
	case "int":
		return bindSumOf[int64](t), true
	case "number":
		return bindSumOf[float64](t), true
	}
	return b, false
}

func bindSumOf[T int64 | float64](t *Type) binding {
	b := bindingOf[state.Sum[T]]()
	b.get = func(c any) (any, bool) { return c.(*state.Sum[T]).Get(), true }
	b.write = writer(t, func(c any, n T) { c.(*state.Sum[T]).Add(n) })
	b.overwrite = writer(t, func(c any, n T) { c.(*state.Sum[T]).Overwrite(n) })
	return b
}

// bindMax binds to a Max of string, int64 or float64.
func bindMax(t *Type) (b binding, ok bool) {
	switch t.base {
	case "string":
		return bindPeak[state.Max[string], string](t), true
	case "int":
		return bindPeak[state.Max[int64], int64](t), true
	case "number":
		return bindPeak[state.Max[float64], float64](t), true
	}
	return b, false
}

// bindMin binds to a Min of string, int64 or float64.
func bindMin(t *Type) (b binding, ok bool) {
	switch t.base {
	case "string":
		return bindPeak[state.Min[string], string](t), true
	case "int":
		return bindPeak[state.Min[int64], int64](t), true
	case "number":
		return bindPeak[state.Min[float64], float64](t), true
	}
	return b, false
}

// peak is a Max or a Min.
type peak[C, T any] interface {
	pointer[C]
	Offer(T)
	Overwrite(T)
	Lookup() (T, bool)
}

func bindPeak[C any, T cmp.Ordered, P peak[C, T]](t *Type) binding {
	b := bindingOf[C, P]()
	b.get = func(c any) (any, bool) {
		if v, ok := c.(P).Lookup(); ok {
			return v, true
		}
		return nil, false
	}
	b.write = writer(t, func(c any, v T) { c.(P).Offer(v) })
	b.overwrite = writer(t, func(c any, v T) { c.(P).Overwrite(v) })
	return b
}

// bindSet binds to a Set of string, int64 or float64.
func bindSet(t *Type) (b binding, ok bool) {
	switch t.Elem().base {
	case "string":
		b = bindSetOf[string](t)
	case "int":
		b = bindSetOf[int64](t)
	case "number":
		b = bindSetOf[float64](t)
	}
	return b, t.base == "list" && b.make != nil
}

func bindSetOf[T cmp.Ordered](t *Type) binding {
	b := bindingOf[state.Set[T]]()
	b.get = func(c any) (any, bool) {
		s := c.(*state.Set[T])
		out := make([]any, 0, s.Len())
		for v := range s.All() {
			out = append(out, v)
		}
		return out, true
	}
	b.write = keyWriter(t, func(s *state.Set[T], keys []T) { s.Add(keys...) })
	b.overwrite = keyWriter(t, (*state.Set[T]).Overwrite)
	return b
}

// keyWriter returns a write of elements of the list type t, which are T in Go.
func keyWriter[T cmp.Ordered](t *Type, write func(*state.Set[T], []T)) func(any, any) *TypeError {
	return func(c any, v any) *TypeError {
		items, err := elements(t, v)
		if err != nil {
			return err
		}
		keys := make([]T, len(items))
		for i, p := range items {
			keys[i] = p.v.(T)
		}
		write(c.(*state.Set[T]), keys)
		return nil
	}
}
