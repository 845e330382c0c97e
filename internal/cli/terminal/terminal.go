package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Terminal is a terminal that can move its cursor.
type Terminal struct {
	io.Writer
	Size   func() (cols, rows int)
	colour bool
}

// IsTerminal reports whether w leads to a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Escaper is a writer that keeps text from controlling the terminal. It escapes control characters
// other than newline and tab, marks that change the direction of text, and bytes that are not
// UTF-8. The escapes of characters are those of JSON, so JSON keeps its meaning.
type Escaper struct{ io.Writer }

func (h Escaper) Write(p []byte) (int, error) {
	if _, err := io.WriteString(h.Writer, Escaped(string(p), IsControl)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// IsControl reports whether r controls a terminal.
func IsControl(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || IsDirectionMark(r)
}

// IsDirectionMark reports whether r is an invisible mark that changes the direction of text, so
// that a terminal shows the characters in another order.
func IsDirectionMark(r rune) bool {
	switch r {
	case '\u061c', '\u200e', '\u200f':
		return true
	}
	return '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

// Escaped returns s with an escape for each rune for which escape returns true, and for each byte
// that is not UTF-8. It does not escape a carriage return before a newline.
func Escaped(s string, escape func(rune) bool) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, escape) {
		return s
	}
	var b strings.Builder
	for i, n := 0, 0; i < len(s); i += n {
		var r rune
		r, n = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\r' && strings.HasPrefix(s[i:], "\r\n"), !escape(r):
			b.WriteString(s[i : i+n])
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Checked is a writer that remembers the first error.
type Checked struct {
	io.Writer

	mu  sync.Mutex
	err error
}

// Write implements [io.Writer].
func (c *Checked) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err = cmp.Or(c.err, err)
	}
	return n, err
}

// Err returns the first error of a Write, or nil.
func (c *Checked) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// EscapingWriter returns an Escaper over w, or w itself if raw is set and w is no terminal.
func EscapingWriter(w io.Writer, raw bool) io.Writer {
	if raw && !IsTerminal(w) {
		return w
	}
	return Escaper{w}
}

// Of returns the terminal that w writes to, or nil if w is no terminal that can move its cursor.
func Of(w io.Writer) *Terminal {
	f, ok := w.(*os.File)
	if !ok || !IsTerminal(w) || os.Getenv("TERM") == "dumb" || runtime.GOOS == "windows" {
		return nil
	}
	return &Terminal{Writer: f, colour: os.Getenv("NO_COLOR") == "", Size: func() (int, int) {
		cols, rows, err := term.GetSize(int(f.Fd()))
		if err != nil || cols < 1 || rows < 1 {
			return 80, 24
		}
		return cols, rows
	}}
}

// The colours of the live view.
const (
	Green  = "32"
	Red    = "31"
	Yellow = "33"
	Cyan   = "36"
	Grey   = "90"
)

// Paint returns s in a colour.
func (t *Terminal) Paint(colour, s string) string {
	if !t.colour || s == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}
