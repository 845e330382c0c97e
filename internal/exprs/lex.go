package exprs

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, a literal or a sign of an expression.
type token struct {
	kind     tokenKind
	text     string // a literal text has its value here, without quotes and escapes
	pos, end int    // bytes of the expression
}

type tokenKind uint8

const (
	endToken tokenKind = iota
	nameToken
	numberToken
	textToken
	bytesToken
	operatorToken
	bracketToken
	badToken // text is what is wrong
)

// is reports whether t is one of these operators or brackets.
func (t token) is(texts ...string) bool {
	if t.kind != operatorToken && t.kind != bracketToken {
		return false
	}
	for _, text := range texts {
		if t.text == text {
			return true
		}
	}
	return false
}

// operatorWords are names that are operators or keywords.
var operatorWords = map[string]bool{
	"not": true, "in": true, "or": true, "and": true, "matches": true, "contains": true, "startsWith": true, "endsWith": true,
	"let": true, "if": true, "else": true,
}

// lexer splits an expression into tokens.
type lexer struct {
	text   string
	at     int
	tokens []token
}

// lex returns the tokens of an expression. The last one is an endToken, or a badToken at the place
// where the text stops to be an expression.
func lex(text string) []token {
	l := &lexer{text: text}
	for l.next() {
	}
	return l.tokens
}

// next appends the next token and reports whether there may be more.
func (l *lexer) next() bool {
	l.skipSpace()
	if l.at == len(l.text) {
		_, size := utf8.DecodeLastRuneInString(l.text)
		l.tokens = append(l.tokens, token{pos: len(l.text) - size, end: len(l.text)})
		return false
	}
	rest := l.text[l.at:]
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case strings.HasPrefix(rest, "/*"): // skipSpace stopped at it
		return l.bad(l.at, l.at+2, "comment is not closed")
	case r == '\'' || r == '"':
		return l.quoted(l.at, textToken)
	case (r == 'b' || r == 'B') && (strings.HasPrefix(rest[1:], "'") || strings.HasPrefix(rest[1:], `"`)):
		return l.quoted(l.at+1, bytesToken)
	case r == '`':
		return l.raw()
	case isDigit(r), r == '.' && len(rest) > 1 && isDigit(rune(rest[1])):
		return l.number()
	case isLetter(r):
		name := rest[:wordEnd(rest)]
		if operatorWords[name] {
			return l.emit(operatorToken, len(name))
		}
		return l.emit(nameToken, len(name))
	case strings.ContainsRune("()[]{}", r):
		return l.emit(bracketToken, 1)
	case strings.ContainsRune(signs, r):
		return l.emit(operatorToken, signSize(rest))
	}
	return l.bad(l.at, l.at+size, fmt.Sprintf("unrecognized character: %#U", r))
}

const signs = ",;%+-^&!=*<>|:?./#"

// signSize returns the length of the operator at the beginning of s.
func signSize(s string) int {
	for _, two := range []string{"..", "?.", "??", "||", "&&", "==", "!=", "<=", ">=", "**"} {
		if strings.HasPrefix(s, two) {
			return 2
		}
	}
	return 1
}

func (l *lexer) emit(kind tokenKind, size int) bool {
	l.tokens = append(l.tokens, token{kind: kind, text: l.text[l.at : l.at+size], pos: l.at, end: l.at + size})
	l.at += size
	return true
}

func (l *lexer) bad(pos, end int, msg string) bool {
	l.tokens = append(l.tokens, token{kind: badToken, text: msg, pos: pos, end: end})
	return false
}

// skipSpace skips spaces and comments. It stops at a comment that is not closed.
func (l *lexer) skipSpace() {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case unicode.IsSpace(r):
			l.at += size
		case strings.HasPrefix(rest, "//"):
			l.at = lineEnd(l.text, l.at)
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return
			}
			l.at += end + 4
		default:
			return
		}
	}
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

func isLetter(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) }

// wordEnd returns the length of the letters and digits at the beginning of s.
func wordEnd(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool { return !isLetter(r) && !unicode.IsDigit(r) })
	if end < 0 {
		return len(s)
	}
	return end
}

// quoted reads a string in quotes, of which the first is at pos.
func (l *lexer) quoted(pos int, kind tokenKind) bool {
	start := l.at
	end := quoteEnd(l.text, pos)
	if end < 0 {
		return l.bad(start, start+1, "string is not closed")
	}
	value, err := unquote(l.text[pos+1:end-1], l.text[pos])
	if err != nil {
		return l.bad(start, end, "a string has an escape that does not exist; write \\\\ for a backslash")
	}
	l.at = end
	l.tokens = append(l.tokens, token{kind: kind, text: value, pos: start, end: end})
	return true
}

// unquote replaces the escapes of a string: those of Go, and \u{…} with up to six digits.
func unquote(s string, quote byte) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for s != "" {
		if digits, ok := strings.CutPrefix(s, `\u{`); ok {
			hex, rest, _ := strings.Cut(digits, "}")
			r, err := strconv.ParseUint(hex, 16, 24)
			if err != nil || len(hex) > 6 || r > unicode.MaxRune {
				return "", strconv.ErrSyntax
			}
			b.WriteRune(rune(r))
			s = rest
			continue
		}
		r, _, rest, err := strconv.UnquoteChar(s, quote)
		if err != nil {
			return "", err
		}
		b.WriteRune(r)
		s = rest
	}
	return b.String(), nil
}

// raw reads a string in backquotes. Two backquotes in it are read as one.
func (l *lexer) raw() bool {
	end := quoteEnd(l.text, l.at)
	if end < 0 {
		return l.bad(l.at, l.at+1, "string is not closed")
	}
	value := strings.ReplaceAll(l.text[l.at+1:end-1], "``", "`")
	l.tokens = append(l.tokens, token{kind: textToken, text: value, pos: l.at, end: end})
	l.at = end
	return true
}

// number reads a number: decimal with _ between digits, a fraction and an exponent, or an integer
// with 0x, 0o or 0b.
func (l *lexer) number() bool {
	rest := l.text[l.at:]
	digits := "0123456789_"
	size := 0
	if len(rest) > 1 && rest[0] == '0' {
		switch rest[1] {
		case 'x', 'X':
			digits, size = "0123456789abcdefABCDEF_", 2
		case 'o', 'O':
			digits, size = "01234567_", 2
		case 'b', 'B':
			digits, size = "01_", 2
		}
	}
	run := func() {
		for size < len(rest) && strings.IndexByte(digits, rest[size]) >= 0 {
			size++
		}
	}
	run()
	if after := rest[size:]; strings.HasPrefix(after, ".") && !strings.HasPrefix(after, "..") {
		size++
		run()
	}
	if size < len(rest) && (rest[size] == 'e' || rest[size] == 'E') {
		if size++; size < len(rest) && (rest[size] == '+' || rest[size] == '-') {
			size++
		}
		run()
	}
	if word := wordEnd(rest[size:]); word > 0 {
		return l.bad(l.at, l.at+size+word, fmt.Sprintf("bad number syntax: %q", rest[:size+word]))
	}
	return l.emit(numberToken, size)
}
