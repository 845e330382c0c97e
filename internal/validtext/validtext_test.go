package validtext_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/internal/validtext"
)

const bad = "a\xffb"

type node struct {
	Text string `json:"text"`
	Next *node
}

type inner struct{ Name string }

type hidden struct{ Deep string }

type tagged struct {
	inner `json:"in"`
}

type outer struct {
	inner
	hidden
	Tagged  string `json:"tag,omitempty"`
	Left    string `json:"-"`
	private string
	Any     any
	Array   [2]string
	Number  int
	Bytes   []byte
	When    time.Time
}

// writer writes its own JSON: its text as it is, or an error.
type writer struct {
	text string
	err  error
}

func (w writer) MarshalJSON() ([]byte, error) { return []byte(`"` + w.text + `"`), w.err }

// pointed writes its own JSON where it can be pointed to.
type pointed struct{ A string }

func (*pointed) MarshalJSON() ([]byte, error) { return []byte(`"fine"`), nil }

// named is a key that writes its own text.
type named int

func (n named) MarshalText() ([]byte, error) { return []byte{'k', byte(n)}, nil }

type number struct{ Next *number }

func TestCheck_FindsText(t *testing.T) {
	loop := &node{Text: "fine"}
	loop.Next = loop
	own := map[string]any{}
	own["a"], own["b"] = own, own
	for name, c := range map[string]struct {
		v    any
		path string
		ok   bool
	}{
		"string":                   {bad, "", false},
		"valid string":             {"世界 \uFFFD", "", true},
		"nil":                      {nil, "", true},
		"numbers":                  {[]int{1}, "", true},
		"named string":             {reflect.Invalid.String(), "", true},
		"key":                      {map[string]int{bad: 1}, `["a\xffb"]`, false},
		"value of a map":           {map[string]string{"k": bad}, `["k"]`, false},
		"plain values":             {map[string]any{"k": []any{1, "x", map[string]any{"y": bad}}}, `["k"][2]["y"]`, false},
		"key of plain values":      {map[string]any{bad: nil}, `["a\xffb"]`, false},
		"key that writes its text": {map[named]int{0xff: 1}, `["k\xff"]`, false},
		"number as a key":          {map[int]string{3: bad}, `["3"]`, false},
		"list":                     {[][]string{{"a"}, {"b", bad}}, `[1][1]`, false},
		"embedded":                 {outer{inner: inner{bad}}, `.Name`, false},
		"embedded and hidden":      {outer{hidden: hidden{bad}}, `.Deep`, false},
		"tag":                      {outer{Tagged: bad}, `.tag`, false},
		"embedded with a tag":      {tagged{inner{bad}}, `.in.Name`, false},
		"left out":                 {outer{Left: bad, private: bad, Bytes: []byte(bad)}, "", true},
		"any":                      {outer{Any: &inner{bad}}, `.Any.Name`, false},
		"array":                    {outer{Array: [2]string{"", bad}}, `.Array[1]`, false},
		"pointer":                  {&node{Next: &node{Text: bad}}, `.Next.text`, false},
		"nil pointer":              {(*node)(nil), "", true},
		"value in itself":          {loop, "", true},
		"map twice in itself":      {own, "", true},
		"raw JSON":                 {json.RawMessage(`"` + bad + `"`), "", false},
		"writes its JSON":          {[]writer{{}, {text: bad}}, `[1]`, false},
		"refuses text":             {writer{err: validtext.Err}, "", false},
		"fails":                    {writer{text: bad, err: errors.New("other")}, "", true},
		"pointer writes":           {[]pointed{{bad}}, "", true},
		"pointer cannot write":     {pointed{bad}, ".A", false},
	} {
		if path, ok := validtext.Check(c.v); path != c.path || ok != c.ok {
			t.Errorf("%s: got %s, %t, want %s, %t", name, path, ok, c.path, c.ok)
		}
	}
}

// TestCheck_AgreesWithJSON compares Check with what JSON does to the same values.
func TestCheck_AgreesWithJSON(t *testing.T) {
	for _, text := range []string{"fine", bad} {
		for _, v := range []any{
			text, []string{text}, map[string]string{text: text}, outer{inner: inner{text}}, tagged{inner{text}}, outer{Tagged: text}, outer{Left: text},
			outer{Array: [2]string{text}}, &node{Text: text}, []any{map[string]any{"k": text}}, pointed{text}, []pointed{{text}}, []byte(text),
		} {
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Contains(string(data), `\ufffd`)
			if _, ok := validtext.Check(v); ok == changed {
				t.Errorf("%T with %q: got %t, but JSON is %s", v, text, ok, data)
			}
		}
	}
}

// lookedAt writes its own JSON, of text that was looked at.
type lookedAt struct{ writer }

func (lookedAt) TextIsChecked() {}

func TestPossible_OnlyWhereThereIsText(t *testing.T) {
	for typ, want := range map[reflect.Type]bool{
		reflect.TypeFor[int]():                 false,
		reflect.TypeFor[[]byte]():              false,
		reflect.TypeFor[time.Time]():           false,
		reflect.TypeFor[*time.Time]():          false,
		reflect.TypeFor[number]():              false,
		reflect.TypeFor[map[int]float64]():     false,
		reflect.TypeFor[struct{ a string }]():  false,
		reflect.TypeFor[string]():              true,
		reflect.TypeFor[node]():                true,
		reflect.TypeFor[any]():                 true,
		reflect.TypeFor[map[string]int]():      true,
		reflect.TypeFor[writer]():              true,
		reflect.TypeFor[lookedAt]():            false,
		reflect.TypeFor[map[string]lookedAt](): false,
		reflect.TypeFor[[]lookedAt]():          false,
	} {
		if got := validtext.Possible(typ); got != want {
			t.Errorf("%v: got %t, want %t", typ, got, want)
		}
	}
}

func TestCheckOf_AllocatesAtMostOnce(t *testing.T) {
	text, list, fields := "text", []string{"a", "b"}, outer{Tagged: "x"}
	for name, check := range map[string]func(){
		"string": func() { validtext.CheckOf(&text) },
		"list":   func() { validtext.CheckOf(&list) },
		"struct": func() { validtext.CheckOf(&fields) },
	} {
		check()
		if n := testing.AllocsPerRun(100, check); n > 1 {
			t.Errorf("%s: got %v allocations, want at most 1", name, n)
		}
	}
}

func TestCheck_AllocatesNothingForJSON(t *testing.T) {
	var v any = map[string]any{"list": []any{"a", map[string]any{"b": []any{1.5, nil}}}, "text": "c"}
	if n := testing.AllocsPerRun(100, func() { validtext.Check(v) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
