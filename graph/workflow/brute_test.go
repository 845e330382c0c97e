package workflow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/internal/racescale"
)

// pieces are what YAML and its mistakes are made of.
var pieces = []string{"a", ":", " ", "\n", "- ", "-", "? ", "\t", "\r", "\u0085", "\"", "'", "&x ", "*x", "|", "[", "}", "#", "é", "\u200b", "\ufeff", "<<"}

// strungTogether gives every text of at most so many pieces to fn.
func strungTogether(most int, pieces []string, fn func(text string)) {
	var grow func(text string, left int)
	grow = func(text string, left int) {
		fn(text)
		if left == 0 {
			return
		}
		for _, p := range pieces {
			grow(text+p, left-1)
		}
	}
	grow("", most)
}

// tries loads and formats a text, and shows what is wrong with it.
func tries(t *testing.T, text string) {
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%q: %v", text, r)
		}
	}()
	_, err := workflow.Parse("in.yaml", []byte(text), workflow.Options{})
	var e *workflow.Error
	switch errors.As(err, &e) {
	case false:
		if err != nil {
			t.Errorf("%q: %v is no *workflow.Error", text, err)
		}
	default:
		for _, p := range e.Problems {
			if p.Line < 1 || p.Col < 1 || p.Width < 1 || p.Msg == "" || strings.Contains(p.Excerpt(), "\x00") {
				t.Errorf("%q: %+v has no place", text, p)
			}
		}
	}
	formatsSafely(t, text, text)
}

// TestParse_TextsOfThreePiecesDoNotPanic tries what fuzzing finds late: a text that ends where more
// was expected.
func TestParse_TextsOfThreePiecesDoNotPanic(t *testing.T) {
	strungTogether(3, pieces, func(text string) { tries(t, text) })
}

// TestParse_TwoPiecesDoNotPanic puts two pieces where a file has something else.
func TestParse_TwoPiecesDoNotPanic(t *testing.T) {
	for _, around := range [][2]string{
		{"version: 1\nnodes:\n  a:\n    set: {}\n    next: ", "\n"},
		{"version: 1\nnodes:\n  a:\n", "    set: {}\n   next: END\n"},
		{"version: 1\nstate: {x: any}\nnodes:\n  a: {set: {x: \"${{ state.x", " }}\"}, next: END}\n"},
		{"version: 1\nstate:\n  x: ", "\nnodes: {a: {set: {}, next: END}}\n"},
		{"version: 1\ntests:\n- ", "\nnodes: {a: {set: {}, next: END}}\n"},
	} {
		strungTogether(2, append(pieces, "~", "17", "{", "]", "a: b", "${{", "}}", "!!null ", "!x "), func(text string) { tries(t, around[0]+text+around[1]) })
	}
}

// TestParse_OddValuesDoNotPanic puts values where others belong: nothing, lists, aliases, and
// numbers out of bounds.
func TestParse_OddValuesDoNotPanic(t *testing.T) {
	odd := []string{"", "~", "[]", "{}", "[~]", "{a: ~}", "[[]]", "[{}]", "\"\"", "*n", "*l", "17", "-1", "1e400", "true", "END", "${{", "\"${{ }}\"",
		"9223372036854775808", "9999999h", "2562048h", "0s", "999999999GiB", "999999999/s", "\"\\u200b\"", "{? [a] : b}", "{<<: *n}"}
	const top = "version name description types state input output config env secrets defaults limits interrupt start nodes edges tests"
	for _, key := range strings.Fields(top) {
		for _, v := range odd {
			tries(t, "x: &n ~\ny: &l [*n]\nversion: 1\nstate: {x: any}\n"+key+": "+v+"\n"+map[bool]string{false: tail}[key == "nodes"])
			tries(t, "x: &n ~\n"+key+": {a: "+v+"}\n")
			tries(t, "x: &n ~\n"+key+": [{a: "+v+"}]\n")
		}
	}
	const inNode = "description tags requires join defer if for_each with input output provides cache idempotency_key timeout idle_timeout retry limit on_error next ask set workflow uses"
	tried, stride := 0, racescale.Of(1, 5) // 5 does not divide the number of texts of a key
	for _, key := range strings.Fields(inNode) {
		for _, v := range odd {
			for _, form := range []string{v, "{in: " + v + "}", "{if: " + v + ", to: " + v + "}", "[{if: " + v + "}]", "{max: " + v + ", on: " + v + "}", "{key: " + v + ", ttl: " + v + "}",
				"{title: " + v + ", form: {a: " + v + "}, expires: " + v + "}", "{x: " + v + "}"} {
				if tried++; tried%stride != 0 {
					continue
				}
				tries(t, "version: 1\nstate: {x: any}\nnodes:\n  b: &n {set: {}, next: END}\n  a: {"+key+": "+form+", next: END}\n")
			}
		}
	}
}
