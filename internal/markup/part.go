package markup

import (
	"slices"
	"strings"
)

// Part is a part of an element: an attribute, text, another element, or several of them.
type Part interface {
	// addTo adds the part to an element.
	addTo(e *Element)
}

// content is what an element has between its tags.
type content interface{ write(b *strings.Builder) }

// Element is an element with its attributes and content.
type Element struct {
	name    string
	attrs   []Attr
	content []content
}

func newElement(name string, parts []Part) *Element {
	e := &Element{name: name}
	Parts(parts).addTo(e)
	return e
}

func (e *Element) addTo(parent *Element) {
	if e != nil {
		parent.content = append(parent.content, e)
	}
}

// Parts are several parts in a row. Nil parts are left out.
type Parts []Part

func (p Parts) addTo(e *Element) {
	for _, part := range p {
		if part != nil {
			part.addTo(e)
		}
	}
}

// Text is text, which is escaped.
type Text string

func (t Text) addTo(e *Element) {
	if t != "" {
		e.content = append(e.content, t)
	}
}

// SVG is a picture as SVG. It is written as it is, so the program must have made it itself.
type SVG string

func (s SVG) addTo(e *Element) { e.content = append(e.content, s) }

// Attr is an attribute of an element. The zero Attr adds nothing.
type Attr struct {
	name, value string
	flag        bool // without a value
}

func (a Attr) addTo(e *Element) {
	if a.name == "" {
		return
	}
	if slices.ContainsFunc(e.attrs, func(b Attr) bool { return a.name == b.name }) {
		panic("markup: " + e.name + " has the attribute " + a.name + " twice")
	}
	e.attrs = append(e.attrs, a)
}

// If returns the parts, or nothing if the condition is false.
func If(condition bool, parts ...Part) Part {
	if !condition {
		return nil
	}
	return Parts(parts)
}

// Each returns the parts of all values of a list.
func Each[T any](list []T, part func(T) Part) Parts {
	parts := make(Parts, len(list))
	for i, v := range list {
		parts[i] = part(v)
	}
	return parts
}
