package studio

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestAssets(t *testing.T) {
	a, err := loadAssets(fstest.MapFS{
		"web/a.js": {Data: []byte(strings.Repeat("let a;", 99))}, "web/b.svg": {Data: []byte("<svg/>")}, "web/c.txt": {Data: []byte("no")}, "web/studio.css": {Data: []byte("a{}")},
	})
	if err != nil {
		t.Fatal(err)
	}
	serve := func(hash, name, encoding string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		r.SetPathValue("hash", hash)
		r.SetPathValue("name", name)
		r.Header.Set("Accept-Encoding", encoding)
		a.ServeHTTP(w, r)
		return w
	}
	for _, c := range []struct{ name, accept, encoding string }{
		{"a.js", "", ""}, {"a.js", "gzip;q=0, br", ""}, {"a.js", "br, gzip", "gzip"}, {"b.svg", "gzip", ""}, {"studio.css", "gzip", "gzip"},
	} {
		w := serve(a.hash, c.name, c.accept)
		got, body := w.Header().Get("Content-Encoding"), io.Reader(w.Body)
		if got != c.encoding || w.Code != 200 || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%v: got %d %v", c, w.Code, w.Header())
		}
		if got == "gzip" {
			if body, err = gzip.NewReader(body); err != nil {
				t.Fatal(err)
			}
		}
		if data, err := io.ReadAll(body); err != nil || !slices.Equal(data, a.files[c.name].data) {
			t.Errorf("%v: got %q, %v", c, data, err)
		}
	}
	for _, c := range [][2]string{{"old", "a.js"}, {a.hash, "c.txt"}, {a.hash, "none.js"}} {
		if w := serve(c[0], c[1], ""); w.Code != 404 || w.Header().Get("Cache-Control") != "" {
			t.Errorf("%v: got %d", c, w.Code)
		}
	}
}

// The sizes are those that a browser loads with gzip.
func TestAssets_AreSmall(t *testing.T) {
	a, err := loadAssets(embedded)
	if err != nil {
		t.Fatal(err)
	}
	plain, sent := 0, 0
	for _, f := range a.files {
		plain += len(f.data)
		if sent += len(f.gzip); f.gzip == nil {
			sent += len(f.data)
		}
	}
	if sent > 60<<10 || plain > 600<<10 {
		t.Errorf("the files have %d bytes, and %d compressed; want at most 600 KiB and 60 KiB", plain, sent)
	}
	t.Logf("%d files of %d bytes, %d compressed", len(a.files), plain, sent)
}

// A page names the modules of all pages: what main.js imports, and what these import.
func TestAssets_ModulesOfAllPages(t *testing.T) {
	a, err := loadAssets(embedded)
	if err != nil {
		t.Fatal(err)
	}
	imported := regexp.MustCompile(`(?m)^import .*'\./([a-z]+\.js)'$`)
	found, queue := []string{}, []string{"main.js"}
	for len(queue) > 0 {
		for _, m := range imported.FindAllStringSubmatch(string(a.files[queue[0]].data), -1) {
			if !slices.Contains(found, m[1]) {
				found, queue = append(found, m[1]), append(queue, m[1])
			}
		}
		queue = queue[1:]
	}
	if slices.Sort(found); !slices.Equal(found, modules) {
		t.Errorf("main.js imports %v, and pages name %v", found, modules)
	}
}
