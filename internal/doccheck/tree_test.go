package doccheck

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"
)

// walk reads every file of the tree, including the other modules. It leaves out git's files, what
// builds and examples write, and packages that are installed there.
func walk(t *testing.T, visit func(name string, text []byte)) {
	t.Helper()
	root := filepath.Join("..", "..")
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(name)
		}
		if !d.Type().IsRegular() || name == ".git" { // in a worktree it is a file
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

func enter(dir string) error {
	switch path.Base(dir) {
	case ".git", "bin", "out", "node_modules", ".venv":
		return fs.SkipDir
	}
	return nil
}
