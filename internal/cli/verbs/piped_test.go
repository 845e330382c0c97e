package verbs

import (
	"bytes"
	"strings"
	"testing"
)

// steering are the runes that change the direction of text.
const steering = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

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
