package exprs

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// pattern is a regular expression with its cost in steps for 64 bytes of text.
type pattern struct {
	re   *regexp.Regexp
	size int
}

func newPattern(text string) (*pattern, error) {
	if len(text) > MaxSource {
		return nil, errText
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	size, err := patternSize(text)
	return &pattern{re: re, size: size}, err
}

// matches reports whether a text matches a pattern. It is false if one of them is nil. constant is
// the compiled pattern, or nil if it is known at run time only.
func matches(m *meter, a, b any, constant *pattern) (bool, error) {
	if a == nil || b == nil {
		return false, nil
	}
	s, ok := a.(string)
	if !ok {
		return false, fmt.Errorf("matches wants text, not %s", kindName(a))
	}
	p := constant
	if p == nil {
		text, ok := b.(string)
		if !ok {
			return false, fmt.Errorf("a pattern is text, not %s", kindName(b))
		}
		var err error
		if p, err = newPattern(text); err != nil {
			return false, err
		}
		if err := m.spend(100 + p.size); err != nil { // compiling
			return false, err
		}
	}
	if err := m.spend(1 + p.size*utf8.RuneCountInString(s)/64); err != nil {
		return false, err
	}
	return p.re.MatchString(s), nil
}

// patternSize returns the number of instructions of a pattern's program. It bounds the work for
// each byte of text.
func patternSize(pattern string) (int, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0, err
	}
	return len(prog.Inst), nil
}
