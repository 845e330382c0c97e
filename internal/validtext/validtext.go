package validtext

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// Check reports whether all text that JSON would hold of v is valid UTF-8. It checks the keys of
// maps, exported fields, and the output of a json.Marshaler or encoding.TextMarshaler.
//
// The path leads to the first invalid text, such as .name, [3] or ["key"]. It is "" if v itself is
// that text. The order of the entries of a map is unspecified. Check visits a value that contains
// itself once, and ignores levels deeper than 10,000.
func Check(v any) (path string, ok bool) { return new(walk).dynamic(v, 0) }

// CheckKey reports whether a key of a map is valid UTF-8. JSON ignores the methods of a key whose
// kind is string.
func CheckKey[K any](k *K) bool {
	if s, ok := any(k).(*string); ok {
		return utf8.ValidString(*s)
	}
	if v := reflect.ValueOf(k).Elem(); v.Kind() == reflect.String {
		return utf8.ValidString(v.String())
	}
	_, ok := CheckOf(k)
	return ok
}

// CheckOf is Check without the conversion of the value to an interface.
func CheckOf[T any](v *T) (path string, ok bool) {
	switch s := any(v).(type) {
	case *string:
		return "", utf8.ValidString(*s)
	case *[]string:
		for i, e := range *s {
			if !utf8.ValidString(e) {
				return fmt.Sprintf("[%d]", i), false
			}
		}
		return "", true
	case *any:
		return Check(*s)
	}
	t := typeOf(reflect.TypeFor[T]())
	if t.form == none {
		return "", true
	}
	return new(walk).value(t, reflect.ValueOf(v).Elem(), false, 0)
}

// Possible reports whether values of a type can hold text that is not valid UTF-8.
func Possible(t reflect.Type) bool { return typeOf(t).form != none }

// Marshal is json.Marshal, but text that is not valid UTF-8 is an error that gives its path.
func Marshal(v any) ([]byte, error) {
	path, ok := Check(v)
	switch {
	case !ok && path == "":
		return nil, Err
	case !ok:
		return nil, fmt.Errorf("%s: %w", path, Err)
	}
	return json.Marshal(v)
}

// Key returns the part of a path for an entry of a map, such as ["key"]. It cuts long keys.
func Key(k string) string {
	const longest = 100 // bytes
	if len(k) > longest {
		return "[" + strconv.Quote(k[:longest]) + "…]"
	}
	return "[" + strconv.Quote(k) + "]"
}

const (
	deepest = 10_000  // levels
	simple  = 1000    // levels without a search for values that contain themselves
	few     = 1 << 20 // values without that search
)

// walk is one pass over a value.
type walk struct {
	count int
	seen  map[reference]bool // nil while the value is neither deep nor large
}

// reference identifies a value that may contain itself.
type reference struct {
	pointer uintptr
	length  int
	typ     reflect.Type
}

// searches counts a value, and reports whether the pass is deep or large enough to look for values
// that contain themselves.
func (w *walk) searches(depth int) bool {
	w.count++
	return w.count >= few || depth >= simple
}

// known reports whether the pass has visited v before.
func (w *walk) known(v reflect.Value) bool {
	r := reference{pointer: v.Pointer(), typ: v.Type()}
	if v.Kind() == reflect.Slice {
		r.length = v.Len()
	}
	if w.seen == nil {
		w.seen = map[reference]bool{}
	}
	known := w.seen[r]
	w.seen[r] = true
	return known
}

// dynamic checks a value whose type is not known in advance.
func (w *walk) dynamic(v any, depth int) (path string, ok bool) {
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
		return "", true
	case string:
		return "", utf8.ValidString(v)
	case []any:
		if len(v) == 0 || depth > deepest || w.searches(depth) && w.known(reflect.ValueOf(v)) {
			return "", true
		}
		for i, e := range v {
			if path, ok := w.dynamic(e, depth+1); !ok {
				return fmt.Sprintf("[%d]%s", i, path), false
			}
		}
		return "", true
	case map[string]any:
		if len(v) == 0 || depth > deepest || w.searches(depth) && w.known(reflect.ValueOf(v)) {
			return "", true
		}
		for k, e := range v {
			if !utf8.ValidString(k) {
				return Key(k), false
			}
			if path, ok := w.dynamic(e, depth+1); !ok {
				return Key(k) + path, false
			}
		}
		return "", true
	}
	r := reflect.ValueOf(v)
	return w.value(typeOf(r.Type()), r, false, depth)
}

// value checks a value of a type. addressable reports whether the encoder can address the value. If
// it cannot, it does not call the methods of the pointer type.
func (w *walk) value(t *typ, v reflect.Value, addressable bool, depth int) (path string, ok bool) {
	if t.form == none || depth > deepest {
		return "", true
	}
	if t.pointerWrites && addressable && v.CanAddr() && v.CanInterface() {
		return written(v.Addr().Interface())
	}
	switch t.form {
	case text:
		return "", utf8.ValidString(v.String())
	case raw:
		return "", utf8.Valid(v.Bytes())
	case writes:
		if v.Kind() == reflect.Pointer && v.IsNil() || !v.CanInterface() {
			return "", true
		}
		return written(v.Interface())
	case pointer:
		if v.IsNil() || w.searches(depth) && w.known(v) {
			return "", true
		}
		return w.value(t.elem, v.Elem(), true, depth+1)
	case dynamic:
		if v.IsNil() {
			return "", true
		}
		if v.CanInterface() {
			return w.dynamic(v.Interface(), depth+1)
		}
		return w.value(typeOf(v.Elem().Type()), v.Elem(), false, depth+1)
	case list:
		if v.Kind() == reflect.Slice && (v.Len() == 0 || w.searches(depth) && w.known(v)) {
			return "", true
		}
		for i := range v.Len() {
			if path, ok := w.value(t.elem, v.Index(i), addressable || v.Kind() == reflect.Slice, depth+1); !ok {
				return fmt.Sprintf("[%d]%s", i, path), false
			}
		}
	case entries:
		if v.Len() == 0 || w.searches(depth) && w.known(v) {
			return "", true
		}
		for i := v.MapRange(); i.Next(); {
			if _, ok := w.value(t.key, i.Key(), false, depth+1); !ok {
				return Key(nameOf(i.Key())), false
			}
			if path, ok := w.value(t.elem, i.Value(), false, depth+1); !ok {
				return Key(nameOf(i.Key())) + path, false
			}
		}
	case members:
		for _, m := range t.members {
			if path, ok := w.value(m.typ, v.Field(m.index), addressable, depth+1); !ok {
				return m.name + path, false
			}
		}
	}
	return "", true
}

// Err is wrapped by the errors of Marshal, and of a json.Marshaler that rejects invalid UTF-8.
var Err = errors.New("text is not UTF-8, and JSON would change it")

// written checks the output of the value's own marshaler. It leaves errors other than Err to the
// encoder.
func written(v any) (path string, ok bool) {
	var data []byte
	var err error
	switch v := v.(type) {
	case json.Marshaler:
		data, err = v.MarshalJSON()
	case encoding.TextMarshaler:
		data, err = v.MarshalText()
	}
	if err != nil {
		return "", !errors.Is(err, Err)
	}
	return "", utf8.Valid(data)
}

// nameOf returns a key of a map as JSON writes it, or an approximation.
func nameOf(k reflect.Value) string {
	if k.Kind() == reflect.String {
		return k.String()
	}
	if m, ok := k.Interface().(encoding.TextMarshaler); ok {
		data, _ := m.MarshalText()
		return string(data)
	}
	return fmt.Sprint(k)
}
