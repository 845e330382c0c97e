package studio

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestFields_ValuesAreReadable(t *testing.T) {
	long := strings.Repeat("a", 130)
	for value, want := range map[string]field{
		`"a \u003c \\u003c b \u0026 \"c\" \\"`: {Text: `"a < \\u003c b & \"c\" \\"`},
		`12345678901234567890`:                 {Text: "12345678901234567890"},
		`null`:                                 {Text: "null"},
		`[]`:                                   {Text: "[]"},
		`{"b":1,"a":2}`:                        {Text: `{"b":1,"a":2}`},
		`"two\nlines"`:                         {Kind: "text of 9 characters", Text: "two\nlines"},
		`"` + long + `"`:                       {Kind: "text of 130 characters", Text: long},
		`["` + long + `"]`:                     {Kind: "list of 1", Text: "[\n  \"" + long + "\"\n]"},
		`{"b":"` + long + `","a":1}`:           {Kind: "object of 2", Text: "{\n  \"b\": \"" + long + "\",\n  \"a\": 1\n}"},
	} {
		if got := fieldOf("", json.RawMessage(value)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", value, got, want)
		}
	}
	if got := fieldOf("", json.RawMessage(`"`+strings.Repeat("é", 40_000)+`"`)); len(got.Text) > maxValue || !got.Cut || !strings.HasSuffix(got.Text, "é") {
		t.Errorf("a large value has %d bytes, cut: %v", len(got.Text), got.Cut)
	}
	if _, err := fieldsOf(json.RawMessage(`[1]`)); err == nil {
		t.Error("a state that is a list has fields")
	}
}

// A preview is what json.Indent makes of the value, and ends where it is cut.
func TestPreview_IsIndentedJSON(t *testing.T) {
	for _, value := range []string{
		`[]`, `{}`, `[ ]`, `[[],{},[{}]]`, `{"a":[1,2,{"b":"x, [y] {z}: \""}],"c":{"d":null,"e":true}}`, `[-1.5e3,"\"","a\\"]`, `"text"`, `[1, 2]`,
	} {
		var want bytes.Buffer
		if err := json.Indent(&want, []byte(value), "", "  "); err != nil {
			t.Fatal(err)
		}
		got := preview(json.RawMessage(value), 1000)
		if got != want.String() {
			t.Errorf("%s: got\n%s\nwant\n%s", value, got, want.String())
		}
		for most := range len(got) {
			if cut := preview(json.RawMessage(value), most); !strings.HasPrefix(got, cut) || len(cut) < most {
				t.Errorf("%s: of %d bytes the preview is %q", value, most, cut)
			}
		}
		var list []json.RawMessage
		if json.Unmarshal([]byte(value), &list) == nil && len(list) > 0 && members(json.RawMessage(value)) != len(list) {
			t.Errorf("%s has %d values", value, members(json.RawMessage(value)))
		}
	}
}

func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{"a-1.b": "a-1.b", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'"} {
		if got := quoted(word); got != want {
			t.Errorf("quoted(%q) = %s, want %s", word, got, want)
		}
	}
}

func TestAddedTo(t *testing.T) {
	for _, c := range []struct {
		before, after, added string
		n                    int
	}{
		{`[1,2]`, `[1,2,{"a":[3,4]},5]`, `[{"a":[3,4]},5]`, 2}, {`[]`, `["a,b"]`, `["a,b"]`, 1}, {``, `[1,2]`, `[1,2]`, 2},
		{`[1,2]`, `[1,23]`, ``, 0}, {`[1,2]`, `[1,2]`, ``, 0}, {`[2]`, `[1,2]`, ``, 0}, {`[[1]]`, `[[1,2]]`, ``, 0}, {`[1]`, `[]`, ``, 0}, {``, `[]`, ``, 0}, {``, ``, ``, 0},
		{`null`, `[1]`, ``, 0}, {`{"a":1}`, `{"a":1,"b":2}`, ``, 0}, {`"[1"`, `"[1,2"`, ``, 0}, {`1`, `[1,2]`, ``, 0},
	} {
		var before, after json.RawMessage
		if c.before != "" {
			before = json.RawMessage(c.before)
		}
		if c.after != "" {
			after = json.RawMessage(c.after)
		}
		if added, n := addedTo(before, after); string(added) != c.added || n != c.n {
			t.Errorf("from %s to %s: got %s, %d, want %s, %d", c.before, c.after, added, n, c.added, c.n)
		}
	}
}
