package rootfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// ErrIrregular is the reason, in an *fs.PathError, why a folder, a pipe or a device
// is not read.
var ErrIrregular = errors.New("not a regular file")

// ReadFile returns the file with this name below folder, or its first limit+1 bytes
// when it is longer than limit: the caller says what is too long. Only regular files
// are read; opening a pipe could wait for ever.
func ReadFile(folder, name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: name, Err: ErrIrregular}
	}
	if err != nil {
		return nil, err
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}
