package blob

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
)

var hashText = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsHash reports whether a text is the hash of a blob.
func IsHash(s string) bool { return hashText.MatchString(s) }

// NamesIn yields the hashes of the blobs that a value of JSON names, with the sizes that it gives.
// Numbers are json.Number.
func NamesIn(tree any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		var walk func(v any) bool
		walk = func(v any) bool {
			switch v := v.(type) {
			case []any:
				return !slices.ContainsFunc(v, func(item any) bool { return !walk(item) })
			case map[string]any:
				for name, item := range v {
					if hash, ok := item.(string); ok && name == "$blob" && IsHash(hash) && !yield(hash, v["size"]) || !walk(item) {
						return false
					}
				}
			}
			return true
		}
		walk(tree)
	}
}

// A SizeError is returned by CheckSize for a size that is not that of the blob.
type SizeError struct {
	Hash string
	Size int64
	Got  any
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("the size of the blob %s must be %d (got %.20v)", e.Hash, e.Size, e.Got)
}

// CheckSize returns a SizeError if a size that a value of JSON gives is not that of the blob, or an
// ErrNotFound if there is no such blob.
func (s *Store) CheckSize(ctx context.Context, hash string, size any) error {
	n, err := s.Length(ctx, hash)
	if err != nil {
		return err
	}
	if given, _ := size.(json.Number); given.String() != strconv.FormatInt(n, 10) {
		return &SizeError{hash, n, size}
	}
	return nil
}
