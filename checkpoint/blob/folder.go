package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/weftrun/weft/checkpoint"
)

// Folder returns a Table in a directory, which all processes of a machine may share. The directory
// is created when something is stored, readable by the owner only. A write is on the disk when the
// call returns. The file system must rename files atomically, as local ones do.
func Folder(dir string) Table { return OverObjects(folder(dir)) }

// folder is a directory as Objects. A key is the path of a file.
type folder string

func (f folder) path(key string) string { return filepath.Join(string(f), filepath.FromSlash(key)) }

// typed turns an error of the system into one of package checkpoint, with the path.
func (f folder) typed(err error) error {
	kind := checkpoint.ErrUnavailable
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotFound
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		kind = checkpoint.ErrFull
	}
	return fmt.Errorf("%w: folder %s: %w", kind, string(f), err)
}

// Put implements [Objects]. It renames a file that is on the disk.
func (f folder) Put(ctx context.Context, key string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	temporary, err := f.temporary(data)
	if err != nil {
		return f.typed(err)
	}
	to := f.path(key)
	// Another process may remove the directory while it is empty: create it again.
	for range 100 {
		if err = os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			break
		}
		if err = os.Rename(temporary, to); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return f.typed(errors.Join(err, os.Remove(temporary)))
	}
	return f.typed(f.syncUp(filepath.Dir(to)))
}

// temporary writes a file that has no key yet, and returns its path.
func (f folder) temporary(data []byte) (string, error) {
	dir := filepath.Join(string(f), "tmp")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	to := filepath.Join(dir, rand.Text())
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(to))
	}
	return to, nil
}

// syncUp writes the entries of a directory to the disk, and those of the directories around it.
func (f folder) syncUp(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // it has no such call
	}
	for {
		d, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile, with the object
			return nil
		}
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return err
		}
		if len(dir) <= len(filepath.Clean(string(f))) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// Get implements [Objects].
func (f folder) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(f.path(key))
	return data, f.typed(err)
}

// Delete implements [Objects]. It also removes the directory of the object if that is empty.
func (f folder) Delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := f.typed(os.Remove(f.path(key)))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if dir := path.Dir(key); err == nil && strings.Contains(dir, "/") {
		_ = os.Remove(f.path(dir)) // fails unless it is empty
	}
	return err
}

// List implements [Objects].
func (f folder) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	keys, err := f.list(nil, strings.TrimSuffix(prefix, "/"), after, limit)
	return keys, f.typed(err)
}

func (f folder) list(keys []string, dir, after string, limit int) ([]string, error) {
	entries, err := os.ReadDir(f.path(dir)) // sorted by name
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		key := dir + "/" + e.Name()
		switch {
		case len(keys) == limit:
			return keys, nil
		case e.IsDir() && key+"/\xff" > after:
			if keys, err = f.list(keys, key, after, limit); err != nil {
				return nil, err
			}
		case !e.IsDir() && key > after:
			keys = append(keys, key)
		}
	}
	return keys, nil
}
