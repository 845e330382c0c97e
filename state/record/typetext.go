package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/weftrun/weft/internal/fieldname"
)

// ParseType reads the text form of a type:
//
//	string  int  number  bool  any  blob
//	list<T>  map<T>                     a map's keys are strings
//	object{url: string, title?: string}  ? marks what may be absent
//	Source  go:Source                   a name in named
//
// A name in named cannot hide a type of the language.
func ParseType(s string, named map[string]Type) (Type, error) {
	p := typeParser{text: s, rest: s, named: named}
	t, err := p.parse(0)
	if err == nil && p.next() != "" {
		err = fmt.Errorf("unexpected %q at the end", p.next())
	}
	if err != nil {
		return Type{}, fmt.Errorf("state: type %q: %w", s, err)
	}
	return t, nil
}

const maxTypeDepth = 32

type typeParser struct {
	text, rest string
	named      map[string]Type
}

func (p *typeParser) parse(depth int) (Type, error) {
	if depth > maxTypeDepth {
		return Type{}, fmt.Errorf("nested deeper than %d levels", maxTypeDepth)
	}
	word := p.take()
	if word == "go" && p.next() == ":" { // a type that the program registers
		word += p.take() + p.take()
	}
	switch {
	case word == "list" || word == "map":
		return p.parseElem(word, depth)
	case word == "object":
		return p.parseObject(depth)
	case word == "any":
		return Type{}, nil
	case word == BlobType.name:
		return BlobType, nil
	case slices.Contains(baseTypes, word):
		return Type{base: word}, nil
	}
	if t, ok := p.named[word]; ok {
		t.name = word
		return t, nil
	}
	return Type{}, p.unknown(word)
}

func (p *typeParser) parseElem(base string, depth int) (Type, error) {
	if err := p.expect("<"); err != nil {
		return Type{}, fmt.Errorf("%w: write %s<T>", err, base)
	}
	elem, err := p.parse(depth + 1)
	if err == nil {
		err = p.expect(">")
	}
	return Type{base: base, elem: &elem}, err
}

func (p *typeParser) parseObject(depth int) (Type, error) {
	if err := p.expect("{"); err != nil {
		return Type{}, fmt.Errorf("%w: write object{name: type, …}", err)
	}
	var members []Member
	for p.next() != "}" {
		m, err := p.parseMember(depth)
		if err != nil {
			return Type{}, err
		}
		members = append(members, m)
		if p.next() != "," {
			break
		}
		p.take()
	}
	if err := p.expect("}"); err != nil {
		return Type{}, err
	}
	return ObjectType(members...)
}

func (p *typeParser) parseMember(depth int) (m Member, err error) {
	m.Name = p.take()
	if p.next() == "?" {
		p.take()
		m.Optional = true
	}
	if err = p.expect(":"); err == nil {
		m.Type, err = p.parse(depth + 1)
	}
	return m, err
}

func (p *typeParser) expect(want string) error {
	if got := p.take(); got != want {
		return fmt.Errorf("want %q, got %q", want, got)
	}
	return nil
}

func (p *typeParser) unknown(word string) error {
	if fieldname.Fault(strings.TrimPrefix(word, "go:")) != "" {
		return fmt.Errorf("want a type, got %q", word)
	}
	known := append(slices.Clone(baseTypes), BlobType.name, "list<T>", "map<T>")
	known = append(known, slices.Sorted(maps.Keys(p.named))...)
	return fmt.Errorf("unknown type %q; the types are %s", word, strings.Join(known, ", "))
}

// next returns the token that comes next, "" at the end.
func (p *typeParser) next() string {
	p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace)
	if end := strings.IndexFunc(p.rest, func(r rune) bool { return !fieldname.Rune(r) }); end > 0 {
		return p.rest[:end]
	} else if end < 0 {
		return p.rest
	}
	for i := range p.rest {
		if i > 0 {
			return p.rest[:i]
		}
	}
	return p.rest
}

func (p *typeParser) take() string {
	tok := p.next()
	p.rest = p.rest[len(tok):]
	return tok
}
