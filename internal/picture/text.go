package picture

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text sizes in pixels.
const (
	nameSize = 13
	subSize  = 10
)

// asciiWidths are the widths of the characters from space to tilde, in hundredths of the text
// size. They are those of a wide font, so that a text in most fonts is not wider than measured.
var asciiWidths = [...]uint8{
	32, 40, 46, 84, 64, 95, 78, 28, 39, 39, 50, 84, 32, 36, 32, 34, // space to slash
	64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 53, // 0 to question mark
	100, 68, 69, 70, 77, 63, 58, 78, 75, 30, 30, 66, 56, 86, 75, 79, // at sign to O
	60, 79, 70, 64, 61, 73, 68, 99, 69, 61, 69, 39, 34, 39, 84, 50, // P to underscore
	50, 61, 64, 55, 64, 62, 35, 64, 63, 28, 28, 58, 28, 97, 63, 61, // backquote to o
	64, 64, 41, 52, 39, 63, 59, 82, 59, 59, 53, 64, 34, 64, 84, // p to tilde
}

// wide are the scripts and signs whose characters fill a square.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0xa4cf, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff01, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x1f000, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

// runeWidth returns the width of r in hundredths of the text size.
func runeWidth(r rune) int {
	switch {
	case r >= ' ' && r <= '~':
		return int(asciiWidths[r-' '])
	case joins(r):
		return 0
	case unicode.Is(wide, r):
		return 104
	}
	return 70
}

// joins reports whether r belongs to the character before it.
func joins(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) || r == 0x200d || r == 0x200c || r >= 0x1f3fb && r <= 0x1f3ff
}

// textWidth returns how many pixels wide a text of a size is at most.
func textWidth(s string, size int) int {
	sum := 0
	for _, r := range s {
		sum += runeWidth(r)
	}
	return (sum*size + 99) / 100
}

// cut shortens s to at most limit pixels. It leaves out the middle, since names often differ at
// their ends.
func cut(s string, size, limit int) string {
	if textWidth(s, size) <= limit {
		return s
	}
	parts := clusters(s)
	head, tail := 0, len(parts)
	room := limit - textWidth("…", size)
	for used := 0; head < tail; {
		next, front := parts[head], head <= len(parts)-tail
		if !front {
			next = parts[tail-1]
		}
		if used += textWidth(next, size); used > room {
			break
		}
		if front {
			head++
		} else {
			tail--
		}
	}
	return strings.Join(parts[:head], "") + "…" + strings.Join(parts[tail:], "")
}

// clusters splits s into characters with the marks that follow them.
func clusters(s string) (parts []string) {
	start, after := 0, rune(0)
	for i, r := range s {
		if i > start && !joins(r) && after != 0x200d {
			parts, start = append(parts, s[start:i]), i
		}
		after = r
	}
	if start < len(s) {
		parts = append(parts, s[start:])
	}
	return parts
}

// clean returns s on one line and without characters that XML does not allow or that change the
// direction of the text after them; U+FFFD replaces them.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r >= 0x7f && r <= 0x9f || r == 0xfffe || r == 0xffff || !utf8.ValidRune(r):
			return utf8.RuneError
		case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// escape returns s as text of an XML element or of a quoted attribute.
func escape(s string) string { return xmlEscaper.Replace(clean(s)) }
