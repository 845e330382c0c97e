package nodes

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/weftrun/weft/graph/workflow"
)

// write writes the text to a new file and renames it, so that a reader sees the old text or the new
// one.
func (f *File) write(env workflow.Env) (any, error) {
	folder := env.Out
	fail := func(err error) (any, error) { return nil, &fileError{"write", f.Write, folder, err} }
	if len(f.Text) > maxFile {
		return fail(fmt.Errorf("the text is larger than %d MiB", maxFile>>20))
	}
	name := path.Clean(filepath.ToSlash(f.Write))
	if !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
		return fail(errors.New("it is outside of the folder"))
	}
	root, err := openOut(env)
	if err != nil {
		return fail(err)
	}
	defer root.Close()
	if err := replace(root, name, f.Text); err != nil {
		return fail(err)
	}
	return FileResult{Path: seenFrom(env.Root, filepath.Join(folder, name)), Bytes: len(f.Text)}, nil
}

// seenFrom returns a path that does not depend on the working directory.
func seenFrom(root, file string) string {
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		file = rel
	}
	return filepath.ToSlash(file)
}

// openOut opens the folder for output, which may not exist. If it is below the workflow's root, no
// link may lead out of that.
func openOut(env workflow.Env) (*os.Root, error) {
	below, err := filepath.Rel(env.Root, env.Out)
	if err != nil || !filepath.IsLocal(below) {
		if err := os.MkdirAll(env.Out, 0o755); err != nil {
			return nil, err
		}
		return os.OpenRoot(env.Out)
	}
	root, err := os.OpenRoot(env.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.MkdirAll(below, 0o755); err != nil {
		return nil, err
	}
	return root.OpenRoot(below)
}

func replace(root *os.Root, name, text string) (err error) {
	dir := path.Dir(name)
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	temp := path.Join(dir, "."+path.Base(name)+"."+rand.Text())
	defer func() {
		if err != nil {
			_ = root.Remove(temp)
		}
	}()
	if err := writeSynced(root, temp, text); err != nil {
		return err
	}
	if err := root.Rename(temp, name); err != nil {
		return err
	}
	return syncDir(root, dir)
}

func writeSynced(root *os.Root, name, text string) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// syncDir makes the new name durable.
func syncDir(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
