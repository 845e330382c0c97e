package markup

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Invalid is the address in place of one that is not allowed.
const Invalid = "about:invalid"

// attribute returns an attribute with a value.
func attribute(name string) func(string) Attr {
	return func(value string) Attr { return Attr{name: name, value: value} }
}

// address returns an attribute whose value a browser follows.
func address(name string) func(string) Attr {
	return func(value string) Attr { return Attr{name: name, value: safe(value)} }
}

// flag returns an attribute without a value; the zero Attr if it is off.
func flag(name string) func(on bool) Attr {
	return func(on bool) Attr {
		if !on {
			return Attr{}
		}
		return Attr{name: name, flag: true}
	}
}

// Attributes that a browser follows.
var (
	Href       = address("href")
	Src        = address("src")
	Action     = address("action")
	FormAction = address("formaction") // of a Button, in place of that of its form
)

// Attributes with a value.
var (
	Accept       = attribute("accept")
	Alt          = attribute("alt")
	Autocomplete = attribute("autocomplete")
	Cols         = attribute("cols")
	Colspan      = attribute("colspan")
	Datetime     = attribute("datetime")
	Enctype      = attribute("enctype")
	For          = attribute("for")
	FormOf       = attribute("form") // the id of the form to which a Button belongs
	ID           = attribute("id")
	InputMode    = attribute("inputmode")
	Max          = attribute("max")
	Min          = attribute("min")
	Name         = attribute("name")
	Pattern      = attribute("pattern")
	Placeholder  = attribute("placeholder")
	Rel          = attribute("rel")
	Role         = attribute("role")
	Rows         = attribute("rows")
	Scope        = attribute("scope")
	Spellcheck   = attribute("spellcheck")
	Step         = attribute("step")
	Tabindex     = attribute("tabindex")
	Tooltip      = attribute("title")
	Type         = attribute("type")
	Value        = attribute("value")
	Wrap         = attribute("wrap")
)

// Attributes without a value.
var (
	Checked  = flag("checked")
	Disabled = flag("disabled")
	Hidden   = flag("hidden")
	Multiple = flag("multiple")
	Open     = flag("open")
	ReadOnly = flag("readonly")
	Required = flag("required")
	Selected = flag("selected")
)

// Method is the method of a form: "get" or "post".
func Method(name string) Attr { return Attr{name: "method", value: name} }

// From is the number of the first item of a list.
func From(n int) Attr { return Attr{name: "start", value: strconv.Itoa(n)} }

// images are the media types of pictures that a page may hold itself.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// IsImage reports whether ImageData takes a media type: PNG, JPEG, GIF or WebP.
func IsImage(kind string) bool { return slices.Contains(images, kind) }

// ImageData is the source of an Img as the picture itself.
func ImageData(kind string, data []byte) Attr {
	if !IsImage(kind) {
		return Attr{name: "src", value: Invalid}
	}
	return Attr{name: "src", value: "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)}
}

// Lang is a language and Charset an encoding, for the head of a page.
func Lang(tag string) Attr { return Attr{name: "lang", value: tag} }

// Charset is the encoding of a page.
func Charset(name string) Attr { return Attr{name: "charset", value: name} }

// Content is the value of a Meta.
func Content(value string) Attr { return Attr{name: "content", value: value} }

// HTTPEquiv is the header that a Meta sets.
func HTTPEquiv(header string) Attr { return Attr{name: "http-equiv", value: header} }

// Class is the classes of an element. Empty names are left out.
func Class(names ...string) Attr {
	var given []string
	for _, n := range names {
		if n != "" {
			given = append(given, n)
		}
	}
	if len(given) == 0 {
		return Attr{}
	}
	return Attr{name: "class", value: strings.Join(given, " ")}
}

// Data is the attribute data-NAME, for scripts.
func Data(name, value string) Attr { return Attr{name: "data-" + checked(name), value: value} }

// Aria is the attribute aria-NAME, for screen readers.
func Aria(name, value string) Attr { return Attr{name: "aria-" + checked(name), value: value} }

// checked panics unless a name has only lower-case letters, digits and inner hyphens.
func checked(name string) string {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && (c != '-' || i == len(name)-1)) {
			panic("markup: invalid name " + name)
		}
	}
	if name == "" {
		panic("markup: empty name")
	}
	return name
}

// safe returns an address, or Invalid if its scheme is not allowed. Browsers drop white space and
// control characters from an address, so none may hold such a character.
func safe(address string) string {
	if strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return Invalid
	}
	u, err := url.Parse(address)
	if err != nil {
		return Invalid
	}
	switch u.Scheme {
	case "", "http", "https", "mailto":
		return address
	}
	return Invalid
}
