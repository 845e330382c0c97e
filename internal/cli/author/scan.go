package author

import (
	"regexp"
	"strconv"
	"strings"
)

// scanner reads the structure of a YAML text that may end anywhere. Unlike a parser it has no
// mistakes: what it does not understand is text.
type scanner struct {
	text  string
	pos   int
	stack []frame
	keys  []keyAt
	end   ending
}

// frame is a mapping or a list that is open.
type frame struct {
	flow, list bool
	indent     int // of a block: the column at which it begins, from 0
	index      int // of the item of a list
	key        string
	valued     bool // the value of key has begun
}

// keyAt is a key of a mapping.
type keyAt struct {
	parent string // the path of the mapping
	name   string
	value  string // if it is plain text in one line
	start  int    // in bytes
}

// ending is where a text ends.
type ending struct {
	kind  endKind
	start int // of the word or of the text that is open
	col   int // of a line in a block
}

type endKind int

const (
	inNothing endKind = iota // such as a remark
	inLine                   // at the first word of a line, or before it
	inKey                    // in braces, where a key may be
	inValue                  // in a plain value, or before it
	inText                   // in quotes or in a block of text
)

// scan reads a text to its end.
func scan(text string) *scanner {
	s := &scanner{text: text}
	for s.pos < len(text) {
		s.line()
	}
	if s.end.kind == inNothing && (text == "" || strings.HasSuffix(text, "\n")) && !s.inFlow() {
		s.end = ending{inLine, len(text), 0}
	}
	return s
}

func (s *scanner) inFlow() bool { return len(s.stack) > 0 && s.stack[len(s.stack)-1].flow }

// rest returns where the line at a position ends.
func (s *scanner) rest(from int) int {
	if n := strings.IndexByte(s.text[from:], '\n'); n >= 0 {
		return from + n
	}
	return len(s.text)
}

// keyText is a key at the beginning of a line, with its colon.
var keyText = regexp.MustCompile(`^(?:"([^"\n]*)"|'([^'\n]*)'|([^\s#"'{}\[\],&*!|>%@:-][^:#\n]*?)) *:(?:[ \n]|$)`)

// line reads a line of a block.
func (s *scanner) line() {
	start, end := s.pos, s.rest(s.pos)
	for s.pos < end && s.text[s.pos] == ' ' {
		s.pos++
	}
	for s.pos < end && s.text[s.pos] == '-' && (s.pos+1 == end || s.text[s.pos+1] == ' ') {
		s.item(s.pos - start)
		for s.pos++; s.pos < end && s.text[s.pos] == ' '; s.pos++ {
		}
	}
	switch {
	case s.pos == end:
		s.at(ending{inLine, s.pos, s.pos - start}, end)
		s.pos = end + 1
	case s.text[s.pos] == '#':
		s.pos = end + 1
	default:
		s.entry(s.pos-start, end)
	}
}

// at notes where the text ends, if that is at a position.
func (s *scanner) at(e ending, pos int) {
	if pos >= len(s.text) {
		s.end = e
	}
}

// item begins an item of a list at a column.
func (s *scanner) item(col int) {
	for n := len(s.stack); n > 0 && s.stack[n-1].indent > col; n-- {
		s.stack = s.stack[:n-1]
	}
	if n := len(s.stack); n > 0 && s.stack[n-1].list && s.stack[n-1].indent == col {
		s.stack[n-1].index++
		return
	}
	s.stack = append(s.stack, frame{list: true, indent: col})
}

// leave ends the blocks that do not go on at a column.
func (s *scanner) leave(col int) {
	for n := len(s.stack); n > 0; n-- {
		if f := s.stack[n-1]; f.indent < col || f.indent == col && !f.list {
			return
		}
		s.stack = s.stack[:n-1]
	}
}

// entry reads what a line has from a column on: a key with its value, or a value.
func (s *scanner) entry(col, end int) {
	begin := s.pos
	m := keyText.FindStringSubmatchIndex(s.text[begin:min(end+1, len(s.text))])
	if m == nil {
		if c := s.text[begin]; c == '{' || c == '[' || c == '"' || c == '\'' {
			s.value(col, end)
			return
		}
		s.at(ending{inLine, begin, col}, end)
		s.pos = end + 1
		return
	}
	s.leave(col)
	name := group(s.text[begin:], m)
	if n := len(s.stack); n == 0 || s.stack[n-1].list || s.stack[n-1].indent < col {
		s.stack = append(s.stack, frame{indent: col})
	}
	s.stack[len(s.stack)-1].key = name
	s.note(name, begin)
	s.pos = begin + strings.LastIndexByte(s.text[begin:begin+m[1]], ':') + 1
	s.value(col, end)
}

// group returns the group of a match that is there.
func group(text string, m []int) string {
	for i := 2; i < len(m); i += 2 {
		if m[i] >= 0 {
			return text[m[i]:m[i+1]]
		}
	}
	return ""
}

// note adds a key of the mapping that is open.
func (s *scanner) note(name string, start int) {
	s.keys = append(s.keys, keyAt{parent: pathOf(s.stack[:len(s.stack)-1]), name: name, start: start})
}

// value reads a value; indent is that of its key.
func (s *scanner) value(indent, end int) {
	for s.pos < end && s.text[s.pos] == ' ' {
		s.pos++
	}
	begin := s.pos
	if begin == end {
		s.at(ending{inValue, begin, 0}, end)
		s.pos = end + 1
		return
	}
	switch s.text[begin] {
	case '#':
		s.pos = end + 1
	case '|', '>':
		s.block(indent, end)
	case '{', '[':
		if s.flow() {
			s.pos = s.rest(s.pos) + 1
		}
	case '"', '\'':
		if s.quoted() {
			s.pos = s.rest(s.pos) + 1
		}
	default:
		text := s.text[begin:end]
		if n := strings.Index(text, " #"); n >= 0 {
			text = text[:n]
		} else {
			s.at(ending{inValue, begin, 0}, end)
		}
		if n := len(s.keys); n > 0 {
			s.keys[n-1].value = strings.TrimSpace(text)
		}
		s.pos = end + 1
	}
}

// block reads the lines of a text that are indented more than their key.
func (s *scanner) block(indent, end int) {
	begin := end
	for s.pos = end + 1; s.pos < len(s.text); s.pos = s.rest(s.pos) + 1 {
		line := s.text[s.pos:s.rest(s.pos)]
		if blank := strings.TrimLeft(line, " "); blank != "" && len(line)-len(blank) <= indent {
			return
		}
	}
	if end < len(s.text) {
		s.end = ending{inText, begin, 0}
		if last := s.text[strings.LastIndexByte(s.text, '\n')+1:]; strings.TrimSpace(last) == "" && len(last) <= indent {
			s.end = ending{inLine, len(s.text), len(last)} // the next line may be another key
		}
	}
}

// quoted reads a text in quotes. It returns false if the text does not end.
func (s *scanner) quoted() bool {
	begin, quote := s.pos, s.text[s.pos]
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch s.text[s.pos] {
		case '\\':
			if quote == '"' {
				s.pos++
			}
		case quote:
			s.pos++
			return true
		}
	}
	s.pos = len(s.text)
	s.end = ending{inText, begin + 1, 0}
	return false
}

// flow reads what is in braces or brackets. It returns false if the text ends in them.
func (s *scanner) flow() bool {
	depth := 0
	for s.pos < len(s.text) {
		top := len(s.stack) - 1
		switch c := s.text[s.pos]; c {
		case ' ', '\n', '\t', '\r':
			s.pos++
		case '#':
			s.pos = s.rest(s.pos)
		case '{', '[':
			s.stack = append(s.stack, frame{flow: true, list: c == '[', indent: 1 << 30})
			depth++
			s.pos++
		case '}', ']':
			s.stack = s.stack[:top]
			s.pos++
			if depth--; depth == 0 {
				return true
			}
		case ',':
			s.stack[top].key, s.stack[top].valued = "", false
			s.stack[top].index++
			s.pos++
		case ':':
			s.stack[top].valued = true
			s.pos++
		case '"', '\'':
			begin := s.pos
			if !s.quoted() {
				return false
			}
			s.flowKey(s.text[begin+1:s.pos-1], begin)
		default:
			begin := s.pos
			for s.pos < len(s.text) && !strings.ContainsRune(",{}[]\n", rune(s.text[s.pos])) && !(s.text[s.pos] == ':' && (s.pos+1 == len(s.text) || s.text[s.pos+1] == ' ' || s.text[s.pos+1] == '\n')) {
				s.pos++
			}
			if s.pos == len(s.text) {
				s.endFlow(begin)
				return false
			}
			s.flowKey(strings.TrimSpace(s.text[begin:s.pos]), begin)
		}
	}
	s.endFlow(s.pos)
	return false
}

// flowKey takes a word for a key, unless it is a value.
func (s *scanner) flowKey(word string, start int) {
	if top := &s.stack[len(s.stack)-1]; !top.list && !top.valued {
		top.key = word
		s.note(word, start)
	} else if n := len(s.keys); !top.list && n > 0 {
		s.keys[n-1].value = word
	}
}

func (s *scanner) endFlow(start int) {
	s.end = ending{inValue, start, 0}
	if top := s.stack[len(s.stack)-1]; !top.list && !top.valued {
		s.end.kind = inKey
	}
}

// pathOf returns the path of what is in frames, such as nodes/greet/next/[0].
func pathOf(frames []frame) string {
	var parts []string
	for _, f := range frames {
		if f.list {
			parts = append(parts, "["+strconv.Itoa(f.index)+"]")
		} else {
			parts = append(parts, f.key)
		}
	}
	return strings.Join(parts, "/")
}

// place returns the path of the mapping or of the value in which the text ends, and whether a key
// is expected there. ok is false if nothing is.
func (s *scanner) place() (path string, key, ok bool) {
	switch s.end.kind {
	case inKey:
		return pathOf(s.stack[:len(s.stack)-1]), true, true
	case inValue, inText:
		return pathOf(s.stack), false, true
	case inLine:
		s.leave(s.end.col)
		n := len(s.stack)
		switch {
		case n == 0:
			return "", true, s.end.col == 0
		case !s.stack[n-1].list && s.stack[n-1].indent == s.end.col:
			return pathOf(s.stack[:n-1]), true, true
		}
		return pathOf(s.stack), true, true // a mapping, or an item of a list, that begins here
	}
	return "", false, false
}
