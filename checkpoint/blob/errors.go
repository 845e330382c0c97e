package blob

import (
	"errors"
	"fmt"

	"github.com/weftrun/weft/checkpoint"
)

var (
	// ErrNotFound is returned when there is no blob with a hash.
	ErrNotFound = checkpoint.ErrBlobNotFound
	// ErrOwner is returned when the name of an owner is empty, longer than MaxOwner bytes or not
	// UTF-8, and when a hash is not one.
	ErrOwner = errors.New("blob: invalid owner or hash")
)

// MissingError names the blobs that an owner refers to and that are not stored. It is an
// ErrNotFound.
type MissingError struct {
	Owner  string
	Hashes []string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%v: %.80q refers to %d blobs that are not stored: %.200q; store them again with Put", ErrNotFound, e.Owner, len(e.Hashes), e.Hashes)
}

// Is makes errors.Is(err, ErrNotFound) true.
func (e *MissingError) Is(target error) bool { return target == ErrNotFound }

// place adds the hash to an error.
func place(hash string, err error) error { return fmt.Errorf("blob %.16s: %w", hash, err) }

func corrupt(hash, format string, args ...any) error {
	return place(hash, fmt.Errorf("%w: %s", checkpoint.ErrCorrupt, fmt.Sprintf(format, args...)))
}
