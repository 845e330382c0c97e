package workflow

import (
	"bytes"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// Format returns a file in its canonical form. Each level, and each list under its key, is indented
// by two spaces. One space follows a dash, and no line ends in a space. There is at most one blank
// line in a row, and one newline at the end. Everything else is unchanged: comments, quotes, the
// order of keys, the alignment of values, and the content of text blocks. Formatting a formatted
// file changes nothing. If the text is not YAML, the error is an *Error. Format does not check
// names and types.
func Format(path string, src []byte) ([]byte, error) {
	s := &source{path: path, text: src, problems: &problems{most: maxProblems}}
	root := enough(s.parse)
	if root == nil {
		return nil, s.err()
	}
	f := formatter{lines: s.allLines(), starts: map[int]start{}, inside: map[int]bool{}}
	f.walk(root, 0)
	out := []byte(f.format())
	again := &source{path: path, text: out, problems: new(problems)}
	if root2 := again.parse(); root2 == nil || !sameTree(root, root2) {
		s.fail(root, "WF013", "the file cannot be formatted without changing its meaning")
		return nil, s.err()
	}
	return out, nil
}

// formatter moves lines to where they belong.
type formatter struct {
	lines  []string
	starts map[int]start // by line, from 1
	inside map[int]bool  // lines that go on with a text in quotes
}

// start describes a line that begins with a key or a dash of a block.
type start struct {
	was, is int  // spaces before it
	text    bool // a block of text begins in the line, and reaches as far as lines are indented more than owner
	owner   int
}

// walk marks the lines that begin a key or an item of a block.
func (f *formatter) walk(n *yaml.Node, indent int) {
	f.quoted(n)
	if n.Kind == yaml.AliasNode {
		return
	}
	if n.Style&yaml.FlowStyle != 0 {
		for _, c := range n.Content {
			f.walk(c, 0)
		}
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			f.mark(key.Line, key.Column-1, indent)
			f.quoted(key)
			f.text(value, key.Column-1)
			f.walk(value, indent+2)
		}
	case yaml.SequenceNode:
		dash := n.Column - 1
		for _, item := range n.Content {
			if n.Anchor != "" {
				dash = spaces(f.line(item.Line))
			}
			f.mark(f.dashOf(item.Line, dash), dash, indent)
			f.text(item, dash)
			f.walk(item, indent+2)
		}
	}
}

// quoted marks the lines that a text in quotes reaches into.
func (f *formatter) quoted(n *yaml.Node) {
	quote := byte('"')
	switch {
	case n.Style&yaml.SingleQuotedStyle != 0:
		quote = '\''
	case n.Style&yaml.DoubleQuotedStyle == 0:
		return
	}
	rest := string([]rune(f.line(n.Line))[min(n.Column-1, len([]rune(f.line(n.Line)))):])
	if at := strings.IndexByte(rest, quote); at < 0 || closed(rest[at+1:], quote) {
		return
	}
	for l := n.Line + 1; l <= len(f.lines); l++ {
		f.inside[l] = true
		if closed(f.line(l), quote) {
			return
		}
	}
}

// closed reports whether a text in quotes ends in a line.
func closed(line string, quote byte) bool {
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && quote == '"', line[i] == quote && quote == '\'' && strings.HasPrefix(line[i+1:], "'"):
			i++
		case line[i] == quote:
			return true
		}
	}
	return false
}

// dashOf returns the line of the dash at a column whose item begins in line.
func (f *formatter) dashOf(line, dash int) int {
	for l := line; l > 0; l-- {
		if text := f.line(l); len(text) > dash && text[dash] == '-' {
			return l
		}
	}
	return line
}

func (f *formatter) mark(line, was, is int) {
	if _, ok := f.starts[line]; !ok && spaces(f.line(line)) == was {
		f.starts[line] = start{was: was, is: is}
	}
}

// text marks the line in which a block of text begins.
func (f *formatter) text(n *yaml.Node, owner int) {
	if s, ok := f.starts[n.Line]; ok && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		s.text, s.owner = true, owner
		f.starts[n.Line] = s
	}
}

func (f *formatter) line(n int) string {
	if n < 1 || n > len(f.lines) {
		return ""
	}
	return f.lines[n-1]
}

func spaces(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

var dashes = regexp.MustCompile(`^(?:- +)+`)

// format writes all lines.
func (f *formatter) format() string {
	var out bytes.Buffer
	at, blank := start{}, 0
	for i := 1; i <= len(f.lines); i++ {
		line := strings.TrimRight(f.line(i), " \t")
		s, begins := f.starts[i]
		switch {
		case begins:
			at = s
			line = pad(s.is) + normalDashes(line[min(s.was, len(line)):])
		case line == "":
			blank++
			continue
		case strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") && !f.inside[i]:
			line = pad(f.commentIndent(i, at)) + strings.TrimLeft(line, " \t")
		default:
			f.blanks(&out, blank, blank) // they are inside a value
			blank = 0
			line = f.shift(line, at)
		}
		f.blanks(&out, blank, 1)
		blank = 0
		out.WriteString(line + "\n")
		if begins && s.text {
			i = f.textBlock(&out, i, s)
		}
	}
	return out.String()
}

// blanks writes n blank lines, but at most so many, and none at the top.
func (f *formatter) blanks(out *bytes.Buffer, n, most int) {
	if out.Len() > 0 {
		out.WriteString(strings.Repeat("\n", min(n, most)))
	}
}

// textBlock copies a block of text and returns its last line. All of it is
// content, including its blank lines and the spaces at the ends of its lines.
func (f *formatter) textBlock(out *bytes.Buffer, line int, s start) int {
	last := line
	for i := line + 1; i <= len(f.lines); i++ {
		text := f.line(i)
		if strings.TrimLeft(text, " ") != "" && spaces(text) <= s.owner {
			break
		}
		if strings.TrimSpace(text) != "" {
			last = i
		}
	}
	keep := strings.Contains(f.line(line), "+")
	if keep { // the blank lines behind it belong to it
		for last < len(f.lines)-1 && strings.TrimSpace(f.line(last+1)) == "" {
			last++
		}
	}
	for i := line + 1; i <= last; i++ {
		text := f.line(i)
		if strings.TrimLeft(text, " ") == "" && !keep && spaces(text) <= s.owner {
			text = ""
		}
		out.WriteString(f.shift(text, s) + "\n")
	}
	return last
}

// shift moves a line that goes on with a value as its beginning was moved.
func (f *formatter) shift(line string, s start) string {
	if line == "" {
		return ""
	}
	n := spaces(line)
	return pad(n+s.is-s.was) + line[n:]
}

// commentIndent aligns a comment with the next key, if it was written so, or else with an earlier
// key.
func (f *formatter) commentIndent(line int, at start) int {
	text := strings.TrimLeft(f.line(line), " \t")
	was := len(f.line(line)) - len(text)
	for i := line + 1; i <= len(f.lines); i++ {
		if s, ok := f.starts[i]; ok {
			if s.was == was {
				return s.is
			}
			break
		}
	}
	for i := line - 1; i > 0; i-- {
		if s, ok := f.starts[i]; ok && s.was == was {
			return s.is
		}
	}
	return was + at.is - at.was
}

func pad(n int) string { return strings.Repeat(" ", max(n, 0)) }

// normalDashes leaves one space after each dash that an item follows.
func normalDashes(line string) string {
	head := dashes.FindString(line)
	return strings.Repeat("- ", strings.Count(head, "-")) + line[len(head):]
}

// sameTree reports whether two trees have the same content, at whatever places.
func sameTree(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Style != b.Style || a.Tag != b.Tag || a.Value != b.Value || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameTree(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
