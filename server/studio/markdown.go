package studio

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	h "github.com/weftrun/weft/internal/markup"
)

// reader reads Markdown with tables. It renders nothing: what is read becomes parts of a page.
var reader = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify)).Parser()

// maxMarkdown is how many bytes of a text are read as Markdown. A longer one is shown as it is.
const maxMarkdown = 256 << 10

// markdown returns a text with its structure. HTML in it is text, and a picture is a link.
func markdown(source string) h.Part {
	if len(source) > maxMarkdown {
		return h.Pre(h.Tabindex("0"), h.Text(source))
	}
	w := written{[]byte(strings.ToValidUTF8(source, "\ufffd"))}
	return w.inside(reader.Parse(text.NewReader(w.source)), 0)
}

// written is a text that was read.
type written struct{ source []byte }

// maxNesting is how deep the parts of a text are inside each other.
const maxNesting = 60

// inside returns what a node has inside.
func (w written) inside(n ast.Node, depth int) (parts h.Parts) {
	if depth > maxNesting {
		return nil
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		parts = append(parts, w.part(c, depth+1))
	}
	return parts
}

// part returns a node.
func (w written) part(n ast.Node, depth int) h.Part {
	switch n := n.(type) {
	case *ast.Text:
		text := h.Parts{h.Text(n.Value(w.source))}
		switch {
		case n.HardLineBreak():
			text = append(text, h.Br())
		case n.SoftLineBreak():
			text = append(text, h.Text("\n"))
		}
		return text
	case *ast.String:
		return h.Text(n.Value)
	case *ast.CodeSpan:
		return h.Code(w.inside(n, depth))
	case *ast.FencedCodeBlock:
		return w.code(n, string(n.Language(w.source)))
	case *ast.CodeBlock:
		return w.code(n, "")
	case *ast.HTMLBlock:
		return h.P(h.Text(w.lines(n)))
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			at := n.Segments.At(i)
			b.Write(at.Value(w.source))
		}
		return h.Text(b.String())
	case *ast.AutoLink:
		return h.A(h.Href(string(n.URL(w.source))), h.Text(n.Label(w.source)))
	case *ast.Link:
		return h.A(h.Href(string(n.Destination)), w.inside(n, depth))
	case *ast.Image:
		return h.A(h.Href(string(n.Destination)), h.Text("image: "), w.inside(n, depth))
	}
	return w.block(n, depth)
}

// block returns a node that has others inside.
func (w written) block(n ast.Node, depth int) h.Part {
	inside := w.inside(n, depth)
	switch n := n.(type) {
	case *ast.Paragraph:
		return h.P(inside)
	case *ast.Heading: // below the headings of the page
		return h.P(h.Class("heading"), h.Strong(inside))
	case *ast.Blockquote:
		return h.Blockquote(inside)
	case *ast.List:
		if n.IsOrdered() {
			return h.Ol(h.If(n.Start > 1, h.From(n.Start)), inside)
		}
		return h.Ul(inside)
	case *ast.ListItem:
		return h.Li(inside)
	case *ast.Emphasis:
		if n.Level > 1 {
			return h.Strong(inside)
		}
		return h.Em(inside)
	case *ast.ThematicBreak:
		return h.Hr()
	case *tables.Strikethrough:
		return h.Del(inside)
	case *tables.Table:
		return scroll("Table of a message", h.Table(inside))
	case *tables.TableHeader:
		return h.Thead(h.Tr(inside))
	case *tables.TableRow:
		return h.Tr(inside)
	case *tables.TableCell:
		if _, head := n.Parent().(*tables.TableHeader); head {
			return h.Th(h.Scope("col"), inside)
		}
		return h.Td(inside)
	}
	return inside // such as the text of a tight list
}

// code is a block of code with a button that copies it.
func (w written) code(n ast.Node, language string) h.Part {
	return h.Custom("weft-copy", h.Class("block"), h.If(language != "", h.Data("language", language)), h.Pre(h.Tabindex("0"), h.Code(h.Text(strings.TrimSuffix(w.lines(n), "\n")))))
}

func (w written) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		b.Write(at.Value(w.source))
	}
	return b.String()
}
