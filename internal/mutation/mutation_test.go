package mutation

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrun/weft/internal/racescale"
)

// mutant is a change of one file after which a test must fail.
type mutant struct {
	name string
	file string // below the folder of its package
	old  string // is in the file once
	// new replaces it. In a Go file, OFF is a condition that is false while the mutant is active.
	// In a script of a server, new is not longer than old.
	new  string
	test string // the pattern of the test's name
}

// group are the mutants of one package, whose tests are built once.
type group struct {
	dir     string
	mutants []mutant
}

const (
	again = "/^LeaseAgain$"
	suite = "/^(StaleHead|SameCommitTwice|FencedWritesNothing|Linearizable)$"
)

var groups = []group{
	{"checkpoint", []mutant{
		{"memory, compare-and-set", "memory.go", "case head != c.Head:", "case OFF && head != c.Head:", "^TestMemory$" + suite},
		{"memory, fence", "memory.go", "err := t.fenced(c.Thread, c.Fence); err != nil", "err := t.fenced(c.Thread, c.Fence); OFF && err != nil", "^TestMemory$" + suite},
		{"memory, duplicate", "memory.go", "case head > 0 && head == c.Seq() && ch.last().id == c.ID:", "case OFF && head > 0 && head == c.Seq() && ch.last().id == c.ID:", "^TestMemory$" + suite},
		{"memory, takeover again", "memory_lease.go", "case l.log.Has(r.ID):", "case OFF && l.log.Has(r.ID):", "^TestMemory$" + again},
	}},
	{"checkpoint/sqlite", []mutant{
		{"sqlite, compare-and-set", "commit.go", "case h.seq != c.Head:", "case OFF && h.seq != c.Head:", "^TestStore$" + suite},
		{"sqlite, fence", "commit.go", "if err == nil && h.fence != fence {", "if OFF && err == nil && h.fence != fence {", "^TestStore$" + suite},
		{"sqlite, duplicate", "commit.go", "case h.seq > 0 && h.seq == c.Seq() && h.id == c.ID:", "case OFF && h.seq > 0 && h.seq == c.Seq() && h.id == c.ID:", "^TestStore$" + suite},
		{"sqlite, takeover again", "lease.go", "r.ID != h.fence && h.log.Has(r.ID)", "OFF && r.ID != h.fence && h.log.Has(r.ID)", "^TestStore$" + again},
	}},
	{"checkpoint/postgres", []mutant{
		{"postgres, compare-and-set", "sql/0003.sql", "x.ns = p_ns AND x.seq = p_head RETURNING", "x.ns = p_ns RETURNING", "^TestStore$" + suite},
		{"postgres, fence", "sql/0001.sql", "WHEN t.fence = p_fence THEN 'done' ELSE 'fenced' END;", "WHEN true THEN 'done' ELSE 'fenced' END;", "^TestStore$" + suite},
		{"postgres, duplicate", "sql/0003.sql", "WHEN h.seq = p_seq AND h.id = p_id THEN 'again'", "WHEN false THEN 'again'", "^TestStore$" + suite},
		{"postgres, duplicate behind the head", "sql/0003.sql", "x.chain = h.chain AND x.seq = p_seq AND x.nonce = p_nonce", "x.chain = h.chain AND x.seq = p_seq AND false", "^TestCommit_DoneIsFoundBehindTheHead$"},
		{"postgres, duplicate when fenced", "sql/0003.sql", "y.ns = p_ns AND x.seq = p_seq AND x.nonce = p_nonce", "y.ns = p_ns AND x.seq = p_seq AND false", "^TestCommit_DoneIsFoundBehindTheHead$"},
		{"postgres, another call behind the head", "sql/0003.sql", "x.chain = h.chain AND x.seq = p_seq AND x.nonce = p_nonce", "x.chain = h.chain AND x.seq = p_seq", "^TestCommit_MadeByAnotherCall$"},
		{"postgres, another call when fenced", "sql/0003.sql", "y.ns = p_ns AND x.seq = p_seq AND x.nonce = p_nonce", "y.ns = p_ns AND x.seq = p_seq", "^TestCommit_MadeByAnotherCall$"},
		{"postgres, takeover again", "sql/0002.sql", "OR p_fence = ANY (t.log)", "", "^TestStore$" + again},
	}},
	{"checkpoint/redis", []mutant{
		{"redis, compare-and-set on the short way", "scripts/commit.lua", "string.sub(was[2], 1, #ARGV[3]) == ARGV[3]", "true", "^TestStore$/AnyClient" + suite},
		{"redis, compare-and-set", "scripts/common.lua", "if head ~= want then return {'C', head} end", "", "^TestStore$/AnyClient" + suite},
		{"redis, fence on the short way", "scripts/commit.lua", "(was[3] or '') == ARGV[4]", "true", "^TestStore$/AnyClient" + suite},
		{"redis, fence", "scripts/common.lua", "if (fence or '') ~= given then", "if false then", "^TestStore$/AnyClient" + suite},
		{"redis, duplicate", "scripts/commit_any.lua", "if why and why[1] == 'C' and was[2] == new_head then return 'K' end", "", "^TestStore$/AnyClient" + suite},
		{"redis, duplicate behind the head", "scripts/commit_any.lua", "if record and string.sub(record, 1, 8) == arg[6] then return 'K' end", "", "^TestCommit_LostReplyThenOvertaken$"},
		{"redis, takeover again", "scripts/acquire.lua", "if string.find(' ' .. log .. ' ', ' ' .. fence .. ' ', 1, true) then return {'F', was[3] or ''} end", "", "^TestStore$/AnyClient" + again},
	}},
	{"capabilities", []mutant{
		{"approval, one request", "approve.go", "if n == 1 {\n\t\treturn base", "if n == 1 || !OFF {\n\t\treturn base", "^TestApprove_DecisionCountsOnce$"},
	}},
	{"nodes/turn", []mutant{
		{"approval, one plan", "prepare.go", "s.Execution.PendingApprovals.Overwrite(nil)\n", "if OFF {\ns.Execution.PendingApprovals.Overwrite(nil)\n}\n", "^TestApproval_DecisionOfARetriedStepEndsWithItsPlan$"},
	}},
}

// TestMutants_AreCaught builds the tests of each store once and runs those that must fail for
// each of its mutants. A line of Go is there with a condition that counts unless the mutant is
// on, by a variable of the environment; the text of a script, which the binary holds as it is, is
// changed in the binary. With -short or the race detector, it tries one mutant of each of two
// packages.
//
// Requirement: a commit is atomic and moves the head by compare-and-set
func TestMutants_AreCaught(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, g := range groups {
		n += len(g.mutants)
		texts := g.mutated(t, root)
		if i >= racescale.Of(len(groups), 2) {
			continue
		}
		t.Run(g.dir, func(t *testing.T) {
			t.Parallel()
			binary := g.build(t, root, texts)
			for _, m := range g.mutants[:racescale.Of(len(g.mutants), 1)] {
				t.Run(m.name, func(t *testing.T) { m.mustFail(t, filepath.Join(root, g.dir), binary) })
			}
		})
	}
	if n != 25 {
		t.Errorf("there are %d mutants, and docs/operations.md speaks of 25", n)
	}
}

func (m mutant) isGo() bool { return strings.HasSuffix(m.file, ".go") }

// mutated returns the texts of the files that mutants change, by file. Those of Go have all
// mutants, each of them off.
func (g group) mutated(t *testing.T, root string) (texts map[string]string) {
	t.Helper()
	texts = map[string]string{}
	for _, m := range g.mutants {
		text, seen := texts[m.file]
		if !seen {
			text = read(t, filepath.Join(root, g.dir, m.file))
		}
		if n := strings.Count(text, m.old); n != 1 {
			t.Fatalf("%s holds %q %d times, want once: this test must follow it", m.file, m.old, n)
		}
		if m.isGo() {
			if !strings.Contains(m.new, "OFF") {
				t.Fatalf("%q does not hold OFF, so the mutant would always be on", m.new)
			}
			text = strings.Replace(text, m.old, strings.Replace(m.new, "OFF", `mutantIsOff("`+m.name+`")`, 1), 1)
		}
		texts[m.file] = text
	}
	return texts
}

// build builds the tests of a package with the texts of mutated.
func (g group) build(t *testing.T, root string, texts map[string]string) (binary string) {
	t.Helper()
	dir := t.TempDir()
	texts["mutant_off.go"] = "package " + filepath.Base(g.dir) + `

import "os"

func mutantIsOff(name string) bool { return os.Getenv("WEFT_MUTANT") != name }
`
	replace := map[string]string{}
	for file, text := range texts {
		if !strings.HasSuffix(file, ".go") {
			continue
		}
		changed := filepath.Join(dir, filepath.Base(file))
		write(t, changed, []byte(text))
		replace[filepath.Join(root, g.dir, file)] = changed
	}
	if len(replace) == 1 {
		delete(replace, filepath.Join(root, g.dir, "mutant_off.go")) // all mutants are in scripts
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	write(t, overlay, list)
	binary = filepath.Join(dir, "tests")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, "./"+g.dir)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// mustFail runs the test, which has to complain of a rule, not of something else. A test of several
// writers may need several runs to meet the line, and ends with the first that fails.
func (m mutant) mustFail(t *testing.T, dir, binary string) {
	t.Helper()
	if !m.isGo() {
		binary = m.patched(t, binary)
	}
	cmd := exec.CommandContext(t.Context(), binary, "-test.run", m.test, "-test.failfast", "-test.count", "20", "-test.timeout", "5m")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "WEFT_MUTANT="+m.name)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("without %q in %s nothing fails\n%s", m.old, m.file, out)
	} else if !strings.Contains(string(out), "rule: ") {
		t.Errorf("without %q in %s something else fails: %v\n%s", m.old, m.file, err, out)
	}
}

// patched returns a copy of the binary in which the text of a script is another.
func (m mutant) patched(t *testing.T, binary string) (path string) {
	t.Helper()
	if len(m.new) > len(m.old) {
		t.Fatalf("%q is longer than %q", m.new, m.old)
	}
	data := []byte(read(t, binary))
	if !bytes.Contains(data, []byte(m.old)) {
		t.Fatalf("the binary does not hold %q", m.old)
	}
	// An older layout may have the same line; what counts is the newest.
	data = bytes.ReplaceAll(data, []byte(m.old), []byte(m.new+strings.Repeat(" ", len(m.old)-len(m.new))))
	path = filepath.Join(t.TempDir(), "tests")
	if err := os.WriteFile(path, data, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
