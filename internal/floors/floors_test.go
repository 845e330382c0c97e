package floors

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/weftrun/weft"

// room is a package, or with a name that ends in /... all packages below it.
type room struct {
	name  string
	on    []string // packages of this module it may import; each stands before it in the list
	doors []string // modules that enter here
	bare  []string // packages of the standard library it must not import
}

// house lists the rooms from the ground up. A package imports only what is named here.
var house = []room{
	{name: "internal/floors"},
	{name: "internal/mutants"},   // for tests alone
	{name: "internal/pace"},      // for tests alone
	{name: "internal/smalldisk"}, // for tests alone
	{name: "internal/readorder"}, // for tests alone
	{name: "internal/suggest"},
	{name: "internal/below"},
	{name: "internal/complaints"}, // for tests alone
	{name: "internal/pages"},
	{name: "internal/brief"},
	{name: "internal/values"},
	{name: "internal/compact"},
	{name: "internal/validtext"},
	{name: "internal/redact"},
	{name: "internal/freeport"}, // for tests alone
	{name: "internal/wire"},     // for tests alone
	{name: "internal/racing", on: []string{"internal/pace"}, doors: []string{"github.com/anishathalye/porcupine"}}, // for tests alone
	{name: "internal/exprs", on: []string{"internal/suggest"}, doors: []string{"github.com/expr-lang/expr"}},
	{name: "internal/fieldname"},
	{name: "state", on: []string{"internal/compact", "internal/fieldname", "internal/suggest", "internal/validtext"}},
	{name: "state/record", on: []string{"internal/compact", "internal/fieldname", "internal/validtext", "state"}},
	{name: "state/message", on: []string{"internal/compact", "internal/validtext", "state"}},
	{name: "state/message/tokens", on: []string{"state/message"}, doors: []string{"github.com/tiktoken-go/tokenizer"}},
	{name: "state/agent", on: []string{"internal/validtext", "internal/suggest", "state", "state/message"}, doors: []string{"github.com/tidwall/gjson"}},
	{name: "capabilities", on: []string{"internal/validtext", "state", "state/agent"}, doors: []string{"github.com/google/jsonschema-go"}},
	{name: "capabilities/model", on: []string{"state/message"}, doors: []string{"github.com/google/jsonschema-go"}},
	{name: "capabilities/model/openai", on: []string{"internal/redact", "state/message", "capabilities/model"}, doors: []string{"github.com/openai/openai-go/v3"}},
	{name: "capabilities/tool", on: []string{"internal/values", "state", "state/message", "capabilities/model"}, doors: []string{"github.com/google/jsonschema-go"}},
	{name: "checkpoint", on: []string{"internal/compact", "state"}, doors: []string{"github.com/klauspost/compress"}},
	{name: "internal/faulty", on: []string{"checkpoint"}}, // for tests alone
	{name: "checkpoint/checkpointtest", on: []string{"internal/pace", "state", "checkpoint"}, doors: []string{"github.com/anishathalye/porcupine", "go.uber.org/goleak", "pgregory.net/rapid"}},
	{name: "checkpoint/memory", on: []string{"internal/brief", "internal/values"}},
	{name: "checkpoint/document", on: []string{"internal/values"}, doors: []string{"github.com/tidwall/gjson"}},
	{name: "internal/deadnet", on: []string{"checkpoint", "checkpoint/document", "checkpoint/memory"}}, // for tests alone
	{name: "internal/scans", on: []string{"checkpoint/document"}},
	{name: "checkpoint/memory/memorytest", on: []string{"internal/complaints", "checkpoint/memory"}},
	{name: "internal/twisted", on: []string{"checkpoint/document"}}, // for tests alone
	{name: "checkpoint/document/documenttest", on: []string{"internal/complaints", "checkpoint/document"}},
	{name: "checkpoint/topic", on: []string{"internal/validtext"}},
	{name: "checkpoint/topic/topictest", on: []string{"checkpoint/topic"}},
	{name: "checkpoint/conversation", on: []string{"state/message", "checkpoint", "checkpoint/document", "checkpoint/topic"}, doors: []string{"github.com/google/uuid"}},
	{name: "checkpoint/conversation/conversationtest", on: []string{"state/message", "internal/pace", "internal/racing", "checkpoint", "checkpoint/document", "checkpoint/conversation"}, doors: []string{"github.com/anishathalye/porcupine", "pgregory.net/rapid"}},
	{name: "checkpoint/session", on: []string{"internal/validtext", "state/message", "checkpoint", "checkpoint/document"}, doors: []string{"github.com/google/uuid"}},
	{name: "checkpoint/session/sessiontest", on: []string{"state/message", "internal/pace", "internal/racing", "checkpoint", "checkpoint/document", "checkpoint/session"}, doors: []string{"github.com/anishathalye/porcupine", "pgregory.net/rapid"}},
	{name: "checkpoint/thread", on: []string{"internal/validtext", "internal/values", "checkpoint/document"}, doors: []string{"github.com/tidwall/gjson"}},
	{name: "checkpoint/thread/threadtest", on: []string{"internal/complaints", "internal/racing", "checkpoint/document", "checkpoint/thread"}, doors: []string{"github.com/anishathalye/porcupine"}},
	{name: "checkpoint/tasks", on: []string{"internal/validtext", "checkpoint/document"}},
	{name: "checkpoint/tasks/taskstest", on: []string{"checkpoint/document", "checkpoint/tasks"}},
	{name: "checkpoint/sqlite", on: []string{"internal/pages", "internal/scans", "state", "checkpoint", "checkpoint/document", "checkpoint/memory"}, doors: []string{"modernc.org/sqlite"}},
	{name: "checkpoint/postgres", on: []string{"internal/brief", "internal/pages", "internal/scans", "checkpoint", "checkpoint/document", "checkpoint/memory"}, doors: []string{"github.com/jackc/pgx/v5", "github.com/jackc/puddle/v2"}},
	{name: "checkpoint/redis", on: []string{"internal/brief", "checkpoint", "checkpoint/document", "checkpoint/memory", "checkpoint/topic"}, doors: []string{"github.com/redis/go-redis/v9"}},
	{name: "capabilities/memory", on: []string{"internal/validtext", "state/message", "checkpoint/memory", "checkpoint/session"}},
	{name: "internal/step", on: []string{"state"}, bare: []string{"context", "log", "log/slog", "net", "net/http", "os", "sync", "time"}},
	{name: "internal/stream"},
	{name: "internal/schedule", doors: []string{"golang.org/x/sync", "golang.org/x/time"}},
	{name: "internal/journal", on: []string{"state", "checkpoint"}},
	{name: "graph", on: []string{"state", "state/record", "checkpoint", "internal/step", "internal/stream", "internal/schedule", "internal/journal", "internal/suggest", "internal/validtext"}, doors: []string{
		"github.com/google/jsonschema-go", "github.com/google/uuid",
	}},
	{name: "internal/twin", on: []string{"state", "checkpoint", "graph"}},                                  // for tests alone
	{name: "internal/cost", on: []string{"state", "state/record", "state/message", "checkpoint", "graph"}}, // for tests alone
	{name: "internal/golden", on: []string{ // for tests alone
		"state", "state/message", "checkpoint", "checkpoint/conversation", "checkpoint/document", "checkpoint/memory", "checkpoint/session",
		"checkpoint/tasks", "checkpoint/thread", "graph",
	}},
	{name: "graph/workflow", on: []string{"state", "state/record", "state/message", "capabilities", "checkpoint", "graph", "internal/exprs", "internal/below", "internal/redact", "internal/suggest"}, doors: []string{"gopkg.in/yaml.v3"}},
	{name: "nodes/turn", on: []string{"internal/suggest", "internal/values", "state", "state/message", "state/agent", "capabilities", "capabilities/model", "checkpoint", "graph"}},
	{name: "nodes/react", on: []string{"state", "state/message", "capabilities/model", "capabilities/tool", "graph"}},
	{name: "nodes/pes", on: []string{"state", "state/message", "capabilities/model", "capabilities/tool", "graph", "nodes/react"}},
	{name: "nodes", on: []string{"state", "state/agent", "state/message", "capabilities", "capabilities/model", "capabilities/tool", "checkpoint", "graph", "graph/workflow", "nodes/turn", "nodes/react", "internal/below"}},
	{name: "internal/cli", on: []string{
		"state", "state/record", "state/message", "state/agent", "checkpoint", "checkpoint/conversation", "checkpoint/document", "checkpoint/memory", "checkpoint/session",
		"checkpoint/sqlite", "checkpoint/thread", "capabilities/memory", "graph", "graph/workflow", "nodes/turn", "internal/suggest",
	}, doors: []string{
		"github.com/google/uuid", "github.com/spf13/cobra", "github.com/tidwall/gjson", "golang.org/x/term",
	}},
	{name: root, on: []string{"state/record", "state/agent", "capabilities", "capabilities/model", "capabilities/tool", "checkpoint", "graph", "graph/workflow", "nodes", "nodes/turn", "internal/cli"}},
	{name: "cmd/weft", on: []string{
		root, "checkpoint", "checkpoint/postgres", "checkpoint/redis", "state/agent", "capabilities/model/openai", "graph", "nodes/turn",
	}},
	{name: "examples/weather", on: []string{"state", "graph"}},
	{name: "examples/...", on: []string{
		root, "state", "state/message", "state/agent", "capabilities", "capabilities/memory", "capabilities/model", "capabilities/model/openai",
		"capabilities/tool", "checkpoint", "checkpoint/session", "checkpoint/thread", "checkpoint/redis", "checkpoint/sqlite", "graph", "graph/workflow",
		"nodes", "nodes/turn", "nodes/react", "nodes/pes", "examples/weather",
	}},
}

// root is the package at the top of the module.
const root = "."

// testDoors are the modules every test may use. Tests may import any package of this module.
var testDoors = []string{"github.com/creack/pty", "github.com/google/go-cmp", "github.com/google/jsonschema-go", "go.uber.org/goleak", "pgregory.net/rapid"}

// find returns the room of a package.
func find(pkg string) (room, bool) {
	for _, r := range house {
		if below, ok := strings.CutSuffix(r.name, "/..."); r.name == pkg || ok && strings.HasPrefix(pkg, below+"/") {
			return r, true
		}
	}
	return room{}, false
}

func TestPackagesImportOnlyWhatStandsBelow(t *testing.T) {
	for _, f := range goFiles(t) {
		r, ok := find(f.pkg)
		if !ok {
			t.Errorf("%s: package %s has no room: add it to the list house in internal/floors/floors_test.go, on its floor", f.path, f.pkg)
			continue
		}
		for _, imp := range f.imports {
			if why := r.refuses(imp, f.test); why != "" {
				t.Errorf("%s: %s imports %s: %s; see the list house in internal/floors/floors_test.go", f.path, f.pkg, imp, why)
			}
		}
	}
}

// refuses says why a file of the room may not import a package, or "".
func (r room) refuses(imp string, test bool) string {
	first, _, _ := strings.Cut(imp, "/")
	own, inside := strings.CutPrefix(imp, module+"/")
	if imp == module {
		own, inside = root, true
	}
	switch {
	case inside && !test && !slices.Contains(r.on, own):
		return "it does not stand on that package"
	case inside:
		return ""
	case imp == "C":
		return "the binary is built without cgo"
	case !strings.Contains(first, ".") && slices.Contains(r.bare, imp) && !test:
		return "this package does arithmetic only"
	case !strings.Contains(first, "."):
		return ""
	case within(imp, r.doors) || test && within(imp, testDoors):
		return ""
	}
	return "the module does not enter here"
}

func within(imp string, modules []string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return imp == m || strings.HasPrefix(imp, m+"/") })
}

func TestTheHouseHasNoStairsDown(t *testing.T) {
	var below []string
	for _, r := range house {
		for _, on := range r.on {
			if !slices.Contains(below, on) {
				t.Errorf("%s stands on %s, which is not below it in the list", r.name, on)
			}
		}
		below = append(below, r.name)
	}
}

func TestTheRulesBite(t *testing.T) {
	step, _ := find("internal/step")
	workflow, _ := find("graph/workflow")
	for _, tt := range []struct {
		r       room
		imp     string
		test    bool
		refused bool
	}{
		{step, module + "/state", false, false},
		{step, module + "/graph", false, true},
		{step, module + "/graph", true, false},
		{step, "time", false, true},
		{step, "time", true, false},
		{step, "slices", false, false},
		{workflow, "gopkg.in/yaml.v3", false, false},
		{workflow, "github.com/expr-lang/expr/types", false, true},
		{workflow, "github.com/google/go-cmp/cmp", false, true},
		{workflow, "github.com/google/go-cmp/cmp", true, false},
		{workflow, "C", false, true},
	} {
		if why := tt.r.refuses(tt.imp, tt.test); (why != "") != tt.refused {
			t.Errorf("%s imports %s (in a test: %v): got %q, refused should be %v", tt.r.name, tt.imp, tt.test, why, tt.refused)
		}
	}
	if _, ok := find("examples/weather"); !ok {
		t.Error("examples/... does not match examples/weather")
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	type doc struct{ any, file, main bool }
	docs := map[string]doc{}
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		d := docs[f.pkg]
		d.any = d.any || f.doc != ""
		d.file = d.file || f.doc != "" && path.Base(f.path) == "doc.go"
		d.main = d.main || f.name == "main"
		docs[f.pkg] = d
	}
	for pkg, d := range docs {
		switch {
		case !d.any:
			t.Errorf("%s has no package comment", pkg)
		case !d.main && !d.file:
			t.Errorf("%s has its package comment elsewhere than in doc.go", pkg)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, f := range goFiles(t) {
		if !f.test && f.lines > 400 {
			t.Errorf("%s has %d lines, past 400: look for the second noun", f.path, f.lines)
		}
	}
}

// TestNoFileTellsWhereItWasMade looks for paths and hosts of a particular machine. The words are split so that
// this file does not hold them.
func TestNoFileTellsWhereItWasMade(t *testing.T) {
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

// goFile is a file of the main module, as far as its imports.
type goFile struct {
	path    string // from the root, with slashes
	pkg     string // the folder
	name    string // of the package clause
	doc     string
	imports []string
	lines   int
	test    bool
}

func goFiles(t *testing.T) (files []goFile) {
	t.Helper()
	walk(t, func(name string, text []byte) {
		if path.Ext(name) != ".go" || strings.Contains(name, "/testdata/") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			t.Error(err)
			return
		}
		f := goFile{
			path: name, pkg: path.Dir(name), name: parsed.Name.Name, doc: parsed.Doc.Text(),
			lines: strings.Count(string(text), "\n"), test: strings.HasSuffix(name, "_test.go"),
		}
		for _, spec := range parsed.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			f.imports = append(f.imports, imp)
		}
		files = append(files, f)
	})
	return files
}

// walk reads every file of the tree: not git's, not what runs of the examples write, and not other modules.
func walk(t *testing.T, visit func(name string, text []byte)) {
	t.Helper()
	root := filepath.Join("..", "..")
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(tree, name)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err == nil {
			visit(name, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func enter(tree fs.FS, dir string) error {
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	if base := path.Base(dir); base == ".git" || base == "bin" || base == "out" || dir != "." && err == nil {
		return fs.SkipDir
	}
	return nil
}
