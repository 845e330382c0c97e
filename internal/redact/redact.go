package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// Secret is a value and the text that replaces it.
type Secret struct{ Value, Shown string }

// Redactor replaces secrets. It is immutable and safe for concurrent use. A nil Redactor replaces
// nothing.
type Redactor struct {
	byFirst [256][]pattern // by the first byte, after plusToSpace
	secrets []Secret
}

// pattern is one encoding of a secret.
type pattern struct {
	text, shown string
	// part is true if text is the base64 of a secret inside a longer value. The digit before text
	// and the digit after it may also hold bits of the secret.
	part bool
}

// maxLayers is the greatest number of layers of escapes that are removed.
const maxLayers = 6

// minPart is the least number of base64 digits of a pattern with part set. A shorter pattern would
// also match texts without the secret.
const minPart = 6

// New returns a Redactor that replaces the secrets. It ignores those with an empty value.
func New(secrets ...Secret) *Redactor {
	r := &Redactor{secrets: slices.Clone(secrets)}
	for _, s := range secrets {
		if s.Value == "" {
			continue
		}
		for _, p := range patterns(s) {
			c := plusToSpace(p.text[0])
			r.byFirst[c] = append(r.byFirst[c], p)
		}
	}
	return r
}

// With returns a Redactor that replaces the secrets of r and those in more.
func (r *Redactor) With(more ...Secret) *Redactor {
	if r == nil {
		return New(more...)
	}
	return New(slices.Concat(r.secrets, more)...)
}

func patterns(s Secret) []pattern {
	raw := []byte(s.Value)
	base16 := hex.EncodeToString(raw)
	all := []pattern{{s.Value, s.Shown, false}, {base16, s.Shown, false}, {strings.ToUpper(base16), s.Shown, false}}
	if valid := string([]rune(s.Value)); valid != s.Value { // JSON replaces bytes that are not UTF-8
		all = append(all, pattern{valid, s.Shown, false})
	}
	// Removing the escapes of a text also changes a secret that looks escaped. So its form without
	// escapes is a pattern too, unless it is so short that it would match other texts.
	if plain := top(&layer{text: s.Value}).text; plain != s.Value && len(plain) >= 4 {
		all = append(all, pattern{plain, s.Shown, false})
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		unpadded := enc.WithPadding(base64.NoPadding)
		all = append(all, pattern{enc.EncodeToString(raw), s.Shown, false}, pattern{unpadded.EncodeToString(raw), s.Shown, false})
		for shift := range 3 { // bytes before the secret, modulo 3
			text := unpadded.EncodeToString(append(make([]byte, shift), raw...))
			if first, end := (shift*8+5)/6, (shift+len(raw))*8/6; end-first >= minPart {
				all = append(all, pattern{text[first:end], s.Shown, true})
			}
		}
	}
	return all
}

// top returns l with all layers of escapes removed, at most maxLayers.
func top(l *layer) *layer {
	for range maxLayers {
		next := l.up()
		if next == nil {
			break
		}
		l = next
	}
	return l
}

// found is an occurrence of a secret in the original text.
type found struct {
	from, to int
	shown    string
}

// Replace returns text with each secret replaced by its Shown text.
func (r *Redactor) Replace(text string) string {
	if r == nil || len(r.secrets) == 0 {
		return text
	}
	var all []found
	for l, n := (&layer{text: text}), 0; l != nil && n <= maxLayers; l, n = l.up(), n+1 {
		all = r.find(l, all)
	}
	if len(all) == 0 {
		return text
	}
	// Sort by offset. At the same offset the longest occurrence comes first.
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var b strings.Builder
	done := 0
	for _, f := range all {
		if f.from >= done {
			b.WriteString(text[done:f.from])
			b.WriteString(f.shown)
		}
		done = max(done, f.to)
	}
	b.WriteString(text[done:])
	return b.String()
}

// find appends the occurrences of secrets in a layer to all.
func (r *Redactor) find(l *layer, all []found) []found {
	for at := range len(l.text) {
		for i := range r.byFirst[plusToSpace(l.text[at])] {
			p := &r.byFirst[plusToSpace(l.text[at])][i]
			if !begins(l.text[at:], p.text) {
				continue
			}
			from, to := at, at+len(p.text)
			if p.part && from > 0 && isDigit(l.text[from-1]) {
				from--
			}
			if p.part && to < len(l.text) && isDigit(l.text[to]) {
				to++
			}
			f := found{shown: p.shown}
			f.from, f.to = l.span(from, to)
			all = append(all, f)
		}
	}
	return all
}

// plusToSpace returns a space for a plus, and any other byte unchanged. A URL query writes a space
// as a plus.
func plusToSpace(c byte) byte {
	if c == '+' {
		return ' '
	}
	return c
}

// begins is strings.HasPrefix, but treats plus and space as equal.
func begins(text, prefix string) bool {
	if len(text) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if text[i] != prefix[i] && plusToSpace(text[i]) != plusToSpace(prefix[i]) {
			return false
		}
	}
	return true
}

// isDigit reports whether c is a digit of base 64.
func isDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("+/-_", c) >= 0
}
