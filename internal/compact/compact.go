package compact

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// JSON is encoded JSON. It is a named type so that no other package implements [Appender] by
// accident.
type JSON []byte

// Appender is a value that appends its own JSON. The result must equal that of json.Marshal for the
// value: without spaces, and with <, > and & escaped.
type Appender interface {
	AppendJSON(b JSON) (JSON, error) // nil with an error
}

// deepest is the number of levels that this package encodes. It leaves deeper values to
// encoding/json, which also reports values that contain themselves.
const deepest = 600

var appender = reflect.TypeFor[Appender]()

// Marshal is equivalent to json.Marshal. It encodes decoded JSON values, values of type [Appender],
// slices and string maps of either, and slices of strings, in one pass.
func Marshal(v any) ([]byte, error) { return Append(nil, v, Float) }

// Append appends the JSON of v to b. It calls float to append floats.
func Append(b []byte, v any, float func([]byte, float64) ([]byte, error)) ([]byte, error) {
	return pass{float}.value(b, v, 0)
}

// pass is one pass over a value.
type pass struct {
	float func([]byte, float64) ([]byte, error)
}

func (p pass) value(b []byte, v any, depth int) ([]byte, error) {
	if depth > deepest {
		return rest(b, v)
	}
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return String(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		return p.float(b, v)
	case []any:
		if v != nil {
			return list(b, len(v), func(b []byte, i int) ([]byte, error) { return p.value(b, v[i], depth+1) })
		}
	case []string:
		if v != nil {
			return list(b, len(v), func(b []byte, i int) ([]byte, error) { return String(b, v[i]), nil })
		}
	case map[string]any:
		if v != nil {
			names := slices.AppendSeq(make([]string, 0, len(v)), maps.Keys(v))
			return object(b, names, func(b []byte, name string) ([]byte, error) { return p.value(b, v[name], depth+1) })
		}
	default:
		return p.typed(b, reflect.ValueOf(v), depth)
	}
	return append(b, "null"...), nil
}

// typed appends a value of another type.
func (p pass) typed(b []byte, r reflect.Value, depth int) ([]byte, error) {
	t, k := r.Type(), r.Kind()
	switch {
	case appends(t):
		return r.Interface().(Appender).AppendJSON(b)
	case t.Name() != "": // it may have a MarshalJSON of its own
	case k != reflect.Slice && k != reflect.Map, r.IsNil(), !appends(t.Elem()) && t.Elem() != reflect.TypeFor[map[string]any]():
	case k == reflect.Slice:
		return list(b, r.Len(), func(b []byte, i int) ([]byte, error) { return p.element(b, r.Index(i), depth+1) })
	case t.Key() == reflect.TypeFor[string]():
		var names []string
		for _, name := range r.MapKeys() {
			names = append(names, name.String())
		}
		return object(b, names, func(b []byte, name string) ([]byte, error) {
			return p.value(b, r.MapIndex(reflect.ValueOf(name)).Interface(), depth+1)
		})
	}
	return rest(b, r.Interface())
}

// appends reports whether values of a type are encoded by AppendJSON. It returns false for
// pointers, which may be nil, and for structs that embed an Appender: such a struct inherits
// AppendJSON and may have another MarshalJSON.
func appends(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || !t.Implements(appender) {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && (f.Type.Implements(appender) || reflect.PointerTo(f.Type).Implements(appender)) {
			return false
		}
	}
	return true
}

// element appends an element of a slice. It does not copy an Appender.
func (p pass) element(b []byte, r reflect.Value, depth int) ([]byte, error) {
	if r.Kind() == reflect.Struct {
		return r.Addr().Interface().(Appender).AppendJSON(b)
	}
	return p.value(b, r.Interface(), depth)
}

// rest encodes v with encoding/json. If b is empty, it returns the result without a copy.
func rest(b []byte, v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(b) == 0 {
		return data, nil
	}
	return append(b, data...), nil
}

func list(b []byte, n int, add func(b []byte, i int) ([]byte, error)) (_ []byte, err error) {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = add(b, i); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// object appends an object. It sorts names in place.
func object(b []byte, names []string, add func(b []byte, name string) ([]byte, error)) (_ []byte, err error) {
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = add(append(String(b, name), ':'), name); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// Float appends the JSON of f to b.
func Float(b []byte, f float64) ([]byte, error) { return rest(b, f) }

// String appends the JSON of s to b.
func String(b []byte, s string) []byte {
	if !plain(s) {
		data, _ := json.Marshal(s) // every string has a form
		return append(b, data...)
	}
	return append(append(append(b, '"'), s...), '"')
}

// plain reports whether s has only characters that are the same in JSON.
func plain(s string) bool {
	for len(s) >= 8 {
		if !plainWord(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56) {
			return false
		}
		s = s[8:]
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// plainWord is plain for eight characters. A subtraction sets the top bit of a byte that is below
// the subtracted one. After an exclusive or, that is a byte that equals another.
func plainWord(w uint64) bool {
	bad := w | (w - ' '*ones) // above ASCII, or a control character
	for _, c := range [...]uint64{'"' * ones, '\\' * ones, '&' * ones} {
		bad |= (w ^ c) - ones
	}
	bad |= (w&^(2*ones) ^ '<'*ones) - ones // '<' and '>' differ in one bit
	return bad&tops == 0
}

// Unmarshal is json.Unmarshal. It decodes a list of texts without escapes in one pass.
func Unmarshal(data []byte, into any) error {
	if list, ok := into.(*[]string); ok && *list == nil {
		if texts, ok := texts(data); ok {
			*list = texts
			return nil
		}
	}
	return json.Unmarshal(data, into)
}

// texts decodes a list of texts. It returns false for an empty list, for one with spaces, escapes
// or characters above ASCII, and for other JSON.
func texts(data []byte) (list []string, ok bool) {
	if len(data) < 4 || data[0] != '[' {
		return nil, false
	}
	for rest := data[1:]; len(rest) > 0 && rest[0] == '"'; {
		end := bytes.IndexByte(rest[1:], '"')
		if end < 0 {
			return nil, false
		}
		s := string(rest[1 : 1+end])
		if rest = rest[end+2:]; !plain(s) || len(rest) == 0 {
			return nil, false
		}
		list = append(list, s)
		switch {
		case rest[0] == ',':
			rest = rest[1:]
		case rest[0] == ']' && len(rest) == 1:
			return list, true
		default:
			return nil, false
		}
	}
	return nil, false
}
