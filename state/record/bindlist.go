package record

import (
	"fmt"
	"iter"

	"github.com/weftrun/weft/state"
)

func bindList(t *Type) (binding, bool) {
	ok := t.holds("list")
	b := bindingOf[state.List[plain]]()
	b.get = func(c any) (any, bool) {
		l := c.(*state.List[plain])
		return unwrap(l.Len(), l.All()), true
	}
	b.write = func(c any, v any) *TypeError {
		items, err := elements(t, v)
		c.(*state.List[plain]).Channel().(adopter).Adopt(items)
		return err
	}
	b.overwrite = func(c any, v any) *TypeError {
		items, err := elements(t, v)
		if err == nil {
			c.(*state.List[plain]).Overwrite(items)
		}
		return err
	}
	return b, ok
}

// adopter is the channel of a List, which takes a slice over without a copy.
type adopter interface{ Adopt(items []plain) }

func bindTopic(t *Type) (binding, bool) {
	ok := t.holds("list")
	b := bindingOf[state.Topic[plain]]()
	b.get = func(c any) (any, bool) {
		t := c.(*state.Topic[plain])
		return unwrap(t.Len(), t.All()), true
	}
	b.write = func(c any, v any) *TypeError {
		items, err := elements(t, v)
		c.(*state.Topic[plain]).Publish(items...)
		return err
	}
	b.overwrite = noOverwrite
	return b, ok
}

// bindStack binds to a Stack.
func bindStack(t *Type) (binding, bool) {
	ok := t.holds("list")
	b := bindingOf[state.Stack[plain]]()
	b.get = func(c any) (any, bool) {
		s := c.(*state.Stack[plain])
		return unwrap(s.Len(), s.All()), true
	}
	b.write = func(c any, v any) *TypeError {
		items, err := elements(t, v)
		c.(*state.Stack[plain]).Prepend(items...)
		return err
	}
	b.overwrite = func(c any, v any) *TypeError {
		items, err := elements(t, v)
		if err == nil {
			c.(*state.Stack[plain]).Overwrite(items)
		}
		return err
	}
	return b, ok
}

func noOverwrite(any, any) *TypeError {
	return &TypeError{What: "a topic is new in every step; there is nothing to overwrite"}
}

// unwrap returns n elements in a slice that the caller owns.
func unwrap(n int, all iter.Seq2[int, plain]) []any {
	out := make([]any, 0, n)
	for _, p := range all {
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
		if t.elem.takes(item, 0) {
			out[i] = plain{item}
			continue
		}
		c, err := t.elem.convert(item, 0)
		if err != nil {
			return nil, err.under(fmt.Sprintf("[%d]", i))
		}
		out[i] = plain{c}
	}
	return out, nil
}
