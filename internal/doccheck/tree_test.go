package doccheck

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"
)

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

func enter(tree fs.FS, dir string) error {
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	if base := path.Base(dir); base == ".git" || base == "bin" || base == "out" || dir != "." && err == nil {
		return fs.SkipDir
	}
	return nil
}
