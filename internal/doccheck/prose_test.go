package doccheck

import (
	"flag"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// allowed are the files that may use words of terms, with the reason. A name that ends in / is
// that of a folder.
var allowed = map[string]string{
	"bench/servers.go":                      "names a user of the system",
	"checkpoint/postgres/sql/":              "has a type of SQL",
	"checkpoint/postgres/testdata/":         "has types of SQL",
	"checkpoint/storednames.go":             "has names in stored records",
	"graph/drawtext.go":                     "documents a kind of edge in the JSON of drawings",
	"graph/storednames.go":                  "has names in stored records",
	"graph/storednames_test.go":             "has names in stored records",
	"internal/doccheck/":                    "has the list",
	"internal/golden/graph.go":              "has names in golden stores",
	"internal/golden/write.go":              "has names in golden stores",
	"internal/refmodel/storednames_test.go": "has names in stored records",
	"internal/picture/samples_test.go":      "has the kinds of edges in drawings",
}

// folder limits the checks of words and lines to one folder.
var folder = flag.String("folder", "", "check the words and lines of the files in this folder only")

func isAllowed(name string) bool {
	for dir := name; dir != "."; dir = path.Dir(dir) {
		if allowed[dir] != "" || allowed[dir+"/"] != "" {
			return true
		}
	}
	return false
}

func isOutside(name string) bool { return !strings.HasPrefix(name, *folder) }

func TestProse_UsesTheStandardTerms(t *testing.T) {
	walk(t, func(name string, text []byte) {
		if isAllowed(name) || isOutside(name) || name == "LICENSE" || name == "CHANGELOG.md" {
			return
		}
		switch path.Ext(name) {
		case ".go", ".md", ".yaml", ".txt", ".sh", ".sql", ".lua":
			report(t, name, checkTerms(string(text)))
		}
	})
}

func TestProse_LinesAndSentencesAreShort(t *testing.T) {
	walk(t, func(name string, text []byte) {
		if isAllowed(name) || isOutside(name) {
			return
		}
		switch path.Ext(name) {
		case ".md":
			report(t, name, checkColumns(string(text)))
		case ".go":
			report(t, name, checkComments(string(text)))
		}
	})
}

func report(t *testing.T, name string, problems []problem) {
	t.Helper()
	for i, p := range problems {
		if i == 10 {
			t.Errorf("%s has %d problems more", name, len(problems)-i)
			return
		}
		t.Errorf("%s:%d: %s", name, p.line, p.text)
	}
}

// firstChecked is the first commit whose subject is checked.
const firstChecked = "917aee6"

func TestCommits_HaveShortSubjects(t *testing.T) {
	git := func(args ...string) (string, bool) {
		cmd := exec.Command("git", args...)
		cmd.Dir = filepath.Join("..", "..")
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err == nil
	}
	if _, ok := git("cat-file", "-e", firstChecked); !ok {
		t.Log("the commits are not here: a copy without history has no subjects to check")
	}
	log, _ := git("log", "--format=%h %s", firstChecked+"..HEAD")
	for line := range strings.Lines(log) {
		hash, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n := len([]rune(subject)); n > 72 {
			t.Errorf("commit %s: the subject has %d characters, more than 72", hash, n)
		}
	}
}

func TestCheckTerms_FindsWordsInNamesAndText(t *testing.T) {
	for text, want := range map[string]int{
		"func TestNobodyWaits(t *testing.T) {":    1,
		"what stood beside the head is told":      3,
		"keptValue := ledger_of(x) // BookKeeper": 4,
		"The store returns the newest commit.":    0,
		"the theory of history":                   0,
		"IfWaiting":                               1,
		"A string `json:\"healed\"` // he says":   2,
	} {
		if got := checkTerms(text); len(got) != want {
			t.Errorf("%q: got %v, want %d", text, got, want)
		}
	}
}

func TestCheckColumns_LeavesTablesAndCode(t *testing.T) {
	long := strings.Repeat("word ", 30)
	if got := checkColumns(long + "\n| " + long + "|\n```\n" + long + "\n```\n"); len(got) != 1 || got[0].line != 1 {
		t.Errorf("got %v, want line 1", got)
	}
}

func TestCheckComments_FindsLongLinesAndSentences(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("ab ", n)) }
	for text, want := range map[string]int{
		"// " + strings.Repeat("abcdefghi ", 11):                           1,
		"// " + words(25) + "\n// " + words(25) + ".":                      1,
		"// " + words(25) + ".\n// " + words(25) + ".":                     0,
		"// " + words(25) + "\n//\n// " + words(25):                        0,
		"// " + words(25) + "\n//   - " + words(25):                        0,
		"x := 1\n// " + words(30) + "\n// " + words(30) + "\ny := 2":       1,
		"//go:build " + strings.Repeat("linux || ", 20):                    0,
		"// F is.\n//\n//\t" + strings.Repeat("code() + ", 8) + "\nfunc F": 0,
	} {
		if got := checkComments(text); len(got) != want {
			t.Errorf("%q: got %v, want %d", text, got, want)
		}
	}
}
