package recording

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/redact"
)

// minSecret is the length from which on a value is replaced. A shorter one, such as the x that a
// server without keys gets, is in every text.
const minSecret = 4

// Redact returns a function that replaces the values of secrets in a text, as [Options.Secrets] are
// replaced: also in base 16, in base 64 once or twice, in Latin-1, and escaped or quoted. A value
// in another encoding, such as compressed, reversed or in pieces, is not found.
func Redact(secrets map[string]string) func(string) string {
	var all []redact.Secret
	for name, v := range secrets {
		if len(v) >= minSecret {
			for _, form := range append(forms(v), v) {
				all = append(all, redact.Secret{Value: form, Shown: "[secret " + name + "]"})
			}
		}
	}
	if len(all) == 0 {
		return func(s string) string { return s }
	}
	slices.SortFunc(all, func(a, b redact.Secret) int {
		return cmp.Or(cmp.Compare(len(b.Value), len(a.Value)), cmp.Compare(a.Shown, b.Shown))
	})
	c := cleaner{redact: redact.New(all...)}
	for _, s := range all {
		if !slices.Contains(c.shown, s.Shown) {
			c.shown = append(c.shown, s.Shown)
		}
	}
	return func(s string) string { return c.clean(s, c.shown) }
}

// leastDigits is the least number of digits of base 64 that count as a secret.
const leastDigits = 8

// forms returns what a server may have encoded once more, or in another character set: the value in
// Latin-1, and the digits of its base 64 in a longer value, of which a second base 64 is made.
func forms(v string) (all []string) {
	raws := []string{v}
	if latin, ok := latin1(v); ok && latin != v && len(latin) >= minSecret {
		all, raws = append(all, latin), append(raws, latin)
	}
	for _, raw := range raws {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			for shift := range 3 { // bytes before the value, modulo 3
				text := enc.EncodeToString(append(make([]byte, shift), raw...))
				text = text[(shift*8+5)/6 : (shift+len(raw))*8/6]
				if len(text) >= leastDigits && !slices.Contains(all, text) {
					all = append(all, text)
				}
			}
		}
	}
	return all
}

// latin1 returns a text in Latin-1. ok is false if it has other characters.
func latin1(text string) (latin string, ok bool) {
	var b []byte
	for _, c := range text {
		if c > 0xFF {
			return "", false
		}
		b = append(b, byte(c))
	}
	return string(b), true
}

type cleaner struct {
	redact *redact.Redactor
	shown  []string // what replaces secrets
}

// clean returns s without secrets. What replaces one stays as it is, also where it has the value of
// another.
func (c cleaner) clean(s string, shown []string) string {
	if len(shown) == 0 {
		return c.redact.Replace(s)
	}
	parts := strings.Split(s, shown[0])
	for i := range parts {
		parts[i] = c.clean(parts[i], shown[1:])
	}
	return strings.Join(parts, shown[0])
}
