package checkpoint

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a request. A store checks each request first, with the Check methods in this
// file, so that all stores reject the same requests.
const (
	// MaxID is the greatest length of a commit's ID, in bytes.
	MaxID = 64
	// MaxOwner is the greatest length of the owner of a lease, in bytes.
	MaxOwner = 256
	// MaxLabels is how many labels a commit may have.
	MaxLabels = 64
	// MaxLabelKey is the greatest length of the key of a label, in bytes.
	MaxLabelKey = 256
	// MaxLabelValue is the greatest length of the value of a label, in bytes.
	MaxLabelValue = 4096
)

// Check returns an ErrThreadID or an ErrRequest if the commit is not valid for any store.
func (c Commit) Check() error {
	if err := CheckThread(c.Thread); err != nil {
		return err
	}
	switch {
	case len(c.ID) > MaxID:
		return c.bad("ID must have at most %d bytes (got %d)", MaxID, len(c.ID))
	case c.Number != 0 && c.Number <= c.Head:
		return c.bad("number must be greater than the head %d (got %d)", c.Head, c.Number)
	case c.Number > math.MaxInt64:
		return c.bad("number must be at most %d (got %d)", int64(math.MaxInt64), c.Number)
	case c.TTL < 0:
		return c.bad("TTL must not be negative (got %v)", c.TTL)
	case len(c.Labels) > MaxLabels:
		return c.bad("a commit must have at most %d labels (got %d)", MaxLabels, len(c.Labels))
	}
	for key, value := range c.Labels {
		if why := badLabel(key, value); why != "" {
			return c.bad("label %.80q: %s", key, why)
		}
	}
	return nil
}

func (c Commit) bad(format string, args ...any) error {
	return fmt.Errorf("%w: thread %q, namespace %q, commit %.80q: %s", ErrRequest, c.Thread, c.Namespace, c.ID, fmt.Sprintf(format, args...))
}

func badLabel(key, value string) string {
	switch {
	case key == "":
		return "key must not be empty"
	case len(key) > MaxLabelKey:
		return fmt.Sprintf("key must have at most %d bytes (got %d)", MaxLabelKey, len(key))
	case len(value) > MaxLabelValue:
		return fmt.Sprintf("value must have at most %d bytes (got %d)", MaxLabelValue, len(value))
	case !isText(key) || !isText(value):
		return "key and value must be valid UTF-8 without NUL"
	}
	return ""
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// Check returns an ErrThreadID or an ErrRequest if the request is not valid for any store.
func (r LeaseRequest) Check() error {
	if err := CheckThread(r.Thread); err != nil {
		return err
	}
	why := ""
	switch {
	case r.TTL <= 0:
		why = fmt.Sprintf("TTL must be positive (got %v)", r.TTL)
	case len(r.Owner) > MaxOwner:
		why = fmt.Sprintf("owner must have at most %d bytes (got %d)", MaxOwner, len(r.Owner))
	case !isText(r.Owner):
		why = "owner must be valid UTF-8 without NUL"
	case r.Force && r.Fence != "":
		why = "Force and Fence must not both be set: a renewal cannot take the thread over"
	case r.ID != "" && r.Fence != "":
		why = "ID and Fence must not both be set: a renewal has no ID"
	case !isLeaseID(r.ID):
		why = fmt.Sprintf("ID must have 1 to %d letters and digits (got %.80q)", MaxID, r.ID)
	default:
		return nil
	}
	return fmt.Errorf("%w: lease of thread %q: %s", ErrRequest, r.Thread, why)
}

// isLeaseID reports whether id is a valid LeaseRequest.ID. The empty id, for none, is valid.
func isLeaseID(id string) bool {
	for _, c := range []byte(id) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return len(id) <= MaxID
}

// NewID returns the request with a new ID if it asks for a new lease and has no ID.
func (r LeaseRequest) NewID() LeaseRequest {
	if r.ID == "" && r.Fence == "" {
		r.ID = NewFence()
	}
	return r
}

// Takes reports whether the request takes the thread over from an owner whose lease has not
// run out.
func (r LeaseRequest) Takes(owner string) bool {
	return r.Force && (r.Over == "" || r.Over == owner)
}

// Check returns an ErrRequest if the drop is not valid for any store.
func (d Drop) Check() error {
	if d.All && d.Namespace == "" {
		return fmt.Errorf("%w: thread %q: Drop cannot remove the root namespace; use Delete", ErrRequest, d.Thread)
	}
	for _, n := range d.Commits {
		if !d.All && n == d.Head && n != 0 {
			return fmt.Errorf("%w: thread %q, namespace %q: commit %d is the head and cannot be dropped", ErrRequest, d.Thread, d.Namespace, n)
		}
	}
	return nil
}

// Result returns the error that a store's Drop returns when it ended with err. A missing namespace
// is no conflict: an earlier attempt, whose reply was lost, may have dropped it.
func (d Drop) Result(err error) error {
	var conflict *ConflictError
	if d.All && errors.As(err, &conflict) && conflict.Head == 0 {
		return nil
	}
	return err
}

// CheckTTL returns an ErrRequest when a time to live is negative.
func CheckTTL(ttl time.Duration) error {
	if ttl < 0 {
		return fmt.Errorf("%w: TTL must not be negative (got %v)", ErrRequest, ttl)
	}
	return nil
}

// NewFence returns a fence for a new lease: 26 random letters and digits that no other lease
// has.
func NewFence() string { return rand.Text() }
