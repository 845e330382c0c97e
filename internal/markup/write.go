package markup

import (
	"html"
	"io"
	"strings"
)

// CSS is a style sheet. It is written as it is, so the program must have written it itself.
type CSS string

func (c CSS) addTo(e *Element) {
	if e.name != "style" || strings.Contains(string(c), "</") {
		panic("markup: a style sheet must be in a Style, and must not end it")
	}
	e.content = append(e.content, c)
}

func (c CSS) write(b *strings.Builder) { b.WriteString(string(c)) }

func (s SVG) write(b *strings.Builder) { b.WriteString(string(s)) }

func (t Text) write(b *strings.Builder) { b.WriteString(escape(string(t))) }

// String returns the parts as HTML.
func String(parts ...Part) string {
	var b strings.Builder
	for _, c := range newElement("", parts).content {
		c.write(&b)
	}
	return b.String()
}

// Document writes a page, of which root is the element HTML.
func Document(w io.Writer, root *Element) error {
	_, err := io.WriteString(w, "<!doctype html>\n"+String(root))
	return err
}

// escape returns text for the inside of an element or of a quoted attribute. A browser would read
// a carriage return as a new line, so it is written as a reference.
func escape(text string) string {
	return returns.Replace(html.EscapeString(strings.ToValidUTF8(text, "\ufffd")))
}

var returns = strings.NewReplacer("\r", "&#13;", "\x00", "\ufffd")

func (e *Element) write(b *strings.Builder) {
	b.WriteString("<" + e.name)
	for _, a := range e.attrs {
		b.WriteString(" " + a.name)
		if !a.flag {
			b.WriteString(`="` + escape(a.value) + `"`)
		}
	}
	b.WriteByte('>')
	if withoutEnd[e.name] {
		if len(e.content) > 0 {
			panic("markup: " + e.name + " cannot have content")
		}
	} else {
		for i, c := range e.content {
			if text, ok := c.(Text); i == 0 && ok && keepsLines[e.name] && strings.HasPrefix(string(text), "\n") {
				b.WriteByte('\n') // a browser drops the first one
			}
			c.write(b)
		}
		b.WriteString("</" + e.name + ">")
	}
	if lineEnds[e.name] {
		b.WriteByte('\n')
	}
}

// keepsLines are the elements whose first line break a browser drops.
var keepsLines = map[string]bool{"pre": true, "textarea": true}
