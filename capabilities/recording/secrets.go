package recording

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftrun/weft/internal/redact"
)

// minSecret is the length from which on a value is replaced. A shorter one, such as the x that a
// server without keys gets, is in every text.
const minSecret = 4

// Redact returns a function that replaces the values of secrets in a text, as [Options.Secrets] are
// replaced.
func Redact(secrets map[string]string) func(string) string {
	var all []redact.Secret
	for name, v := range secrets {
		if len(v) >= minSecret {
			all = append(all, redact.Secret{Value: v, Shown: "[secret " + name + "]"})
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
		c.shown = append(c.shown, s.Shown)
	}
	return func(s string) string { return c.clean(s, c.shown) }
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
