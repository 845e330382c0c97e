package workflow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/weftrun/weft/internal/exprs"
	"github.com/weftrun/weft/state/record"
)

// The bounds of one file.
const (
	maxBytes = 1 << 20
	maxParts = 50_000  // lines and commas: what makes a parser slow
	maxNodes = 500     // nodes of the graph, fields of the state, and tests
	maxDepth = 64      // levels of YAML
	maxTree  = 20_000  // values, with every alias written out
	maxLine  = 1_000   // bytes of a line that is shown
	maxText  = 2 << 20 // bytes of all values, with every alias written out
	maxType  = 8 << 10 // bytes of a type
	maxExprs = 20_000  // parts of all expressions
)

// source is the text of one file, and where its mistakes are put.
type source struct {
	path string
	text []byte
	*problems
	opts    *Options
	exprs   *exprs.Compiler
	members int                    // of all types so far
	spent   bool                   // exprs has no parts left, and that was reported
	vault   *vault                 // set once the secrets are read
	types   map[string]record.Type // set once they are read
	reads   exprs.Reads            // what the expressions of the node that is looked at read

	whole string // text, and where its lines begin; made by index
	lines []int

	far place // the last one that the mistakes of an expression were looked for from
}

// at returns the place of n as file:line:col.
func (s *source) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d:%d", s.path, n.Line, n.Column) }

func (s *source) fail(n *yaml.Node, code Code, format string, args ...any) {
	s.failAt(n.Line, n.Column, code, "", format, args...)
}

func (s *source) failAt(line, col int, code Code, hint, format string, args ...any) {
	p := s.placed(line, col, 0, code, hint, fmt.Sprintf(format, args...))
	p.Fix = p.fixOf(args)
	s.add(p)
}

// warnAt reports what is no mistake, unless the options are strict.
func (s *source) warnAt(line, col int, code Code, hint, format string, args ...any) {
	p := s.placed(line, col, 0, code, hint, fmt.Sprintf(format, args...))
	p.Fix, p.Warning = p.fixOf(args), !s.opts.Strict
	s.add(p)
}

// placed returns a problem. A width of 0 means the word at that place.
func (s *source) placed(line, col, width int, code Code, hint, msg string) Problem {
	line, col = max(line, 1), max(col, 1)
	text := s.line(line)
	if width == 0 {
		width = wordAt(text, col)
	}
	width = max(1, min(width, utf8.RuneCountInString(text)-col+1))
	return Problem{Code: code, File: s.path, Line: line, Col: col, Width: width, Msg: msg, Hint: hint, Text: text}
}

// parse returns the root of the one document in the file, or nil. Everything below
// it is safe to walk: bounded, without cycles, doubtful keys or foreign tags.
func (s *source) parse() *yaml.Node {
	if len(s.text) <= maxBytes {
		s.index()
	}
	if !s.readable() {
		return nil
	}
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(s.text))
	switch err := decode(dec, &doc); {
	case errors.Is(err, io.EOF):
		s.failAt(1, 1, "WF002", "", "the file is empty")
		return nil
	case err != nil:
		s.syntax(err)
		return nil
	}
	switch err := decode(dec, &more); {
	case err == nil:
		s.failAt(more.Line, more.Column, "WF003", "", "a second document begins here; a file must have one workflow")
		return nil
	case !errors.Is(err, io.EOF):
		s.syntax(err)
		return nil
	}
	root := doc.Content[0]
	g := guard{source: s, open: map[*yaml.Node]bool{}}
	if !g.walk(root, 1) || g.mistakes {
		return nil
	}
	return root
}

// readable checks the bytes before any parser sees them.
func (s *source) readable() bool {
	switch nul := bytes.IndexByte(s.text, 0); {
	case len(s.text) > maxBytes:
		s.failAt(1, 1, "WF601", "", "the file has %d bytes; the maximum is %d", len(s.text), maxBytes)
	case nul >= 0:
		s.failAt(bytes.Count(s.text[:nul], []byte("\n"))+1, 1, "WF005", "", "the file has a zero byte; it must be UTF-8 text")
	case !utf8.Valid(s.text):
		s.failAt(1, 1, "WF005", "", "the file is not UTF-8 text")
	case bytes.Count(s.text, []byte("\n"))+bytes.Count(s.text, []byte(",")) > maxParts:
		s.failAt(1, 1, "WF601", "", "the file has more than %d lines and list items", maxParts)
	default:
		return true
	}
	return false
}

// decode reads one document. The parser's panics become errors.
func decode(dec *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return dec.Decode(into)
}

var (
	syntaxLine    = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	indentation   = regexp.MustCompile(`^did not find expected (key|'-' indicator)|tab character|cannot start any token`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntax reports what the parser could not read. The parser gives the line or nothing, and
// counts lines from 0 where it expected another token.
func (s *source) syntax(err error) {
	msg, line := err.Error(), 1
	if m := syntaxLine.FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		msg = msg[len(m[0]):]
	}
	if strings.HasPrefix(msg, "did not find expected") {
		line++
	}
	if m := unknownAnchor.FindStringSubmatch(msg); m != nil {
		before, _, _ := strings.Cut(string(s.text), "*"+m[1])
		line = strings.Count(before, "\n") + 1
	}
	hint := ""
	if strings.HasPrefix(msg, "did not find expected ',' or") {
		hint = "inside [ ] and { }, quote text that contains ? : , [ ] { or }"
	}
	col := 1
	if indentation.MatchString(msg) {
		if l, c, help := s.misindented(); l > 0 {
			line, col, hint = l, c, help
		}
	}
	s.failAt(line, col, "WF001", hint, "YAML: %s", msg)
}

// exprErrors reports a mistake in an expression inside the scalar n.
func (s *source) exprErrors(n *yaml.Node, err error) {
	var all exprs.Errors
	if !errors.As(err, &all) {
		s.fail(n, "WF201", "%v", err)
		return
	}
	if s.spent && all[0].Class == exprs.Total {
		return // it was said
	}
	f := s.findNext(n)
	for _, e := range all {
		s.spent = s.spent || e.Class == exprs.Total
		line, col := f.of(e.Offset)
		msg, hint := message(e)
		if s.brokenByYAML(n, e, line) {
			msg += `: YAML already turned \n in double quotes into a newline`
			hint = `write \\n there, or put the value into single quotes and the text in it into double quotes: '${{ join(x, "\n") }}'`
		}
		p := s.placed(line, col, e.Width, exprCodes[e.Class], hint, msg)
		if runes := []rune(p.Text); e.Suggest != "" && p.Col-1+p.Width <= len(runes) {
			p.Fix = guessOf(string(runes[p.Col-1:p.Col-1+p.Width]), e.Suggest).fix(p.Text, p.Col)
		}
		s.add(p)
	}
}

// exprCodes are the codes of mistakes in expressions.
var exprCodes = map[exprs.Class]Code{
	exprs.Syntax: "WF201", exprs.Name: "WF202", exprs.Field: "WF203", exprs.Types: "WF204",
	exprs.Marks: "WF206", exprs.Truth: "WF207", exprs.Size: "WF605", exprs.Total: "WF606",
}

// runError returns an expression's error at run time, with its place in the file.
func (s *source) runError(n *yaml.Node, err error) error {
	var e *exprs.Error
	if !errors.As(err, &e) {
		return &RunError{s.at(n), err.Error()}
	}
	line, col := s.locate(n, e.Offset)
	msg, hint := message(e)
	if hint != "" {
		msg += " (" + hint + ")"
	}
	return &RunError{fmt.Sprintf("%s:%d:%d", s.path, line, col), msg}
}

// locate returns the place in the file of a byte of a scalar's value.
func (s *source) locate(n *yaml.Node, offset int) (line, col int) { return s.find(n).of(offset) }

// finder goes through a scalar's value and its text in the file side by side, from one byte to a
// later one. YAML folds and indents text in many ways but keeps all that is no space, so those
// runes are counted. An escape in double quotes puts it off by the escape's length.
type finder struct {
	value  string // what was not gone through
	offset int    // of value
	single bool   // the scalar is in single quotes
	place
}

// find returns a finder for a scalar.
func (s *source) find(n *yaml.Node) *finder { return s.finder(n, place{n.Line, 1, s.from(n.Line)}) }

// findNext is find while the file is read, where scalars come one after the other, often in one
// long line.
func (s *source) findNext(n *yaml.Node) *finder {
	if s.far.line != n.Line || s.far.col > n.Column {
		s.far = place{n.Line, 1, s.from(n.Line)}
	}
	s.far = s.far.to(n.Column)
	return s.finder(n, s.far)
}

// place is a line and a column of the file, and the text from there on.
type place struct {
	line, col int
	text      string
}

// to returns the place at a column of the same line that is not before p.
func (p place) to(col int) place {
	for ; p.col < col; p.col++ {
		_, size := utf8.DecodeRuneInString(p.text)
		p.text = p.text[size:]
	}
	return p
}

func (s *source) finder(n *yaml.Node, near place) *finder {
	f := &finder{value: n.Value, place: near.to(n.Column), single: n.Style&yaml.SingleQuotedStyle != 0}
	switch {
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && f.text != "":
		f.text, f.col = f.text[1:], f.col+1
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		f.place = place{f.line + 1, 1, s.from(f.line + 1)}
	}
	return f
}

// of returns the place of a byte of the value that is not before the last one.
func (f *finder) of(offset int) (line, col int) {
	to := max(0, min(offset-f.offset, len(f.value)))
	left := 0
	for _, r := range f.value[:to] {
		if !unicode.IsSpace(r) {
			left++
		}
	}
	f.value, f.offset = f.value[to:], f.offset+to
	for i, r := range f.text {
		space := unicode.IsSpace(r)
		switch {
		case left == 0 && !space:
			f.text = f.text[i:]
			return f.line, f.col
		case f.single && r == '\'' && strings.HasPrefix(f.text[i+1:], "'"):
		case !space:
			left--
		}
		f.col++
		if lineBreak(f.text[i:]) > 0 {
			f.line, f.col = f.line+1, 1
		}
	}
	f.text = ""
	return f.line, f.col
}

// index finds the lines of the text.
func (s *source) index() {
	s.whole = string(s.text)
	s.lines = []int{0}
	for i := range s.whole {
		if n := lineBreak(s.whole[i:]); n > 0 {
			s.lines = append(s.lines, i+n)
		}
	}
}

// lineBreak returns the length of the end of a line that s begins with, 0 if it begins
// with something else. YAML knows more of them than the line feed.
func lineBreak(s string) int {
	switch r, n := utf8.DecodeRuneInString(s); r {
	case '\n', '\u0085', '\u2028', '\u2029':
		return n
	case '\r':
		if !strings.HasPrefix(s, "\r\n") {
			return n
		}
	}
	return 0
}

// line returns the text of a line without its end. It is "" for a line that is longer
// than people read, so that a thousand mistakes in it cost no more than elsewhere.
func (s *source) line(line int) string {
	text := s.from(line)
	if line < len(s.lines) {
		text = s.whole[s.lines[line-1]:s.lines[line]]
	}
	if len(text) > maxLine {
		return ""
	}
	return withoutEnd(text)
}

// allLines returns the lines without their ends, where YAML sees them end.
func (s *source) allLines() []string {
	all := make([]string, len(s.lines))
	for i, from := range s.lines {
		to := len(s.whole)
		if i+1 < len(s.lines) {
			to = s.lines[i+1]
		}
		all[i] = withoutEnd(s.whole[from:to])
	}
	return all
}

func withoutEnd(line string) string { return strings.TrimRight(line, "\r\n\u0085\u2028\u2029") }

// wordAt returns how many characters the word at a column has: up to the quote that
// closes it, or up to a space or a sign of YAML.
func wordAt(line string, col int) int {
	all := []rune(line)
	if col > len(all) {
		return 1
	}
	rest := all[col-1:]
	if quote := rest[0]; quote == '"' || quote == '\'' {
		if end := slices.Index(rest[1:], quote); end >= 0 {
			return end + 2
		}
	}
	end := slices.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",[]{}", r) })
	if end < 0 {
		end = len(rest)
	}
	return utf8.RuneCountInString(strings.TrimSuffix(string(rest[:max(end, 1)]), ":"))
}

// from returns the text from the start of a line on.
func (s *source) from(line int) string {
	if line > len(s.lines) {
		return ""
	}
	return s.whole[s.lines[line-1]:]
}
