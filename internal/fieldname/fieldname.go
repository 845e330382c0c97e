package fieldname

import (
	"fmt"
	"unicode"
)

// Rune reports whether a name may contain r.
func Rune(r rune) bool {
	return r == '_' || r == '-' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// Fault returns why name cannot name a field or a member, or "" when it can.
func Fault(name string) string {
	if name == "" {
		return "the name is empty"
	}
	for _, r := range name {
		if !Rune(r) {
			return fmt.Sprintf("the name has the character %q; use letters, digits, and _ - .", r)
		}
	}
	return ""
}
