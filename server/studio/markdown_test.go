package studio

import (
	"strings"
	"testing"

	h "github.com/weftrun/weft/internal/markup"
)

func TestMarkdown(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"words", "a *b* **c** ~~d~~ `e<f`", "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e&lt;f</code></p>\n"},
		{"HTML is text", "<script>x</script>\n\na <b onclick=y>z</b>", "<p>&lt;script&gt;x&lt;/script&gt;\n</p>\n<p>a &lt;b onclick=y&gt;z&lt;/b&gt;</p>\n"},
		{"a link", "[a](https://example.org/x)", `<p><a href="https://example.org/x">a</a></p>` + "\n"},
		{"a link that is not allowed", "[a](javascript:alert(1))", `<p><a href="about:invalid">a</a></p>` + "\n"},
		{"a picture is not loaded", "![a](https://example.org/x.png)", `<p><a href="https://example.org/x.png">image: a</a></p>` + "\n"},
		{"lists", "- a\n- b\n\n3. c", "<ul><li>a</li>\n<li>b</li>\n</ul>\n<ol start=\"3\"><li>c</li>\n</ol>\n"},
		{"code", "```go\nx := 1\n```", `<weft-copy class="block" data-language="go"><pre tabindex="0"><code>x := 1</code></pre>` + "\n</weft-copy>"},
		{"a heading", "# a", `<p class="heading"><strong>a</strong></p>` + "\n"},
		{"a quotation", "> a", "<blockquote><p>a</p>\n</blockquote>\n"},
	} {
		if got := h.String(markdown(tt.source)); got != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
	table := h.String(markdown("| a | b |\n|---|---|\n| 1 | 2 |"))
	for _, want := range []string{"<thead>", `<th scope="col">a</th>`, "<td>2</td>"} {
		if !strings.Contains(table, want) {
			t.Errorf("want %s in\n%s", want, table)
		}
	}
	if deep := h.String(markdown(strings.Repeat("> ", 5000) + "x")); len(deep) > 10_000 {
		t.Errorf("a text of many levels has %d bytes", len(deep))
	}
	if long := h.String(markdown(strings.Repeat("*a* ", maxMarkdown))); strings.Contains(long, "<em>") {
		t.Error("a text that is too long was read")
	}
}
