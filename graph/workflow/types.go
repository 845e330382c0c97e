package workflow

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/state/record"
)

// exprType returns the type that a value of type t has in expressions.
func exprType(t record.Type) exprs.Type {
	switch t.Base() {
	case "bool":
		return exprs.Bool
	case "int":
		return exprs.Int
	case "number":
		return exprs.Number
	case "string":
		return exprs.String
	case "list":
		return exprs.List(exprType(t.Elem()))
	case "map":
		return exprs.Map(exprType(t.Elem()))
	case "object":
		fields := map[string]exprs.Type{}
		for _, m := range t.Members() {
			fields[m.Name] = exprType(m.Type)
		}
		return exprs.Object(fields)
	}
	return exprs.Any
}

var (
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// exprTypeOf returns the type that the JSON form of a Go type has in expressions. open are the
// types around t: in a recursive type, the inner occurrence is any.
func exprTypeOf(t reflect.Type, open ...reflect.Type) exprs.Type {
	switch {
	case t == nil || slices.Contains(open, t) || t.Implements(jsonMarshaler) || reflect.PointerTo(t).Implements(jsonMarshaler):
		return exprs.Any
	case t.Implements(textMarshaler) || reflect.PointerTo(t).Implements(textMarshaler):
		return exprs.String
	}
	open = append(slices.Clip(open), t)
	switch t.Kind() {
	case reflect.Bool:
		return exprs.Bool
	case reflect.String:
		return exprs.String
	case reflect.Float32, reflect.Float64:
		return exprs.Number
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return exprs.Int
	case reflect.Pointer:
		return exprTypeOf(t.Elem(), open...)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return exprs.String
		}
		return exprs.List(exprTypeOf(t.Elem(), open...))
	case reflect.Map:
		return exprs.Map(exprTypeOf(t.Elem(), open...))
	case reflect.Struct:
		fields := map[string]exprs.Type{}
		for _, p := range paramsOf(t) {
			fields[p.name] = exprTypeOf(p.typ, open...)
		}
		return exprs.Object(fields)
	}
	return exprs.Any
}

// param is one field of the JSON form of a struct.
type param struct {
	name     string
	typ      reflect.Type
	required bool
}

// paramsOf returns the fields of the JSON form of a struct, with those of embedded structs.
func paramsOf(t reflect.Type) (all []param) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || name == "-" || f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			continue
		case name == "":
			name = f.Name
		}
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		all = append(all, param{name, f.Type, !optional})
	}
	return all
}
