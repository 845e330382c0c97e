package workflow_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weftrun/weft/graph/workflow"
	"github.com/weftrun/weft/nodes"
)

// stages are the first digits of codes.
var stages = map[byte]string{
	'0': "The file and its YAML", '1': "The shape", '2': "Expressions", '3': "The paths through the graph", '4': "Types and fields",
	'5': "Nodes and their parameters", '6': "Limits", '7': "Secrets and the environment", '8': "The input of a run", '9': "The tests of a file",
}

// errorsPage is docs/errors.md.
func errorsPage() string {
	var b strings.Builder
	b.WriteString(`# Mistakes in workflow files

Each mistake has a code, which does not change. ` + "`weft explain WF203`" + ` prints the entry of a code.
` + "`go test ./graph/workflow -run Page -update`" + ` generates this page.
`)
	stage := byte(0)
	for _, e := range workflow.Codes() {
		if digit := e.Code[2]; digit != stage {
			stage = digit
			fmt.Fprintf(&b, "\n## WF%cxx %s\n", stage, stages[stage])
		}
		fmt.Fprintf(&b, "\n### %s\n\n**%s.**\n%s\n", e.Code, e.Title, e.Why)
		if e.Wrong != "" {
			fmt.Fprintf(&b, "\nWrong:\n\n```yaml\n%s```\n\nRight:\n\n```yaml\n%s```\n", e.Wrong, e.Right)
		}
	}
	return b.String()
}

func TestErrorsPage_IsUpToDate(t *testing.T) {
	samePage(t, "../../docs/errors.md", errorsPage())
}

func TestReferencePage_IsUpToDate(t *testing.T) {
	const head = `# Reference of workflow files

This page has every key of the language and of the predefined kinds. Keys in bold are required.
[workflow.md](workflow.md) explains their use. ` + "`go test ./graph/workflow -run Page -update`" + `
generates this page from the same definitions as the JSON Schema
([workflow.schema.json](workflow.schema.json), printed by ` + "`weft schema`" + `).

`
	samePage(t, "../../docs/reference.md", head+workflow.Reference(workflow.Options{Kinds: nodes.Kinds(), Sections: sections()}))
}

// samePage compares a file that is generated; with -update it writes it.
func samePage(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err == nil && string(got) == want {
		return
	}
	if !*update {
		t.Errorf("%s differs from the code (%v); go test ./graph/workflow -run Page -update writes it", path, err)
	} else if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}
