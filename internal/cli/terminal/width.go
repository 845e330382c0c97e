package terminal

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// widths measures text the same way in every locale.
var widths = runewidth.Condition{StrictEmojiNeutral: true}

// colours matches the escape sequences of Paint.
var colours = regexp.MustCompile("\x1b\\[[0-9]*m")

// Width returns the columns that a line takes on a terminal, without its colours.
func Width(line string) int { return widths.StringWidth(colours.ReplaceAllString(line, "")) }

// Cut shortens s to at most n columns, on one line. A text that was cut ends in "…".
func Cut(s string, n int) string {
	if s = oneLine(s); n < 1 && Width(s) > n {
		return ""
	}
	return widths.Truncate(s, n, "…")
}

// Tail returns the end of s that takes at most n columns, on one line. Half a wide
// character becomes a space.
func Tail(s string, n int) string {
	s = oneLine(s)
	if excess := widths.StringWidth(s) - n; excess > 0 {
		return widths.TruncateLeft(s, excess, "")
	}
	return s
}

// oneLine replaces controls and white space by spaces, and escapes marks of direction.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, Escaped(s, IsDirectionMark))
}
