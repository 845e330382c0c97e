package agent

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/tidwall/gjson"

	"github.com/weftrun/weft/state"
)

// Contexts provides typed access to the contexts of a state: see [StateManager.LoadContexts]. Each
// call reads the current state. Contexts caches decoded values, so callers must not modify them. A
// Contexts is for one task and is not safe for concurrent use.
type Contexts struct {
	m     StateManager
	s     *State
	data  *state.ContextData // of s
	cache map[state.ContextRef]decoded
}

type decoded struct {
	fields string // the stored fields from which v was decoded
	v      Context
}

// Keyed is a context with its type, key and metadata.
type Keyed[T any] struct {
	state.ContextRef
	Value T
	Meta  state.ContextMeta
}

// Get returns the context of type T under a key. The error is a [*NotFoundError], an
// [*UnknownTypeError] or a [*CorruptError], or wraps ErrWrongType.
func Get[T Context](c *Contexts, key string) (T, error) {
	var zero T
	k, err := get[T](c, state.ContextRef{Type: nameOf[T](), Key: key})
	if err != nil {
		return zero, err
	}
	return k.Value, nil
}

func get[T Context](c *Contexts, ref state.ContextRef) (k Keyed[T], err error) {
	any, err := c.get(ref)
	if err != nil {
		return k, err
	}
	v, ok := any.Value.(T)
	if !ok {
		return k, fmt.Errorf("%w: %s is %T, not %s", ErrWrongType, ref, any.Value, reflect.TypeFor[T]())
	}
	return Keyed[T]{ref, v, any.Meta}, nil
}

// All returns the contexts of type T by key. If some of them cannot be decoded, it returns the
// others and an error that joins a [*CorruptError] for each. A type that is not registered is an
// error only if contexts of this type exist.
func All[T Context](c *Contexts) (map[string]T, error) {
	name := nameOf[T]()
	out := map[string]T{}
	var errs []error
	for _, key := range c.data.Keys(name) {
		k, err := get[T](c, state.ContextRef{Type: name, Key: key})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out[key] = k.Value
	}
	return out, errors.Join(errs...)
}

// Inputs returns all inputs of a step that are of type T, in the order of the plan. A missing input
// is an error; the error joins all problems. No input of this type is not an error.
func Inputs[T Context](c *Contexts, step Step) (all []Keyed[T], err error) {
	var errs []error
	for _, ref := range step.Inputs {
		if ref.Type != nameOf[T]() {
			continue
		}
		k, err := get[T](c, ref)
		errs = append(errs, err)
		all = append(all, k)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return all, nil
}

// Input returns the first input of a step that is of type T. If the plan names none, the error is a
// [*ConstraintError].
func Input[T Context](c *Contexts, step Step) (T, error) {
	var zero T
	all, err := Inputs[T](c, step)
	if err != nil {
		return zero, err
	}
	if len(all) == 0 {
		return zero, &ConstraintError{Hard, []string{nameOf[T]()}}
	}
	return all[0].Value, nil
}

// Lookup returns a context by the name of its type, with the errors of [Get].
func (c *Contexts) Lookup(typ, key string) (Context, error) {
	k, err := c.get(state.ContextRef{Type: typ, Key: key})
	return k.Value, err
}

func (c *Contexts) get(ref state.ContextRef) (k Keyed[Context], err error) {
	typ, err := c.m.Types.find(ref.Type)
	if err != nil {
		return k, err
	}
	e, ok := c.data.Lookup(ref.Type, ref.Key)
	if !ok {
		return k, &NotFoundError{ref, c.data.Keys(ref.Type)}
	}
	d := c.cache[ref]
	if d.v == nil || d.fields != e.Fields {
		d.fields = e.Fields
		if d.v, err = typ.decode(e.Fields); err != nil {
			return k, &CorruptError{ref, err}
		}
		c.cache[ref] = d
	}
	return Keyed[Context]{ref, d.v, e.Meta}, nil
}

// Store stores v under the context key of a step, as [StateManager.StoreOutput] does. Later reads
// return v itself.
func (c *Contexts) Store(step Step, v Context) error {
	if err := c.m.StoreOutput(c.s, step, v); err != nil {
		return err
	}
	ref := state.ContextRef{Type: v.ContextType(), Key: step.ContextKey}
	e, _ := c.data.Lookup(ref.Type, ref.Key)
	c.cache[ref] = decoded{e.Fields, v}
	return nil
}

// Raw returns the stored form of the contexts.
func (c *Contexts) Raw() state.ContextData { return *c.data }

// Refs returns references to all contexts, in order of type and key.
func (c *Contexts) Refs() (refs InputList) {
	for ref := range c.data.All() {
		refs = append(refs, ref)
	}
	return refs
}

// Field returns one field of a context by its path, such as "pvs.0". It decodes no other field, and
// the type need not be registered. The error is a [*NotFoundError] or wraps ErrPath.
func (c *Contexts) Field(ref state.ContextRef, path string) (gjson.Result, error) {
	e, ok := c.data.Lookup(ref.Type, ref.Key)
	if !ok {
		return gjson.Result{}, &NotFoundError{ref, c.data.Keys(ref.Type)}
	}
	r := gjson.Get(e.Fields, path)
	if !r.Exists() {
		return r, fmt.Errorf("%w: %s: %q", ErrPath, ref, path)
	}
	return r, nil
}
