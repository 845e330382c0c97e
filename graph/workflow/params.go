package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/internal/exprs"
)

var secretType = reflect.TypeFor[Secret]()

// takes reports what of t cannot become a Go value of type want. what names the
// parameter.
func (t *template) takes(want reflect.Type, what string) {
	for want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	if want == reflect.TypeFor[TypeName]() && t.constant() {
		t.src.typ(t.at, t.src.types)
		return
	}
	if want == reflect.TypeFor[Form]() {
		t.refuseSecrets(what)
		return // see checker.nested
	}
	secret := want == secretType || want.Kind() == reflect.Slice && want.Elem() == secretType
	switch {
	case want == secretType:
		want = reflect.TypeFor[string]()
	case !secret && len(t.secrets) > 0:
		t.refuseSecrets(what)
		return
	}
	custom := reflect.PointerTo(want).Implements(jsonUnmarshaler) || reflect.PointerTo(want).Implements(textUnmarshaler)
	switch {
	case (!custom || hasShortForm(want)) && want.Kind() == reflect.Struct && t.keys != nil:
		t.takesStruct(want, what)
	case custom && !t.constant(), want.Kind() == reflect.Interface:
		if !secret {
			t.refuseSecrets(what)
		}
		if isObject(want) && !mayBe(t.kind(), want) {
			t.src.fail(t.at, "WF503", "%s: want %s, got %s", what, goWords(want), t.kind())
		}
	case !custom && want.Kind() == reflect.Map && t.keys != nil,
		!custom && want.Kind() == reflect.Slice && t.at.Kind == yaml.SequenceNode:
		for i, item := range t.items {
			item.takes(want.Elem(), t.inside(what, i))
		}
	case t.constant():
		v, err := t.eval(nil)
		if err == nil {
			err = into(reflect.New(want).Interface(), v)
		}
		if err != nil {
			code := Code("WF503")
			if errors.As(err, new(*DurationError)) {
				code = "WF107"
			}
			t.src.fail(t.at, code, "%s: %v", what, describeJSON(err, want, t.at))
		}
	case !mayBe(t.kind(), want):
		t.src.fail(t.at, "WF503", "%s: want %s, got %s", what, goWords(want), t.kind())
	}
}

// isObject reports whether a type of parameters describes itself as an object.
func isObject(t reflect.Type) bool {
	d, ok := reflect.Zero(t).Interface().(Described)
	return ok && t.Kind() == reflect.Struct && d.ParamSchema()["type"] == "object"
}

// hasShortForm reports whether a struct describes itself as an object or another value. The object
// has its json fields.
func hasShortForm(t reflect.Type) bool {
	d, ok := reflect.Zero(t).Interface().(Described)
	if !ok {
		return false
	}
	types, _ := d.ParamSchema()["type"].([]string)
	return slices.Contains(types, "object")
}

// A DurationError is returned by UnmarshalJSON of a parameter that is a time such as 30s. A file
// has it as WF107.
type DurationError struct{ What string }

func (e *DurationError) Error() string { return e.What }

func (t *template) inside(what string, i int) string {
	if t.keys != nil {
		return what + "." + t.keys[i].Value
	}
	return fmt.Sprintf("%s[%d]", what, i)
}

// takesStruct checks keys against the json fields of a struct.
func (t *template) takesStruct(want reflect.Type, what string) {
	params := paramsOf(want)
	var names []string
	known := map[string]param{}
	for _, p := range params {
		names, known[p.name] = append(names, p.name), p
	}
	given := map[string]bool{}
	for i, k := range t.keys {
		p, ok := known[k.Value]
		given[k.Value] = true
		if !ok {
			hint := "it takes none"
			if len(names) > 0 {
				hint = "known are " + strings.Join(names, ", ")
			}
			t.src.unknown(k, "WF501", hint, "unknown parameter %q of %s", what, names)
			continue
		}
		t.items[i].takes(p.typ, what+"."+p.name)
	}
	for _, p := range params {
		if p.required && !given[p.name] {
			t.src.fail(t.at, "WF502", "%s needs %s", what, p.name)
		}
	}
}

// into decodes a plain value strictly into a Go value.
func into(target, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	return dec.Decode(target)
}

// misfit returns the error of a node for a value of t that cannot become one of type want: err, at
// the parameter that does not fit.
func (t *template) misfit(v any, want reflect.Type, what string, err error) *RunError {
	for want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	params := map[string]reflect.Type{}
	if want.Kind() == reflect.Struct {
		for _, p := range paramsOf(want) {
			params[p.name] = p.typ
		}
	}
	list, _ := v.([]any)
	object, _ := v.(map[string]any)
	for i, item := range t.items {
		var inner any
		var typ reflect.Type
		switch k := want.Kind(); {
		case t.keys == nil && i < len(list) && k == reflect.Slice:
			inner, typ = list[i], want.Elem()
		case t.keys != nil && k == reflect.Map:
			inner, typ = object[t.keys[i].Value], want.Elem()
		case t.keys != nil:
			inner, typ = object[t.keys[i].Value], params[t.keys[i].Value]
		}
		if typ == nil {
			continue
		}
		if err := into(reflect.New(typ).Interface(), inner); err != nil {
			return item.misfit(inner, typ, t.inside(what, i), err)
		}
	}
	return &RunError{t.src.at(t.at), what + ": " + paramError(err)}
}

// paramError describes what a failure of package json means for a parameter.
func paramError(err error) string {
	var te *json.UnmarshalTypeError
	switch {
	case errors.As(err, &te) && te.Field == "":
		return fmt.Sprintf("want %s, got %s", goWords(te.Type), te.Value)
	case te != nil:
		return fmt.Sprintf("parameter %s: want %s, got %s", te.Field, goWords(te.Type), te.Value)
	}
	return err.Error()
}

// describeJSON describes what a failure of package json means for a file.
func describeJSON(err error, want reflect.Type, at *yaml.Node) error {
	if _, ok := err.(*json.UnmarshalTypeError); !ok {
		return err
	}
	if want.Kind() == reflect.String && at.Kind == yaml.ScalarNode {
		return fmt.Errorf("want text, not %s%s", describe(at), quoteIt(at))
	}
	return fmt.Errorf("want %s, not %s", goWords(want), describe(at))
}

// goWords names a Go type for people who do not write Go.
func goWords(t reflect.Type) string {
	switch k := t.Kind(); {
	case k == reflect.String, t == reflect.TypeFor[File](), t == reflect.TypeFor[EnvText](), t == reflect.TypeFor[TypeName]():
		return "text"
	case k == reflect.Bool:
		return "true or false"
	case k >= reflect.Int && k <= reflect.Uintptr:
		return "a whole number"
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number"
	case k == reflect.Slice || k == reflect.Array:
		return "a list"
	case k == reflect.Map || k == reflect.Struct:
		return "a mapping"
	}
	return t.String()
}

// mayBe reports whether an expression of this kind can become a value of type t.
func mayBe(k exprs.Kind, t reflect.Type) bool {
	switch g := t.Kind(); k {
	case exprs.BoolKind:
		return g == reflect.Bool
	case exprs.StringKind:
		return g == reflect.String || g == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	case exprs.IntKind:
		return g >= reflect.Int && g <= reflect.Float64
	case exprs.NumberKind:
		return g >= reflect.Int && g <= reflect.Float64
	case exprs.ListKind:
		return g == reflect.Slice || g == reflect.Array
	case exprs.MapKind:
		return g == reflect.Map || g == reflect.Struct
	}
	return true
}
