package doccheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goName matches a Go name in a page: a folder, an identifier, and optionally a field or a method.
var goName = regexp.MustCompile("`([a-z]+(?:/[a-z]+)*)\\.([A-Z]\\w*)(?:\\.([A-Z]\\w*))?`")

func TestNamesPage_NamesExist(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "names.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]map[string]bool{}
	found := 0
	for i, line := range strings.Split(string(page), "\n") {
		for _, m := range goName.FindAllStringSubmatch(line, -1) {
			folder, name := m[1], m[2]
			if m[3] != "" {
				name += "." + m[3]
			}
			if known[folder] == nil {
				known[folder] = declaredIn(t, filepath.Join(root, filepath.FromSlash(folder)))
			}
			if found++; !known[folder][name] {
				t.Errorf("docs/names.md:%d: %s has no %s", i+1, folder, name)
			}
		}
		cells := strings.Split(line, "|")
		if len(cells) == 8 && i > 7 && !goName.MatchString(cells[6]) {
			t.Errorf("docs/names.md:%d: a row without a name of ours", i+1)
		}
	}
	if found < 50 {
		t.Errorf("found %d names in docs/names.md: the test may not read its form", found)
	}
}

// foreign are the names that four other systems use for the concepts of docs/names.md.
const foreign = "thread_id, threadId, session_id, conversation turn, `process()` cycle, `traceId`, execution loop, invocation, `AgentState`, `AgentState.data`, " +
	"state channels, message list, `capability_context_data`, `stepOutputs`, a channel with a reducer, `ExecutionPlan`, `PlannedStep`, `todoList`, `TodoItem`, " +
	"approval interrupt, `approved_payload`, suspension, `HITLFeedback`, `interrupt`, `Command(resume=…)`, `agent_control`, valves, slash commands, `ThreadConfig`, " +
	"`executionConfig`, `configurable`, status stream, `status_updates`, `Observation`, `StreamEvent`, sockets, stream modes, `messages`, formatter, " +
	"`ConversationMessage`, `historyLimit`, truncation, `MessagesState`, `ErrorClassification`, `ARTError` codes, `is_error`, exceptions, capability node, " +
	"tool and to-do step, checkpointer, `StorageAdapter`, mapping in Redis, store, `UserMemoryProvider`, data sources, `ContextProvider`, Memory & RAG engine, " +
	"`RegistryManager`, `ToolRegistry`"

func TestNamesPage_HasEachForeignName(t *testing.T) {
	docs, _ := words(t)
	page := docs["docs/names.md"]
	for name := range strings.SplitSeq(foreign, ", ") {
		if !strings.Contains(page, name) {
			t.Errorf("docs/names.md has no row for %s", name)
		}
	}
}

func TestDeclaredIn_MadeUpNamesAreMissing(t *testing.T) {
	names := declaredIn(t, filepath.Join("..", "..", "state", "message"))
	for _, name := range []string{"Log.Add", "Window.MaxTokens", "RoleUser", "Counter.Count"} {
		if !names[name] {
			t.Errorf("%s is not found", name)
		}
	}
	for _, name := range []string{"Log.Subtract", "Windows", "log"} {
		if names[name] {
			t.Errorf("%s is found", name)
		}
	}
}

// declaredIn returns the exported names of a package: T, T.Field, T.Method, F, C.
func declaredIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			declare(names, d)
		}
	}
	return names
}

func declare(names map[string]bool, d ast.Decl) {
	put := func(prefix string, ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names[prefix+id.Name] = true
			}
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			put("", d.Name)
		} else {
			put(receiver(d.Recv.List[0].Type)+".", d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				put("", s.Names...)
			case *ast.TypeSpec:
				put("", s.Name)
				for _, f := range fields(s.Type) {
					put(s.Name.Name+".", f.Names...)
				}
			}
		}
	}
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func fields(e ast.Expr) []*ast.Field {
	switch e := e.(type) {
	case *ast.StructType:
		return e.Fields.List
	case *ast.InterfaceType:
		return e.Methods.List
	}
	return nil
}
