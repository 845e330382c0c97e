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

// ReadFile returns the content of the file with this name below folder. Of a file longer than limit
// it returns the first limit+1 bytes, and the caller reports the error. See [Open].
func ReadFile(folder, name string, limit int64) ([]byte, error) {
	f, err := Open(folder, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// Open opens the file with this name below folder for reading. It rejects files that are not
// regular, because opening a pipe could block forever.
func Open(folder, name string) (*os.File, error) {
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
	return root.Open(name)
}
