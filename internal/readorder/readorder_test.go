package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// most is the largest share of upward references in package graph, of 100.
const most = 15

func TestGraph_FewReferencesRunUpwards(t *testing.T) {
	r, err := count("../../graph", "../../graph/doc.go")
	if err != nil {
		t.Fatalf("the section \"# Reading order\" of graph/doc.go must name each file of the package once:\n%v", err)
	}
	if r.share() < most {
		return
	}
	for _, u := range r.upward {
		t.Logf("%s uses %s: %s", u.from, u.to, strings.Join(u.names, " "))
	}
	t.Errorf("%d of %d references run upwards, %.1f %%, want under %d %%: move a declaration to the file that uses it, or a file in the reading order of graph/doc.go",
		len(r.upward), r.references, r.share(), most)
}

// fixture returns the folder of a package of three files: a uses b and c, b uses c, and c uses a
// method and a field of a.
func fixture(t *testing.T, order string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module fixture\n\ngo 1.26\n",
		"doc.go":      "// Package fixture has an order.\n//\n" + order + "//\n// # More\n//\n// It is not about d.go.\npackage fixture\n",
		"a.go":        "package fixture\n\ntype A struct{ n int }\n\nfunc (a A) add() { b(); b(); c(a) }\n",
		"b.go":        "package fixture\n\nimport \"strings\"\n\nfunc b() { c(nil); _ = strings.ToUpper(\"b\") }\n",
		"c.go":        "package fixture\n\nfunc c(v any) {\n\tif a, ok := v.(interface{ own() A }); ok {\n\t\ta.own().add()\n\t\t_ = a.own().n\n\t}\n}\n",
		"all_test.go": "package fixture\n\nvar _ = b\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCount_ReferencesAgainstTheOrder(t *testing.T) {
	for order, want := range map[string]string{
		"doc.go a.go b.go c.go": "c.go uses a.go: A add n",
		"doc.go c.go a.go b.go": "a.go uses c.go: c; b.go uses c.go: c",
		"c.go b.go a.go doc.go": "b.go uses c.go: c; a.go uses c.go: c; a.go uses b.go: b",
	} {
		dir := fixture(t, "// # Reading order\n//\n//  1. All: "+order+".\n")
		r, err := count(dir, filepath.Join(dir, "doc.go"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range r.upward {
			got = append(got, u.from+" uses "+u.to+": "+strings.Join(u.names, " "))
		}
		if strings.Join(got, "; ") != want || r.references != 4 {
			t.Errorf("in the order %s, %d references, upwards %v; want 4, upwards %s", order, r.references, got, want)
		}
	}
}

func TestPlaces_EachFileOnce(t *testing.T) {
	const head = "// Package p.\n//\n// # Reading order\n//\n"
	for text, want := range map[string]string{
		head + "// a.go b.go\n":      "",
		head + "// a.go\n":           "b.go is not listed",
		head + "// a.go b.go a.go\n": "a.go is listed twice",
		head + "// a.go b.go c.go\n": "c.go is listed, but is no file of the package",
		"// Package p.\n":            "there is no heading",
	} {
		place, err := places(text, []string{"a.go", "b.go"})
		if want == "" && (err != nil || place["a.go"] != 0 || place["b.go"] != 1) {
			t.Errorf("places(%q) = %v, %v; want a.go before b.go", text, place, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("places(%q): got error %v, want one with %q", text, err, want)
		}
	}
}

func TestShare_OfNoReferencesIsZero(t *testing.T) {
	if got := (report{}).share(); got != 0 {
		t.Errorf("share of no references = %v, want 0", got)
	}
	if got := (report{references: 4, upward: slices.Repeat([]reference{{}}, 1)}).share(); got != 25 {
		t.Errorf("share of 1 of 4 = %v, want 25", got)
	}
}
