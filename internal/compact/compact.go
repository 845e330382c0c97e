package compact

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Appender is a value that appends its own JSON, as its MarshalJSON followed by json.Marshal would have it:
// without spaces, and with <, > and & escaped.
type Appender interface {
	AppendJSON(b []byte) ([]byte, error) // nil with an error
}

var appender = reflect.TypeFor[Appender]()

// Marshal is json.Marshal. An [Appender], a slice of them and a map of them by strings are written in one pass.
func Marshal(v any) ([]byte, error) {
	if a, ok := v.(Appender); ok && appends(reflect.TypeOf(v)) {
		return a.AppendJSON(nil)
	}
	r := reflect.ValueOf(v)
	switch k := r.Kind(); {
	case k != reflect.Slice && k != reflect.Map || !appends(r.Type().Elem()) || r.IsNil():
	case k == reflect.Slice:
		return list(r)
	case r.Type().Key() == reflect.TypeFor[string]():
		return object(r)
	}
	return json.Marshal(v)
}

// appends reports whether values of a type are Appenders; a pointer may be nil.
func appends(t reflect.Type) bool { return t.Kind() == reflect.Struct && t.Implements(appender) }

func list(r reflect.Value) (b []byte, err error) {
	b = append(b, '[')
	for i := range r.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = r.Index(i).Addr().Interface().(Appender).AppendJSON(b); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func object(r reflect.Value) (b []byte, err error) {
	keys := r.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(String(b, k.String()), ':')
		if b, err = r.MapIndex(k).Interface().(Appender).AppendJSON(b); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// String appends s.
func String(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			data, _ := json.Marshal(s) // every string has a form
			return append(b, data...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
