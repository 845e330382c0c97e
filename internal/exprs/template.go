package exprs

import "strings"

const (
	opening = "${{"
	closing = "}}"
)

// piece is a part of a template: literal text, or an expression between ${{ and }}.
type piece struct {
	literal string
	src     source
	isExpr  bool
}

// split splits a scalar into pieces and calls next for each until next returns false. The text $${{
// is a literal ${{.
func split(whole string, next func(piece) bool) *Error {
	var literal strings.Builder
	near := &mark{line: 1, col: 1}
	flush := func() bool {
		text := literal.String()
		literal.Reset()
		return text == "" || next(piece{literal: text})
	}
	for pos := 0; pos < len(whole); {
		at := strings.Index(whole[pos:], opening)
		if at < 0 {
			literal.WriteString(whole[pos:])
			break
		}
		at += pos
		if at > pos && whole[at-1] == '$' {
			literal.WriteString(whole[pos : at-1])
			literal.WriteString(opening)
			pos = at + len(opening)
			continue
		}
		literal.WriteString(whole[pos:at])
		if !flush() {
			return nil
		}
		src, err := expression(whole, at, near)
		if err != nil {
			return err // the beginning of the next piece is unknown
		}
		if !next(piece{src: src, isExpr: true}) {
			return nil
		}
		pos = src.to + len(closing)
	}
	flush()
	return nil
}

// expression finds the end of the expression whose ${{ is at offset at. It parses quotes, comments
// and braces, because a string or a map may contain "}}".
func expression(whole string, at int, near *mark) (source, *Error) {
	src := source{whole: whole, from: at + len(opening), to: len(whole), near: near}
	depth := 0
	for pos := src.from; pos < len(whole); {
		switch c := whole[pos]; {
		case c == '"' || c == '\'' || c == '`':
			end := quoteEnd(whole, pos)
			if end < 0 {
				return src, src.errorAt(pos, 1, "string is not closed")
			}
			pos = end
		case strings.HasPrefix(whole[pos:], "//"):
			pos = lineEnd(whole, pos)
		case strings.HasPrefix(whole[pos:], "/*"):
			end := strings.Index(whole[pos+2:], "*/")
			if end < 0 {
				return src, src.errorAt(pos, 2, "comment is not closed")
			}
			pos += end + 4
		case c == '{':
			depth++
			pos++
		case c == '}' && depth > 0:
			depth--
			pos++
		case strings.HasPrefix(whole[pos:], closing):
			src.to = pos
			return src, nil
		case c == '}':
			return src, src.errorAt(pos, 1, "unexpected }")
		default:
			pos++
		}
	}
	err := src.errorAt(at, len(opening), "${{ is not closed").as(Marks)
	if strings.Contains(src.text(), "//") && strings.Contains(src.text(), closing) {
		err.Hint = "a // comment reaches to the end of its line, over the }}"
	}
	return src, err
}

// quoteEnd returns the offset after the string that opens at pos, or -1. A backquoted string may
// span lines and escapes its quote by doubling it. Other strings escape with a backslash.
func quoteEnd(s string, pos int) int {
	quote := s[pos]
	for i := pos + 1; i < len(s); i++ {
		switch {
		case s[i] == quote && quote == '`' && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i + 1
		case quote == '`':
		case s[i] == '\n':
			return -1
		case s[i] == '\\':
			i++
		}
	}
	return -1
}

func lineEnd(s string, pos int) int {
	if end := strings.IndexByte(s[pos:], '\n'); end >= 0 {
		return pos + end + 1
	}
	return len(s)
}
