package markup_test

import (
	"strings"
	"testing"

	h "github.com/weftrun/weft/internal/markup"
)

func TestString(t *testing.T) {
	for _, c := range []struct {
		name string
		part h.Part
		want string
	}{
		{"text", h.P(h.Text(`<b> & "c" 'd'`)), "<p>&lt;b&gt; &amp; &#34;c&#34; &#39;d&#39;</p>\n"},
		{"attribute", h.Span(h.Class("a", "", "b"), h.Tooltip(`"><script>`)), `<span class="a b" title="&#34;&gt;&lt;script&gt;"></span>`},
		{"no class", h.Span(h.Class("", "")), "<span></span>"},
		{"flags", h.Input(h.Type("checkbox"), h.Checked(true), h.Required(false)), `<input type="checkbox" checked>`},
		{"nothing", h.B(h.If(false, h.Text("a")), nil, h.Text("")), "<b></b>"},
		{"list", h.Ul(h.Each([]string{"a", "b"}, func(s string) h.Part { return h.Li(h.Text(s)) })), "<ul><li>a</li>\n<li>b</li>\n</ul>\n"},
		{"first line", h.Pre(h.Text("\na")), "<pre>\n\na</pre>\n"},
		{"other lines", h.B(h.Text("\na\r")), "<b>\na&#13;</b>"},
		{"odd text", h.B(h.Text("a\x00b\xffc")), "<b>a\ufffdb\ufffdc</b>"},
		{"custom", h.Custom("weft-picture", h.Data("for", "x"), h.Aria("label", "y")), `<weft-picture data-for="x" aria-label="y"></weft-picture>`},
		{"trusted", h.Div(h.SVG("<svg></svg>"), h.Style("a{b:c}")), "<div><svg></svg><style>a{b:c}</style>\n</div>\n"},
		{"module", h.Module("/a.js"), "<script type=\"module\" src=\"/a.js\"></script>\n"},
	} {
		if got := h.String(c.part); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	var page strings.Builder
	if err := h.Document(&page, h.HTML(h.Lang("en"))); err != nil || page.String() != "<!doctype html>\n<html lang=\"en\"></html>\n" {
		t.Errorf("got %q, %v", &page, err)
	}
}

func TestAddresses(t *testing.T) {
	for address, valid := range map[string]bool{
		"": true, "/a?b=c#d": true, "?at=3": true, "a/b": true, "https://example.org/": true, "mailto:a@example.org": true, "/a:b": true, "//host/a": true,
		"javascript:alert(1)": false, "JavaScript:alert(1)": false, " javascript:alert(1)": false, "java\nscript:alert(1)": false, "\x01javascript:a": false,
		"data:text/html,a": false, "vbscript:a": false, "%zz": false, `\\host`: false, "blob:a": false, "file:///etc": false,
	} {
		for name, attr := range map[string]func(string) h.Attr{"href": h.Href, "src": h.Src, "action": h.Action} {
			want := address
			if !valid {
				want = h.Invalid
			}
			if got := h.String(h.A(attr(address))); got != `<a `+name+`="`+want+`"></a>` {
				t.Errorf("%q gives %s", address, got)
			}
		}
	}
}

func TestMistakes_Panic(t *testing.T) {
	for name, build := range map[string]func() h.Part{
		"twice":      func() h.Part { return h.P(h.ID("a"), h.ID("b")) },
		"childless":  func() h.Part { return h.Br(h.Text("a")) },
		"data name":  func() h.Part { return h.P(h.Data(`x="`, "")) },
		"aria name":  func() h.Part { return h.P(h.Aria("", "")) },
		"hyphen":     func() h.Part { return h.Custom("picture") },
		"hyphen end": func() h.Part { return h.Custom("picture-") },
		"style end":  func() h.Part { return h.Style("</style>") },
		"style in p": func() h.Part { return h.P(h.CSS("a{}")) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			t.Errorf("%s: got %s", name, h.String(build()))
		}()
	}
}
