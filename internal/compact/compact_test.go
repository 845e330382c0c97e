package compact_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/weftrun/weft/internal/compact"
)

// self is an Appender.
type self struct {
	s   string
	err error
}

func (v self) AppendJSON(b compact.JSON) (compact.JSON, error) {
	if v.err != nil {
		return nil, v.err
	}
	return compact.String(b, v.s), nil
}

func (v self) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil) }

// other embeds an Appender and has another MarshalJSON.
type other struct {
	self
	more int
}

func (v other) MarshalJSON() ([]byte, error) { return json.Marshal(v.more) }

type pointing struct{ *self }

func (v pointing) MarshalJSON() ([]byte, error) { return []byte("2"), nil }

func TestMarshal_EqualsEncodingJSON(t *testing.T) {
	type named string
	one, two := self{s: "a"}, self{s: "<é\u2028\x00\"\\&\xff>"}
	for _, v := range []any{
		nil, 1, "x", []int{1}, one, &one, two, []self{}, []self(nil), []self{one, two}, [2]self{one, two}, []*self{nil, &two}, []any{one, nil},
		map[string]self{}, map[string]self(nil), map[string]self{"b": one, "a<": two, "é": one, "": one}, map[named]self{"a": one}, map[int]self{2: one, 10: two},
		[]string{"a", "<é\u2028", ""}, []string{}, []string(nil),
		[]any{nil, true, "é<", 1, int64(-2), 2.5, 1e21, 3.0, 1e-9, []any{}, []any(nil), map[string]any{}, map[string]any(nil), uint8(3), json.Number("1.50")},
		map[string]any{"b": []any{map[string]any{"z": nil, "a<": "\u2028"}}, "": false}, []map[string]any{nil, {"a": one}}, []map[string]any(nil),
		map[string]map[string]any{"x": {"y": 1}}, []json.RawMessage{json.RawMessage(`{ }`)}, []any{[]self{one}, &one, map[string]self{"a": two}, (*self)(nil)},
		other{one, 3}, []other{{one, 4}}, pointing{}, []any{pointing{}, other{more: 1}}, struct{ self }{one},
		[][]self{{one}}, json.RawMessage(` { "a" : 1 } `), struct{ A []self }{[]self{two}},
	} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := compact.Marshal(v); string(got) != string(want) || err != nil {
			t.Errorf("%#v: got %s, %v; want %s", v, got, err, want)
		}
	}
}

// These types have an AppendJSON method, and JSON that differs from its result.
type (
	promotes struct {
		self
		More string
	}
	shadows   struct{ self }
	byAddress struct {
		self
		Open int
	}
	torn struct {
		self
		time.Time
	}
	points struct{ *self }
	speaks []self
	writes map[string]self
	byText struct{ S string }
	likes  struct{ S string }
)

func (shadows) MarshalJSON() ([]byte, error)    { return []byte(`"its own"`), nil }
func (*byAddress) MarshalJSON() ([]byte, error) { return []byte(`"by its address"`), nil }
func (speaks) MarshalJSON() ([]byte, error)     { return []byte(`"a list"`), nil }
func (writes) MarshalJSON() ([]byte, error)     { return []byte(`"a map"`), nil }
func (byText) MarshalText() ([]byte, error)     { return []byte("text"), nil }

// AppendJSON has the name, but not the type, of the method of an Appender.
func (likes) AppendJSON(b []byte) ([]byte, error) { return append(b, " { } "...), nil }

func TestMarshal_IgnoresInheritedAppendJSON(t *testing.T) {
	in := self{s: "in"}
	for _, v := range []any{
		promotes{in, "x"}, []promotes{{in, "x"}}, map[string]promotes{"a": {in, "x"}},
		shadows{in}, &shadows{in}, []shadows{{in}}, map[string]shadows{"a": {in}},
		byAddress{in, 1}, &byAddress{in, 1}, []byAddress{{in, 1}}, map[string]byAddress{"a": {in, 1}},
		torn{self: in}, []torn{{self: in}}, map[string]torn{"a": {self: in}},
		points{&in}, []points{{&in}},
		speaks{in}, speaks(nil), []speaks{{in}}, writes{"a": in}, writes(nil), map[string]writes{"a": {"b": in}},
		byText{"x"}, []byText{{"x"}}, likes{"x"}, []likes{{"x"}}, map[string]likes{"a": {"x"}},
	} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := compact.Marshal(v); string(got) != string(want) || err != nil {
			t.Errorf("%#v: got %s, %v; want %s", v, got, err, want)
		}
	}
}

func TestMarshal_ReturnsErrorsOfAppenders(t *testing.T) {
	bad := self{err: errors.New("no form")}
	for _, v := range []any{bad, []self{{}, bad}, map[string]self{"a": {}, "b": bad}, []any{bad}, map[string]any{"a": []map[string]any{{"b": &bad}}}} {
		if got, err := compact.Marshal(v); !errors.Is(err, bad.err) || got != nil {
			t.Errorf("%v: got %s, %v; want %v", v, got, err, bad.err)
		}
	}
}

func TestMarshal_RejectsValuesWithoutJSON(t *testing.T) {
	items, object := make([]any, 1), map[string]any{}
	items[0], object["a"] = items, []map[string]any{object}
	for _, v := range []any{items, object, math.NaN(), []any{math.Inf(1)}, []any{func() {}}} {
		if got, err := compact.Marshal(v); err == nil || got != nil {
			t.Errorf("got %s, %v; want an error", got, err)
		}
	}
}

func TestMarshal_EncodesDeepValues(t *testing.T) {
	var v any = "<"
	for range 700 {
		v = []any{v}
	}
	want, _ := json.Marshal(v)
	if got, err := compact.Marshal(v); string(got) != string(want) || err != nil {
		t.Errorf("got %d bytes, %v; want %d", len(got), err, len(want))
	}
}

func FuzzMarshal(f *testing.F) {
	f.Add(`{"a":[1,2.5,"x<",null,true,{"":{}}],"b":-1e300}`)
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		want, err := json.Marshal(v)
		if got, e := compact.Marshal(v); string(got) != string(want) || (err == nil) != (e == nil) {
			t.Errorf("got %s, %v; want %s, %v", got, e, want, err)
		}
	})
}

func FuzzString(f *testing.F) {
	f.Add("plain")
	f.Add("<\u2029\xc3\x28\x7f\t")
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if got := compact.String([]byte("b"), s); err != nil || string(got) != "b"+string(want) {
			t.Errorf("got %s, want %s, %v", got, want, err)
		}
	})
}

func TestString_EscapesEachCharacterAtEachPlace(t *testing.T) {
	for at := range 20 {
		for c := range 256 {
			s := []byte("abcdefghijklmnopqrst")
			s[at] = byte(c)
			want, err := json.Marshal(string(s))
			if got := compact.String(nil, string(s)); err != nil || string(got) != string(want) {
				t.Errorf("character %#x at %d: got %s, want %s, %v", c, at, got, want, err)
			}
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, text := range []string{`["a"]`, `["a","bc","","12345678901234567890"]`, `["a",]`, `["a"`, `["a]`, `[`, `[]`, `null`, ` ["a"]`, `["a"] `, `["a" ]`, `["a"]]`, `["é"]`,
		"[\"\\u0041\"]", "[\"\x01\"]", "[\"\xff\"]", `[""]`, `["a""b"]`, `["a",1]`, `{"a":1}`, `["<"]`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, want []string
		err, wantErr := compact.Unmarshal([]byte(text), &got), json.Unmarshal([]byte(text), &want)
		if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %q, %v; want %q, %v", text, got, err, want, wantErr)
		}
	})
}
