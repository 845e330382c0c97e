package studio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/weftrun/weft/graph"
	"github.com/weftrun/weft/server/studio"
)

// shelf is an editor with one file. A text with "bad" in it has a mistake.
type shelf struct {
	file studio.File
	none bool // keeps no files
	g    graph.Untyped
}

func (s *shelf) Check(_ context.Context, _, text string) (c studio.Checked, err error) {
	if i := strings.Index(text, "bad"); i >= 0 {
		c.Mistakes = []studio.Mistake{{Code: "WF101", Line: 2, Col: 3, Width: 3, Text: "<bad> is wrong", Hint: "write good", Fix: studio.Fix{Col: 3, Width: 3, Text: "good"}}, {File: "other.yaml", Line: 1, Col: 1, Width: 1, Text: "elsewhere"}}
		return c, nil
	}
	d := s.g.Draw(0)
	return studio.Checked{Name: "review", Drawing: &d, Tests: []string{"one"}}, nil
}

func (s *shelf) Complete(_, text string, line, col int) (studio.Completion, error) {
	return studio.Completion{From: col, To: col + len(text), Choices: []studio.Choice{{Text: "next", Write: "next: ", About: "the next node"}}, About: fmt.Sprint("line ", line)}, nil
}

func (s *shelf) Schema() (json.RawMessage, error) {
	return json.RawMessage(`{"title":"Weft workflow"}`), nil
}

func (s *shelf) Format(_, text string) string { return strings.TrimSpace(text) + "\n" }

func (s *shelf) Test(context.Context, string, string) ([]studio.Tested, error) {
	return []studio.Tested{{Name: "one", Line: 7, Took: time.Millisecond}, {Name: "two", Line: 9, Mistakes: []studio.Mistake{{Line: 10, Col: 1, Width: 1, Text: "is otherwise"}}}}, nil
}

func (s *shelf) FileOf(string) (command, path string) { return s.file.Path, s.file.Path }

func (s *shelf) Keeps() bool { return !s.none }

func (s *shelf) Files() ([]string, error) {
	if s.none {
		return nil, nil
	}
	return []string{s.file.Path}, nil
}

func (s *shelf) Read(path string) (studio.File, error) {
	if path != s.file.Path {
		return studio.File{}, &studio.PathError{Path: path, Reason: "does not exist"}
	}
	return s.file, nil
}

func (s *shelf) Write(f studio.File) (string, error) {
	if f.Path != s.file.Path {
		return "", &studio.PathError{Path: f.Path, Reason: "must be below the folder"}
	}
	if f.Tag != s.file.Tag {
		return "", &studio.ConflictError{Now: s.file}
	}
	s.file = f
	s.file.Tag += "+"
	return s.file.Tag, nil
}

// newEditor returns a studio with an editor.
func newEditor(t *testing.T, change func(*studio.Config, *shelf)) (*studio.Handler, *shelf) {
	t.Helper()
	_, m := newStudio(t, "/studio")
	s := &shelf{file: studio.File{Path: "flows/a b.yaml", Text: "name: <x>\n", Tag: "t"}, g: m.graphs[0].Graph}
	c := studio.Config{
		Base: "/studio", Editor: s, Open: func(*http.Request) (studio.Source, error) { return m, nil },
		Fault: func(err error) (int, string) { return http.StatusForbidden, err.Error() },
	}
	change(&c, s)
	if c.Open == nil {
		c.Open = func(*http.Request) (studio.Source, error) { m.refuse = errRefused; return m, nil }
	}
	return studio.New(c), s
}

func TestEditor_ShowsFilesAndMistakes(t *testing.T) {
	h, s := newEditor(t, func(*studio.Config, *shelf) {})
	holds(t, get(t, h, "/studio/editor"), 200, `<a href="/studio/editor/flows/a%20b.yaml">flows/a b.yaml</a>`, `aria-current="page">Editor<`)
	holds(t, get(t, h, "/studio/editor/flows/a%20b.yaml"), 200, "name: &lt;x&gt;", `name="tag" value="t"`, "No mistakes", `served as <a href="/studio/graphs/review">`, `id="node:read"`, "1 test: one", `value="save"`)
	holds(t, get(t, h, "/studio/editor/none.yaml"), 404, "does not exist")
	holds(t, get(t, h, "/studio/editor?new="), 200, "version: 1", `placeholder="hello.yaml"`)
	s.file.Text = "a\n  bad\n"
	holds(t, get(t, h, "/studio/editor/flows/a%20b.yaml"), 200, "2 mistakes", `<a href="#L2" data-line="2" data-col="3">2:3</a>`, "&lt;bad&gt; is wrong", "write good", "weft explain WF101", "other.yaml:1:1",
		`data-places="[{&#34;Line&#34;:2,&#34;Col&#34;:3,&#34;Width&#34;:3,`, `data-empty=""`, "!id=\"node:read\"")
}

func TestEditor_ChecksTestsFormatsAndSaves(t *testing.T) {
	h, s := newEditor(t, func(*studio.Config, *shelf) {})
	send := func(act, text, tag string, more ...string) url.Values {
		form := url.Values{"path": {s.file.Path}, "text": {text}, "tag": {tag}, "act": {act}}
		for i := 0; i < len(more); i += 2 {
			form.Set(more[i], more[i+1])
		}
		return form
	}
	const path = "/studio/editor"
	holds(t, post(h, path, "same-origin", send("check", "bad", "t", "only", "1")), 200, "2 mistakes", "!<textarea")
	holds(t, post(h, path, "same-origin", send("format", "  name: y", "t")), 200, ">name: y\n</textarea>")
	holds(t, post(h, path, "same-origin", send("test", "x", "t")), 200, "passed", "failed", `<a href="#L9" data-line="9"`, "is otherwise")
	holds(t, post(h, path, "same-origin", send("save", "bad", "t")), 422, "was not saved, since it has mistakes", ">bad</textarea>", `value="force"`)
	holds(t, post(h, path, "same-origin", send("save", "x", "old")), 412, "has changed since it was opened", "name: &lt;x&gt;", ">x</textarea>")
	holds(t, post(h, path, "same-origin", send("save", "x", "t", "path", "../up.yaml")), 422, "must be below the folder")
	holds(t, post(h, path, "cross-site", send("save", "x", "t")), 403)
	holds(t, post(h, path, "same-origin", send("check", strings.Repeat("x", 1<<20+1), "t")), 413, "at most 1048576 bytes")
	if s.file.Text != "name: <x>\n" {
		t.Errorf("the file has %q", s.file.Text)
	}
	w := post(h, path, "same-origin", send("save", "x\r\ny", "t"))
	if w.Code != 303 || w.Header().Get("Location") != "/studio/editor/flows/a%20b.yaml?saved=" || s.file.Text != "x\ny" {
		t.Errorf("got %d %s, and the file has %q", w.Code, w.Header().Get("Location"), s.file.Text)
	}
	if w := post(h, path, "same-origin", send("force", "bad", s.file.Tag)); w.Code != 303 || s.file.Text != "bad" {
		t.Errorf("got %d, and the file has %q", w.Code, s.file.Text)
	}
}

func TestEditor_Fixes(t *testing.T) {
	h, _ := newEditor(t, func(*studio.Config, *shelf) {})
	send := func(text, fix string) *httptest.ResponseRecorder {
		return post(h, "/studio/editor", "same-origin", url.Values{"text": {text}, "fix": {fix}})
	}
	holds(t, send("a\n  bad: é\n", "1:1:1:b"), 200, `<button form="edit" class="fix" name="fix" value="2:3:3:good">Write good</button>`)
	holds(t, send("a\n  bad: é\n", "2:3:3:good"), 200, ">a\n  good: é\n</textarea>", "No mistakes")
	holds(t, send("a\n  é: bad\n", "2:6:3:x:y"), 200, ">a\n  é: x:y\n</textarea>")
	for _, fix := range []string{"2:3:3", "3:3:3:x", "0:1:1:x", "2:3:99:x", "2:x:1:x", "2:-1:3:x", "9223372036854775807:1:1:x"} {
		holds(t, send("a\n  bad\n", fix), 422, "LINE:COL:WIDTH:TEXT")
	}
}

func TestAPI_ChecksAndCompletesTexts(t *testing.T) {
	h, _ := newEditor(t, func(c *studio.Config, _ *shelf) { c.ReadOnly = true })
	send := func(path, site, body string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(http.MethodPost, "/studio/api"+path, strings.NewReader(body)), httptest.NewRecorder()
		r.Header.Set("Sec-Fetch-Site", site)
		h.ServeHTTP(w, r)
		return w
	}
	holds(t, send("/workflows/check", "same-origin", `{"yaml":"bad"}`), 200,
		`{"mistakes":[{"code":"WF101","line":2,"col":3,"endLine":2,"endCol":6,"message":"\u003cbad\u003e is wrong","hint":"write good","fix":{"col":3,"endCol":6,"text":"good"}},{"code":"","file":"other.yaml",`)
	holds(t, send("/workflows/check", "same-origin", `{"yaml":"x"}`), 200, `"name":"review","mistakes":[],"tests":["one"],"drawing":{`)
	holds(t, send("/complete", "same-origin", `{"yaml":"xy","line":4,"col":2}`), 200, `{"from":2,"to":4,"choices":[{"text":"next","write":"next: ","about":"the next node"}],"about":"line 4"}`)
	holds(t, get(t, h, "/studio/api/workflow.schema.json"), 200, `{"title":"Weft workflow"}`)
	holds(t, send("/complete", "cross-site", `{"yaml":"xy"}`), 403)
	holds(t, send("/complete", "same-origin", `{`), 400)
	holds(t, send("/complete", "same-origin", `{"yaml":"`+strings.Repeat("x", 1<<20+1)+`"}`), 413)
	h, _ = newEditor(t, func(c *studio.Config, _ *shelf) { c.Open = nil })
	holds(t, send("/complete", "same-origin", `{"yaml":"xy"}`), 403)
	holds(t, get(t, h, "/studio/api/workflow.schema.json"), 403)
}

func TestAPI_ReadsAndWritesWorkflows(t *testing.T) {
	h, s := newEditor(t, func(*studio.Config, *shelf) {})
	const at = "/studio/api/workflows/"
	put := func(h http.Handler, path, tag, site, body string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(http.MethodPut, at+path, strings.NewReader(body)), httptest.NewRecorder()
		r.Header.Set("Sec-Fetch-Site", site)
		if tag != "" {
			r.Header.Set("If-Match", tag)
		}
		h.ServeHTTP(w, r)
		return w
	}
	read := get(t, h, at+"flows/a%20b.yaml")
	holds(t, read, 200, `{"path":"flows/a b.yaml","yaml":"name: \u003cx\u003e\n","tag":"t"}`)
	if got := read.Header().Get("ETag"); got != `"t"` {
		t.Errorf("the file has the ETag %s", got)
	}
	holds(t, get(t, h, at+"none.yaml"), 404, "does not exist")
	for _, w := range []struct {
		path, tag, site, body string
		status                int
		want                  string
	}{
		{"flows/a%20b.yaml", "", "same-origin", `{"yaml":"x"}`, 412, "exists; send its ETag as If-Match"},
		{"flows/a%20b.yaml", `"u"`, "same-origin", `{"yaml":"x"}`, 412, "has changed since it was opened"},
		{"flows/a%20b.yaml", `"t"`, "same-origin", `{"yaml":"bad"}`, 422, "line 2, column 3: \\u003cbad\\u003e is wrong"},
		{"flows/a%20b.yaml", `"t"`, "cross-site", `{"yaml":"x"}`, 403, "must come from a page of the studio"},
		{"flows/a%20b.yaml", `"t"`, "same-origin", `{`, 400, "must be JSON"},
		{"flows/a%20b.yaml", `"t"`, "same-origin", `{"yaml":"` + strings.Repeat("x", 1<<20+1) + `"}`, 413, "1048576 bytes"},
		{"up.yaml", "", "same-origin", `{"yaml":"x"}`, 422, "must be below the folder"},
	} {
		holds(t, put(h, w.path, w.tag, w.site, w.body), w.status, w.want)
		if s.file.Text != "name: <x>\n" {
			t.Fatalf("PUT %s %s writes %q", w.path, w.body, s.file.Text)
		}
	}
	holds(t, put(h, "flows/a%20b.yaml", `W/"t"`, "same-origin", `{"yaml":"x"}`), 200, `"tag":"t+"`)
	holds(t, put(h, "flows/a%20b.yaml", `"t+"`, "same-origin", `{"yaml":"bad","force":true}`), 200, `"tag":"t++"`)
	if s.file.Text != "bad" {
		t.Errorf("the file has %q", s.file.Text)
	}

	h, _ = newEditor(t, func(_ *studio.Config, s *shelf) { s.none = true })
	holds(t, get(t, h, at+"flows/a%20b.yaml"), 404, "has no files")
	h, _ = newEditor(t, func(c *studio.Config, _ *shelf) { c.ReadOnly = true })
	holds(t, get(t, h, at+"flows/a%20b.yaml"), 200)
	holds(t, put(h, "flows/a%20b.yaml", `"t"`, "same-origin", `{"yaml":"x"}`), 405)
	h, _ = newEditor(t, func(c *studio.Config, _ *shelf) { c.Open = nil })
	holds(t, get(t, h, at+"flows/a%20b.yaml"), 403)
	holds(t, put(h, "flows/a%20b.yaml", `"t"`, "same-origin", `{"yaml":"x"}`), 403)
}

func TestEditor_WritesNothingReadOnly(t *testing.T) {
	h, s := newEditor(t, func(c *studio.Config, _ *shelf) { c.ReadOnly = true })
	holds(t, get(t, h, "/studio/editor/flows/a%20b.yaml"), 200, "No mistakes", `!value="save"`)
	for _, act := range []string{"save", "force"} {
		holds(t, post(h, "/studio/editor", "same-origin", url.Values{"path": {s.file.Path}, "text": {"x"}, "tag": {"t"}, "act": {act}}), 403, "writes no files")
	}
	if s.file.Text != "name: <x>\n" {
		t.Errorf("the file has %q", s.file.Text)
	}
}

func TestEditor_WithoutFilesOrRights(t *testing.T) {
	h, _ := newEditor(t, func(_ *studio.Config, s *shelf) { s.none = true })
	holds(t, get(t, h, "/studio/editor"), 200, "version: 1", "is checked, and not stored", `!value="save"`)
	holds(t, post(h, "/studio/editor", "same-origin", url.Values{"text": {"x"}, "act": {"save"}}), 403)
	h, _ = newEditor(t, func(c *studio.Config, _ *shelf) { c.Open = nil })
	holds(t, get(t, h, "/studio/editor"), 403, "does not fit")
	holds(t, post(h, "/studio/editor", "same-origin", url.Values{"text": {"x"}, "act": {"check"}}), 403)
	h, _ = newEditor(t, func(c *studio.Config, _ *shelf) { c.Editor = nil })
	holds(t, get(t, h, "/studio/editor"), 404)
	holds(t, get(t, h, "/studio/graphs"), 200, "!/studio/editor")
}
