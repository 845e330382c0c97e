package message

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Counter counts the tokens of a message in a prompt. It must return the same number for equal
// messages. It must be safe for concurrent use if windows use it concurrently.
type Counter interface {
	Count(m Message) (int, error)
}

// Total returns the tokens of all messages together.
func Total(c Counter, ms []Message) (n int, err error) {
	for i, m := range ms {
		k, err := c.Count(m)
		if err != nil {
			return 0, fmt.Errorf("message: counting message %d (%q): %w", i, m.ID, err)
		}
		n += k
	}
	return n, nil
}

// Estimate is a Counter that adds the counts of the parts of a message. The zero Estimate needs no
// vocabulary; its error is about a third. Package tokens sets Text to a real tokenizer. In tokens:
//
//	a message   PerMessage, and the text of its name
//	a text      Text
//	an image    PerImage, whatever its size
//	other parts the text of their JSON
//	a call      PerCall, and the texts of its id, its tool's name and its arguments
//	a result    PerCall, the text of its call's id, and its parts
//
// Metadata, usage and unknown fields of the message count as 0, because they are not sent.
type Estimate struct {
	// Text counts a text; nil is ApproxTokens.
	Text       func(string) (int, error)
	PerMessage int // 0 is 4: the role and the marks around it
	PerCall    int // 0 is 4
	PerImage   int // 0 is 765: an image of 1024 by 1024 pixels in tiles
}

// ApproxTokens counts a token for every 4 bytes of ASCII, and one for each other
// character, rounded up.
func ApproxTokens(s string) int {
	quarters := 0
	for _, r := range s {
		if r < utf8.RuneSelf {
			quarters++
		} else {
			quarters += 4
		}
	}
	return (quarters + 3) / 4
}

// Count implements [Counter].
func (e Estimate) Count(m Message) (int, error) {
	t := tally{Estimate: e, n: or(e.PerMessage, 4)}
	if m.Name != "" {
		t.text(m.Name)
	}
	t.parts(m.Content)
	for _, c := range m.Calls {
		t.n += or(e.PerCall, 4)
		t.text(c.ID, c.Name, string(c.Arguments))
	}
	for _, r := range m.Results {
		t.n += or(e.PerCall, 4)
		t.text(r.CallID)
		t.parts(r.Content)
	}
	return t.n, t.err
}

// tally is a count under way. The first error stays.
type tally struct {
	Estimate
	n   int
	err error
}

func (t *tally) text(all ...string) {
	for _, s := range all {
		if t.Text == nil {
			t.n += ApproxTokens(s)
			continue
		}
		n, err := t.Text(s)
		t.n += n
		if t.err == nil {
			t.err = err
		}
	}
}

func (t *tally) parts(parts []Part) {
	for _, p := range parts {
		switch p.Type {
		case TypeText:
			t.text(p.Text)
		case TypeImage:
			t.n += or(t.PerImage, 765)
		case TypeData:
			t.text(string(p.Data))
		default:
			t.json(p)
		}
	}
}

func (t *tally) json(p Part) {
	var b strings.Builder
	err := json.NewEncoder(&b).Encode(p)
	t.text(strings.TrimSpace(b.String()))
	if t.err == nil {
		t.err = err
	}
}

// or returns n, or def where n is 0.
func or(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}
