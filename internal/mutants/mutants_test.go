package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is a change of one file after which a test must fail.
type mutant struct {
	name      string
	file      string // from the root of the module
	old, new  string // old is in the file once
	run, test string // package, and the pattern of the test's name
	quick     bool   // always run; the others with WEFT_SOAK
}

const (
	again    = "/^LeaseAgain$"
	suite    = "/^(StaleHead|SameCommitTwice|FencedWritesNothing|Linearizable)$"
	nothing  = "false"
	memory   = "checkpoint/memory.go"
	sqlite   = "checkpoint/sqlite/commit.go"
	postgres = "checkpoint/postgres/sql/"
	scripts  = "checkpoint/redis/scripts/"
)

var mutants = []mutant{
	{"memory, compare-and-set", memory, "case head != c.Head:", "case " + nothing + ":", "./checkpoint", "^TestMemory$" + suite, true},
	{"memory, fence", memory, "err := t.fenced(c.Thread, c.Fence); err != nil", "err := error(nil); err != nil", "./checkpoint", "^TestMemory$" + suite, false},
	{"memory, duplicate", memory, "case head > 0 && head == c.Seq() && ch.last().id == c.ID:", "case " + nothing + ":", "./checkpoint", "^TestMemory$" + suite, false},
	{"memory, takeover again", "checkpoint/memory_lease.go", "case l.log.Has(r.ID):", "case " + nothing + ":", "./checkpoint", "^TestMemory$" + again, false},

	{"sqlite, compare-and-set", sqlite, "case h.seq != c.Head:", "case " + nothing + ":", "./checkpoint/sqlite", "^TestStore$" + suite, false},
	{"sqlite, fence", sqlite, "if err == nil && h.fence != fence {", "if " + nothing + " {", "./checkpoint/sqlite", "^TestStore$" + suite, false},
	{"sqlite, duplicate", sqlite, "case h.seq > 0 && h.seq == c.Seq() && h.id == c.ID:", "case " + nothing + ":", "./checkpoint/sqlite", "^TestStore$" + suite, false},
	{"sqlite, takeover again", "checkpoint/sqlite/lease.go", "r.ID != h.fence && h.log.Has(r.ID)", nothing, "./checkpoint/sqlite", "^TestStore$" + again, false},

	{"postgres, compare-and-set", postgres + "0002.sql", "x.ns = p_ns AND x.seq = p_head RETURNING", "x.ns = p_ns RETURNING", "./checkpoint/postgres", "^TestStore$" + suite, false},
	{"postgres, fence", postgres + "0001.sql", "WHEN t.fence = p_fence THEN 'done' ELSE 'fenced' END;", "WHEN true THEN 'done' ELSE 'fenced' END;", "./checkpoint/postgres", "^TestStore$" + suite, false},
	{"postgres, duplicate", postgres + "0002.sql", "WHEN h.seq = p_seq AND h.id = p_id THEN 'again'", "WHEN false THEN 'again'", "./checkpoint/postgres", "^TestStore$" + suite, false},
	{"postgres, duplicate behind the head", postgres + "0002.sql", "WHEN p_again AND EXISTS (", "WHEN false AND EXISTS (", "./checkpoint/postgres", "^TestDoneIsFoundBehindTheHead$", false},
	{"postgres, takeover again", postgres + "0002.sql", "OR p_fence = ANY (t.log)", "", "./checkpoint/postgres", "^TestStore$" + again, false},

	{"redis, compare-and-set on the short way", scripts + "commit.lua", "string.sub(was[2], 1, #ARGV[3]) == ARGV[3]", "true", "./checkpoint/redis", "^TestStore$/AnyClient" + suite, false},
	{"redis, compare-and-set", scripts + "common.lua", "if head ~= want then return {'C', head} end", "", "./checkpoint/redis", "^TestStore$/AnyClient" + suite, false},
	{"redis, fence on the short way", scripts + "commit.lua", "(was[3] or '') == ARGV[4]", "true", "./checkpoint/redis", "^TestStore$/AnyClient" + suite, false},
	{"redis, fence", scripts + "common.lua", "if (fence or '') ~= given then", "if false then", "./checkpoint/redis", "^TestStore$/AnyClient" + suite, false},
	{"redis, duplicate", scripts + "commit_any.lua", "if why and why[1] == 'C' and was[2] == new_head then return 'K' end", "", "./checkpoint/redis", "^TestStore$/AnyClient" + suite, false},
	{"redis, duplicate behind the head", scripts + "commit_any.lua", "if record and string.sub(record, 1, 8) == arg[6] then return 'K' end", "", "./checkpoint/redis", "^TestLostReplyThenOvertaken$", false},
	{"redis, takeover again", scripts + "acquire.lua", "if string.find(' ' .. log .. ' ', ' ' .. fence .. ' ', 1, true) then return {'F', was[3] or ''} end", "", "./checkpoint/redis", "^TestStore$/AnyClient" + again, false},

	{"approval, one request", "capabilities/approve.go", "if n == 1 {\n\t\treturn base", "if n > 0 {\n\t\treturn base", "./capabilities", "^TestApprove_DecisionCountsOnce$", true},
	{"approval, one plan", "nodes/turn/prepare.go", "s.Execution.PendingApprovals.Overwrite(nil)\n", "", "./nodes/turn", "^TestApproval_DecisionOfARetriedStepEndsWithItsPlan$", true},
}

// TestEveryMutantIsCaught runs one of them always, since each is a build and a run of a
// package's tests, and all of them with WEFT_SOAK.
func TestEveryMutantIsCaught(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			overlay := m.overlay(t, root)
			if m.quick || os.Getenv("WEFT_SOAK") != "" {
				m.mustFail(t, root, overlay)
			}
		})
	}
}

// overlay writes the changed file, and what the go command must know to take it. The text
// that is changed must be there, also when nothing is run.
func (m mutant) overlay(t *testing.T, root string) (path string) {
	t.Helper()
	real := filepath.Join(root, filepath.FromSlash(m.file))
	text, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		t.Fatalf("%s holds %q %d times, want once: this test must follow it", m.file, m.old, n)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(m.file))
	list, err := json.Marshal(map[string]map[string]string{"Replace": {real: changed}})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "overlay.json")
	for name, data := range map[string]string{changed: strings.Replace(string(text), m.old, m.new, 1), path: string(list)} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// mustFail runs the test, which has to complain of a rule, not of something else.
func (m mutant) mustFail(t *testing.T, root, overlay string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-overlay", overlay, "-run", m.test, m.run)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("without %q in %s nothing fails\n%s", m.old, m.file, out)
	} else if !strings.Contains(string(out), "rule: ") {
		t.Errorf("without %q in %s something else fails: %v\n%s", m.old, m.file, err, out)
	}
}
