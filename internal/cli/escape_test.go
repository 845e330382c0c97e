package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// steering are the runes that a terminal obeys, without those that C and Go count as controls.
const steering = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

func TestEscaped_KeepsNothingThatSteersATerminal(t *testing.T) {
	for r := rune(0); r < 0x110000; r++ {
		if !steers(r) || r == '\n' || r == '\t' {
			continue
		}
		got := escaped("a"+string(r)+"b", steers)
		if strings.ContainsRune(got, r) || !strings.HasPrefix(got, `a\u`) {
			t.Errorf("%U: got %q, want an escape", r, got)
		}
		var back string
		if err := json.Unmarshal([]byte(`"`+got+`"`), &back); err != nil || back != "a"+string(r)+"b" {
			t.Errorf("%U: in JSON %s is %q, %v", r, got, back, err)
		}
	}
	for _, r := range steering + "\x1b\x00\b\u009b\x7f\r" {
		if !steers(r) {
			t.Errorf("%U is not escaped", r)
		}
	}
	for in, want := range map[string]string{
		"plain, ünï, 日本\t\n": "plain, ünï, 日本\t\n",
		"a\r\nb\rc":          `a` + "\r\n" + `b\u000dc`,
		"\x9b31m \xff":       `\x9b31m \xff`,
	} {
		if got := escaped(in, steers); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// hostile is what a model or another person has written.
const hostile = "pay 1\u202e0001\u202c \x1b]0;owned\x07 \u2066x\u2069"

func TestPipedText_EscapesWhatSteersATerminal(t *testing.T) {
	for _, c := range []struct {
		args    []string
		escaped bool
	}{
		{nil, true}, {[]string{"--raw"}, false}, {[]string{"--json"}, false},
	} {
		var out, errs bytes.Buffer
		a := newApp(Config{Args: c.args, Stdout: &out, Stderr: &errs})
		for _, w := range []func(){
			func() { _, _ = a.Stdout.Write([]byte(hostile)) },
			func() { _, _ = a.Stderr.Write([]byte(hostile)) },
		} {
			w()
		}
		for name, got := range map[string]string{"stdout": out.String(), "stderr": errs.String()} {
			if (got != hostile) != c.escaped {
				t.Errorf("%v: %s got %q; want it escaped: %v", c.args, name, got, c.escaped)
			}
			if c.escaped && strings.ContainsAny(got, steering+"\x1b\x07") {
				t.Errorf("%v: %s got %q", c.args, name, got)
			}
		}
	}
}

func TestLiveView_EscapesMarksOfDirection(t *testing.T) {
	for name, got := range map[string]string{"cut": cut("a\u202eb", 80), "tail": tail("a\u202eb", 80)} {
		if got != `a\u202eb` {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
