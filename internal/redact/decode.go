package redact

import (
	"sort"
	"strings"
	"unicode/utf16"
)

// layer is a text with one layer of escapes removed: URL, HTML and quoted escapes together.
type layer struct {
	text  string
	marks []mark // the escapes, in order of their offsets
	below *layer // the text before the removal; nil for the original text
}

// mark maps size bytes at offset at of a layer to the bytes from from to to of the layer below.
type mark struct{ at, size, from, to int }

// span maps a range of l to a range of the original text.
func (l *layer) span(from, to int) (int, int) {
	for ; l.below != nil; l = l.below {
		from, to = l.down(from, false), l.down(to-1, true)+1
	}
	return from, to
}

// down maps a byte of l to an offset in the layer below. For a byte that was escaped this is the
// first byte of the escape, or the last byte if last is true.
func (l *layer) down(at int, last bool) int {
	n := sort.Search(len(l.marks), func(i int) bool { return l.marks[i].at > at })
	if n == 0 {
		return at
	}
	m := l.marks[n-1]
	switch {
	case at >= m.at+m.size:
		return m.to + at - m.at - m.size
	case last:
		return m.to - 1
	}
	return m.from
}

// up returns l with one more layer of escapes removed, or nil if it has none.
func (l *layer) up() *layer {
	next := &layer{below: l}
	var b strings.Builder
	done := 0
	for at := 0; at < len(l.text); {
		c := l.text[at]
		if c != '%' && c != '&' && c != '\\' {
			at++
			continue
		}
		var room [4]byte
		s, n := unescape(l.text[at:], room[:0])
		if n == 0 {
			at++
			continue
		}
		b.WriteString(l.text[done:at])
		next.marks = append(next.marks, mark{b.Len(), len(s), at, at + n})
		b.Write(s)
		at += n
		done = at
	}
	if next.marks == nil {
		return nil
	}
	b.WriteString(l.text[done:])
	next.text = b.String()
	return next
}

// unescape decodes the escape at the beginning of text and appends the result to b. It returns the
// length of the escape, or 0 if there is none.
func unescape(text string, b []byte) (s []byte, n int) {
	switch text[0] {
	case '%':
		if v, ok := digits(text, 1, 2, 16); ok {
			return append(b, byte(v)), 3
		}
	case '&':
		return entity(text, b)
	case '\\':
		return backslash(text, b)
	}
	return b, 0
}

// named holds the HTML entities that have names.
var named = map[string]string{"amp": "&", "lt": "<", "gt": ">", "quot": `"`, "apos": "'", "nbsp": " "}

// entity decodes &amp; &#38; and &#x26;.
func entity(text string, b []byte) (s []byte, n int) {
	end := strings.IndexByte(text[:min(len(text), 12)], ';')
	if end < 2 {
		return b, 0
	}
	if c, ok := named[text[1:end]]; ok {
		return append(b, c...), end + 1
	}
	if text[1] != '#' {
		return b, 0
	}
	from, base := 2, 10
	if text[2]|0x20 == 'x' {
		from, base = 3, 16
	}
	v, ok := digits(text, from, end-from, base)
	if !ok || v > 0x10FFFF {
		return b, 0
	}
	return append(b, string(rune(v))...), end + 1
}

// letters holds the single-letter escapes of JSON and Go.
var letters = [256]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', 'a': '\a', 'v': '\v'}

// backslash decodes \n, \", \u0041, \x41 and \U00000041. It removes a backslash before any other
// character.
func backslash(text string, b []byte) (s []byte, n int) {
	if len(text) == 1 {
		return b, 0
	}
	switch c := text[1]; c {
	case 'x':
		if v, ok := digits(text, 2, 2, 16); ok {
			return append(b, byte(v)), 4
		}
	case 'U':
		if v, ok := digits(text, 2, 8, 16); ok && v <= 0x10FFFF {
			return append(b, string(rune(v))...), 10
		}
	case 'u':
		v, ok := digits(text, 2, 4, 16)
		if !ok {
			break
		}
		if low, ok := digits(text, 8, 4, 16); ok && text[6:8] == `\u` {
			if r := utf16.DecodeRune(rune(v), rune(low)); r != '\uFFFD' {
				return append(b, string(r)...), 12
			}
		}
		return append(b, string(rune(v))...), 6
	}
	if c := letters[text[1]]; c != 0 {
		return append(b, c), 2
	}
	return append(b, text[1]), 2
}

// digits parses n digits of text at offset from.
func digits(text string, from, n, base int) (v int, ok bool) {
	if n < 1 || n > 8 || len(text) < from+n {
		return 0, false
	}
	for _, c := range []byte(text[from : from+n]) {
		d := 99
		switch {
		case '0' <= c && c <= '9':
			d = int(c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			d = int(c|0x20-'a') + 10
		}
		if d >= base {
			return 0, false
		}
		v = v*base + d
	}
	return v, true
}
