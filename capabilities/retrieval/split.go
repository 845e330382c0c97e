package retrieval

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/weftrun/weft/state/message"
)

// ErrOptions is returned for Options that are not valid.
var ErrOptions = errors.New("retrieval: invalid options")

// By is where a text is cut.
type By string

// The places. Each cuts more finely where a part is too long.
const (
	ByHeadings   By = ""           // a chunk is of one section of Markdown
	ByParagraphs By = "paragraphs" // a chunk is of whole paragraphs, of one or more sections
	ByTokens     By = "tokens"     // a chunk is as long as it may be, and ends between words
)

// Options are the settings of [Split]. The zero value is valid.
type Options struct {
	By By
	// MaxTokens limits a chunk; 0 is 400.
	MaxTokens int
	// Overlap is how many tokens of its end a chunk shares with the next one, for ByTokens. It must
	// be less than MaxTokens.
	Overlap int
	// Count counts the tokens of a text; nil is message.ApproxTokens. A longer text must not have
	// fewer tokens.
	Count func(string) (int, error)
}

// Chunk is a part of a text.
type Chunk struct {
	// Text is the part, without white space around it.
	Text string `json:"text"`
	// Headings are those of the section where the chunk begins, the outermost first.
	Headings []string `json:"headings,omitempty"`
	// Line is where the chunk begins, from 1.
	Line int `json:"line"`
	// Start and End are its place in the text, in bytes.
	Start int `json:"start"`
	End   int `json:"end"`
}

// Split cuts a text into chunks of at most MaxTokens, in order. The chunks have every word of the
// text. Only a word that is longer than a chunk is cut itself.
func Split(text string, o Options) ([]Chunk, error) {
	o.MaxTokens = cmp.Or(o.MaxTokens, 400)
	switch {
	case !slices.Contains([]By{ByHeadings, ByParagraphs, ByTokens}, o.By):
		return nil, fmt.Errorf("%w: By must be empty, paragraphs or tokens (got %q)", ErrOptions, o.By)
	case o.MaxTokens < 0:
		return nil, fmt.Errorf("%w: MaxTokens must not be negative (got %d)", ErrOptions, o.MaxTokens)
	case o.Overlap < 0 || o.Overlap >= o.MaxTokens:
		return nil, fmt.Errorf("%w: Overlap must be between 0 and MaxTokens, %d (got %d)", ErrOptions, o.MaxTokens, o.Overlap)
	case o.Overlap > 0 && o.By != ByTokens:
		return nil, fmt.Errorf("%w: Overlap is for ByTokens", ErrOptions)
	}
	if o.Count == nil {
		o.Count = func(s string) (int, error) { return message.ApproxTokens(s), nil }
	}
	s := splitter{text: text, o: o}
	if o.By == ByTokens {
		s.cut(0, len(text), o.Overlap)
	} else {
		s.pack(blocks(text))
	}
	if s.err != nil {
		return nil, fmt.Errorf("retrieval: counting tokens: %w", s.err)
	}
	s.place()
	return s.chunks, nil
}

// splitter makes chunks. The first error of Count stays.
type splitter struct {
	text   string
	o      Options
	chunks []Chunk
	err    error
}

// fits reports whether a part of the text is at most limit tokens long.
func (s *splitter) fits(from, to, limit int) bool {
	if s.err != nil {
		return true
	}
	n, err := s.o.Count(strings.TrimSpace(s.text[from:to]))
	s.err = err
	return n <= limit
}

// add adds a chunk, unless it is white space.
func (s *splitter) add(from, to int) {
	part := strings.TrimSpace(s.text[from:to])
	if part == "" {
		return
	}
	from += strings.Index(s.text[from:to], part)
	s.chunks = append(s.chunks, Chunk{Text: part, Start: from, End: from + len(part)})
}

// pack makes chunks of whole blocks, as far as they fit.
func (s *splitter) pack(list []block) {
	from, to, titles := 0, 0, true // titles: there are only headings so far
	for _, b := range list {
		section := s.o.By == ByHeadings && b.level > 0 && !titles
		if to > from && (section || !s.fits(from, b.to, s.o.MaxTokens)) {
			s.add(from, to)
			from, titles = b.from, true
		}
		if to <= from {
			from = b.from
		}
		if to = b.to; !s.fits(from, to, s.o.MaxTokens) {
			s.cut(from, to, 0)
			from = to
		}
		titles = titles && b.level > 0
	}
	s.add(from, to)
}

// cut makes chunks of a part of the text, which end between words.
func (s *splitter) cut(from, to, overlap int) {
	for from < to && s.err == nil {
		end := s.reach(from, to)
		s.add(from, end)
		next := end
		if overlap > 0 && end < to && len(s.chunks) > 0 {
			// What is shared must leave something of both chunks.
			if at := s.back(from, end, overlap); at > s.chunks[len(s.chunks)-1].Start && s.reach(at, to) > end {
				next = at
			}
		}
		from = next
	}
}

// reach returns where a chunk that begins at from ends: after the last word that fits.
func (s *splitter) reach(from, to int) int {
	var ends []int
	for at, some := from, 16; ; some *= 2 {
		for at < to && len(ends) < some {
			at = wordEnd(s.text, at, to)
			ends = append(ends, at)
		}
		if at >= to || !s.fits(from, at, s.o.MaxTokens) {
			break
		}
	}
	n, _ := slices.BinarySearchFunc(ends, true, func(end int, _ bool) int {
		if s.fits(from, end, s.o.MaxTokens) {
			return -1
		}
		return 1
	})
	if n > 0 {
		return ends[n-1]
	}
	return s.within(from, ends[0])
}

// within returns how much of a word that is too long fits, and at least one rune.
func (s *splitter) within(from, to int) int {
	var ends []int
	for i := range s.text[from:to] {
		if i > 0 {
			ends = append(ends, from+i)
		}
	}
	n, _ := slices.BinarySearchFunc(ends, true, func(end int, _ bool) int {
		if s.fits(from, end, s.o.MaxTokens) {
			return -1
		}
		return 1
	})
	if n > 0 {
		return ends[n-1]
	}
	return append(ends, to)[0]
}

// back returns where a chunk begins that shares the last words before end.
func (s *splitter) back(from, end, overlap int) int {
	at := end
	for at > from {
		word := strings.TrimRightFunc(s.text[from:at], unicode.IsSpace)
		begin := from + strings.LastIndexFunc(word, unicode.IsSpace) + 1
		if begin >= at || !s.fits(begin, end, overlap) {
			break
		}
		at = begin
	}
	return at
}

// wordEnd returns the end of the next word.
func wordEnd(text string, from, to int) int {
	word := strings.IndexFunc(text[from:to], func(r rune) bool { return !unicode.IsSpace(r) })
	if word < 0 {
		return to
	}
	space := strings.IndexFunc(text[from+word:to], unicode.IsSpace)
	if space < 0 {
		return to
	}
	return from + word + space
}

// place sets the lines and the headings of the chunks.
func (s *splitter) place() {
	list := blocks(s.text)
	line, at := 1, 0
	for i := range s.chunks {
		c := &s.chunks[i]
		if c.Start < at { // it shares words with the one before
			line, at = 1, 0
		}
		line, at = line+strings.Count(s.text[at:c.Start], "\n"), c.Start
		c.Line, c.Headings = line, headings(list, *c)
	}
}

// headings returns those of the section where a chunk begins. The headings at its beginning are its
// own.
func headings(list []block, c Chunk) (titles []string) {
	var stack []block
	begins := false // whether the chunk begins with a heading
	for _, b := range list {
		if b.from > c.Start && (!begins || b.level == 0 || b.from >= c.End) {
			break
		}
		if b.level == 0 {
			continue
		}
		begins = b.to > c.Start
		for len(stack) > 0 && stack[len(stack)-1].level >= b.level {
			stack = stack[:len(stack)-1]
		}
		stack = append(stack, b)
	}
	for _, b := range stack {
		titles = append(titles, b.title)
	}
	return titles
}
