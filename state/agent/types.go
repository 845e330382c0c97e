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

// Context is a typed piece of knowledge: a struct that has a JSON form, or a pointer to one. Its
// exported fields are what is stored. A type may also be a [Summarizer] and a [Describer].
type Context interface {
	// ContextType names the type, such as PV_ADDRESSES. It is the same for all values,
	// the zero value included.
	ContextType() string
}

// Summarizer is a [Context] that makes its own digest for people and models. The others are
// digested by [Digest].
type Summarizer interface {
	Context
	Summary(key string) any
}

// Describer is a [Context] that says how its data are used. Of the others a planner sees the fields.
type Describer interface {
	Context
	Access(key string) Access
}

// Access says how the data of a context are used.
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
	faulty error
}

// TypeOf returns the registration of T.
func TypeOf[T Context]() Type {
	t := Type{name: nameOf[T](), of: reflect.TypeFor[T]()}
	plain := t.of
	if plain.Kind() == reflect.Pointer {
		plain = plain.Elem()
	}
	if plain.Kind() != reflect.Struct {
		t.faulty = fmt.Errorf("agent: %s: %s is not a struct", t.name, t.of)
	} else if _, err := state.SchemaOf[struct{ C state.Value[T] }](); err != nil {
		t.faulty = fmt.Errorf("agent: %s: %w", t.name, err)
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

// nameOf returns the name of a type. A pointer is asked through a value, for its method may
// have been written for values.
func nameOf[T Context]() string {
	var zero T
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Pointer {
		zero, _ = reflect.New(t.Elem()).Interface().(T)
	} else if t.Kind() == reflect.Interface {
		return t.String()
	}
	return zero.ContextType()
}

// Types is a registry of types of context. It does not change and is safe for concurrent
// use. A nil *Types knows none.
type Types struct {
	byName map[string]Type
	names  []string
}

// NewTypes returns a registry. Its error joins every mistake: a name that is missing, holds
// a slash or is taken twice, a type that is not a struct or cannot be stored.
func NewTypes(all ...Type) (*Types, error) {
	t := &Types{byName: map[string]Type{}}
	var errs []error
	for _, typ := range all {
		other, taken := t.byName[typ.name]
		switch {
		case typ.faulty != nil:
			errs = append(errs, typ.faulty)
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

// check reports whether v is what was registered under a name.
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

// fieldsOf returns v as it is stored.
func fieldsOf(v Context) (string, error) {
	if r := reflect.ValueOf(v); !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil() {
		return "", fmt.Errorf("%w: nil", ErrWrongType)
	}
	data, err := validtext.Marshal(v)
	return string(data), err
}
