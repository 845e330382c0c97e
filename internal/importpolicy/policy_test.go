package importpolicy

import (
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

// policy lists what the files of a package may import. A name that ends in /... is that of all
// packages in a folder.
type policy struct {
	name      string
	imports   []string // packages of this module, each earlier in the list
	modules   []string // third-party modules
	forbidden []string // packages of the standard library
}

// policies has a policy for each package, in the order of their imports.
var policies = []policy{
	{name: "internal/importpolicy"},
	{name: "internal/doccheck"},
	{name: "internal/mutation"},    // for tests alone
	{name: "internal/racescale"},   // for tests alone
	{name: "internal/programtest"}, // for tests alone
	{name: "internal/readorder"},   // for tests alone
	{name: "internal/scaled"},      // for .ci/run alone
	{name: "internal/suggest"},
	{name: "internal/rootfs"},
	{name: "internal/subprocess", modules: []string{"golang.org/x/sys"}},
	{name: "internal/testreport"}, // for tests alone
	{name: "internal/brief"},
	{name: "internal/values"},
	{name: "internal/compact"},
	{name: "internal/validtext"},
	{name: "internal/redact"},
	{name: "internal/recordedhttp"}, // for tests alone
	{name: "internal/sdktest"},      // for tests alone
	{name: "internal/mcptest", modules: []string{"github.com/modelcontextprotocol/go-sdk"}}, // for tests alone
	{name: "internal/exprs", imports: []string{"internal/suggest"}},
	{name: "internal/platforms"},
	{name: "internal/fieldname"},
	{name: "state", imports: []string{"internal/compact", "internal/fieldname", "internal/suggest", "internal/validtext"}},
	{name: "internal/sniff", imports: []string{"state"}},
	{name: "state/record", imports: []string{"internal/compact", "internal/fieldname", "internal/validtext", "state"}},
	{name: "state/message", imports: []string{"internal/compact", "internal/validtext", "state"}},
	{name: "state/message/tokens", imports: []string{"state/message"}, modules: []string{"github.com/tiktoken-go/tokenizer"}},
	{name: "state/agent", imports: []string{"internal/validtext", "internal/suggest", "state", "state/message"}, modules: []string{"github.com/tidwall/gjson"}},
	{name: "capabilities/model", imports: []string{"state/message"}, modules: []string{"github.com/google/jsonschema-go"}},
	{name: "internal/modelhttp", imports: []string{"internal/redact", "capabilities/model"}},
	{name: "capabilities/model/openai", imports: []string{"internal/modelhttp", "state/message", "capabilities/model"}, modules: []string{"github.com/openai/openai-go/v3"}},
	{name: "internal/modeltest", imports: []string{"internal/recordedhttp", "state/message", "capabilities/model"}}, // for tests alone
	{name: "checkpoint", imports: []string{"internal/compact", "state"}, modules: []string{"github.com/klauspost/compress"}},
	{name: "checkpoint/checkpointtest", imports: []string{"internal/racescale", "state", "checkpoint"}, modules: []string{"github.com/anishathalye/porcupine", "go.uber.org/goleak", "pgregory.net/rapid"}},
	{name: "checkpoint/blob", imports: []string{"state", "checkpoint"}},
	{name: "checkpoint/blob/blobtest", imports: []string{"internal/testreport", "checkpoint", "checkpoint/blob"}},
	{name: "checkpoint/memory", imports: []string{"internal/brief", "internal/values"}},
	{name: "checkpoint/document", imports: []string{"internal/values"}, modules: []string{"github.com/tidwall/gjson"}},
	{name: "internal/sqlscan", imports: []string{"checkpoint/document"}},
	{name: "checkpoint/memory/memorytest", imports: []string{"internal/testreport", "checkpoint/memory"}},
	{name: "checkpoint/document/documenttest", imports: []string{"internal/testreport", "checkpoint/document"}},
	{name: "checkpoint/topic", imports: []string{"internal/validtext", "checkpoint"}},
	{name: "checkpoint/topic/topictest", imports: []string{"checkpoint/topic"}},
	{name: "conversation", imports: []string{"state/message", "checkpoint", "checkpoint/document", "checkpoint/topic"}, modules: []string{"github.com/google/uuid"}},
	{name: "conversation/session", imports: []string{"internal/validtext", "state/message", "checkpoint", "checkpoint/document"}, modules: []string{"github.com/google/uuid"}},
	{name: "conversation/thread", imports: []string{"internal/validtext", "internal/values", "checkpoint/document"}, modules: []string{"github.com/tidwall/gjson"}},
	{name: "conversation/tasks", imports: []string{"internal/validtext", "checkpoint", "checkpoint/document"}},
	{name: "internal/servicetest", imports: []string{ // for tests alone
		"internal/racescale", "state/message", "checkpoint/document", "conversation", "conversation/session", "conversation/tasks", "conversation/thread",
	}, modules: []string{"github.com/anishathalye/porcupine"}},
	{name: "checkpoint/sqlite", imports: []string{"internal/sqlscan", "state", "checkpoint", "checkpoint/blob", "checkpoint/document", "checkpoint/memory", "checkpoint/topic"}, modules: []string{"modernc.org/sqlite"}},
	{name: "checkpoint/postgres", imports: []string{"internal/brief", "internal/sqlscan", "checkpoint", "checkpoint/blob", "checkpoint/document", "checkpoint/memory", "checkpoint/topic"}, modules: []string{"github.com/jackc/pgx/v5", "github.com/jackc/puddle/v2", "github.com/pgvector/pgvector-go"}},
	{name: "checkpoint/redis", imports: []string{"internal/brief", "checkpoint", "checkpoint/blob", "checkpoint/document", "checkpoint/memory", "checkpoint/topic"}, modules: []string{"github.com/redis/go-redis/v9"}},
	{name: "capabilities/memory", imports: []string{"internal/validtext", "state/message", "checkpoint/memory", "conversation/session"}},
	{name: "capabilities/retrieval", imports: []string{"state/message", "checkpoint/memory"}},
	{name: "internal/step", imports: []string{"state"}, forbidden: []string{"context", "log", "log/slog", "net", "net/http", "os", "sync", "time"}},
	{name: "internal/stream"},
	{name: "internal/schedule", modules: []string{"golang.org/x/sync", "golang.org/x/time"}},
	{name: "internal/journal", imports: []string{"state", "checkpoint"}},
	{name: "graph", imports: []string{"state", "state/record", "checkpoint", "internal/step", "internal/stream", "internal/schedule", "internal/journal", "internal/suggest", "internal/validtext"}, modules: []string{
		"github.com/google/jsonschema-go", "github.com/google/uuid",
	}},
	{name: "internal/markup"},
	{name: "internal/picture", imports: []string{"checkpoint", "graph", "internal/markup"}},
	{name: "internal/refmodel", imports: []string{"state", "checkpoint", "graph"}}, // for tests alone
	{name: "capabilities/budget", imports: []string{"state/message", "capabilities/model", "checkpoint", "checkpoint/document", "graph"}},
	{name: "internal/storetest", imports: []string{"internal/racescale", "state", "state/record", "state/message", "checkpoint", "checkpoint/blob", "checkpoint/document", "checkpoint/memory", "checkpoint/topic", "graph", "capabilities/budget"}}, // for tests alone
	{name: "internal/servertest", imports: []string{"internal/storetest"}, modules: []string{"github.com/jackc/pgx/v5", "github.com/redis/go-redis/v9"}},                                                                                             // for tests alone
	{name: "wake", imports: []string{"checkpoint", "checkpoint/document", "graph"}, modules: []string{"github.com/robfig/cron/v3"}},
	{name: "graph/eventlog", imports: []string{"checkpoint", "checkpoint/topic", "graph"}},
	{name: "internal/golden", imports: []string{ // for tests alone
		"state", "state/message", "checkpoint", "conversation", "checkpoint/document", "checkpoint/memory", "conversation/session",
		"conversation/tasks", "conversation/thread", "graph",
	}},
	{name: "capabilities", imports: []string{"internal/validtext", "state", "state/agent", "graph"}, modules: []string{"github.com/google/jsonschema-go"}},
	{name: "capabilities/tool", imports: []string{"internal/values", "state", "state/message", "capabilities/model", "graph"}, modules: []string{"github.com/google/jsonschema-go"}},
	{name: "capabilities/recording", imports: []string{"internal/redact", "state", "state/agent", "state/message", "capabilities", "capabilities/model", "capabilities/tool", "graph"}, modules: []string{"gopkg.in/yaml.v3"}},
	{name: "capabilities/skill", imports: []string{"capabilities/tool", "internal/rootfs", "internal/subprocess"}, modules: []string{"gopkg.in/yaml.v3"}},
	{name: "capabilities/tool/mcp", imports: []string{"internal/subprocess", "state/message", "capabilities/tool"}, modules: []string{"github.com/modelcontextprotocol/go-sdk"}},
	{name: "server/wire", imports: []string{"state", "state/message", "checkpoint", "graph"}, modules: []string{"github.com/google/uuid"}},
	{name: "graph/workflow", imports: []string{"state", "state/record", "state/message", "capabilities", "capabilities/recording", "checkpoint", "checkpoint/blob", "graph", "internal/exprs", "internal/rootfs", "internal/redact", "internal/suggest", "wake"}, modules: []string{"gopkg.in/yaml.v3"}},
	{name: "nodes/turn", imports: []string{"internal/suggest", "internal/values", "state", "state/message", "state/agent", "capabilities", "capabilities/model", "checkpoint", "conversation", "checkpoint/document", "conversation/session", "conversation/thread", "graph"}},
	{name: "nodes/react", imports: []string{"state", "state/message", "state/agent", "capabilities/model", "capabilities/tool", "graph", "nodes/turn"}},
	{name: "nodes/pes", imports: []string{"state", "state/message", "state/agent", "capabilities/model", "capabilities/tool", "graph", "nodes/turn", "nodes/react"}},
	{name: "nodes", imports: []string{"state", "state/agent", "state/message", "capabilities", "capabilities/budget", "capabilities/model", "capabilities/recording", "capabilities/tool", "capabilities/tool/mcp", "capabilities/retrieval", "capabilities/skill", "checkpoint", "checkpoint/memory", "graph", "graph/workflow", "nodes/turn", "nodes/react", "nodes/pes", "internal/rootfs", "internal/sniff", "internal/subprocess"}},
	{name: "server/queue", imports: []string{"checkpoint", "checkpoint/document", "checkpoint/topic"}},
	{name: "server/work", imports: []string{"state", "checkpoint", "checkpoint/topic", "graph", "graph/eventlog", "server/queue", "server/wire"}},
	{name: "server/chat", imports: []string{"server/wire"}},
	{name: "server/a2a", imports: []string{"server/chat", "server/wire"}},
	{name: "server/agui", imports: []string{"server/chat", "server/wire"}},
	{name: "server/aisdk", imports: []string{"server/chat", "server/wire"}},
	{name: "server/completions", imports: []string{"server/chat", "server/wire"}},
	{name: "server/mcp", modules: []string{"github.com/modelcontextprotocol/go-sdk"}},
	{name: "server/studio", imports: []string{"state", "state/message", "checkpoint", "checkpoint/topic", "graph", "graph/eventlog", "internal/markup", "internal/picture", "internal/schedule"}, modules: []string{"github.com/tidwall/gjson", "github.com/yuin/goldmark"}},
	{name: "server", imports: []string{
		"internal/markup", "internal/sniff", "internal/values", "state", "state/message", "checkpoint", "checkpoint/blob", "checkpoint/document", "checkpoint/memory", "checkpoint/topic", "graph", "graph/eventlog",
		"server/wire", "server/queue", "server/chat", "server/a2a", "server/agui", "server/aisdk", "server/completions", "server/mcp", "server/studio", "server/work", "wake",
	}, modules: []string{
		"github.com/coder/websocket", "github.com/golang-jwt/jwt/v5", "github.com/google/uuid", "github.com/tidwall/gjson",
	}},
	{name: "internal/chattest", imports: []string{"state", "state/message", "checkpoint", "graph", "server"}}, // for tests alone
	{name: "internal/conformance", imports: []string{
		"state", "state/message", "checkpoint", "checkpoint/memory", "checkpoint/topic", "checkpoint/sqlite", "checkpoint/redis",
		"checkpoint/postgres", "graph", "server", "server/wire",
	}, modules: []string{"github.com/google/uuid"}},
	{name: "internal/cli/terminal", modules: []string{"github.com/mattn/go-runewidth", "golang.org/x/term"}},
	{name: "internal/cli/reports", imports: []string{"state", "checkpoint", "graph", "graph/workflow", "internal/cli/terminal"}},
	{name: "internal/cli/chat", imports: []string{
		"state/agent", "checkpoint", "graph", "nodes/turn", "internal/cli/terminal", "internal/cli/reports",
	}, modules: []string{"golang.org/x/term"}},
	{name: "internal/cli/demo", imports: []string{"state", "state/message", "capabilities/model", "capabilities/tool", "checkpoint", "graph", "nodes/react"}},
	{name: "internal/cli/author", imports: []string{"state/record", "graph", "graph/workflow", "internal/exprs", "server/studio"}},
	{name: "internal/cli/serve", imports: []string{"graph", "server"}, modules: []string{"github.com/golang-jwt/jwt/v5"}},
	{name: "internal/cli/verbs", imports: []string{
		"state", "state/record", "state/message", "state/agent", "checkpoint", "checkpoint/blob", "conversation", "checkpoint/document", "checkpoint/memory", "conversation/session",
		"checkpoint/sqlite", "checkpoint/topic", "conversation/thread", "capabilities/budget", "capabilities/memory", "capabilities/recording", "graph", "graph/workflow", "nodes/turn", "internal/picture", "internal/sniff", "internal/suggest", "internal/values",
		"server/queue", "server", "internal/cli/terminal", "internal/cli/reports", "internal/cli/chat", "server/studio", "internal/cli/author", "internal/cli/demo", "internal/cli/serve", "wake",
	}, modules: []string{
		"github.com/google/uuid", "github.com/spf13/cobra", "github.com/tidwall/gjson",
	}},
	{name: "weftcli", imports: []string{"state/record", "state/agent", "capabilities", "capabilities/model", "capabilities/tool", "checkpoint", "graph", "graph/workflow", "nodes", "nodes/turn", "server", "internal/cli/verbs"}},
	{name: root},
	{name: "weftcli/stock", imports: []string{
		"weftcli", "checkpoint", "checkpoint/postgres", "checkpoint/redis", "state/agent", "capabilities/model", "capabilities/model/openai", "graph", "nodes/turn",
	}},
	{name: "cmd/weft", imports: []string{"weftcli", "weftcli/stock"}},
	{name: "examples/weather", imports: []string{"state", "graph"}},
	{name: "examples/mcp", imports: []string{"weftcli", "state/message", "capabilities/model"}, modules: []string{"github.com/modelcontextprotocol/go-sdk"}}, // it has a server
	{name: "examples/...", imports: []string{
		"weftcli", "state", "state/message", "state/agent", "capabilities", "capabilities/memory", "capabilities/model", "capabilities/model/openai",
		"capabilities/retrieval", "capabilities/tool", "capabilities/tool/mcp", "checkpoint", "checkpoint/memory", "checkpoint/document", "conversation/session", "conversation/thread", "checkpoint/redis", "checkpoint/sqlite", "graph", "graph/workflow",
		"nodes", "nodes/turn", "server", "nodes/react", "nodes/pes", "examples/weather",
	}},
}

// root is the package at the top of the module.
const root = "."

// testModules are the modules that every test may import. Tests may also import all packages of
// this module.
var testModules = []string{"github.com/creack/pty", "golang.org/x/sys", "github.com/google/go-cmp", "github.com/google/jsonschema-go", "github.com/tidwall/gjson", "go.uber.org/goleak", "pgregory.net/rapid"}

// find returns the policy of a package.
func find(pkg string) (policy, bool) {
	for _, p := range policies {
		folder, all := strings.CutSuffix(p.name, "/...")
		if p.name == pkg || all && strings.HasPrefix(pkg, folder+"/") {
			return p, true
		}
	}
	return policy{}, false
}

func TestImports_FollowThePolicies(t *testing.T) {
	const list = "the list policies in internal/importpolicy/policy_test.go"
	for _, f := range goFiles(t) {
		p, ok := find(f.pkg)
		if !ok {
			t.Errorf("%s: package %s has no policy: add it to %s", f.path, f.pkg, list)
			continue
		}
		for _, imp := range f.imports {
			if why := p.refuses(imp, f.test); why != "" {
				t.Errorf("%s: %s imports %s: %s; see %s", f.path, f.pkg, imp, why, list)
			}
		}
	}
}

// refuses returns why a file of the package must not import a package, or "".
func (p policy) refuses(imp string, test bool) string {
	first, _, _ := strings.Cut(imp, "/")
	own, inside := strings.CutPrefix(imp, module+"/")
	if imp == module {
		own, inside = root, true
	}
	switch {
	case inside && !test && !slices.Contains(p.imports, own):
		return "its policy does not have that package"
	case inside:
		return ""
	case imp == "C":
		return "the binary is built without cgo"
	case (imp == "html/template" || imp == "text/template") && !test:
		return "with templates the linker drops no exported method"
	case !strings.Contains(first, ".") && slices.Contains(p.forbidden, imp) && !test:
		return "its policy forbids that package"
	case !strings.Contains(first, "."):
		return ""
	case within(imp, p.modules) || test && within(imp, testModules):
		return ""
	}
	return "its policy does not have that module"
}

func within(imp string, modules []string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return imp == m || strings.HasPrefix(imp, m+"/") })
}

func TestPolicies_AreInTheOrderOfImports(t *testing.T) {
	var earlier []string
	for _, p := range policies {
		for _, imp := range p.imports {
			if !slices.Contains(earlier, imp) {
				t.Errorf("%s imports %s, which is not earlier in the list", p.name, imp)
			}
		}
		earlier = append(earlier, p.name)
	}
}

func TestRefuses_WhatThePolicyDoesNotHave(t *testing.T) {
	step, _ := find("internal/step")
	workflow, _ := find("graph/workflow")
	for _, tt := range []struct {
		p       policy
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
		{workflow, "github.com/tidwall/gjson", false, true},
		{workflow, "github.com/google/go-cmp/cmp", false, true},
		{workflow, "github.com/google/go-cmp/cmp", true, false},
		{workflow, "C", false, true},
		{workflow, "html/template", false, true},
	} {
		if why := tt.p.refuses(tt.imp, tt.test); (why != "") != tt.refused {
			t.Errorf("%s imports %s (in a test: %v): got %q, want refused: %v", tt.p.name, tt.imp, tt.test, why, tt.refused)
		}
	}
	if _, ok := find("examples/weather"); !ok {
		t.Error("examples/... does not match examples/weather")
	}
}

func TestPackages_HaveADocFile(t *testing.T) {
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

func TestFiles_AreShort(t *testing.T) {
	for _, f := range goFiles(t) {
		if !f.test && f.lines > 400 {
			t.Errorf("%s has %d lines, more than 400: split it by what it is about", f.path, f.lines)
		}
	}
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

// walk visits every file of the tree, except those of git, output of the examples, and other
// modules.
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
