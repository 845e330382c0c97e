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

// Check looks at what JSON would hold of a value: also at keys of maps, at exported fields, and at
// what a json.Marshaler or encoding.TextMarshaler writes. The path leads to the first text that is
// not UTF-8, such as .name, [3] or ["key"]; it is "" where v is that text. Keys of maps are
// looked at in no order. A value that contains itself is looked at once, and what is nested
// deeper than 10,000 levels is not looked at.
func Check(v any) (path string, ok bool) { return new(walk).dynamic(v, 0) }

// CheckKey reports whether a key of a map is UTF-8. A key that is a string has no other text in JSON,
// whatever its methods write.
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

// CheckOf is Check for a value that need not be put into an interface.
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

// Possible reports whether values of a type can hold text that JSON would change.
func Possible(t reflect.Type) bool { return typeOf(t).form != none }

// Marshal is json.Marshal for a value that JSON must not change: text that is not UTF-8 is an
// error that says where it is.
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

// Key returns the step of a path that leads to an entry of a map.
func Key(k string) string {
	const longest = 100 // bytes
	if len(k) > longest {
		return "[" + strconv.Quote(k[:longest]) + "…]"
	}
	return "[" + strconv.Quote(k) + "]"
}

const (
	deepest = 10_000  // levels
	simple  = 1000    // levels in which a value is not looked for in what was seen
	few     = 1 << 20 // values among which it is not either
)

// walk is one pass over a value.
type walk struct {
	count int
	seen  map[reference]bool // nil while the value is neither deep nor large
}

// reference is what may contain itself.
type reference struct {
	pointer uintptr
	length  int
	typ     reflect.Type
}

// again reports whether a value that may contain itself has been looked at.
func (w *walk) again(v reflect.Value, depth int) bool {
	if w.count++; w.count < few && depth < simple {
		return false
	}
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

// dynamic looks at a value whose type is not known before.
func (w *walk) dynamic(v any, depth int) (path string, ok bool) {
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
		return "", true
	case string:
		return "", utf8.ValidString(v)
	case []any:
		if len(v) == 0 || depth > deepest || w.again(reflect.ValueOf(v), depth) {
			return "", true
		}
		for i, e := range v {
			if path, ok := w.dynamic(e, depth+1); !ok {
				return fmt.Sprintf("[%d]%s", i, path), false
			}
		}
		return "", true
	case map[string]any:
		if len(v) == 0 || depth > deepest || w.again(reflect.ValueOf(v), depth) {
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

// value looks at a value of a type. addressable is whether it is so for the encoder, which asks
// methods of pointers only then.
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
		if v.IsNil() || w.again(v, depth) {
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
		if v.Kind() == reflect.Slice && (v.Len() == 0 || w.again(v, depth)) {
			return "", true
		}
		for i := range v.Len() {
			if path, ok := w.value(t.elem, v.Index(i), addressable || v.Kind() == reflect.Slice, depth+1); !ok {
				return fmt.Sprintf("[%d]%s", i, path), false
			}
		}
	case entries:
		if v.Len() == 0 || w.again(v, depth) {
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

// Err is what the errors of a json.Marshaler are that refuses text which is not UTF-8.
var Err = errors.New("text is not UTF-8, and JSON would change it")

// written looks at what a value writes of itself. Another error of it than Err is for the encoder to
// report.
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

// nameOf returns the key of a map as JSON has it, or what comes near.
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
