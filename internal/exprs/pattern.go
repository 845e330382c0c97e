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

func matches(m *meter, args []any) (any, error) {
	if args[0] == nil || args[1] == nil {
		return false, nil
	}
	s, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("matches wants text, not %s", kindName(args[0]))
	}
	p, ok := args[1].(*pattern)
	if !ok {
		text, ok := args[1].(string)
		if !ok {
			return nil, fmt.Errorf("a pattern is text, not %s", kindName(args[1]))
		}
		var err error
		if p, err = newPattern(text); err != nil {
			return nil, err
		}
		if err := m.spend(100 + p.size); err != nil { // compiling
			return nil, err
		}
	}
	if err := m.spend(1 + p.size*utf8.RuneCountInString(s)/64); err != nil {
		return nil, err
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
