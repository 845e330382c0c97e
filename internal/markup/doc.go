// Package markup builds HTML out of Go values.
//
// A page is a tree of parts: elements, their attributes and text. A function of the same name
// makes an element, and its attributes and content are its arguments:
//
//	markup.P(markup.Class("note"),
//		markup.Text("2 < 3"),
//		markup.A(markup.Href("/"), markup.Text("home")))
//
// # What it guarantees
//
//  1. Text and the values of attributes are escaped. No part is raw HTML, but for SVG and CSS:
//     types of their own, for what the program has written itself.
//  2. A browser that parses the output has the same tree. Text that HTML cannot hold, such as
//     NUL, becomes U+FFFD.
//  3. An attribute that a browser follows has a type of its own and holds a relative address, or
//     one with the scheme http, https or mailto. Any other becomes Invalid.
//  4. There are no inline scripts, styles of elements or event handlers.
//
// What a program can only get wrong in its own code panics: the name of an attribute, an attribute
// that an element has twice, content of an element that cannot have any.
package markup
