package doccheck

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`)
	named    = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*…?`)
)

// words returns the documents by name, and the names of all tests.
func words(t *testing.T) (docs map[string]string, tests []string) {
	docs = map[string]string{}
	walk(t, func(name string, text []byte) {
		switch {
		case path.Ext(name) == ".md":
			docs[name] = string(text)
		case strings.HasSuffix(name, "_test.go"):
			for _, m := range declared.FindAllSubmatch(text, -1) {
				tests = append(tests, string(m[1]))
			}
		}
	})
	return docs, tests
}

// A test that is skipped where a server is missing, or anything else, says that something was tested which was not.
func TestTests_AreNotSkipped(t *testing.T) {
	skips := regexp.MustCompile(`\b(t|b|tb)\.Skip(f|Now)?\(`)
	walk(t, func(name string, text []byte) {
		if strings.HasSuffix(name, "_test.go") {
			if at := skips.FindIndex(text); at != nil {
				t.Errorf("%s:%d skips a test: what it needs is installed by .ci/setup, or it fails", name, 1+strings.Count(string(text[:at[0]]), "\n"))
			}
		}
	})
}

func TestDocuments_NameTestsThatExist(t *testing.T) {
	docs, tests := words(t)
	for name, text := range docs {
		for _, test := range named.FindAllString(text, -1) {
			begin, open := strings.CutSuffix(test, "…")
			if !slices.ContainsFunc(tests, func(s string) bool { return s == begin || open && strings.HasPrefix(s, begin) }) {
				t.Errorf("%s names %s, which does not exist", name, test)
			}
		}
	}
}

// TestFiles_NameNoMachine looks for paths and hosts of a particular machine. The words are split so that
// this file does not hold them.
func TestFiles_NameNoMachine(t *testing.T) {
	words := []string{"/wo" + "rk/", "/ro" + "ot/", "proxy.gol" + "ang.org", "sum.gol" + "ang.org", "registry.np" + "mjs.org"}
	walk(t, func(name string, text []byte) {
		if bytes.IndexByte(text, 0) >= 0 {
			return // a built binary
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, word := range words {
				if strings.Contains(line, word) {
					t.Errorf("%s:%d: holds %q, which only makes sense on one machine", name, i+1, word)
				}
			}
		}
	})
}
