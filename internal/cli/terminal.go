package cli

import (
	"io"
	"os"
	"runtime"

	"golang.org/x/term"
)

// terminal is where a live view can draw.
type terminal struct {
	io.Writer
	size   func() (cols, rows int)
	colour bool
}

// terminalOf returns the terminal behind w, or nil if there is none that can move
// its cursor.
func terminalOf(w io.Writer) *terminal {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" || runtime.GOOS == "windows" {
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
