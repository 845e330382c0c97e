package studio

import (
	"encoding/json"
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
		if got := fieldOf("", json.RawMessage(value)); got != want {
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

func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{"a-1.b": "a-1.b", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'"} {
		if got := quoted(word); got != want {
			t.Errorf("quoted(%q) = %s, want %s", word, got, want)
		}
	}
}
