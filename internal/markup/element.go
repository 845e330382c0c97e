package markup

// element returns the constructor of the elements with a name.
func element(name string) func(...Part) *Element {
	return func(parts ...Part) *Element { return newElement(name, parts) }
}

// Elements of a page.
var (
	HTML  = element("html")
	Head  = element("head")
	Body  = element("body")
	Meta  = element("meta")
	Title = element("title")
	Link  = element("link")
)

// Elements of the structure of a page.
var (
	Header     = element("header")
	Footer     = element("footer")
	Nav        = element("nav")
	Main       = element("main")
	Section    = element("section")
	Article    = element("article")
	H1         = element("h1")
	H2         = element("h2")
	H3         = element("h3")
	H4         = element("h4")
	Div        = element("div")
	Blockquote = element("blockquote")
	Dialog     = element("dialog")
	Details    = element("details")
	Summary    = element("summary")
)

// Elements of text.
var (
	P      = element("p")
	Pre    = element("pre")
	Ul     = element("ul")
	Ol     = element("ol")
	Li     = element("li")
	Dl     = element("dl")
	Dt     = element("dt")
	Dd     = element("dd")
	A      = element("a")
	B      = element("b")
	Code   = element("code")
	Del    = element("del")
	Em     = element("em")
	Img    = element("img")
	Ins    = element("ins")
	Kbd    = element("kbd")
	Mark   = element("mark")
	Small  = element("small")
	Span   = element("span")
	Strong = element("strong")
	Time   = element("time")
	Br     = element("br")
	Hr     = element("hr")
)

// Elements of tables.
var (
	Table   = element("table")
	Caption = element("caption")
	Thead   = element("thead")
	Tbody   = element("tbody")
	Tr      = element("tr")
	Th      = element("th")
	Td      = element("td")
)

// Elements of forms.
var (
	Form     = element("form")
	Fieldset = element("fieldset")
	Legend   = element("legend")
	Label    = element("label")
	Input    = element("input")
	Textarea = element("textarea")
	Select   = element("select")
	Option   = element("option")
	Datalist = element("datalist")
	Button   = element("button")
	Output   = element("output")
	Meter    = element("meter")
	Progress = element("progress")
)

// Module returns a script element that loads the JavaScript module at address. There are no inline
// scripts.
func Module(address string) *Element {
	return newElement("script", []Part{Type("module"), Src(address)})
}

// Style returns a style element. css must not have text of others, since it is not escaped.
func Style(css CSS) *Element { return newElement("style", []Part{css}) }

// Custom returns a custom element. It panics if the name is invalid or has no hyphen.
func Custom(name string, parts ...Part) *Element {
	for _, c := range []byte(checked(name)) {
		if c == '-' {
			return newElement(name, parts)
		}
	}
	panic("markup: a custom element must have a hyphen in its name (got " + name + ")")
}

// withoutEnd are the elements that have no content and no end tag.
var withoutEnd = map[string]bool{"br": true, "hr": true, "img": true, "input": true, "link": true, "meta": true}

// lineEnds are the elements that are written with a newline after them. White space around them has
// no effect.
var lineEnds = map[string]bool{
	"html": true, "head": true, "body": true, "meta": true, "title": true, "link": true, "script": true, "style": true,
	"header": true, "footer": true, "nav": true, "main": true, "section": true, "article": true,
	"h1": true, "h2": true, "h3": true, "h4": true, "div": true, "dialog": true, "details": true, "summary": true,
	"p": true, "pre": true, "blockquote": true, "hr": true, "ul": true, "ol": true, "li": true, "dl": true, "dt": true, "dd": true,
	"table": true, "caption": true, "thead": true, "tbody": true, "tr": true,
	"form": true, "fieldset": true, "legend": true, "select": true, "option": true, "datalist": true,
}
