package workflow

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/weftrun/weft/internal/rootfs"
)

// pathBelow returns the path of a file as seen from root, with slashes.
func pathBelow(root, file string) (string, error) {
	r, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("workflow: %w", err)
	}
	f, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("workflow: %w", err)
	}
	rel, err := filepath.Rel(r, f)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("workflow: %s is not below the root %s", file, root)
	}
	return filepath.ToSlash(rel), nil
}

// read returns the text of a file below the root, one byte more than allowed at most.
// The error holds an *fs.PathError.
func (l *loader) read(rel string) ([]byte, error) {
	text, err := rootfs.ReadFile(l.opts.Root, filepath.FromSlash(rel), maxBytes)
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return nil, &readError{rel, l.opts.Root, pe}
	}
	return text, err
}

// readError is returned when a file cannot be read.
type readError struct {
	name, folder string
	err          *fs.PathError
}

func (e *readError) Error() string {
	return fmt.Sprintf("workflow: %s in %s: %v", e.name, e.folder, e.err.Err)
}

func (e *readError) Unwrap() error { return e.err }
