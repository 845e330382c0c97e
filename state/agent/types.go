package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/validtext"
	"github.com/weftrun/weft/state"
)

// Context is a typed piece of knowledge: a struct with a JSON form, or a pointer to one. Its
// exported fields are stored. A type may also implement [Summarizer] and [Describer].
type Context interface {
	// ContextType returns the name of the type, such as PV_ADDRESSES. It is the same for all
	// values, including the zero value.
	ContextType() string
}

// Summarizer is a [Context] that provides its own digest for people and models. [Digest] digests
// the others.
type Summarizer interface {
	Context
	Summary(key string) any
}

// Describer is a [Context] that describes the use of its data. For the others a planner sees the
// fields.
type Describer interface {
	Context
	Access(key string) Access
}

// Access describes how to use the data of a context.
type Access struct {
	Structure string `json:"data_structure,omitempty"`
	Pattern   string `json:"access_pattern,omitempty"`
	Example   string `json:"example_usage,omitempty"`
}

// Type is the registration of a type of context: see [TypeOf].
type Type struct {
	name   string
	of     reflect.Type
	decode func(fields string) (Context, error)
	err    error // why the type cannot be registered, or nil
}

// TypeOf returns the registration of T. [NewTypes] reports its errors.
func TypeOf[T Context]() Type {
	t := Type{name: nameOf[T](), of: reflect.TypeFor[T]()}
	plain := t.of
	if plain.Kind() == reflect.Pointer {
		plain = plain.Elem()
	}
	if plain.Kind() != reflect.Struct {
		t.err = fmt.Errorf("agent: %s: %s is not a struct", t.name, t.of)
	} else if _, err := state.SchemaOf[struct{ C state.Value[T] }](); err != nil {
		t.err = fmt.Errorf("agent: %s: %w", t.name, err)
	}
	t.decode = func(fields string) (Context, error) {
		var v T
		err := json.Unmarshal([]byte(fields), &v)
		return v, err
	}
	return t
}

// Name returns the name of the type.
func (t Type) Name() string { return t.name }

// nameOf returns the name of a type. For a pointer type it calls the method on a pointer to a zero
// value, because the method may have a value receiver.
func nameOf[T Context]() string {
	var zero T
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Pointer {
		zero, _ = reflect.New(t.Elem()).Interface().(T)
	} else if t.Kind() == reflect.Interface {
		return t.String()
	}
	return zero.ContextType()
}

// Types is a registry of types of context. It is immutable and safe for concurrent use. A nil
// *Types is empty.
type Types struct {
	byName map[string]Type
	names  []string
}

// NewTypes returns a registry. The error joins all mistakes: a name that is empty, contains a slash
// or is used twice, or a type that is not a struct or cannot be stored.
func NewTypes(all ...Type) (*Types, error) {
	t := &Types{byName: map[string]Type{}}
	var errs []error
	for _, typ := range all {
		other, taken := t.byName[typ.name]
		switch {
		case typ.err != nil:
			errs = append(errs, typ.err)
		case typ.name == "" || strings.Contains(typ.name, "/"):
			errs = append(errs, fmt.Errorf("agent: %v: the name %q: %w", typ.of, typ.name, state.ErrContextName))
		case taken:
			errs = append(errs, fmt.Errorf("agent: the name %q is taken twice, by %s and %s", typ.name, other.of, typ.of))
		}
		t.byName[typ.name] = typ
	}
	for name := range t.byName {
		t.names = append(t.names, name)
	}
	slices.Sort(t.names)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return t, nil
}

// Names returns the names of the types, sorted.
func (t *Types) Names() []string {
	if t == nil {
		return nil
	}
	return slices.Clone(t.names)
}

// Has reports whether a type is registered.
func (t *Types) Has(name string) bool {
	if t == nil {
		return false
	}
	_, ok := t.byName[name]
	return ok
}

// find returns a registered type.
func (t *Types) find(name string) (Type, error) {
	if !t.Has(name) {
		return Type{}, &UnknownTypeError{name, t.Names()}
	}
	return t.byName[name], nil
}

// check returns an error unless the type of v is registered under name.
func (t *Types) check(name string, v Context) error {
	typ, err := t.find(name)
	if err != nil {
		return err
	}
	if got := reflect.TypeOf(v); got != typ.of {
		return fmt.Errorf("%w: %q is %s, not %v", ErrWrongType, name, typ.of, got)
	}
	return nil
}

// fieldsOf returns the stored form of v.
func fieldsOf(v Context) (string, error) {
	if r := reflect.ValueOf(v); !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil() {
		return "", fmt.Errorf("%w: nil", ErrWrongType)
	}
	data, err := validtext.Marshal(v)
	return string(data), err
}
