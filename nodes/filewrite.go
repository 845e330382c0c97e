package nodes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/weftrun/weft/graph/workflow"
)

// write writes the content to a new file and renames it, so that a reader sees the old content or
// the new one.
func (f *File) write(ctx context.Context, env workflow.Env) (any, error) {
	folder := env.Out
	fail := func(err error) (any, error) { return nil, &fileError{"write", f.Write, folder, err} }
	if len(f.Text) > maxFile {
		return fail(fmt.Errorf("the text is larger than %d MiB", maxFile>>20))
	}
	name := path.Clean(filepath.ToSlash(f.Write))
	if !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
		return fail(errors.New("it is outside of the folder"))
	}
	content, err := f.content(ctx)
	if err != nil {
		return fail(err)
	}
	defer content.Close()
	root, err := openOut(env)
	if err != nil {
		return fail(err)
	}
	defer root.Close()
	n, err := replace(root, name, content)
	if err != nil {
		return fail(err)
	}
	return FileResult{Path: seenFrom(env.Root, filepath.Join(folder, name)), Bytes: n}, nil
}

// content returns what the file should have.
func (f *File) content(ctx context.Context) (io.ReadCloser, error) {
	if f.Blob.Hash != "" {
		return f.Blob.open(ctx)
	}
	return io.NopCloser(strings.NewReader(f.Text)), nil
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

// replace writes a file, and returns its size in bytes.
func replace(root *os.Root, name string, content io.Reader) (n int64, err error) {
	dir := path.Dir(name)
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	temp := path.Join(dir, "."+path.Base(name)+"."+rand.Text())
	defer func() {
		if err != nil {
			_ = root.Remove(temp)
		}
	}()
	if n, err = writeSynced(root, temp, content); err != nil {
		return 0, err
	}
	if err := root.Rename(temp, name); err != nil {
		return 0, err
	}
	return n, syncDir(root, dir)
}

func writeSynced(root *os.Root, name string, content io.Reader) (int64, error) {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(file, content)
	return n, errors.Join(err, file.Sync(), file.Close())
}

// syncDir makes the new name durable.
func syncDir(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
