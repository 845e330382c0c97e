package record_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrun/weft/state"
	"github.com/weftrun/weft/state/record"
)

func TestType_HasATextForm(t *testing.T) {
	source := mustType("object{url: string, title?: string}", nil)
	named := map[string]record.Type{"Source": source}
	for _, text := range []string{
		"string", "int", "number", "bool", "any", "list<string>", "map<list<int>>", "list<blob>", "Source", "list<Source>",
		"object{}", "object{url: string, title?: string, by: object{name: string}}",
	} {
		got, err := record.ParseType(text, named)
		if err != nil || got.String() != text {
			t.Errorf("ParseType(%q).String(): got %q, %v", text, got, err)
		}
	}
	if got := mustType(" list < map<Source>\n> ", named).String(); got != "list<map<Source>>" {
		t.Errorf("spaces do not matter; got %q", got)
	}
}

func TestType_TextMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                            `want a type, got ""`,
		"strng":                       `unknown type "strng"; the types are any, bool, int, number, string, blob, list<T>, map<T>, Source`,
		"list":                        `want "<", got "": write list<T>`,
		"list<int":                    `want ">", got ""`,
		"list<int>>":                  `unexpected ">" at the end`,
		"int?":                        `unexpected "?" at the end`,
		"object{a int}":               `want ":", got "int"`,
		"object{a: int, a: int}":      "the member is declared twice",
		"object{: int}":               `want ":", got "int"`,
		strings.Repeat("list<", 1000): "nested deeper than 32 levels",
	} {
		_, err := record.ParseType(text, map[string]record.Type{"Source": {}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want it to say %s", text, err, want)
		}
	}
}

func TestObject_ReportsEveryMistake(t *testing.T) {
	_, err := record.ObjectType(
		record.Member{Name: "a", Type: mustType("int", nil), Default: json.RawMessage(`"x"`)},
		record.Member{Name: "b"}, record.Member{Name: "b"}, record.Member{Name: ""},
	)
	var se *state.SchemaError
	if !errors.As(err, &se) || len(se.Mistakes) != 3 {
		t.Errorf("got %v, want 3 mistakes", err)
	}
}

func TestConvert_Normalises(t *testing.T) {
	object, err := record.ObjectType(
		record.Member{Name: "n", Type: mustType("int", nil), Default: json.RawMessage("9007199254740993")},
		record.Member{Name: "s", Type: mustType("string", nil), Optional: true},
		record.Member{Name: "x", Optional: true},
	)
	if err != nil {
		t.Fatal(err)
	}
	type level string
	tests := []struct {
		typ  record.Type
		in   any
		want any
	}{
		{mustType("int", nil), uint8(3), int64(3)},
		{mustType("int", nil), 3.0, int64(3)},
		{mustType("int", nil), json.Number("9007199254740993"), int64(9007199254740993)},
		{mustType("number", nil), 3, 3.0},
		{mustType("string", nil), level("x"), "x"},
		{mustType("list<number>", nil), []int{1}, []any{1.0}},
		{mustType("any", nil), map[string][]float32{"a": {0.5}}, map[string]any{"a": []any{0.5}}},
		{mustType("any", nil), json.RawMessage(`[1,1.0]`), []any{int64(1), 1.0}},
		{object, map[string]any{}, map[string]any{"n": int64(9007199254740993)}},
		{object, map[string]any{"n": nil, "s": nil, "x": nil}, map[string]any{"n": int64(9007199254740993), "x": nil}},
		{object, struct {
			S string `json:"s"`
		}{"v"}, map[string]any{"n": int64(9007199254740993), "s": "v"}},
	}
	for _, tt := range tests {
		got, err := tt.typ.Convert(tt.in)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s from %#v: got %#v, %v, want %#v", tt.typ, tt.in, got, err, tt.want)
		}
	}
}

func TestConvert_Refuses(t *testing.T) {
	loop := []any{nil}
	loop[0] = loop
	tests := []struct {
		typ, want string
		in        any
	}{
		{"int", "want int, got number 9.223372036854776e+18", uint64(1 << 63)},
		{"int", "want int, got number 2.5", json.Number("2.5")},
		{"number", "the number 1e999 is out of range", json.Number("1e999")},
		{"bool", "want bool, got string", "true"},
		{"string", "want string, got null", nil},
		{"list<list<int>>", "[1][0]: want int, got object", []any{[]any{}, []any{map[string]any{}}}},
		{"any", "nested deeper than 500 levels", loop},
		{"any", "a func() has no JSON form: json: unsupported type: func()", func() {}},
	}
	for _, tt := range tests {
		_, err := mustType(tt.typ, nil).Convert(tt.in)
		var te *record.TypeError
		if !errors.As(err, &te) || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.typ, err, tt.want)
		}
	}
}

func TestConvert_SharesNothing(t *testing.T) {
	in := map[string]any{"list": []any{"a"}}
	out, err := record.Type{}.Convert(in)
	if err != nil {
		t.Fatal(err)
	}
	in["list"].([]any)[0] = "changed"
	if got := out.(map[string]any)["list"].([]any)[0]; got != "a" {
		t.Errorf("got %v: the result changed with what it was made from", got)
	}
}

// A value that contains itself twice has exponentially many paths to the depth limit.
func TestConvert_RefusesWhatContainsItselfManyTimes(t *testing.T) {
	m, l := map[string]any{}, make([]any, 2)
	for _, k := range []string{"a", "b", "c"} {
		m[k] = m
	}
	l[0], l[1] = l, m
	m["l"] = l
	for typ, in := range map[string]any{"any": m, "list<any>": l, "map<any>": m, "list<map<any>>": []any{m}} {
		_, err := mustType(typ, nil).Convert(in)
		var te *record.TypeError
		if !errors.As(err, &te) || !strings.HasSuffix(err.Error(), "nested deeper than 500 levels") {
			t.Errorf("%s: got %v, want that it is too deep", typ, err)
		}
	}
}

// nest puts v into so many lists and maps in turns.
func nest(v any, levels int) any {
	for i := range levels {
		if i%2 == 0 {
			v = []any{v}
		} else {
			v = map[string]any{"k": v}
		}
	}
	return v
}

func TestConvert_DepthUpToTheBound(t *testing.T) {
	for _, v := range []any{"s", int64(1), true, nil, 1, 1.5, []any{}, map[string]any{}} {
		if _, err := (record.Type{}).Convert(nest(v, 500)); err != nil {
			t.Errorf("%#v within 500 others: %v", v, err)
		}
		if _, err := (record.Type{}).Convert(nest(v, 501)); err == nil {
			t.Errorf("%#v within 501 others: got no error", v)
		}
	}
}

func TestMap_SmallestKeyIsNamedFirst(t *testing.T) {
	bad := func() {}
	for want, in := range map[string]any{
		"a: a func()":    map[string]any{"a": bad, "b": []any{bad}, "c": bad},
		"a[0]: a func()": map[string]any{"a": []any{bad}, "b": bad, "c": []any{bad}, "0": int64(1)},
		"b.x: a func()":  map[string]any{"a": []any{}, "b": map[string]any{"x": bad, "y": bad}, "c": bad},
	} {
		for range 10 { // a map is walked in any order
			if _, err := (record.Type{}).Convert(in); err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("got %v, want %s", err, want)
			}
		}
	}
}

// FuzzType reads any text as a type and any JSON as a value of it: neither may
// panic, a type reads its own text, and a converted value stays as it is.
func FuzzType(f *testing.F) {
	f.Add("list<object{a: int, b?: any}>", []byte(`[{"a":1,"b":{}}]`))
	f.Add("map<number>", []byte(`{"a":1e3}`))
	f.Add("object{a: object{}}", []byte(`{"a":null}`))
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		typ, err := record.ParseType(text, nil)
		if err != nil {
			return
		}
		if again, err := record.ParseType(typ.String(), nil); err != nil || again.String() != typ.String() {
			t.Fatalf("%q: got %q, %v", typ, again, err)
		}
		var v any
		if json.Unmarshal(data, &v) != nil {
			return
		}
		once, err := typ.Convert(v)
		if err != nil {
			return
		}
		if twice, err := typ.Convert(once); err != nil || !reflect.DeepEqual(once, twice) {
			t.Fatalf("%s: got %#v, %v from %#v", typ, twice, err, once)
		}
	})
}

func TestConvert_ABlobHasAHash(t *testing.T) {
	hash := strings.Repeat("0a", 32)
	for name, ok := range map[string]bool{hash: true, "abc": false, "": false, strings.ToUpper(hash): false, hash + "0": false} {
		_, err := mustType("blob", nil).Convert(map[string]any{"$blob": name, "size": 3})
		if (err == nil) != ok {
			t.Errorf("%q: got %v, want that it fits: %v", name, err, ok)
		}
	}
}
