package markup_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	h "github.com/weftrun/weft/internal/markup"
)

// tag matches one tag of the output, with its attributes.
var (
	tag  = regexp.MustCompile(`^<(/?)([a-z][a-z0-9-]*)((?: [a-z-]+(?:="[^"<>]*")?)*)>`)
	attr = regexp.MustCompile(` ([a-z-]+)(?:="([^"]*)")?`)
)

// parse reads HTML as a browser does, of the kind that the package writes, and returns its tags,
// attributes and text, one a line. It knows nothing of the package.
func parse(text string) (lines []string, err error) {
	for text != "" {
		if m := tag.FindStringSubmatch(text); m != nil {
			line := m[1] + m[2]
			for _, a := range attr.FindAllStringSubmatch(m[3], -1) {
				line += fmt.Sprintf(" %s=%q", a[1], html.UnescapeString(a[2]))
			}
			lines, text = append(lines, line), text[len(m[0]):]
			if after, ok := strings.CutPrefix(text, "\n"); ok && (line == "pre" || line == "textarea") {
				text = after
			}
			continue
		}
		end := strings.IndexByte(text, '<')
		if end == 0 {
			return nil, fmt.Errorf("no tag begins at %.40q", text)
		} else if end < 0 {
			end = len(text)
		}
		if strings.Contains(text[:end], "\r") {
			return nil, fmt.Errorf("a browser would change the line breaks of %.40q", text[:end])
		}
		lines, text = append(lines, fmt.Sprintf("%q", html.UnescapeString(text[:end]))), text[end:]
	}
	return lines, nil
}

// FuzzString checks that a browser finds the tree that was built, whatever the text in it is.
func FuzzString(f *testing.F) {
	for _, s := range []string{"a", "</p><script>", `" onload="x`, "\n\r\x00\xff", "&lt;&amp", "javascript:x", "-->", "]]>", "&#13;"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		got, err := parse(h.String(
			h.Div(h.Tooltip(a), h.Data("x", b), h.Textarea(h.Text(a)), h.B(h.Text(b)), h.Input(h.Value(b), h.Required(true)), h.A(h.Href(a), h.Text("-"))),
		))
		if err != nil {
			t.Fatal(err)
		}
		seen := func(s string) string {
			return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
		}
		want := []string{fmt.Sprintf("div title=%q data-x=%q", seen(a), seen(b)), "textarea"}
		text := func(s string) {
			if s != "" {
				want = append(want, fmt.Sprintf("%q", seen(s)))
			}
		}
		text(a)
		want = append(want, "/textarea", "b")
		text(b)
		want = append(want, "/b", fmt.Sprintf("input value=%q required=\"\"", seen(b)))
		if len(got) != len(want)+5 {
			t.Fatalf("got\n%q", got)
		}
		for i, w := range want {
			if got[i] != w {
				t.Errorf("got %s, want %s", got[i], w)
			}
		}
		if link := got[len(want)]; strings.HasPrefix(strings.ToLower(link), `a href="javascript:`) {
			t.Errorf("got the link %s", link)
		}
	})
}
