package checkpointtest

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSuite_HasAll89RowsAnd45RulesOfItsOwn reads the table of doc.go. Each row has rules that
// exist, or the reason why it has none. A rule that no row names is our own.
func TestSuite_HasAll89RowsAnd45RulesOfItsOwn(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "// # Conformance\n")
	table, _, ended := strings.Cut(table, "// All other rules are our own.")
	if !found || !ended {
		t.Fatal("doc.go has no table of the rows")
	}
	rows, named := conformance(t, table)
	for n := 1; n <= 89; n++ {
		if rows[n] != 1 {
			t.Errorf("rule: each of the 89 rows is in the table once\n got: row %d is in it %d times", n, rows[n])
		}
	}
	if len(rows) != 89 {
		t.Errorf("rule: there are 89 rows\n got: %d", len(rows))
	}
	own := 0
	for _, r := range allRules() {
		if !named[r.name] {
			own++
		}
	}
	t.Logf("%d rules: %d for the 89 rows, %d of our own", len(allRules()), len(allRules())-own, own)
	if own < 45 {
		t.Errorf("rule: at least 45 rules are our own\n got: %d", own)
	}
}

// conformance reads the table. It returns how often each row is in it, and the rules of the rows. A
// line is "put  1, 7-9  CommitThenLoad, Isolation", with or without the group, or continues a text.
func conformance(t *testing.T, table string) (rows map[int]int, named map[string]bool) {
	t.Helper()
	rows, named = map[int]int{}, map[string]bool{}
	line := regexp.MustCompile(`^//\t[a-z_ ]*?(\d[\d, -]*?)\s+([A-Za-z].*)$`)
	known := func(name string) bool {
		return slices.ContainsFunc(allRules(), func(r rule) bool { return r.name == name })
	}
	for text := range strings.Lines(table) {
		for _, name := range regexp.MustCompile(`\b[A-Z][a-z]+\w*`).FindAllString(text, -1) {
			named[name] = named[name] || known(name)
		}
		m := line.FindStringSubmatch(strings.TrimRight(text, "\n"))
		if m == nil {
			continue
		}
		for part := range strings.SplitSeq(m[1], ",") {
			first, last, _ := strings.Cut(strings.TrimSpace(part), "-")
			from, err := strconv.Atoi(first)
			to := from
			if err == nil && last != "" {
				to, err = strconv.Atoi(last)
			}
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			for n := from; n <= to; n++ {
				rows[n]++
			}
		}
		names := m[2]
		if at := strings.IndexAny(names, ";:"); at >= 0 {
			names = names[:at] // then why
		}
		for name := range strings.SplitSeq(names, ",") {
			if name = strings.TrimSpace(name); !known(name) && name != "not offered" {
				t.Errorf("rule: the rules in the table are rules of the suite\n got: %q in %q", name, text)
			}
		}
	}
	return rows, named
}
