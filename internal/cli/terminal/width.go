package terminal

import "unicode"

// Width returns the columns that a line takes on a terminal, without its colours.
func Width(line string) int {
	n, escape := 0, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			n += columns(r)
		}
	}
	return n
}

// columns returns the columns of one rune: none for a mark on the one before it, two
// for what East Asian scripts and pictures take.
func columns(r rune) int {
	switch {
	case r < ' ', unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// Cut shortens s to at most n columns and drops what would move the cursor.
func Cut(s string, n int) string {
	s = Escaped(s, IsDirectionMark)
	var kept []rune
	used, full := 0, 0 // full is the length that leaves room for the mark of a cut
	for _, r := range s {
		if unicode.IsControl(r) {
			r = ' '
		}
		if used += columns(r); used > n {
			break
		}
		kept = append(kept, r)
		if used < n {
			full = len(kept)
		}
	}
	switch {
	case used <= n:
		return string(kept)
	case n < 1:
		return ""
	}
	return string(kept[:full]) + "…"
}

// Tail returns the end of s that takes at most n columns, on one line.
func Tail(s string, n int) string {
	all := []rune(Escaped(s, IsDirectionMark))
	used, from := 0, len(all)
	for from > 0 {
		if unicode.IsSpace(all[from-1]) || unicode.IsControl(all[from-1]) {
			all[from-1] = ' '
		}
		if used += columns(all[from-1]); used > n {
			break
		}
		from--
	}
	return string(all[from:])
}
