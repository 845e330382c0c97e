package cli

import (
	"io"
	"os"
	"runtime"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// terminal is where a live view can draw.
type terminal struct {
	io.Writer
	size   func() (cols, rows int)
	colour bool
}

// isTerminal reports whether w leads to a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// harmless keeps what a workflow prints from steering the terminal: controls other
// than a new line and a tab are replaced. What goes to a file or a pipe is as it is.
type harmless struct{ io.Writer }

func (h harmless) Write(p []byte) (int, error) {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, string(p))
	if _, err := io.WriteString(h.Writer, clean); err != nil {
		return 0, err
	}
	return len(p), nil
}

// harmlessOn returns w, without the controls if it leads to a terminal.
func harmlessOn(w io.Writer) io.Writer {
	if isTerminal(w) {
		return harmless{w}
	}
	return w
}

// terminalOf returns the terminal behind w, or nil if there is none that can move
// its cursor.
func terminalOf(w io.Writer) *terminal {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(w) || os.Getenv("TERM") == "dumb" || runtime.GOOS == "windows" {
		return nil
	}
	return &terminal{Writer: f, colour: os.Getenv("NO_COLOR") == "", size: func() (int, int) {
		cols, rows, err := term.GetSize(int(f.Fd()))
		if err != nil || cols < 1 || rows < 1 {
			return 80, 24
		}
		return cols, rows
	}}
}

// The colours of the live view.
const (
	green  = "32"
	red    = "31"
	yellow = "33"
	cyan   = "36"
	grey   = "90"
)

// paint returns s in a colour.
func (t *terminal) paint(colour, s string) string {
	if !t.colour || s == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}
