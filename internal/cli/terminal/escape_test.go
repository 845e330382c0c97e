package terminal

import (
	"encoding/json"
	"strings"
	"testing"
)

// direction are the runes that change the direction of text.
const direction = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

func TestEscaped_KeepsNothingThatSteersATerminal(t *testing.T) {
	for r := rune(0); r < 0x110000; r++ {
		if !IsControl(r) || r == '\n' || r == '\t' {
			continue
		}
		got := Escaped("a"+string(r)+"b", IsControl)
		if strings.ContainsRune(got, r) || !strings.HasPrefix(got, `a\u`) {
			t.Errorf("%U: got %q, want an escape", r, got)
		}
		var back string
		if err := json.Unmarshal([]byte(`"`+got+`"`), &back); err != nil || back != "a"+string(r)+"b" {
			t.Errorf("%U: in JSON %s is %q, %v", r, got, back, err)
		}
	}
	for _, r := range direction + "\x1b\x00\b\u009b\x7f\r" {
		if !IsControl(r) {
			t.Errorf("%U is not escaped", r)
		}
	}
	for in, want := range map[string]string{
		"plain, ünï, 日本\t\n": "plain, ünï, 日本\t\n",
		"a\r\nb\rc":          `a` + "\r\n" + `b\u000dc`,
		"\x9b31m \xff":       `\x9b31m \xff`,
	} {
		if got := Escaped(in, IsControl); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestLiveView_EscapesMarksOfDirection(t *testing.T) {
	for name, got := range map[string]string{"cut": Cut("a\u202eb", 80), "tail": Tail("a\u202eb", 80)} {
		if got != `a\u202eb` {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
