package storetest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftrun/weft/checkpoint"
	"github.com/weftrun/weft/internal/racescale"
	"github.com/weftrun/weft/internal/storetest"
	"github.com/weftrun/weft/state"
)

// entries returns the number of entries of a long thread.
func entries() int { return racescale.Of(10_000, 2_000) }

func TestStep_CostIsFlatInMemory(t *testing.T) {
	storetest.Growth(t, new(checkpoint.Memory), entries())
}

// Requirement: a step allocates the same in a short and a long thread
func TestStep_CostIsFlatInEveryView(t *testing.T) {
	storetest.GrowthOfViews(t, new(checkpoint.Memory), entries())
}

func TestStep_CostIsFlatWithItsBases(t *testing.T) {
	storetest.GrowthOfBases(t, new(checkpoint.Memory), entries())
}

func TestStep_CostIsFlatWhenEncrypted(t *testing.T) {
	keys := &checkpoint.Keys{Current: "k", Ring: map[string][]byte{"k": checkpoint.NewKey()}}
	store, err := checkpoint.Sealed(new(checkpoint.Memory), checkpoint.Codec{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Growth(t, store, entries())
}

// BenchmarkGrowth adds b.N entries. Compare -benchtime 1000x and 100000x for the cost of new bases.
func BenchmarkGrowth(b *testing.B) {
	storetest.BenchGrowth(b, func() checkpoint.Store { return new(checkpoint.Memory) })
}

// TestGrowth_MeasuresEveryChannel looks for the types of package state, and of those below it,
// that have a Fold, and for the kinds of a Record.
func TestGrowth_MeasuresEveryChannel(t *testing.T) {
	found := 0
	for _, name := range channelTypes(t, filepath.Join("..", "..", "state")) {
		found++
		if !slices.Contains(storetest.Channels(), name) {
			t.Errorf("rule: each channel type is measured\n got: %s is not in the list growths in internal/cost/channels.go\nwant: it is, with a row for each way to write to it", name)
		}
	}
	if found < 16 {
		t.Errorf("rule: the channel types are found\n got: %d\nwant: at least 16", found)
	}
	for _, kind := range state.Kinds() {
		if !slices.Contains(storetest.Kinds(), kind) {
			t.Errorf("rule: each kind of a Record is measured\n got: %s is not in the list recordGrowths in internal/cost/channels.go\nwant: it is", kind)
		}
	}
}

// channelTypes returns the exported types with a method Channel below a folder, as state.Map.
func channelTypes(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "Channel" {
				continue
			}
			if name := receiver(fn.Recv.List[0].Type); ast.IsExported(name) {
				names = append(names, f.Name.Name+"."+name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// receiver returns the name of a receiver's type.
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
